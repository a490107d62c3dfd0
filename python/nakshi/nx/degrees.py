"""Degrees, isolated vertices and reciprocity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np

from .offers import offered
from .view import View

__all__ = [
    "degree_centrality",
    "degrees",
    "in_degree_centrality",
    "is_isolate",
    "isolates",
    "number_of_isolates",
    "out_degree_centrality",
    "overall_reciprocity",
    "reciprocity",
]

#: Vertices whose lists are compared at a time.
_VERTICES = 1 << 16


@offered()
def degree_centrality(G: View) -> Mapping[Any, float]:
    """Degrees as a share of the other vertices; self-loops of undirected graphs count twice."""
    return _shares(G, degrees(G, "both"))


@offered()
def in_degree_centrality(G: View) -> Mapping[Any, float]:
    """In-degrees as a share of the other vertices."""
    return _shares(G, degrees(G, "in"))


@offered()
def out_degree_centrality(G: View) -> Mapping[Any, float]:
    """Out-degrees as a share of the other vertices."""
    return _shares(G, degrees(G, "out"))


@offered()
def isolates(G: View) -> Iterator[Any]:
    """The vertices without an edge."""
    return G.nodes(np.flatnonzero(_plain(G) == 0))


@offered()
def number_of_isolates(G: View) -> int:
    """Number of vertices without an edge."""
    return int(np.count_nonzero(_plain(G) == 0))


@offered()
def is_isolate(G: View, n: Any) -> bool:
    """True if a vertex has no edge."""
    id = G.required(n, nx.NetworkXError, "Node {} is not in the graph.")
    return bool(G.store.degree(id, "both", **G.limits()) == 0)


@offered(multigraph=False)
def overall_reciprocity(G: View) -> float:
    """The share of edges that have one in the other direction."""
    return _overall(G)


@offered(multigraph=False)
def reciprocity(G: View, nodes: Any = None) -> Any:
    """The share of edges that have one in the other direction, of all or by vertex."""
    if nodes is None:
        return _overall(G)
    single = nodes in G
    rows = G.some([nodes] if single else nodes)
    mutual, both = _mutual(G, rows)
    shares = [2 * m / n if n else None for m, n in zip(mutual.tolist(), both.tolist())]
    if not single:
        return dict(zip(G.nodes(rows), shares))
    if shares[0] is None:
        raise nx.NetworkXError("Not defined for isolated nodes.")
    return shares[0]


def _plain(G: View) -> np.ndarray:
    """Degree by row, where a self-loop of an undirected graph counts once."""
    return G.run("degrees", direction="both")._values("degree")[0].astype(np.int64)


def degrees(G: View, direction: str) -> np.ndarray:
    """Degree by row, as NetworkX counts."""
    found = G.run("degrees", direction=direction)._values("degree")[0].astype(np.int64)
    return found if G.directed else found + loops(G)


def loops(G: View) -> np.ndarray:
    """Number of self-loops by row."""
    found = np.zeros(G.count, dtype=np.int64)
    info = G.store.info()
    # With properties the number is that of the files, before later commits.
    if info["self_loops"] or "last_compaction" in info:
        for rows in _pieces(np.arange(G.count)):
            ids = G.ids(rows)
            with_loops = rows[np.asarray(G.store.has_edge(ids, ids, **G.limits()))]
            for some, counts, targets in G.lists(with_loops, False):
                owners = np.repeat(some, counts)
                found += np.bincount(owners[owners == targets], minlength=G.count)
    return found


def _shares(G: View, found: np.ndarray) -> Mapping[Any, float]:
    if G.count <= 1:
        return G.mapping(np.ones(G.count, dtype=np.int64))
    return G.mapping(found * (1.0 / (G.count - 1.0)))


def _overall(G: View) -> float:
    mutual, both = 0, 0
    for rows in _pieces(np.arange(G.count)):
        found, ends = _mutual(G, rows)
        mutual += int(found.sum())
        both += int(ends.sum())
    if not both:
        raise nx.NetworkXError("Not defined for empty graphs")
    return (mutual - int(loops(G).sum())) / (both // 2)


def _mutual(G: View, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of each row that edges lead to and come from, and the ends of its edges."""
    keys = []
    counts = np.zeros(len(rows), dtype=np.int64)
    places = np.zeros(G.count, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    for reverse in (False, True):
        found = []
        for some, lengths, targets in G.lists(rows, reverse):
            counts[places[some]] += lengths
            found.append(np.repeat(places[some], lengths) * G.count + targets)
        keys.append(np.concatenate(found) if found else np.array([], dtype=np.int64))
    common = np.intersect1d(keys[0], keys[1])
    return np.bincount(common // max(G.count, 1), minlength=len(rows)), counts


def _pieces(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), _VERTICES):
        yield rows[start : start + _VERTICES]
