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
#: Pairs that are scored at once.
_PAIRS = 1 << 12


@offered(multigraph=False, directed=False)
def jaccard_coefficient(G: View, ebunch: Iterable[tuple[Any, Any]] | None = None) -> Scores:
    """The share of the neighbours of either vertex that both have."""
    return _scored(G, _pairs(G, "jaccard_coefficient", ebunch), G.store.jaccard)


@offered(multigraph=False, directed=False)
def adamic_adar_index(G: View, ebunch: Iterable[tuple[Any, Any]] | None = None) -> Scores:
    """The sum over common neighbours of 1 / log of their degree."""
    return _scored(G, _pairs(G, "adamic_adar_index", ebunch), G.store.adamic_adar)


@offered(multigraph=False, directed=False)
def resource_allocation_index(G: View, ebunch: Iterable[tuple[Any, Any]] | None = None) -> Scores:
    """The sum over common neighbours of 1 / their degree."""
    return _scored(G, _pairs(G, "resource_allocation_index", ebunch), G.store.resource_allocation)


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


def _scored(G: View, pairs: list[tuple[Any, Any]], measure: Callable[..., np.ndarray]) -> Scores:
    """Pairs with their measure of similarity."""
    rest = iter(pairs)
    while some := list(islice(rest, _PAIRS)):
        asked = [(G.id(u), G.id(v)) for u, v in some]
        for (u, v), score in zip(some, measure(asked, **G.limits()).tolist()):
            if math.isinf(score):
                # A neighbour of degree 1 of a vertex and itself.
                raise ZeroDivisionError("float division by zero")
            yield u, v, score
