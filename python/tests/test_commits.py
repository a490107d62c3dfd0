"""Commits of a server that may not be durable yet: many in flight, in their order, each made once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import nakshi
import pytest
from nakshi.commits import Commit

from .conftest import SCALE
from .servers import Server, Threads, serving
from .test_server import build


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "graph.nakshi")


def chain(graph: Any, first: int, count: int) -> list[Commit]:
    """Commits that each need the one before: a node and an edge to the last node."""
    commits = []
    batch = graph.batch()
    for id in range(first, first + count):
        batch.append_node(id, {"age": id})
        batch.append_edge(id, "knows", id - 1 if id > first else 1)
        commits.append(batch.commit_async())
    return commits


def test_a_commit_of_a_server_is_the_same_as_one_of_this_process(
    store: Path, tmp_path: Path
) -> None:
    def use(graph: Any) -> list[Any]:
        commits = chain(graph, 1000, 30)
        told: list[Any] = [commit.number for commit in commits]
        told += [commits[-1].wait(), [commit.durable for commit in commits], repr(commits[3])]
        batch = graph.batch()
        batch.append_node(1000)
        with pytest.raises(nakshi.ParameterError, match="there already"):
            batch.commit_async()
        with graph.transaction() as t:
            t.update_node(1, {"age": t.get_node_property(5, "age") + 1})
            t.update_node(2, {"age": 77})
            commit = t.commit_async()
        told += [commit.wait(), t.commit == commit.number, commit.changed, commit.durable]
        with pytest.raises(nakshi.ConflictError), graph.transaction() as first:
            first.get_node_property(1, "age")
            graph.update_node(1, {"age": 50})
            first.update_node(1, {"age": 51})
            first.commit_async()
        with graph.transaction() as nothing:
            nothing.get_node_property(1, "age")
            told.append(nothing.commit_async().wait())
        # Nobody waits for this one.
        batch.append_node(2000)
        batch.commit_async()
        graph.close()
        return told

    with nakshi.open(build(tmp_path / "twin.nakshi")) as twin:
        wanted = use(twin)
    with serving(store) as server:
        assert use(nakshi.connect(server.address)) == wanted
        with nakshi.connect(server.address) as again:
            assert again.get_node_property(2000) == {} and again.get_node_property(1, "age") == 50


def test_a_commit_is_durable_although_nobody_waits(store: Path) -> None:
    server = Server(store)
    writer, reader = nakshi.connect(server.address), nakshi.connect(server.address)
    commits = chain(writer, 1000, 20)
    wait_for_nodes(reader, 80)
    server.process.kill()
    server.wait()
    again = Server(store, listen=server.listen)
    assert [commit.wait() for commit in commits] == [2] * 20
    assert nakshi.connect(again.address).count() == 80
    assert again.end() == 0


def wait_for_nodes(graph: nakshi.RemoteGraph, count: int) -> None:
    until = time.monotonic() + 10
    while graph.count() < count:
        assert time.monotonic() < until
        time.sleep(0.001)


class Line:
    """A line to a server, on which answers may get lost."""

    def __init__(self, listen: str) -> None:
        host, _, port = listen.rpartition(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        #: True while answers get lost.
        self.mute = False
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(self._server)
            self._open += [client, server]
            for given in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._carry, args=given, daemon=True).start()

    def _carry(self, source: socket.socket, to: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if not (answers and self.mute):
                    to.sendall(data)

    def cut(self) -> None:
        """Close all connections; new ones carry answers."""
        self.mute = False
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open = []

    def close(self) -> None:
        self.cut()
        self._listener.close()


def test_commits_whose_replies_are_lost_are_made_once(store: Path) -> None:
    """Seen red with commits sent again under new ids."""
    with serving(store) as server, nakshi.connect(server.address) as other:
        line = Line(server.listen)
        graph = nakshi.connect(line.address)
        first = chain(graph, 1000, 50)
        line.mute = True
        found: list[int | None] = []
        # The reply that the first of them is made is lost, too.
        late = threading.Thread(
            target=lambda: found.extend(one.wait() for one in chain(graph, 2000, 50))
        )
        late.start()
        wait_for_nodes(other, 111)
        line.cut()
        late.join()
        assert [commit.wait() for commit in first] == [2] * 50
        assert found == [2] * 50 and graph.count() == 160
        graph.close()
        line.close()


class Chains(Threads):
    """Threads that each make a chain of commits, in flight together."""

    def __init__(self, graph: nakshi.RemoteGraph) -> None:
        super().__init__(3)
        self.graph = graph
        self.made = [0] * 3

    def _work(self, number: int) -> None:
        first = 1_000_000 * (number + 1)
        while not self._stop.is_set():
            begin = first + self.made[number]
            batch = self.graph.batch()
            commits = []
            for id in range(begin, begin + 20):
                # Without the one before, it is impossible; made twice, too.
                batch.append_node(id)
                batch.append_edge(id, "knows", max(id - 1, first))
                commits.append(batch.commit_async())
            # One that has to wait comes after those in flight.
            self.graph.append_edge(begin + 19, "likes", 1)
            assert commits[-1].durable
            for commit in commits:
                commit.wait()
            self.made[number] += 20

    def wait_for(self, commits: int) -> None:
        """Return when they have made some more commits together, or one has failed."""
        before = sum(self.made)
        while sum(self.made) < before + commits and not self._failed:
            time.sleep(0.001)

    def check(self) -> None:
        """Compare the graph with what they have made."""
        assert not self._failed, self._failed
        assert self.graph.count() == 60 + sum(self.made)


def test_commits_in_flight_are_made_once_and_in_order_while_the_server_is_killed(
    store: Path,
) -> None:
    """Seen red with what was in flight sent again in reverse order."""
    server = Server(store)
    with Chains(nakshi.connect(server.address)) as chains:
        for _ in range(4 * SCALE):
            chains.wait_for(40)
            server.process.kill()
            server.wait()
            server = Server(store, listen=server.listen)
    chains.check()
    assert server.end() == 0
    assert nakshi.check(store, progress=False)["ok"]


def test_commits_in_flight_when_the_leader_is_killed(store: Path) -> None:
    with (
        serving(store, "--local", 3) as server,
        nakshi.connect(server.address, timeout=30) as graph,
        Chains(graph) as chains,
    ):
        for _ in range(2):
            chains.wait_for(40)
            kill(graph, graph.status()["leader"])
        chains.wait_for(40)
    with serving(store, "--local", 3) as server:
        chains.graph = nakshi.connect(server.address)
        chains.check()


def kill(graph: nakshi.RemoteGraph, address: str) -> None:
    """Kill the server at an address."""
    if address:
        with nakshi.connect(address) as other:
            os.kill(other.status()["pid"], signal.SIGKILL)


def test_after_the_server_has_gone_the_outcome_is_unknown(store: Path) -> None:
    server = Server(store)
    graph = nakshi.connect(server.address)
    # It makes nothing durable any more.
    commits: list[Commit] = []
    with graph.transaction() as t:
        t.update_node(1, {"age": 5})
        commits += chain(graph, 1000, 3)
        commits.append(t.commit_async())
        server.process.kill()
        server.wait()
    began = time.monotonic()
    for commit in commits:
        try:
            commit.wait()
        except nakshi.UnavailableError as error:
            assert "may have been made or not" in str(error)
    # One patience for those that are sent again, and one for the transaction.
    assert time.monotonic() - began < 20
    batch = graph.batch()
    batch.append_node(5000)
    with pytest.raises(nakshi.UnavailableError, match="may have been made or not"):
        batch.commit_async()
    server = Server(store, listen=server.listen)
    with nakshi.connect(server.address) as other:
        found = other.count()
    assert chain(graph, 7000, 1)[0].wait() == 2
    assert graph.count() == found + 1
    assert server.end() == 0


def test_a_wait_ends_in_time_and_can_be_repeated(store: Path) -> None:
    server = Server(store)
    graph = nakshi.connect(server.address, timeout=0.5)
    batch = graph.batch()
    batch.append_node(1000)
    server.process.send_signal(signal.SIGSTOP)
    with pytest.raises(nakshi.DeadlineError, match="may have been made or not"):
        batch.commit_async()
    server.process.send_signal(signal.SIGCONT)
    (commit,) = chain(graph, 2000, 1)
    assert commit.wait() == 2 and commit.wait() == 2 and commit.durable
    # A server that ends does not wait for a client with commits that nobody waits for.
    chain(graph, 3000, 5)
    began = time.monotonic()
    assert server.end() == 0
    assert time.monotonic() - began < 5


def test_limits_and_roles_hold_for_commits_in_flight(store: Path) -> None:
    with serving(store, "--read-only") as server, nakshi.connect(server.address) as graph:
        with pytest.raises(nakshi.DeniedError, match="read-only"):
            chain(graph, 1000, 1)
    with (
        serving(store, "--max-calls", 2, "--max-request", "64KiB") as server,
        nakshi.connect(server.address) as graph,
    ):
        # All in flight are one call.
        commits = chain(graph, 1000, 300)
        assert commits[-1].wait() == 2 and graph.count() == 360
        batch = graph.batch()
        batch.append_node(5000, {"name": "x" * 100_000})
        with pytest.raises(nakshi.OverloadedError):
            batch.commit_async()
        assert chain(graph, 6000, 1)[0].wait() == 2
        # The call of the commits may last a moment longer.
        time.sleep(0.2)
        with (
            graph.transaction(),
            graph.transaction(),
            pytest.raises(nakshi.OverloadedError, match="2 calls"),
        ):
            chain(graph, 7000, 1)


def test_coroutines_wait_for_their_commits(store: Path) -> None:
    async def ask(address: str) -> None:
        async with await nakshi.connect_async(address) as graph:

            async def writer(number: int) -> int:
                made = 0
                for i in range(20):
                    async with graph.batch() as batch:
                        batch.append_node(1000 * (number + 1) + i)
                        commit = await batch.commit_async()
                    made += await commit
                return made

            assert await asyncio.gather(*(writer(number) for number in range(8))) == [20] * 8
            async with graph.transaction() as t:
                await t.update_node(1, {"age": 5})
                commit = await t.commit_async()
            assert t.commit == commit.number and await commit == 1
            assert await graph.count() == 220

    with serving(store) as server:
        asyncio.run(ask(server.address))


def test_threads_share_the_call(store: Path) -> None:
    with serving(store) as server, nakshi.connect(server.address) as graph:
        found: list[int] = []

        def write(number: int) -> None:
            commits = chain(graph, 10_000 * (number + 1), 50)
            found.extend(commit.number for commit in commits)
            assert [commit.wait() for commit in commits] == [2] * 50

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == list(range(1, 201)) and graph.count() == 260
