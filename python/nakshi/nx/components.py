"""Connected and weakly connected components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from .offers import offered
from .traversal import levels
from .view import View

if TYPE_CHECKING:
    from ..result import Result

__all__ = [
    "connected_components",
    "is_connected",
    "is_weakly_connected",
    "node_connected_component",
    "number_connected_components",
    "number_weakly_connected_components",
    "sets_of",
    "weakly_connected_components",
]


@offered()
def connected_components(G: View) -> Iterator[set[Any]]:
    """Sets of the vertices of each component, in the order of their first vertices."""
    return sets_of(G, G.run("wcc"))


@offered()
def number_connected_components(G: View) -> int:
    """Number of components."""
    return _number(G)


@offered()
def is_connected(G: View) -> bool:
    """True if there is a path between any two vertices."""
    return _is_whole(G)


@offered()
def node_connected_component(G: View, n: Any) -> set[Any]:
    """The vertices of the component of a vertex."""
    G.required(n, nx.NodeNotFound, "Node {} is not in G")
    return set(G.nodes(np.flatnonzero(levels(G, [n]) >= 0)))


@offered()
def weakly_connected_components(G: View) -> Iterator[set[Any]]:
    """Sets of the vertices of each weak component, in the order of their first vertices."""
    return sets_of(G, G.run("wcc"))


@offered()
def number_weakly_connected_components(G: View) -> int:
    """Number of weak components."""
    return _number(G)


@offered()
def is_weakly_connected(G: View) -> bool:
    """True if there is a path between any two vertices, whatever the direction of edges."""
    return _is_whole(G)


def _number(G: View) -> int:
    found: int = G.run("wcc").summary["components"]
    return found


def _is_whole(G: View) -> bool:
    if not G.count:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return _number(G) == 1


def sets_of(G: View, result: Result) -> Iterator[set[Any]]:
    """Vertices by label, where a label is the smallest id of its set."""
    labels, _ = result._values(result.columns[0])
    order = np.argsort(labels, kind="stable")
    borders = np.flatnonzero(labels[order][1:] != labels[order][:-1]) + 1
    for rows in np.split(order, borders):
        if len(rows):
            yield set(G.nodes(rows))
