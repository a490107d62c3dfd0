"""Single nodes and edges, asked for and changed: ZipG's Table 1, TAO, Graph Search."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

from ._core import EdgeRecord, Properties, Store
from .errors import StoreError, StoreLockedError
from .progress import ProgressArgument, reporting
from .units import parse_size

if TYPE_CHECKING:
    from typing_extensions import Self

    from .result import Result

__all__ = [
    "Batch",
    "Changes",
    "Condition",
    "Contains",
    "EdgeData",
    "Id",
    "Property",
    "Queries",
    "Search",
    "Snapshot",
    "Tao",
    "contains",
]

#: Result of a write.
Written = TypeVar("Written")

Id = int | str | bytes
"""A vertex as the imported edges named it."""
Scalar = str | bytes | int | float | bool
Property = Scalar | Sequence[Scalar] | None
"""A value of a property. Times are milliseconds since 1970-01-01 00:00 UTC."""


@dataclass(frozen=True)
class Contains:
    """A condition that :func:`contains` returns."""

    pattern: str | bytes


Condition = Property | Contains
"""A condition on a property: a value, or :func:`contains`. A list matches if any of its items matches."""


def contains(pattern: str | bytes) -> Contains:
    """Ask for text in which a pattern occurs: ``g.get_node_ids({"bio": nakshi.contains("rust")})``.

    Upper and lower case differ. Columns that were built ``searchable``, and all properties with
    ``layout="zipg"``, find it by their compressed text; of others every value is read.

    Args:
        pattern: text for a property of strings, bytes for one of bytes. Every value has the empty
            one; a node or edge without a value has none.
    """
    return Contains(pattern)


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
    """The queries that graphs with properties and snapshots of them have."""

    @property
    def _queries(self) -> Properties:
        raise NotImplementedError

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

    def get_node_properties(
        self, ids: Sequence[Id], properties: str | Sequence[str] | None = None
    ) -> list[dict[str, Property]]:
        """Properties of many nodes, as :meth:`get_node_property` has them of each.

        Where properties are in ``"blocks"`` on disk, what lies close together is read at once.
        """
        names = [properties] if isinstance(properties, str) else properties
        return self._queries.get_node_properties(list(ids), None if names is None else list(names))

    def read_node_property(
        self, id: Id, property: str, offset: int = 0, length: int = 4096
    ) -> bytes | None:
        """Some bytes of a property that is a string or bytes, without reading the rest of it.

        Args:
            id: of the node.
            property: its name.
            offset: of the first byte.
            length: bytes at most; there are fewer at the end of the value.

        Returns:
            The bytes (of a string, in UTF-8); ``None`` if the node has no such property. Values in
            ``"columns"`` and ``"zipg"`` are read whole.

        Raises:
            UnknownVertexError: there is no such node.
            ParameterError: there is no such property, or it has another type.
        """
        return self._queries.read_node_property(id, property, offset, length)

    def get_node_ids(self, properties: Mapping[str, Condition] | None = None) -> list[Id]:
        """The nodes that have all these values; all nodes for ``None``.

        Args:
            properties: values by name, or :func:`nakshi.contains` for a part of one. A property
                that is a list has what one of its items is.

        Raises:
            ParameterError: there is no such property, it has another type, or parts are asked for
                of what is no text.
        """
        return self._queries.get_node_ids(_asked(properties))

    def get_neighbor_ids(
        self,
        id: Id,
        edge_type: str | int | None = None,
        properties: Mapping[str, Condition] | None = None,
    ) -> list[Id]:
        """The nodes that edges of a type lead to from a node, and that have all these values.

        Args:
            id: of the node.
            edge_type: ``None`` for any.
            properties: of the neighbours, as for :meth:`get_node_ids`; ``None`` for any.

        Returns:
            Each neighbour once, in the order of types and times.
        """
        return self._queries.get_neighbor_ids(id, _type(edge_type), _asked(properties))

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

    def find_edges(self, properties: Mapping[str, Condition]) -> list[tuple[Id, str, EdgeData]]:
        """The edges that have all these values: source, type, and the rest.

        Args:
            properties: as for :meth:`get_node_ids`.
        """
        found = self._queries.find_edges(_asked(properties))
        return [(source, ty, EdgeData(*edge)) for source, ty, edge in found]

    @property
    def tao(self) -> Tao:
        """The operations of TAO."""
        return Tao(self._queries)

    @property
    def search(self) -> Search:
        """The queries of Graph Search."""
        return Search(self._queries)


class Snapshot(Queries):
    """A graph with properties as it was after one commit; see :meth:`nakshi.Graph.snapshot`."""

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

    def __repr__(self) -> str:
        nodes, edges, commit, _ = self._core.counts()
        return f"<nakshi.Snapshot after commit {commit}: {nodes} nodes, {edges} edges>"


class Changes:
    """The changes that a graph with properties takes, one commit each.

    A change is durable and visible to all readers when its method returns.
    """

    def _change(self, *change: Any) -> int:
        raise NotImplementedError

    def append_node(self, id: Id, properties: Mapping[str, Property] | None = None) -> None:
        """Add a node.

        Args:
            id: of the node.
            properties: values by name. Names that the store lacks become properties of the type of
                their value; ``None`` leaves one out.

        Raises:
            ParameterError: there is such a node, or a value of another type than its property.
            StoreLockedError: another process writes to the store.
        """
        self._change("append_node", id, dict(properties or {}))

    def update_node(
        self, id: Id, properties: Mapping[str, Property], *, merge: bool = False
    ) -> None:
        """Give a node other properties; its edges stay.

        Args:
            id: of the node.
            properties: values by name.
            merge: keep properties that are not named; ``None`` removes one.

        Raises:
            UnknownVertexError: there is no such node.
        """
        self._change("update_node", id, dict(properties), merge)

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
        """Delete the edges with this source, type and destination; whether there were any."""
        return self._change("delete_edge", source, str(edge_type), destination) > 0

    def change_type(
        self, source: Id, edge_type: str | int, destination: Id, new_type: str | int
    ) -> bool:
        """Give an edge another type; return whether the edge existed."""
        ty, new = str(edge_type), str(new_type)
        return self._change("change_type", source, ty, destination, new) > 0

    def set_inverse(self, edge_type: str | int, inverse: str | int) -> None:
        """Let edges of two types lead back along each other from now on.

        With an edge of one of the types, the edge of the other one comes, goes and changes in the
        same commit. Edges that are there already do not get one.

        Args:
            edge_type: a type.
            inverse: the type of the edges the other way round; the same for friendships.
        """
        self._change("set_inverse", str(edge_type), str(inverse))


class Batch(Changes):
    """Changes that become one commit; see :meth:`nakshi.Graph.batch`.

    Deletions and changes of types return None here: whether there was something to delete depends on
    what other threads commit before the batch does. Afterwards :attr:`changed` says how many of the
    changes changed something.

    Attributes:
        changed: how many changes of the commit changed something; ``None`` before it is made.
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
    #: Held by the thread that loads the properties or lets go of them, and where the core changes.
    _loading: threading.Lock
    _closed: bool
    #: Folder of a projection that has no other place.
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
        """Open the property files; the first query does it by itself, and loads them.

        Args:
            memory: cap for what is kept of the files. If they fit they are loaded, compressed as they
                are; else they are read when they are needed, through a cache of what is left. Without
                it they are loaded. A sixteenth, at most 64 MiB, is for a writer's lookups of edges by
                destination. Changes in the log, which :meth:`compact` makes part of the files, come
                on top; the log itself is read a mebibyte at a time.
            progress: as for algorithms.

        Raises:
            UnsupportedError: a store without properties.
            BudgetError: ``memory`` is less than ids and places take, or, in the layout ``"zipg"``,
                than the files.
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
                # A release retires the handle before it takes it away: wait until it has.
                with self._loading:
                    if properties is self._properties:
                        raise

    def _change(self, *change: Any) -> int:
        return self._written(lambda properties: properties.commit([change]))

    def batch(self) -> Batch:
        """Collect changes in a ``with`` block and make them as one commit at its end.

        All of them are made, or none: not if one is impossible, nor if the block raises.
        """
        # Raises where nothing can be written: the graph is closed, or has no properties.
        _ = self._queries
        return Batch(self._written)

    def snapshot(self) -> Snapshot:
        """The graph as it is now, for queries that shall all see the same, whatever is written."""
        return Snapshot(self._queries.snapshot())

    def refresh(self) -> bool:
        """Read what other processes have committed; whether there was something.

        After Ctrl-C, which acts within 0.2 seconds, the graph is what it was.
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
        nodes: Mapping[str, Condition] | Sequence[Id] | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        progress: ProgressArgument = None,
    ) -> Self:
        """Some edges of a graph with properties, as a graph that every algorithm takes.

        It is what this graph was at the moment; later changes do not reach it.

        Args:
            path: directory of the new store; by default a temporary one, which goes with the
                graph that is returned.
            edge_types: types of edges, or one; all by default.
            direction: ``"out"`` as they are, ``"in"`` the other way round, ``"both"``: undirected.
            weight: the edge property that is the weight; 1 where an edge has none.
            nodes: the nodes that are vertices, with the edges between them: ids, or values that
                they have; all by default, those without edges too.
            memory: cap; default 1 GiB.
            threads: worker threads.
            progress: as for algorithms.

        Raises:
            ParameterError: a type or property that is not there, a weight that is no number.
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
                nodes=None if ids is None else list(ids),
                memory=parse_size(memory),
                threads=threads,
                progress=sink,
            )
        graph = type(self)(path)
        graph._folder = folder
        return graph

    def write_back(self, result: Result, property: str, *, column: str | None = None) -> int:
        """Make what an algorithm found a property of the nodes, durably.

        Up to 32 MiB of changes, about a million values, are one commit: all or nothing. More are
        several commits of as much, ascending by vertex id, so that memory stays bounded; after an error
        or Ctrl-C those before it stay, and the call can be made again.

        Args:
            result: of this graph or of a projection of it.
            property: name of the node property; it can be asked for at once.
            column: of the result; by default its first.

        Returns:
            Number of nodes that got a value; vertices without one, such as those that a search did
            not reach, get none.

        Raises:
            UnknownVertexError: a vertex of the result is no node any more.
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
        """Make the log of a graph with properties part of its compressed files.

        Edge lists, which algorithms read, have the changes from then on. Queries and changes go on
        meanwhile; they may come from other threads.

        Args:
            memory: cap, as for :func:`nakshi.build`; default 1 GiB.
            threads: worker threads.
            progress: as for algorithms.

        Returns:
            ``nodes`` and ``edges`` of the new files, ``log_bytes`` before, ``property_bytes``
            before and after, ``seconds``, and the seconds that changes ``waited`` at the end.

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
        """Let go of the properties: their memory, and the lock of a writer.

        Commits and a compaction of other threads end first. Others may write then, also while a
        child that was forked meanwhile lives on. The next query loads the properties again.
        """
        with self._loading:
            if self._properties is not None:
                self._properties.release()
                self._properties = None


#: Graphs whose locks a forked child makes anew: the thread that held one is in the parent only.
_handles: weakref.WeakSet[Writable] = weakref.WeakSet()


def _unlock_in_child() -> None:
    for handle in _handles:
        handle._loading = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)


class Tao:
    """The operations of TAO: objects are nodes, associations are edges.

    Lists come newest first; both bounds of times are included. Where types have inverses
    (:meth:`nakshi.Graph.set_inverse`), both edges change in one commit.
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

    def obj_add(self, id: Id, properties: Mapping[str, Property] | None = None) -> None:
        """Add an object."""
        self._core.commit([("append_node", id, dict(properties or {}))])

    def obj_update(self, id: Id, properties: Mapping[str, Property]) -> None:
        """Set properties of an object; ``None`` removes one, others stay."""
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
        """GS1: all nodes that edges of a node lead to."""
        return self._core.get_neighbor_ids(id, None, [])

    def friends_with(self, id: Id, properties: Mapping[str, Condition]) -> list[Id]:
        """GS2: the friends that have these values."""
        return self._core.get_neighbor_ids(id, None, _asked(properties))

    def find(self, properties: Mapping[str, Condition]) -> list[Id]:
        """GS3: the nodes that have all these values."""
        return self._core.get_node_ids(_asked(properties))

    def friends_by(self, id: Id, edge_type: str) -> list[Id]:
        """GS4: the nodes that edges of one type lead to."""
        return self._core.get_neighbor_ids(id, edge_type, [])

    def friends_data(self, id: Id, edge_type: str) -> list[EdgeData]:
        """GS5: all data of the edges of one type, newest first."""
        return _edges(self._core.assoc_range(id, edge_type, 0, 2**63 - 1))


def _edges(found: list[tuple[Id, int, dict[str, Property]]]) -> list[EdgeData]:
    return [EdgeData(*edge) for edge in found]


def _type(edge_type: str | int | None) -> str | None:
    """The name of a type of edges; integers pass for their decimal text."""
    return None if edge_type is None else str(edge_type)


def _asked(properties: Mapping[str, Condition] | None) -> list[tuple[str, Property, bool]]:
    """Name and value of conditions, and whether only a part of a value is asked for."""
    return [
        (name, one.pattern, True) if isinstance(one, Contains) else (name, one, False)
        for name, one in (properties or {}).items()
    ]
