"""Table 2: time, time to open, and memory of every application on a large graph."""

from __future__ import annotations

import graphs
import product
import tables
from study import APPLICATIONS, Study


def measure_figure(study: Study) -> None:
    """The smallest budget that works, on a graph four times as large as the figures'."""
    options = study.options
    graph = graphs.kronecker(options.large_scale, options.work, None, product.NAKSHI, None)
    store = study.variant(graph, "default", [])
    rows, seconds = [], []
    for application, title in APPLICATIONS.items():
        budget = study.minimum(application, store)
        sample = study.sample(application, "ssd", memory=budget, store=store, graph=graph)
        seconds.append(sample.seconds)
        rows.append(
            [
                title,
                tables.seconds(sample.seconds),
                tables.seconds(sample.open_seconds),
                tables.size(sample.peak),
                tables.size(budget),
                tables.size(sample.report["io"]["bytes_read"]),
            ]
        )
    page = study.page("FlashGraph, Table 2 in kind: a large graph", graph)
    head = ["Application", "run, s", "open, s", "peak", "budget", "read"]
    edges = product.edge_file_bytes(store)
    picture = study.bars(
        "flashgraph-table-2", list(APPLICATIONS.values()), {"run": seconds}, "seconds"
    )
    notes = [
        f"edge file: {tables.size(edges)}; peak holds the interpreter as well",
        "the paper: 298 s (BFS) to 7,818 s (TC) in 22 to 83 GB on 129 billion edges",
    ]
    page.section(
        "Runtime and memory", study.command, tables.table(head, rows) + "\n\n" + picture, notes
    )
    page.write(study.out / "flashgraph-table-2.md")
