"""Norder, other orders and both caches (USENIX ATC 2019): Figures 1, 3, 5, 11 and 12 in kind.

    bench/papers/norder.py --data DIR                     # rutgers89, ego-twitter, cnr-2000
    bench/papers/norder.py --data DIR --only 12           # some figures

Runs read selected pages only. Table 3, what orders take to compute, is in layouts.md. Writes
docs/results/norder.md and norder-*.svg.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Sequence

import nakshi
import numpy as np
from traversals import ALGORITHMS, THREE, Graph, Study

CACHE, CHOSEN = 0.05, 0.20
ORDERS = ["gorder", "random", "pagerank", "degree", "norder", "original", "bisection"]
SEARCHES = 16
SHUFFLED = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
CONDITIONS = [
    "pages of 4 KiB unless stated otherwise",
    "page cache: a quarter of the lists that an algorithm reads, beyond the least memory",
]


def references(study: Study) -> None:
    """Figure 1: requests of a vertex's list, by in-degree."""
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
    """Figure 3: Gorder against a random order."""
    rows = []
    for graph in study.graphs:
        gorder = [graph.run(graph.store("gorder"), name, 0.25) for name in THREE]
        random = [graph.run(graph.store("random"), name, 0.25) for name in THREE]
        pairs = zip(gorder, random, strict=True)
        rows.append([graph.name, *[f"{a.bytes_read / b.bytes_read:.2f}" for a, b in pairs]])
    head = ["Bytes, Gorder / random", *[ALGORITHMS[name] for name in THREE]]
    study.section("Figure 3: Gorder against a random order", head, rows)


def regression(study: Study, shuffled: Sequence[float] = SHUFFLED) -> None:
    """Figure 5: the cost model (equation 1) against bytes read, over partly shuffled orders."""
    rows = []
    for graph in study.graphs:
        costs, read = [], {name: [] for name in THREE}
        for order in ("pagerank", "gorder", "original"):
            for share in shuffled:
                store, sources = _shuffled(graph, order, share)
                costs.append(store.layout_cost(progress=False)["norder"])
                for name in THREE:
                    memory = graph.memory(graph.store(), name, 0.25)
                    ran = graph.run(store, name, 0.25, memory=memory, sources=sources)
                    read[name].append(ran.bytes_read)
        squares = [np.corrcoef(costs, read[name])[0, 1] ** 2 for name in THREE]
        rows.append([graph.name, *[f"{square:.2f}" for square in squares]])
    head = ["r²", *[ALGORITHMS[name] for name in THREE]]
    note = f"{3 * len(shuffled)} orders: PageRank, Gorder and that of the ids, up to 80 % shuffled"
    study.section("Figure 5: the cost model against bytes read", head, rows, note)


def _shuffled(graph: Graph, order: str, share: float) -> tuple[nakshi.Graph, list[int]]:
    """The graph with the places of a share of its vertices shuffled, and its sources' new ids."""
    ids = graph.ids(order)
    draw_from = np.random.default_rng(7)
    at = draw_from.choice(len(ids), int(share * len(ids)), replace=False)
    ids[np.sort(at)] = ids[at]
    place = np.empty(ids.max() + 1, dtype=np.int64)
    place[ids] = np.arange(len(ids))
    path = graph.options.work / f"{graph.name}-shuffled.nakshi"
    shutil.rmtree(path, ignore_errors=True)
    edges = place[graph.edges()]
    store = nakshi.build(path, edges, directed=graph.directed, layout="original", progress=False)
    return store, place[graph.sources].tolist()


def orders(study: Study, algorithms: Sequence[str] = tuple(ALGORITHMS)) -> None:
    """Figure 11: bytes with a page cache alone, by order."""
    rows, series = [], {}
    for graph in study.graphs:
        base: list[float] = []
        for order in ORDERS:
            samples = [graph.run(graph.store(order), name, 0.25) for name in algorithms]
            read = [sample.bytes_read for sample in samples]
            base = base or read
            against = [a / b for a, b in zip(read, base, strict=True)]
            series.setdefault(order, []).append(sum(against) / len(against))
            rows.append([f"{graph.name}, {order}", *[f"{value:.2f}" for value in against]])
    head = ["Bytes / Gorder", *[ALGORITHMS[name] for name in algorithms]]
    study.section("Figure 11: orders", head, rows)
    names = [graph.name for graph in study.graphs]
    study.draw("figure-11", names, series, "bytes / Gorder", bars=True)


def predicted(study: Study) -> None:
    """The measure that ``--order auto`` minimises, against the bytes that traversals read."""
    rows = []
    for graph in study.graphs:
        path = graph.options.work / f"{graph.name}-auto.nakshi"
        shutil.rmtree(path, ignore_errors=True)
        report = graph.store()._relayout(path, {"order": "auto"}, False)
        base: list[float] = []
        for considered in report["considered"]:
            order = considered["order"]
            ran = [graph.run(graph.store(order), name, 0.25) for name in THREE]
            values = [considered["pages"], *[sample.bytes_read for sample in ran]]
            base = base or values
            cells = [f"{value / first:.2f}" for value, first in zip(values, base, strict=True)]
            taken = ", taken" if order == report["layout"] else ""
            rows.append([f"{graph.name}, {order}{taken}", *cells])
    head = ["Order / original", "pages of sampled searches", *[ALGORITHMS[name] for name in THREE]]
    note = "pages that `nakshi layout --order auto` counts, and bytes that traversals read"
    study.section("Measure that chooses the order", head, rows, note)


def together(
    study: Study,
    algorithms: Sequence[str] = tuple(ALGORITHMS),
    page: int = 4096,
    encoding: str = "packed",
) -> None:
    """Figure 12: caches and orders together."""
    rows: list[list[str]] = []
    means: dict[str, list[float]] = {}
    for graph in study.graphs:
        base: list[float] = []
        for order in ("gorder", "norder", "bisection"):
            store = graph.store(order, page, encoding)
            for select in (None, "lowd", "gvs", "levels"):
                if select:
                    store.cache_plan(CHOSEN, select=select, progress=False)
                share = CACHE + CHOSEN
                samples = [graph.run(store, n, share, select is not None) for n in algorithms]
                read = [sample.bytes_read for sample in samples]
                base = base or read
                less = [b / a for a, b in zip(read, base, strict=True)]
                how = f"{order}, {select or 'page cache'}"
                means.setdefault(how, []).extend(less)
                rows.append([f"{graph.name}, {how}", *[f"{value:.2f}x" for value in less]])
    for how, ratios in means.items():
        mean = f"{statistics.harmonic_mean(ratios):.2f}x"
        rows.append([f"all, {how}", mean, *[""] * (len(algorithms) - 1)])
    head = ["Bytes of Gorder with a page cache / bytes"]
    head += [ALGORITHMS[name] for name in algorithms]
    note = "the last rows: harmonic means over graphs and algorithms; the paper: 1.54x in time"
    title = f"Figure 12: orders and caches together, pages of {page} B, {encoding} lists"
    study.section(title, head, rows, note)


def together_by_page(study: Study) -> None:
    """Figure 12 at every size of page; 8 KiB with lists of four bytes an entry, as the paper has."""
    for page, encoding in ((4096, "packed"), (512, "packed"), (8192, "raw")):
        together(study, page=page, encoding=encoding)


FIGURES = {
    "1": references,
    "3": random_and_gorder,
    "5": regression,
    "11": orders,
    "12": together_by_page,
    "auto": predicted,
}


if __name__ == "__main__":
    Study(__doc__, "norder", "Orders under traversals", CONDITIONS, FIGURES).measure(FIGURES)
