"""What the studies of orders and caches share: graphs, stores in any order, selective runs.

Runs are cold, read selected pages only and count bytes, which do not depend on how fast this machine's
disk is; where time is the question, a blkio throttle makes the disk slow.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import layouts  # noqa: E402
import measure  # noqa: E402
import nakshi  # noqa: E402
import numpy as np  # noqa: E402
import product  # noqa: E402

#: The paper's names of its six algorithms.
ALGORITHMS = {
    "bfs": "BFS",
    "diameter": "DIAM",
    "bc": "BC",
    "sssp": "SP",
    "apsp": "APSP",
    "wcc": "WCC",
}
THREE = ["bfs", "diameter", "bc"]
#: A slow disk, in bytes a second: a hundredth of this machine's, since graphs are as much smaller.
SLOW = 20_000_000


@dataclasses.dataclass
class Sample:
    """One run, or the medians of several."""

    bytes_read: float
    seconds: float
    open_seconds: float
    hits: int
    misses: int
    pinned_hits: int
    requested: int
    utilisation: float | None


class Graph:
    """One graph in stores of any order, page size and encoding."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name, self.options = name, options
        self.directed = layouts.GRAPHS[name][1]
        self.layouts = layouts.Layouts(name, options.data, options.work, options.threads)
        self.original = self.layouts.store
        self.source = self._hub()

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

    def _hub(self) -> int:
        """The id of the vertex with most out-edges, as a source that reaches much."""
        edges = self.edges()
        ids, counts = np.unique(edges[:, 0] if self.directed else edges, return_counts=True)
        return int(ids[counts.argmax()])

    def store(
        self, order: str = "original", page: int = 4096, encoding: str = "packed", **parameters: Any
    ) -> nakshi.Graph:
        """The graph in this order; written once."""
        words = [self.name, order, *map(str, parameters.values()), str(page), encoding]
        path = self.options.work / f"{'-'.join(words)}.nakshi"
        if not path.exists():
            self.relayout(path, order, page_size=page, encoding=encoding, **parameters)
        return nakshi.open(path)

    def relayout(self, path: Path, order: str, **parameters: Any) -> dict[str, Any]:
        """Writes the store anew and says what it took."""
        shutil.rmtree(path, ignore_errors=True)
        given = {"order": order, "threads": self.options.threads, **parameters}
        return nakshi.open(self.original)._relayout(path, given, False)

    def arguments(self, algorithm: str) -> dict[str, Any]:
        """The paper's settings, with fewer sources of BC."""
        return {
            "bfs": {"source": self.source},
            "bc": {"sources": [self.source]},
            "sssp": {"source": self.source, "unit": True},
            "apsp": {"sample": 128},
            "wcc": {"variant": "vertex"},
        }.get(algorithm, {})

    def memory(self, store: nakshi.Graph, algorithm: str, share: float) -> int:
        """The least that works, and this share of the lists that the algorithm reads."""
        needed = store.estimate(
            algorithm, threads=self.options.threads, selective=True, **self.arguments(algorithm)
        )
        return int(needed["minimum"]) + int(share * needed["lists"])

    def run(
        self, store: nakshi.Graph, algorithm: str, share: float, static: bool = False
    ) -> Sample:
        """Selective runs in this process with `share` of the lists as memory."""
        memory = self.memory(store, algorithm, share)
        samples = []
        for _ in range(self.options.runs):
            done = store.run(
                algorithm,
                engine="ssd",
                selective=True,
                static_cache=static,
                memory=memory,
                threads=self.options.threads,
                progress=False,
                **self.arguments(algorithm),
            )
            samples.append(_sample(done.stats))
        return _median(samples)

    def run_slowly(
        self, store: nakshi.Graph, algorithm: str, share: float, static: bool = False
    ) -> Sample:
        """As :meth:`run`, each in its own process, from a disk of :data:`SLOW` bytes a second."""
        memory = self.memory(store, algorithm, share)
        words = {
            "bfs": ["--source", str(self.source)],
            "bc": ["--sources", str(self.source)],
        }.get(algorithm, [])
        call = [*product.NAKSHI, "run", algorithm, store.path, *words, "--engine", "ssd"]
        call += ["--selective", "--json", "--no-progress", "--memory", str(memory)]
        call += ["--threads", str(self.options.threads)] + (["--static-cache"] if static else [])
        samples = []
        for _ in range(self.options.runs):
            ran = measure.run(call, threads=self.options.threads, cold=True, disk=SLOW)
            said = json.loads(ran.stdout)
            samples.append(_sample({**said, "per_iteration": []}))
        return _median(samples)


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


def _median(samples: list[Sample]) -> Sample:
    """Field by field; the utilisation of the last."""
    middle = {
        field.name: statistics.median(getattr(sample, field.name) for sample in samples)
        for field in dataclasses.fields(Sample)
        if field.name != "utilisation"
    }
    return Sample(**middle, utilisation=samples[-1].utilisation)


def options(text: str, graphs: str) -> argparse.Namespace:
    """The arguments that every study takes."""
    root = HERE.parent.parent
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the graphs")
    parser.add_argument("--graphs", default=graphs, help="default: %(default)s")
    parser.add_argument("--only", help="figures, separated by commas; default: all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1, help="medians of so many; default: %(default)s")
    parser.add_argument("--work", type=Path, default=root / "target" / "bench")
    parser.add_argument("--out", type=Path, default=root / "docs" / "results")
    chosen = parser.parse_args()
    for folder in (chosen.work, chosen.out):
        folder.mkdir(parents=True, exist_ok=True)
    return chosen


def harmonic(ratios: list[float]) -> float:
    """The mean of ratios as the paper takes it."""
    return statistics.harmonic_mean(ratios)


def change(share: float) -> str:
    """A share of something as what it is more or less."""
    return f"{share - 1:+.0%}"


def draw(
    out: Path,
    name: str,
    ticks: list[str],
    series: dict[str, list[float]],
    label: str,
    bars: bool = False,
) -> str:
    """Lines or bars over named steps as SVG; returns the Markdown that shows them."""
    import study

    figure, axes = study._axes()
    width = 0.8 / max(1, len(series))
    for number, (legend, values) in enumerate(series.items()):
        if bars:
            shift = (number - (len(series) - 1) / 2) * width
            axes.bar([at + shift for at in range(len(ticks))], values, width, label=legend)
        else:
            axes.plot(range(len(ticks)), values, marker="o", label=legend)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize="small")
    figure.savefig(out / f"{name}.svg", metadata={"Date": None})
    return f"![{label}]({name}.svg)"
