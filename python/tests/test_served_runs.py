"""Algorithms that run where a graph is served, and their results as properties."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nakshi
import pyarrow as pa
import pytest

from .servers import Server, serving
from .test_server import build
from .test_shares import seven, sharing

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


def test_ids_of_all_kinds_come_back(tmp_path: Path) -> None:
    for name, ids in {
        "text": ["b", "a", "é", "9"],
        "large": [2**63 + 1, 5, 2**64 - 1, 7],
        "huge": [2**70, 5, 2**80, 7],
        "negative": [-5, 2**40, 3, 4],
    }.items():
        nodes = pa.table({"id": list(map(str, ids)), "name": ["x"] * 4})
        rows = {"source": list(map(str, ids)), "target": list(map(str, [*ids[1:], ids[0]]))}
        store = tmp_path / f"{name}.nakshi"
        graph = nakshi.build(store, edges=pa.table(rows), nodes=nodes, progress=False)
        with serving(store) as server, nakshi.connect(server.address) as remote:
            source = ids[0] if name != "text" else "b"
            found = remote.run("bfs", source=source)
            assert (
                found.to_dict()
                == nakshi.cluster.run(graph, "bfs", local=1, source=source).to_dict()
            )


def test_a_result_becomes_a_property_while_others_write(store: Path) -> None:
    with serving(store) as server, nakshi.connect(server.address) as remote:
        stop = threading.Event()

        def write() -> None:
            with nakshi.connect(server.address) as other:
                number = 1000
                while not stop.is_set():
                    other.append_node(number)
                    other.append_edge(number, "knows", 1)
                    number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for written in range(3):
                result = remote.run("pagerank", iterations=5)
                # The state is that after one commit: no edge without its node, and no later one.
                ranks = result.to_dict()
                commit = result.stats["topology"]["commit"]
                assert sum(ranks.values()) == pytest.approx(1.0)
                assert len(ranks) == 60 + (commit - written + 1) // 2
                assert remote.write_back(result, "rank") == len(ranks)
                assert remote.get_node_property(7, "rank") == ranks[7]
        finally:
            stop.set()
            writer.join()


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


def test_a_run_on_shares_is_of_the_whole_graph(store: Path, tmp_path: Path) -> None:
    graph = nakshi.open(build(tmp_path / "twin.nakshi"))
    with seven(store) as server:
        share = sharing(server.address)[0]["address"]
        command = [sys.executable, "-m", "nakshi", "cluster", "run", "wcc", f"nakshi://{share}"]
        out = tmp_path / "wcc.tsv"
        done = subprocess.run(
            [*command, "--local", "2", "--out", str(out), "--json"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "100"},
        )
        assert json.loads(done.stdout)["result"] == graph.wcc().summary
        lines = out.read_text().splitlines()
        assert dict(map(int, line.split("\t")) for line in lines) == graph.wcc().to_dict()
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert f"nakshi://{share}, 60 vertices" in shown
