"""LFGraph (chapters 2 and 4 of the thesis): Figures 2.3 to 2.7 and 4.1 to 4.14 in kind.

    bench/papers/lfgraph.py --data DIR                        # Kron20; its plans also of real graphs
    bench/papers/lfgraph.py --scale 12 --runs 1 --only 2.3,4.1    # a small try
    bench/papers/lfgraph.py --namespaces --only namespaces    # as root

Servers are processes of this machine, which share its cores: what is sent, kept and how evenly is as on
so many machines, seconds are not. PowerGraph does not run here; what it would send comes from the
equations of section 2.4. Writes docs/results/lfgraph.md and lfgraph-figure-*.svg.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import layouts
import lfgraph_plans
import lfgraph_runs
import nakshi
import numpy as np
import pyarrow.parquet as pq
from cluster.namespaces import Link
from harness import product

#: Graphs of --data whose plans are drawn; the undirected ones are in both directions.
REAL = ["facebook100", "ego-twitter", "cnr-2000"]
#: Log-normal graphs have 2^scale vertices over these (section 4.4).
PARTS = (128, 64, 32, 16)


@dataclasses.dataclass(frozen=True)
class Input:
    """A store and its name."""

    name: str
    store: Path
    directed: bool
    source: int = 0
    """Vertex at which searches begin."""

    @property
    def file(self) -> str:
        """The name as a part of file names."""
        return self.name.lower().replace(", ", "-").replace(" ", "-")

    def in_degrees(self) -> np.ndarray:
        """In-degree of every id, 0 included."""
        edges = self.store.with_suffix(".parquet")
        nakshi.export(self.store, edges, progress=False)
        table = pq.read_table(edges)
        edges.unlink()
        ends = [table.column(k).to_numpy() for k in ((1,) if self.directed else (0, 1))]
        return np.bincount(np.concatenate(ends))


class Study(harness.Study):
    """The page, and the graphs, each made when a figure first wants it."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"servers are processes of this machine, started for every run; computation workers of each: "
            f"{options.threads}; the store is in the page cache",
            "a time is that of the run of the median",
            "answers are compared with those of one machine before a time is written",
        ]
        title = "LFGraph: servers, messages and balance"
        super().__init__("lfgraph", title, options, conditions)

    def made(self, name: str, kind: str, directed: bool, **parameters: int) -> Input:
        """A generated graph. Searches begin at the source of its first edge, which is drawn by out-degree."""
        work = self.options.work
        text = work / f"lfgraph-{kind}-{'-'.join(map(str, parameters.values()))}.tsv"
        if not text.exists():
            nakshi.generate(kind, text, progress=False, **parameters)
        store = text.with_name(f"{text.stem}-{'directed' if directed else 'undirected'}.nakshi")
        product.ensure(store, text, directed, [], self.options.threads)
        with text.open() as lines:
            source = int(lines.readline().split()[0])
        return Input(name, store, directed, source)

    @functools.cached_property
    def directed(self) -> Input:
        """The directed graph, in place of Twitter."""
        scale = self.options.scale
        return self.made(f"Kron{scale}, directed", "kronecker", True, scale=scale)

    @functools.cached_property
    def undirected(self) -> Input:
        """The undirected graph, with the same edges in both directions (4.2.7)."""
        scale = self.options.scale
        return self.made(f"Kron{scale}, undirected", "kronecker", False, scale=scale)

    @functools.cached_property
    def small(self) -> Input:
        """A smaller graph for triangles, whose values are lists of neighbours."""
        scale = self.options.triangle_scale or max(4, self.options.scale - 2)
        return self.made(f"Kron{scale}, undirected", "kronecker", False, scale=scale)

    @functools.cached_property
    def tiny(self) -> Input:
        """A graph so small that a superstep is all overhead."""
        return self.made("Kron4, undirected", "kronecker", False, scale=4)

    @functools.cached_property
    def growing(self) -> list[Input]:
        """Log-normal graphs of several sizes."""
        sizes = [max(256, (1 << self.options.scale) // part) for part in PARTS]
        return [
            self.made(f"{size:,} vertices", "log-normal", True, vertices=size)
            for size in dict.fromkeys(sizes)
        ]

    @functools.cached_property
    def analysed(self) -> list[Input]:
        """Graphs for the analysis."""
        found = [self.directed, self.undirected]
        if self.options.data:
            given = self.options.data, self.options.work, self.options.threads
            for name in REAL:
                graph = layouts.Layouts(name, *given)
                found.append(Input(name, graph.store, graph.directed))
        return found


FIGURES: dict[str, Callable[[Study], None]] = {**lfgraph_plans.FIGURES, **lfgraph_runs.FIGURES}


def main() -> None:
    parser = harness.study.parser(__doc__, threads=1, parts=FIGURES)
    parser.add_argument("--data", type=Path, help="folder with real graphs; default: none")
    parser.add_argument("--scale", type=int, default=20, help="of the Kronecker graph")
    parser.add_argument(
        "--triangle-scale", type=int, help="of the one for triangles; default: 2 less"
    )
    parser.add_argument("--servers", default="1,2,4,8", help="default: %(default)s")
    parser.add_argument("--namespaces", action="store_true", help="run on links of their own, too")
    parser.add_argument("--rate", default="1gbit", help="of a namespace's link, for tc [1gbit]")
    parser.add_argument("--delay", default="", help="of it, such as 0.1ms; needs netem [none]")
    options = harness.study.options(parser)
    options.servers = [int(count) for count in options.servers.split(",")]
    options.link = Link(options.rate, options.delay)
    Study(options).measure(FIGURES)


if __name__ == "__main__":
    main()
