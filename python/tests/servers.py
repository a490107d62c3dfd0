"""Servers of graphs, each a process as a user starts it."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import nakshi
import neo4j
import neo4j.exceptions

if TYPE_CHECKING:
    from typing_extensions import Self


class Server:
    """A running ``nakshi serve``; `wrap` is the beginning of a command that runs the rest elsewhere, and `python`
    has another build of Nakshi."""

    def __init__(
        self,
        store: Path,
        *options: object,
        listen: str = "127.0.0.1:0",
        wrap: Sequence[str] = (),
        python: str = sys.executable,
    ) -> None:
        command = [*wrap, python, "-m", "nakshi", "serve", str(store), "--listen", listen]
        self.process = subprocess.Popen(
            [*command, *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        # A pipe that nobody reads stops the server once it is full.
        self._written: list[str] = []
        self._reader = threading.Thread(
            target=self._written.extend, args=(self.process.stderr,), daemon=True
        )
        self._reader.start()
        line = self.process.stdout.readline().split()
        if not line:
            self.wait()
            raise RuntimeError(self.log)
        assert line[0] == "ready", line
        urls = {url.partition(":")[0]: url for url in line[1:]}
        #: As ``nakshi://HOST:PORT``.
        self.address = urls["nakshi"]
        #: As ``http://HOST:PORT``; only with ``--http``.
        self.http = urls.get("http", "")
        #: As ``bolt://HOST:PORT``; only with ``--bolt``.
        self.bolt = urls.get("bolt", "")

    @property
    def listen(self) -> str:
        """As ``HOST:PORT``."""
        return self.address.removeprefix("nakshi://")

    def metrics(self) -> dict[str, str]:
        """The values of ``/metrics`` by their names."""
        with urllib.request.urlopen(f"{self.http}/metrics") as page:
            assert page.headers["Content-Type"].startswith("application/openmetrics-text")
            return dict(line.rsplit(" ", 1) for line in page.read().decode().splitlines()[:-1])

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(timeout=30)
        assert self.process.stdout is not None and self.process.stderr is not None
        self.process.stdout.close()
        self._reader.join()
        self.process.stderr.close()
        #: What it wrote to standard error.
        self.log = "".join(self._written)
        return code


@contextmanager
def serving(store: Path, *options: object) -> Iterator[Server]:
    """A server until the end of the block, which it must leave in order."""
    server = Server(store, *options)
    try:
        yield server
    except BaseException:
        server.end(signal.SIGKILL)
        raise
    assert server.end() == 0


class Threads:
    """Threads that work until the end of the block; their errors are kept."""

    def __init__(self, count: int) -> None:
        self._failed: list[BaseException] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(i,)) for i in range(count)]

    def _work(self, number: int) -> None:
        """The work of one thread, which ends soon after `_stop` is set."""
        raise NotImplementedError

    def _run(self, number: int) -> None:
        try:
            self._work(number)
        except BaseException as error:
            self._failed.append(error)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


class Writers(Threads):
    """Threads that change a graph with a node 1 in all ways, and count what they have done."""

    def __init__(self, graph: nakshi.RemoteGraph) -> None:
        super().__init__(4)
        self.graph = graph
        graph.update_node(1, {"age": 0})
        self._nodes = graph.count()
        #: Rounds of each thread.
        self.done = [0] * 4
        #: Seconds of each change.
        self.seconds: list[float] = []

    @staticmethod
    def _add(t: nakshi.property.Transaction) -> None:
        t.update_node(1, {"age": t.get_node_property(1, "age") + 1})

    def _work(self, number: int) -> None:
        while not self._stop.is_set():
            id = 1_000_000 * (number + 1) + self.done[number]
            began = time.monotonic()
            # Made twice, it would raise: there is such a node.
            self.graph.append_node(id)
            self.seconds.append(time.monotonic() - began)
            with self.graph.batch() as batch:
                batch.append_edge(id, "knows", 1)
                batch.update_node(id, {"age": number})
            assert self.graph.delete_edge(id, "knows", 1)
            self.graph.transact(self._add)
            self.done[number] += 1

    def wait_for(self, rounds: int) -> None:
        """Return when they have done some more rounds together, or one has failed."""
        before = sum(self.done)
        while sum(self.done) < before + rounds and not self._failed:
            time.sleep(0.001)

    def check(self, others: int = 0) -> None:
        """Compare the graph with what they have done, and with the number of nodes that others have made."""
        assert not self._failed, self._failed
        done = sum(self.done)
        assert done > 10 and self.graph.get_node_property(1, "age") == done
        assert self.graph.count() == self._nodes + done + others


class CypherWriters(Threads):
    """Threads that count in Cypher, in transactions that Neo4j's driver runs again when it has lost a server.

    Args:
        driver: knows all servers.
    """

    def __init__(self, driver: neo4j.Driver) -> None:
        super().__init__(2)
        self._driver = driver
        #: What they were told is counted.
        self.told: list[str] = []
        driver.execute_query("CREATE (:Counter {n: 0})")

    @staticmethod
    def _count(t: neo4j.ManagedTransaction, token: str) -> None:
        # It may have been made before.
        found = t.run("MATCH (d:Counted {token: $token}) RETURN d", token=token).single()
        if found is None:
            t.run(
                "MATCH (c:Counter) CREATE (:Counted {token: $token})-[:BY]->(c) SET c.n = c.n + 1",
                token=token,
            ).consume()

    def _counts(self, session: neo4j.Session, token: str) -> bool:
        """False if nobody knows: the server was lost while it committed."""
        try:
            session.execute_write(self._count, token)
        except neo4j.exceptions.IncompleteCommit:
            return False
        except neo4j.exceptions.DatabaseError as error:
            # Its server no longer leads, and has found nobody to ask.
            if "not known whether" not in str(error):
                raise
            return False
        return True

    def _work(self, number: int) -> None:
        with self._driver.session() as session:
            for turn in itertools.count():
                if self._stop.is_set():
                    return
                token = f"{number}.{turn}"
                while not self._counts(session, token):
                    pass
                self.told.append(token)

    def check(self) -> None:
        """Compare the graph with what they were told."""
        assert not self._failed, self._failed
        with self._driver.session() as session:
            found = session.execute_write(
                lambda t: t.run(
                    "MATCH (c:Counter)<-[:BY]-(d:Counted) RETURN c.n AS n, collect(d.token) AS tokens"
                ).single(strict=True)
            )
        assert found["n"] == len(self.told) > 10
        assert sorted(found["tokens"]) == sorted(self.told)


def driver_of(url: str, **options: object) -> neo4j.Driver:
    """A driver that asks any of several servers, and runs transactions again soon."""
    return neo4j.GraphDatabase.driver(
        url,
        initial_retry_delay=0.05,
        retry_delay_multiplier=1.5,
        max_transaction_retry_time=60,
        **options,
    )
