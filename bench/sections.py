"""The page of results: one section for each question, each with its command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from harness import Study, measure, product
from harness.graphs import Graph
from harness.kernels import KERNELS, TITLES, Timing, disagreement
from harness.product import Result
from harness.tables import ratio, seconds, size
from imports import Ingest
from systems.packages import TITLES as PEERS

NAMES = {
    "gapbs": "gapbs (in memory)",
    "memory": "**Nakshi in memory**",
    "ssd": "**Nakshi semi-external**",
    "flashgraph": "FlashGraph on SSD, 128 MB",
    **PEERS,
}
FLASHGRAPH = {"bfs": 24.0, "wcc": 18.0, "pagerank": 7.6, "bc": 3.1}
"""FlashGraph on SSD with a cache of 128 MB, time / gapbs on Kron22, measured in November 2026."""


class Measured:
    """All runs on one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.store: Path | None = None
        self.results: dict[tuple[str, str], Result | Timing] = {}
        self.skipped: dict[tuple[str, str], str] = {}

    def attempt(self, system: str, kernel: str, work: Callable[[], Result | Timing]) -> None:
        """Keeps the result of ``work``, or the reason why it was skipped."""
        try:
            self.results[(system, kernel)] = work()
        except measure.Skipped as reason:
            self.skipped[(system, kernel)] = str(reason)

    def seconds(self, system: str, kernel: str) -> float | None:
        """Median time of a kernel, if it ran."""
        found = self.results.get((system, kernel))
        return measure.median(found.seconds) if found else None

    def over(self, system: str, kernel: str, other: str) -> float | None:
        """Time of one system divided by another's."""
        own, base = self.seconds(system, kernel), self.seconds(other, kernel)
        return own / base if own and base else None

    def systems(self) -> list[str]:
        """Systems with at least one result or reason, in the order of the tables."""
        seen = {system for system, _ in [*self.results, *self.skipped]}
        return [system for system in NAMES if system in seen]

    def kernels(self) -> list[str]:
        """Kernels that were asked for."""
        seen = {kernel for _, kernel in [*self.results, *self.skipped]}
        return [kernel for kernel in KERNELS if kernel in seen]

    def disagreements(self) -> list[str]:
        """Answers that differ from those of Nakshi in memory."""
        found = []
        for (system, kernel), result in self.results.items():
            ours = self.results.get(("memory", kernel))
            why = disagreement(ours.digest, result.digest) if ours else None
            if why:
                found.append(f"{self.graph.name}, {kernel}, {NAMES[system]}: {why}")
        return found


def write(
    options: argparse.Namespace, measured: list[Measured], ingested: list[Ingest] | None
) -> None:
    """The whole page."""
    conditions = [
        f"threads: {options.threads}; times after a warm-up, the number of runs in brackets",
        "cold: page cache dropped before each semi-external run, O_DIRECT where the file system allows",
        "peak: largest resident set of the process; time is `run`, `open` is shown beside",
        "answers of all systems are compared before a time is written",
    ]
    study = Study("benchmarks", "Benchmarks", options, conditions)
    _verdict(study, measured[0], ingested)
    for one in measured:
        _systems(study, one)
        _semi_external(study, one)
        _store(study, one)
    for ingest in ingested or []:
        rows = [[n, seconds(s), size(peak), f"`{c}`"] for n, s, peak, c in ingest.rows]
        title = f"Import: {ingest.lines:,} lines, {ingest.title}"
        study.section(title, ["System", "seconds", "peak", "call"], rows, *ingest.notes)
    study.write()


def _systems(study: Study, one: Measured) -> None:
    """Seconds (ratio to gapbs) of every system on every kernel."""
    rows = []
    for system in one.systems():
        cells, peak = [], 0
        for kernel in one.kernels():
            found = one.results.get((system, kernel))
            if not found:
                cells.append("")
                continue
            peak = max(peak, found.peak)
            over = one.over(system, kernel, "gapbs")
            note = f" ({ratio(over)})" if over and system != "gapbs" else ""
            cells.append(f"{seconds(measure.median(found.seconds))}{note} [{len(found.seconds)}]")
        rows.append([NAMES[system], *cells, size(peak)])
    head = ["System", *(TITLES[kernel] for kernel in one.kernels()), "largest peak"]
    notes = [f"{NAMES[s]}, {TITLES[k]}: {why}" for (s, k), why in one.skipped.items()]
    if not one.graph.directed:
        notes.append("igraph's PageRank runs to convergence; gapbs drops dangling mass")
    differ = one.disagreements()
    notes += [f"ANSWERS DIFFER: {line}" for line in differ] or ["all answers agree"]
    facts = one.graph.facts()
    title = f"{one.graph.name}: {facts['vertices']:,} vertices, {facts['edges']:,} edges, source {one.graph.source}"
    study.section(title, head, rows, *notes)


def _semi_external(study: Study, one: Measured) -> None:
    """Adds the runs with a quarter of the memory."""
    rows = []
    for kernel in one.kernels():
        found = one.results.get(("ssd", kernel))
        if not isinstance(found, Result):
            continue
        own = one.over("ssd", kernel, "memory")
        rows.append(
            [
                TITLES[kernel],
                size(found.cap),
                size(found.peak),
                size(found.charged),
                f"{seconds(found.median)} [{len(found.seconds)}]",
                seconds(measure.median(found.open_seconds)),
                ratio(one.over("ssd", kernel, "gapbs")),
                f"{1 / own:.2f}" if own else "",
                size(found.bytes_read),
                f"{found.requests:,}",
            ]
        )
    head = ["Kernel", "cgroup cap", "peak", "charged", "run, s", "open, s", "/ gapbs"]
    head += ["share of own in-memory speed", "read", "requests"]
    notes = ["charged: the cgroup's own peak, which counts the page cache as well"]
    notes += ["calls, in the cgroup: " + "; ".join(f"`{c}`" for c in _commands(one))]
    study.section(f"{one.graph.name}: semi-external", head, rows, *notes)


def _commands(one: Measured) -> list[str]:
    found = [one.results.get(("ssd", kernel)) for kernel in one.kernels()]
    return [result.command for result in found if result]


def _store(study: Study, one: Measured) -> None:
    """Bytes on disk and in memory."""
    if one.store is None:
        return
    facts = one.graph.facts()
    arcs = facts["edges"] * (1 if one.graph.directed else 2)
    edges = product.edge_file_bytes(one.store)
    directions = 2 if one.graph.directed else 1
    rows = [
        ["edge file", size(edges), f"{edges / arcs / directions:.3f} B per edge"],
        [
            "index in memory",
            size(product.index_bytes(one.store)),
            f"{_index_each(one):.3f} B per vertex and direction",
        ],
    ]
    bfs = one.results.get(("ssd", "bfs"))
    if isinstance(bfs, Result):
        share = bfs.bytes_read / edges
        rows.append(["read by BFS", size(bfs.bytes_read), f"{share:.3f} of the edge file"])
    head = ["What", "size", "relative"]
    note = "an edge is one list entry: undirected edges count twice"
    study.section(f"{one.graph.name}: bytes", head, rows, note)


def _index_each(one: Measured) -> float | None:
    """Bytes of index in memory per vertex and direction."""
    if one.store is None:
        return None
    directions = 2 if one.graph.directed else 1
    return product.index_bytes(one.store) / one.graph.facts()["vertices"] / directions


def _verdict(study: Study, one: Measured, ingested: list[Ingest] | None) -> None:
    """Adds each figure that the project promised, beside the measured one."""
    rows: list[list[str]] = []

    def judge(what: str, value: float | None, must: float, aim: float, unit: str = "x") -> None:
        if value is None:
            rows.append([what, f"{must:g}{unit}", f"{aim:g}{unit}", "not measured", ""])
            return
        larger_is_better = must < aim
        met = (lambda bound: value >= bound) if larger_is_better else (lambda bound: value <= bound)
        word = "aim met" if met(aim) else "must met" if met(must) else "**missed**"
        rows.append([what, f"{must:g}{unit}", f"{aim:g}{unit}", f"{value:.3g}{unit}", word])

    for kernel in one.kernels():
        judge(f"in memory / gapbs, {TITLES[kernel]}", one.over("memory", kernel, "gapbs"), 1.5, 1.0)
    for kernel in one.kernels():
        judge(f"semi-external / gapbs, {TITLES[kernel]}", one.over("ssd", kernel, "gapbs"), 2, 1.25)
    for kernel in ("pagerank", "wcc"):
        slower = one.over("ssd", kernel, "memory")
        judge(
            f"share of own in-memory speed, {TITLES[kernel]}",
            1 / slower if slower else None,
            0.8,
            0.95,
            "",
        )
    for kernel, must, aim in (
        ("bfs", 4, 10),
        ("wcc", 4, 10),
        ("pagerank", 3.5, 6),
        ("bc", 1.5, 2.5),
    ):
        here, ours = one.over("flashgraph", kernel, "ssd"), one.over("ssd", kernel, "gapbs")
        derived = FLASHGRAPH[kernel] / ours if ours else None
        title = f"faster than FlashGraph, {TITLES[kernel]}"
        judge(title if here else f"{title}, derived", here or derived, must, aim)
    bfs = one.results.get(("ssd", "bfs"))
    if isinstance(bfs, Result) and one.store:
        edges = product.edge_file_bytes(one.store)
        judge("bytes read by BFS / edge file", bfs.bytes_read / edges, 0.5, 0.05, "")
        judge("edge file, bytes per edge", edges / (2 * one.graph.facts()["edges"]), 2.0, 1.6, "")
        judge("index, bytes per vertex and direction", _index_each(one), 1.25, 1.0, "")
    for ingest in ingested or []:
        times = {row[0].split(" ")[0].rstrip(","): row[1] for row in ingest.rows}
        if "gapbs" in times:
            judge("import of text / gapbs", times["Nakshi"] / times["gapbs"], 2, 1)
        elif ingest.title == "string ids":
            judge("import of string ids, seconds", times["Nakshi"], 2, 1, " s")
    head = ["Figure", "must", "aim", "measured", "verdict"]
    notes = [
        "derived: where FlashGraph did not run here, its time / gapbs of November 2026 on this kind of "
        "machine (24, 18, 7.6 and 3.1) is divided by Nakshi's semi-external time / gapbs of this run"
    ]
    study.section(f"Promised and measured, {one.graph.name}", head, rows, *notes)
