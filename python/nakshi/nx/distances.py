"""Eccentricities and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from .offers import offered
from .paths import column_from
from .view import View

__all__ = ["center", "diameter", "eccentricity", "periphery", "radius"]


@offered(only_default=("sp",), weight="weight", weighted=True)
def eccentricity(G: View, v: Any = None, sp: Any = None, weight: str | None = None) -> Any:
    """The length of the longest shortest path from a vertex."""
    if v is None:
        return G.mapping(_eccentricities(G, np.arange(G.count), weight))
    rows = G.some([v] if v in G else v)
    found = _eccentricities(G, rows, weight)
    return found[0].item() if v in G else G.mapping(found, rows)


@offered(weight="weight", weighted=True)
def diameter(G: View, e: Any = None, usebounds: bool = False, weight: str | None = None) -> Any:
    """The largest eccentricity."""
    return max(_values(G, e, weight))


@offered(weight="weight", weighted=True)
def radius(G: View, e: Any = None, usebounds: bool = False, weight: str | None = None) -> Any:
    """The smallest eccentricity."""
    return min(_values(G, e, weight))


@offered(weight="weight", weighted=True)
def periphery(
    G: View, e: Any = None, usebounds: bool = False, weight: str | None = None
) -> list[Any]:
    """The vertices of the largest eccentricity."""
    return _those(G, e, weight, max)


@offered(weight="weight", weighted=True)
def center(G: View, e: Any = None, usebounds: bool = False, weight: str | None = None) -> list[Any]:
    """The vertices of the smallest eccentricity."""
    return _those(G, e, weight, min)


def _those(G: View, e: Any, weight: str | None, extreme: Any) -> list[Any]:
    values = _values(G, e, weight)
    wanted = extreme(values)
    nodes = G.nodes() if e is None else iter(e)
    return [node for node, value in zip(nodes, values) if value == wanted]


def _values(G: View, e: Mapping[Any, Any] | None, weight: str | None) -> list[Any]:
    """The eccentricities that a caller has found already, or all of them."""
    if e is not None:
        return list(e.values())
    found: list[Any] = _eccentricities(G, np.arange(G.count), weight).tolist()
    return found


def _eccentricities(G: View, rows: np.ndarray, weight: str | None) -> np.ndarray:
    if len(rows) == G.count > 0 and G.is_unit(weight):
        if G.run("scc" if G.directed else "wcc").summary["components"] > 1:
            raise _infinite(G)
        return G.run("eccentricity")._values("eccentricity")[0].astype(np.int64)
    found = []
    for node in G.nodes(rows):
        lengths, missing = column_from(G, node, weight)
        if missing is not None and missing.any():
            raise _infinite(G)
        found.append(G.number(lengths.max().item()))
    return np.array(found)


def _infinite(G: View) -> nx.NetworkXError:
    kind = "digraph is not strongly" if G.directed else "graph is not"
    return nx.NetworkXError(f"Found infinite path length because the {kind} connected")
