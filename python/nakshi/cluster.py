"""Runs on several servers: placed by Ray, processes of this machine, or those that listen on other hosts.

A server is a process ``nakshi worker``. All servers of a run can read the store, or the file of edges,
under the same path.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from .advice import Advice as Advice
from .advice import recommend as recommend
from .declared import DECLARATIONS
from .edge_file import EdgeFile as EdgeFile
from .errors import ParameterError
from .graph import Graph
from .placement import Hosts, LocalWorkers, Placement, RayWorkers
from .progress import ProgressArgument, reporting
from .result import Result
from .units import parse_seconds, parse_size

#: Names of the algorithms that run on several servers.
ALGORITHMS = tuple(name for name, declared in DECLARATIONS.items() if declared.pulls)
#: Numbers of servers that :func:`plan` looks at.
SERVERS = (2, 4, 8, 16, 32, 64, 128, 256)


def run(
    store: str | os.PathLike[str] | Graph | EdgeFile,
    algorithm: str,
    *,
    workers: int | None = None,
    local: int | None = None,
    hosts: Sequence[str] | None = None,
    threads: int = 1,
    senders: int = 1,
    memory: int | str | None = None,
    timeout: float | None = None,
    deadline: float | str | None = None,
    checkpoint_every: int | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    restarts: int = 8,
    silence: float = 10.0,
    watch: Callable[[dict[str, Any]], object] | None = None,
    progress: ProgressArgument = None,
    **parameters: Any,
) -> Result:
    """Run an algorithm on several servers (LFGraph).

    Args:
        store: readable for all servers under the same path; or a file of edges, which they load by
            shares (:class:`EdgeFile`, or its path if its edges are directed and have no weights).
        algorithm: one of :data:`ALGORITHMS`, such as ``"pagerank"``.
        workers: that Ray places, one on each node as far as there are nodes: in the cluster that is
            running (``RAY_ADDRESS``, ``ray start``), or in one on this machine for the run.
        local: processes of this machine that are started for the run, without Ray.
        hosts: addresses (``host:port``) at which ``nakshi worker`` listens. Exactly one of these three.
        threads: computation workers of each server; CPUs that Ray reserves for it.
        senders: communication workers of each server, which put values into frames.
        memory: for each server; lists that do not fit are in files of its ``TMPDIR``.
        timeout: seconds after which the run ends with an error.
        deadline: seconds, or ``"30s"``, ``"2m"``, within which the run ends after a superstep, with the
            values that there are then; ``summary["complete"]`` is ``False`` if it was cut short.
        checkpoint_every: supersteps from one checkpoint of all values to the next; none without.
        checkpoints: folder for them that all servers can write to; without, each server keeps those of
            the one before it.
        restarts: how often servers that are lost are replaced. Those that are left keep their parts of
            the graph and go on from the last checkpoint that all have saved, or begin anew; the
            result is the same to the bit.
        silence: seconds after which a server that says nothing is lost.
        watch: called with every superstep of all servers: ``step``, ``active``, ``sent``,
            ``bytes`` of all together, seconds of ``computation`` and ``communication`` of the slowest;
            and with ``{"recovered": ...}`` when servers were replaced.
        progress: as for algorithms of :class:`Graph`.
        parameters: those of the algorithm that its variant ``"pull-program"`` knows, with the same
            defaults as on one machine.

    Returns:
        As on one machine; ``stats["servers"]`` has every superstep of every server (``steps``), most
        memory of each (``peak_rss``), and what was lost (``recoveries``).

    Raises:
        ClusterError: a server cannot be reached, or is lost once more than `restarts`; a checkpoint
            cannot be written; Ray is not installed or cannot place
            all workers within a minute.
    """
    if checkpoint_every is not None and checkpoint_every < 1:
        raise ParameterError(f"checkpoint_every={checkpoint_every}: at least one superstep")
    if checkpoints is not None and checkpoint_every is None:
        raise ParameterError("checkpoints needs checkpoint_every, a number of supersteps")
    folder = None if checkpoints is None else os.path.abspath(checkpoints)
    placed = _placement(workers, local, hosts, threads)
    graph: _core.Store | str
    if isinstance(store, EdgeFile) or (not isinstance(store, Graph) and os.path.isfile(store)):
        file = store if isinstance(store, EdgeFile) else EdgeFile(store)
        graph, given = file.given(algorithm, parameters)
    else:
        opened = store if isinstance(store, Graph) else Graph(store)
        graph, given = opened._core, json.loads(opened._given(algorithm, parameters))

    with placed as placement, reporting(progress, algorithm) as sink:
        core = _core.run_on_servers(
            graph,
            algorithm,
            json.dumps(given),
            placement.addresses,
            memory=parse_size(memory),
            threads=threads,
            senders=senders,
            timeout=timeout,
            deadline=None if deadline is None else parse_seconds(deadline),
            silence=silence,
            restarts=restarts,
            checkpoints=None if checkpoint_every is None else (checkpoint_every, folder),
            replace=placement.replace,
            watch=None if watch is None else lambda told: watch(json.loads(told)),
            progress=sink,
        )
    return Result(core)


def _placement(
    workers: int | None, local: int | None, hosts: Sequence[str] | None, threads: int
) -> Placement:
    """Where the workers of a run come from."""
    if [workers, local, hosts].count(None) != 2:
        raise ParameterError(
            "give one of workers=N (by Ray), local=N (processes of this machine), hosts=[...]"
        )
    if workers is not None:
        return RayWorkers(workers, cpus=threads)
    return LocalWorkers(local) if local is not None else Hosts(hosts or [])


def plan(
    store: str | os.PathLike[str] | Graph,
    servers: Sequence[int] = SERVERS,
    *,
    value_bytes: int = 8,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: ProgressArgument = None,
) -> list[dict[str, Any]]:
    """What a graph would send and keep on so many servers (sections 2.4, 2.5 of LFGraph).

    Args:
        store: the graph.
        servers: numbers of them.
        value_bytes: of a vertex's value: 8 for PageRank and distances, 4 for labels and levels.
        memory: cap for the pass over the lists.
        threads: of the pass.
        progress: as for algorithms of :class:`Graph`.

    Returns:
        For each number of servers ``communication``: values sent per vertex when all change, by the
        equations of ``pregel``, ``graphlab``, ``powergraph`` and ``lfgraph``, and ``exact`` for the
        hash; ``computation`` (in-edges of a server), ``pairs`` (values between two servers) and
        ``memory`` (bytes of a server): ``least``, ``mean``, ``greatest``. :func:`recommend` chooses
        among them, :func:`nakshi.plot.servers` draws them.
    """
    graph = store if isinstance(store, Graph) else Graph(store)
    with reporting(progress, "plan") as sink:
        text = graph._core.cluster_plan(
            list(servers), value_bytes, memory=parse_size(memory), threads=threads, progress=sink
        )
    rows: list[dict[str, Any]] = json.loads(text)
    return rows


def serve(
    listen: str,
    *,
    once: bool = False,
    until_eof: bool = False,
    ready: Callable[[str], object] = print,
) -> None:
    """Be a server of a cluster until Ctrl-C: what ``nakshi worker`` does.

    Args:
        listen: ``host:port``; the system chooses a port for 0.
        once: end after one run, or after a minute in which nobody calls.
        until_eof: end this process when its standard input does, as when what started it has gone.
        ready: called with the address when it listens.
    """
    if until_eof:
        threading.Thread(target=_end_at_eof, daemon=True).start()
    _core.serve(listen, ready, once=once)


def _end_at_eof() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)
