"""Buckets of nodes that move from the servers of one share to those of another, while all servers answer."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nakshi
import pytest

from .conftest import SCALE, run_cli
from .groups import AWAY, log_of, server_with, servers, stopped
from .servers import Threads, serving
from .test_shares import Movers, audit, follow, halves, seven, sharing

#: Accounts of the graph, and two fifths of all buckets.
ACCOUNTS = 200
SOME = [bucket for bucket in range(1024) if bucket % 5 < 2]


class Auditors(Threads):
    """Threads that audit the accounts by several servers."""

    def __init__(self, addresses: list[str]) -> None:
        super().__init__(len(addresses))
        self._addresses = addresses
        self.audits = 0

    def _work(self, number: int) -> None:
        with nakshi.connect(self._addresses[number]) as graph:
            while not self._stop.is_set():
                audit(graph, ACCOUNTS)
                self.audits += 1

    def check(self) -> None:
        assert not self._failed, self._failed


def move(graph: nakshi.RemoteGraph, buckets: list[int], to: int) -> None:
    """Move buckets, also if a server that takes part is lost meanwhile."""
    until = time.monotonic() + 60
    while True:
        try:
            graph.move_buckets(buckets, to)
            return
        except (nakshi.UnavailableError, nakshi.OverloadedError):
            assert time.monotonic() < until
            time.sleep(0.2)


def have_moved(graph: nakshi.RemoteGraph, buckets: list[int], to: int) -> None:
    """The share has the buckets, the servers have those of their shares, and no other ones."""
    shares = graph.shares()
    assert set(buckets) <= set(shares[to]["buckets"])
    assert sum(len(share["buckets"]) for share in shares) == 1024
    for share in shares:
        for address in share["servers"]:
            with nakshi.connect(address) as one:
                assert one.status()["held_buckets"] == len(share["buckets"]), address


def of_share(address: str, buckets: set[int]) -> dict[int, Any]:
    """The answers of a server about the accounts in some buckets."""
    with nakshi.connect(address, linearizable=True) as graph:
        own = [id for id in range(ACCOUNTS) if graph.bucket_of(id) in buckets]
        return {
            id: (
                graph.get_node_properties([id]),
                sorted(edge.destination for edge in graph.get_edge_record(id, "moved")),
                sorted(edge.source for edge in graph.get_incoming_edges(id, "moved")),
            )
            for id in own
        }


def test_buckets_move_while_they_are_written(accounts: Path) -> None:
    with seven(accounts) as server, nakshi.connect(server.address) as graph:
        addresses = [server.address, *(one["address"] for one in sharing(server.address))]
        with Movers(server.address, ACCOUNTS) as movers, Auditors(addresses) as auditors:
            for turn in range(2 * SCALE):
                to, last = turn % 2, movers.moved
                graph.move_buckets(SOME, to)
                have_moved(graph, SOME, to)
                assert movers.moved > last
        movers.check()
        auditors.check()
        assert auditors.audits > 20
        follow(server.address)
        for address in addresses:
            with nakshi.connect(address, linearizable=True) as one:
                audit(one, ACCOUNTS)
                halves(one, ACCOUNTS)
        # On the servers of the shares, and on one machine.
        found = [graph.run("wcc", **where).summary["components"] for where in ({}, {"workers": 1})]
        assert found[0] == found[1]
        for share in graph.shares():
            buckets = set(share["buckets"])
            wanted = of_share(server.address, buckets)
            for address in share["servers"]:
                # It has them, and so asks nobody else.
                assert of_share(address, buckets) == wanted
    copies = [accounts, *(accounts / "servers" / str(i) for i in range(2, 8))]
    logs = [log_of(one) for one in copies]
    assert '"move_buckets"' in logs[0]
    # That of a share begins behind its last compaction.
    assert all(logs[0].endswith(log) for log in logs)
    for copy in copies:
        assert nakshi.check(copy, progress=False)["ok"]


def all_there(address: str) -> None:
    """Return when there is a leader, and none is away; some lag behind while others write."""
    until = time.monotonic() + 30
    while True:
        roles = {one["role"] for one in servers(address)}
        if "leader" in roles and not roles & AWAY:
            return
        assert time.monotonic() < until, roles
        time.sleep(0.05)


@pytest.mark.parametrize("lost", ["taker", "leader"])
def test_a_server_is_killed_while_buckets_move(accounts: Path, lost: str) -> None:
    rng = random.Random(7)
    with seven(accounts) as server:
        with Movers(server.address, ACCOUNTS) as movers, nakshi.connect(server.address) as graph:
            for turn in range(2 * SCALE):
                to = turn % 2
                takers = graph.shares()[to]["servers"]
                moving = threading.Thread(target=move, args=(graph, SOME, to))
                moving.start()
                time.sleep(rng.uniform(0.02, 0.4))
                if lost == "leader":
                    os.kill(server_with(server.address, "leader")["pid"], signal.SIGKILL)
                else:
                    pids = {one["address"]: one["pid"] for one in sharing(server.address)}
                    os.kill(pids[takers[0]], signal.SIGKILL)
                moving.join()
                all_there(server.address)
                # The same call does the rest of what the lost server had to do.
                move(graph, SOME, to)
                have_moved_to(graph, to)
                audit(graph, ACCOUNTS)
        movers.check()
        with nakshi.connect(server.address, linearizable=True) as graph:
            halves(graph, ACCOUNTS)


def have_moved_to(graph: nakshi.RemoteGraph, to: int) -> None:
    """The servers of a share have its buckets, and perhaps more."""
    share = graph.shares()[to]
    assert set(SOME) <= set(share["buckets"])
    for address in share["servers"]:
        with nakshi.connect(address) as one:
            assert one.status()["held_buckets"] >= len(share["buckets"])


def test_a_server_that_is_away_leaves_its_buckets_out_later(accounts: Path) -> None:
    """Until then it takes their changes, and answers for the others."""
    with seven(accounts) as server, ExitStack() as stack:
        graph = stack.enter_context(nakshi.connect(server.address, linearizable=True))
        shares = graph.shares()
        pids = {one["address"]: one["pid"] for one in sharing(server.address)}
        leaves = shares[1]["servers"][0]
        with stopped(pids[leaves]):
            # A server that shall take buckets must be there.
            with pytest.raises(nakshi.UnavailableError):
                graph.move_buckets(SOME, 1)
            assert graph.shares() == shares
            graph.move_buckets(SOME, 0)
            audit(graph, ACCOUNTS)
        follow(server.address)
        other = stack.enter_context(nakshi.connect(leaves, linearizable=True))
        assert other.status()["held_buckets"] > len(graph.shares()[1]["buckets"])
        audit(other, ACCOUNTS)
        halves(other, ACCOUNTS)
        graph.update_node(7, {"age": 7})
        assert other.get_node_property(7, "age") == 7
        graph.move_buckets(SOME, 0)
        have_moved(graph, SOME, 0)


def test_servers_start_with_the_buckets_that_they_had(accounts: Path) -> None:
    with seven(accounts) as server, nakshi.connect(server.address) as graph:
        graph.move_buckets(SOME, 0)
        shares = graph.shares()
    with seven(accounts) as server, nakshi.connect(server.address) as graph:
        assert [one["buckets"] for one in graph.shares()] == [one["buckets"] for one in shares]
        have_moved(graph, SOME, 0)
        audit(graph, ACCOUNTS)


def told(*words: object) -> dict[str, Any]:
    """The object that a command prints."""
    done = run_cli(*words, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_what_cannot_be_moved(accounts: Path) -> None:
    with seven(accounts) as server, nakshi.connect(server.address) as graph:
        for wrong in ([], [1024], [-1]):
            with pytest.raises(nakshi.ParameterError, match="buckets 0 to 1023"):
                graph.move_buckets(wrong, 0)
        with pytest.raises(nakshi.ParameterError, match="shares 0 to 1"):
            graph.move_buckets([1], 2)
        shares = graph.shares()
        bucket = graph.bucket_of(7)
        share = next(at for at, one in enumerate(shares) if bucket in one["buckets"])
        found = told("buckets", server.address, "--node", 7)
        assert (found["bucket"], found["share"]) == (bucket, share)
        to = 1 - share
        words = ("move-buckets", server.address, "--buckets", bucket, "--to", to)
        assert told(*words)["buckets"] == 1
        assert told("buckets", server.address, "--node", 7)["share"] == to
        assert told("buckets", server.address, "--share", to)["shares"] == [graph.shares()[to]]
        assert "servers" in run_cli("buckets", server.address).out
        wrong = run_cli("move-buckets", server.address, "--buckets", "7-", "--to", 0)
        assert wrong.code == 2 and "write 7,20-29" in wrong.err
        assert graph.get_node_property(7, "kind") == "account"
    with serving(accounts) as alone, nakshi.connect(alone.address) as graph:
        assert graph.shares() == []
        with pytest.raises(nakshi.UnsupportedError, match="whole"):
            graph.move_buckets([1], 0)
