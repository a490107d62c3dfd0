"""Centralities by shortest paths, and by the scores of neighbours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from ..errors import ParameterError
from .offers import offered, refuse
from .paths import column_from
from .view import ConvertedGraph, View

__all__ = [
    "average_neighbor_degree",
    "betweenness_centrality",
    "closeness_centrality",
    "degree_assortativity_coefficient",
    "eigenvector_centrality",
    "harmonic_centrality",
    "katz_centrality",
]


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


@offered(weight="distance")
def closeness_centrality(
    G: View, u: Any = None, distance: str | None = None, wf_improved: bool = True
) -> Any:
    """1 over the mean distance from the vertices that have a path; large stores are estimated."""
    if u is None:
        return G.mapping(_by_distances(G, "closeness", improved=wf_improved))
    if G.directed:
        raise refuse("closeness_centrality", G, "u= needs an undirected graph")
    lengths, missing = column_from(G, u, None)
    near = lengths if missing is None else lengths[~missing]
    total = int(near.sum())
    if total == 0:
        return 0.0
    share = (len(near) - 1) / (G.count - 1) if wf_improved else 1.0
    return (len(near) - 1) / total * share


@offered(only_default=("nbunch", "sources"), weight="distance")
def harmonic_centrality(
    G: View, nbunch: Any = None, distance: str | None = None, sources: Any = None
) -> Mapping[Any, float]:
    """The sum of 1 over the distance from every other vertex; large stores are estimated."""
    return G.mapping(_by_distances(G, "harmonic"))


def _by_distances(G: View, name: str, **chosen: Any) -> np.ndarray:
    if not G.count:
        return np.zeros(0)
    return G.run(name, exact=isinstance(G, ConvertedGraph), **chosen)._values(name)[0]


@offered(only_default=("nstart",), weight="weight", weighted=True, multigraph=False)
def eigenvector_centrality(
    G: View, max_iter: int = 100, tol: float = 1e-6, nstart: Any = None, weight: str | None = None
) -> Mapping[Any, float]:
    """A vertex scores as its in-neighbours do, in sum; the squares sum to 1."""
    if not G.count:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    result = settled(G, "eigenvector", max_iter, tol, **G.weighing(weight))
    return G.mapping(result._values("eigenvector")[0])


@offered(only_default=("nstart",), weight="weight", weighted=True, multigraph=False)
def katz_centrality(
    G: View,
    alpha: float = 0.1,
    beta: float = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Any = None,
    normalized: bool = True,
    weight: str | None = None,
) -> Mapping[Any, float]:
    """Walks that end at a vertex, those of k edges counted alpha to the power of k times."""
    if not isinstance(beta, (int, float)):
        raise refuse("katz_centrality", G, "beta= must be one number")
    if not G.count:
        return {}
    chosen = {"alpha": alpha, "beta": beta, "normalized": normalized}
    result = settled(G, "katz", max_iter, tol, **chosen, **G.weighing(weight))
    return G.mapping(result._values("katz")[0])


def settled(G: View, name: str, iterations: int, tolerance: float, **chosen: Any) -> Any:
    """The result of an algorithm whose scores settle; NetworkX's error if they do not."""
    if iterations < 1:
        raise nx.PowerIterationFailedConvergence(iterations)
    try:
        return G.run(name, iterations=iterations, tolerance=tolerance, **chosen)
    except ParameterError as error:
        if "still change" not in str(error):
            raise
        raise nx.PowerIterationFailedConvergence(iterations) from error


@offered(only_default=("x", "y", "nodes"), weight="weight")
def degree_assortativity_coefficient(
    G: View, x: str = "out", y: str = "in", weight: str | None = None, nodes: Any = None
) -> float:
    """The correlation of the degrees at the two ends of edges."""
    found = G.run("assortativity").summary["assortativity"]
    return math.nan if found is None else float(found)


@offered(only_default=("source", "target", "nodes"), weight="weight", multigraph=False)
def average_neighbor_degree(
    G: View,
    source: str = "out",
    target: str = "out",
    nodes: Any = None,
    weight: str | None = None,
) -> Mapping[Any, float]:
    """The mean degree of the neighbours; of directed graphs out-degrees of out-neighbours."""
    return G.mapping(G.run("assortativity")._values("average_neighbor_degree")[0])
