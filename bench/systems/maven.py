"""Programs in Java, which Maven compiles with the jars of Maven Central; each prints one JSON object.

Needs Java 17 and Maven. Nothing of it is part of the product.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from harness import measure

HEAP = "4g"
BENCH = Path(__file__).resolve().parent.parent


def _close_input(server: subprocess.Popen[str]) -> None:
    server.communicate()


class Programs:
    """The programs of a folder of ``bench``, compiled in `folder`, where Maven leaves the class path too."""

    def __init__(self, name: str, folder: Path) -> None:
        for program in ("java", "mvn"):
            if shutil.which(program) is None:
                raise measure.Skipped(f"no {program} on this machine; install Java 17 and Maven")
        self.folder = folder.resolve()
        path = self.folder / "classpath.txt"
        maven = ["mvn", "-q", "-B", f"-Dfolder={self.folder}", "compile"]
        maven += ["dependency:build-classpath", f"-Dmdep.outputFile={path}"]
        done = subprocess.run(maven, cwd=BENCH / name, capture_output=True, text=True)
        if done.returncode:
            raise measure.Skipped(f"Maven failed: {done.stdout.strip()[-300:]}")
        self.classes = f"{self.folder / 'classes'}:{path.read_text().strip()}"

    def version_of(self, jar: str) -> str:
        """Version of a jar, by its name without the version."""
        names = (Path(path).stem for path in self.classes.split(":"))
        versions = (name.removeprefix(f"{jar}-") for name in names if name.startswith(f"{jar}-"))
        return next(version for version in versions if version[0].isdigit())

    def call(self, what: str, home: Path, *options: str, heap: str = HEAP) -> list[str]:
        """The command line of a command of ``Main``."""
        return [
            *["java", f"-Xmx{heap}", "-cp", self.classes, "bench.Main"],
            *[what, str(home), *options],
        ]

    def serving(
        self, home: Path, *options: str, heap: str = HEAP, **how: Any
    ) -> AbstractContextManager[measure.Served]:
        """Runs the command ``serve`` of ``Main``; ``how`` is for :func:`measure.serving`."""
        command = self.call("serve", home, *options, heap=heap)
        return measure.serving(command, end=_close_input, **how)

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
        call = self.call(what, home, *options, heap=heap)
        ran = measure.run(call, threads=threads, cold=cold, cap=cap, timeout=timeout)
        return json.loads(ran.stdout.strip().splitlines()[-1])
