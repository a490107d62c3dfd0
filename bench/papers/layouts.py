"""Orders of the vertices: their costs, and the time of computing them.

    bench/papers/layouts.py --data DIR                       # all of GRAPHS
    bench/papers/layouts.py --data DIR --graphs rutgers89    # a small try

In kind: Bondhu's cost against the number of communities (I. Hoque's thesis, Figure 5.6a), levels of
merging (5.7a), organ pipe (5.8) and models (5.9); Norder's Table 3 (USENIX ATC 2019). Writes
docs/results/layouts.md and layouts-*.svg.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import nakshi
import numpy as np
import pyarrow.parquet as pq
from harness import Study, pictures, product, study, tables

GRAPHS = {
    "rutgers89": ("rutgers89.edges.tsv.zst", False),
    "ego-twitter": ("ego-twitter-dir.edges.tsv.zst", True),
    "cnr-2000": ("cnr-2000.edges.tsv.zst", True),
    "facebook100": ("facebook100.edges.parquet", False),
}
ORDERS = [
    "random",
    "original",
    "degree",
    "pagerank",
    "organ-pipe",
    "norder",
    "gorder",
    "bondhu-parcom",
    "bondhu-modcom",
    "bisection",
]
COMMUNITIES = [2, 8, 32, 64, 128, 256]
LEVELS = [0, 1, 2, 3, 4]
MODELS = ["uniform", "preferential", "overlap"]
REMOVED = [0.05, 0.2, 0.4]
GROWN: dict[str, dict[str, int]] = {"bondhu-parcom": {"communities": 64}, "bisection": {}}


class Layouts:
    """Orders of one graph, each written once and measured: one of :data:`GRAPHS`, or `kron` and the
    scale of a Kronecker graph."""

    def __init__(self, name: str, data: Path, work: Path, threads: int) -> None:
        self.name, self.work, self.threads = name, work, threads
        file, self.directed = GRAPHS.get(name, ("", False))
        edges = data / file
        if name not in GRAPHS:
            edges = work / f"{name}.tsv"
            if not edges.exists():
                nakshi.generate("kronecker", edges, scale=int(name.removeprefix("kron")))
        extra = ["--layout", "original"]
        store = work / f"{name}-original.nakshi"
        self.store = product.ensure(store, edges, self.directed, extra, threads)

    def edges(self) -> np.ndarray:
        """All edges, by ids, of shape `(num_edges, 2)`."""
        file = self.work / f"{self.name}-edges.parquet"
        nakshi.export(self.store, file, progress=False)
        table = pq.read_table(file)
        file.unlink()
        return np.stack([table.column(k).to_numpy().astype(np.int64) for k in (0, 1)], axis=1)

    def measure(self, order: str, *parameters: object) -> dict[str, Any]:
        """Seconds of the order, and its costs."""
        new = self.work / f"{self.name}-new.nakshi"
        shutil.rmtree(new, ignore_errors=True)
        threads = ["--threads", self.threads]
        told = ["--order", order, *parameters]
        made = product.nakshi("layout", self.store, new, *told, *threads, threads=self.threads)
        costs = product.nakshi("cost", new, *threads, threads=self.threads)
        return {**costs, "seconds": made["seconds"]["order"]}


def orders(page: Study, layouts: Layouts, tried: Sequence[str] = tuple(ORDERS)) -> None:
    """Orders of a graph in one table."""
    rows, chance = [], None
    for order in tried:
        print(f"{layouts.name} {order}", file=sys.stderr, flush=True)
        wanted: list[str] = []
        if order == "bondhu-parcom" and layouts.name == "rutgers89":
            wanted = ["--communities", "64"]
        found = layouts.measure(order, *wanted)
        chance = chance or found
        rows.append(
            [
                " ".join([order, *wanted]),
                tables.seconds(found["seconds"]),
                _share(found, chance, "linear_arrangement"),
                _share(found, chance, "norder"),
                f"{found['pages_per_neighbourhood']:.2f}",
                f"{found['log2_gap']:.2f}",
                f"{found['bytes_per_entry']:.3f}",
            ]
        )
    head = ["Order", "computed, s", "linear arrangement / random", "Norder's cost / random"]
    head += ["pages a neighbourhood", "log2 gap", "B per entry"]
    notes = [
        "linear arrangement: equation 3.2 of the thesis; Norder's cost: equation 1 of its paper"
    ]
    page.section(layouts.name, head, rows, *notes)


def _share(found: dict[str, Any], chance: dict[str, Any], measure: str) -> str:
    return f"{found[measure] / chance[measure]:.3f}"


def bondhu(page: Study, layouts: Layouts) -> None:
    """Communities, levels and models of Bondhu on one graph, and a picture of the first."""
    chance = layouts.measure("random")
    rows, costs = [], []
    tries: list[tuple[str, list[object]]] = [
        *[("bondhu-parcom", ["--communities", count]) for count in COMMUNITIES],
        *[("bondhu-modcom", ["--level", level]) for level in LEVELS],
        *[("bondhu-parcom", ["--communities", 64, "--model", model]) for model in MODELS],
        ("bondhu-parcom", ["--communities", 64, "--sides", "alternate"]),
    ]
    for order, parameters in tries:
        found = layouts.measure(order, *parameters)
        costs.append(found["linear_arrangement"] / chance["linear_arrangement"])
        name = " ".join([order, *map(str, parameters)])
        rows.append([name, tables.seconds(found["seconds"]), f"{costs[-1]:.3f}"])
    head = ["Order", "computed, s", "linear arrangement / random"]
    levels = {}
    for order in ("organ-pipe", "bisection"):
        found = layouts.measure(order)
        share = found["linear_arrangement"] / chance["linear_arrangement"]
        levels[order.replace("-", " ")] = share
    title = f"Bondhu on {layouts.name}: communities, levels, models"
    note = "the thesis: a steep gain up to 32 communities, flat from 64; levels and models alike"
    page.section(title, head, rows, note)
    page.picture(
        pictures.lines,
        "bondhu",
        list(map(str, COMMUNITIES)),
        {"ParCom": costs[: len(COMMUNITIES)]},
        "linear arrangement / random",
        steps="communities",
        levels=levels,
    )


def evolution(page: Study, layouts: Layouts) -> None:
    """Figure 5.10, and incremental layouts: an order of a part of the graph is extended to all of it."""
    edges, draw = layouts.edges(), np.random.default_rng(1)
    chance = layouts.measure("random")["linear_arrangement"]
    rows = []
    for part in ("edges", "vertices"):
        for share in REMOVED:
            if part == "edges":
                less = edges[draw.random(len(edges)) >= share]
            else:
                gone = draw.random(edges.max() + 1) < share
                less = edges[~gone[edges].any(axis=1)]
            cells = [f"{share:.0%} of the {part} unknown"]
            for order, parameters in GROWN.items():
                found = _extended(layouts, less, order, parameters)
                cells.append(f"{found['linear_arrangement'] / chance:.3f}")
                cells.append(tables.seconds(found["seconds"]))
            rows.append(cells)
    cells = ["all"]
    for order, parameters in GROWN.items():
        found = layouts.measure(order, *[f"--{name}={value}" for name, value in parameters.items()])
        cells.append(f"{found['linear_arrangement'] / chance:.3f}")
        cells.append(tables.seconds(found["seconds"]))
    rows.append(cells)
    head = ["Known when the order was made"]
    head += ["ParCom 64", "extending, s", "bisection", "extending, s"]
    notes = [
        "linear arrangement / random; known vertices keep their order, others are placed beside "
        "their neighbours (--order extend); the last row: the order of all, and its seconds",
    ]
    title = f"Figure 5.10: a graph that grows, {layouts.name}"
    page.section(title, head, rows, *notes)


def _extended(
    layouts: Layouts, less: np.ndarray, order: str, parameters: dict[str, int]
) -> dict[str, Any]:
    """Measures the graph in an order that was computed from some of its edges and then extended."""
    old, laid = (layouts.work / f"{layouts.name}-{name}.nakshi" for name in ("old", "laid"))
    for path in (old, laid):
        shutil.rmtree(path, ignore_errors=True)
    directed = GRAPHS[layouts.name][1]
    first = nakshi.build(old, less, directed=directed, layout="original", progress=False)
    first.relayout(laid, order, progress=False, **parameters)  # type: ignore[arg-type]
    return layouts.measure("extend", "--like", laid)


def parser(text: str | None, graphs: str, **shared: Any) -> argparse.ArgumentParser:
    """The options that every study of orders takes; ``shared`` is for ``study.parser``."""
    made = study.parser(text, **shared)
    made.add_argument("--data", type=Path, required=True, help="folder with the graphs")
    made.add_argument("--graphs", default=graphs, help="default: %(default)s")
    return made


def main() -> None:
    options = study.options(parser(__doc__, ",".join(GRAPHS), repeated=False))
    conditions = [f"threads: {options.threads}; Gorder uses one"]
    page = Study("layouts", "Orders of the vertices", options, conditions)
    for name in options.graphs.split(","):
        layouts = Layouts(name, options.data, options.work, options.threads)
        orders(page, layouts)
        if name == "rutgers89":
            bondhu(page, layouts)
            evolution(page, layouts)
    page.write()


if __name__ == "__main__":
    main()
