"""Does time per edge stay level while the graph grows? Kron20 to Kron25; writes docs/results/growth.md.

    make bench-growth                                            # Kron20 to Kron25
    make bench-growth BENCH="--from 12 --to 14 --runs 1"         # a small try
    make bench-growth BENCH="--gapbs DIR --gapbs-to 23"          # beside gapbs, while it is quick to build

For each scale the graph is generated, imported under 1 GiB and analysed from the SSD under 1 GiB.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness import Study, graphs, measure, product, study, tables
from harness.product import NAKSHI
from systems import gapbs

KERNELS = {"bfs": "BFS", "pagerank": "PageRank, 1 it.", "wcc": "WCC"}
CAP = 1 << 30


@dataclass
class Row:
    """One scale: sizes, seconds and memory."""

    scale: int
    vertices: int = 0
    edges: int = 0
    generate: float = 0.0
    load: float = 0.0
    load_peak: int = 0
    runs: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, int] = field(default_factory=dict)
    anchor: dict[str, float] = field(default_factory=dict)


def main() -> None:
    parser = study.parser(__doc__)
    parser.add_argument("--from", dest="first", type=int, default=20)
    parser.add_argument("--to", dest="last", type=int, default=25)
    parser.add_argument("--gapbs", type=Path, help="folder of gapbs's programs")
    parser.add_argument("--gapbs-to", type=int, default=25, help="largest scale for gapbs")
    options = study.options(parser)
    rows = [grow(scale, options) for scale in range(options.first, options.last + 1)]
    write(rows, options)


def grow(scale: int, options: argparse.Namespace) -> Row:
    """Generates, imports and analyses one scale; the text is removed as soon as it is imported."""
    row = Row(scale)
    print(f"Kron{scale}", file=sys.stderr, flush=True)
    folder = options.work / f"growth-{scale}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        edges, store = folder / "edges.tsv", folder / "graph.nakshi"
        call = [*NAKSHI, "generate", "kronecker", "--scale", str(scale), str(edges)]
        row.generate = measure.run(call, threads=options.threads, cap=CAP).seconds
        extra = ["--memory", str(CAP - 4 * product.INTERPRETER)]
        ran = product.import_store(edges, store, extra=extra, threads=options.threads, cap=CAP)
        row.load, row.load_peak = ran.seconds, ran.peak_rss
        graph = graphs.Graph(f"Kron{scale}", folder, _first_vertex(edges))
        edges.unlink()
        said = product.info(store)
        row.vertices, row.edges = said["vertices"], said["edges"]
        for kernel in KERNELS:
            _analyse(row, kernel, store, graph, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.gapbs and scale <= options.gapbs_to:
        _anchor(row, options)
    return row


def _first_vertex(edges: Path) -> int:
    """A source with an edge: where the first line starts."""
    with open(edges) as lines:
        return int(next(lines).split()[0])


def _analyse(
    row: Row, kernel: str, store: Path, graph: graphs.Graph, options: argparse.Namespace
) -> None:
    """Cold runs from the SSD with the smallest budget that works."""
    chosen = {"bfs": ["--source", str(graph.source)], "pagerank": ["--iterations", "1"]}
    arguments = [kernel, str(store), *chosen.get(kernel, [])]
    call = [*NAKSHI, "run", *arguments, "--engine", "ssd", "--json", "--no-progress"]
    call += ["--threads", str(options.threads), "--memory", str(product.minimum(arguments))]
    runs = measure.repeat(
        lambda: measure.run(call, threads=options.threads, cap=CAP, cold=True),
        _seconds,
        options.runs,
    )
    row.runs[kernel] = measure.median([_seconds(ran) for ran in runs])
    row.peaks[kernel] = max(ran.peak_rss for ran in runs)


def _seconds(ran: measure.Ran) -> float:
    """Seconds of the run that a command reports."""
    return float(json.loads(ran.stdout)["seconds"]["run"])


def _anchor(row: Row, options: argparse.Namespace) -> None:
    """gapbs on its own Kronecker graph of the same scale, generated and built once."""
    programs = {
        "bfs": ["bfs"],
        "pagerank": ["pr", "-i", "1", "-t", "0"],
        "wcc": ["cc"],
    }
    binary = options.work / f"growth-{row.scale}.sg"
    convert = [options.gapbs / "converter", "-g", str(row.scale), "-b", binary]
    try:
        measure.run(convert, threads=options.threads)
        for kernel, (program, *arguments) in programs.items():
            words = [options.gapbs / program, "-f", binary, "-n", "6", *arguments]
            ran = measure.run(words, threads=options.threads)
            row.anchor[kernel] = measure.median(gapbs.trial_times(ran.stdout)[1:])
    finally:
        binary.unlink(missing_ok=True)


def write(rows: list[Row], options: argparse.Namespace) -> None:
    """One table of sizes, one of times."""
    conditions = [
        f"threads: {options.threads}; generate, import and run each in a cgroup of 1 GiB",
        "runs are cold, with the smallest budget that `nakshi estimate` allows; gapbs holds its "
        "own graph of the same generator and scale in memory and picks its own sources",
    ]
    page = Study("growth", "Growth", options, conditions)
    head = [
        "Graph",
        "vertices",
        "edges",
        "generate, s",
        "import, s",
        "import, edges/s",
        "import peak",
    ]
    cells = [
        [
            f"Kron{row.scale}",
            f"{row.vertices:,}",
            f"{row.edges:,}",
            tables.seconds(row.generate),
            tables.seconds(row.load),
            f"{row.edges / row.load / 1e6:.2f} M",
            tables.size(row.load_peak),
        ]
        for row in rows
    ]
    page.section("Import", head, cells)
    for kernel, title in KERNELS.items():
        _kernel(page, rows, kernel, title)
    page.write()


def _kernel(page: Study, rows: list[Row], kernel: str, title: str) -> None:
    """The table of one kernel."""
    cells = []
    for row in rows:
        anchor = row.anchor.get(kernel)
        cells.append(
            [
                f"Kron{row.scale}",
                tables.seconds(row.runs[kernel]),
                f"{row.runs[kernel] / row.edges * 1e9:.2f} ns",
                tables.seconds(anchor),
                tables.ratio(row.runs[kernel] / anchor if anchor else None),
                tables.size(row.peaks[kernel]),
                f"{row.peaks[kernel] / row.vertices:.1f} B",
            ]
        )
    head = ["Graph", "run, s", "per edge", "gapbs, s", "ratio", "peak", "peak per vertex"]
    page.section(title, head, cells)


if __name__ == "__main__":
    main()
