"""Neo4j 5 embedded, from the jars of Maven Central: building, imports, queries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import neo4j
from harness import measure
from systems.maven import HEAP, Programs


@dataclass
class Imported:
    """Time and memory of an import."""

    seconds: float
    peak_rss: int


class Neo4j(Programs):
    """The programs of ``bench/neo4j``."""

    def __init__(self, folder: Path) -> None:
        super().__init__("neo4j", folder)
        # The script import.sh of an export calls this program.
        self.bin = self.folder / "bin"
        self.bin.mkdir(exist_ok=True)
        admin = self.bin / "neo4j-admin"
        words = f"java -Xmx{HEAP} -cp '{self.classes}' org.neo4j.cli.AdminTool"
        admin.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        admin.chmod(0o755)

    def version(self) -> str:
        """Version of the jars."""
        return self.version_of("neo4j-kernel")

    def load(self, home: Path, files: Path, threads: int) -> Imported:
        """Imports the files of `nakshi export --neo4j` into a new home by their own command."""
        shutil.rmtree(home, ignore_errors=True)
        (home / "conf").mkdir(parents=True)
        path = f"{self.bin}:{os.environ['PATH']}"
        places = {"NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf"), "PATH": path}
        ran = measure.run(["sh", files / "import.sh"], threads=threads, env=places)
        return Imported(ran.seconds, ran.peak_rss)

    @staticmethod
    def size(home: Path) -> int:
        """Bytes of a database on disk, without its log of transactions."""
        files = (home / "data" / "databases").rglob("*")
        return sum(file.stat().st_blocks * 512 for file in files if file.is_file())


def index(driver: neo4j.Driver, properties: Iterable[tuple[str, str]]) -> None:
    """Makes indexes of properties, each with its label, and waits until they are filled."""
    with driver.session() as session:
        # All in one transaction: each commit of a new index waits for others.
        with session.begin_transaction() as transaction:
            for label, name in properties:
                transaction.run(f"CREATE INDEX FOR (n:{label}) ON (n.{name})").consume()
        session.run("CALL db.awaitIndexes(3600)").consume()
