"""Edges as queries return them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .conditions import Property
    from .queries import Id

__all__ = ["EdgeData", "EdgeId", "IncomingEdge"]


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


class EdgeId(NamedTuple):
    """Identity of an edge, by which it can be read, changed and deleted.

    Attributes:
        source: id of the node that it begins at.
        edge_type: its type.
        destination: id of the node that it leads to.
        number: tells it apart from other edges with the same ends and type; 0 for an edge that
            :meth:`nakshi.Graph.create_edge` did not make.
    """

    source: Id
    edge_type: str
    destination: Id
    number: int


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
