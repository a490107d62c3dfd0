"""Placement of the workers of a cluster run, on this machine, by Ray, or on hosts that run them.

A worker is a process ``nakshi worker``. Each placement is a context manager: within it, workers listen
at ``addresses``; after it, no worker that it started is left.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import select
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from .errors import MORE_PROCESSES, ClusterError, ParameterError
from .processes import signal_name, start_child

#: Time-out in seconds for placing a worker by Ray, and for a worker to listen.
STARTING = 60.0
#: Seconds in which workers may end by themselves after a run.
_GRACE = 2.0
#: Time-out in seconds for a Ray actor to end its worker.
_TELLING = 5.0
#: Time-out in seconds for a Ray cluster to answer before it is joined; Ray itself waits for minutes.
_ANSWERING = 5.0
#: Seconds before Ray is asked again for a worker that it has not started.
_AGAIN = 0.2
#: Bytes of Ray's object store, which is not used: little more than the least that Ray accepts.
_OBJECT_STORE = 100 << 20

#: Most bytes that are read of a file with a token.
_TOKEN = 1 << 13
_LOG = logging.getLogger("nakshi")


@dataclass
class Terms:
    """Token, folders and restarts of the workers of a run."""

    #: Folders of the files that front-ends may name; by default the working directory.
    allow: list[str] = field(default_factory=list)
    #: Token that the workers share with their front-end.
    token: bytes = field(default_factory=lambda: secrets.token_hex(32).encode())
    #: Number of workers that are replaced after they were killed before they listened.
    restarts: int = 8


class Placement(Protocol):
    """Workers of one run."""

    #: Addresses of the workers, ``host:port``, by number of server.
    addresses: list[str]

    @property
    def token(self) -> bytes | None:
        """Token of the workers; None for this user's token."""

    def replace(self, server: int) -> str:
        """End the lost worker number `server`, start another, and return its address."""

    def __enter__(self) -> Placement: ...

    def __exit__(self, *error: Any) -> None: ...


class _Leaving:
    """A placement that ends its workers on exit."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave(_GRACE if kind is None else 0.0)

    def _leave(self, grace: float) -> None:
        """End all started workers, after giving them `grace` seconds to end by themselves."""


class WorkerProcess:
    """A process ``nakshi worker`` for one run. It ends with the process that started it."""

    def __init__(self, host: str, terms: Terms) -> None:
        where = f"[{host}]:0" if ":" in host else f"{host}:0"
        call = [sys.executable, "-m", "nakshi", "worker", "--listen", where, "--once", "--json"]
        # Its standard input ends when this process ends, however it ends. The token is written to it,
        # because every user of a machine can see the arguments of a command.
        call += ["--until-eof", "--token-file", "-"]
        # A missing path cannot be allowed; the run reports it.
        for path in filter(os.path.exists, terms.allow):
            call += ["--allow", path]
        self._call, self._terms = call, terms
        self._start()

    def _start(self) -> None:
        self._began = time.monotonic()
        try:
            self._process = start_child(self._call, stderr=subprocess.PIPE)
        except BlockingIOError as error:
            why = f"a worker's process could not be started ({error.strerror})"
            raise ClusterError(f"{why}; take fewer workers, or {MORE_PROCESSES}") from None
        if self._process.stdin is not None:
            try:
                self._process.stdin.write(self._terms.token.decode() + "\n")
                self._process.stdin.flush()
            except OSError:
                # It has ended already; `address` says how.
                pass

    def address(self) -> str:
        """Wait until the worker listens and return its address; replace it if it is killed before."""
        while True:
            line, silent = self._first_line()
            if line:
                return str(json.loads(line)["address"])
            seconds = time.monotonic() - self._began
            said = _close(self._process)
            if silent:
                raise ClusterError(f"a worker has said nothing for {STARTING:.0f} s")
            code = self._process.returncode
            if code < 0 and self._terms.restarts > 0:
                self._terms.restarts -= 1
                self._start()
                continue
            how = f"killed by {signal_name(-code)}" if code < 0 else f"exit code {code}"
            why = f": {said}" if said else ""
            raise ClusterError(
                f"a worker has ended before it listened: {how} after {seconds:.1f} s{why}"
            )

    def _first_line(self) -> tuple[str, bool]:
        """The first line of the output, and True if the worker was killed because none came."""
        out = self._process.stdout
        assert out is not None
        # select needs no thread, which might not start. The worker writes the line in one piece.
        heard = bool(select.select([out], [], [], STARTING)[0])
        if not heard:
            self._process.kill()
        return out.readline(), not heard

    def end(self, grace: float = 0.0) -> None:
        """Kill the process, after giving it `grace` seconds to end by itself."""
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
        _close(self._process)


def _close(process: subprocess.Popen[str]) -> str:
    """Wait for the end of a process; return the last line of its standard error."""
    if process.stdin is not None:
        try:
            process.stdin.close()
        except OSError:
            # Buffered bytes could not be written, because the process has ended.
            pass
        process.stdin = None
    lines = process.communicate()[1].strip().splitlines()
    return lines[-1] if lines else ""


class LocalWorkers(_Leaving):
    """Workers in processes of this machine.

    Args:
        count: number of workers.
        terms: terms of the workers.
    """

    def __init__(self, count: int, terms: Terms | None = None) -> None:
        self.addresses: list[str] = []
        self.terms = terms or Terms()
        self._count = _at_least_one("local", count)
        self._workers: list[WorkerProcess] = []

    def replace(self, server: int) -> str:
        """As in :class:`Placement`."""
        self._workers[server].end()
        self.terms.restarts = max(0, self.terms.restarts - 1)
        self._workers[server] = WorkerProcess("127.0.0.1", self.terms)
        self.addresses[server] = self._workers[server].address()
        return self.addresses[server]

    def __enter__(self) -> LocalWorkers:
        try:
            for _ in range(self._count):
                self._workers.append(WorkerProcess("127.0.0.1", self.terms))
            self.addresses = [worker.address() for worker in self._workers]
        except BaseException:
            self._leave(0.0)
            raise
        return self

    @property
    def token(self) -> bytes:
        """As in :class:`Placement`."""
        return self.terms.token

    def _leave(self, grace: float) -> None:
        end = time.monotonic() + grace
        for worker in self._workers:
            worker.end(max(0.0, end - time.monotonic()))


class Hosts(_Leaving):
    """Workers that the user has started on other hosts, and also ends.

    Args:
        addresses: ``host:port`` of each, as ``nakshi worker --listen`` prints it.
        token: token of the workers; None for this user's token.
    """

    def __init__(self, addresses: Sequence[str], token: bytes | None = None) -> None:
        self.addresses = [str(address) for address in addresses]
        self.token = token
        _at_least_one("hosts", len(self.addresses))
        first: dict[str, int] = {}
        for server, address in enumerate(self.addresses):
            if (why := _unusable(address, first)) is not None:
                raise ParameterError(f"hosts[{server}]: {why}")
            first[address] = server

    def replace(self, server: int) -> str:
        """The same address: the user restarts the worker, or it still listens after a failed run."""
        address = self.addresses[server]
        _LOG.warning(
            "nakshi: server %d at %s was lost; calling it for up to 20 s, in case it comes back",
            server,
            address,
        )
        return address

    def __enter__(self) -> Hosts:
        return self


def read_hosts(file: str | os.PathLike[str], *, removed: bool = False) -> list[str]:
    """Read addresses from a file, one ``host:port`` a line; ``#`` begins a comment.

    With `removed`, a line ``- host:port`` is that of a server that was removed, and yields an empty address.

    Raises:
        ParameterError: a line is no address or repeats one; the message names file and line.
    """
    lines: dict[str, int] = {}
    text = Path(file).read_text(encoding="utf-8-sig", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        address = line.split("#")[0].strip()
        if not address:
            continue
        gone = removed and address.startswith("-")
        if (why := _unusable(address.lstrip("- ") if gone else address, lines)) is not None:
            raise ParameterError(f"{os.fspath(file)}:{number}: {why}")
        lines[address] = number
    if not lines:
        raise ParameterError(f"{os.fspath(file)}: no addresses; write one host:port a line")
    return ["" if removed and address.startswith("-") else address for address in lines]


def read_token(file: str | os.PathLike[str]) -> bytes:
    """Read a token from a file; ``-`` reads the first line of the standard input.

    Raises:
        ParameterError: the file cannot be read.
    """
    if os.fspath(file) == "-":
        line = b""
        # Byte by byte, because the rest of the input belongs to others.
        while (byte := os.read(0, 1)) not in (b"", b"\n") and len(line) < _TOKEN:
            line += byte
        return line
    try:
        with open(file, "rb") as opened:
            return opened.read(_TOKEN)
    except OSError as error:
        raise ParameterError(f"token file {os.fspath(file)}: {error.strerror}") from None


def _unusable(address: str, earlier: dict[str, int]) -> str | None:
    """The fault of an address among those before it."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:\[\]]+):([0-9]{1,5})", address)
    if found is None or not 0 < int(found[2]) < 1 << 16:
        return f"{address!r} is no address; write host:port, as in 10.0.0.2:7077"
    if address in earlier:
        # A run would wait for the worker to serve it twice at once.
        return f"{address} is given twice; each server has a worker of its own"
    return None


class _NodeWorker(WorkerProcess):
    """A Ray actor that runs a worker on its node."""

    def __init__(self, host: str | None, terms: Terms) -> None:
        from ray.util import get_node_ip_address

        super().__init__(host or get_node_ip_address(), terms)


class RayWorkers(_Leaving):
    """Workers that Ray places, one on each node as far as there are nodes.

    The workers run in the Ray cluster that this process has joined, that ``RAY_ADDRESS`` names, or that
    ``ray start`` has started on this machine. Without any, a cluster is started here, and ends with the
    run. All nodes need Nakshi in Ray's Python.

    Args:
        count: number of workers.
        cpus: CPUs that Ray reserves for each.
        timeout: seconds in which Ray has to place and start the workers.
        terms: terms of the workers, of which each has a copy.
    """

    def __init__(
        self,
        count: int,
        *,
        cpus: int = 1,
        timeout: float = STARTING,
        terms: Terms | None = None,
    ) -> None:
        self.addresses: list[str] = []
        self.terms = terms or Terms()
        self.token = self.terms.token
        self._count = _at_least_one("workers", count)
        self._cpus = cpus
        self._timeout = timeout
        self._ray: Any = None
        #: True if the cluster was joined for this run, and is left after it.
        self._joined = False
        #: Host at which workers listen; by default that of their node.
        self._host: str | None = None
        self._group: Any = None
        self._actors: list[Any] = []

    def replace(self, server: int) -> str:
        """As in :class:`Placement`; on another node if Ray has lost the node of the old worker."""
        self._end([self._actors[server]], 0.0)
        until = time.monotonic() + self._timeout
        while True:
            self._actors[server] = self._actor(server)
            told = self._actors[server].address.remote()
            if not self._never_ran(told) or time.monotonic() > until:
                break
            time.sleep(_AGAIN)
        self.addresses[server] = self._address(server, told)
        return self.addresses[server]

    def __enter__(self) -> RayWorkers:
        try:
            self._join()
            self._reserve()
            self._actors = [self._actor(server) for server in range(self._count)]
            told = [actor.address.remote() for actor in self._actors]
            self.addresses = [self._address(server, one) for server, one in enumerate(told)]
        except BaseException:
            self._leave(0.0)
            raise
        return self

    def _join(self) -> None:
        """Joins a cluster, or starts one."""
        try:
            import ray
        except ImportError as error:
            raise ClusterError(
                f"Ray is not installed ({error}): pip install 'nakshi[cluster]', or run without it: "
                "--local N, --hosts FILE"
            ) from None
        self._ray = ray
        if ray.is_initialized():
            return
        address = _running()
        # With None, Ray itself finds the address and the token of `ray start`.
        given: dict[str, Any] = {"address": None if address == "" else address}
        if address == "local":
            # The cluster is for this run alone, so it has exactly the CPUs that the workers need.
            cpus = self._count * self._cpus
            given |= {"num_cpus": cpus, "object_store_memory": _OBJECT_STORE}
            given["include_dashboard"] = False
            self._host = "127.0.0.1"
            # Ray would send statistics to its developers.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._joined = True
        try:
            ray.init(**given, log_to_driver=False, logging_level="ERROR")
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            where = f"join the cluster at {address or 'the address of ray start'}"
            doing = "start" if address == "local" else where
            hint = "" if address == "local" else " (if it wants a token, set RAY_AUTH_MODE=token)"
            raise ClusterError(f"Ray cannot {doing}: {last_line(error)}{hint}") from error

    def _reserve(self) -> None:
        """Reserves the places of all workers."""
        from ray.util import placement_group

        # STRICT_SPREAD would need as many nodes as workers.
        self._group = placement_group(self._bundles(), strategy="SPREAD")
        if self._group.wait(self._timeout):
            return
        all_, free = (
            resources.get("CPU", 0)
            for resources in (self._ray.cluster_resources(), self._ray.available_resources())
        )
        raise ClusterError(
            f"Ray has not placed {self._count} workers with {self._cpus} CPUs each in "
            f"{self._timeout:.0f} s: it has {all_:.0f} CPUs, {free:.0f} of them free; take fewer "
            "workers or threads, or add nodes"
        )

    def _bundles(self) -> list[dict[str, float]]:
        """What Ray reserves for each place."""
        return [{"CPU": self._cpus} for _ in range(self._count)]

    def _in_place(self, server: int) -> dict[str, Any]:
        """Options of what runs in a place."""
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        place = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=server)
        return {"num_cpus": self._cpus, "scheduling_strategy": place}

    def _actor(self, server: int) -> Any:
        kind = self._ray.remote(_NodeWorker)
        return kind.options(**self._in_place(server)).remote(self._host, self.terms)

    def _address(self, server: int, told: Any) -> str:
        return str(self._told(server, told))

    def _told(self, server: int, told: Any) -> Any:
        """What an actor or a task tells, when it has started."""
        try:
            return self._ray.get(told, timeout=self._timeout)
        except self._ray.exceptions.GetTimeoutError:
            why = f"Ray has not started its worker in {self._timeout:.0f} s"
            raise ClusterError(f"server {server}: {why}") from None
        except self._ray.exceptions.RayError as error:
            # The message of Ray's error is a traceback of the actor's exception.
            why = last_line(getattr(error, "cause", None) or error)
            raise ClusterError(f"server {server}: Ray cannot start its worker: {why}") from error

    def _never_ran(self, told: Any) -> bool:
        """True if Ray gave up an actor before it began, on a lost node that Ray took for alive."""
        try:
            self._ray.wait([told], timeout=self._timeout)
            self._ray.get(told, timeout=0)
        except self._ray.exceptions.RayActorError as error:
            return not error.actor_init_failed
        except self._ray.exceptions.RayError:
            pass  # Raised again when the address is asked for.
        return False

    def _end(self, actors: list[Any], grace: float) -> None:
        """Ends workers and their actors. If an actor does not respond, its worker ends with it."""
        told = [actor.end.remote(grace) for actor in actors]
        if told:
            self._ray.wait(told, num_returns=len(told), timeout=grace + _TELLING)
        for actor in actors:
            self._ray.kill(actor)

    def _leave(self, grace: float) -> None:
        """Ends everything that was started, and leaves the cluster."""
        if self._ray is None:
            return
        try:
            self._end(self._actors, grace)
            if self._group is not None:
                self._ray.util.remove_placement_group(self._group)
        except self._ray.exceptions.RayError:
            # The cluster is lost; Ray ends the actors of this process, and these end their workers.
            pass
        finally:
            if self._joined:
                self._ray.shutdown()


def _running() -> str:
    """The Ray cluster to join: an address, ``""`` for the one of ``ray start``, else ``local``.

    Raises:
        ClusterError: no cluster answers at ``RAY_ADDRESS``.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    if address not in ("", "auto", "local") and not _answers(address):
        raise ClusterError(
            f"no Ray cluster answers at RAY_ADDRESS={address}; start it, or unset that"
        )
    if address not in ("", "auto"):
        return address
    # `ray start` writes its address to this file. Ray's own "auto" would also join a cluster that
    # another program has started for itself, and that ends with that program.
    folder = os.environ.get("TMPDIR") if sys.platform == "linux" else None
    folder = os.environ.get("RAY_TMPDIR") or folder or "/tmp"
    try:
        address = Path(folder, "ray", "ray_current_cluster").read_text().strip()
    except OSError:
        return "local"
    return "" if _answers(address) else "local"


def _answers(address: str) -> bool:
    """True if a process listens at ``host:port``."""
    host, _, port = address.split("://")[-1].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERING).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _at_least_one(name: str, count: int) -> int:
    if count < 1:
        raise ParameterError(f"{name}: a cluster has at least one worker, not {count}")
    return count


def last_line(error: BaseException) -> str:
    """The last line of an error, without the tracebacks that Ray puts before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
