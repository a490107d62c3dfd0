"""Base of the studies of orders and caches: a page, graphs in any order, selective runs.

Runs are cold, read selected pages only and count bytes, which do not depend on how fast this
machine's disk is; where time is the question, a blkio throttle makes the disk slow.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import layouts
import nakshi
import numpy as np
from harness import kernels, measure, pictures, product, study

#: The paper's names of its six algorithms.
ALGORITHMS = kernels.short("bfs", "diameter", "bc", "sssp", "apsp", "wcc")
THREE = ["bfs", "diameter", "bc"]
#: Graphs on which every figure is measured.
SMALL = "rutgers89,ego-twitter,cnr-2000"
#: A slow disk, in bytes a second: a hundredth of this machine's, since graphs are as much smaller.
SLOW = 20_000_000


@dataclasses.dataclass
class Sample:
    """One run, means over sources, or medians of several runs."""

    bytes_read: float
    seconds: float
    open_seconds: float
    hits: float
    misses: float
    pinned_hits: float
    requested: float
    utilisation: float | None


class Graph:
    """One graph in stores of any order, page size and encoding."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name, self.options = name, options
        self.layouts = layouts.Layouts(name, options.data, options.work, options.threads)
        self.directed = self.layouts.directed
        self.sources = self._sources()

    def edges(self) -> np.ndarray:
        """All edges, by ids, of shape `(num_edges, 2)`."""
        return self.layouts.edges()

    def ids(self, order: str) -> np.ndarray:
        """All ids in the order of a store."""
        edges, nodes = (self.options.work / f"{self.name}-{part}.tsv" for part in ("e", "n"))
        nakshi.export(self.store(order).path, edges, nodes=nodes, progress=False)
        found = np.loadtxt(nodes, dtype=np.int64)
        edges.unlink()
        nodes.unlink()
        return found

    def _sources(self) -> list[int]:
        """The ids of the vertex with most out-edges and of others that are drawn by them."""
        ends = self.edges()[:, 0] if self.directed else self.edges().reshape(-1)
        ids, counts = np.unique(ends, return_counts=True)
        drawn = np.random.default_rng(1).choice(ends, self.options.sources - 1)
        return [int(ids[counts.argmax()]), *map(int, drawn)]

    def store(
        self, order: str = "original", page: int = 4096, encoding: str = "packed"
    ) -> nakshi.Graph:
        """The graph in this order; written once."""
        path = self.options.work / f"{self.name}-{order}-{page}-{encoding}.nakshi"
        if not path.exists():
            given = {"order": order, "page_size": page, "encoding": encoding}
            given["threads"] = self.options.threads
            nakshi.open(self.layouts.store)._relayout(path, given, False)
        return nakshi.open(path)

    def memory(self, store: nakshi.Graph, algorithm: str, share: float) -> int:
        """Bytes of the least budget that works, and of this share of the lists that the algorithm reads."""
        given = settings(algorithm, self.sources)[0]
        needed = store.estimate(algorithm, threads=self.options.threads, selective=True, **given)
        return int(needed["minimum"]) + int(share * needed["lists"])

    def run(
        self,
        store: nakshi.Graph,
        algorithm: str,
        share: float,
        static: bool = False,
        *,
        memory: int | None = None,
        sources: Sequence[int] = (),
    ) -> Sample:
        """Selective runs in this process with ``share`` of the lists as memory, or with ``memory`` bytes."""
        memory = memory or self.memory(store, algorithm, share)
        samples = []
        for _ in range(self.options.runs):
            each = []
            for given in settings(algorithm, sources or self.sources):
                done = store.run(
                    algorithm,
                    engine="ssd",
                    selective=True,
                    static_cache=static,
                    memory=memory,
                    threads=self.options.threads,
                    progress=False,
                    **given,
                )
                each.append(_sample(done.stats))
            samples.append(_one(each, statistics.mean))
        return _one(samples, statistics.median)

    def run_slowly(
        self, store: nakshi.Graph, algorithm: str, share: float, static: bool = False
    ) -> Sample:
        """Does the runs of :meth:`run` in processes of their own, from a disk of :data:`SLOW` bytes a second."""
        memory = self.memory(store, algorithm, share)
        call = [*product.NAKSHI, "run", algorithm, store.path, "--engine", "ssd", "--selective"]
        call += ["--json", "--no-progress", "--memory", str(memory)]
        call += ["--threads", str(self.options.threads)] + (["--static-cache"] if static else [])
        option = {"bfs": "--source", "bc": "--sources"}.get(algorithm)
        sources = [[option, str(source)] for source in self.sources] if option else [[]]
        samples = []
        for _ in range(self.options.runs):
            each = []
            for words in sources:
                ran = measure.run(
                    [*call, *words], threads=self.options.threads, cold=True, disk=SLOW
                )
                each.append(_sample({**json.loads(ran.stdout), "per_iteration": []}))
            samples.append(_one(each, statistics.mean))
        return _one(samples, statistics.median)


def settings(algorithm: str, sources: Sequence[int]) -> list[dict[str, Any]]:
    """The paper's settings, with fewer sources of BC; a run each."""
    if algorithm == "bfs":
        return [{"source": source} for source in sources]
    if algorithm == "bc":
        return [{"sources": [source]} for source in sources]
    if algorithm == "sssp":
        return [{"source": source, "unit": True} for source in sources]
    return [{"apsp": {"sample": 128}, "wcc": {"variant": "vertex"}}.get(algorithm, {})]


def _sample(stats: dict[str, Any]) -> Sample:
    io, seconds = stats["io"], stats["seconds"]
    return Sample(
        io["bytes_read"],
        seconds["run"],
        seconds["open"],
        io["hits"] - io["pinned_hits"],
        io["misses"],
        io["pinned_hits"],
        sum(step["frontier"] for step in stats["per_iteration"]),
        io["page_utilisation"],
    )


def _one(samples: list[Sample], middle: Callable[[list[float]], float]) -> Sample:
    """Combines samples field by field, and takes the utilisation of the last."""
    fields = [field.name for field in dataclasses.fields(Sample) if field.name != "utilisation"]
    values = {name: middle([getattr(sample, name) for sample in samples]) for name in fields}
    return Sample(**values, utilisation=samples[-1].utilisation)


def change(share: float) -> str:
    """A share as its difference from 1, in percent."""
    return f"{share - 1:+.0%}"


class Study(study.Study):
    """The page of one paper, and the graphs on which its figures are measured.

    Args:
        text: docstring of the program.
        name: name of the page.
        title: heading of the page.
        conditions: conditions that the paper's figures have beside those of all traversals.
        figures: functions that measure the figures, by name.
        graphs: default of ``--graphs``.
    """

    def __init__(
        self,
        text: str | None,
        name: str,
        title: str,
        conditions: Sequence[str],
        figures: Mapping[str, Callable[[Study], None]],
        graphs: str = SMALL,
    ) -> None:
        parser = layouts.parser(text, graphs, runs=1, parts=figures)
        parser.add_argument(
            "--sources", type=int, default=4, help="of each search; default: %(default)s"
        )
        options = study.options(parser)
        shared = [
            f"threads: {options.threads}; cold, O_DIRECT where the file system allows; selective reads",
            f"BFS, BC and SP: means over {options.sources} sources, of which one is the vertex with most "
            "out-edges and the others are drawn by degree",
        ]
        super().__init__(name, title, options, [*shared, *conditions])
        self.graphs = [Graph(graph, options) for graph in options.graphs.split(",")]

    def draw(
        self,
        name: str,
        ticks: list[str],
        series: dict[str, list[float]],
        label: str,
        *,
        bars: bool = False,
    ) -> None:
        """Lines or bars over named steps, below the last section."""
        self.picture(pictures.bars if bars else pictures.lines, name, ticks, series, label)
