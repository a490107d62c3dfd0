"""Scores of pairs of vertices by their common neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np

from .degrees import degrees
from .offers import offered, refuse
from .view import ConvertedGraph, View

__all__ = [
    "adamic_adar_index",
    "jaccard_coefficient",
    "preferential_attachment",
    "resource_allocation_index",
]

Scores = Iterator[tuple[Any, Any, float]]
#: Pairs whose lists are read at once.
_PAIRS = 1 << 12


@offered(multigraph=False, directed=False)
def jaccard_coefficient(G: View, ebunch: Iterable[tuple[Any, Any]] | None = None) -> Scores:
    """The share of the neighbours of either vertex that both have."""

    def score(common: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
        either = len(np.union1d(first, second))
        return len(common) / either if either else 0

    return _scored(G, _pairs(G, "jaccard_coefficient", ebunch), score)


@offered(multigraph=False, directed=False)
def adamic_adar_index(G: View, ebunch: Iterable[tuple[Any, Any]] | None = None) -> Scores:
    """The sum over common neighbours of 1 / log of their degree."""
    pairs = _pairs(G, "adamic_adar_index", ebunch)
    found = degrees(G, "both")
    return _scored(
        G, pairs, lambda common, *_: sum(1 / math.log(n) for n in found[common].tolist())
    )


@offered(multigraph=False, directed=False)
def resource_allocation_index(G: View, ebunch: Iterable[tuple[Any, Any]] | None = None) -> Scores:
    """The sum over common neighbours of 1 / their degree."""
    pairs = _pairs(G, "resource_allocation_index", ebunch)
    found = degrees(G, "both")
    return _scored(G, pairs, lambda common, *_: sum(1 / n for n in found[common].tolist()))


@offered(multigraph=False, directed=False)
def preferential_attachment(G: View, ebunch: Iterable[tuple[Any, Any]] | None = None) -> Scores:
    """The product of the degrees of both vertices."""
    pairs = _pairs(G, "preferential_attachment", ebunch)
    found = degrees(G, "both").tolist()
    return ((u, v, found[G.row(u)] * found[G.row(v)]) for u, v in pairs)


def _pairs(G: View, name: str, ebunch: Iterable[tuple[Any, Any]] | None) -> list[tuple[Any, Any]]:
    """Pairs of the caller, or of all vertices that no edge joins."""
    if ebunch is None:
        if not isinstance(G, ConvertedGraph):
            raise refuse(name, G, "ebunch=None scores all pairs; give those of interest")
        return list(nx.non_edges(G.original))
    pairs = [(u, v) for u, v in ebunch]
    for pair in pairs:
        for node in pair:
            G.required(node, nx.NodeNotFound, "Node {} not in G.")
    return pairs


def _scored(G: View, pairs: list[tuple[Any, Any]], score: Callable[..., float]) -> Scores:
    """Pairs with the score of their common neighbours and of the neighbours of each."""
    rest = iter(pairs)
    while some := list(islice(rest, _PAIRS)):
        rows = np.array([(G.row(u), G.row(v)) for u, v in some], dtype=np.int64)
        lists: dict[int, np.ndarray] = {}
        for owners, counts, targets in G.lists(np.unique(rows), False):
            pieces = np.split(targets, np.cumsum(counts)[:-1])
            lists.update(zip(owners.tolist(), pieces))
        for (u, v), ends in zip(some, rows.tolist()):
            first, second = lists[ends[0]], lists[ends[1]]
            common = np.setdiff1d(np.intersect1d(first, second), ends)
            yield u, v, score(common, first, second)
