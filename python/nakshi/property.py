"""Queries of single nodes and edges: ZipG's Table 1, TAO, Graph Search."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

from ._core import EdgeRecord, Properties, Store
from .progress import ProgressArgument, reporting
from .units import parse_size

__all__ = ["EdgeData", "Id", "Property", "Queries", "Search", "Tao"]

Id = int | str | bytes
"""A vertex as the imported edges named it."""
Scalar = str | bytes | int | float | bool
Property = Scalar | Sequence[Scalar] | None
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


class Queries:
    """The queries of a graph with properties, which :class:`nakshi.Graph` has."""

    _core: Store
    _properties: Properties | None

    def load_properties(
        self, *, memory: int | str | None = None, progress: ProgressArgument = None
    ) -> None:
        """Load the property files, compressed as they are; the first query does it by itself.

        Args:
            memory: cap; the files have to fit.
            progress: as for algorithms.

        Raises:
            UnsupportedError: a store without properties.
            BudgetError: ``memory`` is less than the files take.
        """
        if self._properties is None:
            with reporting(progress, "properties") as sink:
                self._properties = Properties(self._core, memory=parse_size(memory), progress=sink)

    @property
    def _queries(self) -> Properties:
        self.load_properties()
        assert self._properties is not None
        return self._properties

    def get_node_property(
        self, id: Id, properties: str | Sequence[str] | None = None
    ) -> dict[str, Property]:
        """Properties of a node by name (ZipG, Table 1).

        Args:
            id: of the node.
            properties: names, or one; ``None`` for all that the node has.

        Returns:
            Values by name; ``None`` for a named property that the node lacks.

        Raises:
            UnknownVertexError: there is no such node.
            ParameterError: there is no such property in the store.
        """
        names = [properties] if isinstance(properties, str) else properties
        return self._queries.get_node_property(id, None if names is None else list(names))

    def get_node_ids(self, properties: Mapping[str, Property] | None = None) -> list[Id]:
        """The nodes that have all these values; all nodes for ``None``.

        A property that is a list has a value if one of its items is equal.
        """
        return self._queries.get_node_ids(dict(properties or {}))

    def get_neighbor_ids(
        self,
        id: Id,
        edge_type: str | int | None = None,
        properties: Mapping[str, Property] | None = None,
    ) -> list[Id]:
        """The nodes that edges of a type lead to from a node, and that have all these values.

        Args:
            id: of the node.
            edge_type: ``None`` for any.
            properties: of the neighbours; ``None`` for any.

        Returns:
            Each neighbour once, in the order of types and times.
        """
        return self._queries.get_neighbor_ids(id, _type(edge_type), dict(properties or {}))

    @overload
    def get_edge_record(self, id: Id, edge_type: str | int) -> EdgeRecord: ...
    @overload
    def get_edge_record(self, id: Id, edge_type: None = None) -> list[EdgeRecord]: ...
    def get_edge_record(
        self, id: Id, edge_type: str | int | None = None
    ) -> EdgeRecord | list[EdgeRecord]:
        """The edges of a type of a node, in the order of their times; ``len()`` counts them.

        Without a type, a record for each type of which the node has edges.
        """
        name = _type(edge_type)
        if name is None:
            return self._queries.get_edge_records(id)
        return self._queries.get_edge_record(id, name)

    def get_edge_range(
        self, record: EdgeRecord, t_lo: int | None = None, t_hi: int | None = None
    ) -> tuple[int, int]:
        """First place and end of the edges of a record with ``t_lo <= time < t_hi``."""
        return self._queries.get_edge_range(record, t_lo, t_hi)

    def get_edge_data(self, record: EdgeRecord, place: int) -> EdgeData:
        """Destination, time and properties of the edge at a place of a record, 0 the oldest."""
        return EdgeData(*self._queries.get_edge_data(record, place))

    def find_edges(self, properties: Mapping[str, Property]) -> list[tuple[Id, str, EdgeData]]:
        """The edges that have all these values: source, type, and the rest."""
        found = self._queries.find_edges(dict(properties))
        return [(source, ty, EdgeData(*edge)) for source, ty, edge in found]

    def bench(
        self,
        workload: Literal["tao", "graph-search"],
        *,
        queries: int = 20_000,
        threads: int | None = None,
        seed: int = 1,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Measure queries: each kind alone on one thread, then their mix on ``threads``.

        Args:
            workload: TAO's reading queries in the shares of its paper (ZipG, Table 2), or those of
                Graph Search (Table 4) in equal shares.
            queries: of each kind, and of the mix.
            threads: of the mix; default 2.
            seed: of draws.
            progress: as for algorithms.

        Returns:
            ``classes`` with ``name``, ``rate`` and the latencies ``p50``, ``p99`` and ``p999`` in
            microseconds; ``rate`` and ``seconds`` of the mix.
        """
        config = {"mix": workload, "queries": queries, "threads": threads or 2, "seed": seed}
        properties = self._queries
        with reporting(progress, "bench") as sink:
            found: dict[str, Any] = json.loads(
                properties.workload(json.dumps(config), progress=sink)
            )
        return found

    @property
    def tao(self) -> Tao:
        """The operations of TAO."""
        return Tao(self._queries)

    @property
    def search(self) -> Search:
        """The queries of Graph Search."""
        return Search(self._queries)


class Tao:
    """The reading operations of TAO: objects are nodes, associations are edges.

    Lists come newest first; both bounds of times are included.
    """

    def __init__(self, core: Properties) -> None:
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

    def __init__(self, core: Properties) -> None:
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


def _type(edge_type: str | int | None) -> str | None:
    """The name of a type of edges; integers pass for their decimal text."""
    return None if edge_type is None else str(edge_type)
