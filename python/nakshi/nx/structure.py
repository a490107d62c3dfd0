"""Strong components, cores, and graphs without cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np

from ..errors import UnsupportedError
from .components import sets_of
from .degrees import loops
from .offers import offered
from .view import ConvertedGraph, View

__all__ = [
    "core_number",
    "dag_longest_path",
    "dag_longest_path_length",
    "is_directed_acyclic_graph",
    "is_strongly_connected",
    "k_core",
    "k_crust",
    "k_shell",
    "number_strongly_connected_components",
    "strongly_connected_components",
    "topological_generations",
    "topological_sort",
]


@offered()
def strongly_connected_components(G: View) -> Iterator[set[Any]]:
    """Sets of the vertices of each strong component, in the order of their first vertices."""
    return sets_of(G, G.run("scc"))


@offered()
def number_strongly_connected_components(G: View) -> int:
    """Number of strong components."""
    found: int = G.run("scc").summary["components"]
    return found


@offered()
def is_strongly_connected(G: View) -> bool:
    """True if there are paths between any two vertices, both ways."""
    if not G.count:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return bool(G.run("scc").summary["components"] == 1)


@offered(multigraph=False)
def core_number(G: View) -> Mapping[Any, int]:
    """The largest k for which a vertex is in the k-core."""
    return G.mapping(_cores(G))


@offered(multigraph=False)
def k_core(G: View, k: int | None = None, core_number: Mapping[Any, int] | None = None) -> Any:
    """The graph of the vertices of core number k or more, by default of the largest."""
    return _part(G, k, core_number, np.greater_equal)


@offered(multigraph=False)
def k_shell(G: View, k: int | None = None, core_number: Mapping[Any, int] | None = None) -> Any:
    """The graph of the vertices of core number k, by default of the largest."""
    return _part(G, k, core_number, np.equal)


@offered(multigraph=False)
def k_crust(G: View, k: int | None = None, core_number: Mapping[Any, int] | None = None) -> Any:
    """The graph of the vertices of core number k or less, by default of all but the largest."""
    return _part(G, k, core_number, np.less_equal, -1)


@offered()
def topological_sort(G: View) -> Iterator[Any]:
    """The vertices in an order in which every edge leads onwards."""
    for rows in _generations(G):
        yield from G.nodes(rows)


@offered()
def topological_generations(G: View) -> Iterator[list[Any]]:
    """Lists of the vertices at the end of whose longest path equally many edges lie."""
    for rows in _generations(G):
        yield list(G.nodes(rows))


@offered()
def is_directed_acyclic_graph(G: View) -> bool:
    """True for a directed graph without a cycle."""
    return G.directed and _levels(G) is not None


@offered(only_default=("default_weight", "topo_order"), weight="weight", weighted=True)
def dag_longest_path(
    G: View, weight: str | None = "weight", default_weight: int = 1, topo_order: Any = None
) -> list[Any]:
    """The vertices of a longest path, from its beginning."""
    if not G.count:
        return []
    result = _longest(G, weight)
    rows = np.flatnonzero(result._values("on_path")[0])
    names = list(G.ids(rows))
    row_of = dict(zip(names, rows.tolist()))
    before, missing = result._values("before")
    # The first vertex has none before it.
    follows = {row_of[before[row]]: row for row in rows.tolist() if not missing[row]}
    [row] = set(rows.tolist()) - set(follows.values())
    path = [row]
    while path[-1] in follows:
        path.append(follows[path[-1]])
    return list(G.nodes(np.array(path)))


@offered(only_default=("default_weight",), weight="weight", weighted=True)
def dag_longest_path_length(
    G: View, weight: str | None = "weight", default_weight: int = 1
) -> float:
    """The sum of the weights along a longest path."""
    if not G.count:
        return 0
    length: float = G.number(_longest(G, weight).summary["length"])
    return length


def _longest(G: View, weight: str | None) -> Any:
    try:
        return G.run("dag-longest-path", **G.weighing(weight))
    except UnsupportedError as error:
        if "cycle" not in str(error):
            raise
        message = "Graph contains a cycle or graph changed during iteration"
        raise nx.NetworkXUnfeasible(message) from error


def _cores(G: View) -> np.ndarray:
    if loops(G).any():
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return G.run("k-core")._values("core")[0]


def _part(
    G: View,
    k: int | None,
    known: Mapping[Any, int] | None,
    fits: Callable[[np.ndarray, int], np.ndarray],
    beside: int = 0,
) -> Any:
    """The graph of the vertices whose core number fits; of NetworkX, or a store."""
    cores = _cores(G) if known is None else np.array([known[node] for node in G.nodes()])
    if k is None:
        if not G.count:
            raise ValueError("a graph without vertices has no core")
        k = int(cores.max()) + beside
    rows = np.flatnonzero(fits(cores.astype(np.int64), k))
    if isinstance(G, ConvertedGraph):
        return G.original.subgraph(G.nodes(rows)).copy()
    return G.store.subgraph(G.ids(rows), **G.limits())


def _levels(G: View) -> tuple[np.ndarray, np.ndarray] | None:
    """Place in the order and generation by row, or ``None`` where there is a cycle."""
    try:
        result = G.run("topological-sort")
    except UnsupportedError:
        return None
    return result._values("order")[0], result._values("generation")[0].astype(np.int64)


def _generations(G: View) -> Iterator[np.ndarray]:
    """Rows of each generation; those of a converted graph in NetworkX's order."""
    if not G.directed:
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    found = _levels(G)
    if found is None:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")
    places, generations = found
    order = np.argsort(places, kind="stable")
    sorted_rows = np.split(order, np.flatnonzero(np.diff(generations[order])) + 1)
    rows = np.sort(sorted_rows[0])
    for depth, usual in enumerate(sorted_rows):
        if depth:
            rows = _freed(G, rows, generations, depth) if isinstance(G, ConvertedGraph) else usual
        if len(rows):
            yield rows


def _freed(G: View, before: np.ndarray, generations: np.ndarray, depth: int) -> np.ndarray:
    """Rows of a generation in the order in which their last edge from the one before is met."""
    [(_, _, targets)] = G.lists(before, False)
    met = targets[generations[targets] == depth][::-1]
    _, last = np.unique(met, return_index=True)
    freed: np.ndarray = met[np.sort(last)[::-1]]
    return freed
