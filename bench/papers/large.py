"""Orders and a static cache on larger graphs (USENIX ATC 2019), in kind.

    bench/papers/large.py --data DIR                      # facebook100, Kronecker of scale 22

Runs read selected pages only. Gorder is left out, which takes a tenth of an hour on the second. Writes
docs/results/large.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import traversals  # noqa: E402
from traversals import ALGORITHMS, THREE, Study, change  # noqa: E402

CACHE, CHOSEN = 0.05, 0.20
ORDERS = ["original", "random", "degree", "norder", "bisection"]
SELECTIONS = ["levels", "gvs", "lowd", "highd", "random"]
CONDITIONS = [
    "shares are of the lists that an algorithm reads, beyond the least memory; loading chosen "
    "lists is not counted",
    "pages of 4 KiB",
]


def choices(study: Study) -> None:
    """Figure 6: a static cache, by how its lists are chosen."""
    rows = []
    for graph in study.graphs:
        store = graph.store()
        plain = [graph.run(store, name, CACHE + CHOSEN).bytes_read for name in THREE]
        for select in SELECTIONS:
            store.cache_plan(CHOSEN, select=select, progress=False)
            runs = [graph.run(store, name, CACHE + CHOSEN, True).bytes_read for name in THREE]
            shares = [change(a / b) for a, b in zip(runs, plain, strict=True)]
            rows.append([f"{graph.name}, {select}", *shares])
    head = ["Graph, choice", *[ALGORITHMS[name] for name in THREE]]
    note = f"against a page cache alone of the same memory; {CACHE:.0%} page cache beside"
    study.section("Figure 6: bytes read with 20 % chosen lists, order of the ids", head, rows, note)


def orders(study: Study) -> None:
    """Figures 11 and 12: orders with a page cache alone, and with chosen lists."""
    rows = []
    for graph in study.graphs:
        base: list[float] = []
        for order in ORDERS:
            store = graph.store(order)
            for select in (None, "levels"):
                if select:
                    store.cache_plan(CHOSEN, select=select, progress=False)
                read = [
                    graph.run(store, name, CACHE + CHOSEN, select is not None).bytes_read
                    for name in THREE
                ]
                base = base or read
                shares = [f"{a / b:.2f}" for a, b in zip(read, base, strict=True)]
                rows.append([f"{graph.name}, {order}, {select or 'page cache'}", *shares])
    head = ["Bytes / original with a page cache", *[ALGORITHMS[name] for name in THREE]]
    study.section("Figures 11 and 12: orders", head, rows)


FIGURES = {"6": choices, "11": orders}


def main() -> None:
    title = "Orders and a static cache on larger graphs"
    study = Study(__doc__, "large", title, CONDITIONS, "facebook100,kron22")
    traversals.run(study, FIGURES)


if __name__ == "__main__":
    main()
