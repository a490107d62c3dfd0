"""GraphX, from PySpark on PyPI, in an environment of its own, on the same cores."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from cluster import servers
from cluster.servers import Input, Run, Sample
from harness import Study, kernels, measure, tables
from systems import files
from systems.packages import PROGRAMS, Environment

KERNELS = ("pagerank", "wcc", "triangles")
#: Processes of Nakshi, one thread each; together they have the threads of `local[2]`.
PROCESSES = 2


@dataclass
class GraphX:
    """Spark on so many threads of this machine."""

    environment: Environment
    chosen: argparse.Namespace
    given: Input

    def run(self, kernel: str, ours: Path, triangles: int) -> Sample:
        """Runs a kernel in one process, after a run that warms up, and compares the answer with Nakshi's."""
        folder, chosen = self.given.graph.folder, self.chosen
        file = self.given.graph.edges if kernel == "triangles" else folder / "both.tsv"
        out = chosen.work / f"graphx-{kernel}"
        shutil.rmtree(out, ignore_errors=True)
        words = [PROGRAMS / "graphx.py", kernel, file, out, kernels.ITERATIONS]
        words += [chosen.threads, chosen.runs, chosen.heap]
        said, _ = self.environment.ask(words, chosen.threads, chosen.peer_timeout)
        if kernel != "triangles":
            files.same(kernel, ours, out, "GraphX")
        elif int(files.run("total", out)) != 3 * triangles:
            sys.exit(f"answers differ, triangles of Nakshi and GraphX: {triangles:,} here")
        return Sample(said["seconds"], said["peak"], load=[said["load"]])


def prepared(chosen: argparse.Namespace, given: Input) -> GraphX:
    """Installs PySpark once."""
    if shutil.which("java") is None:
        raise measure.Skipped("there is no Java")
    packages = {"graphx": "pyspark"}
    environment = Environment(chosen.work / "spark-venv", packages)
    if environment.missing:
        raise measure.Skipped(f"does not install: {environment.missing['graphx']}")
    files.run("export", given.graph.folder)
    return GraphX(environment, chosen, given)


def section(study: Study) -> None:
    """PageRank, components and triangles, beside Nakshi on two processes."""
    chosen = study.options
    given = servers.prepared(chosen, chosen.graphx_scale)
    rows, notes = [], []
    try:
        rival = prepared(chosen, given)
    except measure.Skipped as skipped:
        print(f"GraphX is left out: {skipped}", file=sys.stderr)
        return
    for kernel in KERNELS:
        runs, ours, triangles = on_nakshi(chosen, given, kernel)
        parts = kernels.ITERATIONS if kernel == "pagerank" else 1
        seconds = measure.median([run.collected for run in runs])
        load = measure.median([run.load for run in runs])
        peak = max(max(run.peaks) for run in runs)
        title = {"pagerank": "PageRank, an iteration", "wcc": "WCC", "triangles": "TC"}[kernel]
        cells = [title, tables.seconds(seconds / parts)]
        try:
            theirs = rival.run(kernel, ours, triangles)
            cells += [tables.seconds(theirs.median / parts), tables.ratio(theirs.median / seconds)]
            cells += [tables.seconds(load), tables.seconds(theirs.load[0])]
            cells += [tables.size(peak), tables.size(theirs.peak)]
            notes.append(f"GraphX, {kernel}: {len(theirs.seconds)} run(s)")
        except measure.Skipped as skipped:
            notes.append(f"GraphX, {kernel}: {skipped}")
            cells += [
                skipped_cell(str(skipped)),
                "",
                tables.seconds(load),
                "",
                tables.size(peak),
                "",
            ]
        rows.append(cells)
    head = [f"Kron{chosen.graphx_scale}", "Nakshi, s", "GraphX, s", "GraphX against Nakshi"]
    head += ["Nakshi, load s", "GraphX, load s", "Nakshi, peak of a process", "GraphX, peak"]
    told = [
        f"GraphX of Spark {rival.environment.version('pyspark')}, local[{chosen.threads}], heap {chosen.heap}, called from Scala "
        "through PySpark; one process, one run before those that count",
        f"Nakshi: {PROCESSES} processes, one thread each, until results are collected; {chosen.runs} run(s)",
        "load: Nakshi from a store, GraphX from text",
        *notes,
    ]
    study.section("Beside GraphX", head, rows, *told)


def skipped_cell(reason: str) -> str:
    """Cell of a time that could not be measured."""
    return reason if reason.startswith("stopped after") else "does not run"


def on_nakshi(chosen: argparse.Namespace, given: Input, kernel: str) -> tuple[list[Run], Path, int]:
    """Nakshi's runs, the file with the answer, and the number of triangles."""
    answer = chosen.work / f"graphx-ours-{kernel}.tsv"
    out = None if kernel == "triangles" else answer
    _, found = servers.said(servers.call(kernel, given, PROCESSES, out=out), 1)
    runs = [servers.run(kernel, given, PROCESSES) for _ in range(chosen.runs)]
    return runs, answer, int(found.get("triangles", 0))
