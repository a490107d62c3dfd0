"""Calls of the workloads that ``nakshi bench`` measures. Each returns what was measured, by name."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from .. import _core
from ..errors import ParameterError
from ..progress import ProgressArgument, reporting

#: Threads that append nodes, and seconds that they do it.
WRITERS, SECONDS = 8, 4.0


@dataclass(frozen=True)
class Mix:
    """A mix of queries.

    Attributes:
        mix: ``"tao"``, the reading queries in the shares of its paper (ZipG, Table 2), or
            ``"graph-search"`` (Table 4), in equal shares. LinkBench has a mix of its own.
        queries: number of each kind, and of the mix.
        threads: threads of the mix.
        seed: seed of draws.
        access: ``"uniform"`` asks for all nodes equally often, ``"zipf"`` by Zipf's law. LinkBench
            has laws of its own.
        exponent: exponent of Zipf's law; 0.99 by default, as in YCSB.
    """

    mix: str = "tao"
    queries: int = 20_000
    threads: int = 2
    seed: int = 1
    access: str = "uniform"
    exponent: float | None = None

    def __post_init__(self) -> None:
        if self.exponent is not None and self.access != "zipf":
            raise ParameterError("an exponent is for the access by Zipf's law (zipf)")

    def json(self) -> str:
        """The configuration as the compiled half reads it."""
        return json.dumps({name: v for name, v in asdict(self).items() if v is not None})


def queries(properties: _core.Properties, mix: Mix, progress: ProgressArgument) -> dict[str, Any]:
    """Measure each kind of query alone on one thread, then their mix on all threads.

    Returns:
        ``classes`` with ``name``, ``rate`` and the latencies ``p50``, ``p99`` and ``p999`` in
        microseconds; ``rate`` and ``seconds`` of the mix.
    """
    with reporting(progress, "bench") as sink:
        return _object(_core.measure_queries(properties, mix.json(), progress=sink))


def served(
    properties: _core.Properties,
    address: str,
    mix: Mix,
    progress: ProgressArgument,
    token: str | None = None,
) -> dict[str, Any]:
    """Measure the same queries on a server at `address`, which has the graph of `properties`.

    Each kind is asked one after the other; in the mix, each thread has a connection and asks 64 queries at
    once.

    Returns:
        The fields of :func:`queries`.
    """
    with reporting(progress, "bench") as sink:
        return _object(
            _core.measure_served(properties, address, mix.json(), token=token, progress=sink)
        )


def linkbench(properties: _core.Properties, mix: Mix, progress: ProgressArgument) -> dict[str, Any]:
    """Measure LinkBench's mix of reads and durable changes, which changes the store.

    Returns:
        The fields of :func:`queries`; each kind is measured within the mix.
    """
    with reporting(progress, "bench") as sink:
        return _object(_core.measure_linkbench(properties, mix.json(), progress=sink))


def compaction(
    properties: _core.Properties,
    mix: Mix,
    progress: ProgressArgument,
    *,
    seconds: float = SECONDS,
    memory: int | None = None,
    compacting: int | None = None,
) -> dict[str, Any]:
    """Measure reads while the store is compacted, against reads before and after.

    Args:
        properties: the store.
        mix: queries that are asked over and over, each of a new snapshot.
        progress: as for algorithms.
        seconds: time of reading before and after.
        memory: bytes that the compaction may use.
        compacting: threads of the compaction; all cores by default.

    Returns:
        ``phases``: ``"before"``, ``"during"`` and ``"after"`` with the fields of ``classes`` of
        :func:`queries`; ``compaction``: the report of :meth:`nakshi.Graph.compact`.
    """
    with reporting(progress, "bench") as sink:
        return _object(
            _core.measure_compaction(
                properties,
                mix.json(),
                seconds,
                memory=memory,
                compacting=compacting,
                progress=sink,
            )
        )


def sustained(
    properties: _core.Properties,
    mix: Mix,
    progress: ProgressArgument,
    *,
    seconds: float,
    changes: int,
    idle: float = SECONDS,
) -> dict[str, Any]:
    """Measure changes for a while, and reads beside them.

    Args:
        properties: the store, which is changed.
        mix: queries that are asked over and over, each of a new snapshot.
        progress: as for algorithms.
        seconds: how long changes are made at most.
        changes: after how many changes to stop; 0 for all that the seconds allow.
        idle: seconds of reading before and after.

    Returns:
        ``phases``: reads ``"before"``, ``"during"`` and ``"after"`` with the fields of ``classes``
        of :func:`queries`; ``changes``, ``seconds``, ``rates`` in each tenth; ``longest`` and
        ``p99`` of the commits of 100 changes, in milliseconds; ``log_bytes`` of the changes, and
        bytes ``written`` meanwhile; ``layers`` as of :meth:`nakshi.Graph.freeze`.
    """
    with reporting(progress, "bench") as sink:
        return _object(
            _core.measure_sustained(properties, mix.json(), seconds, changes, idle, progress=sink)
        )


def appends(
    properties: _core.Properties,
    progress: ProgressArgument,
    *,
    writers: int = WRITERS,
    threads: int = WRITERS,
    in_flight: int = 1,
    seconds: float = SECONDS,
) -> dict[str, Any]:
    """Measure durable appends of nodes, which stay in the store.

    Args:
        properties: the store.
        progress: as for algorithms.
        writers: each appends one node after the other.
        threads: threads that serve the writers.
        in_flight: commits of each writer that wait for the disk at a time.
        seconds: time of appending.

    Returns:
        ``rate``: durable commits a second; ``syncs``: times a second that this disk makes 256 bytes
        durable in place (fdatasync), measured before.
    """
    with reporting(progress, "appends") as sink:
        return _object(
            _core.measure_appends(properties, writers, threads, in_flight, seconds, progress=sink)
        )


def transactions(
    properties: _core.Properties,
    progress: ProgressArgument,
    *,
    threads: int = WRITERS,
    seconds: float = SECONDS,
) -> list[dict[str, Any]]:
    """Measure transactions that read a node and write it, against commits that only write.

    Returns:
        For each kind ``reads``, whether it is a transaction; ``one_node``, whether all threads write
        one node; ``rate``: durable commits a second; ``per_thread``: commits of the thread with the
        fewest and with the most.
    """
    with reporting(progress, "transactions") as sink:
        found: list[dict[str, Any]] = json.loads(
            _core.measure_transactions(properties, threads, seconds, progress=sink)
        )
    return found


def friends(
    store: str,
    progress: ProgressArgument,
    *,
    access: str = "all",
    property: str | None = None,
    part: int | None = None,
    **config: Any,
) -> dict[str, Any]:
    """Measure how long it takes to read the properties of all friends of a user (Bondhu).

    Friends of a user are the nodes that edges lead to from there; who they are is known before the
    clock starts. The first request of a user finds an empty cache.

    Args:
        store: path of the store.
        progress: as for algorithms.
        access: what a request reads: ``"all"`` friends, or one of them: ``"uniform"``,
            ``"preferential"`` (by its number of friends) or ``"overlap"`` (by the friends in common
            with the user).
        property: the property that is read; all of them for ``None``.
        part: the bytes of it that are read, from its beginning; all of them for ``None``.
        config: ``users``, drawn among those with friends (1,500); ``runs`` of all requests of a user,
            of which the least time counts (6); ``requests`` of a user, one after the other (1);
            ``memory`` in bytes for what is kept of the files (as little as works); ``seed``;
            ``trace`` of reads.

    Returns:
        A list with an entry for each user of ``users`` (ids), ``friends``, ``micros`` of a request,
        ``reads`` and ``bytes`` from disk of the first run; ``trace``: place of the user, microseconds
        since the start, offset and bytes of each read.
    """
    config["reads"] = {"access": access, "property": property, "part": part}
    with reporting(progress, "list friends") as sink:
        return _object(_core.measure_friends(store, json.dumps(config), progress=sink))


def _object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found
