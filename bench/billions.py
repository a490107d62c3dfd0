"""Do two billion edges cost eight times what a quarter of a billion costs? Writes docs/results/billions.md.

    bench/billions.py                                    # Kron24 and Kron27: an hour, 60 GB of disk
    bench/billions.py --scales 12,14 --runs 1            # a small try

The generator's edges are piped into the import, which has 1 GiB; runs are from the SSD, cold, under 2 GiB.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness import Study, graphs, kernels, measure, product, study, tables
from harness.product import NAKSHI

IMPORT_CAP = 1 << 30
RUN_CAP = 2 << 30


@dataclass
class Row:
    """One scale."""

    scale: int
    said: dict[str, int]
    vertices: int
    edges: int
    seconds: float
    peak: int
    runs: dict[str, tuple[float, int, int]] = field(default_factory=dict)
    """Seconds, peak bytes and bytes read of each kernel."""


def main() -> None:
    parser = study.parser(__doc__)
    parser.add_argument("--scales", default="24,27", help="default: %(default)s")
    names = [name for name in kernels.KERNELS if name != "sssp"]
    parser.add_argument("--kernels", default=",".join(names), help="default: %(default)s")
    options = study.options(parser)
    rows: list[Row] = []
    for scale in map(int, options.scales.split(",")):
        folder = options.work / f"billions-{scale}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            row = load(scale, folder, options)
            rows.append(row)
            for kernel in options.kernels.split(","):
                analyse(row, kernel, folder, options)
                write(rows, options)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def load(scale: int, folder: Path, options: argparse.Namespace) -> Row:
    """Pipes the edges of a scale into an import."""
    store = folder / "graph.nakshi"
    budget = IMPORT_CAP - 4 * product.INTERPRETER
    taken = ["import", "-", str(store), "--undirected", "--no-progress", "--json"]
    taken += ["--threads", str(options.threads), "--memory", str(budget), "--scratch", str(folder)]
    pipe = f"{shlex.join(generate(scale))} | {shlex.join([*NAKSHI, *taken])}"
    call = ["bash", "-o", "pipefail", "-c", pipe]
    ran = measure.run(call, threads=options.threads, cap=IMPORT_CAP)
    said, info = json.loads(ran.stdout), product.info(store)
    print(f"Kron{scale}: imported in {ran.seconds:.0f} s", file=sys.stderr, flush=True)
    return Row(scale, said, info["vertices"], info["edges"], ran.seconds, ran.peak_rss)


def generate(scale: int) -> list[str]:
    """The call that writes the edges of a scale to standard output."""
    return [*NAKSHI, "generate", "kronecker", "--scale", str(scale), "-", "--no-progress"]


def source(scale: int) -> int:
    """A vertex with an edge: the first that the generator writes."""
    with subprocess.Popen(generate(scale), stdout=subprocess.PIPE, text=True) as made:
        assert made.stdout is not None
        first = made.stdout.readline()
        made.terminate()
    return int(first.split()[0])


def analyse(row: Row, kernel: str, folder: Path, options: argparse.Namespace) -> None:
    """Cold runs of a kernel from the SSD, with the smallest budget that works."""
    graph = graphs.Graph(f"Kron{row.scale}", folder, source(row.scale))
    words = product.arguments(kernel, folder / "graph.nakshi", graph, options.threads)
    call = [*NAKSHI, "run", *words, "--engine", "ssd", "--json", "--no-progress"]
    call += ["--memory", str(product.minimum(words))]
    said = []

    def once() -> float:
        ran = measure.run(call, threads=options.threads, cap=RUN_CAP, cold=True)
        said.append((json.loads(ran.stdout), ran.peak_rss))
        return float(said[-1][0]["seconds"]["run"])

    seconds = measure.median(measure.repeat(once, lambda taken: taken, options.runs))
    peak = max(peak for _, peak in said)
    row.runs[kernel] = (seconds, peak, said[-1][0]["io"]["bytes_read"])
    print(f"Kron{row.scale}, {kernel}: {seconds:.1f} s", file=sys.stderr, flush=True)


def write(rows: list[Row], options: argparse.Namespace) -> None:
    """One table of imports, one of runs."""
    conditions = [
        f"threads: {options.threads}; generator and import share a cgroup of 1 GiB, a run has one of 2 GiB",
        "runs are cold, from the SSD, with the smallest budget that `nakshi estimate` allows; "
        f"PageRank: {kernels.ITERATIONS} iterations, BC: one source",
        "`against`: seconds an edge against the first scale",
    ]
    page = Study("billions", "Two billion edges", options, conditions)
    first = rows[0]
    head = [
        "Graph",
        "vertices",
        "edges",
        "import, s",
        "an edge",
        "against",
        "peak",
        "scratch, an edge",
    ]
    cells = [
        [
            f"Kron{row.scale}",
            f"{row.vertices:,}",
            f"{row.edges:,}",
            tables.seconds(row.seconds),
            f"{row.seconds / row.edges * 1e9:.1f} ns",
            tables.ratio(row.seconds / row.edges / (first.seconds / first.edges)),
            tables.size(row.peak),
            f"{row.said['scratch_written'] / row.said['edges_read']:.1f} B",
        ]
        for row in rows
    ]
    page.section("Import, generation included", head, cells)
    cells = []
    for kernel in first.runs:
        for row in rows:
            if kernel not in row.runs:
                continue
            seconds, peak, read = row.runs[kernel]
            against = seconds / row.edges / (first.runs[kernel][0] / first.edges)
            shown = [tables.seconds(seconds), f"{seconds / row.edges * 1e9:.2f} ns"]
            sizes = [tables.size(peak), tables.size(read)]
            cells.append(
                [kernels.TITLES[kernel], f"Kron{row.scale}", *shown, tables.ratio(against), *sizes]
            )
    head = ["Kernel", "Graph", "run, s", "an edge", "against", "peak", "read"]
    page.section("Runs", head, cells)
    page.write()


if __name__ == "__main__":
    main()
