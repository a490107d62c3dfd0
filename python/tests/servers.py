"""Servers of graphs, each a process as a user starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import nakshi


class Server:
    """A running ``nakshi serve``; `wrap` is the beginning of a command that runs the rest elsewhere."""

    def __init__(
        self,
        store: Path,
        *options: object,
        listen: str = "127.0.0.1:0",
        wrap: Sequence[str] = (),
    ) -> None:
        command = [*wrap, sys.executable, "-m", "nakshi", "serve", str(store), "--listen", listen]
        self.process = subprocess.Popen(
            [*command, *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline().split()
        if not line:
            raise RuntimeError(self.process.stderr.read())
        assert line[0] == "ready", line
        urls = {url.partition(":")[0]: url for url in line[1:]}
        #: As ``nakshi://HOST:PORT``.
        self.address = urls["nakshi"]
        #: As ``http://HOST:PORT``; only with ``--http``.
        self.http = urls.get("http", "")

    @property
    def listen(self) -> str:
        """As ``HOST:PORT``."""
        return self.address.removeprefix("nakshi://")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(timeout=30)
        assert self.process.stdout is not None and self.process.stderr is not None
        #: What it wrote to standard error.
        self.log = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
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


class Writers:
    """Threads that change a graph with a node 1 in all ways, and count what they have done."""

    def __init__(self, graph: nakshi.RemoteGraph) -> None:
        self.graph = graph
        graph.update_node(1, {"age": 0})
        self._nodes = graph.count()
        #: Rounds of each thread.
        self.done = [0] * 4
        #: Seconds of each change.
        self.seconds: list[float] = []
        self._failed: list[BaseException] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(i,)) for i in range(4)]

    @staticmethod
    def _add(t: nakshi.property.Transaction) -> None:
        t.update_node(1, {"age": t.get_node_property(1, "age") + 1})

    def _write(self, number: int) -> None:
        try:
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
        except BaseException as error:
            self._failed.append(error)

    def wait_for(self, rounds: int) -> None:
        """Return when they have done some more rounds together, or one has failed."""
        before = sum(self.done)
        while sum(self.done) < before + rounds and not self._failed:
            time.sleep(0.001)

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def check(self) -> None:
        """Compare the graph with what they have done."""
        assert not self._failed, self._failed
        done = sum(self.done)
        assert done > 10 and self.graph.get_node_property(1, "age") == done
        assert self.graph.count() == self._nodes + done
