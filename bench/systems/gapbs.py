"""gapbs, the in-memory anchor: its programs are given by path (``--gapbs DIR``)."""

from __future__ import annotations

import re
from pathlib import Path

from harness import measure
from harness.graphs import Graph
from harness.kernels import ITERATIONS, Digest, Timing

PROGRAMS = {
    "bfs": "bfs",
    "pagerank": "pr",
    "wcc": "cc",
    "sssp": "sssp",
    "bc": "bc",
    "triangles": "tc",
}


def command(
    folder: Path, kernel: str, graph: Graph, trials: int, iterations: int = ITERATIONS
) -> list[str]:
    """The call of gapbs's own reference run; PageRank runs all its iterations."""
    options = {
        "bfs": ["-r", str(graph.source)],
        "pagerank": ["-i", str(iterations), "-t", "0"],
        "wcc": [],
        "sssp": ["-r", str(graph.source), "-d", "2"],
        "bc": ["-r", str(graph.source), "-i", "1"],
        "triangles": [],
    }[kernel]
    file = graph.wsg if kernel == "sssp" else graph.sg
    program = str(folder / PROGRAMS[kernel])
    return [program, "-f", str(file), "-n", str(trials), "-a", *options]


def run(folder: Path, kernel: str, graph: Graph, threads: int, wanted: int | None) -> Timing:
    """One process that loads the graph and repeats the kernel, as gapbs does."""
    if kernel == "triangles" and graph.directed:
        raise measure.Skipped("gapbs counts triangles of undirected graphs only")
    first = measure.run(command(folder, kernel, graph, 1), threads=threads)
    trials = measure.repeats(trial_times(first.stdout)[0], wanted)
    # The first trial warms up and is not counted.
    words = command(folder, kernel, graph, trials + 1)
    ran = measure.run(words, threads=threads) if trials > 1 else first
    seconds = trial_times(ran.stdout)
    seconds = seconds[1:] or seconds
    return Timing(seconds, ran.peak_rss, _digest(kernel, ran.stdout, graph.source), " ".join(words))


def converged(folder: Path, graph: Graph, threads: int, iterations: int) -> Digest:
    """The best vertices after so many iterations of PageRank. gapbs loses the rank of vertices without
    out-edges, so that until it converges its ranks are not in proportion to those of others."""
    words = command(folder, "pagerank", graph, 1, iterations)
    return _digest("pagerank", measure.run(words, threads=threads).stdout, graph.source)


def trial_times(text: str) -> list[float]:
    """Seconds of each trial, which gapbs prints."""
    seconds = [float(value) for value in re.findall(r"Trial Time:\s+([0-9.]+)", text)]
    if not seconds:
        raise measure.Skipped("gapbs printed no trial time")
    return seconds


def _digest(kernel: str, text: str, source: int) -> Digest:
    patterns = {
        "bfs": ("reached", r"BFS Tree has (\d+) nodes"),
        "wcc": ("components", r"There are (\d+) components"),
        "sssp": ("reached", r"SSSP Tree reaches (\d+) nodes"),
        "triangles": ("triangles", r"(\d+) triangles"),
    }
    if kernel in patterns:
        name, pattern = patterns[kernel]
        found = re.search(pattern, text)
        return {name: int(found.group(1))} if found else {}
    top = [
        [int(vertex), float(score)]
        for vertex, score in re.findall(r"^(\d+):([0-9.e+-]+)$", text, re.MULTILINE)
    ]
    if kernel == "bc":
        # gapbs counts the dependency of the source itself, which betweenness leaves out.
        top = [entry for entry in top if entry[0] != source]
    return {"top": top}
