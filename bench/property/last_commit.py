"""Times algorithms after changes of 1 % of the edges, against the same graph freshly compacted.

It prints a table: seconds of each algorithm on the last commit, on the compacted store and on the edge
lists of the import, and the seconds that the edge lists took to be brought up to date. The median of
``--runs`` runs, in memory.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from pathlib import Path

import nakshi
import numpy as np

ALGORITHMS = {
    "bfs": {"source": 0},
    "pagerank": {"iterations": 20},
    "wcc": {},
    "triangles": {},
    "cdlp": {"iterations": 5},
}


def changed(graph: nakshi.Graph, edges: np.ndarray, share: float, seed: int) -> int:
    """Deletes half of a share of the edges, and adds as many others."""
    rng = random.Random(seed)
    count = int(len(edges) * share / 2)
    ids = sorted({int(v) for edge in edges[:1000] for v in edge})
    with graph.batch() as batch:
        for row in rng.sample(range(len(edges)), count):
            batch.delete_edge(int(edges[row][0]), "edge", int(edges[row][1]))
        for row in rng.sample(range(len(edges)), count):
            batch.append_edge(int(edges[row][0]), "edge", rng.choice(ids), row)
    return 2 * count


def seconds(graph: nakshi.Graph, runs: int, **at: str) -> dict[str, float]:
    found = {}
    for name, arguments in ALGORITHMS.items():
        results = [graph.run(name, engine="memory", **arguments, **at) for _ in range(runs)]
        found[name] = statistics.median(result.stats["seconds"]["run"] for result in results)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=18, help="of the Kronecker graph")
    parser.add_argument("--share", type=float, default=0.01, help="of the edges that change")
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        nakshi.generate("kronecker", home / "edges.tsv", scale=chosen.scale, progress=False)
        edges = np.loadtxt(home / "edges.tsv", dtype=np.int64, comments="#")[:, :2]
        edges = np.unique(edges, axis=0)
        columns = {
            "source": edges[:, 0],
            "target": edges[:, 1],
            "type": np.full(len(edges), "edge"),
        }
        import polars as pl

        graph = nakshi.build(
            home / "g.nakshi", pl.DataFrame(columns), properties=True, progress=False
        )
        count = changed(graph, edges, chosen.share, 1)
        first = graph.bfs(0, engine="memory").stats["topology"]["seconds"]
        last, old = seconds(graph, chosen.runs), seconds(graph, chosen.runs, at="last_compaction")
        compaction = graph.compact(progress=False)["seconds"]
        fresh = seconds(graph, chosen.runs)
        print(
            f"{graph.num_edges:,} edges, {count:,} changed; edge lists in {first:.3f} s, "
            f"compaction in {compaction:.3f} s"
        )
        for name in ALGORITHMS:
            print(
                f"{name:<10} last commit {last[name]:.4f} s, compacted {fresh[name]:.4f} s "
                f"({last[name] / fresh[name]:.2f}x), import {old[name]:.4f} s"
            )


if __name__ == "__main__":
    main()
