"""The figures of the FlashGraph paper (FAST 2015) in kind, each a table and a picture.

    make bench-papers                                            # Kron20
    make bench-papers BENCH="--scale 14 --runs 1 --only 8,13"    # a small try

Writes docs/results/flashgraph-*.md and .svg. "In kind" means the same question on this machine's one
disk and few cores, not the same graphs or hardware.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness import Study, graphs, kernels, measure, pictures, product, study, tables
from harness.graphs import Graph

#: The paper's six applications.
APPLICATIONS = kernels.short("bfs", "bc", "wcc", "pagerank", "triangles", "scan-statistics")
#: Figure 8: the paper's cache of 1 GB beside a graph of 18 GB.
CACHE_SHARE = 1 / 18
#: Figure 12: schedules of the example `schedule`.
SCHEDULES = {
    "random": "random order",
    "sequential": "by id, 16 running",
    "merged": "by id, 16,384 running, merged",
}
#: Figure 13: sizes of a page.
PAGES = {
    "512": "512 B",
    "4096": "4 KiB",
    "16384": "16 KiB",
    "65536": "64 KiB",
    "262144": "256 KiB",
    "1048576": "1 MiB",
}
#: Figure 14: the cache as a part of the edge file.
SHARES = {"1/18": 1 / 18, "1/8": 1 / 8, "1/4": 1 / 4, "1/2": 1 / 2, "1": 1.0, "2": 2.0}


@dataclass
class Sample:
    """Medians of one application under one condition."""

    seconds: float
    open_seconds: float
    user: float
    system: float
    peak: int
    report: dict[str, Any]


class Runs:
    """Runs of the paper's applications on one graph."""

    def __init__(self, options: argparse.Namespace, graph: Graph) -> None:
        self.options, self.graph = options, graph
        self.store = self.variant("default")

    def variant(self, name: str, *extra: str) -> Path:
        """A store of the graph with import options of its own; undirected and unweighted."""
        store = self.options.work / f"{self.graph.folder.name}-papers-{name}.nakshi"
        return product.ensure(store, self.graph.edges, False, [*extra], self.options.threads)

    def _arguments(self, application: str) -> list[str]:
        """The paper's settings: one source, 30 iterations of the delta PageRank at most."""
        source = str(self.graph.source)
        return {
            "bfs": ["--source", source],
            "bc": ["--sources", source],
            "pagerank": ["--variant", "delta", "--iterations", "30"],
        }.get(application, [])

    def minimum(self, application: str, store: Path | None = None) -> int:
        """The smallest budget that works, in bytes."""
        words = [application, str(store or self.store), *self._arguments(application)]
        return product.minimum(words)

    def sample(
        self,
        application: str,
        engine: str = "ssd",
        *,
        memory: int | None = None,
        store: Path | None = None,
    ) -> Sample:
        """Cold runs, each in its own process."""
        threads = self.options.threads
        call = [*product.NAKSHI, "run", application, str(store or self.store), "--engine", engine]
        call += ["--threads", str(threads), "--json", "--no-progress"]
        call += [*self._arguments(application), *(["--memory", str(memory)] if memory else [])]

        def once() -> tuple[dict[str, Any], measure.Ran]:
            ran = measure.run(call, threads=threads, cold=engine == "ssd")
            return json.loads(ran.stdout), ran

        runs = measure.repeat(once, lambda run: run[0]["seconds"]["run"], self.options.runs)
        return Sample(
            measure.median([said["seconds"]["run"] for said, _ in runs]),
            measure.median([said["seconds"]["open"] for said, _ in runs]),
            measure.median([ran.user_seconds for _, ran in runs]),
            measure.median([ran.system_seconds for _, ran in runs]),
            max(ran.peak_rss for _, ran in runs),
            runs[-1][0],
        )


class Figure(Study):
    """The page of one figure."""

    def __init__(self, runs: Runs, name: str, title: str) -> None:
        facts, options = runs.graph.facts(), runs.options
        conditions = [
            f"graph: {runs.graph.name}, {facts['vertices']:,} vertices, {facts['edges']:,} edges",
            f"threads: {options.threads}; cold, O_DIRECT where the file system allows",
        ]
        super().__init__(f"flashgraph-{name}", f"FlashGraph, {title}", options, conditions)

    def end(
        self,
        title: str,
        head: Sequence[str],
        rows: Sequence[Sequence[Any]],
        notes: Sequence[str],
        draw: Callable[..., str],
        *pictures: tuple[str, Sequence[str], dict[str, list[float]], str],
    ) -> None:
        """Adds the table, then pictures (ending of the name, ticks, series, label), and writes the page."""
        shown = [
            draw(self.options.out, self.name + ending, ticks, series, label)
            for ending, ticks, series, label in pictures
        ]
        body = "\n\n".join([tables.table(head, rows), *shown])
        self.page.section(title, self.command, body, notes)
        self.write()


def memory_against_ssd(runs: Runs) -> None:
    """Figure 8: the speed from the SSD relative to that in memory.

    Budget: the smallest that works plus a cache of 1/18 of the edge file, as in the paper.
    """
    cache = int(product.edge_file_bytes(runs.store) * CACHE_SHARE)
    rows, share = [], []
    for application, title in APPLICATIONS.items():
        inside = runs.sample(application, "memory")
        budget = runs.minimum(application) + cache
        outside = runs.sample(application, memory=budget)
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
    page = Figure(runs, "figure-8", "Figure 8 in kind: semi-external relative to in memory")
    head = ["Application", "in memory, s", "SSD, s", "relative speed", "budget", "read"]
    notes = [
        f"cache beside the smallest budget: {cache / measure.MIB:.1f} MiB",
        "the paper: 0.4 (BFS, TC) to 0.8 (BC, WCC, PR) with a cache of 1 GB on 15 SSDs and 32 cores",
    ]
    picture = ("", list(APPLICATIONS.values()), {"SSD": share}, "speed relative to in memory")
    page.end("Relative speed", head, rows, notes, pictures.bars, picture)


def utilisation(runs: Runs) -> None:
    """Figure 9: how busy each application keeps the processors and the disk, with the smallest budget."""
    start = measure.run([*product.NAKSHI, "info", runs.store], threads=1)
    rows, user, system, disk = [], [], [], []
    for application, title in APPLICATIONS.items():
        sample = runs.sample(application, memory=runs.minimum(application))
        # The start of the interpreter, which is most of a short run, is subtracted.
        busy = (sample.seconds + sample.open_seconds) * runs.options.threads
        io = sample.report["io"]
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
    page = Figure(runs, "figure-9", "Figure 9 in kind: CPU and I/O utilisation")
    head = ["Application", "CPU, user", "CPU, kernel", "read", "requests/s", "bytes a request"]
    notes = ["the paper: PR and WCC bound by the CPU, BFS by I/O, TC by both"]
    names = list(APPLICATIONS.values())
    processors = ("a", names, {"user": user, "kernel": system}, "share of all cores")
    reads = ("b", names, {"read": disk}, "MB/s")
    page.end("Utilisation", head, rows, notes, pictures.bars, processors, reads)


def scheduling(runs: Runs) -> None:
    """Figure 12: the gain from running vertices in order and merging their requests.

    Vertex programs run through the example `schedule`, which prints one JSON object a run.
    """
    threads, chosen = runs.options.threads, kernels.short("bfs", "wcc")
    build = "cargo build --release --quiet -p nakshi-engine --example schedule".split()
    measure.run([*build, "--manifest-path", study.ROOT / "Cargo.toml"], threads=threads)
    target = Path(os.environ.get("CARGO_TARGET_DIR", study.ROOT / "target"))
    program = target / "release" / "examples" / "schedule"
    series: dict[str, list[float]] = {title: [] for title in SCHEDULES.values()}
    rows = []
    for application, name in chosen.items():
        times, reads = {}, {}
        for schedule in SCHEDULES:
            words = [program, runs.store, application, schedule, str(threads)]

            def once(words: Sequence[Any] = words) -> dict[str, Any]:
                found: dict[str, Any] = json.loads(
                    measure.run(words, threads=threads, cold=True).stdout
                )
                return found

            found = measure.repeat(once, lambda said: said["seconds"], runs.options.runs)
            times[schedule] = measure.median([said["seconds"] for said in found])
            reads[schedule] = found[-1]
        for schedule, title in SCHEDULES.items():
            share = times["merged"] / times[schedule]
            series[title].append(share)
            rows.append(
                [
                    f"{name}, {title}",
                    tables.seconds(times[schedule]),
                    f"{share:.2f}",
                    f"{reads[schedule]['requests']:,}",
                    tables.size(reads[schedule]["bytes_read"]),
                ]
            )
    page = Figure(runs, "figure-12", "Figure 12 in kind: preserving sequential I/O")
    head = ["Program, schedule", "s", "speed relative to merged", "requests", "read"]
    notes = ["the paper: merging in the engine gains 40 % for BFS and more than 100 % for WCC"]
    picture = ("", list(chosen.values()), series, "speed relative to merged")
    page.end("Schedules", head, rows, notes, pictures.bars, picture)


def page_size(runs: Runs) -> None:
    """Figure 13: one store for each page size, and one budget, with room for buffers of the largest."""
    stores = {size: runs.variant(f"page-{size}", "--page-size", size) for size in PAGES}
    series: dict[str, list[float]] = {}
    rows = []
    for application in ("bfs", "triangles", "wcc"):
        title = APPLICATIONS[application]
        budget = 16 * measure.MIB + max(runs.minimum(application, s) for s in stores.values())
        samples = {
            size: runs.sample(application, memory=budget, store=store)
            for size, store in stores.items()
        }
        base = samples["4096"].seconds
        series[title] = [base / sample.seconds for sample in samples.values()]
        for size, sample in samples.items():
            rows.append(
                [
                    f"{title}, {PAGES[size]}",
                    tables.seconds(sample.seconds),
                    f"{base / sample.seconds:.2f}",
                    tables.size(sample.report["io"]["bytes_read"]),
                    tables.size(budget),
                ]
            )
    page = Figure(runs, "figure-13", "Figure 13 in kind: the impact of the page size")
    head = ["Application, page", "s", "speed relative to 4 KiB", "read", "budget"]
    notes = ["the paper: 4 KiB is best; at 1 MiB BFS and TC keep a small fraction of their speed"]
    picture = ("", list(PAGES.values()), series, "speed relative to 4 KiB")
    page.end("Page size", head, rows, notes, pictures.lines, picture)


def cache_size(runs: Runs) -> None:
    """Figure 14: the page cache, from an eighteenth of the edge file to twice its size.

    Budget: the smallest that works plus that share of the edge file.
    """
    edges = product.edge_file_bytes(runs.store)
    series: dict[str, list[float]] = {}
    rows = []
    for application, title in APPLICATIONS.items():
        minimum = runs.minimum(application)
        samples = {
            name: runs.sample(application, memory=minimum + int(edges * share))
            for name, share in SHARES.items()
        }
        best = samples["2"].seconds
        series[title] = [best / sample.seconds for sample in samples.values()]
        for name, sample in samples.items():
            io = sample.report["io"]
            touched = io["hits"] + io["misses"]
            rows.append(
                [
                    f"{title}, {name} of the edge file",
                    tables.seconds(sample.seconds),
                    f"{best / sample.seconds:.2f}",
                    tables.size(io["bytes_read"]),
                    f"{io['hits'] / touched:.0%}" if touched else "",
                ]
            )
    page = Figure(runs, "figure-14", "Figure 14 in kind: the impact of the cache size")
    head = ["Application, cache", "s", "speed relative to the largest cache", "read", "hits"]
    notes = ["the paper: 1 GB (1/18 of the graph) reaches 65 to 90 % of the speed with 32 GB"]
    picture = ("", list(SHARES), series, "speed relative to the largest cache")
    page.end("Cache size", head, rows, notes, pictures.lines, picture)


def large_graph(runs: Runs) -> None:
    """Table 2: time and memory with the smallest budget, on a graph four times as large."""
    options = runs.options
    graph = graphs.kronecker(options.large_scale, options.work, None, product.NAKSHI, None)
    runs = Runs(options, graph)
    rows, seconds = [], []
    for application, title in APPLICATIONS.items():
        budget = runs.minimum(application)
        sample = runs.sample(application, memory=budget)
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
    page = Figure(runs, "table-2", "Table 2 in kind: a large graph")
    head = ["Application", "run, s", "open, s", "peak", "budget", "read"]
    notes = [
        f"edge file: {tables.size(product.edge_file_bytes(runs.store))}; peak holds the interpreter as well",
        "the paper: 298 s (BFS) to 7,818 s (TC) in 22 to 83 GB on 129 billion edges",
    ]
    picture = ("", list(APPLICATIONS.values()), {"run": seconds}, "seconds")
    page.end("Runtime and memory", head, rows, notes, pictures.bars, picture)


FIGURES = {
    "8": memory_against_ssd,
    "9": utilisation,
    "12": scheduling,
    "13": page_size,
    "14": cache_size,
    "table2": large_graph,
}


def main() -> None:
    parser = study.parser(__doc__, parts=FIGURES)
    parser.add_argument("--scale", type=int, default=20, help="of the Kronecker graph")
    parser.add_argument("--large-scale", type=int, help="of Table 2's graph; default: two more")
    options = study.options(parser)
    options.large_scale = options.large_scale or options.scale + 2
    graph = graphs.kronecker(options.scale, options.work, None, product.NAKSHI, None)
    runs = Runs(options, graph)
    for name in options.only or FIGURES:
        print(f"figure {name}", file=sys.stderr, flush=True)
        FIGURES[name](runs)


if __name__ == "__main__":
    main()
