"""Figure 12: what running vertices in order, and merging their requests, is worth."""

from __future__ import annotations

import json

import measure
import tables
from study import Study

VARIANTS = {
    "random": "random order",
    "sequential": "by id, 16 running",
    "merged": "by id, 4,000 running, merged",
}
CHOSEN = {"bfs": "BFS", "wcc": "WCC"}


def measure_figure(study: Study) -> None:
    """Vertex programs through the example `schedule`, which prints one JSON object a run."""
    root = study.out.parent.parent
    build = [
        "cargo",
        "build",
        "--release",
        "--quiet",
        "-p",
        "nakshi-engine",
        "--example",
        "schedule",
    ]
    measure.run([*build, "--manifest-path", root / "Cargo.toml"], threads=study.options.threads)
    program = study.options.target / "release" / "examples" / "schedule"
    series: dict[str, list[float]] = {title: [] for title in VARIANTS.values()}
    rows = []
    for application, name in CHOSEN.items():
        times, reads = {}, {}
        for variant in VARIANTS:
            seconds: list[float] = []
            trials = 1
            while len(seconds) < trials:
                words = [program, study.store, application, variant, str(study.options.threads)]
                said = json.loads(
                    measure.run(words, threads=study.options.threads, cold=True).stdout
                )
                seconds.append(said["seconds"])
                trials = measure.repeats(seconds[0], study.options.runs)
            times[variant], reads[variant] = measure.median(seconds), said
        for variant, title in VARIANTS.items():
            share = times["merged"] / times[variant]
            series[title].append(share)
            read = reads[variant]
            rows.append(
                [
                    f"{name}, {title}",
                    tables.seconds(times[variant]),
                    f"{share:.2f}",
                    f"{read['requests']:,}",
                    tables.size(read["bytes_read"]),
                ]
            )
    page = study.page("FlashGraph, Figure 12 in kind: preserving sequential I/O")
    head = ["Program, schedule", "s", "speed relative to merged", "requests", "read"]
    picture = study.bars(
        "flashgraph-figure-12", list(CHOSEN.values()), series, "speed relative to merged"
    )
    notes = ["the paper: merging in the engine gains 40 % for BFS and more than 100 % for WCC"]
    page.section("Schedules", study.command, tables.table(head, rows) + "\n\n" + picture, notes)
    page.write(study.out / "flashgraph-figure-12.md")
