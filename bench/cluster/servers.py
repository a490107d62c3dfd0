"""The graph, its store, and runs of `nakshi cluster` on it, driven as users drive it."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import graphs
import measure
import product
from graphs import Graph
from kernels import ITERATIONS

#: How the command line is told to start servers on this machine.
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
        """That have an edge."""
        return int(product.info(self.store)["vertices"])


def prepared(chosen: argparse.Namespace, scale: int) -> Input:
    """A Kronecker graph of Nakshi's generator; both directions of each edge, no vertex without one."""
    graph = graphs.kronecker(scale, chosen.work, None, product.NAKSHI, None)
    store = chosen.work / f"{graph.folder.name}-cluster.nakshi"
    return Input(graph, product.ensure(store, graph.edges, False, [], chosen.threads))


@dataclass
class Run:
    """One run on servers."""

    said: dict[str, Any]

    @property
    def steps(self) -> list[list[dict[str, float]]]:
        """Supersteps, with what each server did in them; number 0 sends the first values."""
        return list(map(list, zip(*self.said["servers"]["steps"])))

    @property
    def step_seconds(self) -> list[float]:
        """Of each superstep, on the server that took longest."""
        return [
            max(server["computation"] + server["communication"] for server in step)
            for step in self.steps
        ]

    @property
    def seconds(self) -> float:
        """Of all supersteps, on the server that took longest: what peers call the run, before results are
        collected."""
        return max(
            sum(step["computation"] + step["communication"] for step in steps)
            for steps in self.said["servers"]["steps"]
        )

    @property
    def collected(self) -> float:
        """From when the graph is loaded until the front-end has the results."""
        return float(self.said["servers"]["run"])

    @property
    def load(self) -> float:
        """Seconds to connect, read the store and tell subscriptions."""
        return float(self.said["servers"]["load"])

    @property
    def peaks(self) -> list[int]:
        """Most memory of each server's process, in bytes, as it reports it (VmHWM)."""
        return list(self.said["servers"]["peak_rss"])


def run(
    kernel: str,
    given: Input,
    processes: int,
    threads: int = 1,
    *,
    iterations: int = ITERATIONS,
    out: Path | None = None,
    text: bool = False,
) -> Run:
    """Starts the servers, runs, and ends them."""
    words = call(kernel, given, processes, threads, iterations, out, text)
    return Run(json.loads(measure.run(words, threads=threads).stdout))


def call(
    kernel: str,
    given: Input,
    processes: int,
    threads: int = 1,
    iterations: int = ITERATIONS,
    out: Path | None = None,
    text: bool = False,
) -> list[str]:
    """The command line of a run, on the store or on the text it was made of."""
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
    """What `nakshi cluster plan` says of so many servers, for values of 8 bytes."""
    numbers = ",".join(map(str, servers))
    rows: list[dict[str, Any]] = product.nakshi(
        "cluster", "plan", given.store, "--servers", numbers, "--value-bytes", 8
    )["plan"]
    return rows


@dataclass
class Sample:
    """What a system took for one kernel on so many processes, over all runs."""

    seconds: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)
    peak: int = 0

    def add(self, seconds: float, load: float | None, peak: int) -> None:
        """Another run."""
        self.seconds.append(seconds)
        if load is not None:
            self.load.append(load)
        self.peak = max(self.peak, peak)

    @property
    def median(self) -> float:
        """Of the seconds of the run."""
        return measure.median(self.seconds)
