"""Breadth-first traversal, descendants and ancestors.

The neighbours of a converted graph are in NetworkX's order, those of a store in ascending order of
ids; the order of the traversal, and so its tree, follows from that as in NetworkX.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from .offers import offered, refuse
from .view import ConvertedGraph, View, new_directory, owned

__all__ = [
    "ancestors",
    "bfs_edges",
    "bfs_layers",
    "bfs_predecessors",
    "bfs_successors",
    "bfs_tree",
    "descendants",
    "descendants_at_distance",
    "ego_graph",
    "layers",
    "levels",
]

_MISSING = "The node {} is not in the graph."


@offered(only_default=("sort_neighbors",))
def bfs_edges(
    G: View,
    source: Any,
    reverse: bool = False,
    depth_limit: int | None = None,
    sort_neighbors: Any = None,
) -> Iterator[tuple[Any, Any]]:
    """Edges of the tree of a breadth-first search, in the order in which it finds them."""
    found = layers(G, [source], reverse, depth_limit)
    return (
        edge
        for rows, parents in itertools.islice(found, 1, None)
        for edge in zip(G.nodes(parents), G.nodes(rows))
    )


@offered(only_default=("sort_neighbors",))
def bfs_tree(
    G: View,
    source: Any,
    reverse: bool = False,
    depth_limit: int | None = None,
    sort_neighbors: Any = None,
) -> Any:
    """The tree of a breadth-first search: a ``DiGraph``, or a new store of the tree of a store."""
    found = list(itertools.islice(layers(G, [source], reverse, depth_limit), 1, None))
    if isinstance(G, ConvertedGraph):
        tree = nx.DiGraph()
        tree.add_node(source)
        for rows, parents in found:
            tree.add_edges_from(zip(G.nodes(parents), G.nodes(rows)))
        return tree
    from ..stores import build

    ends = [
        G.ids(np.concatenate([pair[side] for pair in found]) if found else np.array([], np.int64))
        for side in (1, 0)
    ]
    folder = new_directory()
    path = folder / "tree.nakshi"
    tree = build(path, tuple(ends), nodes=[source], allow_empty=True, progress=False)
    return owned(tree, folder)


@offered(only_default=("sort_neighbors",))
def bfs_predecessors(
    G: View, source: Any, depth_limit: int | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Pairs of a vertex and its parent in the tree of a breadth-first search."""
    for rows, parents in itertools.islice(layers(G, [source], False, depth_limit), 1, None):
        yield from zip(G.nodes(rows), G.nodes(parents))


@offered(only_default=("sort_neighbors",))
def bfs_successors(
    G: View, source: Any, depth_limit: int | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    """Pairs of a vertex and its children in the tree of a breadth-first search."""
    edges = (
        edge
        for rows, parents in itertools.islice(layers(G, [source], False, depth_limit), 1, None)
        for edge in zip(G.nodes(parents), G.nodes(rows))
    )
    empty = True
    for parent, group in itertools.groupby(edges, operator.itemgetter(0)):
        if empty and parent != source:
            yield source, []
        empty = False
        yield parent, [child for _, child in group]
    if empty:
        yield source, []


@offered()
def bfs_layers(G: View, sources: Any) -> Iterator[list[Any]]:
    """Lists of the vertices at each distance from the sources."""
    first = [sources] if sources in G else list(set(sources))
    for rows, _ in layers(G, first, False, None):
        yield list(G.nodes(rows))


@offered()
def descendants_at_distance(G: View, source: Any, distance: int) -> set[Any]:
    """The vertices at a distance from one."""
    G.required(source, nx.NetworkXError, _MISSING)
    if isinstance(distance, bool) or not isinstance(distance, int):
        raise refuse("descendants_at_distance", G, "distance= must be an integer")
    return set(G.nodes(np.flatnonzero(levels(G, [source]) == distance))) if distance >= 0 else set()


@offered()
def descendants(G: View, source: Any) -> set[Any]:
    """The vertices that a path leads to, without the source itself."""
    G.required(source, nx.NetworkXError, _MISSING)
    return set(G.nodes(np.flatnonzero(levels(G, [source]) > 0)))


@offered()
def ancestors(G: View, source: Any) -> set[Any]:
    """The vertices that a path leads from, without the source itself."""
    G.required(source, nx.NetworkXError, _MISSING)
    return set(G.nodes(np.flatnonzero(levels(G, [source], reverse=True) > 0)))


@offered(only_default=("distance",))
def ego_graph(
    G: View,
    n: Any,
    radius: float = 1,
    center: bool = True,
    undirected: bool = False,
    distance: str | None = None,
) -> Any:
    """The graph around a vertex: of NetworkX with its attributes, or a new store of a store's."""
    G.required(n, nx.NodeNotFound, "Source {} is not in G")
    if undirected and G.directed:
        raise refuse("ego_graph", G, "undirected=True is not supported on directed graphs")
    found = levels(G, [n])
    rows = np.flatnonzero((found >= (0 if center else 1)) & (found <= radius))
    if isinstance(G, ConvertedGraph):
        return G.original.subgraph(G.nodes(rows)).copy()
    return G.store.subgraph(G.ids(rows), **G.limits())


def levels(G: View, sources: list[Any], reverse: bool = False) -> np.ndarray:
    """Distance of each row from the nearest source, along edges or against them; -1 unreached."""
    if reverse and G.directed:
        return _levels_against(G, sources)
    found = np.full(G.count, -1, dtype=np.int64)
    for source in sources:
        values, missing = G.run("bfs", source=G.id(source))._values("level")
        reached = np.ones(G.count, dtype=bool) if missing is None else ~missing
        nearer = reached & ((found < 0) | (values < found))
        found[nearer] = values[nearer]
    return found


def _levels_against(G: View, sources: list[Any]) -> np.ndarray:
    """Levels of a search along in-edges, by look-ups."""
    found = np.full(G.count, -1, dtype=np.int64)
    frontier = np.array([G.row(source) for source in sources], dtype=np.int64)
    depth = 0
    while len(frontier):
        found[frontier] = depth
        depth += 1
        for _, _, targets in G.lists(frontier, True):
            found[targets[found[targets] < 0]] = depth
        frontier = np.flatnonzero(found == depth)
    return found


def layers(
    G: View, sources: list[Any], reverse: bool, limit: int | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows at each distance in the order in which a queue finds them, and their parents' rows.

    Raises:
        networkx.NetworkXError: a source that the graph does not have.
    """
    for source in sources:
        G.required(source, nx.NetworkXError, _MISSING)
    left = levels(G, sources, reverse)
    frontier = np.array([G.row(source) for source in sources], dtype=np.int64)
    if len(frontier):
        yield frontier, frontier
    depth = 0
    while len(frontier) and (limit is None or depth < limit):
        depth += 1
        found, parents = [], []
        for rows, counts, targets in G.lists(frontier, reverse):
            new = np.flatnonzero(left[targets] == depth)
            _, first = np.unique(targets[new], return_index=True)
            new = new[np.sort(first)]
            # A vertex that has its parent is not found again.
            left[targets[new]] = -1
            found.append(targets[new])
            parents.append(np.repeat(rows, counts)[new])
        frontier = np.concatenate(found)
        if len(frontier):
            yield frontier, np.concatenate(parents)
