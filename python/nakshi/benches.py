"""Workloads on single nodes and edges, timed: TAO, Graph Search, LinkBench, appends, lists of friends."""

from __future__ import annotations

import json
from typing import Any, Literal

from ._core import Properties, Store
from .errors import ParameterError
from .progress import ProgressArgument, reporting
from .property import Writable
from .units import parse_size

__all__ = ["Benches"]


class Benches(Writable):
    """The benchmarks of :class:`nakshi.Graph` for a store with properties."""

    def bench(
        self,
        workload: Literal["tao", "graph-search", "linkbench"],
        *,
        queries: int = 20_000,
        threads: int | None = None,
        seed: int = 1,
        access: Literal["uniform", "zipf"] | None = None,
        exponent: float | None = None,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Measure queries: each kind alone on one thread, then their mix on ``threads``.

        Args:
            workload: TAO's reading queries in the shares of its paper (ZipG, Table 2), or those of
                Graph Search (Table 4) in equal shares; or LinkBench's mix of reads and durable
                changes, which changes the store (try it on a backup) and has no part alone.
            queries: of each kind, and of the mix.
            threads: of the mix; default 2.
            seed: of draws.
            access: ``"uniform"``, the default, asks for all nodes equally often, ``"zipf"`` by Zipf's
                law. LinkBench has laws of its own and takes neither.
            exponent: of Zipf's law; default 0.99, as in YCSB.
            progress: as for algorithms.

        Returns:
            ``classes`` with ``name``, ``rate`` and the latencies ``p50``, ``p99`` and ``p999`` in
            microseconds; ``rate`` and ``seconds`` of the mix.
        """
        if workload == "linkbench" and (access is not None or exponent is not None):
            raise ParameterError(
                "LinkBench has laws of access of its own; leave access and exponent out"
            )
        config = _config(queries, threads, seed, access, exponent)
        measure = self._queries.linkbench
        if workload != "linkbench":
            config["mix"] = workload
            measure = self._queries.workload
        with reporting(progress, "bench") as sink:
            found: dict[str, Any] = json.loads(measure(json.dumps(config), progress=sink))
        return found

    def bench_compaction(
        self,
        *,
        queries: int = 20_000,
        threads: int | None = None,
        seed: int = 1,
        access: Literal["uniform", "zipf"] | None = None,
        exponent: float | None = None,
        seconds: float = 4.0,
        compacting: int | None = None,
        memory: int | str | None = None,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Measure reads while the store is compacted, against reads before and after.

        Args:
            queries: of TAO's mix, asked over and over, each of a new snapshot and as soon as the one
                before is answered.
            threads: that read; default 2.
            seed: of draws.
            access: as for :meth:`bench`.
            exponent: as for :meth:`bench`.
            seconds: of reading before and after.
            compacting: threads of the compaction; default: all cores.
            memory: cap of the compaction, as for :meth:`compact`.
            progress: as for algorithms.

        Returns:
            ``phases``: ``"before"``, ``"during"`` and ``"after"`` with what :meth:`bench` says of
            classes; ``compaction``: what :meth:`compact` returns.
        """
        config = _config(queries, threads, seed, access, exponent)
        with reporting(progress, "bench") as sink:
            text = self._queries.compaction(
                json.dumps(config),
                seconds,
                memory=parse_size(memory),
                compacting=compacting,
                progress=sink,
            )
        self._core = Store(self._core.path)
        found: dict[str, Any] = json.loads(text)
        return found

    def bench_appends(
        self,
        *,
        writers: int = 8,
        in_flight: int = 1,
        seconds: float = 4.0,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Measure durable appends of nodes, which stay in the store.

        Args:
            writers: threads.
            in_flight: commits of each thread that wait for the disk at a time.
            seconds: of appending.
            progress: as for algorithms.

        Returns:
            ``rate``: durable commits a second; ``syncs``: times a second that this disk makes 256
            bytes durable in place (fdatasync), measured before.
        """
        with reporting(progress, "appends") as sink:
            text = self._queries.appends(writers, in_flight, seconds, progress=sink)
        found: dict[str, Any] = json.loads(text)
        return found

    def bench_list_friends(
        self,
        *,
        users: int = 1500,
        runs: int = 6,
        requests: int = 1,
        access: Literal["all", "uniform", "preferential", "overlap"] = "all",
        property: str | None = None,
        part: int | str | None = None,
        memory: int | str | None = None,
        seed: int = 1,
        trace: bool = False,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Measure how long it takes to read the properties of all friends of a user (Bondhu).

        Friends of a user are the nodes that edges lead to from there; who they are is known before
        the clock starts. The first request of a user finds an empty cache.

        Args:
            users: drawn among those with friends; the same in every order of the same graph.
            runs: of all requests of a user; the least time counts.
            requests: of a user, one after the other.
            access: what a request reads: all friends, or one of them, each as likely, or as likely
                as it has friends, or as it has friends in common with the user.
            property: name of the one that is read; all by default.
            part: so many bytes of it only.
            memory: for what is kept of the files; as little as works by default.
            seed: of draws.
            trace: note every read.
            progress: as for algorithms.

        Returns:
            A list with an entry for each user of ``users`` (ids), ``friends``, ``micros`` of a
            request, ``reads`` and ``bytes`` from disk of the first run; ``trace``: place of the
            user, microseconds since the start, offset and bytes of each read.
        """
        config = {
            "users": users,
            "runs": runs,
            "requests": requests,
            "access": access,
            "property": property,
            "part": parse_size(part),
            "memory": parse_size(memory),
            "seed": seed,
            "trace": trace,
        }
        with reporting(progress, "list friends") as sink:
            text = Properties.list_friends(self._core.path, json.dumps(config), progress=sink)
        found: dict[str, Any] = json.loads(text)
        return found


def _config(
    queries: int, threads: int | None, seed: int, access: str | None, exponent: float | None
) -> dict[str, Any]:
    """Settings of a workload."""
    if exponent is not None and access != "zipf":
        raise ParameterError("an exponent is for access='zipf'")
    config: dict[str, Any] = {"queries": queries, "threads": threads or 2, "seed": seed}
    chosen = {"access": access, "exponent": exponent}
    return config | {name: value for name, value in chosen.items() if value is not None}
