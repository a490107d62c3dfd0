"""Algorithms that run where a graph is served, and their results as properties."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import nakshi
import pyarrow as pa
import pytest

from .groups import Listed, stopped
from .servers import Server, serving
from .test_server import build, certificate
from .test_shares import follow, seven, sharing

#: A run that does not end by itself in a test.
LONG = 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "graph.nakshi")


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[nakshi.Graph, nakshi.RemoteGraph]]:
    """A graph with changes in its log, opened here and on a server."""
    store = build(tmp_path_factory.mktemp("served") / "graph.nakshi")
    with serving(store) as server, nakshi.connect(server.address) as remote:
        remote.append_node(500)
        remote.append_edge(500, "knows", 1)
        yield nakshi.open(store), remote


@pytest.mark.parametrize("algorithm", ["pagerank", "wcc", "bfs", "triangles"])
def test_a_run_where_the_graph_is_served_is_that_of_one_machine(
    both: tuple[nakshi.Graph, nakshi.RemoteGraph], algorithm: str
) -> None:
    graph, remote = both
    parameters: dict[str, Any] = {"source": 500} if algorithm == "bfs" else {}
    wanted = nakshi.cluster.run(graph, algorithm, local=2, **parameters)
    found = remote.run(algorithm, workers=2, **parameters)
    assert found.columns == wanted.columns and found.summary == wanted.summary
    if found.columns:
        assert pa.table(found).equals(pa.table(wanted))
        assert found.best(5) == wanted.best(5)
    assert found.stats["topology"]["commit"] == remote.status()["commit"]


#: Ids of each kind.
IDS: dict[str, list[Any]] = {
    "text": ["b", "a", "é", "9"],
    "large": [2**63 + 1, 5, 2**64 - 1, 7],
    "huge": [2**70, 5, 2**80, 7],
    "negative": [-5, 2**40, 3, 4],
}


def cycle(store: Path, ids: list[Any]) -> nakshi.Graph:
    """A graph in which an edge leads from each node to the next one."""
    texts = list(map(str, ids))
    nodes = pa.table({"id": texts, "name": ["x"] * len(ids)})
    edges = pa.table({"source": texts, "target": [*texts[1:], texts[0]]})
    return nakshi.build(store, edges=edges, nodes=nodes, progress=False)


def test_ids_of_all_kinds_come_back(tmp_path: Path) -> None:
    for name, ids in IDS.items():
        graph = cycle(tmp_path / f"{name}.nakshi", ids)
        with serving(Path(graph.path)) as server, nakshi.connect(server.address) as remote:
            found = remote.run("bfs", source=ids[0])
            wanted = nakshi.cluster.run(graph, "bfs", local=1, source=ids[0])
            assert found.to_dict() == wanted.to_dict()


@contextmanager
def writing(address: str, write: Callable[[nakshi.RemoteGraph, int], object]) -> Iterator[None]:
    """Another client, which writes with the numbers from 1000 on until the end of the block."""
    stop = threading.Event()

    def work() -> None:
        with nakshi.connect(address) as other:
            for number in itertools.count(1000):
                if stop.is_set():
                    return
                write(other, number)

    writer = threading.Thread(target=work)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def test_a_result_becomes_a_property_while_others_write(store: Path) -> None:
    def write(other: nakshi.RemoteGraph, number: int) -> None:
        other.append_node(number)
        other.append_edge(number, "knows", 1)

    with serving(store) as server, nakshi.connect(server.address) as remote:
        with writing(server.address, write):
            for written in range(3):
                result = remote.run("pagerank", iterations=5)
                # The state is that after one commit: no edge without its node, and no later one.
                ranks = result.to_dict()
                commit = result.stats["topology"]["commit"]
                assert sum(ranks.values()) == pytest.approx(1.0)
                assert len(ranks) == 60 + (commit - written + 1) // 2
                assert remote.write_back(result, "rank") == len(ranks)
                assert remote.get_node_property(7, "rank") == ranks[7]


def test_a_run_that_cannot_be_is_refused(both: tuple[nakshi.Graph, nakshi.RemoteGraph]) -> None:
    _, remote = both
    with pytest.raises(nakshi.ParameterError, match="page_rank"):
        remote.run("page_rank")
    with pytest.raises(nakshi.ParameterError, match="iteration"):
        remote.run("pagerank", iteration=3)
    with pytest.raises(nakshi.UnknownVertexError, match="12345"):
        remote.run("bfs", source=12345)
    with pytest.raises(nakshi.ParameterError, match="sent"):
        remote.run("bfs", source=b"\xff")
    with pytest.raises(nakshi.ParameterError, match="hosts"):
        nakshi.cluster.run("nakshi://127.0.0.1:1", "wcc", hosts=["127.0.0.1:1"])


def processes_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    for task in Path(f"/proc/{pid}/task").iterdir():
        text += " " + (task / "children").read_text()
    return sorted(set(map(int, text.split())))


def test_a_client_that_goes_ends_its_run(store: Path) -> None:
    with serving(store) as server:
        code = "import sys, nakshi; nakshi.connect(sys.argv[1]).run('pagerank', iterations=int(sys.argv[2]))"
        client = subprocess.Popen([sys.executable, "-c", code, server.address, str(LONG)])
        until = time.monotonic() + 20
        while not processes_of(server.process.pid):
            assert time.monotonic() < until
            time.sleep(0.05)
        with nakshi.connect(server.address) as remote:
            with pytest.raises(nakshi.OverloadedError, match="another algorithm"):
                remote.run("wcc")
            client.send_signal(signal.SIGINT)
            client.wait()
            until = time.monotonic() + 10
            while processes_of(server.process.pid):
                assert time.monotonic() < until
                time.sleep(0.05)
            assert len(remote.run("wcc", workers=1)) == 60


def test_a_server_that_ends_ends_its_run(store: Path) -> None:
    server = Server(store)
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            nakshi.connect(server.address, timeout=5).run("pagerank", iterations=LONG)
        except nakshi.NakshiError as error:
            failed.append(error)

    client = threading.Thread(target=ask)
    client.start()
    until = time.monotonic() + 20
    while not (started := processes_of(server.process.pid)):
        assert time.monotonic() < until
        time.sleep(0.05)
    server.process.kill()
    server.wait()
    client.join()
    assert failed
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in started):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_run_on_one_machine_of_several(store: Path, tmp_path: Path) -> None:
    graph = nakshi.open(build(tmp_path / "twin.nakshi"))
    with seven(store) as server:
        share = sharing(server.address)[0]["address"]
        command = [sys.executable, "-m", "nakshi", "cluster", "run", "wcc", f"nakshi://{share}"]
        out = tmp_path / "wcc.tsv"
        done = subprocess.run(
            [*command, "--local", "3", "--out", str(out), "--json"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "100"},
        )
        told = json.loads(done.stdout)
        assert told["result"] == graph.wcc().summary
        assert len(told["servers"]["steps"]) == 3
        lines = out.read_text().splitlines()
        assert dict(map(int, line.split("\t")) for line in lines) == graph.wcc().to_dict()
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert f"nakshi://{share}, 60 vertices" in shown


@pytest.fixture(scope="module")
def shares(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[nakshi.Graph, nakshi.RemoteGraph]]:
    """A graph with the vertices in the order of their ids, and the same on servers with shares of it."""
    home = tmp_path_factory.mktemp("shares")
    with seven(build(home / "graph.nakshi")) as server, nakshi.connect(server.address) as remote:
        twin = nakshi.open(build(home / "twin.nakshi"))
        for graph in (twin, remote):
            with graph.transaction() as t:
                t.append_node(500)
                t.append_edge(500, "knows", 1, properties={"weight": 0.25})
                t.append_edge(3, "likes", 500, properties={"weight": 2.5})
                t.delete_node(11)
        twin.compact()
        yield twin.relayout(home / "original.nakshi", order="original"), remote


@pytest.mark.parametrize("algorithm", nakshi.cluster.ALGORITHMS)
def test_a_run_on_shares_is_that_of_one_machine(
    shares: tuple[nakshi.Graph, nakshi.RemoteGraph], algorithm: str
) -> None:
    graph, remote = shares
    parameters: dict[str, Any] = {"source": 500} if algorithm in ("bfs", "sssp") else {}
    wanted = nakshi.cluster.run(graph, algorithm, local=2, **parameters)
    found = remote.run(algorithm, **parameters)
    assert found.columns == wanted.columns and found.summary == wanted.summary
    if found.columns:
        assert pa.table(found).equals(pa.table(wanted))
    assert len(found.stats["servers"]["steps"]) == 2
    assert found.stats["topology"]["commit"] == remote.status()["commit"]
    assert found.stats["topology"]["weight"] == ("weight" if algorithm == "sssp" else None)


def test_what_a_run_on_shares_cannot_do(
    shares: tuple[nakshi.Graph, nakshi.RemoteGraph],
) -> None:
    _, remote = shares
    with pytest.raises(nakshi.ParameterError, match="page_rank"):
        remote.run("page_rank")
    with pytest.raises(nakshi.ParameterError, match="iteration"):
        remote.run("pagerank", iteration=3)
    with pytest.raises(nakshi.UnknownVertexError, match="no node 12345"):
        remote.run("bfs", source=12345)
    with pytest.raises(nakshi.ParameterError, match="'note' is"):
        remote.run("sssp", source=1, weight="note")
    with pytest.raises(nakshi.ParameterError, match="missing_weight"):
        remote.run("pagerank", missing_weight=1)
    with pytest.raises(nakshi.NakshiError, match="server \\d: .*memory"):
        remote.run("pagerank", memory=100)


def test_edges_without_a_weight_have_one_that_is_given(store: Path) -> None:
    with seven(store) as server, nakshi.connect(server.address) as remote:
        remote.append_edge(7, "likes", 7, properties={"weight": -1.0})
        with pytest.raises(nakshi.NakshiError, match="negative weight|weight -1|below"):
            remote.run("sssp", source=1)
        remote.delete_edge(7, "likes", 7)
        remote.append_edge(7, "knows", 8)
        with pytest.raises(nakshi.NakshiError, match="the edge 7 -> 8 has no 'weight'; give"):
            remote.run("sssp", source=1)
        found = remote.run("sssp", source=1, missing_weight=0.5)
        assert found.stats["topology"]["missing_weights"] == 1
        hops = remote.run("sssp", source=1, unit=True).to_dict()
        assert hops == remote.run("bfs", source=1).to_dict()


def test_shares_with_ids_of_all_kinds(tmp_path: Path) -> None:
    for name, ids in IDS.items():
        graph = cycle(tmp_path / f"{name}.nakshi", ids)
        with seven(Path(graph.path)) as server, nakshi.connect(server.address) as remote:
            found = remote.run("bfs", source=ids[0])
            wanted = nakshi.cluster.run(graph, "bfs", local=1, source=ids[0])
            assert found.to_dict() == wanted.to_dict()
            assert pa.table(found).equals(pa.table(wanted))


def test_a_run_on_shares_while_others_write(store: Path) -> None:
    def write(other: nakshi.RemoteGraph, number: int) -> None:
        def one(t: nakshi.RemoteTransaction) -> None:
            t.append_node(number)
            t.append_edge(number, "knows", 1)

        other.transact(one)

    with seven(store) as server, nakshi.connect(server.address) as remote:
        with writing(server.address, write):
            for turn in range(3):
                result = remote.run("pagerank", iterations=5)
                # All servers have the state after the same commit.
                ranks = result.to_dict()
                commit = result.stats["topology"]["commit"]
                assert sum(ranks.values()) == pytest.approx(1.0)
                assert len(ranks) == 60 + commit - turn
                assert remote.write_back(result, "rank") == len(ranks)


def test_shares_that_are_away_are_computed_by_a_server_with_the_whole_graph(
    store: Path, tmp_path: Path
) -> None:
    wanted = nakshi.open(build(tmp_path / "twin.nakshi")).wcc()
    with seven(store) as server, nakshi.connect(server.address) as remote:
        with ExitStack() as stack:
            for one in sharing(server.address):
                stack.enter_context(stopped(one["pid"]))
            found = remote.run("wcc")
            assert found.to_dict() == wanted.to_dict()
            assert len(found.stats["servers"]["steps"]) == 1
        follow(server.address)
        assert len(remote.run("wcc").stats["servers"]["steps"]) == 2


def test_workers_on_shares_end_with_the_client(store: Path) -> None:
    with seven(store) as server:
        code = "import sys, nakshi; nakshi.connect(sys.argv[1]).run('pagerank', iterations=int(sys.argv[2]))"
        client = subprocess.Popen([sys.executable, "-c", code, server.address, str(LONG)])
        pids = [one["pid"] for one in sharing(server.address)]
        until = time.monotonic() + 20
        while sum(map(bool, map(processes_of, pids))) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        client.send_signal(signal.SIGINT)
        client.wait()
        until = time.monotonic() + 10
        while any(map(processes_of, pids)):
            assert time.monotonic() < until
            time.sleep(0.05)
        with nakshi.connect(server.address) as remote:
            assert len(remote.run("wcc")) == 60


def test_a_run_begins_anew_after_a_server_of_a_share_is_killed(store: Path) -> None:
    with seven(store) as server, nakshi.connect(server.address, timeout=30) as remote:
        found: list[nakshi.Result] = []
        long = {"iterations": 60_000}
        run = threading.Thread(target=lambda: found.append(remote.run("pagerank", **long)))
        run.start()
        killed: list[int] = []
        until = time.monotonic() + 20
        while not killed:
            assert time.monotonic() < until
            for one in sharing(server.address):
                if processes_of(one["pid"]):
                    os.kill(one["pid"], signal.SIGKILL)
                    killed.append(one["pid"])
                    break
        run.join()
        assert len(found[0]) == 60


def test_certificates_keep_a_run_on_one_machine(store: Path, tmp_path: Path) -> None:
    """Workers send each other ids and values as they are, which servers with certificates do not want."""
    ca, cert, key = certificate(tmp_path, "ours")
    tokens = tmp_path / "tokens"
    tokens.write_text("writer 0123456789abcdef\nserver fedcba9876543210\n")
    tokens.chmod(0o600)
    files = {"--tokens": tokens, "--certificate": cert, "--key": key, "--ca": ca}
    options = [part for option in files.items() for part in option]
    stores = [tmp_path / f"{number}.nakshi" for number in range(6)]
    for one in stores:
        nakshi.backup(store, one)
    for more, machines in (([], len(os.sched_getaffinity(0))), (["--plain-runs"], 3)):
        group = Listed(tmp_path, stores, 6, "--replicas", 1, *options, *more)
        group.start_all(range(6))
        with nakshi.connect(group.address, token="0123456789abcdef", ca=ca) as remote:
            until = time.monotonic() + 30
            while True:
                ran = remote.run("wcc")
                assert len(ran) == 60
                if len(ran.stats["servers"]["steps"]) == machines:
                    break
                # A server with a share may begin later than the others.
                assert time.monotonic() < until, ran.stats["servers"]
        for number in range(6):
            group.end(number)
