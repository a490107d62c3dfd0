"""Figure 9: how busy each application keeps the processors and the disk."""

from __future__ import annotations

import measure
import product
import tables
from study import APPLICATIONS, Study


def measure_figure(study: Study) -> None:
    """Shares over the whole run, with the smallest budget that works."""
    start = measure.run([*product.NAKSHI, "info", study.store], threads=1)
    rows, user, system, disk, names = [], [], [], [], []
    for application, title in APPLICATIONS.items():
        sample = study.sample(application, "ssd", memory=study.minimum(application))
        # Less what the interpreter takes to start, which is the larger part of a short run.
        busy = (sample.seconds + sample.open_seconds) * study.options.threads
        io = sample.report["io"]
        names.append(title)
        user.append(min(1.0, max(0.0, sample.user - start.user_seconds) / busy))
        system.append(min(1.0, max(0.0, sample.system - start.system_seconds) / busy))
        disk.append(io["bytes_read"] / sample.seconds / 1e6)
        rows.append(
            [
                title,
                f"{user[-1]:.0%}",
                f"{system[-1]:.0%}",
                f"{disk[-1]:,.0f} MB/s",
                f"{io['requests'] / sample.seconds:,.0f}",
                tables.size(io["bytes_read"] / max(1, io["requests"])),
            ]
        )
    page = study.page("FlashGraph, Figure 9 in kind: CPU and I/O utilisation")
    head = ["Application", "CPU, user", "CPU, kernel", "read", "requests/s", "bytes a request"]
    pictures = [
        study.bars(
            "flashgraph-figure-9a", names, {"user": user, "kernel": system}, "share of all cores"
        ),
        study.bars("flashgraph-figure-9b", names, {"read": disk}, "MB/s"),
    ]
    body = tables.table(head, rows) + "\n\n" + "\n\n".join(pictures)
    notes = ["the paper: PR and WCC bound by the CPU, BFS by I/O, TC by both"]
    page.section("Utilisation", study.command, body, notes)
    page.write(study.out / "flashgraph-figure-9.md")
