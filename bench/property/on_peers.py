"""DuckDB and LadybugDB, from PyPI, in the peers' own environment."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import against
import measure
import rivals

HERE = Path(__file__).resolve().parent
PACKAGES = {"pyarrow": "pyarrow", "duckdb": "duckdb", "ladybug": "ladybug"}
TITLES = {"duckdb": "DuckDB", "ladybug": "LadybugDB"}
#: What their time buys, of the queries and requests that Nakshi gets.
SHARE = 10
NOTES = {
    "duckdb": "DuckDB: tables of nodes and of edges, an ART index of ids, of each property of nodes and of "
    "the sources of edges",
    "ladybug": "LadybugDB: a table of nodes, with an index of ids only, and one of edges for each "
    "type; one transaction writes at a time",
}


class OnPeer:
    """One of them with what a store holds, from the files that Neo4j gets."""

    import_seconds: float | None = None

    def __init__(self, peer: str, chosen: argparse.Namespace, store: Path) -> None:
        self.peer, self.name, self.threads = peer, TITLES[peer], chosen.threads
        # Requests of LinkBench are five times as many.
        self.queries, self.requests = chosen.queries // SHARE, chosen.queries // 2
        environment = rivals.Environment(chosen.work / "peers-venv", PACKAGES)
        for needed in ("pyarrow", peer):
            if needed in environment.missing:
                raise measure.Skipped(f"does not install: {environment.missing[needed]}")
        self.python = environment.python
        self.title = f"{self.name} {environment.version(PACKAGES[peer])}"
        self.files = against.exported(store, chosen.work / f"{peer}-csv")
        self.home = chosen.work / f"{peer}-property"
        self.seconds = self._ask("load")["seconds"]
        self.size = sum(
            file.stat().st_blocks * 512 for file in self.home.rglob("*") if file.is_file()
        )
        self.notes = [f"{NOTES[peer]}; loaded from CSV in the order of the store; one run"]
        self.query_notes = [
            f"{self.name}: through its Python package, one connection a thread; it gets a tenth of "
            "Nakshi's queries and requests, and runs a tenth of its queries beforehand to warm up"
        ]

    def _ask(self, what: str, *told: str) -> Any:
        call = [self.python, HERE.parent / "peers" / "property.py", self.peer, what, self.home]
        words = [f"files={self.files}", *told]
        if not any(word.startswith("threads=") for word in words):
            words.append(f"threads={self.threads}")
        ran = measure.run([*map(str, call), *words], threads=self.threads)
        return json.loads(ran.stdout.strip().splitlines()[-1])

    def answers(self, ids: list[int]) -> list[Any]:
        """Of each node."""
        types = ",".join(against.TYPES)
        found: list[Any] = self._ask("answers", "ids=" + ",".join(map(str, ids)), f"types={types}")
        return found

    def change(self, file: Path) -> None:
        """Makes the changes of a file."""
        self._ask("change", f"changes={file}")

    def workload(self, name: str, seed: int) -> dict[str, Any]:
        """A run."""
        words = [f"mix={name}", f"queries={self.queries}", f"seed={seed}"]
        found: dict[str, Any] = self._ask("workload", *words)
        return found

    def linkbench(self, threads: int, seed: int) -> dict[str, Any]:
        """A run of LinkBench."""
        words = [f"queries={self.requests}", f"threads={threads}", f"seed={seed}"]
        found: dict[str, Any] = self._ask("linkbench", *words)
        return found

    def close(self) -> None:
        """Deletes its files."""
        shutil.rmtree(self.files, ignore_errors=True)
