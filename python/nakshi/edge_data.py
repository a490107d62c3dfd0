"""Edges as queries return them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .conditions import Property
    from .queries import Id

__all__ = ["EdgeData", "IncomingEdge"]


class EdgeData(NamedTuple):
    """Destination, time and properties of an edge.

    Attributes:
        destination: id of the destination.
        timestamp: time of the edge.
        properties: properties of the edge by name, without null ones.
    """

    destination: Id
    timestamp: int
    properties: dict[str, Property]


class IncomingEdge(NamedTuple):
    """An edge, but for its destination.

    Attributes:
        source: id of the node that it begins at.
        edge_type: its type.
        timestamp: its time.
        properties: its properties by name, without those that are null.
    """

    source: Id
    edge_type: str
    timestamp: int
    properties: dict[str, Property]
