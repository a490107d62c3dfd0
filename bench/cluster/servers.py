"""Runs on several servers: graphs and their stores, the command line, and what the servers report."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import graphs, measure, product
from harness.graphs import Graph
from harness.kernels import ITERATIONS

#: Option that starts servers on this machine.
LOCAL = "--local"
TINY = 10
"""Scale of a graph that takes next to no time and memory."""


@dataclass(frozen=True)
class Input:
    """A graph and its store."""

    graph: Graph
    store: Path

    @property
    def vertices(self) -> int:
        """Number of vertices, all of which have an edge."""
        return int(product.info(self.store)["vertices"])


def prepared(chosen: argparse.Namespace, scale: int) -> Input:
    """A Kronecker graph of Nakshi's generator, undirected, without isolated vertices."""
    graph = graphs.kronecker(scale, chosen.work, None, product.NAKSHI, None)
    store = chosen.work / f"{graph.folder.name}-cluster.nakshi"
    return Input(graph, product.ensure(store, graph.edges, False, [], chosen.threads))


PHASES = ("computation", "communication")


@dataclass(frozen=True)
class Run:
    """The servers' report of one run: ``servers`` of `nakshi cluster run --json`."""

    servers: dict[str, Any]

    def of(self, name: str, *, first: int = 1) -> list[list[float]]:
        """A row for each server with a figure of each superstep from ``first`` on, such as ``sent``.

        Step 0 sends first values and computes nothing.
        """
        return [[step[name] for step in steps[first:]] for steps in self.servers["steps"]]

    @property
    def supersteps(self) -> int:
        """Number of supersteps, without step 0."""
        return len(self.servers["steps"][0]) - 1

    @property
    def step_seconds(self) -> list[float]:
        """Seconds of each superstep, step 0 included, on the server that took longest."""
        return [max(step) for step in zip(*self._each())]

    @property
    def seconds(self) -> float:
        """Seconds of all supersteps on the server that took longest, by the servers' own clocks.

        Peers call that the run; it ends before results are collected.
        """
        return max(map(sum, self._each()))

    @property
    def each(self) -> float:
        """Mean seconds of a superstep on the server that took longest, without step 0."""
        return max(sum(steps[1:]) / self.supersteps for steps in self._each())

    def _each(self) -> list[list[float]]:
        computation, communication = (self.of(phase, first=0) for phase in PHASES)
        return [list(map(sum, zip(*pair))) for pair in zip(computation, communication)]

    @property
    def collected(self) -> float:
        """Seconds from when the graph is loaded until the front-end has the results."""
        return float(self.servers["run"])

    @property
    def load(self) -> float:
        """Seconds to connect, read the store and exchange subscriptions."""
        return float(self.servers["load"])

    @property
    def rest(self) -> float:
        """Seconds of all but the supersteps: connecting, loading, partition, collecting results."""
        return self.load + self.collected - self.seconds

    @property
    def peaks(self) -> list[int]:
        """Peak memory of each server's process, in bytes, as it reports it (VmHWM), loading included."""
        return list(self.servers["peak_rss"])


def run(kernel: str, given: Input, processes: int, threads: int = 1, **how: Any) -> Run:
    """Starts the servers, runs, and ends them; ``how`` is for :func:`call`."""
    return said(call(kernel, given, processes, threads, **how), threads)[0]


def said(words: list[str], threads: int) -> tuple[Run, dict[str, Any]]:
    """Runs a command line of :func:`call`; returns the servers' report and the summary of the result."""
    found = json.loads(measure.run(words, threads=threads).stdout)
    return Run(found["servers"]), found["result"]


def call(
    kernel: str,
    given: Input,
    processes: int,
    threads: int = 1,
    *,
    iterations: int = ITERATIONS,
    out: Path | None = None,
    text: bool = False,
) -> list[str]:
    """The command line of a run, on the store or on the text that the store was made of."""
    graph = [given.graph.edges, "--undirected"] if text else [given.store]
    words: list[object] = [*product.NAKSHI, "cluster", "run", kernel, *graph, "--json"]
    words += [LOCAL, processes, "--threads", threads, "--no-progress"]
    if kernel == "pagerank":
        words += ["--iterations", iterations]
    if kernel == "bfs":
        words += ["--source", given.graph.source]
    if out is not None:
        words += ["--out", out]
    return list(map(str, words))


def plan(given: Input, servers: list[int]) -> list[dict[str, Any]]:
    """Rows of `nakshi cluster plan` for these numbers of servers and values of 8 bytes."""
    numbers = ",".join(map(str, servers))
    rows: list[dict[str, Any]] = product.nakshi(
        "cluster", "plan", given.store, "--servers", numbers, "--value-bytes", 8
    )["plan"]
    return rows


@dataclass
class Sample(measure.Runs):
    """All runs of one kernel by one system on a number of processes."""

    load: list[float] = field(default_factory=list)

    def add(self, seconds: float, load: float | None, peak: int) -> None:
        """Adds a run."""
        self.seconds.append(seconds)
        if load is not None:
            self.load.append(load)
        self.peak = max(self.peak, peak)
