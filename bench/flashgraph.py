"""FlashGraph on its SSD file system, given by path (``--flashgraph DIR``).

The folder holds ``test_algs``, ``conf.txt`` (SAFS roots set up as FlashGraph's manual says) and, for
each graph, ``NAME.adj`` and ``NAME.index`` made by FlashGraph's own converter; NAME is the name
that the tables show in lower case, such as ``kron22``.
"""

from __future__ import annotations

import re
from pathlib import Path

import measure
from gapbs import Result
from graphs import Graph
from kernels import ITERATIONS, Digest

ALGORITHMS = {"bfs": "bfs", "pagerank": "pagerank", "wcc": "wcc", "bc": "betweenness"}


def run(
    folder: Path, kernel: str, graph: Graph, threads: int, cache: int, wanted: int | None
) -> Result:
    """Cold runs, one process each, with a page cache of ``cache`` bytes."""
    if kernel not in ALGORITHMS:
        raise measure.Skipped("FlashGraph's test program lacks it")
    files = [folder / f"{graph.name.lower()}.{ending}" for ending in ("adj", "index")]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        raise measure.Skipped(f"no {', '.join(missing)} in {folder}")
    settings = f"threads={threads},cache_size={cache // measure.MIB}M"
    words = [folder / "test_algs", "-c", settings, folder / "conf.txt", *files, ALGORITHMS[kernel]]
    words += {"pagerank": ["-i", str(ITERATIONS)]}.get(kernel, [])
    words += ["-s", str(graph.source)] if kernel in ("bfs", "bc") else []
    seconds: list[float] = []
    trials, peak, digest = 1, 0, {}
    while len(seconds) < trials:
        ran = measure.run(words, threads=threads, cold=True, timeout=900)
        text = ran.stdout + ran.stderr
        found = re.findall(r"takes? ([0-9.]+) seconds", text)
        if not found:
            raise measure.Skipped("FlashGraph printed no time")
        seconds.append(float(found[-1]))
        peak = max(peak, ran.peak_rss)
        digest = _digest(kernel, text)
        trials = measure.repeats(seconds[0], wanted)
    return Result(seconds, peak, digest, " ".join(map(str, words)))


def _digest(kernel: str, text: str) -> Digest:
    if kernel == "wcc":
        found = re.search(r"(\d+) components", text)
        return {"components": int(found.group(1))} if found else {}
    return {}
