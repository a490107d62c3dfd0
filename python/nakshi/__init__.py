"""Graphs larger than memory: a store on disk, and analyses that read it from the SSD.

>>> import nakshi
>>> graph = nakshi.build("tw.nakshi", edges="tw.tsv.zst", memory="1GiB")  # doctest: +SKIP
>>> graph.pagerank(iterations=20, memory="256MiB").to_polars()            # doctest: +SKIP

- :func:`open`, :func:`build`: a :class:`Graph` from a store, a store from edges.
- :func:`connect`: a :class:`RemoteGraph`, whose store a server has; :func:`connect_async` for asyncio.
- :class:`Graph`: the algorithms. :class:`Result`: what they return.
- :func:`contains`, :func:`starts`, :func:`gt`, :func:`between`, :func:`one_of`, :func:`is_null` and
  others: conditions, where a value may stand in queries.
- :func:`generate`, :func:`check`, :func:`backup`, :func:`export`: what the command line also offers.
- :func:`scan_nodes`, :func:`scan_edges`: lazy frames of Polars.
- :class:`NakshiError`: the root of all exceptions, which are listed in ``nakshi.errors``.
- ``nakshi.plot``: pictures; ``nakshi.cluster``: runs on several servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import (
    BudgetError,
    ClusterError,
    ConflictError,
    ConstraintError,
    CorruptError,
    DeadlineError,
    DeniedError,
    IncompatibleError,
    InputError,
    InputWarning,
    InternalError,
    NakshiError,
    OverloadedError,
    ParameterError,
    ProgramError,
    QueryError,
    StateExpiredError,
    StorageError,
    StoreError,
    StoreExistsError,
    StoreLockedError,
    StoreNotFoundError,
    StorePoisonedError,
    UnavailableError,
    UnknownVertexError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from . import cluster, errors, plot
    from ._core import __version__ as __version__
    from .aio import AsyncRemoteGraph, connect_async
    from .conditions import between, contains, equals, ge, gt, is_null, le, lt, one_of, starts
    from .cypher import QueryResult
    from .graph import Graph
    from .programs import program
    from .remote import RemoteGraph, connect
    from .result import Result
    from .scans import scan_edges, scan_nodes
    from .stores import algorithms, backup, build, check, export, generate
    from .stores import open_store as open

__all__ = [
    "AsyncRemoteGraph",
    "BudgetError",
    "ClusterError",
    "ConflictError",
    "ConstraintError",
    "CorruptError",
    "DeadlineError",
    "DeniedError",
    "Graph",
    "IncompatibleError",
    "InputError",
    "InputWarning",
    "InternalError",
    "NakshiError",
    "OverloadedError",
    "ParameterError",
    "ProgramError",
    "QueryError",
    "QueryResult",
    "RemoteGraph",
    "Result",
    "StateExpiredError",
    "StorageError",
    "StoreError",
    "StoreExistsError",
    "StoreLockedError",
    "StoreNotFoundError",
    "StorePoisonedError",
    "UnavailableError",
    "UnknownVertexError",
    "UnsupportedError",
    "algorithms",
    "backup",
    "between",
    "build",
    "check",
    "cluster",
    "connect",
    "connect_async",
    "contains",
    "equals",
    "errors",
    "estimate_import",
    "export",
    "ge",
    "generate",
    "gt",
    "is_null",
    "le",
    "lt",
    "one_of",
    "open",
    "plot",
    "program",
    "scan_edges",
    "scan_nodes",
    "starts",
]

# The compiled half is loaded at first use: `nakshi --help` and `import nakshi` stay light.
_LAZY = {
    "AsyncRemoteGraph": ("aio", "AsyncRemoteGraph"),
    "Graph": ("graph", "Graph"),
    "RemoteGraph": ("remote", "RemoteGraph"),
    "QueryResult": ("cypher", "QueryResult"),
    "Result": ("result", "Result"),
    "algorithms": ("stores", "algorithms"),
    "backup": ("stores", "backup"),
    "between": ("conditions", "between"),
    "build": ("stores", "build"),
    "check": ("stores", "check"),
    "connect": ("remote", "connect"),
    "program": ("programs", "program"),
    "connect_async": ("aio", "connect_async"),
    "contains": ("conditions", "contains"),
    "equals": ("conditions", "equals"),
    "estimate_import": ("stores", "estimate_import"),
    "export": ("stores", "export"),
    "ge": ("conditions", "ge"),
    "generate": ("stores", "generate"),
    "gt": ("conditions", "gt"),
    "is_null": ("conditions", "is_null"),
    "le": ("conditions", "le"),
    "lt": ("conditions", "lt"),
    "one_of": ("conditions", "one_of"),
    "open": ("stores", "open_store"),
    "scan_edges": ("scans", "scan_edges"),
    "scan_nodes": ("scans", "scan_nodes"),
    "starts": ("conditions", "starts"),
    "__version__": ("_core", "__version__"),
}


# Modules of their own, which `nakshi.` completes.
_MODULES = ("cluster", "plot")


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'nakshi' has no attribute {name!r}") from None
    value = getattr(import_module(f".{module}", __name__), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names only, for completion."""
    special = (name for name in globals() if name.startswith("__") and name.endswith("__"))
    return sorted({*__all__, *special, "__version__"})
