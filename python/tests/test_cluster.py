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


@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_as_on_one_machine(store: Path, workers: int) -> None:
    graph = nakshi.open(store)
    ranks = cluster.run(store, "pagerank", workers=workers, iterations=20, progress=False)
    alone = graph.pagerank(iterations=20, progress=False).to_numpy()
    np.testing.assert_allclose(ranks.to_numpy(), alone, atol=1e-12)
    parts = cluster.run(graph, "wcc", workers=workers, progress=False)
    np.testing.assert_array_equal(parts.to_numpy(), graph.wcc(progress=False).to_numpy())
    lengths = cluster.run(graph, "sssp", workers=workers, source=1, progress=False)
    want = graph.sssp(source=1, progress=False).to_numpy()
    np.testing.assert_array_equal(lengths.to_numpy(), want)
    count = cluster.run(graph, "triangles", workers=workers, progress=False).summary["triangles"]
    assert count == graph.triangles(progress=False).summary["triangles"]
    steps = ranks.stats["servers"]["steps"]
    assert len(steps) == workers and all(len(server) == 21 for server in steps)
    assert children() == 0


def test_wrong_arguments(store: Path) -> None:
    with pytest.raises(nakshi.ParameterError, match="either"):
        cluster.run(store, "wcc")
    with pytest.raises(nakshi.ParameterError, match="at least one"):
        cluster.run(store, "wcc", workers=0)
    with pytest.raises(nakshi.ParameterError, match="known: pagerank"):
        cluster.run(store, "nothing", workers=1, progress=False)
    with pytest.raises(nakshi.UnknownVertexError, match="nobody"):
        cluster.run(store, "bfs", workers=1, source="nobody", progress=False)
    with pytest.raises(nakshi.ClusterError, match="127.0.0.1:1"):
        cluster.run(store, "wcc", hosts=["127.0.0.1:1"], progress=False)
    assert children() == 0


def test_more_servers_than_vertices(tmp_path: Path) -> None:
    nakshi.build(tmp_path / "g.nakshi", edges=(np.array([1]), np.array([2])), progress=False)
    found = cluster.run(tmp_path / "g.nakshi", "wcc", workers=4, progress=False)
    assert found.summary["components"] == 1


def test_a_server_that_is_killed_is_an_error_and_leaves_nobody(store: Path) -> None:
    with cluster.local_workers(3) as addresses:
        listed = subprocess.run(
            ["pgrep", "-P", str(os.getpid()), "-f", "nakshi worker"],
            capture_output=True,
            text=True,
            check=True,
        )
        os.kill(int(listed.stdout.split()[1]), signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(nakshi.ClusterError, match="server"):
            cluster.run(store, "pagerank", hosts=addresses, iterations=100_000, progress=False)
        assert time.monotonic() - began < 15
    assert children() == 0


def test_a_timeout_ends_all_servers(store: Path) -> None:
    began = time.monotonic()
    with pytest.raises(nakshi.DeadlineError):
        cluster.run(
            store, "pagerank", workers=2, iterations=4_000_000_000, timeout=2, progress=False
        )
    assert time.monotonic() - began < 20
    assert children() == 0


def test_plan(store: Path) -> None:
    rows = cluster.plan(store, [1, 2, 8], progress=False)
    assert [row["servers"] for row in rows] == [1, 2, 8]
    assert rows[0]["communication"]["exact"] == 0
    sent = cluster.run(store, "pagerank", workers=2, progress=False).stats["servers"]["steps"]
    values = sum(server[3]["sent"] for server in sent)
    vertices = nakshi.open(store).num_vertices
    assert values / vertices == pytest.approx(rows[1]["communication"]["exact"], abs=1e-12)


def test_command_line(store: Path, tmp_path: Path) -> None:
    def nakshi_(*words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "nakshi", *words]
        return subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)

    ran = nakshi_(
        "cluster", "run", "wcc", str(store), "--workers", "2", "--out", str(tmp_path / "o.tsv")
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
