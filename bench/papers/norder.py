"""Norder, other orders and both caches (USENIX ATC 2019): Figures 1, 3, 5, 11 and 12 in kind.

    bench/papers/norder.py --data DIR                     # rutgers89, ego-twitter, cnr-2000
    bench/papers/norder.py --data DIR --only 12           # some figures

Runs read selected pages only. Table 3, what orders take to compute, is in layouts.md. Writes
docs/results/norder.md and norder-*.svg.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import nakshi  # noqa: E402
import numpy as np  # noqa: E402
import tables  # noqa: E402
import traversals  # noqa: E402
from traversals import ALGORITHMS, THREE, Graph, draw, harmonic  # noqa: E402

CACHE, CHOSEN = 0.05, 0.20
ORDERS = ["gorder", "random", "pagerank", "degree", "norder", "original", "bisection"]
SEARCHES = 16
SHUFFLED = [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8]


class Study:
    """The page, and what every figure needs."""

    def __init__(self) -> None:
        self.options = traversals.options(__doc__, "rutgers89,ego-twitter,cnr-2000")
        self.command = tables.invocation("bench/papers/norder.py")
        self.graphs = [Graph(name, self.options) for name in self.options.graphs.split(",")]
        conditions = [
            f"threads: {self.options.threads}; cold, O_DIRECT where the file system allows; "
            "selective reads, pages of 4 KiB",
            "a quarter of the lists that an algorithm reads as page cache, beyond the least memory",
            f"medians of {self.options.runs} run(s)",
        ]
        self.page = tables.Page("Orders under traversals", self.command, conditions)

    def section(self, title: str, head: list[str], rows: list[list[str]], *notes: str) -> None:
        self.page.section(title, self.command, tables.table(head, rows), notes)


def references(study: Study) -> None:
    """Figure 1: how often the list of a vertex is asked for, by in-degree."""
    rows, bands = [], [(1, 1), (2, 3), (4, 7), (8, 15), (16, 63), (64, 255), (256, None)]
    for graph in study.graphs:
        edges, store = graph.edges(), graph.store()
        ends = edges[:, 1] if graph.directed else edges.reshape(-1)
        ids, degrees = np.unique(ends, return_counts=True)
        sources = np.random.default_rng(1).choice(edges[:, 0], SEARCHES)
        asked = np.zeros(len(ids))
        for source in sources.tolist():
            found = store.bfs(source=source, progress=False)
            known, levels = found.to_numpy("level")
            reached = known[np.isfinite(levels) & (levels >= 0)]
            asked += np.isin(ids, reached)
        means = []
        for low, high in bands:
            inside = (degrees >= low) & (degrees <= (high or degrees.max()))
            means.append(asked[inside].mean() / SEARCHES if inside.any() else float("nan"))
        rows.append([graph.name, *[f"{mean:.2f}" for mean in means]])
    head = ["In-degree", *[f"{a} to {b}" if b else f"from {a}" for a, b in bands]]
    note = f"requests of a list a search, mean over {SEARCHES} searches from ends of random edges"
    study.section("Figure 1: requests of lists by in-degree", head, rows, note)


def random_and_gorder(study: Study) -> None:
    """Figure 3."""
    rows = []
    for graph in study.graphs:
        samples = {o: [graph.run(graph.store(o), n, 0.25) for n in THREE] for o in ("random", "gorder")}
        pairs = zip(samples["gorder"], samples["random"], strict=True)
        rows.append([graph.name, *[f"{a.bytes_read / b.bytes_read:.2f}" for a, b in pairs]])
    head = ["Bytes, Gorder / random", *[ALGORITHMS[name] for name in THREE]]
    study.section("Figure 3: Gorder against a random order", head, rows)


def regression(study: Study) -> None:
    """Figure 5: the cost model (equation 1) against bytes read, over partly shuffled orders."""
    rows = []
    for graph in study.graphs:
        costs, read = [], {name: [] for name in THREE}
        for order in ("pagerank", "gorder", "original"):
            for share in SHUFFLED:
                store, source = _shuffled(graph, order, share)
                costs.append(store.layout_cost(progress=False)["norder"])
                for name in THREE:
                    given = {**graph.arguments(name)}
                    if "source" in given:
                        given["source"] = source
                    if "sources" in given:
                        given["sources"] = [source]
                    memory = graph.memory(graph.store(), name, 0.25)
                    done = store.run(
                        name, engine="ssd", selective=True, memory=memory, progress=False, **given
                    )
                    read[name].append(done.stats["io"]["bytes_read"])
        squares = [np.corrcoef(costs, read[name])[0, 1] ** 2 for name in THREE]
        rows.append([graph.name, *[f"{square:.2f}" for square in squares]])
    head = ["r²", *[ALGORITHMS[name] for name in THREE]]
    note = f"{3 * len(SHUFFLED)} orders: PageRank, Gorder and that of the ids, up to 80 % shuffled"
    study.section("Figure 5: the cost model against bytes read", head, rows, note)


def _shuffled(graph: Graph, order: str, share: float) -> tuple[nakshi.Graph, int]:
    """The graph with the places of a share of its vertices shuffled, and its source's new id."""
    ids = graph.ids(order)
    draw_from = np.random.default_rng(7)
    at = draw_from.choice(len(ids), int(share * len(ids)), replace=False)
    ids[np.sort(at)] = ids[at]
    place = np.empty(ids.max() + 1, dtype=np.int64)
    place[ids] = np.arange(len(ids))
    path = graph.options.work / f"{graph.name}-shuffled.nakshi"
    shutil.rmtree(path, ignore_errors=True)
    edges = place[graph.edges()]
    store = nakshi.build(
        path, edges, directed=graph.directed, layout="original", progress=False
    )
    return store, int(place[graph.source])


def orders(study: Study) -> None:
    """Figure 11: bytes with a page cache alone, by order."""
    rows, series = [], {}
    for graph in study.graphs:
        base: list[float] = []
        for order in ORDERS:
            samples = [graph.run(graph.store(order), name, 0.25) for name in ALGORITHMS]
            read = [sample.bytes_read for sample in samples]
            base = base or read
            against = [a / b for a, b in zip(read, base, strict=True)]
            series.setdefault(order, []).append(sum(against) / len(against))
            rows.append([f"{graph.name}, {order}", *[f"{value:.2f}" for value in against]])
    head = ["Bytes / Gorder", *ALGORITHMS.values()]
    study.section("Figure 11: orders", head, rows)
    names = [graph.name for graph in study.graphs]
    picture = draw(study.options.out, "norder-figure-11", names, series, "bytes / Gorder", True)
    study.page.parts.append(picture)


def together(study: Study) -> None:
    """Figure 12: caches and orders, and the figure that must hold."""
    rows: list[list[str]] = []
    means: dict[str, list[float]] = {}
    for graph in study.graphs:
        base: list[float] = []
        for order in ("gorder", "norder", "bisection"):
            store = graph.store(order)
            for select in (None, "lowd", "gvs", "levels"):
                if select:
                    store.cache_plan(CHOSEN, select=select, progress=False)
                share = CACHE + CHOSEN
                samples = [graph.run(store, n, share, select is not None) for n in ALGORITHMS]
                read = [sample.bytes_read for sample in samples]
                base = base or read
                less = [b / a for a, b in zip(read, base, strict=True)]
                how = f"{order}, {select or 'page cache'}"
                means.setdefault(how, []).extend(less)
                rows.append([f"{graph.name}, {how}", *[f"{value:.2f}x" for value in less]])
    for how, ratios in means.items():
        rows.append([f"all, {how}", f"{harmonic(ratios):.2f}x", *[""] * (len(ALGORITHMS) - 1)])
    head = ["Bytes of Gorder with a page cache / bytes", *ALGORITHMS.values()]
    note = "the last rows: harmonic means over graphs and algorithms; the paper: 1.54x in time"
    study.section("Figure 12: orders and caches together", head, rows, note)


FIGURES: dict[str, Callable[[Study], None]] = {
    "1": references,
    "3": random_and_gorder,
    "5": regression,
    "11": orders,
    "12": together,
}


def main() -> None:
    study = Study()
    for name in (study.options.only or ",".join(FIGURES)).split(","):
        began = time.perf_counter()
        FIGURES[name](study)
        print(f"figure {name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    study.page.write(study.options.out / "norder.md")


if __name__ == "__main__":
    main()
