"""PageRank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from .offers import offered
from .view import View

__all__ = ["pagerank"]


@offered(only_default=("personalization", "nstart", "dangling"), weight="weight")
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
    result = G.run("pagerank", damping=alpha, iterations=max_iter, tolerance=tol)
    if result.summary["change"] >= G.count * tol:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.mapping(result._values("rank")[0])
