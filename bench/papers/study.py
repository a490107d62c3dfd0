"""What the figures share: the graph, its store, runs of the paper's six applications, drawing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure
import pictures
import product
import tables
from graphs import Graph

APPLICATIONS = {
    "bfs": "BFS",
    "bc": "BC",
    "wcc": "WCC",
    "pagerank": "PR",
    "triangles": "TC",
    "scan-statistics": "SS",
}


@dataclass
class Sample:
    """Medians of one application under one condition."""

    seconds: float
    open_seconds: float
    user: float
    system: float
    peak: int
    report: dict[str, Any]


class Study:
    """One graph under varying conditions."""

    def __init__(self, options: argparse.Namespace, graph: Graph, command: str) -> None:
        self.options, self.graph, self.command = options, graph, command
        self.out: Path = options.out
        self.store = self.variant(graph, "default", [])

    def variant(self, graph: Graph, name: str, extra: list[str]) -> Path:
        """A store of the graph with import options of its own; undirected and unweighted."""
        store = self.options.work / f"{graph.folder.name}-papers-{name}.nakshi"
        return product.ensure(store, graph.edges, False, extra, self.options.threads)

    def arguments(self, application: str, graph: Graph) -> list[str]:
        """The paper's settings: one source, 30 iterations of the delta PageRank at most."""
        source = str(graph.source)
        return {
            "bfs": ["--source", source],
            "bc": ["--sources", source],
            "pagerank": ["--variant", "delta", "--iterations", "30"],
        }.get(application, [])

    def sample(
        self,
        application: str,
        engine: str,
        *,
        memory: int | None = None,
        store: Path | None = None,
        graph: Graph | None = None,
    ) -> Sample:
        """Cold runs, each in its own process."""
        chosen = self.arguments(application, graph or self.graph)
        call = [*product.NAKSHI, "run", application, str(store or self.store), "--engine", engine]
        call += ["--threads", str(self.options.threads), "--json", "--no-progress", *chosen]
        call += ["--memory", str(memory)] if memory else []
        runs: list[tuple[dict[str, Any], measure.Ran]] = []
        trials = 1
        while len(runs) < trials:
            ran = measure.run(call, threads=self.options.threads, cold=engine == "ssd")
            runs.append((json.loads(ran.stdout), ran))
            trials = measure.repeats(runs[0][0]["seconds"]["run"], self.options.runs)
        return Sample(
            measure.median([said["seconds"]["run"] for said, _ in runs]),
            measure.median([said["seconds"]["open"] for said, _ in runs]),
            measure.median([ran.user_seconds for _, ran in runs]),
            measure.median([ran.system_seconds for _, ran in runs]),
            max(ran.peak_rss for _, ran in runs),
            runs[-1][0],
        )

    def minimum(self, application: str, store: Path | None = None) -> int:
        """The smallest budget that works."""
        chosen = self.arguments(application, self.graph)
        return product.minimum([application, str(store or self.store), *chosen])

    def page(self, title: str, graph: Graph | None = None) -> tables.Page:
        """A page with the conditions of this study."""
        chosen = graph or self.graph
        facts = chosen.facts()
        conditions = [
            f"graph: {chosen.name}, {facts['vertices']:,} vertices, {facts['edges']:,} edges",
            f"threads: {self.options.threads}; cold, O_DIRECT where the file system allows",
            "medians of 5 runs, of 3 where one takes over 20 s"
            if not self.options.runs
            else f"medians of {self.options.runs} run(s)",
        ]
        return tables.Page(title, self.command, conditions)

    def bars(
        self, name: str, groups: Sequence[str], series: dict[str, list[float]], label: str
    ) -> str:
        """Draws grouped bars as SVG and returns the Markdown that shows them."""
        return pictures.bars(self.out, name, groups, series, label)

    def lines(
        self, name: str, ticks: Sequence[str], series: dict[str, list[float]], label: str
    ) -> str:
        """Draws lines over named steps as SVG and returns the Markdown that shows them."""
        return pictures.lines(self.out, name, ticks, series, label)
