"""Queries of nodes and edges with properties: ZipG's Table 1, TAO, Graph Search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ._core import EdgeRecord, Properties
from .conditions import Condition, Property, asked
from .cypher import Limits, QueryResult, ask
from .edge_data import EdgeData, EdgeId, IncomingEdge
from .errors import ParameterError
from .progress import ProgressArgument
from .schema import EXACT, Schema, of_properties

if TYPE_CHECKING:
    from ._core import Remote

__all__ = ["Id", "Queries", "Search", "Snapshot", "Tao"]

Id = int | str | bytes
"""Id of a vertex, as in the imported edges."""


class Queries:
    """The queries of graphs with properties and of their snapshots."""

    @property
    def _queries(self) -> Properties | Remote:
        raise NotImplementedError

    def query(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        memory: int | str | None = None,
        csv_folder: str | os.PathLike[str] | None = None,
        **named: Any,
    ) -> QueryResult:
        """Run a query in openCypher.

        >>> rows = g.query("MATCH (n:Person {name: $name})-->(m) RETURN m.name", name="Ann")  # doctest: +SKIP

        A query that only reads sees the state after the last commit, and runs while its rows are taken. One
        that changes the graph commits before this returns, and runs again after a conflict with others. In
        a transaction it is a part of that.

        Args:
            text: the query.
            parameters: values of its parameters by name.
            timeout: seconds that it may run for, until its last row is taken.
            memory: most bytes that its rows and groups may take.
            csv_folder: folder that ``LOAD CSV`` may read from; a server has its own (``--csv-folder``).
            named: more parameters; one whose name is an argument of this method goes into ``parameters``.

        Returns:
            The rows, by iteration or as a table.

        Raises:
            QueryError: the query is wrong; the message names line and column.
            ParameterError: a parameter has a value that queries do not take.
            DeadlineError: it has run past its timeout.
            BudgetError: it needs more memory than it may take.
        """
        limits = Limits(timeout, memory, csv_folder)
        return self._asked(lambda core: ask(core, text, parameters, named, limits))

    def _asked(self, ask: Callable[[Any], QueryResult]) -> QueryResult:
        """The answer to a query in Cypher."""
        return ask(self._queries)

    @overload
    def get_node_property(self, id: Id, properties: str) -> Property: ...  # type: ignore[overload-overlap]
    @overload
    def get_node_property(
        self, id: Id, properties: Sequence[str] | None = None
    ) -> dict[str, Property]: ...
    def get_node_property(
        self, id: Id, properties: str | Sequence[str] | None = None
    ) -> Property | dict[str, Property]:
        """Properties of a node (ZipG, Table 1).

        Args:
            id: id of the node.
            properties: a name, or a list of names; ``None`` for all that the node has.

        Returns:
            The value of the property that is named; of a list, and of ``None``, values by name.
            ``None`` for a named property that the node lacks.

        Raises:
            UnknownVertexError: there is no such node.
            ParameterError: there is no such property in the store.
        """
        if isinstance(properties, str):
            value: Property = self._queries.get_node_property(id, [properties])[properties]
            return value
        return self._queries.get_node_property(id, None if properties is None else list(properties))

    @overload
    def get_node_properties(self, ids: Sequence[Id], properties: str) -> list[Property]: ...  # type: ignore[overload-overlap]
    @overload
    def get_node_properties(
        self, ids: Sequence[Id], properties: Sequence[str] | None = None
    ) -> list[dict[str, Property]]: ...
    def get_node_properties(
        self, ids: Sequence[Id], properties: str | Sequence[str] | None = None
    ) -> list[Property] | list[dict[str, Property]]:
        """Properties of many nodes, for each as by :meth:`get_node_property`.

        In the layout ``"blocks"`` on disk, blocks that lie close together are read at once.
        """
        if isinstance(properties, str):
            found = self._queries.get_node_properties(list(ids), [properties])
            return [values[properties] for values in found]
        names = None if properties is None else list(properties)
        return self._queries.get_node_properties(list(ids), names)

    def read_node_property(
        self, id: Id, property: str, offset: int = 0, length: int = 4096
    ) -> bytes | None:
        """A range of bytes of a property that is a string or bytes.

        In the layout ``"blocks"`` the rest of the value is not read.

        Args:
            id: id of the node.
            property: name of the property.
            offset: first byte.
            length: number of bytes; fewer are returned at the end of the value.

        Returns:
            The bytes (UTF-8 for a string); ``None`` if the node has no such property.

        Raises:
            UnknownVertexError: there is no such node.
            ParameterError: there is no such property, or it has another type.
        """
        return self._queries.read_node_property(id, property, offset, length)

    def get_node_ids(
        self,
        properties: Mapping[str, Condition] | None = None,
        *,
        order_by: str | None = None,
        descending: bool = False,
        limit: int | None = None,
    ) -> list[Id]:
        """Nodes that meet all conditions; all nodes for ``None``.

        Args:
            properties: conditions by name: a value, or a condition such as
                :func:`nakshi.contains`, :func:`nakshi.gt` or :func:`nakshi.one_of`. A list matches
                if any of its items matches.
            order_by: property by which the nodes are sorted; nodes without it come last. By default
                they have the order of the store.
            descending: begin with the greatest value.
            limit: most nodes to return.

        Raises:
            ParameterError: a property is unknown, has another type, is no text that could contain
                or start with a pattern, or is a list, which has no order.
        """
        return self._queries.get_node_ids(
            asked(properties), order_by=order_by, descending=descending, limit=_limit(limit)
        )

    @overload
    def count(
        self, properties: Mapping[str, Condition] | None = None, *, by: None = None
    ) -> int: ...
    @overload
    def count(
        self, properties: Mapping[str, Condition] | None = None, *, by: str
    ) -> dict[Any, int]: ...
    def count(
        self, properties: Mapping[str, Condition] | None = None, *, by: str | None = None
    ) -> int | dict[Any, int]:
        """Number of nodes that meet all conditions, or their counts by the value of a property.

        Args:
            properties: conditions, as for :meth:`get_node_ids`; all nodes for ``None``.
            by: property, such as ``"city"`` or ``"labels"``. Nodes without it count as ``None``, and
                a node with a list counts for each of its items.

        Returns:
            The number, or with ``by`` a dictionary, the most frequent value first.
        """
        if by is None:
            return self._queries.count_nodes(asked(properties))
        return dict(self._queries.count_nodes_by(asked(properties), by))

    def get_neighbor_ids(
        self,
        id: Id,
        edge_type: str | int | None = None,
        properties: Mapping[str, Condition] | None = None,
        *,
        order_by: str | None = None,
        descending: bool = False,
        limit: int | None = None,
    ) -> list[Id]:
        """Destinations of a node's edges of a type that meet all conditions.

        Args:
            id: id of the node.
            edge_type: type of the edges; ``None`` for all.
            properties: conditions on the neighbours, as for :meth:`get_node_ids`.
            order_by, descending: property by which the neighbours are sorted, as for
                :meth:`get_node_ids`; by default they have the order of types and times.
            limit: most neighbours to return.

        Returns:
            Each neighbour once.
        """
        return self._queries.get_neighbor_ids(
            id,
            _type(edge_type),
            asked(properties),
            order_by=order_by,
            descending=descending,
            limit=_limit(limit),
        )

    def expand(
        self,
        ids: Id | Iterable[Id],
        edge_type: str | int | None = None,
        properties: Mapping[str, Condition] | None = None,
        *,
        hops: int = 2,
        limit: int | None = None,
    ) -> dict[Id, int]:
        """Nodes that some edges lead to from some nodes, and that meet all conditions.

        Args:
            ids: where to begin; one id, or several.
            edge_type: type of the edges; ``None`` for all.
            properties: conditions on the nodes, as for :meth:`get_node_ids`. The way to a node may lead
                over others that do not meet them.
            hops: most edges on the way to a node.
            limit: most nodes to return.

        Returns:
            The number of edges of the shortest way to each node, the nearest first. The nodes of `ids` are
            not among them.
        """
        begin = [ids] if isinstance(ids, (str, bytes, int)) else list(ids)
        wanted = asked(properties)
        return self._queries.expand(begin, _type(edge_type), wanted, hops=hops, limit=_limit(limit))

    @overload
    def get_edge_record(self, id: Id, edge_type: str | int) -> EdgeRecord: ...
    @overload
    def get_edge_record(self, id: Id, edge_type: None = None) -> list[EdgeRecord]: ...
    def get_edge_record(
        self, id: Id, edge_type: str | int | None = None
    ) -> EdgeRecord | list[EdgeRecord]:
        """The edges of a type of a node, in the order of their times, as a sequence of :class:`EdgeData`.

        Without a type, a list of records, one for each type of which the node has edges.

        Raises:
            UnknownVertexError: there is no such node.
            ParameterError: no edge of the store has this type.
        """
        name = _type(edge_type)
        if name is None:
            return self._queries.get_edge_records(id)
        return self._queries.get_edge_record(id, name)

    def get_incoming_edges(self, id: Id, edge_type: str | int | None = None) -> list[IncomingEdge]:
        """The edges that lead to a node, with their properties.

        Properties of edges are kept with their sources, whose records are searched: it takes a while
        where many edges begin at these.

        Args:
            id: of the node.
            edge_type: ``None`` for any.

        Returns:
            Edges in the order of types, times and sources.
        """
        found = self._queries.get_incoming_edges(id, _type(edge_type))
        return [IncomingEdge(*edge) for edge in found]

    def get_edge_range(
        self, record: EdgeRecord, t_lo: int | None = None, t_hi: int | None = None
    ) -> tuple[int, int]:
        """First position and end of the edges of a record with ``t_lo <= time < t_hi``."""
        return self._queries.get_edge_range(record, t_lo, t_hi)

    def get_edge_data(self, record: EdgeRecord, place: int) -> EdgeData:
        """Destination, time and properties of the edge at a position of a record, 0 the oldest."""
        return EdgeData(*self._queries.get_edge_data(record, place))

    def get_edge(self, edge: EdgeId) -> EdgeData | None:
        """An edge by its identity; ``None`` if there is none.

        It is looked for among the edges of its source and type.

        Args:
            edge: from :meth:`create_edge` or ``record.edge_id(place)``.

        Raises:
            ParameterError: several imported edges have these ends and this type.
        """
        found = self._queries.get_edge(*edge)
        return None if found is None else EdgeData(*found)

    def find_edges(
        self,
        properties: Mapping[str, Condition] | None = None,
        *,
        edge_type: str | int | None = None,
        order_by: str | None = None,
        descending: bool = False,
        limit: int | None = None,
    ) -> list[tuple[Id, str, EdgeData]]:
        """Edges that meet all conditions: source, type, and the rest of each.

        Args:
            properties: conditions on the edges, as for :meth:`get_node_ids`.
            edge_type: type of the edges; ``None`` for all.
            order_by: edge property by which the edges are sorted, those without it last, or
                ``"timestamp"``; by default they have the order of the store.
            descending: begin with the greatest value.
            limit: most edges to return.

        Raises:
            ParameterError: without a condition, a type and a limit, which would list all edges; as
                for :meth:`get_node_ids`.
        """
        if not properties and edge_type is None and limit is None:
            raise ParameterError(
                "this would list every edge; give conditions, edge_type= or limit=, or count them "
                "with count_edges()"
            )
        found = self._queries.find_edges(
            _type(edge_type),
            asked(properties),
            order_by=order_by,
            descending=descending,
            limit=_limit(limit),
        )
        return [(source, ty, EdgeData(*edge)) for source, ty, edge in found]

    @overload
    def count_edges(
        self,
        properties: Mapping[str, Condition] | None = None,
        *,
        edge_type: str | int | None = None,
        by: None = None,
    ) -> int: ...
    @overload
    def count_edges(
        self,
        properties: Mapping[str, Condition] | None = None,
        *,
        edge_type: str | int | None = None,
        by: str,
    ) -> dict[Any, int]: ...
    def count_edges(
        self,
        properties: Mapping[str, Condition] | None = None,
        *,
        edge_type: str | int | None = None,
        by: str | None = None,
    ) -> int | dict[Any, int]:
        """Number of edges that meet all conditions, or their counts by the value of a property.

        :meth:`schema` has the numbers of edges of all types.

        Args:
            properties: conditions on the edges, as for :meth:`get_node_ids`; all edges for ``None``.
            edge_type: type of the edges; ``None`` for all.
            by: edge property; as for :meth:`count`.
        """
        ty = _type(edge_type)
        if by is None:
            return self._queries.count_edges(ty, asked(properties))
        return dict(self._queries.count_edges_by(ty, asked(properties), by))

    @property
    def tao(self) -> Tao:
        """The operations of TAO."""
        return Tao(self._queries)

    @property
    def search(self) -> Search:
        """The queries of Graph Search."""
        return Search(self._queries)


class Snapshot(Queries):
    """State of a graph with properties after one commit; see :meth:`nakshi.Graph.snapshot`."""

    def __init__(self, core: Properties) -> None:
        self._core = core

    @property
    def _queries(self) -> Properties:
        return self._core

    @property
    def commit(self) -> int:
        """Number of the commit, counted from the import on."""
        return self._core.counts()[2]

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self._core.counts()[0]

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self._core.counts()[1]

    def schema(self, *, exact: int = EXACT, progress: ProgressArgument = None) -> Schema:
        """Labels, edge types and properties after this commit; see :meth:`nakshi.Graph.schema`."""
        return of_properties(self._core, True, exact, progress)

    def __repr__(self) -> str:
        nodes, edges, commit, _ = self._core.counts()
        return f"<nakshi.Snapshot after commit {commit}: {nodes:,} nodes, {edges:,} edges>"


class Tao:
    """The operations of TAO: objects are nodes, associations are edges.

    Lists begin with the newest edge, and both bounds of a time range are included. If a type has an
    inverse (:meth:`nakshi.Graph.set_inverse`), both edges change in one commit.
    """

    def __init__(self, core: Properties | Remote) -> None:
        self._core = core

    def obj_get(self, id: Id) -> dict[str, Property] | None:
        """All properties of an object; ``None`` if there is no such object."""
        return self._core.obj_get(id)

    def assoc_count(self, id: Id, atype: str) -> int:
        """Number of associations of a type."""
        return self._core.assoc_count(id, atype)

    def assoc_range(self, id: Id, atype: str, pos: int = 0, limit: int = 1000) -> list[EdgeData]:
        """At most ``limit`` associations from position ``pos`` on, 0 being the newest."""
        return _edges(self._core.assoc_range(id, atype, pos, limit))

    def assoc_get(
        self,
        id: Id,
        atype: str,
        id2s: Sequence[Id],
        low: int | None = None,
        high: int | None = None,
    ) -> list[EdgeData]:
        """Associations with the objects ``id2s`` whose time is from ``low`` to ``high``."""
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

    def obj_add(self, id: Id, properties: Mapping[str, Property] | None = None) -> None:
        """Add an object."""
        self._core.commit([("append_node", id, dict(properties or {}))])

    def obj_update(self, id: Id, properties: Mapping[str, Property]) -> None:
        """Set properties of an object; ``None`` removes a property, and all others stay."""
        self._core.commit([("update_node", id, dict(properties), True)])

    def obj_delete(self, id: Id) -> bool:
        """Delete an object with all associations from it and to it; return whether it existed."""
        return bool(self._core.commit([("delete_node", id)]))

    def assoc_add(
        self,
        id: Id,
        atype: str,
        id2: Id,
        timestamp: int = 0,
        properties: Mapping[str, Property] | None = None,
    ) -> None:
        """Add an association, in place of one with the same objects and type."""
        change = ("append_edge", id, atype, id2, timestamp, dict(properties or {}))
        self._core.commit([change])

    def assoc_delete(self, id: Id, atype: str, id2: Id) -> bool:
        """Delete an association; return whether it existed."""
        return bool(self._core.commit([("delete_edge", id, atype, id2)]))

    def assoc_change_type(self, id: Id, atype: str, id2: Id, new_type: str) -> bool:
        """Give an association another type; return whether it existed."""
        return bool(self._core.commit([("change_type", id, atype, id2, new_type)]))


class Search:
    """The five queries of Graph Search (ZipG, Table 4)."""

    def __init__(self, core: Properties | Remote) -> None:
        self._core = core

    def friends(self, id: Id) -> list[Id]:
        """GS1: all destinations of a node's edges."""
        return self._core.get_neighbor_ids(id, None, [])

    def friends_with(self, id: Id, properties: Mapping[str, Condition]) -> list[Id]:
        """GS2: the friends that meet all conditions."""
        return self._core.get_neighbor_ids(id, None, asked(properties))

    def find(self, properties: Mapping[str, Condition]) -> list[Id]:
        """GS3: the nodes that meet all conditions."""
        return self._core.get_node_ids(asked(properties))

    def friends_by(self, id: Id, edge_type: str) -> list[Id]:
        """GS4: the destinations of a node's edges of one type."""
        return self._core.get_neighbor_ids(id, edge_type, [])

    def friends_data(self, id: Id, edge_type: str) -> list[EdgeData]:
        """GS5: the edges of one type with all data, newest first."""
        return _edges(self._core.assoc_range(id, edge_type, 0, 2**63 - 1))


def _edges(found: list[tuple[Id, int, dict[str, Property]]]) -> list[EdgeData]:
    return [EdgeData(*edge) for edge in found]


def _type(edge_type: str | int | None) -> str | None:
    """Name of a type of edges; an integer stands for its decimal text."""
    return None if edge_type is None else str(edge_type)


def _limit(limit: int | None) -> int | None:
    if limit is not None and (not isinstance(limit, int) or limit < 0):
        raise ParameterError(f"limit={limit!r} cannot work; give a number of rows")
    return limit
