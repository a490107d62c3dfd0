"""Communities and their modularity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from networkx.algorithms.community.quality import NotAPartition

from .components import sets_of
from .degrees import degrees, loops
from .offers import offered
from .view import ConvertedGraph, View

__all__ = [
    "fast_label_propagation_communities",
    "leiden_communities",
    "louvain_communities",
    "modularity",
]

#: Vertices whose lists are counted at a time.
_VERTICES = 1 << 16


@offered(weight="weight")
def modularity(
    G: View,
    communities: Iterable[Iterable[Any]],
    weight: str | None = "weight",
    resolution: float = 1,
) -> float:
    """The share of edges inside communities, beyond what degrees alone would lead one to expect."""
    sets = [list(members) for members in communities]
    labels = np.full(G.count, -1, dtype=np.int64)
    for label, members in enumerate(sets):
        labels[G.some(members)] = label
    if (labels < 0).any() or sum(map(len, sets)) != G.count:
        raise NotAPartition(G.original if isinstance(G, ConvertedGraph) else G.store, sets)
    inside = np.zeros(len(sets))
    for start in range(0, G.count, _VERTICES):
        rows = np.arange(start, min(start + _VERTICES, G.count))
        for some, counts, targets in G.lists(rows, False):
            owners = labels[np.repeat(some, counts)]
            same = owners == labels[targets]
            inside += np.bincount(owners[same], minlength=len(sets))
    outgoing = degrees(G, "out" if G.directed else "both")
    incoming = degrees(G, "in") if G.directed else outgoing
    if not G.directed:
        # Both ends have an edge in their lists, and a self-loop is there once.
        inside = (inside + np.bincount(labels, weights=loops(G), minlength=len(sets))) / 2
    total = int(outgoing.sum())
    edges = total if G.directed else total / 2
    out, into = (
        np.bincount(labels, weights=found, minlength=len(sets)) for found in (outgoing, incoming)
    )
    norm = 1 / total**2
    return float((inside / edges - resolution * out * into * norm).sum())


@offered(only_default=("max_level",), weight="weight", weighted=True, directed=False)
def louvain_communities(
    G: View,
    weight: str | None = "weight",
    resolution: float = 1,
    threshold: float = 1e-7,
    max_level: int | None = None,
    seed: Any = None,
) -> list[set[Any]]:
    """Communities of high modularity, by the Louvain method."""
    return _found(G, "louvain", weight, seed, resolution=resolution, tolerance=threshold)


@offered(only_default=("max_level",), weight="weight", weighted=True, directed=False)
def leiden_communities(
    G: View,
    weight: str | None = "weight",
    resolution: float = 1,
    max_level: int | None = None,
    seed: Any = None,
) -> list[set[Any]]:
    """Connected communities of high modularity, by the Leiden method."""
    return _found(G, "leiden", weight, seed, resolution=resolution)


@offered(weight="weight", weighted=True)
def fast_label_propagation_communities(
    G: View, *, weight: str | None = None, seed: Any = None
) -> Iterator[set[Any]]:
    """Communities in which each vertex has a label that weighs most among its neighbours."""
    return iter(_found(G, "label-propagation", weight, seed, iterations=10_000))


def _found(G: View, name: str, weight: str | None, seed: Any, **chosen: Any) -> list[set[Any]]:
    if not G.count:
        return []
    return list(sets_of(G, G.run(name, seed=seed.getrandbits(32), **chosen, **G.weighing(weight))))
