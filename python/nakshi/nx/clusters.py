"""Triangles and clustering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .degrees import degrees, loops
from .offers import offered
from .view import View

__all__ = ["average_clustering", "clustering", "transitivity", "triangles"]


@offered(directed=False)
def triangles(G: View, nodes: Any = None) -> Any:
    """Triangles that contain a vertex."""
    return _of(G, _triangles(G), nodes)


@offered(weight="weight", multigraph=False, directed=False)
def clustering(G: View, nodes: Any = None, weight: str | None = None) -> Any:
    """The share of pairs of neighbours that an edge joins."""
    return _of(G, _shares(G), nodes)


@offered(weight="weight", multigraph=False, directed=False)
def average_clustering(
    G: View, nodes: Any = None, weight: str | None = None, count_zeros: bool = True
) -> float:
    """The mean of the clustering coefficients, without those of 0 if asked for."""
    shares = _shares(G)
    if nodes is not None:
        shares = shares[G.some(nodes)]
    if not count_zeros:
        shares = shares[shares > 0]
    if not len(shares):
        raise ZeroDivisionError("no vertex has a clustering coefficient that counts")
    return float(shares.sum() / len(shares))


@offered(multigraph=False, directed=False)
def transitivity(G: View) -> float:
    """The share of paths of two edges whose ends an edge joins."""
    found = degrees(G, "both") - 2 * loops(G)
    pairs = int((found * (found - 1)).sum())
    closed = 6 * int(G.run("triangles").summary["triangles"])
    return closed / pairs if closed else 0


def _triangles(G: View) -> np.ndarray:
    return G.run("triangles", per_vertex=True)._values("triangles")[0]


def _shares(G: View) -> np.ndarray:
    result = G.run("lcc")
    return result._values(result.columns[0])[0]


def _of(G: View, values: np.ndarray, nodes: Any) -> Mapping[Any, Any] | Any:
    """Values of all vertices, of one, or of those of many that the graph has."""
    if nodes is None:
        return G.mapping(values)
    if nodes in G:
        return values[G.row(nodes)].item()
    rows = G.some(nodes)
    return G.mapping(values[rows], rows)
