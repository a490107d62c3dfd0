"""Triangles and triads, clustering and rich clubs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .degrees import degrees, loops
from .offers import offered, refuse
from .view import View

__all__ = [
    "average_clustering",
    "clustering",
    "rich_club_coefficient",
    "transitivity",
    "triadic_census",
    "triangles",
]


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


@offered(multigraph=False, directed=False)
def rich_club_coefficient(
    G: View, normalized: bool = True, Q: float = 100, seed: Any = None
) -> dict[int, float]:
    """For every k, the share of pairs of vertices with larger degrees that an edge joins."""
    if normalized:
        raise refuse("rich_club_coefficient", G, "normalized= must be False")
    if loops(G).any():
        raise Exception("rich_club_coefficient is not implemented for graphs with self loops.")
    result = G.run("rich-club")
    all_degrees, (values, missing) = result._values("degree")[0], result._values("rich_club")
    if not all_degrees.any():
        return {}
    found, first = np.unique(all_degrees, return_index=True)
    there = np.ones(len(first), dtype=bool) if missing is None else ~missing[first]
    # Below the smallest degree the coefficient is the density; no vertex is above the largest.
    steps = np.concatenate(([result.summary["density"]], values[first][there]))
    lengths = np.diff(np.concatenate(([0], found)))[: len(steps)]
    return dict(enumerate(np.repeat(steps, lengths).tolist()))


@offered(only_default=("nodelist",))
def triadic_census(G: View, nodelist: Any = None) -> dict[str, int]:
    """Sets of three vertices by the arcs between them."""
    return {name: int(count) for name, count in G.run("triad-census").summary.items()}


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
