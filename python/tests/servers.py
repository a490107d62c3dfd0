"""Servers of graphs, each a process as a user starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Server:
    """A running ``nakshi serve``."""

    def __init__(self, store: Path, *options: object, listen: str = "127.0.0.1:0") -> None:
        command = [sys.executable, "-m", "nakshi", "serve", str(store), "--listen", listen]
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
