"""Graphs that a server has."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import ParameterError, UnsupportedError
from .pipeline import Pipeline
from .progress import ProgressArgument, reporting
from .property import Transactions, Written
from .result import Result
from .schema import EXACT, Schema, of_properties
from .units import parse_size

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._core import Remote

__all__ = ["RemoteGraph", "connect"]


class RemoteGraph(Transactions):
    """A graph with properties on a server; see :func:`nakshi.connect`.

    It has the queries and changes of :class:`nakshi.Graph`, with the same names and exceptions, for any
    number of threads. A query reads the newest state of the server. The edges of an edge record are
    fetched when they are asked for, from the state in which the record was read; the server keeps
    that state for ten seconds after each fetch.
    """

    def __init__(self, core: Remote, address: str) -> None:
        self._core = core
        self._address = address

    @property
    def _queries(self) -> Remote:
        return self._core

    def _written(self, write: Callable[[Any], Written]) -> Written:
        return write(self._core)

    def schema(self, *, exact: int = EXACT) -> Schema:
        """Labels, edge types and properties; see :meth:`nakshi.Graph.schema`."""
        return of_properties(self._core, True, exact, None)

    def run(
        self,
        algorithm: str,
        *,
        workers: int | None = None,
        memory: int | str | None = None,
        progress: ProgressArgument = None,
        **parameters: Any,
    ) -> Result:
        """Run an algorithm where the graph is served, on the state after the last commit.

        Workers of the server's machine share the run, as those of :func:`nakshi.cluster.run` do. Where the graph
        is dealt to servers (``--replicas``), there is a worker on one server of each share, and all have the
        state after the same commit. Queries and changes go on meanwhile; :meth:`write_back` makes the result a
        property of the nodes. A server runs one algorithm at a time.

        Args:
            algorithm: one of :data:`nakshi.cluster.ALGORITHMS`, such as ``"pagerank"``.
            workers: number of processes, all on the machine of the server that is asked; by default one for each
                of its processors, or one on a server of each share.
            memory: memory cap for each of them.
            progress: as for algorithms of :class:`nakshi.Graph`.
            parameters: arguments of the algorithm's variant ``"pull-program"``.

        Returns:
            The result as on one machine. ``stats["topology"]["commit"]`` is the number of the commit whose
            state it is of.

        Raises:
            OverloadedError: the server runs another algorithm.
        """
        if not isinstance(algorithm, str):
            raise ParameterError(
                f"{algorithm!r} is no name of an algorithm: servers run those, and programs run on a store"
            )
        try:
            given = json.dumps(parameters)
        except TypeError as error:
            raise ParameterError(f"a parameter cannot be sent to the server: {error}") from None
        with reporting(progress, algorithm) as sink:
            core = self._core.run(
                algorithm,
                given,
                workers=workers or 0,
                memory=parse_size(memory) or 0,
                progress=sink,
            )
        return Result(core)

    def pipeline(self) -> Pipeline:
        """Send many queries at once, and wait for the server once.

        A query over a network mostly waits. In a pipeline each method returns at once, and the end of the
        ``with`` block sends all queries in one call:

        >>> with graph.pipeline() as p:                                       # doctest: +SKIP
        ...     cities = [p.get_node_property(id, "city") for id in friends]
        >>> [city.result() for city in cities]                                # doctest: +SKIP

        Each query reads the state that is the newest when the server comes to it.
        """
        return Pipeline(self._core.pipeline())

    def status(self) -> dict[str, Any]:
        """The server and its graph.

        Returns:
            ``version``, ``role`` and ``pid`` of the server, ``uptime_seconds``; ``commit``, the number of
            the last one, ``nodes`` and ``edges`` of this server, and ``log_bytes``, the changes that are not in the
            compressed files yet; ``read_only``; ``running_calls`` of at most ``most_calls``, this one among
            them, and ``connections``. Of several servers, ``servers`` are the addresses of all of them,
            ``own`` is that of this one, and ``leader`` that of the one that makes the commits.
            ``held_buckets`` is the number of buckets that this server has, ``None`` for the whole graph.
        """
        return self._core.status()

    def shares(self) -> list[dict[str, Any]]:
        """Which servers have which nodes, where the graph is dealt to servers (``nakshi serve --replicas``).

        Returns:
            For each share, ``servers``, their addresses, and ``buckets``, those of the 1,024 buckets that it
            has. Empty if all servers have the whole graph.
        """
        return [
            {"servers": servers, "buckets": buckets} for servers, buckets in self._core.shares()
        ]

    def bucket_of(self, id: int | str | bytes) -> int:
        """The bucket of a node, a hash of its id: 0 to 1023."""
        return _core.bucket_of(id)

    def move_buckets(
        self, buckets: Iterable[int], to: int, *, progress: ProgressArgument = None
    ) -> int:
        """Move buckets of nodes to the servers of another share, while all servers answer.

        The new servers copy the buckets, and a commit says from when on they answer for them; then the others
        leave them out. After an error, the same call goes on.

        Args:
            buckets: numbers of buckets, see :meth:`bucket_of` and :meth:`shares`.
            to: number of the share.
            progress: as for algorithms of :class:`nakshi.Graph`.

        Returns:
            The number of the commit from which on the buckets are there.

        Raises:
            ParameterError: there is no such bucket or share.
            DeniedError: the server has tokens, and this client's is neither an admin's nor a server's.
            OverloadedError: other buckets are being moved.
            UnavailableError: a server of the share is away.
            UnsupportedError: all servers have the whole graph.
        """
        moved = sorted(set(buckets))
        if not moved or not 0 <= moved[0] <= moved[-1] < 1024:
            raise ParameterError("name some of the buckets 0 to 1023")
        with reporting(progress, "move buckets") as sink:
            return self._core.move_buckets(moved, to, progress=sink)

    def backup(
        self, destination: str | os.PathLike[str], *, progress: ProgressArgument = None
    ) -> dict[str, Any]:
        """Copy the store of the server to this machine, while queries and changes go on.

        The copy has the state after one of the commits, and appears only when it is complete. The server
        compares every page with its checksum on the way. It gives one client a copy at a time, and nothing
        of it lies on its own disk.

        Args:
            destination: directory of the copy; must not exist.
            progress: as for algorithms of :class:`nakshi.Graph`.

        Returns:
            As :func:`nakshi.backup`.

        Raises:
            StoreExistsError: ``destination`` exists.
            DeniedError: the server has tokens, and this client's is neither an admin's nor a server's.
            OverloadedError: another client gets a copy.
        """
        with reporting(progress, "backup") as sink:
            text = self._core.backup(os.fspath(destination), progress=sink)
        report: dict[str, Any] = json.loads(text)
        return report

    def close(self) -> None:
        """End the connection; every later call raises :class:`nakshi.StoreError`."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<nakshi.RemoteGraph {self._address}>"


def connect(
    address: str,
    *,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    linearizable: bool = False,
) -> RemoteGraph:
    """Connect to a graph with properties that ``nakshi serve`` serves.

    >>> graph = nakshi.connect("nakshi://127.0.0.1:7480")  # doctest: +SKIP
    >>> graph.get_node_property("ann", "city")             # doctest: +SKIP

    If the server is away for a moment, calls are repeated for about five seconds, and if there are several
    servers, by the others for 15. A repeated commit is still
    made once. One that ends with :class:`nakshi.UnavailableError` or :class:`nakshi.DeadlineError` may
    have been made or not.

    Args:
        address: ``nakshi://HOST:PORT``, or without ``nakshi://`` or the port, which is 7480 then. Of a
            graph with several servers, one is enough if it runs; or all, with commas in between.
        token: what the server knows this client by, if it has tokens.
        ca: file with the certificates (PEM) of the authority by which the server's certificate is
            trusted. The connection is encrypted with it, and only then.
        timeout: seconds that a call may take; 60 by default.
        linearizable: a query sees every commit that any client was told of before. Several servers have to
            agree on each query then, which takes a round trip more. Without it, a query sees the commits
            of this client, and never an older state than the client's queries before.

    Raises:
        UnavailableError: no server answers.
        DeniedError: the server wants a token, or another one.
        ParameterError: the address is none.
    """
    if timeout is not None and not 0 < timeout < 1e9:
        raise ParameterError(f"timeout={timeout!r} cannot work; give a number of seconds above 0")
    try:
        from ._core import Remote
    except ImportError:
        raise UnsupportedError(
            "this build of nakshi has neither server nor client; run `make build`"
        ) from None
    path = None if ca is None else os.fspath(ca)
    return RemoteGraph(
        Remote(address, token=token, ca=path, timeout=timeout, linearizable=linearizable), address
    )
