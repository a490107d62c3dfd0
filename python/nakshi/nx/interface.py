"""The entry point ``networkx.backends``: conversions, and the functions under NetworkX's names."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import networkx as nx

from ..graph import Graph
from . import readers
from .info import NOTES
from .offers import OFFERS
from .view import ConvertedGraph

__all__ = ["can_run", "convert_from_nx", "convert_to_nx", "on_start_tests", "should_run"]

#: Tests of NetworkX that this backend cannot pass, with the reasons.
EXPECTED = {
    "test_topological_sort6": "a store does not see later changes",
    "test_condensation_mapping_and_members": "components are in the order of their first vertices",
    "test_karate_club_partition": "communities are in the order of their first vertices",
    "test_none_weight_param": "communities are in the order of their first vertices",
    "test_undirected_selfloops": "communities are in the order of their first vertices",
}

_MODULES = (
    "centrality",
    "clusters",
    "communities",
    "components",
    "degrees",
    "distances",
    "links",
    "paths",
    "prediction",
    "readers",
    "structure",
    "traversal",
)
for _module in (import_module(f".{name}", __package__) for name in _MODULES):
    globals().update({name: getattr(_module, name) for name in _module.__all__ if name in NOTES})


def convert_from_nx(
    graph: Any, edge_attrs: dict[str, Any] | None = None, **_options: Any
) -> ConvertedGraph:
    """A graph of NetworkX as a temporary store.

    Raises:
        NotImplementedError: several edge attributes, or one that is no number of at least 0.
    """
    if edge_attrs is not None and len(edge_attrs) > 1:
        raise NotImplementedError("several edge attributes at once are not supported")
    return ConvertedGraph(graph, edge_attrs)


def convert_to_nx(result: Any, **_options: Any) -> Any:
    """A graph of NetworkX for a graph of the backend; any other result as it is.

    Raises:
        ParameterError: a store of more than ``nx.config.backends.nakshi.max_edges`` edges.
    """
    if isinstance(result, ConvertedGraph):
        return result.original
    if isinstance(result, Graph):
        return result.to_networkx(max_edges=nx.config.backends.nakshi.max_edges)
    return result


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """True, or the reason why a call with these arguments is not supported.

    A store that is not to fall back to NetworkX is refused by the function, with the reason.
    """
    offer = OFFERS.get(name)
    signature = inspect.signature(globals()[name]) if offer is None else offer.signature
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    bound.apply_defaults()
    if offer is None:
        return readers.unread(name, bound.arguments) or True
    graph = next(iter(bound.arguments.values()))
    if isinstance(graph, Graph) and not nx.config.fallback_to_nx:
        return True
    return offer.refusal(bound.arguments) or True


def on_start_tests(items: list[Any]) -> None:
    """Mark those of NetworkX's own tests that cannot pass, as NetworkX asks a backend to."""
    import pytest

    for item in items:
        if item.name in EXPECTED:
            item.add_marker(pytest.mark.xfail(reason=EXPECTED[item.name]))


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """True, or the reason why a graph of NetworkX is not worth a conversion."""
    if name not in OFFERS:
        return True
    graph = args[0] if args else next(iter(kwargs.values()))
    least = nx.config.backends.nakshi.min_edges
    edges = graph.number_of_edges() if isinstance(graph, nx.Graph) else least
    if edges < least:
        return (
            f"the graph has {edges:,} edges, fewer than nx.config.backends.nakshi.min_edges, "
            f"{least:,}"
        )
    return True
