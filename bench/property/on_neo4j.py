"""Neo4j embedded, imported by its own importer, with an index of every property."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import against
import tables
from embedded import Neo4j


class OnNeo4j:
    """Neo4j with what a store holds."""

    name = "Neo4j"
    query_notes = [
        "Neo4j: one transaction a query; every query runs once before it is timed (for LinkBench, 20,000 "
        "others); the whole graph is in its page cache",
    ]

    def __init__(self, chosen: argparse.Namespace, store: Path) -> None:
        self.threads, self.queries, self.requests = (
            chosen.threads,
            chosen.queries,
            5 * chosen.queries,
        )
        self.neo4j = Neo4j(chosen.work / "neo4j")
        self.title = f"Neo4j {self.neo4j.version()}"
        files = against.exported(store, chosen.work / "neo4j-csv")
        self.home = chosen.work / "neo4j-property"
        took = self.neo4j.load(self.home, files, chosen.threads)
        indexed = self._ask("index")
        self.import_seconds: float | None = took.seconds
        self.seconds = took.seconds + indexed["seconds"]
        self.size = self.neo4j.size(self.home)
        text = sum(file.stat().st_size for file in files.glob("*.csv"))
        shutil.rmtree(files)
        self.notes = [
            "Neo4j: community, embedded; its own importer, single-threaded in the order of the store "
            f"(from {tables.size(text)} of CSV), then {indexed['indexes']} indexes: ids and all "
            "properties of nodes; one run",
        ]

    def _ask(self, what: str, *told: str, **how: Any) -> Any:
        return self.neo4j.ask(what, self.home, self.threads, *told, **how)

    def answers(self, ids: list[int]) -> list[Any]:
        """Of each node."""
        found: list[Any] = self._ask("answers", "ids=" + ",".join(map(str, ids)))
        return found

    def change(self, file: Path) -> None:
        """Makes the changes of a file."""
        self._ask("change", f"changes={file}")

    def workload(self, name: str, seed: int, *told: str, **how: Any) -> dict[str, Any]:
        """A run; `told` and `how` are more for :meth:`Neo4j.ask`."""
        words = [f"mix={name}", f"queries={self.queries}", f"threads={self.threads}"]
        found: dict[str, Any] = self._ask("workload", *words, f"seed={seed}", *told, **how)
        return found

    def linkbench(self, threads: int, seed: int) -> dict[str, Any]:
        """A run of LinkBench."""
        words = [f"queries={self.requests}", f"threads={threads}", f"seed={seed}"]
        found: dict[str, Any] = self._ask("linkbench", *words)
        return found
