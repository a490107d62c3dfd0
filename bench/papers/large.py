"""Orders and a static cache on larger graphs (USENIX ATC 2019), in kind.

    bench/papers/large.py --data DIR --sources 2          # facebook100, Kronecker of scale 22
    bench/papers/large.py --data DIR --only 6,12          # some figures

The figures of norder.py and basc.py where they take minutes rather than hours: fewer shuffled orders
for Figure 5, a month of changes on the first graph, no Louvain. Runs read selected pages only.
Writes docs/results/large.md and large-*.svg.
"""

from __future__ import annotations

import functools

import basc
import layouts
import norder
from traversals import ALGORITHMS, THREE, Study

SHUFFLED = [0.0, 0.1, 0.8]
ORDERS = ["original", "random", "degree", "norder", "bisection"]


def computed(study: Study) -> None:
    """Table 3, and Bondhu's costs, of graphs that layouts.md does not have."""
    orders = [order for order in layouts.ORDERS if order != "bondhu-modcom"]
    for graph in study.graphs:
        if graph.name not in layouts.GRAPHS:
            layouts.orders(study, graph.layouts, orders)


def orders(study: Study) -> None:
    """Figures 11 and 12 without Gorder, which takes a tenth of an hour on the second graph."""
    rows = []
    for graph in study.graphs:
        base: list[float] = []
        for order in ORDERS:
            store = graph.store(order)
            for select in (None, "levels"):
                if select:
                    store.cache_plan(basc.CHOSEN, select=select, progress=False)
                share = basc.CACHE + basc.CHOSEN
                samples = [graph.run(store, name, share, select is not None) for name in THREE]
                read = [sample.bytes_read for sample in samples]
                base = base or read
                shares = [f"{a / b:.2f}" for a, b in zip(read, base, strict=True)]
                rows.append([f"{graph.name}, {order}, {select or 'page cache'}", *shares])
    head = ["Bytes / original with a page cache", *[ALGORITHMS[name] for name in THREE]]
    study.section("Figures 11 and 12: orders", head, rows)


FIGURES = {
    "6": functools.partial(basc.sizes, chosen=[0.20]),
    "2": functools.partial(basc.hit_ratios, algorithms=THREE),
    "7": basc.shares_of_one_size,
    "8": basc.utilisation,
    "10": functools.partial(basc.iterations, counts=[10, 50]),
    "13": basc.small_pages,
    "1": norder.references,
    "3": norder.random_and_gorder,
    "11": functools.partial(norder.orders, algorithms=THREE),
    "12": functools.partial(norder.together, algorithms=THREE),
    "table-3": computed,
    "orders": orders,
    "9": functools.partial(basc.a_month, graphs=1),
    "5": functools.partial(norder.regression, shuffled=SHUFFLED),
}


if __name__ == "__main__":
    TITLE, GRAPHS = "Orders and a static cache on larger graphs", "facebook100,kron22"
    Study(__doc__, "large", TITLE, basc.CONDITIONS, FIGURES, GRAPHS).measure(FIGURES)
