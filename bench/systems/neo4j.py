"""Neo4j 5 embedded, from the jars of Maven Central: building, imports, queries.

Needs Java 17 and Maven. Nothing of it is part of the product.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import measure

#: Programs in Java that use Neo4j; Maven compiles them.
PROGRAMS = Path(__file__).resolve().parent.parent / "neo4j"
HEAP = "4g"


@dataclass
class Imported:
    """Time and memory of an import."""

    seconds: float
    peak_rss: int


class Neo4j:
    """The programs of ``bench/neo4j``, compiled in `folder`, where Maven leaves the class path too."""

    def __init__(self, folder: Path) -> None:
        for program in ("java", "mvn"):
            if shutil.which(program) is None:
                raise measure.Skipped(f"no {program} on this machine; install Java 17 and Maven")
        folder = folder.resolve()
        path = folder / "classpath.txt"
        maven = ["mvn", "-q", "-B", f"-Dfolder={folder}", "compile"]
        maven += ["dependency:build-classpath", f"-Dmdep.outputFile={path}"]
        done = subprocess.run(maven, cwd=PROGRAMS, capture_output=True, text=True)
        if done.returncode:
            raise measure.Skipped(f"Maven failed: {done.stdout.strip()[-300:]}")
        self.classes = f"{folder / 'classes'}:{path.read_text().strip()}"
        # The script import.sh of an export calls this program.
        self.bin = folder / "bin"
        self.bin.mkdir(exist_ok=True)
        admin = self.bin / "neo4j-admin"
        words = f"java -Xmx{HEAP} -cp '{self.classes}' org.neo4j.cli.AdminTool"
        admin.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        admin.chmod(0o755)

    def version(self) -> str:
        """Version of the jars."""
        names = (Path(jar).name for jar in self.classes.split(":"))
        kernel = next(name for name in names if name.startswith("neo4j-kernel-5"))
        return kernel.removeprefix("neo4j-kernel-").removesuffix(".jar")

    def load(self, home: Path, files: Path, threads: int) -> Imported:
        """Imports the files of `nakshi export --neo4j` into a new home by their own command."""
        shutil.rmtree(home, ignore_errors=True)
        (home / "conf").mkdir(parents=True)
        path = f"{self.bin}:{os.environ['PATH']}"
        places = {"NEO4J_HOME": str(home), "NEO4J_CONF": str(home / "conf"), "PATH": path}
        ran = measure.run(["sh", files / "import.sh"], threads=threads, env=places)
        return Imported(ran.seconds, ran.peak_rss)

    def ask(
        self,
        what: str,
        home: Path,
        threads: int,
        *options: str,
        cold: bool = False,
        cap: int | None = None,
        heap: str = HEAP,
        timeout: float | None = None,
    ) -> Any:
        """Runs a command of ``Main`` and returns the JSON that it printed last."""
        call = ["java", f"-Xmx{heap}", "-cp", self.classes, "bench.Main", what, home, *options]
        ran = measure.run(call, threads=threads, cold=cold, cap=cap, timeout=timeout)
        return json.loads(ran.stdout.strip().splitlines()[-1])

    @staticmethod
    def size(home: Path) -> int:
        """Bytes of a database on disk, without its log of transactions."""
        files = (home / "data" / "databases").rglob("*")
        return sum(file.stat().st_blocks * 512 for file in files if file.is_file())
