"""Runs on several servers, which Ray places, which are processes of this machine, or other hosts.

A server is a process ``nakshi worker``. All servers of a run must be able to read the store, or the
file of edges, under the same path.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from .advice import Advice as Advice
from .advice import recommend as recommend
from .declared import DECLARATIONS
from .edge_file import EdgeFile as EdgeFile
from .errors import ParameterError
from .graph import At, Graph
from .placement import (
    Hosts,
    LocalWorkers,
    Placement,
    RayWorkers,
    Terms,
    read_token,
)
from .processes import end_with_input
from .program_worker import ProgramCompiler, packed
from .programs import Program
from .progress import ProgressArgument, reporting
from .remote import connect
from .result import Result
from .units import parse_seconds, parse_size

__all__ = ["ALGORITHMS", "Advice", "EdgeFile", "plan", "recommend", "run"]

#: Names of the algorithms that run on several servers.
ALGORITHMS = tuple(name for name, declared in DECLARATIONS.items() if declared.pulls)
#: Numbers of servers in a :func:`plan` by default.
SERVERS = (2, 4, 8, 16, 32, 64, 128, 256)


def run(
    store: str | os.PathLike[str] | Graph | EdgeFile | Program,
    algorithm: str | os.PathLike[str] | Graph | Program,
    *,
    workers: int | None = None,
    local: int | None = None,
    hosts: Sequence[str] | None = None,
    token: str | bytes | None = None,
    token_file: str | os.PathLike[str] | None = None,
    ca: str | os.PathLike[str] | None = None,
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
    at: At = "last_commit",
    missing_weight: float | None = None,
    progress: ProgressArgument = None,
    **parameters: Any,
) -> Result:
    """Run an algorithm, or a program of your own, on several servers (LFGraph).

    Args:
        store: a store that all servers can read under the same path, or a file of edges, of which
            each server loads a part (:class:`EdgeFile`, or its path if its edges are directed and
            have no weights); or ``"nakshi://HOST:PORT"``, a graph that ``nakshi serve`` serves, where
            servers of all shares, or `local` processes of that machine, run it (see
            :meth:`nakshi.RemoteGraph.run`).
        algorithm: one of :data:`ALGORITHMS`, such as ``"pagerank"``, or a :func:`nakshi.program`, whose
            source is sent to the servers; they compile it. A program may also come first, and the store
            second.
        workers: number of workers that Ray places, one on each node as far as there are nodes, in the
            running cluster (``RAY_ADDRESS``, ``ray start``) or in a cluster on this machine that is
            started for the run.
        local: number of workers that are started as processes of this machine, without Ray.
        hosts: addresses (``host:port``) at which ``nakshi worker`` listens. Give exactly one of
            ``workers``, ``local`` and ``hosts``.
        token: with ``nakshi://``: the token of this client. With `hosts`: the token of the workers. The default is this user's token, which workers
            on this machine use if they are started without one.
        token_file: a file with the token.
        ca: with ``nakshi://``: as for :func:`nakshi.connect`.
        threads: computation workers of each server; Ray reserves as many CPUs for it.
        senders: communication workers of each server, which put values into frames.
        memory: memory cap for each server; lists that do not fit are in files in its ``TMPDIR``.
        timeout: seconds after which the run ends with an error.
        deadline: seconds, or ``"30s"``, ``"2m"``, within which the run ends after a superstep, with the
            values so far; ``summary["complete"]`` is ``False`` then.
        checkpoint_every: number of supersteps between checkpoints; by default there are none.
        checkpoints: folder for checkpoints, to which all servers can write; by default each server
            keeps the checkpoints of the server before it.
        restarts: number of servers that are replaced after they were lost, or killed before they
            listened. The others keep their parts of the graph and continue at the last checkpoint that
            all have saved, or at the beginning; the result is the same to the bit.
        silence: time-out in seconds: a server that sends nothing for so long is lost.
        watch: called after every superstep with ``step``, ``active``, ``sent`` and ``bytes`` of all
            servers together, and the seconds of ``computation`` and ``communication`` of the slowest;
            and with ``{"recovered": ...}`` after servers were replaced.
        at: state of a store with properties, as for algorithms of :class:`Graph`. Edge lists that are
            brought up to date are in a temporary store beside it, which workers on other hosts do not
            see: with `hosts`, compact the store first, or ask for ``"last_compaction"``.
        missing_weight: as for algorithms of :class:`Graph`.
        progress: as for algorithms of :class:`Graph`.
        parameters: arguments of the algorithm's variant ``"pull-program"``, with the same defaults as
            on one machine; of a program those of :meth:`nakshi.Graph.run`.

    Returns:
        The result as on one machine. ``stats["servers"]`` has every superstep of every server
        (``steps``), the peak memory of each (``peak_rss``), and the lost servers (``recoveries``).

    Raises:
        ClusterError: a server cannot be reached; more than `restarts` servers are lost; a checkpoint
            cannot be written; Ray is not installed, or cannot place all workers within a minute.
    """
    if isinstance(store, Program):
        store, algorithm = algorithm, store
    if not isinstance(algorithm, str | Program):
        raise ParameterError(f"{algorithm!r} is neither the name of an algorithm nor a program")
    assert not isinstance(store, Program)
    if is_served(store):
        if isinstance(algorithm, Program):
            raise ParameterError(
                f"{algorithm.name}: servers of {store} run algorithms only; run programs on a store"
            )
        _refuse_here(store, {name: value for name, value in locals().items() if name in _HERE})
        secret = token if token_file is None else read_token(token_file)
        with connect(str(store), token=_text(secret), ca=ca) as served:
            more = {"memory": memory, "progress": progress} | parameters
            return served.run(algorithm, workers=local, **more)
    folder = _checkpoint_folder(checkpoint_every, checkpoints)
    terms = _terms(restarts, token, token_file, hosts)
    placed = _placement(workers, local, hosts, threads, terms)
    chosen = {"at": at, "missing": missing_weight}
    with reporting(progress, "topology") as sink:
        asked = _given(store, algorithm, parameters, chosen, (hosts, threads, sink))
    terms.allow += asked.files
    if folder is not None:
        terms.allow.append(folder)
    with placed as placement, reporting(progress, asked.name) as sink:
        core = _core.run_on_servers(
            asked.graph,
            asked.name,
            asked.text,
            placement.addresses,
            program=asked.source,
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


@dataclass(frozen=True)
class _Given:
    """The request to servers."""

    #: Edge lists, or a file of edges as JSON.
    graph: _core.Store | str
    #: Name of the algorithm or program.
    name: str
    #: Arguments of the algorithm, or the description of the program, as JSON.
    text: str
    #: Files that servers read.
    files: list[str]
    #: What servers make the program's functions of.
    source: str | None = None


def _given(
    store: str | os.PathLike[str] | Graph | EdgeFile,
    algorithm: str | Program,
    parameters: dict[str, Any],
    chosen: dict[str, Any],
    limits: tuple[Sequence[str] | None, int, Any],
) -> _Given:
    """The request to servers: the graph, and the computation."""
    hosts, threads, sink = limits
    if _is_edges(store) and not isinstance(algorithm, Program):
        return _edges_given(store, algorithm, parameters, chosen)
    chosen = chosen | {"threads": threads, "sink": sink}
    if isinstance(algorithm, Program):
        return _program_given(store, algorithm, parameters, chosen, hosts)
    return _store_given(store, algorithm, parameters, chosen, hosts)


#: Arguments of :func:`run` that a graph on a server has no use for, with their defaults.
_HERE: dict[str, Any] = {
    "workers": None,
    "hosts": None,
    "threads": 1,
    "senders": 1,
    "timeout": None,
    "deadline": None,
    "checkpoint_every": None,
    "checkpoints": None,
    "restarts": 8,
    "silence": 10.0,
    "watch": None,
    "at": "last_commit",
    "missing_weight": None,
}


def _refuse_here(store: object, given: dict[str, Any]) -> None:
    """Refuse arguments that a graph on a server has no use for."""
    changed = sorted(name for name, value in given.items() if value != _HERE[name])
    if changed:
        raise ParameterError(f"{', '.join(changed)}: not with {store}, which runs it itself")


def _checkpoint_folder(every: int | None, folder: str | os.PathLike[str] | None) -> str | None:
    """The folder for checkpoints, if they are not kept by servers."""
    if every is not None and every < 1:
        raise ParameterError(f"checkpoint_every={every}: at least one superstep")
    if folder is not None and every is None:
        raise ParameterError("checkpoints needs checkpoint_every, a number of supersteps")
    return None if folder is None else os.path.abspath(folder)


def _text(secret: str | bytes | None) -> str | None:
    return secret.decode().strip() if isinstance(secret, bytes) else secret


def is_served(store: object) -> bool:
    """True for the address of a graph on a server."""
    return isinstance(store, str) and store.startswith("nakshi://")


def _is_edges(
    store: str | os.PathLike[str] | Graph | EdgeFile,
) -> bool:
    """True for a file of edges."""
    return isinstance(store, EdgeFile) or (not isinstance(store, Graph) and os.path.isfile(store))


def _edges_given(
    store: str | os.PathLike[str] | Graph | EdgeFile,
    algorithm: str,
    parameters: dict[str, Any],
    chosen: dict[str, Any],
) -> _Given:
    """An algorithm on a file of edges."""
    if chosen != {"at": "last_commit", "missing": None}:
        raise ParameterError("at and missing_weight belong to stores; a file of edges has neither")
    assert not isinstance(store, Graph)
    file = store if isinstance(store, EdgeFile) else EdgeFile(store)
    graph, given = file.given(algorithm, parameters)
    files = [os.path.abspath(path) for path in (file.path, file.nodes) if path]
    return _Given(graph, algorithm, json.dumps(given), files)


def _store_given(
    store: str | os.PathLike[str] | Graph | EdgeFile,
    algorithm: str,
    parameters: dict[str, Any],
    chosen: dict[str, Any],
    hosts: Sequence[str] | None,
) -> _Given:
    """An algorithm on the edge lists of a store, which are brought up to date."""
    assert not isinstance(store, EdgeFile)
    opened = store if isinstance(store, Graph) else Graph(store)
    graph, text = opened._prepared(algorithm, parameters, **chosen)
    _refuse_temporary(opened, graph, hosts)
    return _Given(graph, algorithm, text, [os.path.abspath(graph.path)])


def _program_given(
    store: str | os.PathLike[str] | Graph | EdgeFile,
    program: Program,
    parameters: dict[str, Any],
    chosen: dict[str, Any],
    hosts: Sequence[str] | None,
) -> _Given:
    """A program on the edge lists of a store, which are brought up to date."""
    if _is_edges(store):
        raise ParameterError(f"{program.name} runs on a store; import the file of edges first")
    assert not isinstance(store, EdgeFile)
    if program.given:
        raise ParameterError(
            f"{program.name} is given {', '.join(program.given)}, which is for one machine: run it there"
        )
    if parameters.pop("jit", True) is not True:
        raise ParameterError("jit=False is for one machine: run the program there")
    opened = store if isinstance(store, Graph) else Graph(store)
    if program.links == "both" and opened.directed and program.reads("out_degree"):
        raise ParameterError(
            f"{program.name} reads out_degree and sends along edges of both directions; servers know the "
            "sum of both degrees only: run it on one machine"
        )
    weight = parameters.pop("weight", None)
    graph, text = opened._prepared_program(program, parameters, weight, **chosen)
    _refuse_temporary(opened, graph, hosts)
    files = [os.path.abspath(graph.path)]
    return _Given(graph, program.name, text, files, packed(program))


def _refuse_temporary(opened: Graph, graph: _core.Store, hosts: Sequence[str] | None) -> None:
    """Refuse edge lists that workers on other hosts do not see."""
    if hosts is not None and graph.is_temporary:
        raise ParameterError(
            f"{opened.path} has changes, or weights that are properties, and workers on other hosts "
            "see the edge lists of its last compaction only; compact it and ask for unit=True, "
            'write it with project(), or ask for at="last_compaction"'
        )


def _terms(
    restarts: int,
    token: str | bytes | None,
    token_file: str | os.PathLike[str] | None,
    hosts: Sequence[str] | None,
) -> Terms:
    """The token and the restarts of workers; the token of those that listen already is this user's if it is
    empty."""
    terms = Terms(restarts=restarts)
    if token is not None or token_file is not None:
        if hosts is None or (token is not None and token_file is not None):
            raise ParameterError("token, or token_file, goes with hosts: others make their own")
        terms.token = _secret(token) if token is not None else read_token(token_file or "")
    elif hosts is not None:
        terms.token = b""
    return terms


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
    """Predict messages and memory of a run, by number of servers (sections 2.4, 2.5 of LFGraph).

    Args:
        store: the graph.
        servers: numbers of servers.
        value_bytes: bytes of a vertex's value: 8 for PageRank and distances, 4 for labels and levels.
        memory: memory cap for the pass over the lists.
        threads: worker threads of that pass.
        progress: as for algorithms of :class:`Graph`.

    Returns:
        For each number of servers: ``communication``, the values sent per vertex if all values
        change, by the equations of ``pregel``, ``graphlab``, ``powergraph`` and ``lfgraph``, and
        ``exact`` as counted for the hash partition; ``computation`` (in-edges of a server), ``pairs``
        (values between two servers) and ``memory`` (bytes of a server), each as ``least``, ``mean``
        and ``greatest``. :func:`recommend` chooses a number, :func:`nakshi.plot.servers` plots them.
    """
    graph = store if isinstance(store, Graph) else Graph(store)
    with reporting(progress, "plan") as sink:
        cap = parse_size(memory)
        core = graph._edge_lists(memory=cap, threads=threads, sink=sink)
        text = core.cluster_plan(list(servers), value_bytes, (cap, threads), progress=sink)
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
    """Run a server of a cluster until Ctrl-C, as ``nakshi worker`` does.

    A front-end or another server has to prove that it knows the token before the server reads
    anything else from it. Later data are neither encrypted nor signed, so use a private network. A
    front-end may send programs (:func:`nakshi.program`), which the server compiles and runs with the
    rights of its user: whoever knows the token can do what this user can.

    Args:
        listen: ``host:port``; for port 0 the system chooses one.
        token: token of the front-ends and servers, at least 16 bytes. The default is this user's
            token, ``nakshi/cluster-token`` in ``XDG_CONFIG_HOME`` (``~/.config``), which is made if it
            is missing; `listen` must then be an address of this machine only.
        token_file: a file with the token; ``-`` reads the first line of the standard input.
        allow: folders and files. Stores, files of edges and checkpoint folders that a front-end names
            must be below them, after links are followed. Default: the working directory.
        once: end after one run, or after a minute without a connection.
        until_eof: end this process at the end of its standard input, as when its parent has ended.
        ready: called with the address when the server listens.

    Raises:
        ClusterError: the server cannot listen, or other machines can reach `listen` and there is no
            token.
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
    """As :func:`serve`; `ready` also gets the file of this user's token, if that is used."""
    if token_file is not None:
        token = read_token(token_file)
    if until_eof:
        end_with_input()
    allowed = [os.fspath(path) for path in allow]
    _core.serve(listen, ready, once=once, token=token, allow=allowed, compiler=ProgramCompiler())
