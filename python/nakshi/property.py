"""Changes of nodes and edges with properties, and the store that has them."""

from __future__ import annotations

import atexit
import json
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ._core import LogEntries, Properties, Store
from .commits import Commit
from .conditions import Condition, Property
from .cypher import QueryResult
from .edge_data import EdgeData, EdgeId, IncomingEdge
from .errors import ConflictError, ParameterError, StoreError, StoreLockedError
from .limits import check_shards
from .progress import ProgressArgument, reporting
from .queries import Id, Queries, Search, Snapshot, Tao
from .units import parse_size

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._core import Remote
    from .result import Result

__all__ = [
    "Batch",
    "Changes",
    "Commit",
    "Condition",
    "EdgeData",
    "EdgeId",
    "IncomingEdge",
    "Id",
    "Property",
    "Queries",
    "Search",
    "Snapshot",
    "Tao",
    "Transaction",
]

#: Type that a write returns.
Written = TypeVar("Written")

#: Conflicts after which a transaction runs alone.
PATIENCE = 3

#: Log entries that are read or applied at a time.
ENTRIES = 1024


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

    def _new_edge_number(self) -> int:
        raise NotImplementedError

    def create_edge(
        self,
        source: Id,
        edge_type: str | int,
        destination: Id,
        timestamp: int = 0,
        properties: Mapping[str, Property] | None = None,
    ) -> EdgeId:
        """Add an edge beside those with the same source, type and destination.

        Returns:
            Its identity, for :meth:`get_edge`, :meth:`update_edge` and :meth:`remove_edge`. It stays
            the same until the edge gets another type.

        Raises:
            UnknownVertexError: one of the nodes is not there.
        """
        edge = EdgeId(source, str(edge_type), destination, self._new_edge_number())
        self._change("create_edge", *edge, timestamp, dict(properties or {}))
        return edge

    def update_edge(
        self, edge: EdgeId, properties: Mapping[str, Property], *, replace: bool = False
    ) -> None:
        """Set properties of one edge; others and its time stay.

        Args:
            edge: identity of the edge, from :meth:`create_edge` or ``record.edge_id(place)``.
            properties: values by name; ``None`` removes one.
            replace: remove all properties that are not named.

        Raises:
            ParameterError: there is no such edge.
        """
        self._change("update_edge", *edge, dict(properties), not replace)

    def remove_edge(self, edge: EdgeId) -> bool:
        """Delete one edge by its identity; return whether it existed."""
        return self._change("remove_edge", *edge) > 0

    def add_labels(self, id: Id, *labels: str) -> None:
        """Give a node labels; those that it has stay, and each is there once.

        Raises:
            UnknownVertexError: there is no such node.
        """
        self._change("change_labels", id, list(labels), [])

    def remove_labels(self, id: Id, *labels: str) -> None:
        """Take labels away from a node; those that it does not have are ignored.

        Raises:
            UnknownVertexError: there is no such node.
        """
        self._change("change_labels", id, [], list(labels))

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
        changed: number of changes that changed something; ``None`` before the commit, and if a server was
            started anew while it made the commit.
    """

    def __init__(self, written: Callable[[Callable[[Any], Any]], Any]) -> None:
        self._written = written
        self._changes: list[tuple[Any, ...]] = []
        self.changed: int | None = None

    def _change(self, *change: Any) -> int:
        self._changes.append(change)
        return 1

    def _new_edge_number(self) -> int:
        number: int = self._written(lambda core: core.new_edge_number())
        return number

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

    def commit_async(self) -> Commit:
        """Commit the changes so far, and return before they are durable.

        A thread makes the commit durable at once, together with others that wait. Later commits are
        durable only after it. The next changes of the batch make another commit. Of a graph on a
        server, this waits until the server has made the commit, but not for its disk.

        Raises:
            ParameterError: one of the changes is impossible, and none of them is made.
        """
        changes, self._changes = self._changes, []
        return Commit(self._written(lambda core: core.commit_async(changes)))

    def __len__(self) -> int:
        return len(self._changes)

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        changes, self._changes = self._changes, []
        if kind is None:
            self.changed = self._written(lambda core: core.commit(changes)) if changes else 0


class Transaction(Queries, Changes):
    """Queries and changes that commit only if nothing they rest on has changed.

    See :meth:`nakshi.Graph.transaction`. Its queries see its own changes. An edge record that was
    read before a change does not.

    Attributes:
        commit: number of the commit, or of the state that was read if nothing was changed; ``None``
            before the end.
    """

    def __init__(self, core: Properties | Remote) -> None:
        self._core = core
        self.commit: int | None = None
        self._ended = False

    @property
    def _queries(self) -> Properties | Remote:
        return self._core

    def _change(self, *change: Any) -> int:
        # A server knows it of every change of a transaction.
        return self._core.commit([change]) or 0

    def _new_edge_number(self) -> int:
        return self._core.new_edge_number()

    def commit_async(self) -> Commit:
        """Commit before the end of the block, and return before the commit is durable.

        Raises:
            ConflictError: as :meth:`nakshi.Graph.transaction`.
        """
        # Also by an error.
        self._ended = True
        commit = Commit(self._core.commit_async([]))
        self.commit = commit.number
        return commit

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._ended or self.commit is not None:
            return
        if kind is None:
            self.commit = self._core.end(True)
        else:
            self._core.end(False)

    def __repr__(self) -> str:
        ended = "running" if self.commit is None else f"after commit {self.commit}"
        return f"<nakshi.Transaction {ended}>"


class Transactions(Queries, Changes):
    """Changes of a graph with properties, one by one, in batches and in transactions."""

    def _written(self, write: Callable[[Any], Written]) -> Written:
        """Make a write."""
        raise NotImplementedError

    def _asked(self, ask: Callable[[Any], QueryResult]) -> QueryResult:
        # It may change the graph.
        return self._written(ask)

    def _change(self, *change: Any) -> int:
        changed: int = self._written(lambda core: core.commit([change]))
        return changed

    def _new_edge_number(self) -> int:
        number: int = self._written(lambda core: core.new_edge_number())
        return number

    def write_back(self, result: Result, property: str, *, column: str | None = None) -> int:
        """Write a column of a result to a property of the nodes, durably.

        A commit has up to 4 MiB of changes, about 130,000 values; through a server, 20,000 values. More
        changes make several commits, ascending by vertex id, so that memory stays bounded. After an
        error or Ctrl-C the earlier commits stay, and the call can be repeated.

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
        written: int = self._written(lambda core: core.write_back(result._core, name, property))
        return written

    def batch(self) -> Batch:
        """Collect changes in a ``with`` block, and make them as one commit at its end.

        If one change is impossible, or if the block raises, none of them is made.
        """
        # Raises at once if the graph is closed or has no properties.
        _ = self._queries
        return Batch(self._written)

    def transaction(self) -> Transaction:
        """Read and write in a ``with`` block, and commit at its end if nothing has changed meanwhile.

        Nobody else sees the changes before the commit. If the block raises, none of them is made.
        Transactions are serializable: what the block has read and written (properties of a node, an
        edge record, an edge, an id, a value that was searched for) is as it was when the commit is
        made. :meth:`transact` repeats the block after a conflict.

        Raises:
            ConflictError: at the end of the block, which changed nothing then.
        """
        return self._transaction(alone=False)

    def _transaction(self, *, alone: bool) -> Transaction:
        return Transaction(self._written(lambda core: core.transaction(alone)))

    def transact(
        self, function: Callable[[Transaction], Written], *, attempts: int = 100
    ) -> Written:
        """Call a function with a transaction and commit; after a conflict call it again.

        The function may run several times, so it should do nothing but read and change the graph.
        After three conflicts other commits wait for it, at most 100 ms each time, so that it comes to
        its end.

        Args:
            function: is called with the transaction; if it raises, nothing is changed.
            attempts: how often it runs at most.

        Returns:
            What the function returned.

        Raises:
            ConflictError: after the last attempt.
        """
        if attempts < 1:
            raise ParameterError(f"attempts must be at least 1, not {attempts}")
        attempt = 0
        while True:
            attempt += 1
            try:
                with self._transaction(alone=attempt > PATIENCE) as transaction:
                    return function(transaction)
            except ConflictError:
                if attempt >= attempts:
                    raise


class Writable(Transactions):
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
                destination, and another for changes: a full log is frozen into a fragment on disk
                (:meth:`freeze`).
            progress: as for algorithms.

        Raises:
            UnsupportedError: the store has no properties.
            BudgetError: ``memory`` is less than the ids and offsets take.
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

    def log(self, since: int | None = None) -> Iterator[dict[str, Any]]:
        """Commits in the log, oldest first: for change data capture, and for :meth:`apply`.

        Each is a dictionary with ``commit``, its number; ``changes``, each with its name as ``op``
        and its arguments; and ``transaction``, if one made it. Ids and names are those of the user.
        Dates and other values that JSON lacks are dictionaries with one key, such as
        ``{"date": "2026-11-25"}``.

        Args:
            since: number of a commit; only later ones are returned. By default all that
                :meth:`compact` has not moved into the files.

        Raises:
            ParameterError: a compaction has moved some of the commits into the files.
        """
        entries = LogEntries(self._core.path, since)
        return (
            json.loads(entry)
            for batch in iter(lambda: entries.next(ENTRIES), [])
            for entry in batch
        )

    def apply(self, entries: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Make the commits of log entries, in their order; durable when the call returns.

        A store that had the commits before them then answers as the one that the entries are of,
        whatever the layouts of the two. Entries that the store has already are skipped. An entry
        without ``commit`` is a new commit.

        Returns:
            ``applied`` and ``skipped`` entries, and ``commit``, the number of the last commit.

        Raises:
            ParameterError: an entry does not follow on the commits of this store, or is none.
        """
        lines = map(json.dumps, entries)
        applied = skipped = 0
        while True:
            some = list(islice(lines, ENTRIES))
            report: dict[str, int] = json.loads(self._written(partial(_apply, some)))
            applied, skipped = applied + report["applied"], skipped + report["skipped"]
            if len(some) < ENTRIES:
                return {"applied": applied, "skipped": skipped, "commit": report["commit"]}

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

    def freeze(self) -> dict[str, Any]:
        """Put the changes in memory into compressed files, called fragments.

        A writer does so by itself, in the background, when the changes take a sixteenth of the
        memory (``load_properties(memory=)``), or 64 MiB without a limit; it also merges fragments.
        Changes are durable before: this makes opening faster, and frees memory. Edge lists stay as
        they are; see :meth:`compact`.

        Returns:
            ``fragments`` and ``levels``, their number in all and by how often they were merged;
            ``fragment_bytes`` on disk and ``fragment_memory``; ``pointers``, the number of changed
            nodes and of sources of changed edges, counted in each fragment; ``deleted_edges`` that
            no merge has left out yet; ``log_memory`` and ``log_limit``, the estimated bytes of the
            changes in memory and those at which they are frozen; ``debt``, the rows that a
            compaction would move.

        Raises:
            StoreLockedError: another process writes to the store.
        """
        layers: dict[str, Any] = json.loads(self._written(lambda core: core.freeze()))
        return layers

    def compact(
        self,
        *,
        shards: int | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Move the changes in the log of a graph with properties into its compressed files.

        The edge lists, which algorithms read, have the changes from then on. Other threads can
        query and change the graph meanwhile.

        Args:
            shards: number of shards of the new files, as for :func:`nakshi.build`; by default the
                number that the store has.
            memory: memory cap, as for :func:`nakshi.build`; default 1 GiB.
            threads: worker threads.
            progress: as for algorithms.

        Returns:
            ``nodes`` and ``edges`` of the new files, ``log_bytes`` before, ``property_bytes``
            before and after, ``seconds``, and ``waited``, the seconds for which changes had to wait.

        Raises:
            StoreLockedError: another process writes to the store.
            ParameterError: the changes made meanwhile took a quarter of the memory of
                :meth:`load_properties`; the store is as before.
        """
        given = {"shards": check_shards(shards), "memory": parse_size(memory), "threads": threads}
        with reporting(progress, "compact") as sink:
            found = self._written(lambda core: core.compact(**given, progress=sink))
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


def _apply(entries: list[str], core: Properties) -> str:
    return core.apply(entries)


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
