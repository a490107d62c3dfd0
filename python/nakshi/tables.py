"""Tables of nodes and edges with properties, as paths and streams for the import."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from .edges import ArrowStream, stream
from .errors import ParameterError
from .progress import ProgressArgument, reporting

__all__ = ["Tables", "load"]

Table = str | os.PathLike[str] | ArrowStream
Tables = Table | Sequence[Table] | Mapping[str, Table | Sequence[Table]]
"""One table, several, or tables by label (nodes) or type (edges)."""

_FORMS = (
    "a table is a path or an object with __arrow_c_stream__; give one, a list of them, or a dict "
    "of them by label (nodes) or type (edges)"
)
#: Options of an import that do not apply to tables with properties.
_OTHERS = ("directed", "weighted", "format", "columns", "header", "self_loops", "stripes")


def load(
    path: str | os.PathLike[str],
    nodes: Tables | None,
    edges: Tables,
    options: dict[str, Any],
    progress: ProgressArgument,
) -> dict[str, Any]:
    """Load tables with options as a dictionary and return the report."""
    usual = {"directed": True, "format": "auto", "self_loops": "keep"}
    for name in _OTHERS:
        given = options.get(name)
        # An option that is not given is None, False for a flag, or an empty list.
        if given not in (None, (), [], usual.get(name, False)):
            raise ParameterError(f"{name} has no meaning for tables with properties")
    chosen = {k: v for k, v in options.items() if k not in _OTHERS and v is not None}
    with reporting(progress, "import") as sink:
        text = _core.load(
            os.fspath(path), _named(nodes), _named(edges), json.dumps(chosen), progress=sink
        )
    report: dict[str, Any] = json.loads(text)
    return report


def _named(tables: Tables | None) -> list[tuple[str | None, Any]]:
    if tables is None:
        return []
    if isinstance(tables, Mapping):
        return [(name, one) for name, given in tables.items() for one in _tables(given)]
    return [(None, one) for one in _tables(tables)]


def _tables(given: Any) -> list[Any]:
    many = given if isinstance(given, (list, tuple)) else [given]
    return [_rows(table) for table in many]


def _rows(table: Any) -> Any:
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    if hasattr(table, "__arrow_c_stream__"):
        return stream(table)
    raise ParameterError(f"{type(table).__name__} given; {_FORMS}")
