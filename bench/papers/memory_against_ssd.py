"""Figure 8: the speed of each application from the SSD relative to that in memory."""

from __future__ import annotations

import measure
import tables
from study import APPLICATIONS, Study

CACHE_SHARE = 1 / 18
"""The paper's cache of 1 GB beside a graph of 18 GB."""


def measure_figure(study: Study) -> None:
    """Budget: the smallest that works plus a cache of 1/18 of the edge file, as in the paper."""
    import product

    cache = int(product.edge_file_bytes(study.store) * CACHE_SHARE)
    rows, share = [], []
    for application, title in APPLICATIONS.items():
        inside = study.sample(application, "memory")
        budget = study.minimum(application) + cache
        outside = study.sample(application, "ssd", memory=budget)
        share.append(inside.seconds / outside.seconds)
        rows.append(
            [
                title,
                tables.seconds(inside.seconds),
                tables.seconds(outside.seconds),
                f"{share[-1]:.2f}",
                tables.size(budget),
                tables.size(outside.report["io"]["bytes_read"]),
            ]
        )
    page = study.page("FlashGraph, Figure 8 in kind: semi-external relative to in memory")
    head = ["Application", "in memory, s", "SSD, s", "relative speed", "budget", "read"]
    picture = study.bars(
        "flashgraph-figure-8",
        list(APPLICATIONS.values()),
        {"SSD": share},
        "speed relative to in memory",
    )
    notes = [
        f"cache beside the smallest budget: {cache / measure.MIB:.1f} MiB",
        "the paper: 0.4 (BFS, TC) to 0.8 (BC, WCC, PR) with a cache of 1 GB on 15 SSDs and 32 cores",
    ]
    page.section(
        "Relative speed", study.command, tables.table(head, rows) + "\n\n" + picture, notes
    )
    page.write(study.out / "flashgraph-figure-8.md")
