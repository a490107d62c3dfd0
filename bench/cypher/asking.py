"""Queries in Cypher, asked over Bolt: their answers in one form, latencies by turns, rates of clients."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import neo4j
from harness import bolt, measure

#: Seconds that a query may take.
LONGEST = 120.0


@dataclass(frozen=True)
class Query:
    """A query with its parameters.

    Attributes:
        kind: name of the query.
        text: its text, the same for all systems.
        parameters: what it asks for.
        order: number of the column that orders the rows; without one they may have any order.
    """

    kind: str
    text: str
    parameters: dict[str, Any]
    order: int | None = None

    def message(self) -> bolt.Message:
        """The requests by which :class:`bolt.Line` asks it."""
        return bolt.query(self.text, self.parameters)


def ask(session: neo4j.Session, query: Query) -> list[list[Any]]:
    """The rows of a query in a transaction of its own."""
    return session.run(neo4j.Query(query.text, timeout=LONGEST), query.parameters).values()


def answer(session: neo4j.Session, query: Query) -> Any:
    """The rows with the order that the query asks for, or the error that it ends with."""
    try:
        rows = ask(session, query)
    except neo4j.exceptions.Neo4jError as error:
        return f"{error.code}: {error.message}"
    order = [] if query.order is None else [row[query.order] for row in rows]
    # Rows that are equal in what orders them may have any order.
    return order, sorted(rows, key=repr)


@dataclass
class Difference:
    """A query that the systems answer differently."""

    query: Query
    found: list[Any]


def compare(sessions: Sequence[neo4j.Session], queries: Sequence[Query]) -> list[Difference]:
    """The queries whose answers differ, or are errors."""
    differences = []
    for query in queries:
        found = [answer(session, query) for session in sessions]
        if isinstance(found[0], str) or any(other != found[0] for other in found):
            differences.append(Difference(query, found))
    return differences


@dataclass
class Latencies:
    """Latencies of a kind of query on each system, in milliseconds, and the rows of its answers."""

    times: list[list[float]]
    rows: int = 0

    def medians(self) -> list[float]:
        """The median of each system."""
        return [measure.median(each) for each in self.times]


def latencies(lines: Sequence[bolt.Line], queries: Sequence[Query]) -> Latencies:
    """Measures each query on each system, by turns; which of them goes first alternates."""
    found = Latencies([[] for _ in lines])
    turns = list(enumerate(lines))
    for number, message in enumerate([query.message() for query in queries]):
        for at, line in turns if number % 2 == 0 else turns[::-1]:
            began = time.perf_counter()
            rows = line.ask(message)
            found.times[at].append(1e3 * (time.perf_counter() - began))
        found.rows += rows
    return found


@dataclass
class Rate:
    """Queries of all clients: how many in a second, and the server's processor time for one, in ms."""

    each_second: float
    processor: float


def rate(
    address: str,
    server: measure.Served,
    queries: Sequence[Query],
    clients: int,
    seconds: float,
    *,
    whole: bool = False,
    driver: bool = False,
) -> Rate:
    """Measures clients that ask the same queries, each client beginning at another of them.

    Args:
        whole: a client ends after all queries, for the first time after `seconds`.
        driver: clients ask by Neo4j's driver, which decodes the answers, and not by :mod:`bolt`.

    Raises:
        measure.Skipped: a query ended with an error.
    """
    context = multiprocessing.get_context("spawn")
    apart = len(queries) // clients
    given = [(address, [*queries[at * apart :], *queries[: at * apart]]) for at in range(clients)]
    with ProcessPoolExecutor(
        clients, context, initializer=_together, initargs=(context.Barrier(clients),)
    ) as pool:
        began = server.processor()
        tasks = [pool.submit(_client, *each, seconds, whole, driver) for each in given]
        found = [task.result() for task in tasks]
        spent = server.processor() - began
    for each in found:
        if isinstance(each, str):
            raise measure.Skipped(each)
    done = sum(count for count, _ in found)
    return Rate(sum(count / took for count, took in found), 1e3 * spent / done)


#: Where the clients of a rate wait for each other.
_barrier: threading.Barrier | None = None


def _together(barrier: threading.Barrier) -> None:
    global _barrier
    _barrier = barrier


@contextlib.contextmanager
def _asking(address: str, queries: list[Query], driver: bool) -> Iterator[Callable[[int], object]]:
    """Asks a query by its number."""
    if driver:
        with neo4j.GraphDatabase.driver(address) as opened, opened.session() as session:
            yield lambda at: ask(session, queries[at])
    else:
        with contextlib.closing(bolt.Line(address)) as line:
            messages = [query.message() for query in queries]
            yield lambda at: line.ask(messages[at])


def _client(
    address: str, queries: list[Query], seconds: float, whole: bool, driver: bool
) -> tuple[int, float] | str:
    """Number of queries that a client asked, and their seconds; or an error."""
    assert _barrier is not None
    try:
        with _asking(address, queries, driver) as asks:
            asks(0)
            _barrier.wait(LONGEST)
            began, done = time.perf_counter(), 0
            for at in itertools.cycle(range(len(queries))):
                passed = time.perf_counter() - began
                if passed >= seconds and done and (not whole or at == 0):
                    return done, passed
                asks(at)
                done += 1
    except threading.BrokenBarrierError:
        return "another client has failed"
    except (bolt.Failed, neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError) as error:
        _barrier.abort()
        return f"{type(error).__name__}: {error}"
    raise AssertionError("a client ends by its time")
