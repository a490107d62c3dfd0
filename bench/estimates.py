"""How far are estimates from exact values? Writes docs/results/estimates.md.

    bench/estimates.py --data DIR
    bench/estimates.py --data DIR --graphs wiki-vote --seeds 1      # a small try

Centralities by HyperBall and betweenness by sampled paths are compared, vertex by vertex, with what a search from
every vertex gives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import nakshi
import numpy as np
import real
from harness import Study, graphs, measure, study, tables, warm

#: File, and whether edges have a direction. A search from every vertex of larger graphs takes hours.
GRAPHS = {
    "wiki-vote": ("wiki-vote.edges.tsv.zst", True),
    "email-enron": ("email-enron.edges.tsv.zst", False),
    "rutgers89": real.GRAPHS["rutgers89"],
}
#: Binary logarithms of HyperBall's registers.
SIZES = (6, 8, 10)
EPSILONS = (0.01, 0.003)


Values = np.ndarray[Any, np.dtype[np.float64]]


def relative(exact: Values, found: Values) -> list[float]:
    """Mean, 95th percentile and largest relative error of the vertices with a path."""
    there = exact > 0
    errors = np.abs(found - exact)[there] / exact[there]
    return [float(errors.mean()), float(np.quantile(errors, 0.95)), float(errors.max())]


def absolute(exact: Values, found: Values) -> list[float]:
    """The largest absolute error."""
    return [float(np.abs(found - exact).max())]


def over(
    seeds: int,
    run: Callable[..., Any],
    errors: Callable[[Values, Values], list[float]],
    exact: Values,
) -> list[float]:
    """The mean of each error over seeds, and the median of the seconds."""
    results = [run(seed=seed) for seed in range(seeds)]
    found = np.mean([errors(exact, result.to_numpy()[1]) for result in results], axis=0)
    return [*found.tolist(), measure.median([warm.seconds(result) for result in results])]


def distances(page: Study, graph: graphs.Graph, opened: Any) -> None:
    """Harmonic and closeness centrality by HyperBall."""
    options = page.options
    rows = []
    for name in ("harmonic", "closeness"):
        run = partial(getattr(opened, name), threads=options.threads, progress=False)
        exact = run(exact=True)
        values = exact.to_numpy()[1]
        for log2m in SIZES:
            estimate = partial(run, log2m=log2m)
            *errors, seconds = over(options.seeds, estimate, relative, values)
            shown = [f"{100 * error:.2f} %" for error in errors]
            taken = [tables.seconds(seconds), tables.seconds(warm.seconds(exact))]
            rows.append([name, f"2^{log2m}", *shown, *taken])
            print(graph.name, *rows[-1], file=sys.stderr, flush=True)
    head = ["Centrality", "registers", "mean error", "95th percentile", "largest", "s", "exact, s"]
    page.section(f"{graph.name}: HyperBall", head, rows, "relative errors of vertices with a path")


def betweenness(page: Study, graph: graphs.Graph, opened: Any) -> None:
    """Betweenness by as many paths as an error asks for."""
    options = page.options
    run = partial(opened.betweenness, normalized=True, threads=options.threads, progress=False)
    exact = run()
    values = exact.to_numpy()[1]
    rows = []
    for epsilon in EPSILONS:
        estimate = partial(run, epsilon=epsilon)
        largest, seconds = over(options.seeds, estimate, absolute, values)
        taken = [tables.seconds(seconds), tables.seconds(warm.seconds(exact))]
        rows.append([epsilon, f"{largest:.5f}", f"{values.max():.5f}", *taken])
        print(graph.name, *rows[-1], file=sys.stderr, flush=True)
    head = ["epsilon", "largest error", "largest score", "s", "exact, s"]
    note = "absolute errors of normalised scores; delta 0.1"
    page.section(f"{graph.name}: betweenness", head, rows, note)


def main() -> None:
    parser = study.parser(__doc__, repeated=False)
    parser.add_argument("--data", type=Path, required=True, help="folder of the real graphs")
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each (default: %(default)s)")
    options = study.options(parser)
    conditions = [
        f"{options.threads} threads, in memory; errors: mean over {options.seeds} seeds; seconds: median"
    ]
    page = Study("estimates", "Estimates beside exact values", options, conditions)
    for name in options.graphs.split(","):
        file, directed = GRAPHS[name]
        graph = graphs.from_edges(name, options.data / file, options.work, None, directed)
        with nakshi.open(warm.store_of(graph, options.threads)) as opened:
            distances(page, graph, opened)
            betweenness(page, graph, opened)
        page.write()


if __name__ == "__main__":
    main()
