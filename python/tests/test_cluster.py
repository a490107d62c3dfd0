"""Runs on several servers, each a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nakshi
import numpy as np
import pytest
from nakshi import cluster
from nakshi.placement import Hosts, LocalWorkers, Terms, WorkerProcess, read_hosts

from .conftest import run_cli


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = np.random.default_rng(1)
    ends = (draw.integers(0, 300, (3000, 2)) ** 2 // 300).astype(np.int64)
    path = tmp_path_factory.mktemp("cluster") / "g.nakshi"
    nakshi.build(path, edges=(ends[:, 0], ends[:, 1]), progress=False)
    return path


def children() -> int:
    """Workers of this process that still run."""
    listed = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "args="],
        capture_output=True,
        text=True,
        check=False,
    )
    return sum("nakshi worker" in line for line in listed.stdout.splitlines())


def allowing(*paths: Path) -> Terms:
    """Terms of workers to which a front-end may name these paths."""
    return Terms(allow=[str(path) for path in paths])


@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_as_on_one_machine(store: Path, workers: int) -> None:
    graph = nakshi.open(store)
    ranks = cluster.run(store, "pagerank", local=workers, iterations=20, progress=False)
    alone = graph.pagerank(iterations=20, progress=False).to_numpy()
    np.testing.assert_allclose(ranks.to_numpy(), alone, atol=1e-12)
    parts = cluster.run(graph, "wcc", local=workers, progress=False)
    np.testing.assert_array_equal(parts.to_numpy(), graph.wcc(progress=False).to_numpy())
    lengths = cluster.run(graph, "sssp", local=workers, source=1, progress=False)
    want = graph.sssp(source=1, progress=False).to_numpy()
    np.testing.assert_array_equal(lengths.to_numpy(), want)
    count = cluster.run(graph, "triangles", local=workers, progress=False).summary["triangles"]
    assert count == graph.triangles(progress=False).summary["triangles"]
    steps = ranks.stats["servers"]["steps"]
    assert len(steps) == workers and all(len(server) == 21 for server in steps)
    assert children() == 0


def test_a_file_of_edges(tmp_path: Path) -> None:
    """Runs on text, with the ids of the text, are those on its store."""
    draw = np.random.default_rng(2)
    ends = draw.integers(0, 400, (3000, 2)) ** 2
    lengths = draw.integers(1, 9, 3000)
    path = tmp_path / "edges.csv"
    rows = (f"{u},{v},{w}" for (u, v), w in zip(ends.tolist(), lengths))
    path.write_text("\n".join(["from,to,km", *rows]))
    for directed in (True, False):
        graph = nakshi.build(
            tmp_path / f"{directed}.nakshi", path, directed=directed, weighted=True, progress=False
        )
        file = cluster.EdgeFile(
            path, directed=directed, weighted=True, columns=["from", "to", "km"]
        )
        source = int(ends[0, 0])
        found = cluster.run(file, "sssp", source=source, local=2, progress=False)
        want = graph.sssp(source=source, progress=False)
        assert found.to_dict() == want.to_dict()
        hops = cluster.run(file, "sssp", source=source, unit=True, local=2, progress=False)
        assert hops.to_dict() == graph.sssp(source=source, unit=True, progress=False).to_dict()
        parts = cluster.run(file, "wcc", local=3, progress=False)
        assert parts.to_dict() == graph.wcc(progress=False).to_dict()
    plain = cluster.run(path, "pagerank", iterations=20, local=2, progress=False)
    graph = nakshi.open(tmp_path / "True.nakshi")
    alone = graph.pagerank(iterations=20, progress=False).to_dict()
    assert plain.to_dict() == pytest.approx(alone, abs=1e-12)
    assert children() == 0


def test_a_file_of_edges_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "edges.tsv"
    path.write_text("1\t2\n2\tb\n")
    with pytest.raises(nakshi.ClusterError, match="'b' is not a whole number"):
        cluster.run(path, "wcc", local=2, progress=False)
    with pytest.raises(nakshi.ParameterError, match="whole numbers"):
        cluster.run(path, "bfs", source="b", local=2, progress=False)
    path.write_text("1\t2\n")
    with pytest.raises(nakshi.ClusterError, match="vertex 7 is not in the graph"):
        cluster.run(path, "bfs", source=7, local=2, progress=False)
    with pytest.raises(nakshi.ParameterError, match="one ASCII character"):
        cluster.run(cluster.EdgeFile(path, separator="::"), "wcc", local=2, progress=False)
    with pytest.raises(nakshi.ClusterError, match="edges.tsv"):
        cluster.run(
            cluster.EdgeFile(path, weighted=True), "sssp", source=1, local=2, progress=False
        )
    assert children() == 0


def test_a_file_of_edges_on_the_command_line(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "edges.adj"
    path.write_text("1 2 3\n2 3\n9 8\n")
    told = run_cli("cluster", "run", "bfs", path, "--source", "3", "--undirected", "--local", "2")
    assert told.code == 0 and "edges.adj, 5 vertices" in told.out
    incoming = run_cli(
        "cluster", "run", "bfs", path, "--source", "3", "--format", "in-adjacency", "--json"
    )
    assert incoming.json["result"]["reached"] == 3
    refused = run_cli("cluster", "run", "wcc", store, "--undirected")
    assert refused.code == 2 and "is a store" in refused.err


def test_wrong_arguments(store: Path) -> None:
    with pytest.raises(nakshi.ParameterError, match="one of"):
        cluster.run(store, "wcc")
    with pytest.raises(nakshi.ParameterError, match="one of"):
        cluster.run(store, "wcc", local=1, workers=1)
    with pytest.raises(nakshi.ParameterError, match="at least one"):
        cluster.run(store, "wcc", local=0)
    with pytest.raises(nakshi.ParameterError, match="known: bfs"):
        cluster.run(store, "nothing", local=1, progress=False)
    with pytest.raises(nakshi.UnknownVertexError, match="nobody"):
        cluster.run(store, "bfs", local=1, source="nobody", progress=False)
    with pytest.raises(nakshi.ClusterError, match="127.0.0.1:1"):
        cluster.run(store, "wcc", hosts=["127.0.0.1:1"], token="x" * 16, progress=False)
    assert children() == 0


def test_more_servers_than_vertices(tmp_path: Path) -> None:
    nakshi.build(tmp_path / "g.nakshi", edges=(np.array([1]), np.array([2])), progress=False)
    found = cluster.run(tmp_path / "g.nakshi", "wcc", local=4, progress=False)
    assert found.summary["components"] == 1


def test_a_server_that_is_killed_is_an_error_and_leaves_nobody(store: Path) -> None:
    with LocalWorkers(3, allowing(store)) as servers:
        listed = subprocess.run(
            ["pgrep", "-P", str(os.getpid()), "-f", "nakshi worker"],
            capture_output=True,
            text=True,
            check=True,
        )
        os.kill(int(listed.stdout.split()[1]), signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(nakshi.ClusterError, match="server"):
            cluster.run(
                store,
                "pagerank",
                hosts=servers.addresses,
                token=servers.token,
                iterations=100_000,
                progress=False,
            )
        assert time.monotonic() - began < 15
    assert children() == 0


def test_a_lost_worker_is_replaced(store: Path) -> None:
    """Seen red with the old worker, which only hangs, not ended; with the old address kept."""
    with LocalWorkers(2, allowing(store)) as servers:
        kept = list(servers.addresses)
        hung = servers._workers[1]._process
        hung.send_signal(signal.SIGSTOP)
        new = servers.replace(1)
        assert hung.returncode == -signal.SIGKILL and children() == 2
        assert servers.addresses == [kept[0], new] and new != kept[1]
        known = {"hosts": servers.addresses, "token": servers.token}
        found = cluster.run(store, "wcc", progress=False, **known)
        assert found.summary["components"] == 1
    assert children() == 0


def killing(monkeypatch: pytest.MonkeyPatch, kills: int) -> list[int]:
    """Kills so many of the workers that are started, at once; their processes."""
    killed: list[int] = []
    start = WorkerProcess._start

    def started(self: WorkerProcess) -> None:
        start(self)
        if len(killed) < kills:
            killed.append(self._process.pid)
            self._process.kill()

    monkeypatch.setattr(WorkerProcess, "_start", started)
    return killed


def test_a_worker_killed_before_it_listens_is_replaced(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen red with workers that are started once, and "nothing heard in 60 s" after 0.1 s."""
    killed = killing(monkeypatch, 3)
    found = cluster.run(store, "wcc", local=2, restarts=3, progress=False)
    assert found.summary["components"] == 1 and len(killed) == 3
    assert children() == 0


def test_workers_killed_before_they_listen_too_often(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killing(monkeypatch, 99)
    with pytest.raises(nakshi.ClusterError, match=r"killed by SIGKILL after \d+\.\d s"):
        cluster.run(store, "wcc", local=2, restarts=2, progress=False)
    assert children() == 0


def test_a_worker_that_cannot_listen_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not started again and again."""
    with pytest.raises(
        nakshi.ClusterError, match=r"exit code 1 after .* s: nakshi: a token has 16"
    ):
        with LocalWorkers(1, Terms(token=b"short")):
            pass
    assert children() == 0


def test_workers_end_with_a_front_end_that_is_killed() -> None:
    """Seen red with workers that do not look at their standard input."""
    program = (
        "from nakshi.placement import LocalWorkers\n"
        "servers = LocalWorkers(2).__enter__()\n"
        "print(*(worker._process.pid for worker in servers._workers), flush=True)\n"
        "input()\n"
    )
    call = [sys.executable, "-c", program]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as front:
        assert front.stdout is not None
        workers = [int(word) for word in front.stdout.readline().split()]
        assert len(workers) == 2
        front.kill()
    end = time.monotonic() + 10
    while any(running(worker) for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.02)


def running(process: int) -> bool:
    """True while a process has not ended; one that nobody waits for may have."""
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")


def test_without_ray(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(nakshi.ClusterError, match=r"pip install 'nakshi\[cluster\]'.*--local N"):
        cluster.run(store, "wcc", workers=2, progress=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "hosts: no addresses"),
        ("# none yet\n\n", "hosts: no addresses"),
        ("a:1\nb\n", "hosts:2: 'b' is no address"),
        ("a:1 b:2\n", "hosts:1: 'a:1 b:2' is no address"),
        ("a:0\n", "hosts:1: 'a:0'"),
        ("a:65536\n", "hosts:1: 'a:65536'"),
        (":7077\n", "hosts:1: ':7077'"),
        ("fe80::1:7077\n", "hosts:1: 'fe80::1:7077'"),
        ("a:1\n# b\nb:2\na:1\n", "hosts:4: a:1 is given twice"),
        ("\0\xff\n", "hosts:1: "),
    ],
)
def test_wrong_hosts(tmp_path: Path, text: str, message: str) -> None:
    """Seen red with addresses numbered, not lines; with ports not looked at, repeated lines taken."""
    (tmp_path / "hosts").write_text(text, encoding="latin-1")
    with pytest.raises(nakshi.ParameterError) as caught:
        read_hosts(tmp_path / "hosts")
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


def test_hosts(tmp_path: Path, store: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# of the lab\r\nnode-1:7077 # the large one\r\n\r\n[fe80::1]:7078\r\n")
    assert read_hosts(file) == ["node-1:7077", "[fe80::1]:7078"]
    with LocalWorkers(2, allowing(store)) as servers:
        file.write_text("\n".join(servers.addresses))
        token = tmp_path / "token"
        token.write_bytes(servers.token + b"\n")
        words = ["--hosts", file, "--token-file", token, "--json"]
        ran = run_cli("cluster", "run", "wcc", store, *words)
        assert ran.code == 0 and len(ran.json["servers"]["steps"]) == 2
    for wrong in ([], ["nowhere"], ["a:1", "a:1"]):
        with pytest.raises(nakshi.ParameterError, match="hosts"):
            cluster.run(store, "wcc", hosts=wrong)
    file.write_text("nowhere")
    ran = run_cli("cluster", "run", "wcc", store, "--hosts", file)
    assert ran.code == 1 and ran.err.startswith(f"nakshi: {file}:1: 'nowhere' is no address")
    both = run_cli("cluster", "run", "wcc", store, "--local", 2, "--workers", 2)
    assert both.code == 2 and "exclude each other" in both.err


def test_it_is_said_that_a_lost_host_is_called(caplog: pytest.LogCaptureFixture) -> None:
    """The front-end calls it for 20 s, in which nothing else is printed."""
    assert Hosts(["a:1", "b:2"]).replace(1) == "b:2"
    assert "server 1 at b:2 was lost" in caplog.text


def test_a_timeout_ends_all_servers(store: Path) -> None:
    began = time.monotonic()
    with pytest.raises(nakshi.DeadlineError):
        cluster.run(store, "pagerank", local=2, iterations=4_000_000_000, timeout=2, progress=False)
    assert time.monotonic() - began < 20
    assert children() == 0


def test_plan(store: Path) -> None:
    rows = cluster.plan(store, [1, 2, 8], progress=False)
    assert [row["servers"] for row in rows] == [1, 2, 8]
    assert rows[0]["communication"]["exact"] == 0
    sent = cluster.run(store, "pagerank", local=2, progress=False).stats["servers"]["steps"]
    values = sum(server[3]["sent"] for server in sent)
    vertices = nakshi.open(store).num_vertices
    assert values / vertices == pytest.approx(rows[1]["communication"]["exact"], abs=1e-12)


def test_command_line(store: Path, tmp_path: Path) -> None:
    def nakshi_(*words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "nakshi", *words]
        return subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)

    ran = nakshi_(
        "cluster", "run", "wcc", str(store), "--local", "2", "--out", str(tmp_path / "o.tsv")
    )
    assert ran.returncode == 0, ran.stderr
    assert "supersteps" in ran.stdout
    assert len((tmp_path / "o.tsv").read_text().splitlines()) == nakshi.open(store).num_vertices
    told = nakshi_("cluster", "plan", str(store), "--servers", "2..8")
    assert told.returncode == 0 and len(told.stdout.splitlines()) == 6
    assert told.stdout.splitlines()[-1].startswith("recommended  2 servers: about 1.01 ms")
    drawn = tmp_path / "plan.svg"
    words = ["--plot", str(drawn), "--memory-per-server", "1MiB", "--json"]
    none = nakshi_("cluster", "plan", str(store), "--servers", "2..8", *words)
    assert none.returncode == 0, none.stderr
    assert json.loads(none.stdout)["recommended"]["servers"] is None
    assert "<svg" in drawn.read_text()
    ending = nakshi_("cluster", "plan", str(store), "--plot", "plan.doc")
    assert ending.returncode == 2 and "must end in .svg" in ending.stderr
    wrong = nakshi_("cluster", "plan", str(store), "--servers", "x")
    assert wrong.returncode == 2 and "write 2,4,8" in wrong.stderr
    taken = nakshi_("worker", "--listen", "127.0.0.1:99999")
    assert taken.returncode == 1 and "cannot listen" in taken.stderr
