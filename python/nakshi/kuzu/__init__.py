"""Import of the folders that ``EXPORT DATABASE`` of Kuzu and Ladybug writes.

- :func:`folder` finds such a folder among what a user gives as edges, and :func:`load` imports it
- ``schema`` reads the statements, ``parts`` finds the file of each table, ``files`` reads CSV and
  Parquet, ``csr`` the edges of icebug-disk
- ``values`` converts the types, ``export`` makes tables of nodes and of edges of all that
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import tables
from ..errors import InputError, NakshiError, ParameterError, UnsupportedError
from ..progress import ProgressArgument
from .schema import SCHEMA

__all__ = ["folder", "load"]

#: Options that say what the folder says itself.
_OTHERS = ("columns", "separator", "header")
#: How files of a database begin, and a file in the folder of one of Kuzu before version 0.11.
_DATABASES = (b"KUZU", b"LBUG")
_CATALOG = "catalog.kz"


def folder(edges: Any) -> Path | None:
    """The export among edges that a user gave as a path, a list of one, or by type; else ``None``.

    Raises:
        InputError: the path leads to a database, not to its export.
    """
    if isinstance(edges, Mapping):
        edges = edges.get(None) if len(edges) == 1 else None
    if isinstance(edges, (list, tuple)) and len(edges) == 1:
        edges = edges[0]
    if not isinstance(edges, (str, os.PathLike)):
        return None
    path = Path(edges)
    if (path / SCHEMA).is_file():
        return path
    if (path / _CATALOG).exists() or _begins_as_database(path):
        raise InputError(
            f"{path}: a database of Kuzu or Ladybug; open it there, run EXPORT DATABASE 'folder' "
            "(format='parquet') and import the folder"
        )
    return None


def _begins_as_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) in _DATABASES


def load(
    path: str | os.PathLike[str],
    source: Path,
    nodes: Any,
    options: dict[str, Any],
    progress: ProgressArgument,
) -> dict[str, Any]:
    """Import an export into a new store and return the report.

    Raises:
        InputError: a file is missing or damaged, or a type is unknown.
        ParameterError: an option that an export has no use for.
        UnsupportedError: pyarrow is not installed.
    """
    if nodes:
        raise ParameterError("an export of Kuzu has its nodes itself; leave out nodes= (--nodes)")
    options = dict(options)
    for name in _OTHERS:
        if options.pop(name, None) is not None:
            raise ParameterError(f"{name} has no meaning for an export of Kuzu; leave it out")
    try:
        from .export import Export
    except ImportError:
        raise UnsupportedError(
            "an export of Kuzu needs pyarrow; install it with 'pip install pyarrow'"
        ) from None
    spaces = options.pop("id_spaces", None)
    export = Export(source, None if spaces is None else spaces == "labels")
    # In Kuzu each row is a relationship, and a graph without any is no sign of a wrong separator.
    options["allow_empty"] = True
    if options.get("duplicates") is None:
        options["parallel_edges"] = options.get("parallel_edges") or "keep"
    options["notes"] = export.notes
    try:
        report = tables.load(path, export.nodes, export.edges, options, progress)
    except NakshiError as error:
        raise (export.error or error) from None
    lost = [f"{what}: {count}" for what, count in export.lost.items()]
    report["warnings"] = [*lost, *report.get("warnings", ())]
    return report
