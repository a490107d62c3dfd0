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
from .errors import MORE_PROCESSES, ParameterError, StorageError, is_thread_refused
from .graph import Graph
from .placement import Hosts, LocalWorkers, Placement, RayWorkers, Terms, read_token
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
    token: str | bytes | None = None,
    token_file: str | os.PathLike[str] | None = None,
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
        token: with `hosts`: the secret that the workers know. Workers that were started without one, on
            this machine, know that of this user, which is the default here.
        token_file: a file with it.
        threads: computation workers of each server; CPUs that Ray reserves for it.
        senders: communication workers of each server, which put values into frames.
        memory: for each server; lists that do not fit are in files of its ``TMPDIR``.
        timeout: seconds after which the run ends with an error.
        deadline: seconds, or ``"30s"``, ``"2m"``, within which the run ends after a superstep, with the
            values that there are then; ``summary["complete"]`` is ``False`` if it was cut short.
        checkpoint_every: supersteps from one checkpoint of all values to the next; none without.
        checkpoints: folder for them that all servers can write to; without, each server keeps those of
            the one before it.
        restarts: how often servers that are lost, or killed before they listen, are replaced. Those that are left keep their parts of
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
    terms = Terms(restarts=restarts)
    if token is not None or token_file is not None:
        if hosts is None or (token is not None and token_file is not None):
            raise ParameterError("token, or token_file, goes with hosts: others make their own")
        terms.token = _secret(token) if token is not None else read_token(token_file or "")
    elif hosts is not None:
        terms.token = b""
    placed = _placement(workers, local, hosts, threads, terms)
    graph: _core.Store | str
    if isinstance(store, EdgeFile) or (not isinstance(store, Graph) and os.path.isfile(store)):
        file = store if isinstance(store, EdgeFile) else EdgeFile(store)
        graph, given = file.given(algorithm, parameters)
        terms.allow += [os.path.abspath(path) for path in (file.path, file.nodes) if path]
    else:
        opened = store if isinstance(store, Graph) else Graph(store)
        terms.allow.append(os.path.abspath(opened.path))
        graph, given = opened._core, json.loads(opened._given(algorithm, parameters))

    if folder is not None:
        terms.allow.append(folder)
    with placed as placement, reporting(progress, algorithm) as sink:
        core = _core.run_on_servers(
            graph,
            algorithm,
            json.dumps(given),
            placement.addresses,
            memory=parse_size(memory),
            threads=threads,
            senders=senders,
            token=placement.token,
            timeout=timeout,
            deadline=None if deadline is None else parse_seconds(deadline),
            silence=silence,
            restarts=terms.restarts,
            checkpoints=None if checkpoint_every is None else (checkpoint_every, folder),
            replace=placement.replace,
            watch=None if watch is None else lambda told: watch(json.loads(told)),
            progress=sink,
        )
    return Result(core)


def _secret(token: str | bytes) -> bytes:
    return token.encode() if isinstance(token, str) else token


def _placement(
    workers: int | None,
    local: int | None,
    hosts: Sequence[str] | None,
    threads: int,
    terms: Terms,
) -> Placement:
    """The source of a run's workers."""
    if [workers, local, hosts].count(None) != 2:
        raise ParameterError(
            "give one of workers=N (by Ray), local=N (processes of this machine), hosts=[...]"
        )
    if workers is not None:
        return RayWorkers(workers, cpus=threads, terms=terms)
    if local is not None:
        return LocalWorkers(local, terms)
    return Hosts(hosts or [], terms.token or None)


def plan(
    store: str | os.PathLike[str] | Graph,
    servers: Sequence[int] = SERVERS,
    *,
    value_bytes: int = 8,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: ProgressArgument = None,
) -> list[dict[str, Any]]:
    """Predict the messages and memory of a run on so many servers (sections 2.4, 2.5 of LFGraph).

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
    token: str | bytes | None = None,
    token_file: str | os.PathLike[str] | None = None,
    allow: Sequence[str | os.PathLike[str]] = (),
    ready: Callable[[str], object] = print,
) -> None:
    """Be a server of a cluster until Ctrl-C: what ``nakshi worker`` does.

    Whoever calls proves that it knows the token before anything else is read of it. After that, what is
    sent is neither encrypted nor signed: use a network of your own.

    Args:
        listen: ``host:port``; the system chooses a port for 0.
        token: the secret that front-ends and other servers know, 16 bytes at least. Without, it is that
            of this user, ``nakshi/cluster-token`` in ``XDG_CONFIG_HOME`` (``~/.config``), which is made
            where it is missing; `listen` is then an address of this machine only.
        token_file: a file with it; the first line of the standard input for ``-``.
        allow: folders and files; stores, files of edges and folders for checkpoints that a front-end names
            are below them, links followed. The working directory if none is given.
        once: end after one run, or after a minute in which nobody calls.
        until_eof: end this process when its standard input does, as when what started it has gone.
        ready: called with the address when it listens.

    Raises:
        ClusterError: it cannot listen, or other machines reach `listen` and there is no token.
    """

    def told(address: str, _: str | None) -> None:
        ready(address)

    if token is not None and token_file is not None:
        raise ParameterError("give one of token, token_file")
    secret = None if token is None else _secret(token)
    serve_and_tell(listen, told, once, until_eof, secret, token_file, allow)


def serve_and_tell(
    listen: str,
    ready: Callable[[str, str | None], object],
    once: bool,
    until_eof: bool,
    token: bytes | None,
    token_file: str | os.PathLike[str] | None,
    allow: Sequence[str | os.PathLike[str]],
) -> None:
    """As :func:`serve`; `ready` is also told in which file the token is, if it is that of this user."""
    if token_file is not None:
        token = read_token(token_file)
    if until_eof:
        try:
            threading.Thread(target=_end_at_eof, daemon=True).start()
        except RuntimeError as error:
            if not is_thread_refused(error):
                raise
            raise StorageError(f"a thread could not be started; {MORE_PROCESSES}") from None
    allowed = [os.fspath(path) for path in allow]
    _core.serve(listen, ready, once=once, token=token, allow=allowed)


def _end_at_eof() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)
