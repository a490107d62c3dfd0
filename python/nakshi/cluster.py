"""Runs on several servers: processes of this machine, or those that listen on other hosts.

A server is a process ``nakshi worker``. All servers of a run can read the store under the same path.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _core
from .advice import Advice as Advice
from .advice import recommend as recommend
from .errors import ClusterError, ParameterError
from .graph import Graph
from .progress import ProgressArgument, reporting
from .result import Result
from .units import parse_size

#: Numbers of servers that :func:`plan` looks at.
SERVERS = (2, 4, 8, 16, 32, 64, 128, 256)
#: Seconds in which servers end by themselves after a run.
_GRACE = 2.0


@contextmanager
def local_workers(count: int) -> Iterator[list[str]]:
    """Servers in processes of this machine, for one run: their addresses. None is left over."""
    if count < 1:
        raise ParameterError(f"workers={count}: a cluster has at least one")
    call = [sys.executable, "-m", "nakshi", "worker", "--listen", "127.0.0.1:0", "--once", "--json"]
    started = []
    try:
        for _ in range(count):
            # In a session of their own: Ctrl-C is for the front-end, which ends them.
            worker = subprocess.Popen(
                call,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            started.append(worker)
        yield [_address(worker) for worker in started]
    finally:
        end = time.monotonic() + _GRACE
        for worker in started:
            try:
                worker.communicate(timeout=max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.communicate()


def _address(worker: subprocess.Popen[str]) -> str:
    line = worker.stdout.readline() if worker.stdout is not None else ""
    if not line:
        raise ClusterError(f"a worker has ended before it listened: {worker.communicate()[1]}")
    return str(json.loads(line)["address"])


def run(
    store: str | os.PathLike[str] | Graph,
    algorithm: str,
    *,
    workers: int | None = None,
    hosts: Sequence[str] | None = None,
    threads: int = 1,
    memory: int | str | None = None,
    timeout: float | None = None,
    progress: ProgressArgument = None,
    **parameters: Any,
) -> Result:
    """Run an algorithm on several servers (LFGraph).

    Args:
        store: readable for all servers under the same path.
        algorithm: ``pagerank``, ``sssp``, ``bfs``, ``wcc``, ``cdlp``, ``triangles``, ``coloring`` or
            ``matching``.
        workers: processes of this machine that are started for the run.
        hosts: addresses (``host:port``) at which ``nakshi worker`` listens, instead of `workers`.
        threads: computation workers of each server.
        memory: for each server while it loads its part.
        timeout: seconds after which the run ends with an error.
        progress: as for algorithms of :class:`Graph`.
        parameters: of the algorithm.

    Returns:
        As on one machine; ``stats["servers"]`` has every superstep of every server: ``active``
        vertices, values ``sent``, ``bytes``, seconds of ``computation`` and ``communication``.

    Raises:
        ClusterError: a server cannot be reached, ends, or hangs.
    """
    if (workers is None) == (hosts is None):
        raise ParameterError("give either workers=N or hosts=[...]")
    graph = store if isinstance(store, Graph) else Graph(store)
    given = json.loads(graph._given(algorithm, parameters))
    if algorithm == "pagerank" and given.get("tolerance") == 0.0:
        # What one machine needs to run all iterations; here all are run.
        del given["tolerance"]

    def on(addresses: Sequence[str]) -> Result:
        with reporting(progress, algorithm) as sink:
            core = graph._core.run_on_servers(
                algorithm,
                json.dumps(given),
                list(addresses),
                memory=parse_size(memory),
                threads=threads,
                timeout=timeout,
                progress=sink,
            )
        return Result(core)

    if hosts is not None:
        return on(hosts)
    with local_workers(workers or 0) as addresses:
        return on(addresses)


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


def serve(listen: str, *, once: bool = False, ready: Callable[[str], object] = print) -> None:
    """Be a server of a cluster until Ctrl-C: what ``nakshi worker`` does.

    Args:
        listen: ``host:port``; the system chooses a port for 0.
        once: end after one run, or after a minute in which nobody calls.
        ready: called with the address when it listens.
    """
    _core.serve(listen, ready, once=once)
