"""Servers of a cluster that tests disturb, and assertions on the disturbed runs."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
from nakshi.placement import LocalWorkers
from rig import CommandLine

#: Algorithms with parameters for which a run has some hundred supersteps on a graph of `banded`. All
#: values change in a superstep of PageRank, and few in a superstep of the others.
ALGORITHMS: dict[str, dict[str, Any]] = {
    "pagerank": {"iterations": 400},
    "sssp": {"source": 1},
    "wcc": {},
}
#: Supersteps from one checkpoint to the next.
EVERY = 10
#: Seconds after which a run that hangs is an error.
LIMIT = 90.0
#: Most seconds from the notice of a loss until the lost servers are replaced.
REPLACED = 10.0


def banded(path: Path, vertices: int, seed: int = 1) -> Path:
    """A store of a weighted graph with edges between near ids only, whose paths are long."""
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, vertices, 4 * vertices)
    others = np.clip(ends + draw.integers(-15, 16, ends.size), 0, vertices - 1)
    edges = (ends, others, draw.random(ends.size))
    nakshi.build(path, edges=edges, weighted=True, progress=False)
    return path


def workers_left() -> int:
    """Workers that this process has started and that have not ended, frozen ones included."""
    call = ["ps", "--ppid", str(os.getpid()), "-o", "args="]
    listed = subprocess.run(call, capture_output=True, text=True, check=False)
    return sum("nakshi worker" in line for line in listed.stdout.splitlines())


class Servers(LocalWorkers):
    """Workers of this machine whose processes a test can reach by number."""

    #: Called with a server that is about to be replaced.
    replacing: Callable[[int], object] = staticmethod(lambda server: None)

    def replace(self, server: int) -> str:
        self.replacing(server)
        return super().replace(server)

    def pid(self, server: int) -> int:
        return self._workers[server]._process.pid

    def send(self, number: signal.Signals, *servers: int) -> None:
        for server in servers:
            os.kill(self.pid(server), number)

    def kill(self, *servers: int) -> None:
        # All are killed at once, so that none reports the loss of another one.
        self.send(signal.SIGSTOP, *servers)
        self.send(signal.SIGKILL, *servers)


class Listening:
    """Workers that listen until the test is over, as on other hosts."""

    def __init__(self, nakshi: CommandLine) -> None:
        self._nakshi = nakshi
        self.processes: list[subprocess.Popen[str]] = []
        self.addresses: list[str] = []
        self.token = secrets.token_hex(16)

    @property
    def known(self) -> dict[str, Any]:
        """Arguments of a run on these workers."""
        return {"hosts": self.addresses, "token": self.token}

    def start(self, listen: str = "127.0.0.1:0", allow: Path | None = None, **options: Any) -> None:
        """Starts a worker to which front-ends may name files below a folder; by default all temporary files."""
        words = ["worker", "--listen", listen, "--json", "--until-eof", "--token-file", "-"]
        words += ["--allow", str(allow or tempfile.gettempdir())]
        process = self._nakshi.start(*words, stdin=subprocess.PIPE, **options)
        self.processes.append(process)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(self.token + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        self.addresses.append(json.loads(line)["address"])

    def __enter__(self) -> Listening:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@dataclass
class Strikes:
    """A `watch` of a run that strikes when a superstep is over: one strike for each start of the servers."""

    todo: list[tuple[int, Callable[[], object]]]
    done: int = 0
    told: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, told: dict[str, Any]) -> None:
        self.told.append(told)
        starts = 1 + sum("recovered" in one for one in self.told)
        if self.done < min(starts, len(self.todo)) and "step" in told:
            step, act = self.todo[self.done]
            if told["step"] >= step:
                self.done += 1
                act()


def assert_same(found: nakshi.Result, wanted: nakshi.Result) -> None:
    """Asserts results equal to the bit, with every superstep of every server counted once."""
    for ours, theirs in zip(found.to_numpy(), wanted.to_numpy(), strict=True):
        assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()
    assert found.summary == wanted.summary
    numbers = list(range(wanted.stats["iterations"] + 1))
    for steps in found.stats["servers"]["steps"]:
        assert [step["step"] for step in steps] == numbers


def assert_taken_up(
    found: nakshi.Result,
    *lost: set[int],
    every: int | None = None,
    slack: int = 0,
    replaced: float = REPLACED,
) -> None:
    """Asserts that these servers were lost in this order, and that each loss cost at most the supersteps
    since the last checkpoint and `slack` more, or all supersteps where there are no checkpoints."""
    recoveries = found.stats["servers"]["recoveries"]
    assert [set(recovery["lost"]) for recovery in recoveries] == list(lost), recoveries
    for recovery in recoveries:
        reached, begun = recovery["reached"], recovery["from"]
        assert recovery["seconds"] < replaced, recovery
        if every is None:
            assert begun is None, recovery
        elif begun is None:
            assert reached is None or reached < every + slack, recovery
        else:
            assert begun % every == 0 and reached - begun < every + slack, recovery
