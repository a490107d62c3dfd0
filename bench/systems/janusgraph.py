"""JanusGraph on BerkeleyDB, from the jars of Maven Central: building, loads."""

from __future__ import annotations

import shutil
from pathlib import Path

from systems.maven import Programs


class JanusGraph(Programs):
    """The programs of ``bench/janusgraph``."""

    def __init__(self, folder: Path) -> None:
        super().__init__("janusgraph", folder)

    def version(self) -> str:
        """Version of the jars."""
        return self.version_of("janusgraph-core")

    def load(self, home: Path, files: Path, threads: int) -> float:
        """Loads the files of `nakshi export --neo4j` into a new folder; seconds."""
        shutil.rmtree(home, ignore_errors=True)
        return float(self.ask("load", home, threads, f"files={files}")["seconds"])
