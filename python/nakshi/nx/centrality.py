"""Betweenness centrality."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .offers import offered, refuse
from .view import View

__all__ = ["betweenness_centrality"]


@offered(weight="weight", multigraph=False)
def betweenness_centrality(
    G: View,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> Mapping[Any, float]:
    """Betweenness centrality, of all sources or of ``k`` that the seed draws."""
    if k == G.count:
        k = None
    if endpoints and (k is not None or G.directed):
        raise refuse(
            "betweenness_centrality", G, "endpoints=True needs an undirected graph and no k"
        )
    sampled = None if k is None else np.array(seed.sample(range(G.count), k), dtype=np.int64)
    if sampled is not None and not len(sampled):
        raise ZeroDivisionError("k=0 draws no source")
    sources = None if sampled is None else list(G.ids(sampled))
    found = G.run("bc", sources=sources)._values("betweenness")[0]
    if not G.directed:
        # Each pair counts once in an undirected graph, and NetworkX's factors expect both ways.
        found = 2 * found
    if endpoints:
        found = found + 2 * (_members(G) - 1)
    return G.mapping(_scaled(G, found, sampled, normalized, endpoints))


def _members(G: View) -> np.ndarray:
    """Vertices in the component of each row."""
    labels = G.run("wcc")._values("component")[0]
    _, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return counts[places]


def _scaled(
    G: View, found: np.ndarray, sampled: np.ndarray | None, normalized: bool, endpoints: bool
) -> np.ndarray:
    """Sums over ordered pairs, scaled as in NetworkX; a drawn source is no end of its own pairs."""
    others = G.count if endpoints else G.count - 1
    if others < 2:
        return found
    both = 1 if G.directed else 2

    def factor(sources: int) -> float:
        if sources == 0:
            return math.nan
        return 1 / (sources * (others - 1)) if normalized else others / (sources * both)

    if sampled is None:
        return found * factor(others)
    factors = np.full(G.count, factor(len(sampled)))
    factors[sampled] = factor(len(sampled) - 1)
    scaled: np.ndarray = found * factors
    return scaled
