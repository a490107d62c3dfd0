"""Servers come to a graph and leave it, while it is read and changed."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import nakshi
import pytest
from nakshi.serving import addresses

from .groups import Listed, log_of
from .servers import Server, Writers
from .test_server import build


def anew(listed: Listed, lines: list[str]) -> None:
    """Start all that run with another list, one after the other."""
    listed.lists(lines)
    for number in list(listed.running):
        listed.renew(number)


def test_a_server_comes_and_another_one_leaves(tmp_path: Path) -> None:
    stores = [tmp_path / f"{number}.nakshi" for number in range(4)]
    build(stores[0])
    for copy in stores[1:3]:
        nakshi.backup(stores[0], copy, progress=False)
    with Listed(tmp_path, stores, 3) as listed:
        listed.start_all((0, 1, 2))
        listed.settle()
        with nakshi.connect(listed.address) as graph:
            with Writers(graph) as writers:
                writers.wait_for(10)
                anew(listed, listed.listen)
                nakshi.backup(stores[1], stores[3], progress=False)
                listed.start(3)
                listed.settle()
                writers.wait_for(10)
                listed.end(0)
                anew(listed, [f"- {listed.listen[0]}", *listed.listen[1:]])
                writers.wait_for(10)
            writers.check()
        # Two of three go on without the third: the new one votes, and the old one is not waited for.
        time.sleep(1)
        listed.end(1, signal.SIGKILL)
        with nakshi.connect(listed.address) as graph:
            graph.append_node(77, {"age": 7})
            assert graph.get_node_property(77, "age") == 7
        logs = [log_of(stores[number]) for number in (2, 3)]
        assert '"id": 77' in logs[0] and logs[0] == logs[1]


def test_a_server_that_was_removed_does_not_start(tmp_path: Path) -> None:
    store = build(tmp_path / "g.nakshi")
    one, two = addresses("127.0.0.1:0", 2)
    hosts = tmp_path / "hosts"
    hosts.write_text(f"- {one}\n{two}\n")
    with pytest.raises(RuntimeError, match="none of the hosts"):
        Server(store, "--hosts", hosts, listen=one)
