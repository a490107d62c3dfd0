"""Servers come to a graph and leave it, while it is read and changed."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import nakshi
import pytest
from nakshi.serving import addresses

from .servers import Server, Writers
from .test_replication import AWAY, log_of, servers
from .test_server import build


class Members:
    """Servers by a list, each with a store of its own, which are started anew when the list changes."""

    def __init__(self, home: Path, count: int) -> None:
        self._home = home
        self._hosts = home / "hosts"
        self._places = addresses("127.0.0.1:0", count)
        self._lines = self._places[:3]
        self.running: dict[int, Server] = {}
        first = build(self.store(0))
        for number in (1, 2):
            nakshi.backup(first, self.store(number), progress=False)
        self._write()
        for number in range(3):
            self.start(number)

    def store(self, number: int) -> Path:
        return self._home / f"{number}.nakshi"

    @property
    def address(self) -> str:
        """Where clients connect."""
        return ",".join(self._places[number] for number in self.running)

    def _write(self) -> None:
        self._hosts.write_text("\n".join(self._lines) + "\n")

    def start(self, number: int) -> None:
        options = ("--hosts", self._hosts)
        self.running[number] = Server(self.store(number), *options, listen=self._places[number])

    def end(self, number: int, how: int = signal.SIGTERM) -> None:
        self.running.pop(number).end(how)

    def settle(self, roles: int) -> None:
        """Return when so many servers take part, and none of them lags."""
        until = time.monotonic() + 30
        while True:
            first = next(iter(self.running.values()))
            known = [one for one in servers(first.address) if one["role"] not in AWAY]
            leads = [one for one in known if one["role"] == "leader"]
            if len(known) == roles and leads and all(one["lag"] == 0 for one in known):
                return
            assert time.monotonic() < until, known
            time.sleep(0.1)

    def anew(self) -> None:
        """Start all that run with the present list, one after the other."""
        self._write()
        for number in list(self.running):
            self.end(number)
            self.start(number)
            self.settle(len(self.running))

    def add(self, number: int) -> None:
        """Add a server, with a copy of the store of another one that runs."""
        self._lines.append(self._places[number])
        self.anew()
        nakshi.backup(self.store(1), self.store(number), progress=False)
        self.start(number)

    def remove(self, number: int) -> None:
        self.end(number)
        self._lines[number] = f"- {self._lines[number]}"
        self.anew()


def test_a_server_comes_and_another_one_leaves(tmp_path: Path) -> None:
    members = Members(tmp_path, 4)
    try:
        members.settle(3)
        with nakshi.connect(members.address) as graph:
            with Writers(graph) as writers:
                writers.wait_for(10)
                members.add(3)
                members.settle(4)
                writers.wait_for(10)
                members.remove(0)
                members.settle(3)
                writers.wait_for(10)
            writers.check()
        # Two of three go on without the third: the new one votes, and the old one is not waited for.
        time.sleep(1)
        members.end(1, signal.SIGKILL)
        with nakshi.connect(members.address) as graph:
            graph.append_node(77, {"age": 7})
            assert graph.get_node_property(77, "age") == 7
        logs = [log_of(members.store(number)) for number in (2, 3)]
        assert '"id": 77' in logs[0] and logs[0] == logs[1]
    finally:
        for number in list(members.running):
            members.end(number, signal.SIGKILL)


def test_a_server_that_was_removed_does_not_start(tmp_path: Path) -> None:
    store = build(tmp_path / "g.nakshi")
    one, two = addresses("127.0.0.1:0", 2)
    hosts = tmp_path / "hosts"
    hosts.write_text(f"- {one}\n{two}\n")
    with pytest.raises(RuntimeError, match="none of the hosts"):
        Server(store, "--hosts", hosts, listen=one)
