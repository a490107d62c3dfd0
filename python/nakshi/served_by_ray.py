"""The servers of a graph where Ray places them, each with a copy of its store."""

from __future__ import annotations

import ipaddress
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click

from .errors import MORE_PROCESSES, ClusterError, ParameterError, StoreError
from .placement import RayWorkers, last_line
from .processes import start_child
from .serving import FOLDER, addresses, host_and_port
from .stores import backup

#: Seconds for Ray to tell of its actors.
_TELLING = 5.0
#: Seconds for all servers to begin to answer, and for one to end.
_STARTING = 120.0
_ENDING = 15.0
#: Seconds between two looks at the servers.
_LOOK = 0.25
#: Seconds for which a server must have run to be started again at once, or else after a pause.
_LASTING = 2.0
_PAUSE = 0.5
#: In the folder of the servers: the nodes where they are, one a line.
_NODES = "nodes"


class _NodeServer:
    """A Ray actor that runs one of a graph's servers on its node, and begins it at once if it was begun before.

    It ends when its server is killed, and Ray begins it anew in the same place.
    """

    def __init__(
        self, store: str, number: int, addresses: Sequence[str], options: Sequence[str]
    ) -> None:
        folder = Path(store) / FOLDER
        self._store = Path(store) if number == 0 else folder / str(number + 1)
        if Path(store).is_dir():
            folder.mkdir(exist_ok=True)
        self._copy(Path(store))
        hosts = folder / f"hosts-{number + 1}"
        hosts.write_text("\n".join(addresses) + "\n")
        #: Where the server writes what it has to say.
        self._log = folder / f"log-{number + 1}"
        call = [sys.executable, "-m", "nakshi", "serve", os.fspath(self._store), "--until-eof"]
        self._call = [*call, "--listen", addresses[number], "--hosts", os.fspath(hosts), *options]
        self._process: subprocess.Popen[str] | None = None
        self._ready = self._ending = False
        if (self._store / FOLDER / "log").exists():
            self._start()

    def _copy(self, first: Path) -> None:
        if self._store.exists():
            return
        if not first.is_dir():
            raise StoreError(f"{first} is not a nakshi store on this node: no such directory")
        if (first / FOLDER / "log").exists():
            raise ParameterError(
                f"{self._store} is not on this node; put a copy (nakshi backup) of a served store there, or "
                f"remove {first / FOLDER} to begin anew"
            )
        backup(first, self._store)

    def _start(self) -> None:
        with open(self._log, "a") as log:
            try:
                self._process = start_child(self._call, stderr=log.fileno())
            except BlockingIOError as error:
                why = f"a server's process could not be started ({error.strerror})"
                raise ClusterError(f"{why}; take fewer servers, or {MORE_PROCESSES}") from None
        threading.Thread(target=self._watch, args=(self._process,), daemon=True).start()

    def _watch(self, process: subprocess.Popen[str]) -> None:
        """Wait until the server answers, and until it ends; end with it if it was killed."""
        began = time.monotonic()
        assert process.stdout is not None
        self._ready = process.stdout.readline().startswith("ready")
        if process.wait() < 0 and not self._ending:
            if time.monotonic() - began < _LASTING:
                time.sleep(_PAUSE)
            os._exit(1)

    def serve(self) -> str:
        """Begin the server, if it was not; return ``starts``, ``ready``, or how it has ended by itself."""
        if self._process is None:
            self._start()
        assert self._process is not None
        code = self._process.poll()
        if code is None or code < 0:
            return "ready" if self._ready and code is None else "starts"
        return self._last_words() or f"exit code {code}"

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def process(self) -> int | None:
        """Id of the server's process."""
        return None if self._process is None else self._process.pid

    def end(self, grace: float) -> None:
        """End the server in order, within `grace` seconds, or else at once."""
        self._ending = True
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _node() -> str:
    """The address of this node."""
    from ray.util import get_node_ip_address

    return str(get_node_ip_address())


def _place(host: str, port: int) -> str:
    """The address of a server on this node, at a port or at a free one."""
    return addresses(f"{host}:{port}", 1)[0]


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.rpartition(":")[0].strip("[]")).is_loopback
    except ValueError:
        return False


class RayServers(RayWorkers):
    """Servers of a graph on the nodes of a Ray cluster, one on each as far as there are nodes.

    Ray places them, and starts one that was killed again in the same place, but not one that ends by itself,
    with an error. They find out by themselves who makes the commits. All of them end with this process,
    however it ends. A later start puts each on the node where it was, as its copy is there.

    Args:
        store: store that each node can read under this path, at the first start. The first server has it, and the
            others have copies in a folder of it.
        listen: its port is that of the first server, and the others have the ports after it; 0 for free ones. Its
            host is that of all servers, if all nodes are this machine; else each has the address of its node.
        count: number of servers.
        options: more options of ``nakshi serve``, the same for all.
        replicas: how many servers have each share of the graph; all have the whole graph by default.
        strangers: other machines may reach the servers, which have certificates and tokens.
    """

    def __init__(
        self,
        store: str,
        listen: str,
        count: int,
        options: Sequence[str],
        replicas: int | None = None,
        strangers: bool = False,
    ) -> None:
        from ._core import agreeing_servers

        super().__init__(count)
        self._store = Path(store).absolute()
        self._nodes = self._store / FOLDER / _NODES
        self._listen, self._port = host_and_port(listen)
        self._options = list(options)
        if replicas is not None:
            self._options += ["--replicas", str(replicas)]
        self._strangers = strangers
        #: The first so many servers agree on the commits.
        self._agreeing = agreeing_servers(count, replicas)
        #: Why servers are away for good, and numbers of those that Ray starts again.
        self._gone: dict[int, str] = {}
        self._away: set[int] = set()
        self._ended = False

    def __enter__(self) -> RayServers:
        if not self._store.is_dir():
            raise StoreError(f"{self._store} is not a nakshi store: no such directory")
        try:
            self._join()
            self._reserve()
            self._find_places()
            kind = self._ray.remote(_NodeServer)
            for number in range(self._count):
                given = (os.fspath(self._store), number, self.addresses, self._options)
                options = {**self._in_place(number), "max_restarts": -1}
                self._actors.append(kind.options(**options).remote(*given))
            # All have copies before the first is served.
            for number, actor in enumerate(self._actors):
                self._told(number, actor.process.remote())
        except BaseException:
            self._leave(0.0)
            raise
        return self

    def _bundles(self) -> list[dict[str, float]]:
        """As of workers, but on the nodes where the servers were."""
        places = super()._bundles()
        if self._host is None and self._nodes.exists():
            for place, node in zip(places, self._nodes.read_text().split()):
                # Each node has a whole one of this resource.
                place[f"node:{node}"] = 0.001
        return places

    def _find_places(self) -> None:
        """Ask for the nodes that Ray has chosen, and for free ports on them."""
        nodes = self._on_each(_node, [()] * self._count)
        alone = set(nodes) == {_node()}
        hosts = [f"[{node}]" if ":" in node else node for node in nodes]
        if self._host is not None or alone:
            # Other machines need not reach them.
            hosts = [self._host or self._listen] * self._count
        ports = [self._port and self._port + number for number in range(self._count)]
        self.addresses = self._on_each(_place, list(zip(hosts, ports)))
        for address in self.addresses:
            if self.addresses.count(address) > 1:
                raise ClusterError(f"two servers would listen at {address}; start them again")
            if not self._strangers and not _is_loopback(address):
                raise ParameterError(
                    f"{address} can be reached from other machines: give --certificate and --key, and --tokens, "
                    "files that each node has under the same path"
                )
        if not alone and not self._nodes.exists():
            self._nodes.parent.mkdir(exist_ok=True)
            self._nodes.write_text("".join(f"{node}\n" for node in nodes))

    def _on_each(self, function: Callable[..., str], given: Sequence[tuple[Any, ...]]) -> list[str]:
        """The results of a function in each place, for arguments of its own."""
        task = self._ray.remote(function)
        told = [
            task.options(**self._in_place(number)).remote(*one) for number, one in enumerate(given)
        ]
        return [str(self._told(number, one)) for number, one in enumerate(told)]

    def run(self, ready: Callable[[], Any]) -> int:
        """Serve until Ctrl-C or SIGTERM; `ready` is called when all servers answer. Returns the exit code."""
        self._catch_signals()
        with self:
            # Ray has set its own.
            self._catch_signals()
            until = time.monotonic() + _STARTING
            while not self._ended:
                waiting = self._look()
                if self._gone:
                    return 1
                if not waiting:
                    break
                if time.monotonic() > until:
                    where = ", ".join(self.addresses[number] for number in sorted(waiting))
                    raise StoreError(f"no server answers at {where} after {_STARTING:.0f} s")
                time.sleep(_LOOK)
            if not self._ended:
                ready()
            while not self._ended:
                time.sleep(_LOOK)
                self._tell_of(self._look())
                if 2 * sum(number < self._agreeing for number in self._gone) >= self._agreeing:
                    return 1
        return 0

    def _catch_signals(self) -> None:
        def end(number: int, frame: FrameType | None) -> None:
            self._ended = True

        for which in (signal.SIGINT, signal.SIGTERM):
            signal.signal(which, end)

    def _look(self) -> set[int]:
        """Begin servers that were not, and return the numbers of those that do not answer yet."""
        asked = {
            number: actor.serve.remote()
            for number, actor in enumerate(self._actors)
            if number not in self._gone
        }
        answered, _ = self._ray.wait(list(asked.values()), num_returns=len(asked), timeout=_TELLING)
        away = set()
        for number, one in asked.items():
            try:
                state = self._ray.get(one, timeout=0) if one in answered else "starts"
            except self._ray.exceptions.RayActorError as error:
                # Ray does not begin one again that could not be made.
                state = last_line(error.cause or error) if error.actor_init_failed else "starts"
            if state == "starts":
                away.add(number)
            elif state != "ready":
                where = f"the server at {self.addresses[number]}"
                click.echo(f"{where} has ended by itself, and stays away: {state}", err=True)
                self._gone[number] = state
        return away

    def _tell_of(self, away: set[int]) -> None:
        """Say which servers were lost since the last look."""
        for number in sorted(away - self._away):
            click.echo(
                f"the server at {self.addresses[number]} was lost; Ray starts it again", err=True
            )
        self._away = away

    def _leave(self, grace: float) -> None:
        super()._leave(_ENDING)
