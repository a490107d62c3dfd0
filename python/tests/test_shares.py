"""A graph whose nodes are dealt to servers: together they answer as one server with all of it does."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import nakshi
import pytest

from .conftest import SCALE
from .groups import AWAY, log_of, servers, stopped
from .servers import Server, Threads
from .test_server import QUERIES, build, change, outcome

#: Three servers with the whole graph, and four with shares: two shares, each of them twice.
SEVEN = ("--local", 7, "--replicas", 2)
#: Queries whose rows have the order of a store, which differs.
UNORDERED = frozenset(
    [
        "all nodes",
        "equal",
        "range",
        "not",
        "contains",
        "dates",
        "one of",
        "too many edges",
        "search",
    ]
    + ["incoming", "incoming of a type", "friends with"]
)
#: Nodes of the same age have the order of a store, too; "ages in order" asks the same.
SHARED = {name: query for name, query in QUERIES.items() if name != "ordered"}


@contextmanager
def seven(store: Path, *options: object) -> Iterator[Server]:
    """The servers, once all of them follow."""
    server = Server(store, *SEVEN, *options)
    try:
        follow(server.address)
        yield server
    except BaseException:
        server.end(signal.SIGKILL)
        raise
    assert server.end() == 0, server.log


def follow(address: str) -> None:
    """Return when there is a leader, and nobody lags behind it."""
    until = time.monotonic() + 30
    while True:
        known = servers(address)
        roles = {one["role"] for one in known}
        if all(one["lag"] == 0 for one in known) and "leader" in roles and not roles & AWAY:
            return
        assert time.monotonic() < until, known
        time.sleep(0.05)


def sharing(address: str) -> list[dict[str, Any]]:
    """The servers with shares."""
    return [one for one in servers(address) if one["role"] == "share"]


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[nakshi.Graph, list[nakshi.RemoteGraph]]]:
    """A graph, opened here, and as two of seven servers answer: one with all of it, one with a share."""
    home = tmp_path_factory.mktemp("shared")
    with seven(build(home / "graph.nakshi")) as server, ExitStack() as stack:
        addresses = [server.address, sharing(server.address)[0]["address"]]
        yield (
            nakshi.open(build(home / "twin.nakshi")),
            [stack.enter_context(nakshi.connect(address)) for address in addresses],
        )


def told(name: str, found: tuple[Any, ...]) -> tuple[Any, ...]:
    """An outcome without what may differ: the order of the store, and its path."""
    if found[0] == "raised":
        return (*found[:2], re.sub(r"\S+\.nakshi\S*|\S+/servers/\d+", "STORE", found[2]))
    if name in UNORDERED:
        rows = found[1]
        found = (
            "returned",
            sorted(map(str, rows)) if name != "search" else sorted(map(str, rows[1])),
        )
    return found


@pytest.mark.parametrize("name", SHARED)
def test_shares_answer_as_the_whole_graph(
    shared: tuple[nakshi.Graph, list[nakshi.RemoteGraph]], name: str
) -> None:
    graph, remotes = shared
    wanted = told(name, outcome(partial(QUERIES[name], graph)))
    for remote in remotes:
        assert told(name, outcome(partial(QUERIES[name], remote))) == wanted


def test_steps_over_edges_lead_to_the_same_nodes(
    shared: tuple[nakshi.Graph, list[nakshi.RemoteGraph]],
) -> None:
    graph, remotes = shared
    member = {"member": True}
    for remote in remotes:
        for ids in (1, [2, 3, 5], []):
            for edge_type in (None, "likes"):
                for hops in (0, 1, 2, 4):
                    for wanted in (None, member):
                        found = remote.expand(ids, edge_type, wanted, hops=hops)
                        assert found == graph.expand(ids, edge_type, wanted, hops=hops)
                        assert list(found.values()) == sorted(found.values())
        two = remote.expand(1, hops=3, limit=2)
        assert len(two) == 2 and set(two.values()) == {1}
        for wrong in (lambda g: g.expand([1, 99]), lambda g: g.expand(1, None, {"nam": 1})):
            assert told("", outcome(partial(wrong, remote))) == told(
                "", outcome(partial(wrong, graph))
            )


def test_shares_change_as_the_whole_graph(tmp_path: Path) -> None:
    store = build(tmp_path / "graph.nakshi")
    twin = nakshi.open(build(tmp_path / "twin.nakshi"))
    wanted = change(twin)
    with seven(store) as server, ExitStack() as stack:
        share = sharing(server.address)[1]["address"]
        remote = stack.enter_context(nakshi.connect(share))
        assert change(remote) == wanted
        for address in (server.address, share):
            # Another client may read an older state otherwise.
            other = stack.enter_context(nakshi.connect(address, linearizable=True))
            for name, query in SHARED.items():
                found = told(name, outcome(partial(query, other)))
                assert found == told(name, outcome(partial(query, twin))), name
        follow(server.address)
    copies = [store, *(store / "servers" / str(i) for i in range(2, 8))]
    logs = [log_of(one) for one in copies]
    assert logs[0] and logs.count(logs[0]) == len(logs)
    for copy in copies:
        assert nakshi.check(copy, progress=False)["ok"]
    # A share cannot be changed but by its server.
    with pytest.raises(nakshi.ParameterError, match="share"):
        nakshi.open(copies[-1]).append_node(5000)
    with pytest.raises(nakshi.ParameterError, match="share"):
        nakshi.open(copies[-1]).pagerank()


class Movers(Threads):
    """Threads that move amounts between accounts, the sum of which stays."""

    def __init__(self, address: str, accounts: int) -> None:
        super().__init__(2)
        self._graph = nakshi.connect(address)
        self._accounts = accounts
        self.moved = 0

    def _work(self, number: int) -> None:
        rng = random.Random(number)
        while not self._stop.is_set():
            a, b = rng.sample(range(self._accounts), 2)
            self._graph.transact(partial(self._move, a, b))
            self.moved += 1

    @staticmethod
    def _move(a: int, b: int, t: nakshi.property.Transaction) -> None:
        for id, by in ((a, -1), (b, 1)):
            t.update_node(id, {"age": t.get_node_property(id, "age") + by})
        # The edge is at both its ends, or at none.
        if not t.delete_edge(a, "moved", b):
            t.append_edge(a, "moved", b)

    def check(self) -> None:
        assert not self._failed, self._failed


def audit(graph: nakshi.RemoteGraph, accounts: int) -> None:
    """Ask what several servers answer together, and compare it with what one state must give."""
    ages = graph.get_node_properties(range(accounts), "age")
    assert sum(ages) == 100 * accounts
    assert len(graph.get_node_ids({"kind": "account"})) == accounts
    low, high = graph.count({"age": nakshi.lt(100)}), graph.count({"age": nakshi.ge(100)})
    assert low <= accounts and high <= accounts


def halves(graph: nakshi.RemoteGraph, accounts: int) -> None:
    """Every edge is at both its ends."""
    known = range(accounts)
    out = {(a, edge.destination) for a in known for edge in graph.get_edge_record(a, "moved")}
    back = {(edge.source, b) for b in known for edge in graph.get_incoming_edges(b, "moved")}
    found = {(a, edge.destination) for a, _, edge in graph.find_edges(edge_type="moved")}
    assert out == back == found


def test_an_answer_of_several_servers_is_of_one_state(accounts: Path) -> None:
    with seven(accounts) as server:
        addresses = [server.address, *(one["address"] for one in sharing(server.address))]
        with ExitStack() as stack, Movers(server.address, 200) as movers:
            graphs = [stack.enter_context(nakshi.connect(one)) for one in addresses]
            until = time.monotonic() + 3 * SCALE
            while time.monotonic() < until:
                for graph in graphs:
                    audit(graph, 200)
        movers.check()
        assert movers.moved > 50
        with nakshi.connect(server.address, linearizable=True) as graph:
            halves(graph, 200)


def test_servers_with_shares_are_killed(accounts: Path) -> None:
    """Queries go on at the other server of the share, and one that is started again catches up."""
    rng = random.Random(5)
    with seven(accounts) as server, nakshi.connect(server.address) as graph:
        with Movers(server.address, 200) as movers:
            for _ in range(3 * SCALE):
                os.kill(rng.choice(sharing(server.address))["pid"], signal.SIGKILL)
                until = time.monotonic() + 2
                while time.monotonic() < until:
                    audit(graph, 200)
        movers.check()
        follow(server.address)
        for one in sharing(server.address):
            with nakshi.connect(one["address"]) as other:
                audit(other, 200)
                halves(other, 200)


def test_a_share_without_servers_is_answered_from_the_whole(accounts: Path) -> None:
    with seven(accounts) as server, ExitStack() as stack:
        graph = stack.enter_context(nakshi.connect(server.address))
        audit(graph, 200)
        for one in sharing(server.address):
            stack.enter_context(stopped(one["pid"]))
        audit(graph, 200)
        assert graph.get_node_property(7, "kind") == "account"


def test_a_node_that_many_ask_for_has_more_servers(accounts: Path) -> None:
    """Those with the whole graph help the two that have its share, before these count as away."""
    with seven(accounts, "--http", "127.0.0.1:0") as server:
        stop = threading.Event()

        def helped() -> int:
            return int(server.metrics().get('nakshi_calls_total{call="part",outcome="ok"}', 0))

        def ask(_: int) -> None:
            with nakshi.connect(server.address) as graph:
                while not stop.is_set():
                    assert graph.get_node_property(7, "kind") == "account"

        with nakshi.connect(server.address) as graph:
            for _ in range(200):
                graph.get_node_property(7, "kind")
        assert helped() == 0
        pids = [one["pid"] for one in sharing(server.address)]
        with ThreadPoolExecutor(32) as clients:
            asked = clients.map(ask, range(32))
            try:
                turns = 0
                while helped() == 0:
                    assert turns < 20
                    turns += 1
                    with ExitStack() as stack:
                        for pid in pids:
                            stack.enter_context(stopped(pid))
                        # A server that says nothing for 1.5 seconds is away.
                        time.sleep(0.5)
            finally:
                stop.set()
            list(asked)


def test_replicas_belong_to_several_servers(accounts: Path) -> None:
    with pytest.raises(RuntimeError, match="--replicas goes with"):
        Server(accounts, "--replicas", 2)
