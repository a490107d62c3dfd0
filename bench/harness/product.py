"""Nakshi itself, driven through its command line as users drive it."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import measure
from .graphs import Graph
from .kernels import ITERATIONS, Digest

NAKSHI = [sys.executable, "-m", "nakshi"]
INTERPRETER = 24 * measure.MIB
"""Bytes of a cap that Python and the program text take beside the budget of ``--memory``."""


def nakshi(
    *words: object, threads: int = 2, cap: int | None = None, cold: bool = False
) -> dict[str, Any]:
    """Runs a command of Nakshi and returns the object that it prints with ``--json``."""
    call = [*NAKSHI, *map(str, words), "--json"]
    found: dict[str, Any] = json.loads(
        measure.run(call, threads=threads, cap=cap, cold=cold).stdout
    )
    return found


def serving(store: Path, *options: str, **how: Any) -> AbstractContextManager[measure.Served]:
    """Serves a store; ``words`` of the server are its addresses. ``how`` is for ``measure.serving``."""
    command = [*NAKSHI, "serve", str(store), "--listen", "127.0.0.1:0", *options]
    return measure.serving(command, **how)


@dataclass
class Result(measure.Runs):
    """All runs of one kernel in one mode: the times of `run`, beside which `open` is shown."""

    open_seconds: list[float] = field(default_factory=list)
    charged: int | None = None
    cap: int | None = None
    bytes_read: int = 0
    requests: int = 0
    digest: Digest = field(default_factory=dict)
    command: str = ""
    last: dict[str, Any] = field(default_factory=dict)


def options(kernel: str, graph: Graph) -> list[str]:
    """Options of a kernel; the other systems get the same."""
    source = str(graph.source)
    return {
        "bfs": ["--source", source],
        "pagerank": ["--iterations", str(ITERATIONS)],
        "wcc": [],
        "sssp": ["--source", source],
        "bc": ["--sources", source],
        "triangles": [],
    }[kernel]


def arguments(kernel: str, store: Path, graph: Graph, threads: int) -> list[str]:
    """Arguments of a kernel for `nakshi run` and `nakshi estimate`."""
    return [kernel, str(store), "--threads", str(threads), *options(kernel, graph)]


def import_store(
    edges: Path,
    store: Path,
    *,
    directed: bool = False,
    extra: list[str] | None = None,
    threads: int = 2,
    cap: int | None = None,
) -> measure.Ran:
    """Imports a text edge list; an existing store is used again where ``cap`` is None."""
    flags = [] if directed else ["--undirected"]
    call = [*NAKSHI, "import", str(edges), str(store), *flags, "--no-progress", "--json"]
    call += ["--threads", str(threads), *(extra or [])]
    return measure.run(call, threads=threads, cap=cap)


def ensure(store: Path, edges: Path, directed: bool, extra: list[str], threads: int) -> Path:
    """Imports the edges unless the store exists."""
    if not store.exists():
        import_store(edges, store, directed=directed, extra=extra, threads=threads)
    return store


def run(
    kernel: str,
    store: Path,
    graph: Graph,
    engine: str,
    threads: int,
    *,
    cap: int | None = None,
    wanted: int | None = None,
    extra: list[str] | None = None,
) -> Result:
    """Cold runs in processes of their own, after a first one that writes the answer and is not counted."""
    result = Result(cap=cap)
    told = [*arguments(kernel, store, graph, threads), "--engine", engine]
    call = [*NAKSHI, "run", *told, "--json", "--no-progress", *(extra or [])]
    if cap is not None:
        call += ["--memory", str(cap - INTERPRETER)]
    result.command = measure.portable(["nakshi", *call[len(NAKSHI) :]])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answer.tsv"
        written = [] if kernel == "triangles" else ["--out", str(out)]
        first = json.loads(measure.run([*call, *written], threads=threads).stdout)
        if kernel == "triangles":
            result.digest = {"triangles": first["result"]["triangles"]}
        else:
            result.digest = digest(kernel, out)
    trials = measure.repeats(first["seconds"]["run"], wanted)
    for _ in range(trials):
        ran = measure.run(call, threads=threads, cap=cap, cold=engine == "ssd")
        said = json.loads(ran.stdout)
        result.seconds.append(said["seconds"]["run"])
        result.open_seconds.append(said["seconds"]["open"])
        result.peak = max(result.peak, ran.peak_rss)
        if ran.charged is not None:
            result.charged = max(result.charged or 0, ran.charged)
        result.bytes_read = said["io"]["bytes_read"]
        result.requests = said["io"]["requests"]
        result.last = said
    return result


def digest(kernel: str, answer: Path) -> Digest:
    """Summary of a per-vertex answer. The file may be large, and is read line by line."""
    reached = 0
    components: set[str] = set()
    best: list[tuple[float, int]] = []
    with open(answer) as lines:
        for line in lines:
            vertex, text = line.rstrip("\n").split("\t")[:2]
            if kernel == "wcc":
                components.add(text)
                continue
            value = float(text)
            reached += math.isfinite(value)
            if kernel in ("pagerank", "bc") and (len(best) < 5 or value > best[0][0]):
                best = sorted([*best, (value, int(vertex))])[-5:]
    if kernel == "wcc":
        return {"components": len(components)}
    if kernel in ("pagerank", "bc"):
        return {"top": [[vertex, score] for score, vertex in reversed(best)]}
    return {"reached": reached}


def edge_file_bytes(store: Path) -> int:
    """Size of the edge lists on disk, both directions where there are two."""
    files = (file for file in store.rglob("*.adj*") if file.suffix != ".sum")
    return sum(file.stat().st_size for file in files if file.is_file())


def index_bytes(store: Path) -> int:
    """Bytes of the index in memory, from an estimate of PageRank."""
    return int(nakshi("estimate", "pagerank", store, threads=1)["parts"]["index"])


def minimum(arguments: list[str]) -> int:
    """The smallest budget, in bytes, with which `nakshi run ARGUMENTS` works."""
    return int(nakshi("estimate", *arguments, threads=1)["minimum"])


def info(store: Path) -> dict[str, Any]:
    """Description of a store by `nakshi info --json`."""
    return nakshi("info", store, threads=1)
