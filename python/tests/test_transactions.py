"""Transactions from Python: threads that read, decide and write."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nakshi
import pytest

from .servers import serving


@pytest.fixture
def graph(tmp_path: Path) -> nakshi.Graph:
    (tmp_path / "nodes.csv").write_text("id:ID,name,balance:int\n1,ann,75\n2,bob,75\n3,cem,0\n")
    (tmp_path / "edges.csv").write_text(":START_ID,:END_ID,:TYPE\n1,2,knows\n2,3,knows\n")
    return nakshi.build(
        tmp_path / "g.nakshi", edges=tmp_path / "edges.csv", nodes=tmp_path / "nodes.csv"
    )


@pytest.fixture(params=["here", "server"])
def either(
    graph: nakshi.Graph, request: pytest.FixtureRequest
) -> Iterator[nakshi.Graph | nakshi.RemoteGraph]:
    """The graph in this process, and on a server."""
    if request.param == "here":
        yield graph
        return
    path = graph.path
    graph.close()
    with serving(path) as server, nakshi.connect(server.address) as remote:
        yield remote


def last_commit(graph: nakshi.Graph | nakshi.RemoteGraph) -> int:
    if isinstance(graph, nakshi.RemoteGraph):
        return int(graph.status()["commit"])
    return graph.snapshot().commit


def in_threads(count: int, work: Callable[[int], Any]) -> None:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_a_transaction_reads_its_own_writes_and_nobody_else_does(either: nakshi.Graph) -> None:
    with either.transaction() as t:
        t.append_node(4, {"name": "dan"})
        t.append_edge(4, "knows", 1, 7, {"since": 1999})
        t.update_node(1, {"balance": 80})
        assert t.delete_edge(1, "knows", 2)
        assert not t.delete_edge(1, "knows", 2)
        assert t.get_node_ids({"name": "dan"}) == [4]
        assert t.get_node_property(1, "balance") == 80
        assert t.get_edge_record(4, "knows")[0].properties == {"since": 1999}
        assert t.tao.assoc_count(1, "knows") == 0
        assert [edge.source for edge in t.get_incoming_edges(1)] == [4]
        assert t.count() == 4 and either.count() == 3
        assert either.get_node_property(1, "balance") == 75
        assert "running" in repr(t)
    assert t.commit == last_commit(either)
    assert either.count() == 4 and either.get_node_property(1, "balance") == 80
    with pytest.raises(RuntimeError, match="has ended"):
        t.get_node_property(1)


def test_a_block_that_raises_changes_nothing(either: nakshi.Graph) -> None:
    with pytest.raises(ZeroDivisionError), either.transaction() as t:
        t.update_node(1, {"balance": 0})
        _ = 1 / 0
    with either.transaction() as t, pytest.raises(nakshi.ParameterError, match="there already"):
        t.append_node(1)
    assert either.get_node_property(1, "balance") == 75
    assert t.commit == last_commit(either) == 0


def test_a_conflict_says_what_has_changed(either: nakshi.Graph) -> None:
    either.update_node(3, {"balance": 1})
    with pytest.raises(nakshi.errors.ConflictError, match="properties of a node"):
        with either.transaction() as t:
            t.update_node(2, {"balance": t.get_node_property(1, "balance")})
            either.update_node(1, {"balance": 5})
    assert either.get_node_property(2, "balance") == 75
    with either.transaction() as t:
        t.update_node(2, {"balance": t.get_node_property(1, "balance")})
        either.update_node(3, {"balance": 5})
    assert either.get_node_property(2, "balance") == 5


def test_no_update_is_lost_and_nobody_starves(either: nakshi.Graph) -> None:
    def add(t: nakshi.property.Transaction) -> int:
        balance = t.get_node_property(3, "balance") + 1
        t.update_node(3, {"balance": balance})
        return balance

    given: list[int] = []
    in_threads(8, lambda _: given.extend(either.transact(add) for _ in range(50)))
    assert either.get_node_property(3, "balance") == 400
    assert sorted(given) == list(range(1, 401))


def test_write_skew_is_impossible(either: nakshi.Graph) -> None:
    def withdraw(number: int) -> None:
        for _ in range(30):

            def work(t: nakshi.property.Transaction) -> None:
                one, two = t.get_node_properties([1, 2], "balance")
                if one + two >= 100:
                    mine = 1 + number % 2
                    t.update_node(mine, {"balance": (one, two)[mine - 1] - 100})
                else:
                    t.update_node(1, {"balance": 75})
                    t.update_node(2, {"balance": 75})

            either.transact(work)
            assert sum(either.get_node_properties([1, 2], "balance")) >= 0

    in_threads(8, withdraw)


def test_a_name_is_given_once(either: nakshi.Graph) -> None:
    made: list[int] = []

    def make(name: int, thread: int, t: nakshi.property.Transaction) -> bool:
        if t.get_node_ids({"name": f"user {name}"}):
            return False
        t.append_node(1000 * (thread + 1) + name, {"name": f"user {name}"})
        return True

    def sign_up(thread: int) -> None:
        made.extend(either.transact(partial(make, name, thread)) for name in range(20))

    in_threads(8, sign_up)
    assert sum(made) == 20


def test_a_function_that_always_meets_a_conflict_gives_up(either: nakshi.Graph) -> None:
    calls: list[int] = []

    def work(t: nakshi.property.Transaction) -> None:
        calls.append(t.get_node_property(3, "balance"))
        t.update_node(3, {"balance": 0})
        # While a transaction runs alone, others wait up to 100 ms and then go on.
        either.update_node(3, {"balance": len(calls)})

    began = time.monotonic()
    with pytest.raises(nakshi.errors.ConflictError):
        either.transact(work, attempts=5)
    assert calls == [0, 1, 2, 3, 4]
    assert time.monotonic() - began < 5
    with pytest.raises(nakshi.ParameterError, match="at least 1"):
        either.transact(work, attempts=0)


def test_threads_share_a_transaction(either: nakshi.Graph) -> None:
    with either.transaction() as t:

        def work(number: int) -> None:
            for i in range(200):
                t.append_node(1000 * (number + 1) + i)
                assert t.get_node_property(1, "balance") == 75

        in_threads(4, work)
    assert either.count() == 803


def test_a_process_that_dies_in_a_transaction_leaves_nothing(
    graph: nakshi.Graph, tmp_path: Path
) -> None:
    graph.close()
    child = os.fork()
    if child == 0:
        own = nakshi.open(tmp_path / "g.nakshi")
        own.update_node(1, {"balance": 10})
        with own.transaction() as t:
            t.update_node(1, {"balance": 20})
            os._exit(0)
    os.waitpid(child, 0)
    again = nakshi.open(tmp_path / "g.nakshi")
    assert again.get_node_property(1, "balance") == 10
    assert again.transact(lambda t: t.get_node_property(1, "balance")) == 10


def test_a_commit_returns_before_it_is_durable(graph: nakshi.Graph, tmp_path: Path) -> None:
    batch = graph.batch()
    commits = []
    for number in range(100, 150):
        batch.append_node(number)
        commits.append(batch.commit_async())
    assert [commit.number for commit in commits] == list(range(1, 51))
    assert commits[-1].wait() == 1 and all(commit.durable for commit in commits)
    assert "durable" in repr(commits[0]) and graph.count() == 53
    batch.append_node(100)
    with pytest.raises(nakshi.ParameterError, match="there already"):
        batch.commit_async()
    with graph.transaction() as t:
        t.update_node(1, {"balance": t.get_node_property(1, "balance") + 1})
        commit = t.commit_async()
    assert commit.wait() == 1 and t.commit == commit.number
    # Nobody waits for this one, and it is there all the same.
    batch.append_node(200)
    batch.commit_async()
    graph.close()
    assert nakshi.open(tmp_path / "g.nakshi").count() == 54


def test_coroutines_wait_for_their_commits_together(graph: nakshi.Graph) -> None:
    async def writer(number: int) -> int:
        made = 0
        for i in range(20):
            batch = graph.batch()
            batch.append_node(1000 * (number + 1) + i)
            made += await batch.commit_async()
        return made

    async def writers() -> list[int]:
        return await asyncio.gather(*(writer(number) for number in range(8)))

    assert asyncio.run(writers()) == [20] * 8
    assert graph.count() == 163
    # Another event loop has its own waiters.
    assert asyncio.run(writer(100)) == 20


def test_algorithms_and_maintenance_are_not_for_transactions(graph: nakshi.Graph) -> None:
    with graph.transaction() as t:
        for name in ("pagerank", "compact", "batch", "transaction"):
            assert not hasattr(t, name)
