"""Tables of nodes and edges with properties, as paths and streams for the import."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core
from .edges import ArrowStream, pairs, stream, vertices
from .errors import ParameterError
from .progress import ProgressArgument, reporting

__all__ = ["Columns", "Tables", "are_tables", "load"]

Table = str | os.PathLike[str] | ArrowStream
Tables = Table | Sequence[Table] | Mapping[str, Table | Sequence[Table]]
"""One table, several, or tables by label (nodes) or type (edges)."""

Headers = Mapping[str | int, str]
Columns = Sequence[str | int] | Headers | Mapping[str, Headers]
"""Columns of a table: names, or typed headers by name, for all tables or by label, type and kind."""

_FORMS = (
    "a table is a path or an object with __arrow_c_stream__; give one, a list of them, or a dict "
    "of them by label (nodes) or type (edges)"
)
#: Options of an import that do not apply to tables with properties.
_OTHERS = ("directed", "weighted", "format", "self_loops", "stripes")
#: Headers that tables of one kind alone have.
_OF_NODES, _OF_EDGES = ("ID", "LABEL"), ("START_ID", "END_ID", "TYPE")


def are_tables(nodes: Any, edges: Any, options: Mapping[str, Any]) -> bool:
    """Returns True where tables are given that only a store with properties can hold.

    That is so if tables come by label or type, and if a table of nodes has more than a column of ids.
    """
    if isinstance(nodes, Mapping) or isinstance(edges, Mapping):
        return True
    if isinstance(nodes, (list, tuple)) and nodes and all(map(_is_table, nodes)):
        # Texts in a list are ids.
        return not any(isinstance(table, str) for table in nodes)
    if isinstance(nodes, (str, os.PathLike)):
        return len(_core.columns(os.fspath(nodes), options.get("separator"))) > 1
    names = getattr(nodes, "column_names", None)
    if names is None:
        names = getattr(nodes, "columns", None)
    if names is None:
        names = getattr(getattr(nodes, "schema", None), "names", None)
    return names is not None and len(names) > 1


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
            raise ParameterError(
                f"{name} has no meaning for tables with properties; properties=False "
                "(--no-properties) reads ids and edges alone"
            )
    chosen = {k: v for k, v in options.items() if k not in _OTHERS and v is not None}
    columns = chosen.pop("columns", None)
    duplicates = chosen.pop("duplicates", None)
    if duplicates == "sum":
        raise ParameterError("duplicates of a property graph have no sum")
    if duplicates is not None:
        if "parallel_edges" in chosen:
            raise ParameterError(
                "duplicates and parallel_edges say the same twice; give the latter"
            )
        chosen["parallel_edges"] = "keep" if duplicates == "keep" else "replace"
    header = chosen.get("header")
    _check_names(columns, nodes, edges)
    given_nodes = [
        (name, rows, _headers(columns, header, "nodes", name))
        for name, rows in _named(nodes, vertices)
    ]
    given_edges = [
        (name, rows, _headers(columns, header, "edges", name))
        for name, rows in _named(edges, pairs)
    ]
    with reporting(progress, "import") as sink:
        text = _core.load(
            os.fspath(path), given_nodes, given_edges, json.dumps(chosen), progress=sink
        )
    report: dict[str, Any] = json.loads(text)
    return report


def _check_names(columns: Columns | None, nodes: Any, edges: Any) -> None:
    """Refuse columns of a table that is not there."""
    known = ["nodes", "edges"]
    for tables in (nodes, edges):
        known += [str(name) for name in tables] if isinstance(tables, Mapping) else []
    for name, given in columns.items() if isinstance(columns, Mapping) else ():
        if isinstance(given, Mapping) and name not in known:
            raise ParameterError(f"columns of '{name}': the tables are {', '.join(known)}")


def _headers(
    columns: Columns | None, header: bool | None, kind: str, table: str | None
) -> list[tuple[str, str, bool]]:
    """The columns of a table that get a header: name, header, and whether the table must have them."""
    if columns is None:
        return []
    if not isinstance(columns, Mapping):
        names = list(map(str, columns))
        if kind == "nodes":
            return []
        if header is False:
            return [(str(number), name, True) for number, name in enumerate(names, 1)]
        if len(names) != 2:
            raise ParameterError(
                f"columns names source and target, not {len(names)} columns; all others are "
                "properties already"
            )
        return [(names[0], ":START_ID", True), (names[1], ":END_ID", True)]
    found = []
    for name, given in columns.items():
        if not isinstance(given, Mapping):
            if _fits(given, kind):
                found.append((str(name), given, False))
        elif name in (table, kind):
            found += [(str(column), one, True) for column, one in given.items()]
    return found


def _fits(header: str, kind: str) -> bool:
    word = header.rpartition(":")[2].partition("(")[0].upper()
    others = _OF_EDGES if kind == "nodes" else _OF_NODES
    return ":" not in header or word not in others


#: A function that makes a table of arrays.
Arrays = Callable[[Any], _core.Batches]


def _named(tables: Tables | None, arrays: Arrays) -> list[tuple[str | None, Any]]:
    if tables is None:
        return []
    if isinstance(tables, Mapping):
        return [(name, one) for name, given in tables.items() for one in _tables(given, arrays)]
    return [(None, one) for one in _tables(tables, arrays)]


def _tables(given: Any, arrays: Arrays) -> list[Any]:
    if isinstance(given, list) and not given:
        return []
    if isinstance(given, (list, tuple)) and given and all(map(_is_table, given)):
        return [_rows(table, arrays) for table in given]
    return [_rows(given, arrays)]


def _is_table(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) or hasattr(value, "__arrow_c_stream__")


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or type(value).__module__.partition(".")[0] == "numpy"


def _rows(table: Any, arrays: Arrays) -> Any:
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    if hasattr(table, "__arrow_c_stream__"):
        return stream(table)
    if _is_array(table):
        return arrays(table)
    raise ParameterError(f"{type(table).__name__} given; {_FORMS}")
