"""A graph that was opened before ``fork`` works in the child, and never hangs.

Seen red (``test_a_used_graph_works_in_the_child``, which hangs) with a handle and a pool of threads
that do not notice the new process id.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import nakshi
import pyarrow as pa
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def in_child(work: Callable[[], None], seconds: float = 20) -> int:
    """Exit status of `work` in a forked child that ends like an ordinary program."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


@pytest.mark.parametrize("engine", ["memory", "ssd"])
def test_a_used_graph_works_in_the_child(karate: nakshi.Graph, engine: nakshi.graph.Engine) -> None:
    expected = karate.pagerank(engine=engine, threads=2).to_dict()

    def work() -> None:
        assert karate.pagerank(engine=engine, threads=2).to_dict() == expected
        karate.close()

    assert in_child(work) == 0
    # The parent's own is untouched.
    assert karate.pagerank(engine=engine, threads=2).to_dict() == expected


def test_import_in_parent_and_child(karate: nakshi.Graph, tmp_path: Path) -> None:
    def work() -> None:
        graph = nakshi.build(tmp_path / "child.nakshi", ([1, 2], [2, 3]))
        assert graph.num_edges == 2

    assert in_child(work) == 0


def test_dropping_in_the_child(karate: nakshi.Graph) -> None:
    karate.wcc(threads=2)
    graphs = [karate]

    def work() -> None:
        graphs.clear()

    assert in_child(work) == 0


def components(graph: nakshi.Graph) -> int:
    found: int = graph.wcc().summary["components"]
    return found


def test_multiprocessing(karate: nakshi.Graph) -> None:
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(components, [karate] * 4, chunksize=1) == [1] * 4


def write_elsewhere(store: Path, id: int) -> str:
    """Appends a node in another process; what went wrong, or nothing."""
    program = "import sys, nakshi; nakshi.open(sys.argv[1]).append_node(int(sys.argv[2]))"
    words = [sys.executable, "-c", program, store, str(id)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60).stderr


@pytest.fixture
def written(tmp_path: Path) -> nakshi.Graph:
    """A graph with properties of which this process is the writer."""
    graph = nakshi.build(
        tmp_path / "g.nakshi",
        pa.table({"source": [1], "target": [2]}),
        properties=True,
        progress=False,
    )
    graph.append_node(10, {"name": "a"})
    return graph


def test_a_child_keeps_no_lock(written: nakshi.Graph) -> None:
    """A lock that the parent releases is free while a child lives.

    Seen red (StoreLockedError in the other process) with a lock that the parent only closes and a child
    that keeps its copy of the descriptor; either one alone lets the lock go.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    try:
        store = Path(written.path)
        # The child's copy is gone, the parent's lock is not.
        assert "StoreLockedError" in write_elsewhere(store, 11)
        written.append_node(12)
        written.release()
        assert write_elsewhere(store, 13) == ""
        assert sorted(written.get_node_ids()) == [1, 2, 10, 12, 13]
        written.append_node(14)
        written.close()
        assert write_elsewhere(store, 15) == ""
    finally:
        os.close(writer)
        os.close(reader)
        os.waitpid(child, 0)


def test_a_writer_that_is_killed_leaves_no_lock_to_its_child(written: nakshi.Graph) -> None:
    """Seen red (StoreLockedError in the other process) without the handler that closes the child's copy."""
    written.close()
    program = """
import os, signal, sys, time
import nakshi
graph = nakshi.open(sys.argv[1])
graph.append_node(20)
child = os.fork()
if child == 0:
    os.close(1)
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    words = [sys.executable, "-c", program, written.path]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    child = int(done.stdout)
    try:
        os.kill(child, 0)
        assert write_elsewhere(Path(written.path), 21) == ""
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_child_of_a_thread_that_loads(written: nakshi.Graph) -> None:
    """Seen red (the child hangs) without new locks in the child."""

    def work() -> None:
        written.release()
        assert written.get_node_property(10) == {"name": "a"}
        written.close()

    # Held at the fork as by a thread that loads the properties.
    with written._loading:
        assert in_child(work) == 0
    written.append_node(11)


def test_a_child_of_a_writer_reads_and_does_not_write(written: nakshi.Graph) -> None:
    """Seen red (the child hangs) with a child that waits for the lock of the state for ever: a thread of
    the parent held it at the fork."""
    stop = threading.Event()

    def write() -> None:
        id = 1000
        while not stop.is_set():
            written.append_node(id)
            id += 1

    writer = threading.Thread(target=write)
    writer.start()

    def work() -> None:
        assert written.get_node_property(10) == {"name": "a"}
        assert written.log_bytes > 0
        for change in (lambda: written.append_node(11), lambda: written.batch().__exit__(None)):
            with contextlib.suppress(nakshi.StoreLockedError):
                change()
        with pytest.raises(nakshi.StoreLockedError):
            written.append_node(12)
        written.release()
        assert written.get_node_property(10) == {"name": "a"}

    try:
        for _ in range(40):
            began = time.monotonic()
            assert in_child(work, 30) == 0
            if time.monotonic() - began > 1:
                # The child had to do without the lock of the state, which the writer held at the fork.
                break
    finally:
        stop.set()
        writer.join()
    written.append_node(30)
