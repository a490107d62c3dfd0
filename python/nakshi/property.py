"""Queries and changes of nodes and edges with properties: ZipG's Table 1, TAO, Graph Search."""

from __future__ import annotations

import atexit
import json
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from ._core import EdgeRecord, Properties, Store
from .conditions import Condition, Property, asked
from .edge_data import EdgeData, IncomingEdge
from .errors import ParameterError, StoreError, StoreLockedError
from .progress import ProgressArgument, reporting
from .schema import EXACT, Schema, of_properties
from .units import parse_size

if TYPE_CHECKING:
    from typing_extensions import Self

    from .result import Result

__all__ = [
    "Batch",
    "Changes",
    "Condition",
    "EdgeData",
    "IncomingEdge",
    "Id",
    "Property",
    "Queries",
    "Search",
    "Snapshot",
    "Tao",
]

#: Type that a write returns.
Written = TypeVar("Written")

Id = int | str | bytes
"""Id of a vertex, as in the imported edges."""


class Queries:
    """The queries of graphs with properties and of their snapshots."""

    @property
    def _queries(self) -> Properties:
        raise NotImplementedError

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
        """What the graph held after this commit; see :meth:`nakshi.Graph.schema`."""
        return of_properties(self._core, True, exact, progress)

    def __repr__(self) -> str:
        nodes, edges, commit, _ = self._core.counts()
        return f"<nakshi.Snapshot after commit {commit}: {nodes:,} nodes, {edges:,} edges>"


class Changes:
    """The changes of a graph with properties. Each call makes one commit.

    A change is durable and visible to all readers when its method returns.
    """

    def _change(self, *change: Any) -> int:
        raise NotImplementedError

    def append_node(self, id: Id, properties: Mapping[str, Property] | None = None) -> None:
        """Add a node.

        Args:
            id: id of the node.
            properties: values by name. A new name becomes a property of the type of its value;
                ``None`` leaves a property out.

        Raises:
            ParameterError: there is such a node, or a value of another type than its property.
            StoreLockedError: another process writes to the store.
        """
        self._change("append_node", id, dict(properties or {}))

    def update_node(
        self, id: Id, properties: Mapping[str, Property], *, replace: bool = False
    ) -> None:
        """Set properties of a node; others, its labels and its edges stay.

        Args:
            id: of the node.
            properties: values by name; ``None`` removes one.
            replace: remove all properties and labels that are not named.

        Raises:
            UnknownVertexError: there is no such node.
        """
        self._change("update_node", id, dict(properties), not replace)

    def delete_node(self, id: Id) -> bool:
        """Delete a node with all edges from it and to it; return whether it existed.

        A node that is added later with the same id has none of them.
        """
        return self._change("delete_node", id) > 0

    def append_edge(
        self,
        source: Id,
        edge_type: str | int,
        destination: Id,
        timestamp: int = 0,
        properties: Mapping[str, Property] | None = None,
    ) -> None:
        """Add an edge, in place of those with the same source, type and destination.

        Raises:
            UnknownVertexError: one of the nodes is not there.
        """
        ty = str(edge_type)
        self._change("append_edge", source, ty, destination, timestamp, dict(properties or {}))

    def delete_edge(self, source: Id, edge_type: str | int, destination: Id) -> bool:
        """Delete the edges of a source, type and destination; return whether there were any."""
        return self._change("delete_edge", source, str(edge_type), destination) > 0

    def change_type(
        self, source: Id, edge_type: str | int, destination: Id, new_type: str | int
    ) -> bool:
        """Give an edge another type; return whether the edge existed."""
        ty, new = str(edge_type), str(new_type)
        return self._change("change_type", source, ty, destination, new) > 0

    def set_inverse(self, edge_type: str | int, inverse: str | int) -> None:
        """Declare two types of edges inverse to each other.

        From now on, a commit that adds, deletes or changes an edge of one type does the same to the
        edge of the other type that leads back. Existing edges do not get a second edge.

        Args:
            edge_type: a type of edges.
            inverse: the type of the edges that lead back; the same type for friendships.
        """
        self._change("set_inverse", str(edge_type), str(inverse))


class Batch(Changes):
    """Changes that become one commit; see :meth:`nakshi.Graph.batch`.

    Deletions and changes of types return None here, because other threads may commit before the
    batch does. After the commit, :attr:`changed` counts the changes that changed something.

    Attributes:
        changed: number of changes that changed something; ``None`` before the commit.
    """

    def __init__(self, written: Callable[[Callable[[Properties], int]], int]) -> None:
        self._written = written
        self._changes: list[tuple[Any, ...]] = []
        self.changed: int | None = None

    def _change(self, *change: Any) -> int:
        self._changes.append(change)
        return 1

    def delete_node(self, id: Id) -> None:  # type: ignore[override]
        """Delete a node with all edges from it and to it, if there is one."""
        self._change("delete_node", id)

    def delete_edge(  # type: ignore[override]
        self, source: Id, edge_type: str | int, destination: Id
    ) -> None:
        """Delete the edges with this source, type and destination, if there are any."""
        self._change("delete_edge", source, str(edge_type), destination)

    def change_type(  # type: ignore[override]
        self, source: Id, edge_type: str | int, destination: Id, new_type: str | int
    ) -> None:
        """Give an edge another type, if there is one."""
        self._change("change_type", source, str(edge_type), destination, str(new_type))

    def __len__(self) -> int:
        return len(self._changes)

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        changes, self._changes = self._changes, []
        if kind is None:
            self.changed = self._written(lambda core: core.commit(changes)) if changes else 0


class Writable(Queries, Changes):
    """The methods of :class:`nakshi.Graph` for a store with properties."""

    _core: Store
    _properties: Properties | None
    #: Held while a thread loads or releases the properties, or replaces the core.
    _loading: threading.Lock
    _closed: bool
    #: Temporary folder of a projection without a path of its own.
    _folder: tempfile.TemporaryDirectory[str] | None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._core = Store(os.fspath(path))
        self._properties = None
        self._loading = threading.Lock()
        self._closed = False
        self._folder = None
        _handles.add(self)

    def load_properties(
        self, *, memory: int | str | None = None, progress: ProgressArgument = None
    ) -> None:
        """Open the property files. The first query does so too, and loads all of them.

        Args:
            memory: memory cap for the files. If they fit, or without a cap, they are loaded as they
                are, compressed; otherwise they are read on demand through a cache of the remaining
                memory. A sixteenth, at most 64 MiB, is for a writer's lookups of edges by
                destination. Changes in the log, until :meth:`compact` moves them into the files,
                take memory in addition; the log itself is read a mebibyte at a time.
            progress: as for algorithms.

        Raises:
            UnsupportedError: the store has no properties.
            BudgetError: ``memory`` is less than the ids and offsets take, or than all files take in
                the layout ``"zipg"``.
            KeyboardInterrupt: Ctrl-C, within 0.2 seconds.
        """
        with self._loading:
            if self._closed:
                raise StoreError(
                    f"the graph {os.fspath(self._core.path)} was closed; open it again"
                )
            if self._properties is None:
                with reporting(progress, "properties") as sink:
                    self._properties = Properties(
                        self._core.path, memory=parse_size(memory), progress=sink
                    )

    @property
    def _queries(self) -> Properties:
        while (properties := self._properties) is None:
            self.load_properties()
        return properties

    def _close_properties(self) -> None:
        with self._loading:
            self._closed = True
            properties, self._properties = self._properties, None
        if properties is not None:
            properties.close()

    def _written(self, write: Callable[[Properties], Written]) -> Written:
        """Make a write; repeat it if another thread has released the properties meanwhile."""
        while True:
            properties = self._queries
            try:
                return write(properties)
            except StoreLockedError:
                # Another thread's release() retires the handle before it replaces it: wait for that.
                with self._loading:
                    if properties is self._properties:
                        raise

    def _change(self, *change: Any) -> int:
        return self._written(lambda properties: properties.commit([change]))

    def batch(self) -> Batch:
        """Collect changes in a ``with`` block, and make them as one commit at its end.

        If one change is impossible, or if the block raises, none of them is made.
        """
        # Raises at once if the graph is closed or has no properties.
        _ = self._queries
        return Batch(self._written)

    def snapshot(self) -> Snapshot:
        """The graph in its present state, which later changes do not affect."""
        return Snapshot(self._queries.snapshot())

    def refresh(self) -> bool:
        """Read the commits of other processes; return whether there were any.

        Ctrl-C acts within 0.2 seconds and leaves the graph as it was.
        """
        return self._queries.refresh()

    @property
    def log_bytes(self) -> int:
        """Bytes of changes that are not in the compressed files yet; see :meth:`compact`."""
        return self._queries.counts()[3]

    def project(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        edge_types: str | Sequence[str] | None = None,
        direction: Literal["out", "in", "both"] = "out",
        weight: str | None = None,
        missing_weight: float | None = None,
        nodes: Mapping[str, Condition] | Sequence[Id] | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        progress: ProgressArgument = None,
    ) -> Self:
        """Make a graph for algorithms of some edges of a graph with properties.

        The new graph has the present state; later changes do not affect it.

        Args:
            path: directory of the new store; by default a temporary one, which is deleted with the
                returned graph.
            edge_types: a type of edges, or several; all by default.
            direction: ``"out"`` keeps the direction of the edges, ``"in"`` reverses it, ``"both"``
                makes them undirected.
            weight: edge property that becomes the weight. Of edges between the same two
                nodes one stays, with the smallest weight.
            missing_weight: weight of edges without the property; they are refused by default.
            nodes: nodes that become vertices, with the edges between them: ids, or conditions as
                for :meth:`get_node_ids`; by default all, including nodes without edges.
            memory: memory cap; default 1 GiB.
            threads: worker threads.
            progress: as for algorithms.

        Raises:
            ParameterError: a type or property is unknown, or a weight is no number, or an edge lacks it.
            UnknownVertexError: there is no such node.
        """
        types = [edge_types] if isinstance(edge_types, str) else edge_types
        ids = self.get_node_ids(nodes) if isinstance(nodes, Mapping) else nodes
        folder = None
        if path is None:
            folder = tempfile.TemporaryDirectory(prefix="nakshi-", dir=Path(self._core.path).parent)
            path = Path(folder.name) / "projection.nakshi"
        with reporting(progress, "project") as sink:
            self._queries.project(
                Path(path),
                edge_types=None if types is None else list(types),
                direction=direction,
                weight=weight,
                missing=missing_weight,
                nodes=None if ids is None else list(ids),
                memory=parse_size(memory),
                threads=threads,
                progress=sink,
            )
        graph = type(self)(path)
        graph._folder = folder
        return graph

    def write_back(self, result: Result, property: str, *, column: str | None = None) -> int:
        """Write a column of a result to a property of the nodes, durably.

        A commit has up to 4 MiB of changes, about 130,000 values. More changes make several
        commits, ascending by vertex id, so that memory stays bounded. After an error or Ctrl-C the
        earlier commits stay, and the call can be repeated.

        Args:
            result: result of an algorithm on this graph or on a projection of it.
            property: name of the node property.
            column: column of the result; by default its first.

        Returns:
            Number of nodes that got a value. Vertices without a value, such as those that a search
            did not reach, get none.

        Raises:
            UnknownVertexError: a vertex of the result was deleted.
            ParameterError: the property has values of another type.
        """
        name = result._name(column)
        return self._written(lambda core: core.write_back(result._core, name, property))

    def compact(
        self,
        *,
        memory: int | str | None = None,
        threads: int | None = None,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Move the changes in the log of a graph with properties into its compressed files.

        The edge lists, which algorithms read, have the changes from then on. Other threads can
        query and change the graph meanwhile.

        Args:
            memory: memory cap, as for :func:`nakshi.build`; default 1 GiB.
            threads: worker threads.
            progress: as for algorithms.

        Returns:
            ``nodes`` and ``edges`` of the new files, ``log_bytes`` before, ``property_bytes``
            before and after, ``seconds``, and ``waited``, the seconds for which changes had to wait.

        Raises:
            StoreLockedError: another process writes to the store.
        """
        with reporting(progress, "compact") as sink:
            cap = parse_size(memory)
            found = self._written(
                lambda core: core.compact(memory=cap, threads=threads, progress=sink)
            )
        with self._loading:
            if not self._closed:
                self._core = Store(self._core.path)
        report: dict[str, Any] = json.loads(found)
        return report

    def release(self) -> None:
        """Release the memory of the properties and the writer's lock.

        Running commits and compactions finish first. Other processes may write then, even if a
        child that was forked meanwhile still runs. The next query loads the properties again.
        """
        with self._loading:
            if self._properties is not None:
                self._properties.release()
                self._properties = None


#: Graphs whose locks a forked child replaces, because the thread that held one stayed behind.
_handles: weakref.WeakSet[Writable] = weakref.WeakSet()


def _unlock_in_child() -> None:
    for handle in _handles:
        handle._loading = threading.Lock()


def _forget_at_exit() -> None:
    for handle in list(_handles):
        handle._core.forget()


atexit.register(_forget_at_exit)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)


class Tao:
    """The operations of TAO: objects are nodes, associations are edges.

    Lists begin with the newest edge, and both bounds of a time range are included. If a type has an
    inverse (:meth:`nakshi.Graph.set_inverse`), both edges change in one commit.
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
        return self._core.commit([("delete_node", id)]) > 0

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
        return self._core.commit([("delete_edge", id, atype, id2)]) > 0

    def assoc_change_type(self, id: Id, atype: str, id2: Id, new_type: str) -> bool:
        """Give an association another type; return whether it existed."""
        return self._core.commit([("change_type", id, atype, id2, new_type)]) > 0


class Search:
    """The five queries of Graph Search (ZipG, Table 4)."""

    def __init__(self, core: Properties) -> None:
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
