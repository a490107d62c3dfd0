"""Programs of users beside the built-in kernels; writes docs/results/programs.md.

    bench/programs.py                               # Kron22
    bench/programs.py --scale 16 --runs 3           # a small try

PageRank, breadth-first search and components: the kernel, the same as a program on blocks in Rust
(`variant="block"`), as a program in Python that Numba has compiled before, and as the vertex and pull programs;
in memory and from the SSD. Then PageRank on local workers, built in and in Python; and the requests of the
vertex program, beside the fewest that could do. All answers are compared
before a time is taken. Runs of one table go by turns; times are those of the run, without opening the store.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness
import nakshi
import nakshi.cluster
import numpy as np
from harness import measure, product, study

FAR = 4_294_967_295
ITERATIONS = 10


@nakshi.program(
    value="f4",
    init=lambda n, out_degree: (1 / n / max(out_degree, 1), 1 / n if out_degree == 0 else 0.0),
    adds=True,
)
def ranks(v: Any, neighbors: Any, values: Any, out_degree: Any, n: Any, totals: Any) -> Any:
    """The share for each neighbour; vertices without out-edges add their rank to the totals."""
    total = 0.0
    for u in neighbors:
        total += values[u]
    rank = 0.15 / n + 0.85 * (total + totals[1] / n)
    return rank / max(out_degree[v], 1), (rank if out_degree[v] == 0 else 0.0)


@nakshi.program(
    value="u4",
    init=lambda source: 0 if source else FAR,
    send=lambda value: value + 1,
    combine="any",
    wants=lambda value: value == FAR,
)
def levels(message: Any) -> Any:
    return message


@nakshi.program(
    value="u4",
    init=lambda v: v,
    send=lambda value: value,
    combine="min",
    links="both",
    wants=lambda value: value > 0,
    eager=True,
)
def components(value: Any, message: Any) -> Any:
    return min(value, message)


class Study(harness.Study):
    """The page, and the graph of its parts."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"Kron{options.scale}, edge factor {options.edge_factor}, undirected; {options.threads} threads",
            f"PageRank: {ITERATIONS} iterations; times of the run in seconds, without opening the store",
        ]
        super().__init__("programs", "Programs of users", options, conditions)
        edges = options.work / f"programs-{options.scale}.tsv"
        store = options.work / f"programs-{options.scale}.nakshi"
        if not store.exists():
            size = ["--scale", options.scale, "--edge-factor", options.edge_factor]
            product.nakshi("generate", "kronecker", *size, edges)
            product.import_store(edges, store, extra=["--undirected"], threads=options.threads)
        self.graph = nakshi.open(store)
        self.hub = self.graph.degrees().top(1)[0][0]


def seconds(result: Any) -> float:
    found: float = result.stats["seconds"]["run"]
    return found


def kinds(study: Study, engine: str) -> dict[str, dict[str, Callable[[], Any]]]:
    """The ways to compute each algorithm."""
    graph, hub = study.graph, study.hub
    common: dict[str, Any] = {"engine": engine, "threads": study.options.threads, "progress": False}
    pagerank = {"iterations": ITERATIONS, "tolerance": 0.0}

    def named(name: str, variant: str, given: dict[str, Any]) -> Callable[[], Any]:
        return lambda: graph.run(name, variant=variant, **given, **common)

    def program(one: Any, **given: Any) -> Callable[[], Any]:
        return lambda: graph.run(one, **given, **common)

    return {
        "PageRank": {
            "kernel": named("pagerank", "pull", pagerank),
            "Rust, blocks": named("pagerank", "block", pagerank),
            "Python": program(ranks, iterations=ITERATIONS),
            "pull program": named("pagerank", "pull-program", pagerank),
        },
        "BFS": {
            "kernel": named("bfs", "direct", {"source": hub}),
            "Rust, blocks": named("bfs", "block", {"source": hub}),
            "Python": program(levels, sources=[hub]),
            "vertex program": named("bfs", "vertex", {"source": hub}),
        },
        "WCC": {
            "kernel": named("wcc", "direct", {}),
            "Rust, blocks": named("wcc", "block", {}),
            "Python": program(components),
            "vertex program": named("wcc", "vertex", {}),
        },
    }


def same(study: Study, algorithm: str, first: Any, other: Any, python: bool) -> None:
    """Fails if two results differ."""
    one, two = (result.to_numpy()[1] for result in (first, other))
    if algorithm == "PageRank":
        if python:
            degrees = np.maximum(study.graph.degrees().to_numpy()[1], 1)
            two = two * degrees
        np.testing.assert_allclose(two / two.sum(), one / one.sum(), rtol=1e-4)
    elif algorithm == "BFS":
        assert (np.where(np.isfinite(one), one, FAR) == np.where(np.isfinite(two), two, FAR)).all()
    else:
        labels = len(set(one.tolist()))
        assert (
            len(set(zip(one.tolist(), two.tolist(), strict=True)))
            == labels
            == len(set(two.tolist()))
        )


def measured(ways: dict[str, Callable[[], Any]], runs: int) -> dict[str, list[float]]:
    """Times of each way, by turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(runs):
        for name in list(ways) if turn % 2 == 0 else list(reversed(ways)):
            times[name].append(seconds(ways[name]()))
    return times


def engines(study: Study) -> None:
    """Adds a table for each engine."""
    for engine in ("memory", "ssd"):
        rows = []
        for algorithm, ways in kinds(study, engine).items():
            found = {name: way() for name, way in ways.items()}
            for name, result in found.items():
                same(study, algorithm, found["kernel"], result, name == "Python")
            times = measured(ways, study.options.runs)
            for name, taken in times.items():
                ratios = [a / b for a, b in zip(taken, times["kernel"], strict=True)]
                rows.append(
                    [
                        algorithm,
                        name,
                        f"{measure.median(taken):.4f}",
                        f"{measure.median(ratios):.2f}x",
                    ]
                )
        place = "in memory" if engine == "memory" else "from the SSD"
        study.section(f"Beside the kernels, {place}", ["", "way", "seconds", "of the kernel"], rows)


def workers(study: Study) -> None:
    """Adds the table of local workers."""
    graph, count = study.graph, study.options.workers
    common: dict[str, Any] = {"local": count, "progress": False}
    ways = {
        "built in": lambda: nakshi.cluster.run(
            graph, "pagerank", iterations=ITERATIONS, tolerance=0.0, **common
        ),
        "Python": lambda: nakshi.cluster.run(ranks, graph, iterations=ITERATIONS, **common),
    }
    found = {name: way() for name, way in ways.items()}
    same(study, "PageRank", found["built in"], found["Python"], True)
    times = measured(ways, study.options.runs)
    rows = []
    for name, taken in times.items():
        ratios = [a / b for a, b in zip(taken, times["built in"], strict=True)]
        rows.append([name, f"{measure.median(taken):.3f}", f"{measure.median(ratios):.2f}x"])
    study.section(f"PageRank on {count} local workers", ["program", "seconds", "of built in"], rows)


def requests(study: Study) -> None:
    """Adds the requests of FlashGraph's way to read, which the example `requests` counts."""
    build = "cargo build --release --quiet -p nakshi-engine --example requests".split()
    root = harness.study.ROOT
    measure.run([*build, "--manifest-path", root / "Cargo.toml"], threads=study.options.threads)
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    # In the order of degrees the first vertex is a hub.
    call = [
        target / "release" / "examples" / "requests",
        study.graph.path,
        0,
        study.options.threads,
    ]
    said = measure.run(list(map(str, call)), threads=study.options.threads).stdout
    rows = []
    for line in said.splitlines():
        one = json.loads(line)
        ratio = f"{one['requests'] / one['fewest']:.2f}x" if one["fewest"] else ""
        rows.append([str(one["level"]), f"{one['vertices']:,}", f"{one['requests']:,}"])
        rows[-1] += [f"{one['fewest']:,}", ratio]
    head = ["level", "vertices", "requests", "fewest possible", "ratio"]
    note = (
        "fewest possible: all vertices of a level ask at once, their pages are sorted, and adjacent ones "
        "merged into reads of up to 256 KiB; pages that the cache has need no request"
    )
    study.section("Requests of a search by the vertex program, single lists only", head, rows, note)


PARTS: dict[str, Callable[[Study], None]] = {
    "engines": engines,
    "workers": workers,
    "requests": requests,
}


def main() -> None:
    parser = study.parser(__doc__, runs=5, parts=PARTS)
    parser.add_argument("--scale", type=int, default=22, help="default: %(default)s")
    parser.add_argument("--edge-factor", type=int, default=16, help="default: %(default)s")
    parser.add_argument("--workers", type=int, default=4, help="default: %(default)s")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
