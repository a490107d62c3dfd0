"""Queries of single nodes and edges: ZipG's Table 1, TAO, Graph Search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Union

if TYPE_CHECKING:
    from . import _core
    from .graph import Id

__all__ = ["EdgeData", "Property", "Search", "Tao"]

Property = Union[
    None, str, bytes, int, float, bool, Sequence[Union[str, bytes, int, float, bool]]
]
"""A value of a property. Times are milliseconds since 1970-01-01 00:00 UTC."""


class EdgeData(NamedTuple):
    """An edge, but for its source and type.

    Attributes:
        destination: id of the node that it leads to.
        timestamp: its time.
        properties: its properties by name, without those that are null.
    """

    destination: Id
    timestamp: int
    properties: dict[str, Property]


class Tao:
    """The reading operations of TAO: objects are nodes, associations are edges.

    Lists come newest first; both bounds of times are included.
    """

    def __init__(self, core: _core.Properties) -> None:
        self._core = core

    def obj_get(self, id: Id) -> dict[str, Property] | None:
        """All properties of an object; ``None`` if there is no such object."""
        return self._core.obj_get(id)

    def assoc_count(self, id: Id, atype: str) -> int:
        """Number of associations of a type."""
        return len(self._core.get_edge_record(id, atype))

    def assoc_range(self, id: Id, atype: str, pos: int = 0, limit: int = 1000) -> list[EdgeData]:
        """At most ``limit`` associations from place ``pos`` on, 0 being the newest."""
        return _edges(self._core.assoc_range(id, atype, pos, limit))

    def assoc_get(
        self,
        id: Id,
        atype: str,
        id2s: Sequence[Id],
        low: int | None = None,
        high: int | None = None,
    ) -> list[EdgeData]:
        """The associations with objects of ``id2s`` whose time is from ``low`` to ``high``."""
        return _edges(self._core.assoc_get(id, atype, list(id2s), low, high))

    def assoc_time_range(
        self,
        id: Id,
        atype: str,
        high: int | None = None,
        low: int | None = None,
        limit: int = 1000,
    ) -> list[EdgeData]:
        """At most ``limit`` associations whose time is from ``low`` to ``high``."""
        return _edges(self._core.assoc_time_range(id, atype, high, low, limit))


class Search:
    """The five queries of Graph Search (ZipG, Table 4)."""

    def __init__(self, core: _core.Properties) -> None:
        self._core = core

    def friends(self, id: Id) -> list[Id]:
        """GS1: all nodes that edges of a node lead to."""
        return self._core.get_neighbor_ids(id, None, {})

    def friends_with(self, id: Id, properties: Mapping[str, Property]) -> list[Id]:
        """GS2: those of them that have these values."""
        return self._core.get_neighbor_ids(id, None, dict(properties))

    def find(self, properties: Mapping[str, Property]) -> list[Id]:
        """GS3: the nodes that have all these values."""
        return self._core.get_node_ids(dict(properties))

    def friends_by(self, id: Id, edge_type: str) -> list[Id]:
        """GS4: the nodes that edges of one type lead to."""
        return self._core.get_neighbor_ids(id, edge_type, {})

    def friends_data(self, id: Id, edge_type: str) -> list[EdgeData]:
        """GS5: all data of the edges of one type, newest first."""
        return _edges(self._core.assoc_range(id, edge_type, 0, 2**63 - 1))


def _edges(found: list[tuple[Id, int, dict[str, Property]]]) -> list[EdgeData]:
    return [EdgeData(*edge) for edge in found]
