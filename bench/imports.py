"""Does an import keep its pace at any budget, for any kind of ids? Writes docs/results/imports.md.

    make bench-imports                                               # Kron20 to Kron25
    make bench-imports BENCH="--from 18 --to 18 --runs 1 --out DIR"  # a small try

Each graph is imported with dense integers, integers spread over 64 bits, and strings as ids, under
64 MiB to 4 GiB. `bench/run.py` takes its comparison of imports with other systems from here.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness import Study, measure, product, study, tables
from harness.graphs import Graph
from harness.product import NAKSHI

MEMORY = 512 * measure.MIB
BUDGETS = (64, 128, 256, 512, 1024, 2048, 4096)
"""Budgets in MiB."""
KINDS = ("dense", "sparse", "strings")
SPREAD = 0x9E3779B97F4A7C15
"""An odd factor, which spreads small integers over 64 bits."""
PIECE = 64 * measure.MIB


@dataclass
class Ingest:
    """Rows of one import comparison: system, seconds, peak bytes, command."""

    title: str
    lines: int
    rows: list[tuple[str, float, int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def compare(work: Path, graph: Graph, options: argparse.Namespace) -> list[Ingest]:
    """The benchmark graph with integer ids, and one with strings as ids."""
    integers = Ingest(f"{graph.name} from text, `--memory 512MiB`", graph.facts()["edges"])
    extra = ["--memory", str(MEMORY)]
    _nakshi(integers, work, graph.edges, extra, options)
    if options.gapbs:
        _gapbs(integers, graph, options)
    return [integers, _strings(work, options)]


def _nakshi(
    ingest: Ingest, work: Path, edges: Path, extra: list[str], options: argparse.Namespace
) -> None:
    """Measures imports into a new store, each cold."""
    store = work / "imported.nakshi"

    def once() -> measure.Ran:
        shutil.rmtree(store, ignore_errors=True)
        measure.drop_caches()
        return product.import_store(edges, store, extra=extra, threads=options.threads)

    runs = measure.repeat(once, lambda ran: ran.seconds, options.runs)
    seconds, peak = measure.median([ran.seconds for ran in runs]), max(r.peak_rss for r in runs)
    call = f"nakshi import {edges.name} STORE --undirected " + " ".join(extra)
    size = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    ingest.rows.append((f"Nakshi (n = {len(runs)})", seconds, peak, call.strip()))
    ingest.notes.append(
        f"{edges.stat().st_size / 1e6:.0f} MB of text became {size / 1e6:.0f} MB of store"
    )
    shutil.rmtree(store, ignore_errors=True)


def _gapbs(ingest: Ingest, graph: Graph, options: argparse.Namespace) -> None:
    """Measures gapbs, which reads the same lines, builds its graph in memory and runs one BFS."""
    link = graph.folder / "import.el"
    if not link.exists():
        link.symlink_to(graph.edges.name)
    words = [options.gapbs / "bfs", "-f", link, "-s", "-n", "1", "-r", str(graph.source)]
    trials = options.runs or 3
    runs = []
    for _trial in range(trials):
        measure.drop_caches()
        runs.append(measure.run(words, threads=options.threads))
    phases = re.findall(r"(Read|Build) Time:\s+([0-9.]+)", runs[-1].stdout)
    row = (
        f"gapbs, into memory (n = {trials})",
        measure.median([ran.seconds for ran in runs]),
        max(ran.peak_rss for ran in runs),
        "bfs -f edges.el -s -n 1",
    )
    ingest.rows.append(row)
    ingest.notes.append("gapbs says: " + ", ".join(f"{name} {time} s" for name, time in phases))


def _strings(work: Path, options: argparse.Namespace) -> Ingest:
    """Measures imports of an R-MAT graph of scale 18 whose vertices have names."""
    lines = 1_926_279 if options.scale >= 20 else 50_000
    edges = work / f"names-{lines}.tsv"
    if not edges.exists():
        subprocess.run([sys.executable, __file__, "names", str(edges), str(lines)], check=True)
    ingest = Ingest("string ids", lines)
    _nakshi(ingest, work, edges, [], options)
    return ingest


def _write_names(edges: Path, lines: int) -> None:
    """Writes R-MAT edges (Graph500's quarters) between `user-…` names of 8 to 22 characters."""
    import numpy as np

    random = np.random.default_rng(7)
    u = np.zeros(lines, np.int64)
    v = np.zeros(lines, np.int64)
    for bit in range(18):
        draw = random.random(lines)
        u |= (draw > 0.76).astype(np.int64) << bit
        v |= (((draw > 0.57) & (draw <= 0.76)) | (draw > 0.95)).astype(np.int64) << bit
    names = [
        f"user-{x * 2654435761 % 2**32:x}{'-long-name' * (x % 3 == 0)}" for x in range(1 << 18)
    ]
    with open(edges, "w") as file:
        file.writelines(f"{names[a]}\t{names[b]}\n" for a, b in zip(u.tolist(), v.tolist()))


@dataclass
class Budgets:
    """The imports of one graph with one kind of ids: what each budget took."""

    scale: int
    kind: str
    edges: int = 0
    seconds: dict[int, float] = field(default_factory=dict)
    peaks: dict[int, int] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    scratch: dict[int, int] = field(default_factory=dict)

    def worst(self) -> float:
        """Slowest budget against the fastest."""
        return max(self.seconds.values()) / min(self.seconds.values())


def main() -> None:
    parser = study.parser(__doc__)
    parser.add_argument("--from", dest="first", type=int, default=20)
    parser.add_argument("--to", dest="last", type=int, default=25)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of ids; default: %(default)s")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), help="in MiB")
    options = study.options(parser)
    measured = []
    for scale in range(options.first, options.last + 1):
        folder = options.work / f"imports-{scale}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            dense = folder / "dense.tsv"
            call = [*NAKSHI, "generate", "kronecker", "--scale", str(scale), str(dense)]
            measure.run(call, threads=options.threads)
            for kind in options.kinds.split(","):
                edges = dense if kind == "dense" else _renamed(dense, kind)
                measured.append(_budgets(Budgets(scale, kind), edges, options))
                _write_budgets(measured, options)
                if kind != "dense":
                    edges.unlink()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _renamed(dense: Path, kind: str) -> Path:
    """The same edges between other ids."""
    import numpy as np
    import polars as pl

    factor = np.uint64(SPREAD)
    ids = pl.all().map_batches(lambda ids: pl.Series(ids.to_numpy().astype(np.uint64) * factor))
    if kind == "strings":
        ids = pl.lit("user-") + ids.cast(pl.String)
    renamed = dense.with_name(f"{kind}.tsv")
    with open(dense, "rb") as lines, open(renamed, "wb") as out:
        while text := lines.read(PIECE):
            text += lines.readline()
            table = pl.read_csv(io.BytesIO(text), has_header=False, separator="\t")
            table.select(ids).write_csv(out, include_header=False, separator="\t")
    return renamed


def _budgets(row: Budgets, edges: Path, options: argparse.Namespace) -> Budgets:
    """Imports one file under every budget; all stores must be equal."""
    store, hashes = edges.with_suffix(".nakshi"), set()
    for budget in map(int, options.budgets.split(",")):

        def once(budget: int = budget) -> measure.Ran:
            shutil.rmtree(store, ignore_errors=True)
            measure.drop_caches()
            extra = ["--memory", f"{budget}MiB"]
            return product.import_store(edges, store, extra=extra, threads=options.threads)

        runs = measure.repeat(once, lambda ran: ran.seconds, options.runs)
        said = [json.loads(ran.stdout) for ran in runs]
        hashes.update(one["content_hash"] for one in said)
        row.edges = said[-1]["edges_read"]
        row.seconds[budget] = measure.median([ran.seconds for ran in runs])
        row.peaks[budget] = max(ran.peak_rss for ran in runs)
        row.written[budget] = said[-1]["scratch_written"]
        row.scratch[budget] = said[-1]["scratch_peak"]
        print(
            f"Kron{row.scale} {row.kind} {budget} MiB: {row.seconds[budget]:.1f} s, "
            f"{row.written[budget] / row.edges:.1f} B an edge",
            file=sys.stderr,
            flush=True,
        )
    shutil.rmtree(store, ignore_errors=True)
    if len(hashes) != 1:
        raise SystemExit(f"stores differ by budget: {hashes}")
    return row


def _write_budgets(rows: list[Budgets], options: argparse.Namespace) -> None:
    """One table of the cliff, one of times, one of scratch files and memory."""
    budgets = list(map(int, options.budgets.split(",")))
    conditions = [
        f"threads: {options.threads}; each import is cold and undirected, from text",
        "every budget gives the same store; scratch is in bytes an edge of the input",
    ]
    page = Study("imports", "Imports at every budget", options, conditions)
    names = [f"{budget} MiB" for budget in budgets]

    def per_edge(row: Budgets, of: dict[int, int]) -> list[str]:
        return [f"{of[budget] / row.edges:.1f}" for budget in budgets]

    def titled(row: Budgets) -> list[str]:
        return [f"Kron{row.scale}", row.kind]

    head = ["Graph", "ids", "edges", "slowest / fastest", "most scratch an edge"]
    cells = [
        [*titled(row), f"{row.edges:,}", tables.ratio(row.worst())]
        + [f"{max(row.written.values()) / row.edges:.1f} B"]
        for row in rows
    ]
    page.section("Slowest against fastest budget", head, cells)
    head = ["Graph", "ids", *names]
    times = [[*titled(row), *(tables.seconds(row.seconds[b]) for b in budgets)] for row in rows]
    page.section("Seconds", head, times)
    written = [[*titled(row), *per_edge(row, row.written)] for row in rows]
    page.section("Scratch written, bytes an edge", head, written)
    peaks = [[*titled(row), *per_edge(row, row.scratch)] for row in rows]
    page.section("Most scratch at a time, bytes an edge", head, peaks)
    memory = [[*titled(row), *(tables.size(row.peaks[b]) for b in budgets)] for row in rows]
    page.section("Peak memory of the process", head, memory)
    page.write()


if __name__ == "__main__":
    if sys.argv[1:2] == ["names"]:
        _write_names(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
