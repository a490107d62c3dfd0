"""Servers that make the commits of a graph together: what they say of themselves, and servers of a list."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nakshi.serving import addresses

from .servers import Server

if TYPE_CHECKING:
    from typing_extensions import Self

#: Roles of servers that do not take part.
AWAY = frozenset(["away", "starting"])


def servers(address: str, seconds: float = 10) -> list[dict[str, Any]]:
    """The servers, as ``nakshi status`` shows them, when one at the address answers within some time."""
    command = [sys.executable, "-m", "nakshi", "status", address, "--json"]
    until = time.monotonic() + seconds
    while True:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return list(json.loads(done.stdout)["servers"])
        assert time.monotonic() < until, done.stderr


def server_with(address: str, role: str) -> dict[str, Any]:
    """A server with a role, once there is one: an election may be under way."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = [server for server in servers(address) if server["role"] == role]
        if found:
            return found[0]
    raise AssertionError(f"no server is {role}")


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that does nothing until the end of the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def log_of(store: Path) -> str:
    """All commits of a store."""
    command = [sys.executable, "-m", "nakshi", "log", str(store)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Listed:
    """Servers of a list, each with a store of its own.

    Args:
        folder: for the list.
        stores: those of all servers that there may be.
        count: servers that the list names at first.
        options: of all servers.
    """

    def __init__(self, folder: Path, stores: Sequence[Path], count: int, *options: object) -> None:
        self._hosts = folder / "hosts"
        self._options = options
        self.listen = addresses("127.0.0.1:0", len(stores))
        self.stores = stores
        self.running: dict[int, Server] = {}
        self.lists(self.listen[:count])

    @property
    def address(self) -> str:
        """Where clients connect."""
        return ",".join(self.listen[number] for number in self.running)

    def lists(self, lines: Sequence[str]) -> None:
        """Write another list, which servers read when they start."""
        self._hosts.write_text("".join(f"{line}\n" for line in lines))

    def start(self, number: int) -> None:
        options = ("--hosts", self._hosts, *self._options)
        self.running[number] = Server(self.stores[number], *options, listen=self.listen[number])

    def start_all(self, numbers: Iterable[int]) -> None:
        """Start some that wait for each other."""
        threads = [threading.Thread(target=self.start, args=(number,)) for number in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def end(self, number: int, how: int = signal.SIGTERM) -> None:
        self.running.pop(number).end(how)

    def renew(self, number: int, *, empty: bool = False) -> None:
        """Start one anew, perhaps without its store, and return when all follow."""
        self.end(number)
        if empty:
            shutil.rmtree(self.stores[number])
        self.start(number)
        self.settle()

    def settle(self) -> None:
        """Return when there is a leader, and none that runs lags behind it."""
        until = time.monotonic() + 30
        while True:
            first = self.listen[next(iter(self.running))]
            known = [one for one in servers(first) if one["role"] not in AWAY]
            leads = any(one["role"] == "leader" for one in known)
            if leads and len(known) == len(self.running) and all(one["lag"] < 50 for one in known):
                return
            assert time.monotonic() < until, known
            time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number in list(self.running):
            self.end(number, signal.SIGKILL)
