"""NetworkX's calls on a store beside the methods of the store, by turns in one process; prints.

    bench/nx_calls.py                            # Kron20, which it generates and imports once
    bench/nx_calls.py --scale 14 --runs 3        # a small try

Both give the same ranks, and the seconds include those of turning the result into arrays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import nakshi
import networkx as nx
import numpy as np
from harness import measure, product, study
from harness.product import NAKSHI

#: As NetworkX stops by default.
TOLERANCE = 1e-6


def main() -> None:
    parser = study.parser(__doc__, runs=5)
    parser.add_argument("--scale", type=int, default=20, help="of the graph; default: 20")
    options = study.options(parser)
    edges = options.work / f"kron{options.scale}.tsv"
    store = edges.with_suffix(".nakshi")
    if not store.exists():
        generate = ["generate", "kronecker", str(edges), "--scale", str(options.scale)]
        measure.run([*NAKSHI, *generate], threads=options.threads)
        product.import_store(edges, store, threads=options.threads)
    graph = nakshi.open(store)
    nx.config.backends.nakshi.threads = options.threads
    compare(
        "pagerank",
        lambda: graph.pagerank(tolerance=TOLERANCE, threads=options.threads).to_numpy(),
        lambda: nx.pagerank(graph, tol=TOLERANCE).to_numpy(),
        options.runs,
    )
    compare(
        "wcc",
        lambda: graph.wcc(threads=options.threads).summary["components"],
        lambda: nx.number_weakly_connected_components(graph)
        if graph.directed
        else nx.number_connected_components(graph),
        options.runs,
    )


def compare(name: str, ours: Callable[[], Any], theirs: Callable[[], Any], runs: int) -> None:
    """Prints the least seconds of both, after one run of each that counts for nothing."""
    seconds: dict[str, list[float]] = {"method": [], "NetworkX": []}
    for run in range(runs + 1):
        answers = []
        for kind, call in (("method", ours), ("NetworkX", theirs)):
            began = time.perf_counter()
            answers.append(call())
            if run:
                seconds[kind].append(time.perf_counter() - began)
        for mine, other in zip(*map(np.atleast_1d, answers)):
            assert np.array_equal(mine, other), f"{name} differs"
    method, networkx = (min(times) for times in seconds.values())
    print(
        f"{name}: {method:.3f} s by the method, {networkx:.3f} s by NetworkX's call, "
        f"{networkx / method:.3f} times"
    )


if __name__ == "__main__":
    main()
