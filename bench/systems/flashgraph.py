"""FlashGraph on its SSD file system, given by path (``--flashgraph DIR``).

The folder holds ``test_algs``, ``conf.txt`` (``root_conf`` names the SAFS roots) and, for each
graph, two pairs of files, because half of FlashGraph's algorithms take directed graphs only:
``NAME`` is undirected, ``NAME-both`` holds each edge in both directions. ``*.index`` lies in the
folder, ``*.adj`` in SAFS: an adjacency file outside SAFS is read into memory. NAME is the name that
the tables show, in lower case, such as ``kron22``.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from harness import measure
from harness.graphs import Graph
from harness.kernels import ITERATIONS, Digest, Timing

BOTH = "-both"
ALGORITHMS = {
    "bfs": ("bfs", ""),
    # `wcc` would read each edge twice, in the lists of both directions; `cc` reads it once.
    "wcc": ("cc", ""),
    # `pagerank2` reads out-lists only and sends changes, as in FlashGraph's paper.
    "pagerank": ("pagerank2", BOTH),
    "bc": ("betweenness", BOTH),
}
TIMEOUT = 900
NO_VERTEX = str(2**32 - 1)


def run(
    folder: Path, kernel: str, graph: Graph, threads: int, cache: int, wanted: int | None
) -> Timing:
    """Cold runs, one process each, with a page cache of ``cache`` bytes.

    The time is that of FlashGraph's engine: opening the index and preparing the vertices, which its
    own totals contain for some algorithms only, is left out of all.
    """
    if kernel not in ALGORITHMS:
        raise measure.Skipped("FlashGraph's test program lacks it")
    algorithm, ending = ALGORITHMS[kernel]
    options = {
        "bfs": ["-e", "OUT", "-s", str(graph.source)],
        "bc": ["-s", str(graph.source)],
        "pagerank": ["-i", str(ITERATIONS)],
        "wcc": [],
    }[kernel]
    settings = {"threads": str(threads), "cache_size": f"{cache // measure.MIB}M"}
    name = graph.name.lower()
    with tempfile.TemporaryDirectory() as place:
        conf = Path(place) / "conf.txt"
        conf.write_text(_configured((folder / "conf.txt").read_text(), settings))
        digest = _components(folder, conf, name, threads) if kernel == "wcc" else {}
        words = _words(folder, conf, name + ending, algorithm, options)
        runs = measure.repeat(
            lambda: measure.run(words, threads=threads, cold=True, timeout=TIMEOUT),
            lambda ran: engine_seconds(ran.stdout),
            wanted,
        )
    digest |= _digest(kernel, runs[-1].stdout)
    seconds = [engine_seconds(ran.stdout) for ran in runs]
    peak = max(ran.peak_rss for ran in runs)
    said = ",".join(f"{key}={value}" for key, value in settings.items())
    graph_files = f"{name}{ending}.adj {name}{ending}.index"
    command = " ".join(["test_algs conf.txt", graph_files, algorithm, *options])
    return Timing(seconds, peak, digest, f"{command} # {said}")


def _configured(text: str, settings: dict[str, str]) -> str:
    """The folder's configuration with other threads and cache; the last line of a key counts."""
    return "\n".join([text, *(f"{key}={value}" for key, value in settings.items()), ""])


def _words(folder: Path, conf: Path, name: str, algorithm: str, options: list[str]) -> list[str]:
    """``test_algs CONF GRAPH INDEX ALGORITHM ...``; GRAPH is a name in SAFS, not a path."""
    index = folder / f"{name}.index"
    if not index.exists():
        raise measure.Skipped(f"no {index.name} is given")
    program = os.path.abspath(folder / "test_algs")
    return [program, str(conf), f"{name}.adj", os.path.abspath(index), algorithm, *options]


def engine_seconds(text: str) -> float:
    """Sum of the seconds of the engine's runs; betweenness has a run for each of its phases."""
    found = re.findall(r"^The graph engine takes ([0-9.]+) seconds", text, re.MULTILINE)
    if not found:
        raise measure.Skipped("FlashGraph printed no time")
    return sum(map(float, found))


def _components(folder: Path, conf: Path, name: str, threads: int) -> Digest:
    """Counts the components that `wcc` writes in a run that is not timed, because `cc` prints no answer.

    A vertex without edges has the largest id for its component.
    """
    if not (folder / f"{name}{BOTH}.index").exists():
        return {}
    out = conf.with_name("components.txt")
    words = _words(folder, conf, name + BOTH, "wcc", ["-o", str(out)])
    measure.run(words, threads=threads, timeout=TIMEOUT)
    components: set[str] = set()
    isolated = 0
    with open(out) as lines:
        for line in lines:
            component = line.split()[1]
            if component == NO_VERTEX:
                isolated += 1
            else:
                components.add(component)
    return {"components": len(components) + isolated}


def _digest(kernel: str, text: str) -> Digest:
    if kernel == "bfs":
        found = re.search(r"^BFS from v\d+ traverses (\d+) vertices", text, re.MULTILINE)
        return {"reached": int(found.group(1))} if found else {}
    if kernel == "pagerank":
        scores = re.findall(r"^v(\d+): ([0-9.]+)$", text, re.MULTILINE)
        best = sorted(scores, key=lambda entry: -float(entry[1]))[:5]
        return {"top": [[int(vertex), float(score)] for vertex, score in best]}
    return {}
