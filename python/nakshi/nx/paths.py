"""Shortest paths and their lengths, in edges and by weight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np

from .offers import offered, refuse
from .traversal import layers, levels
from .view import ConvertedGraph, View

__all__ = [
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "average_shortest_path_length",
    "bellman_ford_path",
    "bellman_ford_path_length",
    "bidirectional_dijkstra",
    "bidirectional_shortest_path",
    "column_from",
    "dijkstra_path",
    "dijkstra_path_length",
    "has_path",
    "shortest_path",
    "shortest_path_length",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
]

_ALL_PATHS = "a path for each vertex takes more memory than the graph; give both ends"
_NOT_IN = "{} is not in G"
_METHODS = ("dijkstra", "bellman-ford")


@offered()
def has_path(G: View, source: Any, target: Any) -> bool:
    """True if a path leads from the source to the target."""
    return _found(G, source, target) is not None


@offered()
def bidirectional_shortest_path(G: View, source: Any, target: Any) -> list[Any]:
    """A path of the fewest edges."""
    return _between(G, source, target)


@offered()
def single_source_shortest_path_length(
    G: View, source: Any, cutoff: float | None = None
) -> Mapping[Any, int]:
    """Distances in edges from a vertex."""
    G.required(source, nx.NodeNotFound, "Source {} is not in G")
    return _lengths(G, levels(G, [source]), cutoff)


@offered()
def single_target_shortest_path_length(
    G: View, target: Any, cutoff: float | None = None
) -> Mapping[Any, int]:
    """Distances in edges to a vertex."""
    G.required(target, nx.NodeNotFound, "Target {} is not in G")
    return _lengths(G, levels(G, [target], reverse=True), cutoff)


@offered()
def all_pairs_shortest_path_length(
    G: View, cutoff: float | None = None
) -> Iterator[tuple[Any, Mapping[Any, int]]]:
    """Pairs of a vertex and the distances in edges from it, one at a time."""
    return ((node, _lengths(G, levels(G, [node]), cutoff)) for node in G.nodes())


@offered(stores=_ALL_PATHS)
def single_source_shortest_path(
    G: View, source: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    """Paths of the fewest edges from a vertex, those of NetworkX."""
    G.required(source, nx.NodeNotFound, "Source {} not in G")
    return _tree_paths(G, source, cutoff)


@offered(stores=_ALL_PATHS)
def single_target_shortest_path(
    G: View, target: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    """Paths of the fewest edges to a vertex, those of NetworkX."""
    G.required(target, nx.NodeNotFound, "Target {} not in G")
    return _tree_paths(G, target, cutoff, reverse=True)


@offered(stores=_ALL_PATHS)
def all_pairs_shortest_path(
    G: View, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Pairs of a vertex and the paths from it, one at a time."""
    return ((node, _tree_paths(G, node, cutoff)) for node in G.nodes())


@offered(weight="weight", weighted=True)
def shortest_path(
    G: View,
    source: Any = None,
    target: Any = None,
    weight: str | None = None,
    method: str = "dijkstra",
) -> Any:
    """A shortest path, or those from a vertex, to a vertex, or between all."""
    _check(method)
    if source is not None and target is not None:
        if weight is None:
            return _between(G, source, target)
        return _both_weighed(G, source, target, weight)[0]
    if not isinstance(G, ConvertedGraph):
        raise refuse("shortest_path", G, _ALL_PATHS)
    if source is None and target is None:
        return ((node, _paths(G, node, weight)) for node in G.nodes())
    if source is not None:
        return _paths(G, source, weight)
    if weight is None:
        G.required(target, nx.NodeNotFound, "Source {} not in G")
        return _tree_paths(G, target, None, reverse=True)
    if G.directed:
        raise refuse("shortest_path", G, "weighted paths to a vertex need a directed source")
    return {node: path[::-1] for node, path in _paths(G, target, weight).items()}


@offered(weight="weight", weighted=True)
def shortest_path_length(
    G: View,
    source: Any = None,
    target: Any = None,
    weight: str | None = None,
    method: str = "dijkstra",
) -> Any:
    """The length of a shortest path, or those from a vertex, to a vertex, or between all."""
    _check(method)
    if source is not None and target is not None:
        if weight is None:
            return len(_between(G, source, target)) - 1
        return _weighed(G, source, target, weight)[1]
    if source is None and target is None:
        return ((node, _distances(G, node, weight)) for node in G.nodes())
    if source is not None:
        return _distances(G, source, weight)
    G.required(target, nx.NodeNotFound, "Source {} is not in G")
    if G.is_unit(weight):
        return _lengths(G, levels(G, [target], reverse=True), None)
    if G.directed:
        raise refuse("shortest_path_length", G, "weighted lengths to a vertex of a directed graph")
    return _distances(G, target, weight)


@offered(weight="weight", weighted=True)
def average_shortest_path_length(
    G: View, weight: str | None = None, method: str | None = None
) -> float:
    """The mean length of the shortest paths between all pairs; a search from every vertex."""
    if method not in (None, "unweighted", *_METHODS):
        raise refuse("average_shortest_path_length", G, f"method={method!r} is not supported")
    if not G.count:
        raise nx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if G.count == 1:
        return 0
    total = 0.0
    for node in G.nodes():
        distances, missing = column_from(G, node, None if method == "unweighted" else weight)
        if missing is not None and missing.any():
            kind = "strongly connected" if G.directed else "connected"
            raise nx.NetworkXError(f"Graph is not {kind}.")
        total += distances.sum(dtype=np.float64)
    return float(total / (G.count * (G.count - 1)))


@offered(weight="weight", weighted=True)
def single_source_dijkstra_path_length(
    G: View, source: Any, cutoff: float | None = None, weight: str = "weight"
) -> Mapping[Any, Any]:
    """Lengths of the shortest paths from a vertex, by weight."""
    return _distances(G, source, weight, cutoff)


@offered(weight="weight", weighted=True, stores=_ALL_PATHS)
def single_source_dijkstra_path(
    G: View, source: Any, cutoff: float | None = None, weight: str = "weight"
) -> dict[Any, list[Any]]:
    """Shortest paths from a vertex, by weight."""
    return _paths(G, source, weight, cutoff)


@offered(weight="weight", weighted=True)
def single_source_dijkstra(
    G: View,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    weight: str = "weight",
) -> Any:
    """Lengths and paths from a vertex, or to one target, by weight."""
    if target is not None:
        if cutoff is not None:
            raise refuse("single_source_dijkstra", G, "a target and a cutoff at once")
        path, length = _weighed(G, source, target, weight)
        return length, path
    if not isinstance(G, ConvertedGraph):
        raise refuse("single_source_dijkstra", G, _ALL_PATHS)
    return _distances(G, source, weight, cutoff), _paths(G, source, weight, cutoff)


@offered(weight="weight", weighted=True)
def bidirectional_dijkstra(
    G: View, source: Any, target: Any, weight: str = "weight"
) -> tuple[Any, list[Any]]:
    """The length of a shortest path by weight, and the path."""
    path, length = _both_weighed(G, source, target, weight)
    return length, path


@offered(weight="weight", weighted=True)
def bellman_ford_path(G: View, source: Any, target: Any, weight: str = "weight") -> list[Any]:
    """A shortest path by weight; weights are at least 0."""
    return _weighed(G, source, target, weight)[0]


@offered(weight="weight", weighted=True)
def bellman_ford_path_length(G: View, source: Any, target: Any, weight: str = "weight") -> Any:
    """The length of a shortest path by weight; weights are at least 0."""
    return _weighed(G, source, target, weight)[1]


@offered(weight="weight", weighted=True)
def single_source_bellman_ford_path_length(
    G: View, source: Any, weight: str = "weight"
) -> Mapping[Any, Any]:
    """Lengths of the shortest paths from a vertex, by weights of at least 0."""
    return _distances(G, source, weight)


@offered(weight="weight", weighted=True)
def dijkstra_path(G: View, source: Any, target: Any, weight: str = "weight") -> list[Any]:
    """A shortest path by weight."""
    return _weighed(G, source, target, weight)[0]


@offered(weight="weight", weighted=True)
def dijkstra_path_length(G: View, source: Any, target: Any, weight: str = "weight") -> Any:
    """The length of a shortest path by weight."""
    return _weighed(G, source, target, weight)[1]


@offered(weight="weight", weighted=True)
def all_pairs_dijkstra_path_length(
    G: View, cutoff: float | None = None, weight: str = "weight"
) -> Iterator[tuple[Any, Mapping[Any, Any]]]:
    """Pairs of a vertex and the lengths of the shortest paths from it, one at a time."""
    return ((node, _distances(G, node, weight, cutoff)) for node in G.nodes())


@offered(weight="weight", weighted=True, stores=_ALL_PATHS)
def all_pairs_dijkstra_path(
    G: View, cutoff: float | None = None, weight: str = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Pairs of a vertex and the shortest paths from it, one at a time."""
    return ((node, _paths(G, node, weight, cutoff)) for node in G.nodes())


def _check(method: str) -> None:
    if method not in _METHODS:
        raise ValueError(f"method not supported: {method}")


def _steps(cutoff: float | None) -> int | None:
    """Steps of a search up to a cutoff, which need not be whole."""
    return None if cutoff is None or math.isinf(cutoff) else max(0, math.ceil(cutoff))


def _lengths(G: View, found: np.ndarray, cutoff: float | None) -> Mapping[Any, int]:
    near = found >= 0
    if (steps := _steps(cutoff)) is not None:
        near &= found <= steps
    rows = np.flatnonzero(near)
    if isinstance(G, ConvertedGraph):
        # In NetworkX the vertices that are nearer come first.
        rows = rows[np.argsort(found[rows], kind="stable")]
    return G.mapping(found[rows], rows)


def _found(G: View, source: Any, target: Any) -> Any:
    ends = [
        G.required(end, nx.NodeNotFound, f"{name} {_NOT_IN}")
        for name, end in (("Source", source), ("Target", target))
    ]
    return G.store.shortest_path(*ends, **G.limits())


def _between(G: View, source: Any, target: Any) -> list[Any]:
    """A path of the fewest edges."""
    ids = _found(G, source, target)
    if ids is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return _named(G, ids)


def _named(G: View, ids: list[Any]) -> list[Any]:
    return list(G.nodes(np.array(ids, dtype=np.int64))) if isinstance(G, ConvertedGraph) else ids


def _weighed(G: View, source: Any, target: Any, weight: str | None) -> tuple[list[Any], Any]:
    """A shortest path by weight, and its length."""
    ends = (
        G.required(source, nx.NodeNotFound, "Node {} not found in graph"),
        G.required(target, nx.NetworkXNoPath, "No path to {}."),
    )
    if G.is_unit(weight):
        ids = G.store.shortest_path(*ends, **G.limits())
        length: Any = None if ids is None else len(ids) - 1
    else:
        column = "weight" if isinstance(G, ConvertedGraph) else str(weight)
        ids, length = G.store.shortest_path(*ends, weight=column, **G.limits())
        length = None if ids is None else G.number(length)
    if ids is None:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return _named(G, ids), length


def _both_weighed(G: View, source: Any, target: Any, weight: str | None) -> tuple[list[Any], Any]:
    """As :func:`_weighed`, where a target that the graph lacks is another error."""
    for name, end in (("Source", source), ("Target", target)):
        G.required(end, nx.NodeNotFound, f"{name} {_NOT_IN}")
    return _weighed(G, source, target, weight)


def column_from(
    G: View, source: Any, weight: str | None, parents: list[np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Lengths from a vertex and which are missing; adds the rows of the parents, if asked for."""
    source = G.required(source, nx.NodeNotFound, "Node {} not found in graph")
    given: dict[str, Any] = {"source": source, "parents": parents is not None}
    if weight is None or G.is_unit(weight):
        result = G.run("bfs", **given)
    else:
        result = G.run("sssp", weight=G.column(weight), **given)
    if parents is not None:
        parents.append(result._values("parent")[0])
    return result._values(result.columns[0])


def _distances(
    G: View, source: Any, weight: str | None, cutoff: float | None = None
) -> Mapping[Any, Any]:
    """Lengths from a vertex by node."""
    values, missing = column_from(G, source, weight)
    near = np.ones(G.count, dtype=bool) if missing is None else ~missing
    if cutoff is not None:
        near &= values <= cutoff
    rows = np.flatnonzero(near)
    if not isinstance(G, ConvertedGraph):
        return G.mapping(values[rows], rows)
    rows = rows[np.argsort(values[rows], kind="stable")]
    return {node: G.number(value) for node, value in zip(G.nodes(rows), values[rows].tolist())}


def _paths(
    G: View, source: Any, weight: str | None, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    """Shortest paths from a vertex, by node."""
    if G.is_unit(weight):
        G.required(source, nx.NodeNotFound, "Node {} not found in graph")
        return _tree_paths(G, source, cutoff)
    columns: list[np.ndarray] = []
    values, missing = column_from(G, source, weight, columns)
    near = np.ones(G.count, dtype=bool) if missing is None else ~missing
    if cutoff is not None:
        near &= values <= cutoff
    rows = np.flatnonzero(near)
    rows = rows[np.argsort(values[rows], kind="stable")]
    names, parents = list(G.nodes()), columns[0]
    paths = {G.row(source): [source]}
    for row in rows.tolist():
        # The parent of an edge of length 0 may come later.
        ahead = []
        while row not in paths:
            ahead.append(row)
            row = int(parents[row])
        for child in reversed(ahead):
            paths[child] = [*paths[row], names[child]]
            row = child
    return {names[row]: path for row, path in paths.items()}


def _tree_paths(
    G: View, source: Any, cutoff: float | None, reverse: bool = False
) -> dict[Any, list[Any]]:
    """Paths of the tree of a breadth-first search; reversed they end in the source."""
    paths = {source: [source]}
    for rows, parents in layers(G, [source], reverse, _steps(cutoff)):
        for node, parent in zip(G.nodes(rows), G.nodes(parents)):
            if node not in paths:
                before = paths[parent]
                paths[node] = [node, *before] if reverse else [*before, node]
    return paths
