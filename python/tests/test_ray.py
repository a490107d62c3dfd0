"""Workers that Ray places: as local ones, on several nodes, and none left over.

Nodes are Ray's own, two on this machine. What is left over is told by a mark in the environment, which
all processes of the tests and their children have.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
import pytest
from nakshi import cluster
from nakshi.placement import RayWorkers, Terms

from .conftest import random_edges

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'nakshi[cluster]'")
if not Path("/proc/self/environ").exists():
    pytest.skip("processes are found in /proc", allow_module_level=True)


@pytest.fixture(scope="module")
def mark() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        name = f"NAKSHI_TEST_{uuid.uuid4().hex}"
        patch.setenv(name, "1")
        for setting in ("RAY_ADDRESS", "RAY_AUTH_MODE"):
            patch.delenv(setting, raising=False)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield name


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import random

    ends = np.array(random_edges(random.Random(1), 300, 3000))
    path = tmp_path_factory.mktemp("ray") / "g.nakshi"
    nakshi.build(path, edges=(ends[:, 0], ends[:, 1]), progress=False)
    return path


#: Resources of each node.
NODE = {"num_cpus": 2, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module")
def nodes(mark: str) -> Iterator[Any]:
    """A cluster that this process has joined: two nodes."""
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    try:
        nodes.add_node(**NODE)
        ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


@pytest.fixture(scope="module")
def two_nodes(nodes: Any) -> str:
    """Addresses of the nodes."""
    return str(nodes.address)


def marked(mark: str, words: str) -> list[int]:
    """Processes of these tests with `words` in their command."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() not in (folder / "environ").read_bytes():
                continue
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if words in command:
            found.append(int(folder.name))
    return found


def workers(mark: str) -> list[int]:
    return marked(mark, "nakshi worker")


def soon(holds: Callable[[], bool], seconds: float = 15) -> bool:
    """True if a condition holds within some time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_the_same_as_local_and_one_worker_a_node(store: Path, two_nodes: str, mark: str) -> None:
    """Seen red with PACK instead of SPREAD; with actors and workers not ended after a run."""
    nodes: set[str] = set()

    def look(*_: object) -> None:
        for group in ray.util.placement_group_table().values():
            if group["state"] == "CREATED":
                nodes.update(group["bundles_to_node_id"].values())

    given: dict[str, Any] = {"iterations": 20}
    ranks = cluster.run(store, "pagerank", workers=2, progress=look, **given)
    assert workers(mark) == []
    assert len(nodes) == 2
    local = cluster.run(store, "pagerank", local=2, progress=False, **given)
    np.testing.assert_array_equal(ranks.to_numpy(), local.to_numpy())
    # More than there are nodes.
    parts = cluster.run(store, "wcc", workers=4, progress=False)
    alone = nakshi.open(store).wcc(progress=False)
    np.testing.assert_array_equal(parts.to_numpy(), alone.to_numpy())
    assert workers(mark) == []
    assert ray.is_initialized()


def test_an_error_leaves_nobody(store: Path, two_nodes: str, mark: str) -> None:
    """Seen red with the places of the workers kept after the run: the second finds none free."""
    for _ in range(2):
        with pytest.raises(nakshi.DeadlineError):
            cluster.run(
                store, "pagerank", workers=4, iterations=4_000_000_000, timeout=0.3, progress=False
            )
        assert workers(mark) == []


def test_a_lost_worker_is_replaced(store: Path, two_nodes: str, mark: str) -> None:
    """Seen red with the old worker, which only hangs, not ended; with the old address kept."""
    with RayWorkers(2, terms=Terms(allow=[str(store)])) as servers:
        before = workers(mark)
        os.kill(before[0], signal.SIGSTOP)
        kept = list(servers.addresses)
        lost = next(i for i in range(2) if listens(before[0], servers.addresses[i]))
        new = servers.replace(lost)
        assert before[0] not in workers(mark) and before[1] in workers(mark)
        assert len(workers(mark)) == 2
        assert servers.addresses[lost] == new != kept[lost]
        assert servers.addresses[1 - lost] == kept[1 - lost]
        known = {"hosts": servers.addresses, "token": servers.token}
        found = cluster.run(store, "wcc", progress=False, **known)
        assert found.summary["components"] == 1
    assert workers(mark) == []


def test_a_lost_node(store: Path, nodes: Any, mark: str) -> None:
    """Its worker begins on another node once Ray knows, and the others go on. Seen red with a worker that
    Ray is asked for once."""
    given: dict[str, Any] = {"iterations": 20_000, "checkpoint_every": 10}
    wanted = cluster.run(store, "pagerank", local=3, progress=False, **given)
    left = [nodes.add_node(**NODE)]
    nodes.wait_for_nodes()

    def watch(told: dict[str, Any]) -> None:
        if told.get("step", 0) >= 20 and left:
            nodes.remove_node(left.pop(), allow_graceful=False)

    found = cluster.run(store, "pagerank", workers=3, watch=watch, progress=False, **given)
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
    recoveries = found.stats["servers"]["recoveries"]
    assert len(recoveries) == 1
    assert recoveries[0]["from"] >= 10
    assert workers(mark) == []


def listens(process: int, address: str) -> bool:
    """True if a process listens at an address."""
    port = f":{int(address.rpartition(':')[2]):04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = {
        f"socket:[{line[9]}]" for line in lines if line[1].endswith(port) and line[3] == "0A"
    }
    return any(os.readlink(file) in sockets for file in Path(f"/proc/{process}/fd").iterdir())


def test_a_worker_ends_with_its_actor(two_nodes: str, mark: str) -> None:
    """Seen red with workers that do not look at their standard input."""
    with RayWorkers(2) as servers:
        ray.kill(servers._actors[0])
        assert soon(lambda: len(workers(mark)) == 1)
        # An actor that is gone can be replaced too.
        servers.replace(0)
        assert len(workers(mark)) == 2
        # Ray itself ends what its actors started, but not of one that is killed from outside.
        for worker in workers(mark):
            os.kill(int(Path(f"/proc/{worker}/stat").read_text().split()[3]), signal.SIGKILL)
        assert soon(lambda: workers(mark) == [])
    assert workers(mark) == []


def test_too_few_cpus(two_nodes: str, mark: str) -> None:
    """Seen red with the places still asked for after the error."""
    began = time.monotonic()
    with pytest.raises(
        nakshi.ClusterError, match=r"3 workers with 2 CPUs each in 1 s: it has 4 CPUs"
    ):
        with RayWorkers(3, cpus=2, timeout=1):
            pass
    assert time.monotonic() - began < 15
    assert workers(mark) == []
    # What was asked for in vain is asked for no longer.
    groups = ray.util.placement_group_table().values()
    assert all(group["state"] == "REMOVED" for group in groups)


def front_end(store: Path, address: str, *words: str, **options: Any) -> subprocess.Popen[str]:
    """`nakshi cluster run ... --workers 2` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "nakshi", "cluster", "run", *words[:1], str(store), *words[1:]]
        + ["--workers", "2"],
        env={**os.environ, "RAY_ADDRESS": address},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_the_command_line_joins_and_says_nothing_of_ray(
    store: Path, two_nodes: str, mark: str
) -> None:
    """Seen red with ``log_to_driver`` and ``logging_level`` left out."""
    ran = front_end(store, two_nodes, "wcc", "--json")
    out, err = ran.communicate(timeout=60)
    assert (ran.returncode, err) == (0, "")
    assert json.loads(out)["result"]["components"] == 1
    assert workers(mark) == []


LONG = ("pagerank", "--iterations", "4000000000")


def test_a_front_end_that_is_killed_leaves_nobody(store: Path, two_nodes: str, mark: str) -> None:
    """Seen red with a Ray of its own instead of the one that it is told."""
    raylets = len(marked(mark, "raylet/raylet"))
    front = front_end(store, two_nodes, *LONG)
    assert soon(lambda: len(workers(mark)) == 2, 60)
    joined = len(marked(mark, "raylet/raylet")) == raylets
    # They hang.
    for worker in workers(mark):
        os.kill(worker, signal.SIGSTOP)
    front.kill()
    front.communicate()
    assert joined and soon(lambda: workers(mark) == [])


def test_ctrl_c_ends_workers_and_the_ray_that_was_started(
    store: Path, mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen red with nothing ended after an exception."""
    # Ray writes its token there.
    monkeypatch.setenv("HOME", str(tmp_path))
    before = set(marked(mark, "ray"))
    front = front_end(store, "local", *LONG)
    assert soon(lambda: len(workers(mark)) == 2, 60)
    # The run has begun, most likely; what comes before it leaves nobody either.
    time.sleep(1)
    front.send_signal(signal.SIGINT)
    _, err = front.communicate(timeout=60)
    assert (front.returncode, err) == (130, "nakshi: interrupted\n")
    assert workers(mark) == []
    assert soon(lambda: set(marked(mark, "ray")) <= before)


def test_nobody_at_ray_address(store: Path, monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    """Seen red with the address not tried before Ray is asked, which waits for minutes."""
    front = front_end(store, "127.0.0.1:9", "wcc")
    _, err = front.communicate(timeout=60)
    assert front.returncode == 1
    assert "RAY_ADDRESS=127.0.0.1:9" in err and len(err.splitlines()) == 1
