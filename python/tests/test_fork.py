"""A graph that was opened before ``fork`` works in the child, and never hangs.

Seen red (``test_a_used_graph_works_in_the_child``, which hangs) with a handle and a pool of threads
that do not notice the new process id.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import nakshi
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
