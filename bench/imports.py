"""Time and memory of turning a text file into a graph that can be analysed."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness import measure, product
from harness.graphs import Graph

MEMORY = 512 * measure.MIB


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
        subprocess.run([sys.executable, __file__, str(edges), str(lines)], check=True)
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


if __name__ == "__main__":
    _write_names(Path(sys.argv[1]), int(sys.argv[2]))
