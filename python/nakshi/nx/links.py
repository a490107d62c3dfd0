"""PageRank, and hubs and authorities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from .centrality import settled
from .offers import offered, refuse
from .view import View

__all__ = ["hits", "pagerank"]

#: Iterations for one of NetworkX's.
_MORE = 10


@offered(only_default=("nstart", "dangling"), weight="weight")
def pagerank(
    G: View,
    alpha: float = 0.85,
    personalization: Any = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Any = None,
    weight: str | None = "weight",
    dangling: Any = None,
) -> Mapping[Any, float]:
    """PageRank; iterates until the ranks change by less than ``tol`` in sum.

    NetworkX allows a change of ``tol`` a vertex, and so needs no more iterations than this does.
    """
    if not G.count:
        return {}
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    chosen = {"damping": alpha, "iterations": max_iter, "tolerance": tol}
    if personalization is None:
        result = G.run("pagerank", **chosen)
    else:
        result = G.run("personalized-pagerank", sources=_sources(G, personalization), **chosen)
    if result.summary["change"] >= G.count * tol:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.mapping(result._values("rank")[0])


def _sources(G: View, personalization: Mapping[Any, float]) -> list[Any]:
    """The vertices at which walks begin again, which have equal parts."""
    parts = {node: part for node, part in personalization.items() if part and node in G}
    if not parts:
        raise ZeroDivisionError("personalization names no vertex of the graph")
    if len(set(parts.values())) > 1:
        raise refuse("pagerank", G, "personalization= must give equal parts")
    return list(G.ids(G.some(parts)))


@offered(only_default=("nstart", "normalized"))
def hits(
    G: View, max_iter: int = 100, tol: float = 1e-8, nstart: Any = None, normalized: bool = True
) -> tuple[Mapping[Any, float], Mapping[Any, float]]:
    """Scores as hubs and as authorities, each of sum 1.

    An iteration of NetworkX's method, Lanczos', does the work of several of these.
    """
    if not G.count:
        return {}, {}
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    result = settled(G, "hits", _MORE * max_iter, tol, **G.weighing("weight"))
    hubs, authorities = (G.mapping(result._values(name)[0]) for name in ("hub", "authority"))
    return hubs, authorities
