"""libgrape-lite and Gemini, started by mpirun; their programs are given by path."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import measure, product
from harness.graphs import Graph
from harness.kernels import ITERATIONS
from systems import files

#: Seconds after which a run of another system is given up.
LONGEST = 900


@dataclass
class Ran:
    """Seconds of the run and of loading, where the system reports them; peak memory of the largest process."""

    seconds: float
    load: float | None
    peak: int


def mpirun(processes: int, command: list[str], threads: int) -> measure.Ran:
    """Runs a program on so many processes of this machine, however few its cores are."""
    if shutil.which("mpirun") is None:
        raise measure.Skipped("there is no mpirun")
    # mpirun ends its processes itself; killed, it would leave them behind.
    call = ["mpirun", "--timeout", str(LONGEST), "-n", str(processes)]
    call += ["--oversubscribe", "--bind-to", "none"]
    if os.geteuid() == 0:
        call.append("--allow-run-as-root")
    return measure.run([*call, *command], threads=threads, timeout=LONGEST + 60)


class Grape:
    """run_app of libgrape-lite, whose applications have a plain and an optimised form."""

    def __init__(self, folder: Path, graph: Graph, optimised: bool) -> None:
        self.program, self.graph = folder / "run_app", graph
        self.flags = ["--opt"] if optimised else []
        self.name = " ".join(["libgrape-lite", *self.flags])
        if not self.program.exists():
            raise measure.Skipped(f"there is no run_app in {folder.name}")
        files.run("export", graph.folder)

    def run(
        self, kernel: str, processes: int, threads: int, answer: Path | None = None
    ) -> Ran | None:
        """One run. ``answer`` is the file of Nakshi's answer, with which this run's is compared."""
        told = {
            "pagerank": ["--pr_mr", str(ITERATIONS)],
            "wcc": [],
            "bfs": ["--bfs_source", str(self.graph.source)],
        }[kernel]
        command = [str(self.program), "--application", kernel, *told, *self.flags]
        command += ["--vfile", str(self.graph.folder / "grape.v"), "--efile", str(self.graph.edges)]
        command += ["--app_concurrency", str(threads)]
        with tempfile.TemporaryDirectory() as folder:
            written = [] if answer is None else ["--out_prefix", folder]
            ran = mpirun(processes, [*command, *written], threads)
            if answer is not None:
                files.same(kernel, answer, Path(folder), self.name)
        times = dict(re.findall(r"- (\w+ \w+): ([0-9.e+-]+) sec", ran.stderr))
        if "run algorithm" not in times:
            raise measure.Skipped("it printed no time")
        return Ran(float(times["run algorithm"]), float(times["load graph"]), ran.peak_rss)


class Gemini:
    """Gemini's toolkits, which take all cores in each process and repeat the run six times."""

    name = "Gemini"

    def __init__(self, folder: Path, graph: Graph) -> None:
        self.folder, self.graph = folder / "toolkits", graph
        if not (self.folder / "pagerank").exists():
            raise measure.Skipped(f"there is no toolkits/pagerank in {folder.name}")
        files.run("export", graph.folder)

    def run(
        self, kernel: str, processes: int, threads: int, answer: Path | None = None
    ) -> Ran | None:
        """One run, its first repetition not counted; None where it cannot take so few threads."""
        cores = len(os.sched_getaffinity(0))
        if processes == 1 and threads != cores:
            return None
        program, file, *told = {
            "pagerank": ("pagerank", "both.bin", str(ITERATIONS)),
            "wcc": ("cc", "once.bin"),
            "bfs": ("bfs", "both.bin", str(self.graph.source)),
        }[kernel]
        vertices = str(self.graph.facts()["vertices"])
        command = [str(self.folder / program), str(self.graph.folder / file), vertices, *told]
        ran = mpirun(processes, command, threads)
        seconds = [float(value) for value in re.findall(r"exec_time=([0-9.]+)", ran.stdout)]
        if not seconds:
            raise measure.Skipped("it printed no time")
        if answer is not None:
            self._check(kernel, answer, ran.stdout)
        return Ran(measure.median(seconds[1:] or seconds), None, ran.peak_rss)

    def _check(self, kernel: str, answer: Path, text: str) -> None:
        """Compares the one number that Gemini prints with Nakshi's answer."""
        ours = product.digest(kernel, answer)
        if kernel == "pagerank":
            best, score = re.findall(r"pr\[(\d+)\]=([0-9.]+)", text)[0]
            (total,) = re.findall(r"pr_sum=([0-9.]+)", text)[:1]
            vertex, rank = ours["top"][0]
            agreed = int(best) == vertex and abs(float(score) / float(total) / rank - 1) < 0.01
        else:
            name = {"wcc": "components", "bfs": "found_vertices"}[kernel]
            count = int(re.findall(rf"{name} = (\d+)", text)[0])
            # Gemini counts a vertex without edges as a component; Nakshi's graph lacks the vertex.
            alone = self.graph.facts()["vertices"] - len(answer.read_text().splitlines())
            wanted = ours["components"] + alone if kernel == "wcc" else ours["reached"]
            agreed = count == wanted
        if not agreed:
            raise SystemExit(
                f"answers differ, {kernel} of Nakshi and Gemini: {ours}, {text[-200:]}"
            )
