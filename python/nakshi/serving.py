"""The servers of a graph as processes of this machine, each with a copy of its store."""

from __future__ import annotations

import errno
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click

from .errors import MORE_PROCESSES, ParameterError, StoreError
from .processes import signal_name, start_child
from .stores import backup

#: Directory for the servers in that of the store, which the first of them serves.
FOLDER = "servers"
#: The first port that Linux gives to connections by itself, and the last.
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Least port that is chosen for a server, and how many are tried.
_PORTS = 10_000
_TRIES = 100
#: Seconds for a server to begin to answer.
_STARTING = 60.0
#: Seconds for all servers to end.
_ENDING = 15.0
#: Seconds between two looks at the processes.
_LOOK = 0.1
#: Seconds for which a server must have run to be started again at once, or else after a pause.
_LASTING = 2.0
_PAUSE = 0.5


def host_and_port(listen: str) -> tuple[str, int]:
    """Host and port of an address to listen at."""
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdigit():
        raise ParameterError(f"cannot listen at {listen}: write HOST:PORT")
    return host, int(port)


def addresses(listen: str, count: int) -> list[str]:
    """Addresses of `count` servers: ports from that of `listen` on, or free ones if it is 0."""
    host, port = host_and_port(listen)
    if port:
        return [f"{host}:{port + i}" for i in range(count)]
    taken: list[socket.socket] = []
    try:
        for _ in range(count):
            taken.append(_bound(host))
        return [f"{host}:{one.getsockname()[1]}" for one in taken]
    except OSError as error:
        raise ParameterError(f"cannot listen at {listen}: {error}") from None
    finally:
        for one in taken:
            one.close()


def _bound(host: str) -> socket.socket:
    """A socket at a free port that the system gives to no connection, so that it is free a moment later, too."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        first = int(_EPHEMERAL.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = 0
    ports = range(min(_PORTS, first), first)
    # Where all those that are tried are taken, the system chooses.
    for port in [*random.sample(ports, min(_TRIES, len(ports))), 0]:
        one = socket.socket(family)
        try:
            one.bind((host.strip("[]"), port))
            return one
        except OSError as error:
            one.close()
            if error.errno != errno.EADDRINUSE:
                raise
    raise OSError(errno.EADDRINUSE, "no port is free")


class LocalServers:
    """Servers of a graph on this machine, for trying it out.

    A server that is killed is started again, but not one that ends by itself, with an error. All of them
    end with this process, however it ends.

    Args:
        store: store of the first server; the others have copies in a folder of it.
        listen: address of the first server; the others have the ports after it.
        count: number of servers.
        options: more options of ``nakshi serve``, the same for all.
        places: where the first server listens for other protocols, by their options; the others listen at
            the ports after it.
        replicas: how many servers have each share of the graph; all have the whole graph by default.
    """

    def __init__(
        self,
        store: str,
        listen: str,
        count: int,
        options: Sequence[str],
        places: Mapping[str, str | None],
        replicas: int | None = None,
    ) -> None:
        from ._core import agreeing_servers

        self.addresses = addresses(listen, count)
        #: Where each server listens for other protocols, by their options.
        self.others = {
            option: addresses(place, count) for option, place in places.items() if place is not None
        }
        folder = Path(store) / FOLDER
        self._stores = [Path(store), *(folder / str(i) for i in range(2, count + 1))]
        self._options = list(options)
        if replicas is not None:
            self._options += ["--replicas", str(replicas)]
        #: The first so many servers agree on the commits.
        self._agreeing = agreeing_servers(count, replicas)
        self._processes: list[subprocess.Popen[str]] = []
        self._began: list[float] = []
        #: Numbers of those that have ended by themselves.
        self._gone: set[int] = set()
        self._hosts = folder / "hosts"

    def _prepare(self) -> None:
        """Copy the store for each server that has none."""
        first = self._stores[0]
        if not first.is_dir():
            raise StoreError(f"{first} is not a nakshi store: no such directory")
        missing = [store for store in self._stores[1:] if not store.exists()]
        if missing and (first / FOLDER / "log").exists():
            raise ParameterError(
                f"{first} was served by fewer servers; remove {first / FOLDER} to begin anew with it"
            )
        self._hosts.parent.mkdir(exist_ok=True)
        for store in missing:
            backup(first, store)
        self._hosts.write_text("\n".join(self.addresses) + "\n")

    def _start(self, number: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "nakshi", "serve", os.fspath(self._stores[number])]
        command += ["--listen", self.addresses[number], "--hosts", os.fspath(self._hosts)]
        command += ["--until-eof", *self._options]
        for option, places in self.others.items():
            # Statements need the whole graph.
            if option != "--bolt" or number < self._agreeing:
                command += [option, places[number]]
        try:
            return start_child(command)
        except BlockingIOError as error:
            why = f"a server's process could not be started ({error.strerror})"
            raise StoreError(f"{why}; take fewer servers, or {MORE_PROCESSES}") from None

    def run(self, ready: Callable[[], Any]) -> int:
        """Serve until Ctrl-C or SIGTERM; `ready` is called when all servers answer. Returns the exit code."""
        self._prepare()
        ended = False

        def end(number: int, frame: FrameType | None) -> None:
            nonlocal ended
            ended = True

        for which in (signal.SIGINT, signal.SIGTERM):
            signal.signal(which, end)
        try:
            for number in range(len(self._stores)):
                self._processes.append(self._start(number))
                self._began.append(time.monotonic())
            if not all([ended or self._answers(process) for process in self._processes]):
                return 0 if ended else 1
            ready()
            while not ended:
                time.sleep(_LOOK)
                if not self._look():
                    return 1
            return 0
        finally:
            self._end()

    def _answers(self, process: subprocess.Popen[str]) -> bool:
        """Wait for the line that says that a server answers; False if it has ended before."""
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], _STARTING)[0]:
            raise StoreError(f"a server has said nothing for {_STARTING:.0f} s")
        return process.stdout.readline().startswith("ready")

    def _look(self) -> bool:
        """Start servers again that were killed; False if no majority is left of those that agree."""
        for number, process in enumerate(self._processes):
            code = process.poll()
            if code is None or number in self._gone:
                continue
            address, lasted = self.addresses[number], time.monotonic() - self._began[number]
            if code >= 0:
                click.echo(f"the server at {address} has ended by itself, and stays away", err=True)
                self._gone.add(number)
                continue
            name = signal_name(-code)
            click.echo(f"the server at {address} was killed by {name}; starts it again", err=True)
            self._close(process)
            if lasted < _LASTING:
                time.sleep(_PAUSE)
            self._processes[number] = self._start(number)
            self._began[number] = time.monotonic()
        gone = [number for number in self._gone if number < self._agreeing]
        return 2 * len(gone) < self._agreeing

    def _end(self) -> None:
        for process in self._processes:
            process.terminate()
        until = time.monotonic() + _ENDING
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._close(process)

    @staticmethod
    def _close(process: subprocess.Popen[str]) -> None:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
