"""Servers of two versions side by side: one after the other is upgraded, while the graph is read and changed.

``NAKSHI_TEST_OLD_PYTHON`` names the Python of an environment with an older build of Nakshi. To make one of a tag or
commit OLD: ``git worktree add old OLD``, then ``make build`` in ``old``, and ``old/.venv/bin/python``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nakshi
import pytest
from nakshi.serving import addresses

from .groups import log_of, servers
from .servers import Server, Threads, Writers

OLD = os.environ.get("NAKSHI_TEST_OLD_PYTHON", "")
pytestmark = pytest.mark.skipif(
    not OLD, reason="NAKSHI_TEST_OLD_PYTHON names no Python with an older build of nakshi"
)


class Readers(Threads):
    """Threads that read all the time, each from a server of its own."""

    def __init__(self, places: list[str]) -> None:
        super().__init__(len(places))
        self._places = places
        #: Queries of each thread, and the longest time of one in seconds.
        self.done = [0] * len(places)
        self.longest = 0.0

    def _work(self, number: int) -> None:
        # The one it asks first goes away for a moment: it goes on to the others.
        order = self._places[number:] + self._places[:number]
        with nakshi.connect(",".join(order)) as graph:
            last = 0
            while not self._stop.is_set():
                began = time.monotonic()
                age = graph.get_node_property(1, "age")
                assert age >= last
                assert len(graph.get_node_ids({"name": "n3"})) > 0
                last = age
                self.done[number] += 1
                self.longest = max(self.longest, time.monotonic() - began)

    def check(self) -> None:
        assert not self._failed, self._failed
        assert all(count > 10 for count in self.done) and self.longest < 15


class Upgraded:
    """Three servers of the old build, which become servers of this one, one after the other."""

    def __init__(self, home: Path) -> None:
        self.places = addresses("127.0.0.1:0", 3)
        self._stores = [home / f"{number}.nakshi" for number in range(3)]
        self._hosts = home / "hosts"
        self._hosts.write_text("\n".join(self.places) + "\n")
        # The old build makes the store, too.
        nodes, edges = home / "nodes.csv", home / "edges.csv"
        nodes.write_text("id:ID,name,age:int\n" + "".join(f"{i},n{i % 7},0\n" for i in range(50)))
        rows = "".join(f"{i},{i * 7 % 50},knows\n" for i in range(1, 50))
        edges.write_text(":START_ID,:END_ID,:TYPE\n" + rows)
        tables = f"edges={os.fspath(edges)!r}, nodes={os.fspath(nodes)!r}"
        old(f"import nakshi; nakshi.build({os.fspath(self._stores[0])!r}, {tables})")
        for store in self._stores[1:]:
            old(
                f"import nakshi; nakshi.backup({os.fspath(self._stores[0])!r}, {os.fspath(store)!r})"
            )
        self.running = [self._start(number, OLD) for number in range(3)]

    @property
    def address(self) -> str:
        return ",".join(self.places)

    def _start(self, number: int, python: str) -> Server:
        options = ("--hosts", self._hosts)
        where = self.places[number]
        return Server(self._stores[number], *options, listen=where, python=python)

    def upgrade(self, number: int) -> None:
        """As an operator does: end it in order, start the new build, wait until it lags no more."""
        self.end(number, signal.SIGTERM)
        self.running[number] = self._start(number, sys.executable)
        self.settle()

    def settle(self) -> None:
        """Return when all take part, and none lags."""
        until = time.monotonic() + 60
        while True:
            known = servers(self.running[0].address)
            roles = sorted(one["role"] for one in known)
            if roles == ["follower", "follower", "leader"] and all(
                one["lag"] < 50 for one in known
            ):
                return
            assert time.monotonic() < until, known
            time.sleep(0.1)

    def end(self, number: int, how: int) -> None:
        code = self.running[number].end(how)
        assert how != signal.SIGTERM or code == 0, self.running[number].log

    def check(self) -> None:
        """All stores have the same commits, and are whole."""
        logs = [log_of(store) for store in self._stores]
        assert logs[0] and logs.count(logs[0]) == len(logs)
        for store in self._stores:
            assert nakshi.check(store, progress=False)["ok"]


def old(program: str) -> str:
    """The output of a program that runs with the old build."""
    command = [OLD, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_server_after_the_other_is_upgraded(tmp_path: Path) -> None:
    there = old("import nakshi; print(nakshi.__file__)").strip()
    assert there != nakshi.__file__, "NAKSHI_TEST_OLD_PYTHON has this build"
    group = Upgraded(tmp_path)
    try:
        group.settle()
        with nakshi.connect(group.address) as graph:
            batch = graph.batch()
            batch.append_node(66_666)
            # A server of an older build may not know of it, and makes the commit durable at once.
            assert batch.commit_async().wait() == 1
            with Writers(graph) as writers, Readers(group.places) as readers:
                writers.wait_for(20)
                for number in range(3):
                    group.upgrade(number)
                    writers.wait_for(20)
            writers.check()
            readers.check()
            batch.append_node(77_777)
            assert batch.commit_async().wait() == 1
    except BaseException:
        for number in range(len(group.running)):
            group.end(number, signal.SIGKILL)
            print(group.running[number].log)
        raise
    for number in range(3):
        group.end(number, signal.SIGTERM)
    group.check()
