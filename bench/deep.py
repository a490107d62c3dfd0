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
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness
import nakshi
import numpy as np
from harness import graphs, kernels, measure, product, study, tables
from systems import gapbs

TITLES = {
    **{name: kernels.TITLES[name] for name in ("bfs", "sssp", "wcc", "bc")},
    "diameter": "Diameter",
}
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


def store_of(study: Study, graph: graphs.Graph) -> Path:
    """The store of a graph with its weights, imported once."""
    store = graph.folder / "graph.nakshi"
    return product.ensure(store, graph.weighted, False, ["--weighted"], study.options.threads)


def arguments(kernel: str, graph: graphs.Graph) -> dict[str, Any]:
    """Arguments of a kernel in Python."""
    given = {"bfs": {"source": graph.source}, "sssp": {"source": graph.source}}
    return {**given, "bc": {"sources": [graph.source]}}.get(kernel, {})


def ours(
    study: Study, kernel: str, graph: graphs.Graph, store: Path, engine: str
) -> tuple[float, Any]:
    """The median time of a kernel, and its last result."""
    options = study.options
    budget = None
    if engine == "ssd":
        told = {name: value for name, value in arguments(kernel, graph).items()}
        words = [
            f"--{name}={value[0] if name == 'sources' else value}" for name, value in told.items()
        ]
        budget = product.minimum([kernel, str(store), *words, "--threads", str(options.threads)])
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

    once()
    results = [once()]
    for _ in range(measure.repeats(seconds(results[0]), options.runs) - 1):
        results.append(once())
    return measure.median([seconds(result) for result in results]), results[-1]


def seconds(result: Any) -> float:
    found: float = result.stats["seconds"]["run"]
    return found


def digest(kernel: str, result: Any) -> kernels.Digest:
    """The part of an answer that gapbs prints, too."""
    if kernel == "bc":
        ids, scores = result.to_numpy()
        best = np.argsort(scores)[-5:][::-1]
        return {"top": [[int(ids[k]), float(scores[k])] for k in best]}
    names = {"bfs": "reached", "sssp": "reached", "wcc": "components"}
    return {name: result.summary[name] for name in [names.get(kernel)] if name}


def compared(study: Study) -> None:
    """The kernels on each graph, beside gapbs."""
    for kind, shuffled in KINDS:
        graph = graph_of(study, kind, shuffled, study.options.vertices)
        store = store_of(study, graph)
        rows = []
        for kernel, title in TITLES.items():
            print(graph.name, title, file=sys.stderr, flush=True)
            memory, result = ours(study, kernel, graph, store, "memory")
            ssd, other = ours(study, kernel, graph, store, "ssd")
            anchor = None
            if study.options.gapbs and kernel in gapbs.PROGRAMS:
                timing = gapbs.run(
                    study.options.gapbs, kernel, graph, study.options.threads, study.options.runs
                )
                for found in (result, other):
                    reason = kernels.disagreement(digest(kernel, found), timing.digest)
                    if reason:
                        raise SystemExit(f"{graph.name}, {kernel}: {reason}")
                anchor = measure.median(timing.seconds)
            rows.append(
                [
                    title,
                    tables.seconds(memory),
                    tables.seconds(ssd),
                    tables.seconds(anchor),
                    tables.ratio(memory / anchor if anchor else None),
                    tables.ratio(ssd / anchor if anchor else None),
                ]
            )
        head = ["Kernel", "memory, s", "SSD, s", "gapbs, s", "memory / gapbs", "SSD / gapbs"]
        title = f"{kind.capitalize()}, {'shuffled ids' if shuffled else 'ids in order'}"
        study.section(title, head, rows)


def levels(study: Study) -> None:
    """Time of a run over its levels, on shuffled paths of growing length."""
    rows = []
    sizes = [study.options.vertices // 10**k for k in (2, 1, 0)]
    for vertices in sizes:
        graph = graph_of(study, "path", True, vertices)
        store = store_of(study, graph)
        row = [f"{vertices:,}"]
        for kernel in TITLES:
            took, result = ours(study, kernel, graph, store, "memory")
            # Each of the sweeps of a diameter goes along the path.
            rounds = result.summary["sweeps"] if kernel == "diameter" else 1
            row.append(f"{took / rounds / vertices * 1e9:.0f} ns")
        rows.append(row)
    note = "A run over the vertices of the path, each of which is a level or half of one; memory."
    study.section("Time per level, shuffled paths", ["Vertices", *TITLES.values()], rows, note)


PARTS = {"kernels": compared, "levels": levels}


def main() -> None:
    parser = study.parser(__doc__, parts=PARTS)
    parser.add_argument("--vertices", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--gapbs", type=Path, help="folder of gapbs's programs")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
