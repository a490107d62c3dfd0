"""BASC and its cache (USENIX ATC 2019): Figures 2, 6 to 10 and 13 and Table 2 in kind.

    bench/papers/basc.py --data DIR                       # rutgers89, ego-twitter, cnr-2000
    bench/papers/basc.py --data DIR --only 6,8            # some figures

Runs read selected pages only, from stores in the order of the ids. "Chosen" lists are the static
cache. Writes docs/results/basc.md and basc-*.svg.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import nakshi
import numpy as np
import traversals
from harness import tables
from traversals import ALGORITHMS, THREE, Sample, Study, change

SELECTIONS = ["levels", "gvs", "lowd", "highd", "random"]
CACHE, CHOSEN = 0.05, 0.20
ITERATIONS = (1, 10, 50, 200)
DAYS, DAILY = 30, 0.002
CONDITIONS = [
    "shares are of the lists that an algorithm reads, beyond the least memory; loading chosen "
    "lists is not counted",
    "pages of 4 KiB unless stated otherwise",
]


def hit_ratios(study: Study, algorithms: Sequence[str] = tuple(ALGORITHMS)) -> None:
    """Figure 2: hits of the page cache by its size."""
    shares = [0.05, 0.10, 0.15, 0.20, 0.25, 0.30]
    rows = []
    for graph in study.graphs:
        store, series = graph.store(), {}
        for algorithm in algorithms:
            title, ratios = ALGORITHMS[algorithm], []
            for share in shares:
                sample = graph.run(store, algorithm, share)
                ratios.append(sample.hits / max(1, sample.hits + sample.misses))
            series[title] = ratios
            rows.append([f"{graph.name}, {title}", *[f"{ratio:.0%}" for ratio in ratios]])
    head = ["Hits of the page cache", *[f"{share:.0%}" for share in shares]]
    study.section("Figure 2: hit ratio and size of the page cache", head, rows)
    study.draw("figure-2", [f"{s:.0%}" for s in shares], series, f"hit ratio, {graph.name}")


def sizes(study: Study, chosen: Sequence[float] = (0.10, 0.20, 0.40)) -> None:
    """Figure 6: bytes read by the choice of lists."""
    for page, encoding in ((4096, "packed"), (512, "packed"), (8192, "raw")):
        rows, series = [], {name: [] for name in SELECTIONS}
        chosen_sizes = chosen if (page, encoding) == (4096, "packed") else [CHOSEN]
        for graph in study.graphs:
            store = graph.store(page=page, encoding=encoding)
            for size in chosen_sizes:
                plain = {name: graph.run(store, name, CACHE + size) for name in THREE}
                for select in SELECTIONS:
                    store.cache_plan(size, select=select, progress=False)
                    with_lists = {n: graph.run(store, n, CACHE + size, True) for n in THREE}
                    shares = [with_lists[n].bytes_read / plain[n].bytes_read for n in THREE]
                    if size == CHOSEN:
                        series[select].append(sum(shares) / len(shares))
                    label = f"{graph.name}, {size:.0%}, {select}"
                    rows.append([label, *map(change, shares)])
        head = ["Graph, chosen lists, choice", *[ALGORITHMS[name] for name in THREE]]
        title = f"Figure 6: bytes read, pages of {page} B, {encoding} lists"
        against = f"against a page cache alone of the same memory; {CACHE:.0%} page cache beside"
        study.section(title, head, rows, against)
        names = [graph.name for graph in study.graphs]
        label = "bytes read / page cache alone"
        study.draw(f"figure-6-{page}", names, series, label)


def shares_of_one_size(study: Study) -> None:
    """Figure 7: bytes read by the share of the memory that chosen lists take."""
    whole, parts = 0.20, [0.0, 0.25, 0.5, 0.8]
    rows, series = [], {}
    for graph in study.graphs:
        store = graph.store()
        for select in ("levels", "gvs"):
            line: list[float] = []
            for part in parts:
                if part:
                    store.cache_plan(whole * part, select=select, progress=False)
                samples = [graph.run(store, name, whole, part > 0) for name in THREE]
                line.append(sum(sample.bytes_read for sample in samples))
            line = [value / line[0] for value in line]
            series[f"{graph.name}, {select}"] = line
            rows.append([f"{graph.name}, {select}", *[f"{value:.2f}" for value in line]])
    head = ["Bytes of BFS, DIAM and BC", *[f"{part:.0%} chosen" for part in parts]]
    study.section("Figure 7: chosen lists as a part of 20 %", head, rows)
    study.draw("figure-7", [f"{part:.0%}" for part in parts], series, "bytes read / none chosen")


def utilisation(study: Study) -> None:
    """Figure 8: utilisation of the page cache by the choice of lists."""
    rows = []
    for graph in study.graphs:
        store = graph.store()
        plain = [graph.run(store, name, CACHE + CHOSEN) for name in THREE]
        rows.append([f"{graph.name}, none", *map(_used, plain)])
        for select in SELECTIONS:
            store.cache_plan(CHOSEN, select=select, progress=False)
            samples = [graph.run(store, name, CACHE + CHOSEN, True) for name in THREE]
            rows.append([f"{graph.name}, {select}", *map(_used, samples)])
    head = ["Graph, choice", *[ALGORITHMS[name] for name in THREE]]
    note = "share of the 64-byte units of cached pages that a run touched, evicted or still there"
    study.section("Figure 8: utilisation of the page cache", head, rows, note)


def _used(sample: Sample) -> str:
    return "" if sample.utilisation is None else f"{sample.utilisation:.0%}"


def slow_disk(study: Study) -> None:
    """The times of Figure 6 on a slow disk."""
    rows, ratios = [], []
    for graph in study.graphs:
        store = graph.store()
        plain = {name: graph.run_slowly(store, name, CACHE + CHOSEN) for name in THREE}
        for select in ("levels", "gvs", "lowd"):
            store.cache_plan(CHOSEN, select=select, progress=False)
            faster = []
            for name in THREE:
                sample = graph.run_slowly(store, name, CACHE + CHOSEN, True)
                faster.append(plain[name].seconds / sample.seconds)
            if select == "levels":
                ratios += faster
            rows.append([f"{graph.name}, {select}", *[f"{value:.2f}x" for value in faster]])
    head = ["Graph, choice", *[f"{ALGORITHMS[name]} faster" for name in THREE]]
    note = f"blkio throttle of {traversals.SLOW // 10**6} MB/s; "
    note += f"levels, harmonic mean: {statistics.harmonic_mean(ratios):.2f}x; the paper: 1.29x"
    study.section("Times on a slow disk", head, rows, note)


def a_month(study: Study, graphs: int = 2) -> None:
    """Figure 9: the plan of the first day on a graph that changes every day."""
    draw_from = np.random.default_rng(1)
    for graph in study.graphs[:graphs]:
        first = graph.store()
        first.cache_plan(CHOSEN, progress=False)
        edges, rows, against, hits = graph.edges(), [], [], []
        for day in range(DAYS + 1):
            if day:
                edges = _another_day(edges, draw_from)
            if day % 5 and day != 1:
                continue
            path = graph.options.work / f"{graph.name}-day.nakshi"
            shutil.rmtree(path, ignore_errors=True)
            store = nakshi.build(
                path, edges, directed=graph.directed, layout="original", progress=False
            )
            plain = graph.run(store, "bfs", CACHE + CHOSEN)
            store.cache_plan(like=first.path, progress=False)
            carried = graph.run(store, "bfs", CACHE + CHOSEN, True)
            store.cache_plan(CHOSEN, progress=False)
            anew = graph.run(store, "bfs", CACHE + CHOSEN, True)
            against.append(carried.bytes_read / plain.bytes_read)
            hits.append(carried.pinned_hits / carried.requested)
            fresh = change(anew.bytes_read / plain.bytes_read)
            rows.append([str(day), change(against[-1]), f"{hits[-1]:.1%}", fresh])
        head = ["Day", "bytes of BFS against page cache alone", "hits of chosen lists", "plan anew"]
        note = f"{DAILY:.1%} of the edges change a day, by preferential attachment, 8 added for 2 removed"
        study.section(f"Figure 9: a month of changes, {graph.name}", head, rows, note)


def _another_day(edges: np.ndarray, draw_from: np.random.Generator) -> np.ndarray:
    """Changes 0.2 % of the edges. Ends of new edges are drawn from the edges, that is, by degree."""
    changes = max(10, int(len(edges) * DAILY))
    gone = draw_from.choice(len(edges), changes // 5, replace=False)
    sources, targets = draw_from.integers(0, len(edges), (2, changes * 4 // 5))
    new = np.stack([edges[sources, 0], edges[targets, 1]], axis=1)
    return np.concatenate([np.delete(edges, gone, axis=0), new])


def iterations(study: Study, counts: Sequence[int] = ITERATIONS) -> None:
    """Figure 10 and Table 2: seconds of the choice, its gain, and the runs that repay it."""
    rows = []
    for graph in study.graphs:
        store = graph.store()
        plain = [graph.run(store, name, CACHE + CHOSEN) for name in THREE]
        slow = graph.run_slowly(store, "bfs", CACHE + CHOSEN)
        for select in ("gvs", "levels"):
            for count in counts:
                began = time.perf_counter()
                store.cache_plan(CHOSEN, select=select, iterations=count, progress=False)
                seconds = time.perf_counter() - began
                samples = [graph.run(store, name, CACHE + CHOSEN, True) for name in THREE]
                pairs = zip(samples, plain, strict=True)
                less = [s.bytes_read / p.bytes_read for s, p in pairs]
                cells = [f"{graph.name}, {select}, K = {count}", tables.seconds(seconds)]
                cells += map(change, less)
                if count == 50:
                    static = graph.run_slowly(store, "bfs", CACHE + CHOSEN, True)
                    load = static.open_seconds - slow.open_seconds
                    gain = slow.seconds - static.seconds
                    runs = f"{(seconds + load) / gain:.0f}" if gain > 0 else "never"
                    cells += [tables.seconds(load), runs]
                else:
                    cells += ["", ""]
                rows.append(cells)
    head = ["Graph, choice", "choosing, s", *[ALGORITHMS[name] for name in THREE]]
    head += ["loading, s", "runs of BFS that repay both"]
    note = "bytes against the page cache alone; loading and repaying on the slow disk"
    study.section("Figure 10 and Table 2: iterations, and what choosing costs", head, rows, note)


def small_pages(study: Study) -> None:
    """Figure 13: pages of 512 B and of 8 KiB, 30 % page cache against 10 % and 20 % chosen."""
    rows = []
    for graph in study.graphs:
        base: dict[str, float] = {}
        for page in (8192, 512):
            store = graph.store(page=page, encoding="raw")
            store.cache_plan(CHOSEN, progress=False)
            for static in (False, True):
                cells = []
                for name in ("bfs", "apsp", "diameter"):
                    sample = graph.run(store, name, 0.30, static)
                    base.setdefault(name, sample.bytes_read)
                    cells.append(f"{sample.bytes_read / base[name]:.2f}")
                how = "10 % + 20 % chosen" if static else "30 % page cache"
                rows.append([f"{graph.name}, {page} B, {how}", *cells])
    head = ["Graph, page, memory", "BFS", "APSP", "DIAM"]
    note = "bytes read against pages of 8 KiB with a page cache alone; lists of 4 bytes an entry"
    study.section("Figure 13: pages of 512 B and 8 KiB", head, rows, note)


FIGURES = {
    "2": hit_ratios,
    "6": sizes,
    "7": shares_of_one_size,
    "8": utilisation,
    "9": a_month,
    "10": iterations,
    "13": small_pages,
    "slow": slow_disk,
}


if __name__ == "__main__":
    TITLE = "A static cache beside the page cache"
    Study(__doc__, "basc", TITLE, CONDITIONS, FIGURES).measure(FIGURES)
