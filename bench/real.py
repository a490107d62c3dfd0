"""Real graphs in a process that has opened them, beside gapbs; writes docs/results/real.md.

    bench/real.py --gapbs DIR --data DIR                        # all graphs and kernels
    bench/real.py --gapbs DIR --data DIR --graphs cnr-2000 --kernels bfs,sssp
    bench/real.py --gapbs DIR --data DIR --only memory          # or ssd

Times are those of a run after the first, as gapbs's are of its trials after the first, and of the process's
first run. Answers are compared before a time is shown.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness
from harness import graphs, kernels, measure, product, study, tables, warm

#: Graphs by name: the file of their edges, and whether these have a direction.
GRAPHS = {
    "facebook100": ("facebook100.edges.parquet", False),
    "cnr-2000": ("cnr-2000.edges.tsv.zst", True),
    "ego-twitter": ("ego-twitter-dir.edges.tsv.zst", True),
    "rutgers89": ("rutgers89.edges.tsv.zst", False),
}
#: The name of the generated graph with locality, and its mean degree.
GENERATED = "hyperbolic"
DEGREE = 32
PLACES = {"memory": "In memory", "ssd": "From the SSD, with the least budget"}


class Study(harness.Study):
    """The page."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"{options.threads} threads; PageRank: {kernels.ITERATIONS} iterations",
            "seconds of a run without opening the store; SSD: the smallest budget that `nakshi estimate` "
            "allows, and the page cache of the system as the runs before left it",
            "gapbs: in memory, its trials after the first; SSSP with a delta of 2; no triangles of directed "
            "graphs",
        ]
        super().__init__("real", "Real graphs", options, conditions)

    def inputs(self) -> list[graphs.Graph]:
        """The graphs that were asked for."""
        options = self.options
        found = []
        for name in options.graphs.split(","):
            if name == GENERATED:
                edges, directed = generated(options), False
            else:
                file, directed = GRAPHS[name]
                edges = options.data / file
            found.append(graphs.from_edges(name, edges, options.work, options.gapbs, directed))
        return found


def generated(options: argparse.Namespace) -> Path:
    """The edges of a random hyperbolic graph, generated once."""
    vertices = options.edges * 2 // DEGREE
    path: Path = options.work / f"{GENERATED}-{options.edges}.tsv"
    if not path.exists():
        size = ["--vertices", str(vertices), "--degree", str(DEGREE)]
        product.nakshi("generate", GENERATED, *size, path, threads=options.threads)
    return path


def compared(study: Study, engine: str) -> None:
    """All kernels on all graphs, beside gapbs."""
    options = study.options
    rows, ratios = [], []
    for graph in study.inputs():
        store = warm.store_of(graph, options.threads)
        for kernel in options.kernels.split(","):
            print(graph.name, kernel, engine, file=sys.stderr, flush=True)
            times, result = warm.ours(kernel, graph, store, engine, options)
            gapbs = warm.anchor(kernel, graph, store, [result], options)
            own = measure.median(times[1:])
            if gapbs:
                ratios.append(own / gapbs)
            shown = [tables.seconds(value) for value in (times[0], own, gapbs)]
            ratio = tables.ratio(own / gapbs if gapbs else None)
            rows.append([graph.name, warm.TITLES[kernel], *shown, ratio])
    head = ["Graph", "Kernel", "first run, s", "later runs, s", "gapbs, s", "later / gapbs"]
    notes = []
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        notes = [f"geometric mean {mean:.2f}x, most {max(ratios):.2f}x"]
    study.section(PLACES[engine], head, rows, *notes)


PARTS: dict[str, Callable[[Study], None]] = {
    engine: lambda study, engine=engine: compared(study, engine) for engine in PLACES
}


def main() -> None:
    parser = study.parser(__doc__, parts=PARTS)
    parser.add_argument("--data", type=Path, required=True, help="folder of the graphs")
    names = ",".join([*GRAPHS, GENERATED])
    parser.add_argument("--graphs", default=names, help="default: %(default)s")
    size = "edges of the generated graph, about (default: %(default)s)"
    parser.add_argument("--edges", type=int, default=100_000_000, help=size)
    parser.add_argument("--kernels", default=",".join(kernels.KERNELS), help="default: all")
    parser.add_argument("--gapbs", type=Path, help="folder of gapbs's programs")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
