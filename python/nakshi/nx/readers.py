"""Stores from files and tables, by the calls of NetworkX that read graphs."""

from __future__ import annotations

import os
from typing import Any

import networkx as nx

from ..errors import InputError
from ..graph import Graph
from ..stores import build
from .view import new_directory, owned

__all__ = ["from_pandas_edgelist", "read_edgelist", "unread"]


def read_edgelist(
    path: Any,
    comments: str = "#",
    delimiter: str | None = None,
    create_using: Any = None,
    nodetype: Any = None,
    data: Any = True,
    edgetype: Any = None,
    encoding: str = "utf-8",
) -> Graph:
    """A store of the edges in a file, in a temporary directory that goes with it.

    Raises:
        InputError: ids that are not of ``nodetype``, or columns that ``data`` would read.
    """
    weighted, path = _is_weight(data), _named(path)
    graph = _stored(path, create_using, separator=delimiter, weighted=weighted)
    kind = str if graph.info()["ids"] == "text" else int
    fault = None
    if (nodetype or str) is not kind:
        fault = f"ids are {kind.__name__}; give nodetype={kind.__name__}"
    notes = graph.info()["import"]["notes"]
    if data is True and any("not read" in note for note in notes):
        fault = "columns after the ends; give data=False, or data=(('weight', float),) to read one"
    if fault is not None:
        graph.close()
        raise InputError(f"{path}: {fault}")
    return graph


def from_pandas_edgelist(
    df: Any,
    source: str | int = "source",
    target: str | int = "target",
    edge_attr: Any = None,
    create_using: Any = None,
    edge_key: Any = None,
) -> Graph:
    """A store of the edges in a table, in a temporary directory that goes with it."""
    columns = [df[name] for name in (source, target, *([] if edge_attr is None else ["weight"]))]
    arrays = tuple(column.to_numpy() for column in columns)
    return _stored(arrays, create_using, weighted=edge_attr is not None)


def unread(name: str, arguments: dict[str, Any]) -> str | None:
    """Returns the reason why a reader cannot serve a call."""
    if _direction(arguments["create_using"]) is None:
        return "create_using= must be networkx.Graph or networkx.DiGraph"
    if name == "from_pandas_edgelist":
        if arguments["edge_key"] is not None:
            return "edge_key= is not supported"
        if arguments["edge_attr"] not in (None, "weight"):
            return "edge_attr= must be None or 'weight'"
        return None
    for argument, usual in (("comments", "#"), ("edgetype", None), ("encoding", "utf-8")):
        if arguments[argument] != usual:
            return f"{argument}= is not supported"
    if _named(arguments["path"]) is None:
        return "path= must be the path of a file"
    if arguments["nodetype"] not in (None, int, str):
        return "nodetype= must be int or str"
    data = arguments["data"]
    return None if isinstance(data, bool) or _is_weight(data) else "data= has more than a weight"


def _named(path: Any) -> str | None:
    """The path of a file, which NetworkX has opened before it asks the backend."""
    path = getattr(path, "name", path)
    return (
        os.fspath(path) if isinstance(path, (str, os.PathLike)) and os.path.exists(path) else None
    )


def _is_weight(data: Any) -> bool:
    return not isinstance(data, bool) and list(data) in ([("weight", float)], [("weight", int)])


def _direction(create_using: Any) -> bool | None:
    """True for directed graphs, False for undirected ones, ``None`` for other kinds."""
    if create_using is None or create_using is nx.Graph:
        return False
    return True if create_using is nx.DiGraph else None


def _stored(edges: Any, create_using: Any, **options: Any) -> Graph:
    folder = new_directory()
    directed = bool(_direction(create_using))
    graph = build(
        folder / "graph.nakshi",
        edges,
        directed=directed,
        allow_empty=True,
        progress=False,
        **options,
    )
    return owned(graph, folder)
