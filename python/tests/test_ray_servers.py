"""Servers of a graph that Ray places: they agree on every commit, and Ray starts those again that are killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nakshi
import pytest

from .conftest import Outcome
from .groups import log_of, server_with, servers
from .servers import Server, Writers
from .test_ray import mark, marked, nodes, ray, soon  # noqa: F401 fixtures
from .test_replication import stores
from .test_server import build, certificate, secret


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "graph.nakshi")


@pytest.fixture
def joined(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Commands join the cluster of two nodes."""
    monkeypatch.setenv("RAY_ADDRESS", str(nodes.address))


def serve_processes(mark: str) -> list[int]:  # noqa: F811
    """The servers of these tests, without the process that has Ray place them."""
    return [pid for pid in marked(mark, "nakshi serve") if pid not in marked(mark, "--workers")]


@contextmanager
def three(store: Path, mark: str, *options: object) -> Iterator[Server]:  # noqa: F811
    """Three servers by Ray, which must end in order and leave no process."""
    server = Server(store, "--workers", 3, *options)
    try:
        yield server
    except BaseException:
        server.end(signal.SIGTERM)
        print(server.log)
        for log in sorted((store / "servers").glob("log-*")):
            print(log.name, log.read_text())
        raise
    assert server.end() == 0, server.log
    assert serve_processes(mark) == []


def settled(address: str) -> list[dict[str, Any]]:
    """The servers when three take part and none lags far behind."""
    until = time.monotonic() + 60
    while True:
        # Ray may take long to begin the server at the address anew.
        known = servers(address, until - time.monotonic())
        roles = sorted(one["role"] for one in known)
        if roles == ["follower", "follower", "leader"] and all(one["lag"] < 50 for one in known):
            return known
        assert time.monotonic() < until, known
        time.sleep(0.1)


def test_ray_places_servers_and_starts_them_again(store: Path, joined: None, mark: str) -> None:  # noqa: F811
    """Seen red with actors that Ray does not start again."""
    with (
        three(store, mark, "--listen", "127.0.0.1:0") as server,
        nakshi.connect(server.address, timeout=30) as graph,
    ):
        before = settled(server.address)
        assert sorted(one["pid"] for one in before) == sorted(serve_processes(mark))
        with Writers(graph) as writers:
            writers.wait_for(10)
            # The leader, and another one, whose actor is killed with it.
            os.kill(server_with(server.address, "leader")["pid"], signal.SIGKILL)
            writers.wait_for(10)
            after = settled(server.address)
            lost = next(one["pid"] for one in after if one["role"] == "follower")
            os.kill(int(Path(f"/proc/{lost}/stat").read_text().split()[3]), signal.SIGKILL)
            assert soon(lambda: lost not in serve_processes(mark))
            writers.wait_for(10)
            last = settled(server.address)
            writers.wait_for(10)
        writers.check()
        assert sorted(one["address"] for one in last) == sorted(one["address"] for one in before)
        assert len({one["pid"] for one in [*before, *after, *last]}) == 5
        assert soon(lambda: all(one["lag"] == 0 for one in servers(server.address)))
        count = graph.count()
    assert "was lost; Ray starts it again" in server.log
    logs = [log_of(one) for one in stores(store)]
    assert logs[0] and logs.count(logs[0]) == 3
    # The same stores, later, on the nodes where they are.
    (store / "servers" / "nodes").write_text(f"{ray.util.get_node_ip_address()}\n" * 3)
    with (
        three(store, mark) as server,
        nakshi.connect(server.address, linearizable=True) as graph,
    ):
        assert graph.count() == count


def test_a_process_that_is_killed_leaves_no_server(store: Path, joined: None, mark: str) -> None:  # noqa: F811
    server = Server(store, "--workers", 3, "--listen", "127.0.0.1:0")
    assert len(serve_processes(mark)) == 3
    server.end(signal.SIGKILL)
    assert soon(lambda: serve_processes(mark) == [], 30)


def test_a_ray_of_its_own_ends_with_it(
    store: Path,
    mark: str,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "local")
    # Ray writes its token there.
    monkeypatch.setenv("HOME", str(tmp_path))
    before = set(marked(mark, "ray"))
    with three(store, mark) as server, nakshi.connect(server.address) as graph:
        assert server.address.startswith("nakshi://127.0.0.1:")
        graph.append_node(1000)
        assert len(settled(server.address)) == 3
    assert soon(lambda: set(marked(mark, "ray")) <= before)


def test_one_that_cannot_start_says_why(store: Path, joined: None, mark: str) -> None:  # noqa: F811
    """Seen red with servers taken for ready of which all had ended before the first look."""
    with pytest.raises(RuntimeError, match="needs .* of memory") as raised:
        Server(store, "--workers", 3, "--listen", "127.0.0.1:0", "--memory", "1KiB")
    assert "stays away" in str(raised.value)
    assert serve_processes(mark) == []
    # It was served by one server alone, or by fewer.
    with pytest.raises(RuntimeError, match="no such directory"):
        Server(store.with_name("nothing.nakshi"), "--workers", 2)


def test_strangers_are_kept_out(store: Path, tmp_path: Path, joined: None, mark: str) -> None:  # noqa: F811
    from nakshi.served_by_ray import RayServers

    servers = RayServers(str(store), "127.0.0.1:0", 2, [])
    servers._host = "0.0.0.0"
    with pytest.raises(nakshi.ParameterError, match="--certificate.*--tokens"):
        with servers:
            pass
    ca, cert, key = certificate(tmp_path, "ours")
    tokens = secret(tmp_path / "tokens", f"writer {'w' * 32}\nserver {'s' * 32}\n")
    options = ("--certificate", cert, "--key", key, "--ca", ca, "--tokens", tokens)
    with (
        three(store, mark, "--listen", "127.0.0.1:0", *options) as server,
        nakshi.connect(server.address, ca=ca, token="w" * 32) as graph,
    ):
        graph.append_node(1000)
        assert graph.count() == 61


def test_what_does_not_go_together(
    store: Path, tmp_path: Path, cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in (("--local", 2), ("--read-only",), ("--http", "127.0.0.1:0")):
        assert cli("serve", store, "--workers", 2, *wrong).code == 2
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "ray.py").write_text("raise ImportError('there is no ray')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "without"))
    refused = cli("serve", store, "--workers", 2)
    assert refused.code == 1 and "pip install 'nakshi[cluster]'" in refused.err
