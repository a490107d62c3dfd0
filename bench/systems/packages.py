"""Systems that pip installs, each in a process of its own in their own environment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import measure
from harness.graphs import Graph
from harness.kernels import Timing

PROGRAMS = Path(__file__).resolve().parent.parent / "peers"
PACKAGES = {
    "networkit": "networkit",
    "igraph": "igraph",
    "rustworkx": "rustworkx",
    "graphblas": "python-graphblas",
}
TITLES = {
    "networkit": "NetworKit",
    "igraph": "igraph (1 thread)",
    "rustworkx": "rustworkx (1 thread)",
    "graphblas": "SuiteSparse GraphBLAS",
}


class Environment:
    """A virtual environment of packages. A package that does not install is skipped with pip's reason."""

    def __init__(self, folder: Path, packages: dict[str, str] = PACKAGES) -> None:
        self.python = folder / "bin" / "python"
        self.missing: dict[str, str] = {}
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        self._install("numpy")
        for peer, package in packages.items():
            reason = self._install(package)
            if reason:
                self.missing[peer] = reason

    def _install(self, package: str) -> str | None:
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # Wheels are preferred: some peers take an hour to compile.
        done = subprocess.run([*pip, "--prefer-binary", package], capture_output=True, text=True)
        if done.returncode == 0:
            return None
        return (done.stderr.strip().splitlines() or ["pip failed"])[-1][:200]

    def version(self, package: str) -> str:
        """Version of an installed package."""
        ask = f"import importlib.metadata as m; print(m.version({package!r}))"
        return subprocess.run(
            [self.python, "-c", ask], check=True, capture_output=True, text=True
        ).stdout.strip()

    def run(
        self,
        peer: str,
        kernel: str,
        graph: Graph,
        threads: int,
        runs: int,
        timeout: float,
        program: str = "kernels.py",
    ) -> Timing:
        """Loads the graph once and repeats the kernel by a program of ``bench/peers``, inside a time limit."""
        if peer in self.missing:
            raise measure.Skipped(f"does not install: {self.missing[peer]}")
        words = [PROGRAMS / program, peer, kernel, graph.folder, graph.source, threads, runs]
        words += ["directed"] if graph.directed else []
        answer, ran = self.ask(words, threads, timeout)
        command = " ".join(map(str, [self.python, *words]))
        return Timing(answer["seconds"], ran.peak_rss, answer["digest"], command)

    def ask(
        self, words: Sequence[object], threads: int, timeout: float | None = None
    ) -> tuple[Any, measure.Ran]:
        """Runs a program of ``bench/peers``. Returns the JSON of its last line, and what it took.

        Raises:
            measure.Skipped: it failed, or was stopped after ``timeout`` seconds. A program repeats a
                run only within a third of them.
        """
        limit = {} if timeout is None else {"NAKSHI_BENCH_SECONDS": str(timeout / 3)}
        call = list(map(str, [self.python, *words]))
        ran = measure.run(call, threads=threads, timeout=timeout, env=limit, check=False)
        if ran.status == -9 and timeout is not None:
            raise measure.Skipped(f"stopped after {timeout:.0f} s")
        if ran.status != 0:
            lines = ran.stderr.strip().splitlines() or [f"status {ran.status}"]
            raise measure.Skipped(lines[-1][:200])
        return json.loads(ran.stdout.strip().splitlines()[-1]), ran
