"""Kernels on a graph that a process has opened, beside gapbs, whose trials are warm, too."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
from systems import gapbs

from . import kernels, measure, product
from .graphs import Graph

#: Iterations after which PageRank has converged.
CONVERGED = 100
TITLES = {**kernels.TITLES, "diameter": "Diameter"}


def store_of(graph: Graph, threads: int) -> Path:
    """The store of a graph with its weights, imported once."""
    store = graph.folder / "graph.nakshi"
    extra = ["--weighted", "--nodes", str(graph.nodes)]
    return product.ensure(store, graph.weighted, graph.directed, extra, threads)


def arguments(kernel: str, graph: Graph) -> dict[str, Any]:
    """Arguments of a kernel in Python."""
    searches = {"source": graph.source}
    ranks = {"iterations": kernels.ITERATIONS, "tolerance": 0.0}
    given: dict[str, dict[str, Any]] = {
        "bfs": searches,
        "sssp": searches,
        "pagerank": ranks,
        "bc": {"sources": [graph.source]},
    }
    return given.get(kernel, {})


def least(kernel: str, graph: Graph, store: Path, threads: int) -> int:
    """The smallest budget of a kernel, in bytes."""
    words = [
        f"--{name}={value[0] if name == 'sources' else value}"
        for name, value in arguments(kernel, graph).items()
        if name != "tolerance"
    ]
    return product.minimum([kernel, str(store), *words, "--threads", str(threads)])


def ours(
    kernel: str, graph: Graph, store: Path, engine: str, options: argparse.Namespace
) -> tuple[list[float], Any]:
    """Seconds of a kernel, the first of which is that of the process's first run; and its last result."""
    budget = least(kernel, graph, store, options.threads) if engine == "ssd" else None
    opened = nakshi.open(store)

    def once() -> Any:
        return opened.run(
            kernel,
            engine=engine,
            threads=options.threads,
            memory=budget,
            progress=False,
            **arguments(kernel, graph),
        )

    results = [once(), once()]
    for _ in range(measure.repeats(seconds(results[1]), options.runs) - 1):
        results.append(once())
    return [seconds(result) for result in results], results[-1]


def seconds(result: Any) -> float:
    """Seconds of a run, without opening the store."""
    found: float = result.stats["seconds"]["run"]
    return found


def digest(kernel: str, result: Any) -> kernels.Digest:
    """The part of an answer that gapbs prints, too."""
    if kernel in ("bc", "pagerank"):
        return top(result)
    names = {
        "bfs": "reached",
        "sssp": "reached",
        "wcc": "components",
        "triangles": "triangles",
    }
    return {name: result.summary[name] for name in [names.get(kernel)] if name}


def top(result: Any) -> kernels.Digest:
    """The five best vertices, by the first column."""
    ids, scores = result.to_numpy()[:2]
    best = np.argsort(scores)[-5:][::-1]
    return {"top": [[int(ids[k]), float(scores[k])] for k in best]}


def anchor(
    kernel: str, graph: Graph, store: Path, results: list[Any], options: argparse.Namespace
) -> float | None:
    """Median seconds of gapbs's trials after the first, if it has the kernel and is there.

    Raises:
        SystemExit: its answer differs from one of ``results``.
    """
    if not options.gapbs or kernel not in gapbs.PROGRAMS:
        return None
    if kernel == "triangles" and graph.directed:
        return None
    timing = gapbs.run(options.gapbs, kernel, graph, options.threads, options.runs)
    theirs = timing.digest
    if kernel == "pagerank" and graph.directed:
        ranks = nakshi.open(store).pagerank(iterations=CONVERGED, tolerance=0.0)
        results = [ranks]
        theirs = gapbs.converged(options.gapbs, graph, options.threads, CONVERGED)
    for found in results:
        reason = kernels.disagreement(digest(kernel, found), theirs)
        if reason:
            raise SystemExit(f"{graph.name}, {kernel}: {reason}")
    return measure.median(timing.seconds)
