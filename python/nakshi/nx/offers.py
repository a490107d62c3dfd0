"""Functions of the backend, with the arguments that they take and the reasons for refusals."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx

from ..errors import UnsupportedError
from ..graph import Graph
from .view import ConvertedGraph, View, view

__all__ = ["OFFERS", "Offer", "offered", "refuse", "refused"]


@dataclass(frozen=True)
class Offer:
    """A function of NetworkX's, as far as stores answer it.

    Attributes:
        signature: parameters, as NetworkX has them.
        only_default: parameters that must have their default.
        weight: the parameter that names an edge attribute, if there is one.
        weighted: whether values of the attribute other than 1 count.
        multigraph: whether parallel edges of NetworkX's multigraphs are taken.
        directed: whether directed graphs are taken.
        stores: the reason why stores are refused, if they are.
    """

    signature: inspect.Signature
    only_default: tuple[str, ...]
    weight: str | None
    weighted: bool
    multigraph: bool
    directed: bool
    stores: str | None

    def refusal(self, arguments: dict[str, Any]) -> str | None:
        """Returns the reason why a call cannot run, as far as its arguments tell it."""
        for name in self.only_default:
            given = arguments[name]
            if given is not (default := self.signature.parameters[name].default):
                if given != default:
                    return f"{name}= is not supported"
        weight = None if self.weight is None else arguments[self.weight]
        if weight is not None and not isinstance(weight, str):
            return f"{self.weight}= must name an edge attribute"
        graph = next(iter(arguments.values()))
        if isinstance(graph, Graph):
            if self.stores is None and not self.weighted and weight in graph.weights:
                return (
                    f"the weights of the store are not read; {self.weight}=None counts each edge "
                    "as 1"
                )
            directed, parallel, reason = graph.directed, False, self.stores
        else:
            directed, parallel, reason = graph.is_directed(), graph.is_multigraph(), None
        if directed and not self.directed:
            return "directed graphs are not supported"
        return "multigraphs are not supported" if parallel and not self.multigraph else reason


#: Offers by the name of the function.
OFFERS: dict[str, Offer] = {}


def offered(
    *,
    only_default: tuple[str, ...] = (),
    weight: str | None = None,
    weighted: bool = False,
    multigraph: bool = True,
    directed: bool = True,
    stores: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of the backend, called with the :class:`View` of a graph; see :class:`Offer`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        name = function.__name__
        offer = Offer(signature, only_default, weight, weighted, multigraph, directed, stores)
        OFFERS[name] = offer

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            graph = next(iter(bound.arguments.values()))
            reason = offer.refusal(bound.arguments)
            if reason is not None:
                raise refused(name, reason, graph)
            seen = view(graph)
            if weight is not None and not weighted and not seen.is_unit(bound.arguments[weight]):
                raise refused(name, "edges have weights, which are not read", graph)
            bound.arguments[next(iter(bound.arguments))] = seen
            return function(*bound.args, **bound.kwargs)

        return run

    return decorate


def refused(name: str, reason: str, graph: Any) -> Exception:
    """The error of a call that is not supported.

    NetworkX turns ``NotImplementedError`` into a call of its own function, or into an error without
    a reason. A store whose call is not to fall back is refused with the reason.
    """
    if isinstance(graph, Graph) and not nx.config.fallback_to_nx:
        return UnsupportedError(f"{name} cannot run on a store here: {reason}")
    return NotImplementedError(f"{name}: {reason}")


def refuse(name: str, graph: View, reason: str) -> Exception:
    """The error of a call that turns out to be not supported while it runs."""
    return refused(name, reason, graph if isinstance(graph, ConvertedGraph) else graph.store)
