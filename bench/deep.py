"""Deep graphs: paths and grids, on which searches have many small levels; writes docs/results/deep.md.

    bench/deep.py --gapbs DIR                          # a million vertices, beside gapbs
    bench/deep.py --vertices 10000 --runs 1            # a small try
    bench/deep.py --only levels                        # time per level by depth alone

A path and a square grid, with ids in order and shuffled, as `nakshi generate` makes them. Runs are those of one
process that has opened the store, after a first one that is not counted; gapbs's are its trials after the first.
Counts of vertices reached, components, and the best scores are compared before a time is shown.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness
from harness import graphs, measure, product, study, tables, warm

KERNELS = ("bfs", "sssp", "wcc", "bc", "diameter")
KINDS = [(kind, shuffled) for kind in ("path", "grid") for shuffled in (False, True)]


class Study(harness.Study):
    """The page."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"{options.vertices:,} vertices, undirected, weights of 1 to 255; {options.threads} threads",
            "seconds of a run after the first, without opening the store; SSD: the smallest budget that "
            "`nakshi estimate` allows, and the page cache of the system as the runs before left it",
            "gapbs: in memory, its trials after the first; SSSP with a delta of 2; it has no diameter",
        ]
        super().__init__("deep", "Deep graphs", options, conditions)


def graph_of(study: Study, kind: str, shuffled: bool, vertices: int) -> graphs.Graph:
    """A graph in the formats of both systems, made once."""
    options = study.options
    name = f"{kind}-{vertices}{'-shuffled' if shuffled else ''}"
    edges = options.work / f"{name}.tsv"
    if not edges.exists():
        call = ["generate", kind, "--vertices", vertices, edges, *["--shuffle"][: int(shuffled)]]
        product.nakshi(*call)
    return graphs.from_edges(name, edges, options.work, options.gapbs, directed=False)


def compared(study: Study) -> None:
    """The kernels on each graph, beside gapbs."""
    options = study.options
    for kind, shuffled in KINDS:
        graph = graph_of(study, kind, shuffled, options.vertices)
        store = warm.store_of(graph, options.threads)
        rows = []
        for kernel in KERNELS:
            print(graph.name, kernel, file=sys.stderr, flush=True)
            memory, result = warm.ours(kernel, graph, store, "memory", options)
            ssd, other = warm.ours(kernel, graph, store, "ssd", options)
            gapbs = warm.anchor(kernel, graph, store, [result, other], options)
            times = [measure.median(memory[1:]), measure.median(ssd[1:]), gapbs]
            ratios = [tables.ratio(one / gapbs if gapbs else None) for one in times[:2]]
            rows.append([warm.TITLES[kernel], *map(tables.seconds, times), *ratios])
        head = ["Kernel", "memory, s", "SSD, s", "gapbs, s", "memory / gapbs", "SSD / gapbs"]
        title = f"{kind.capitalize()}, {'shuffled ids' if shuffled else 'ids in order'}"
        study.section(title, head, rows)


def levels(study: Study) -> None:
    """Time of a run over its levels, on shuffled paths of growing length."""
    rows = []
    sizes = [study.options.vertices // 10**k for k in (2, 1, 0)]
    for vertices in sizes:
        graph = graph_of(study, "path", True, vertices)
        store = warm.store_of(graph, study.options.threads)
        row = [f"{vertices:,}"]
        for kernel in KERNELS:
            times, result = warm.ours(kernel, graph, store, "memory", study.options)
            # Each of the sweeps of a diameter goes along the path.
            rounds = result.summary["sweeps"] if kernel == "diameter" else 1
            row.append(f"{measure.median(times[1:]) / rounds / vertices * 1e9:.0f} ns")
        rows.append(row)
    note = "A run over the vertices of the path, each of which is a level or half of one; memory."
    study.section(
        "Time per level, shuffled paths",
        ["Vertices", *(warm.TITLES[kernel] for kernel in KERNELS)],
        rows,
        note,
    )


PARTS = {"kernels": compared, "levels": levels}


def main() -> None:
    parser = study.parser(__doc__, parts=PARTS)
    parser.add_argument("--vertices", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--gapbs", type=Path, help="folder of gapbs's programs")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
