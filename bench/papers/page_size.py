"""Figure 13: the page size of the store, 4 KiB to 1 MiB."""

from __future__ import annotations

import tables
from measure import MIB
from study import Study

SIZES = {
    "512": "512 B",
    "4096": "4 KiB",
    "16384": "16 KiB",
    "65536": "64 KiB",
    "262144": "256 KiB",
    "1048576": "1 MiB",
}
CHOSEN = {"bfs": "BFS", "triangles": "TC", "wcc": "WCC"}


def measure_figure(study: Study) -> None:
    """One store a page size; the same budget for all, with room for buffers of the largest page."""
    stores = {
        size: study.variant(study.graph, f"page-{size}", ["--page-size", size]) for size in SIZES
    }
    series: dict[str, list[float]] = {}
    rows = []
    for application, title in CHOSEN.items():
        budget = 16 * MIB + max(study.minimum(application, store) for store in stores.values())
        samples = {
            size: study.sample(application, "ssd", memory=budget, store=store)
            for size, store in stores.items()
        }
        base = samples["4096"].seconds
        series[title] = [base / sample.seconds for sample in samples.values()]
        for size, sample in samples.items():
            rows.append(
                [
                    f"{title}, {SIZES[size]}",
                    tables.seconds(sample.seconds),
                    f"{base / sample.seconds:.2f}",
                    tables.size(sample.report["io"]["bytes_read"]),
                    tables.size(budget),
                ]
            )
    page = study.page("FlashGraph, Figure 13 in kind: the impact of the page size")
    head = ["Application, page", "s", "speed relative to 4 KiB", "read", "budget"]
    picture = study.lines(
        "flashgraph-figure-13", list(SIZES.values()), series, "speed relative to 4 KiB"
    )
    notes = ["the paper: 4 KiB is best; at 1 MiB BFS and TC keep a small fraction of their speed"]
    page.section("Page size", study.command, tables.table(head, rows) + "\n\n" + picture, notes)
    page.write(study.out / "flashgraph-figure-13.md")
