"""Other systems that hold what a store holds: Neo4j embedded; DuckDB and LadybugDB from PyPI.

Each loads the files of ``nakshi export --neo4j`` and answers in a process of its own.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from harness import measure, product, tables
from systems.neo4j import Neo4j
from systems.packages import PROGRAMS, Environment

TYPES = [f"type{number}" for number in range(5)]
PACKAGES = {"pyarrow": "pyarrow", "duckdb": "duckdb", "ladybug": "ladybug"}
TITLES = {"duckdb": "DuckDB", "ladybug": "LadybugDB"}
#: DuckDB, LadybugDB and JanusGraph get a tenth of the queries and requests that Nakshi gets: so many end in time.
SHARE = 10
NOTES = {
    "duckdb": "DuckDB: tables of nodes and of edges, an ART index of ids, of each property of nodes and of "
    "the sources of edges",
    "ladybug": "LadybugDB: a table of nodes, with an index of ids only, and one of edges for each "
    "type; one transaction writes at a time",
}


def exported(store: Path, folder: Path) -> Path:
    """The store as CSV, which all others load."""
    shutil.rmtree(folder, ignore_errors=True)
    product.nakshi("export", store, folder, "--neo4j")
    return folder


class Rival:
    """Another system with what a store holds.

    Attributes:
        title: name and version.
        name: name in the columns of a table.
        seconds: seconds of the import with all indexes.
        import_seconds: seconds of the import alone, if that is known.
        size: bytes on disk.
        notes: remarks on the import.
        query_notes: remarks on the queries.
        queries: queries of each kind.
        requests: requests of LinkBench.
        threads: threads of the import and of the mix.
    """

    title: str
    name: str
    seconds: float
    import_seconds: float | None = None
    size: int
    notes: list[str]
    query_notes: list[str]
    queries: int
    requests: int
    threads: int

    def ask(self, what: str, *told: str, **how: Any) -> Any:
        """Runs a command of the system's program, with words such as ``seed=1``; its answer."""
        raise NotImplementedError

    def answers(self, ids: list[int]) -> list[Any]:
        """Properties, friends, edges by type, and the nodes with the first two values, of each node."""
        words = ["ids=" + ",".join(map(str, ids)), "types=" + ",".join(TYPES)]
        found: list[Any] = self.ask("answers", *words)
        return found

    def change(self, file: Path) -> None:
        """Makes the changes of a file."""
        self.ask("change", f"changes={file}")

    def workload(self, name: str, seed: int, *told: str, **how: Any) -> dict[str, Any]:
        """A run, as `nakshi bench --json` reports it; ``told`` and ``how`` are more for :meth:`ask`."""
        words = [f"mix={name}", f"queries={self.queries}", f"threads={self.threads}"]
        found: dict[str, Any] = self.ask("workload", *words, f"seed={seed}", *told, **how)
        return found

    def linkbench(self, threads: int, seed: int) -> dict[str, Any]:
        """A run of LinkBench."""
        words = [f"queries={self.requests}", f"threads={threads}", f"seed={seed}"]
        found: dict[str, Any] = self.ask("linkbench", *words)
        return found


class EmbeddedNeo4j(Rival):
    """Neo4j, imported by its own importer, with an index of every property."""

    name = "Neo4j"
    query_notes = [
        "Neo4j: one transaction a query; every query runs once before it is timed (for LinkBench, 20,000 "
        "others); the whole graph is in its page cache",
    ]

    def __init__(self, chosen: argparse.Namespace, store: Path) -> None:
        self.threads, self.queries = chosen.threads, chosen.queries
        self.requests = 5 * chosen.queries
        self.neo4j = Neo4j(chosen.work / "neo4j")
        self.title = f"Neo4j {self.neo4j.version()}"
        files = exported(store, chosen.work / "neo4j-csv")
        self.home = chosen.work / "neo4j-property"
        took = self.neo4j.load(self.home, files, chosen.threads)
        indexed = self.ask("index")
        self.import_seconds = took.seconds
        self.seconds = took.seconds + indexed["seconds"]
        self.size = self.neo4j.size(self.home)
        text = sum(file.stat().st_size for file in files.glob("*.csv"))
        shutil.rmtree(files)
        self.notes = [
            "Neo4j: community, embedded; its own importer, single-threaded in the order of the store "
            f"(from {tables.size(text)} of CSV), then {indexed['indexes']} indexes: ids and all "
            "properties of nodes; one run",
        ]

    def ask(self, what: str, *told: str, **how: Any) -> Any:
        """Runs a command of ``bench/neo4j``; ``how`` is for :meth:`Neo4j.ask`."""
        return self.neo4j.ask(what, self.home, self.threads, *told, **how)


class Package(Rival):
    """DuckDB or LadybugDB, in the peers' own environment."""

    def __init__(self, peer: str, chosen: argparse.Namespace, store: Path) -> None:
        self.peer, self.name, self.threads = peer, TITLES[peer], chosen.threads
        # Nakshi gets five times as many requests of LinkBench as queries.
        self.queries, self.requests = chosen.queries // SHARE, 5 * chosen.queries // SHARE
        self.environment = Environment(chosen.work / "peers-venv", PACKAGES)
        for needed in ("pyarrow", peer):
            if needed in self.environment.missing:
                reason = self.environment.missing[needed]
                raise measure.Skipped(f"does not install: {reason}")
        self.title = f"{self.name} {self.environment.version(PACKAGES[peer])}"
        self.files = exported(store, chosen.work / f"{peer}-csv")
        self.home = chosen.work / f"{peer}-property"
        self.seconds = self.ask("load", f"threads={self.threads}")["seconds"]
        self.size = sum(
            file.stat().st_blocks * 512 for file in self.home.rglob("*") if file.is_file()
        )
        self.notes = [f"{NOTES[peer]}; loaded from CSV in the order of the store; one run"]
        self.query_notes = [
            f"{self.name}: through its Python package, one connection a thread; it gets a tenth of "
            "Nakshi's queries and requests, and runs a tenth of its queries beforehand to warm up"
        ]

    def ask(self, what: str, *told: str, **how: Any) -> Any:
        """Runs a command of ``bench/peers/workloads.py``."""
        words = [PROGRAMS / "workloads.py", self.peer, what, self.home, f"files={self.files}"]
        if not any(word.startswith("threads=") for word in told):
            words.append(f"threads={self.threads}")
        return self.environment.ask([*words, *told], self.threads, **how)[0]


def wanted(chosen: argparse.Namespace, name: str, store: Path) -> Rival:
    """The system of this name, loaded with what the store holds.

    Raises:
        measure.Skipped: it cannot run here.
    """
    return EmbeddedNeo4j(chosen, store) if name == "neo4j" else Package(name, chosen, store)
