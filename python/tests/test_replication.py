"""A graph on several servers: they agree on every commit, and one may be killed."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nakshi
import pytest
from nakshi.serving import addresses

from .conftest import SCALE
from .groups import log_of, server_with, servers, stopped
from .servers import CypherWriters, Server, Writers, driver_of
from .test_server import build, certificate


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "graph.nakshi")


@contextmanager
def three(store: Path, *options: object) -> Iterator[Server]:
    """Three servers that take part, which must end in order and leave no process."""
    server = Server(store, "--local", 3, *options)
    try:
        until = time.monotonic() + 20
        while any(one["role"] == "starting" for one in servers(server.address)):
            assert time.monotonic() < until, servers(server.address)
        yield server
        until = time.monotonic() + 20
        while any(one["lag"] != 0 for one in servers(server.address)):
            assert time.monotonic() < until, servers(server.address)
        pids = [one["pid"] for one in servers(server.address)]
    except BaseException:
        server.end(signal.SIGKILL)
        print(server.log)
        raise
    assert server.end() == 0, server.log
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def stores(store: Path) -> list[Path]:
    return [store, *(store / "servers" / str(i) for i in (2, 3))]


def same(store: Path) -> None:
    """All servers' stores have the same commits, and the same graph."""
    logs = [log_of(one) for one in stores(store)]
    assert logs[0] and logs.count(logs[0]) == len(logs)
    for one in stores(store):
        nakshi.check(one)


def test_three_servers_agree(store: Path) -> None:
    http = ("--http", "127.0.0.1:0")
    with three(store, *http) as server, nakshi.connect(server.address) as graph:
        graph.append_node(1000, {"age": 1})
        lines = server.metrics()
        first = next(one for one in servers(server.address) if one["address"] == server.listen)
        assert lines["nakshi_leads"] == str(int(first["role"] == "leader"))
        assert {"nakshi_term", "nakshi_shared_log_last_index"} <= lines.keys()
        lags = [name for name in lines if name.startswith("nakshi_shared_log_lag_entries{")]
        assert len(lags) == 2 * int(lines["nakshi_leads"])
        with graph.transaction() as t:
            t.append_edge(1000, "knows", 1)
        server_with(server.address, "leader")
        known = servers(server.address)
        assert {one["role"] for one in known} <= {"follower", "leader"}
        # Other clients, which have not seen the commits of this one, ask for the newest state.
        for age, one in enumerate(known, 1):
            with nakshi.connect(one["address"], linearizable=True) as other:
                assert other.count() == 61
                assert other.get_neighbor_ids(1000) == [1]
                assert other.get_node_property(1000, "age") == age
                other.update_node(1000, {"age": age + 1})
                assert other.get_node_property(1000, "age") == age + 1
    same(store)
    # They go on where they were.
    with three(store) as server, nakshi.connect(server.address, linearizable=True) as graph:
        assert graph.get_node_property(1000, "age") == 4
        graph.append_node(1001)
    same(store)


@contextmanager
def written(store: Path) -> Iterator[tuple[Writers, str]]:
    """Three servers whose graph is changed all the time, and their addresses. At the end they must have what
    was acknowledged, once."""
    with three(store, "--bolt", "127.0.0.1:0") as server:
        # Any of them may be away for a moment.
        address = ",".join(one["address"] for one in servers(server.address))
        with driver_of(server.bolt.replace("bolt", "neo4j", 1)) as driver:
            counting = CypherWriters(driver)
            with Writers(nakshi.connect(address)) as writers, counting:
                yield writers, address
                writers.wait_for(10)
            counting.check()
        writers.check(len(counting.told))
    same(store)


def test_every_commit_is_made_once_while_servers_are_killed(store: Path) -> None:
    with written(store) as (writers, address):
        for turn in range(3 * SCALE):
            writers.wait_for(10)
            found = server_with(address, "follower" if turn % 3 == 2 else "leader")
            os.kill(found["pid"], signal.SIGKILL)
    assert max(writers.seconds) < 3 + 2


def test_a_leader_that_hangs_is_replaced_and_follows_later(store: Path) -> None:
    """Seen red with a store that makes commits while it neither leads nor follows, with a server that does not look
    for a commit after it was deposed, and with one that takes the time for which it stood still for its client's."""
    with written(store) as (writers, address):
        for _ in range(2 * SCALE):
            writers.wait_for(10)
            found = server_with(address, "leader")
            others = [one for one in address.split(",") if one != found["address"]]
            with stopped(found["pid"]):
                assert server_with(",".join(others), "leader")["pid"] != found["pid"]


def test_a_server_that_lags_far_behind_catches_up(store: Path) -> None:
    """Seen red with a log that is not cleared: nothing is taken from the log of another store."""
    with three(store, "--keep-log", "64KiB") as server:
        with nakshi.connect(server.address) as graph:
            server_with(server.address, "leader")
            found = server_with(server.address, "follower")
            with stopped(found["pid"]):
                for number in range(40):
                    with graph.batch() as batch:
                        for id in range(100):
                            batch.append_node(1000 + 100 * number + id, {"name": "x" * 100})
                time.sleep(1)
    same(store)
    log = sum(file.stat().st_size for file in (store / "servers" / "log").iterdir())
    assert log < 40 * 100 * 100
    assert "catches up" in server.log


def ended(pids: list[int], within: float) -> bool:
    """True if all processes end within some seconds."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_all_servers_killed_at_once_have_all_that_was_acknowledged(store: Path) -> None:
    done = []
    for turn in range(2):
        server = Server(store, "--local", 3)
        pids = [one["pid"] for one in servers(server.address)]
        with nakshi.connect(server.address) as graph:
            for number in range(50):
                graph.append_node(1000 + 50 * turn + number)
                done.append(1000 + 50 * turn + number)
        # They end with the process that started them.
        server.end(signal.SIGKILL)
        assert ended(pids, 5)
    with three(store) as last, nakshi.connect(last.address, linearizable=True) as graph:
        assert set(done) <= set(graph.get_node_ids())
    same(store)


def test_a_store_that_was_changed_without_its_servers_is_refused(store: Path) -> None:
    with three(store) as server, nakshi.connect(server.address) as graph:
        graph.append_node(1000)
    with nakshi.open(store) as alone:
        alone.append_node(1001)
    with pytest.raises(RuntimeError, match="commits that its servers have not made; remove"):
        Server(store, "--local", 3)


def test_servers_on_hosts_have_certificates_and_tokens(store: Path, tmp_path: Path) -> None:
    ca, cert, key = certificate(tmp_path, "ours")
    listen = addresses("127.0.0.1:0", 3)
    hosts, tokens = tmp_path / "hosts", tmp_path / "tokens"
    hosts.write_text("\n".join(listen))
    tokens.write_text("writer 0123456789abcdef\n")
    tokens.chmod(0o600)
    files = {"--hosts": hosts, "--tokens": tokens, "--certificate": cert, "--key": key, "--ca": ca}
    options = [part for option in files.items() for part in option]
    with pytest.raises(RuntimeError, match="several servers need a line 'server TOKEN'"):
        Server(store, *options, listen=listen[0])
    tokens.write_text("writer 0123456789abcdef\nserver fedcba9876543210\n")
    with pytest.raises(RuntimeError, match="none of the hosts"):
        Server(store, *options)
    copies = [store, tmp_path / "1.nakshi", tmp_path / "2.nakshi"]
    for copy in copies[1:]:
        nakshi.backup(store, copy)
    group = [
        Server(copy, *options, listen=where) for copy, where in zip(copies, listen, strict=True)
    ]
    token = "0123456789abcdef"
    with nakshi.connect(",".join(listen), token=token, ca=ca) as graph:
        graph.append_node(1000)
        assert graph.status()["role"] == "leader"
    for where in listen:
        with nakshi.connect(where, token=token, ca=ca) as graph:
            until = time.monotonic() + 10
            while graph.status()["commit"] < 1:
                assert time.monotonic() < until
    for server in group:
        assert server.end() == 0, server.log
    logs = [log_of(copy) for copy in copies]
    assert logs[0] and logs.count(logs[0]) == 3


def test_a_server_that_has_lost_its_log_takes_part_again(store: Path) -> None:
    with three(store, "--keep-log", "64KiB") as server, nakshi.connect(server.address) as graph:
        graph.append_node(1000)
    for turn in range(2):
        shutil.rmtree(store / "servers" / "2" / "servers" / "log")
        with three(store, "--keep-log", "64KiB") as server:
            with nakshi.connect(server.address) as graph:
                graph.append_node(1001 + turn)
                # In the second turn the log of the others begins later than the first commit.
                for number in range(10):
                    with graph.batch() as batch:
                        for id in range(100):
                            new = 10_000 * (turn + 1) + 100 * number + id
                            batch.append_node(new, {"name": "x" * 100})
            address = ",".join(one["address"] for one in servers(server.address))
            # It votes: the others need it once one of them is away.
            time.sleep(1)
            os.kill(servers(address)[2]["pid"], signal.SIGKILL)
            with nakshi.connect(address) as graph:
                graph.append_node(2000 + turn)
        same(store)
        assert "has what it has lost, and votes again" in server.log


@contextmanager
def on_hosts(
    copies: list[Path], folder: Path
) -> Iterator[tuple[list[str], Callable[[int], Server]]]:
    """Addresses of servers with some stores, and a function that starts one; those that run are killed."""
    listen = addresses("127.0.0.1:0", len(copies))
    hosts = folder / "hosts"
    hosts.write_text("\n".join(listen))
    started = []

    def start(number: int) -> Server:
        server = Server(copies[number], "--hosts", hosts, listen=listen[number])
        started.append(server)
        return server

    try:
        yield listen, start
    finally:
        for server in started:
            if server.process.poll() is None:
                server.end(signal.SIGKILL)


def test_a_server_that_has_lost_its_disk_elects_none_that_lacks_what_it_confirmed(
    store: Path, tmp_path: Path
) -> None:
    """Seen red with a server that votes at once."""
    copies = [store, tmp_path / "1.nakshi", tmp_path / "2.nakshi"]
    for copy in [*copies[1:], tmp_path / "early.nakshi"]:
        nakshi.backup(store, copy)
    with on_hosts(copies, tmp_path) as (listen, start):
        running = [start(number) for number in range(3)]
        with nakshi.connect(",".join(listen)) as graph:
            graph.append_node(1000)
        leader = listen.index(server_with(",".join(listen), "leader")["address"])
        lost, behind = (number for number in range(3) if number != leader)
        # Two servers have the last commits.
        with stopped(running[behind].process.pid):
            with nakshi.connect(listen[leader]) as graph:
                for id in range(1001, 1010):
                    graph.append_node(id)
            running[leader].end(signal.SIGKILL)
            running[lost].end(signal.SIGKILL)
        shutil.rmtree(copies[lost])
        shutil.copytree(tmp_path / "early.nakshi", copies[lost])
        running[lost] = start(lost)
        time.sleep(3)
        roles = [one["role"] for one in servers(listen[behind])]
        assert "leader" not in roles, roles
        running[leader] = start(leader)
        with nakshi.connect(",".join(listen), linearizable=True) as graph:
            assert graph.count() == 60 + 10
            graph.append_node(2000)
        until = time.monotonic() + 10
        while any(one.get("commit") != 11 for one in servers(listen[0])):
            assert time.monotonic() < until, servers(listen[0])
        for server in running:
            assert server.end() == 0, server.log
    logs = [log_of(copy) for copy in copies]
    assert logs[0] and logs.count(logs[0]) == 3


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_server_whose_disk_fails_leaves_the_others(store: Path, role: str) -> None:
    server = Server(store, "--local", 3)
    with nakshi.connect(server.address) as graph:
        graph.append_node(1000)
        known = servers(server.address)
        address = ",".join(one["address"] for one in known)
        found = server_with(address, role)
        # Writes at the end of its files fail from now on.
        resource.prlimit(found["pid"], resource.RLIMIT_FSIZE, (1, 1))
        for id in range(1001, 1100):
            graph.append_node(id)
        assert ended([found["pid"]], 10)
        graph.append_node(1100)
        assert graph.count() == 60 + 101
        assert [one["role"] for one in servers(address)].count("away") == 1
    assert server.end() == 0
    assert "left the other servers" in server.log and "File too large" in server.log
