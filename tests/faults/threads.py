"""Every command under a limit on threads and processes, with a verdict on its result.

    .venv/bin/python tests/faults/threads.py                 # all commands, all limits from 2 to 64
    .venv/bin/python tests/faults/threads.py --limits 2..64 --step 4 --only cluster

A command either gives the answer that it gives without the limit, or ends with exit code 1 and one
line. The table counts, for each command, right answers, refusals and everything else: wrong
answers, panics, messages that are no line of ours, commands that hang, processes left over.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import hashlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nakshi

NAKSHI = [sys.executable, "-m", "nakshi"]
GROUPS = Path("/sys/fs/cgroup/pids")
PATIENCE = 120.0
"""Seconds after which a command hangs."""
LIMITS = range(2, 65)
ORDERS = ["degree", "random", "pagerank", "norder", "gorder", "organ-pipe"]
ORDERS += ["bondhu-parcom", "bondhu-modcom", "bisection", "auto"]
#: Name, algorithm and options of a run.
RUNS = [
    ("bfs", "bfs", ["--source", "1"]),
    ("pagerank", "pagerank", ["--iterations", "3"]),
    ("pagerank delta", "pagerank", ["--iterations", "3", "--variant", "delta"]),
    ("pagerank vertex", "pagerank", ["--iterations", "3", "--variant", "vertex"]),
    ("wcc", "wcc", []),
    ("wcc vertex", "wcc", ["--variant", "vertex"]),
    ("sssp", "sssp", ["--source", "1"]),
    ("bc", "bc", ["--sources", "1"]),
    ("triangles", "triangles", ["--per-vertex"]),
    ("scan-statistics", "scan-statistics", ["--per-vertex"]),
    ("diameter", "diameter", ["--sweeps", "2"]),
    ("apsp", "apsp", ["--sample", "3"]),
    ("cdlp", "cdlp", ["--iterations", "3"]),
    ("lcc", "lcc", []),
    ("scc", "scc", []),
    ("k-core", "k-core", []),
    ("mis", "mis", []),
    ("articulation-points", "articulation-points", []),
]
SUMMARY_ONLY = ("diameter", "apsp")
"""Algorithms without a column of values."""
PROGRAMS = ["pagerank", "sssp", "bfs", "wcc", "cdlp", "triangles", "coloring", "matching"]


class Skipped(Exception):
    """This machine cannot limit processes; the message is the reason."""


class Limit:
    """A pids cgroup (version 1) that lives as long as the ``with`` block."""

    def __init__(self) -> None:
        self._folder = GROUPS / f"nakshi-test-{os.getpid()}-{time.monotonic_ns()}"

    def __enter__(self) -> Limit:
        try:
            self._folder.mkdir()
            self.set(64)
        except OSError as error:
            raise Skipped(f"no pids cgroup can be made here ({error.strerror})") from error
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        self._folder.rmdir()

    def set(self, most: int | None) -> None:
        """Allows so many threads and processes together; None for any number."""
        (self._folder / "pids.max").write_text("max" if most is None else str(most))

    def enter(self) -> None:
        """Moves the calling process into the group; the child calls it before it executes its program."""
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))

    def clear(self) -> bool:
        """Kills the processes of the group; returns True if it is empty soon."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            if not (self._folder / "cgroup.procs").read_text():
                return True
            time.sleep(0.01)
        while left := (self._folder / "cgroup.procs").read_text().split():
            for process in left:
                os.kill(int(process), signal.SIGKILL)
            time.sleep(0.01)
        return False


@dataclasses.dataclass(frozen=True)
class Case:
    """A command; ``{out}`` in its words is a folder of its own."""

    name: str
    words: tuple[str, ...]
    answer: Callable[[Path, str], object]
    """Function that reads the answer of the command from its folder and its output."""
    copies: Path | None = None
    """Store that the command changes; the command gets the copy ``{out}/copy.nakshi``."""


@dataclasses.dataclass(frozen=True)
class Ended:
    """Exit code, output and answer of a command."""

    status: int | None
    stderr: str
    answer: object
    clean: bool
    """True if the command left neither processes nor a partial result."""


def start(case: Case, out: Path, limit: Limit | None) -> Ended:
    """Runs a case in an empty folder."""
    if case.copies is not None:
        shutil.copytree(case.copies, out / "copy.nakshi")
    child = subprocess.Popen(
        [*NAKSHI, *(word.replace("{out}", str(out)) for word in case.words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=None if limit is None else limit.enter,
    )
    try:
        stdout, stderr = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return Ended(None, "", None, False)
    clean = limit is None or limit.clear()
    if child.returncode != 0:
        # Neither the output nor a temporary file of it is there.
        kept = {"copy.nakshi"} if case.copies is not None else set()
        clean = clean and {entry.name for entry in out.iterdir()} <= kept
        return Ended(child.returncode, stderr, None, clean)
    return Ended(0, stderr, case.answer(out, stdout), clean)


def verdict(ended: Ended, expected: object) -> str:
    """Verdict: ``right``, ``refused``, or a description of the fault."""
    if ended.status is None:
        return "HANG"
    for word in ("panicked", "please report", "Traceback", "report it"):
        if word in ended.stderr:
            return f"PANIC: {ended.stderr}"
    if not ended.clean:
        return f"LEFTOVERS: {ended.stderr}"
    if ended.status == 0:
        same = alike(ended.answer, expected)
        return "right" if same else f"WRONG: {ended.answer!r:.200} and not {expected!r:.200}"
    lines = ended.stderr.splitlines()
    if ended.status == 1 and len(lines) == 1 and lines[0].startswith("nakshi: "):
        return "refused"
    return f"UNCLEAR: status {ended.status}: {ended.stderr}"


def alike(a: object, b: object) -> bool:
    """Returns true if two answers are equal, floats up to rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    return a == b


def rows(out: Path, _: str) -> object:
    """The values of ``--out {out}/rows.csv``."""
    words = {"": None, "true": True, "false": False}
    lines = (out / "rows.csv").read_text().splitlines()
    return [
        [words[cell] if cell in words else float(cell) for cell in line.split(",")]
        for line in lines[1:]
    ]


def summary(_: Path, stdout: str) -> object:
    """The part of ``--json`` about the graph: all but times, memory and reads."""
    found = json.loads(stdout)
    return {key: found[key] for key in found if key not in ("seconds", "memory", "io")}


def content(out: Path, _: str) -> object:
    """Contents of the new store, which do not depend on its UUID."""
    with nakshi.open(out / "new.nakshi") as graph:
        return graph.info()["content_hash"]


def files(out: Path, _: str) -> object:
    """Hashes of the files."""
    all_files = sorted(path for path in out.rglob("*") if path.is_file())
    return [(p.name, hashlib.sha256(p.read_bytes()).hexdigest()) for p in all_files]


def nothing(_: Path, __: str) -> object:
    """No answer, for commands that measure times."""
    return None


class Graphs:
    """Input of the commands: a few lists that several workers read, and two stores."""

    def __init__(self, folder: Path) -> None:
        self.edges = folder / "edges.tsv"
        self.store = folder / "graph.nakshi"
        self.small = folder / "small.nakshi"
        self.medium = folder / "medium.nakshi"
        self.medium_edges = folder / "medium.tsv"
        self.tables = [folder / "nodes.csv", folder / "links.csv"]
        self.properties = folder / "properties.nakshi"
        small = folder / "small.tsv"
        generate = ["generate", "power-law", "--exponent", 2.2]
        self._call(*generate, "--vertices", 300_000, "--edges", 500_000, self.edges)
        self._call(*generate, "--vertices", 3_000, "--edges", 20_000, small)
        self._call(*generate, "--vertices", 50_000, "--edges", 150_000, self.medium_edges)
        self._call("import", self.edges, self.store)
        self._call("import", self.medium_edges, self.medium)
        self._call("import", small, self.small)
        nodes, links = self.tables
        law = ["--vertices", 2_000, "--mu", 1.5, "--cap", 32]
        self._call("generate", "log-normal", *law, "--nodes", nodes, links)
        tables = [links, "--nodes", nodes, "--properties"]
        self._call("import", *tables, self.properties)
        with nakshi.open(self.properties) as graph:
            # For `compact`.
            graph.append_node(10_000)

    def _call(self, *words: object) -> None:
        call = [*NAKSHI, *map(str, words)]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)


def single(graphs: Graphs, threads: int) -> Iterator[Case]:
    """Commands of one process, each with so many threads."""
    t = ("--threads", str(threads))
    store, small, properties = str(graphs.store), str(graphs.small), str(graphs.properties)
    nodes, links = map(str, graphs.tables)

    def case(name: str, *words: str, answer: Callable[[Path, str], object] = content) -> Case:
        return Case(name, words, answer)

    new = "{out}/new.nakshi"
    law = ("power-law", "--vertices", "300000", "--edges", "500000")
    yield case("generate", "generate", *law, "{out}/edges.tsv", *t, answer=files)
    law = ("log-normal", "--vertices", "2000", "--mu", "1.5", "--cap", "32")
    tables = ("--nodes", "{out}/nodes.csv", "{out}/links.csv")
    yield case("generate --nodes", "generate", *law, *tables, *t, answer=files)
    yield case("import", "import", str(graphs.edges), new, *t)
    yield case("import small memory", "import", str(graphs.edges), new, "--memory", "64MiB", *t)
    load = ("import", links, "--nodes", nodes, "--properties", new, *t)
    for kept in ("columns", "zipg", "blocks"):
        yield case(f"import --properties {kept}", *load, "--property-layout", kept)
    for order in ORDERS:
        yield case(f"layout {order}", "layout", small, new, "--order", order, *t)
    yield case("layout degree, large", "layout", store, new, "--order", "degree", *t)
    yield case("layout of properties", "layout", properties, new, "--order", "bisection", *t)
    for engine in ("memory", "ssd"):
        for name, algorithm, words in RUNS:
            run = ("run", algorithm, store, *words, "--engine", engine, *t)
            if name in SUMMARY_ONLY:
                yield case(f"run {name} {engine}", *run, "--json", answer=summary)
            else:
                yield case(f"run {name} {engine}", *run, "--out", "{out}/rows.csv", answer=rows)
    for ending in ("tsv", "csv.gz", "parquet"):
        yield case(f"export {ending}", "export", store, "{out}/edges." + ending, *t, answer=files)
    both = ("{out}/links.parquet", "--nodes", "{out}/nodes.parquet")
    yield case("export of properties", "export", properties, *both, *t, answer=files)
    neo4j = ("{out}/neo4j", "--neo4j", "--layout", "degree")
    yield case("export --neo4j", "export", properties, *neo4j, *t, answer=nothing)
    yield case("check", "check", store, *t, answer=nothing)
    yield case("info", "info", store, answer=nothing)
    yield case("cost", "cost", store, *t, "--json", answer=summary)
    yield case("estimate", "estimate", "pagerank", store, answer=nothing)
    yield case("get", "get", properties, "0", "--json", answer=summary)
    yield case("backup", "backup", store, new)
    # These change the store they are given.
    copy = "{out}/copy.nakshi"
    few = ("--queries", "200", *t)
    yield Case("cache-plan", ("cache-plan", copy, *t), nothing, graphs.small)
    yield Case("compact", ("compact", copy, *t), nothing, graphs.properties)
    for bench in ("tao", "linkbench", "append", "compaction"):
        yield Case(f"bench {bench}", ("bench", bench, copy, *few), nothing, graphs.properties)


def clusters(graphs: Graphs, programs: list[str], most: int) -> Iterator[Case]:
    """Runs on processes, with one to `most` threads and senders each."""
    for given, path in (("store", graphs.medium), ("edges", graphs.medium_edges)):
        for program in programs:
            source = ("--source", "1") if program in ("bfs", "sssp") else ()
            for threads in range(1, most + 1):
                for senders in range(1, most + 1):
                    name = f"cluster {program} {given} --threads {threads} --senders {senders}"
                    run = ("cluster", "run", program, str(path), *source, "--local", "3")
                    many = ("--threads", str(threads), "--senders", str(senders))
                    yield Case(name, (*run, *many, "--out", "{out}/rows.csv"), rows)


def expect(cases: list[Case], folder: Path) -> dict[str, object]:
    """The answers without a limit; those of a cluster are the same with any number of threads."""
    answers: dict[str, object] = {}
    for case in cases:
        key = case.name.split(" --threads")[0]
        if key not in answers:
            with tempfile.TemporaryDirectory(dir=folder) as out:
                ended = start(case, Path(out), None)
            assert ended.status == 0, f"{case.name}: {ended.stderr}"
            answers[key] = ended.answer
    return {case.name: answers[case.name.split(" --threads")[0]] for case in cases}


def table(
    cases: list[Case],
    limits: Callable[[Case], list[int]],
    folder: Path,
    tell: Callable[[str, collections.Counter[str]], None] = lambda name, counts: None,
) -> tuple[collections.Counter[str], list[str]]:
    """Runs every case under its limits; returns counts of verdicts, and descriptions of faults."""
    expected = expect(cases, folder)
    total: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    with Limit() as limit:
        for case in cases:
            counts: collections.Counter[str] = collections.Counter()
            for most in limits(case):
                with tempfile.TemporaryDirectory(dir=folder) as out:
                    limit.set(most)
                    found = verdict(start(case, Path(out), limit), expected[case.name])
                counts[found.split(":")[0]] += 1
                if found not in ("right", "refused"):
                    wrong.append(f"{case.name} under pids.max={most}: {found}")
            tell(case.name, counts)
            total += counts
    return total, wrong


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limits", default="2..64", help="of processes and threads")
    parser.add_argument("--step", type=int, default=1, help="every so many of the limits")
    parser.add_argument("--only", default="", help="commands whose name begins so")
    parser.add_argument("--threads", type=int, default=40, help="of commands of one process")
    parser.add_argument("--programs", default="pagerank", help="of cluster runs, or `all`")
    given = parser.parse_args()
    low, high = map(int, given.limits.split(".."))
    programs = PROGRAMS if given.programs == "all" else given.programs.split(",")

    def tell(name: str, counts: collections.Counter[str]) -> None:
        print(f"{name:<55}", *(f"{count:>4} {what}" for what, count in counts.items()), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        graphs = Graphs(Path(folder))
        cases = [*single(graphs, given.threads), *clusters(graphs, programs, 4)]
        cases = [case for case in cases if case.name.startswith(given.only)]
        limits = list(range(low, high + 1, given.step))
        total, wrong = table(cases, lambda _: limits, Path(folder), tell)
    tell(f"all {len(cases)} commands", total)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
