"""The same graph in Nakshi and in Neo4j, and their servers, which answer Bolt."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neo4j
from cypher.asking import LONGEST
from harness import measure, product
from property import limited
from property.rivals import exported
from systems.maven import HEAP
from systems.neo4j import Neo4j, index

#: Bytes of Neo4j's page cache where memory is not limited.
CACHE = 4 << 30
#: Bytes that the server of Nakshi takes beside `--memory`: Python, the text of the program, answers.
BESIDE = 64 * measure.MIB
#: Least bytes for `--memory`.
LEAST = 4 * measure.MIB


@dataclass
class Serving:
    """A server that answers: its address for drivers, and its process."""

    address: str
    server: measure.Served

    def peak(self) -> int:
        """Most bytes that its cgroup was charged."""
        found = self.server.group.peak() if self.server.group else None
        if found is None:
            raise measure.Skipped("no memory cgroup can be read here")
        return found


class System:
    """A system with the graph.

    Attributes:
        name: its name.
        size: bytes on disk.
        splits: ways to divide memory that is limited.
    """

    name: str
    size: int
    splits: Sequence[Any] = (None,)

    def serving(
        self, *, cap: int | None = None, split: Any = None, longest: float | None = None
    ) -> contextlib.AbstractContextManager[Serving]:
        """Runs the server; ``cap`` limits its memory, and ``longest`` its seconds.

        With a cap, but no split of it, the cap is only there to count.

        Raises:
            measure.Skipped: it does not start.
        """
        raise NotImplementedError


class Nakshi(System):
    """Nakshi, whose option ``--memory`` gets what is left of a limit."""

    name, splits = "Nakshi", (BESIDE,)

    def __init__(self, store: Path) -> None:
        self.store = store
        self.size = allocated(store)

    @contextlib.contextmanager
    def serving(
        self, *, cap: int | None = None, split: Any = None, longest: float | None = None
    ) -> Iterator[Serving]:
        options = ["--bolt", "127.0.0.1:0", "--timeout", str(LONGEST)]
        if cap is not None and split is not None:
            options += ["--memory", str(max(LEAST, cap - split))]
        with product.serving(self.store, *options, cap=cap, longest=longest) as server:
            yield Serving(server.words[1], server)


class Neo4jServer(System):
    """Neo4j, whose heap and page cache get shares of a limit."""

    name, splits = "Neo4j", limited.SPLITS

    def __init__(self, programs: Neo4j, home: Path) -> None:
        self.programs, self.home = programs, home
        self.size = programs.size(home)

    @contextlib.contextmanager
    def serving(
        self, *, cap: int | None = None, split: Any = None, longest: float | None = None
    ) -> Iterator[Serving]:
        heap, cache = HEAP, CACHE
        if cap is not None and split is not None:
            heap, cache = f"{int(cap * split[0]) >> 20}m", int(cap * split[1])
        port = free_port()
        options = [f"port={port}", f"cache={cache}"]
        how: dict[str, Any] = {"heap": heap, "cap": cap, "longest": longest}
        with self.programs.serving(self.home, *options, **how) as server:
            yield Serving(f"bolt://127.0.0.1:{port}", server)


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def allocated(folder: Path) -> int:
    """Bytes that the files of a folder take on disk."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


@dataclass
class Graph:
    """A graph in both systems; Neo4j is missing where it cannot run."""

    nodes: int
    edges: int
    store: Path
    systems: list[System]


def load(
    chosen: argparse.Namespace,
    name: str,
    tables: tuple[str, str],
    programs: Neo4j | None,
    indexes: list[tuple[str, str]],
) -> Graph:
    """Loads tables of edges and nodes into Nakshi, and what Nakshi exports into Neo4j, with indexes."""
    store, report = chosen.work / f"cypher-{name}.nakshi", chosen.work / f"cypher-{name}.json"
    home = chosen.work / f"cypher-{name}-neo4j"
    if not (chosen.keep and store.exists() and report.exists()):
        shutil.rmtree(store, ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)
        edges, nodes = tables
        extra = ["--nodes", nodes, "--properties"]
        threads = chosen.threads
        # The table of edges may have its type before it.
        ran = product.import_store(Path(edges), store, directed=True, extra=extra, threads=threads)
        report.write_text(ran.stdout)
        chosen.tell(f"{name}: in Nakshi after {ran.seconds:.0f} s")
    systems: list[System] = [Nakshi(store)]
    if programs is not None:
        if not home.exists():
            fill(chosen, programs, store, home, indexes)
        systems.append(Neo4jServer(programs, home))
    found = json.loads(report.read_text())
    return Graph(found["nodes"], found["edges"], store, systems)


def fill(
    chosen: argparse.Namespace,
    programs: Neo4j,
    store: Path,
    home: Path,
    indexes: list[tuple[str, str]],
) -> None:
    """Loads what a store holds into Neo4j."""
    files = exported(store, chosen.work / "cypher-csv")
    without_times(files / "relationships.csv")
    new = home.with_name(f"{home.name}-new")
    took = programs.load(new, files, chosen.threads)
    shutil.rmtree(files)
    chosen.tell(f"{home.name}: in Neo4j after {took.seconds:.0f} s")
    with Neo4jServer(programs, new).serving() as server:
        with neo4j.GraphDatabase.driver(server.address) as driver:
            index(driver, indexes)
    new.rename(home)
    chosen.tell(f"{home.name}: {len(indexes)} indexes made")


def without_times(edges: Path) -> None:
    """Has Neo4j's importer leave out the times of edges, which are all 0: no property of Nakshi's either."""
    whole = edges.with_name("whole.csv")
    edges.rename(whole)
    with open(whole, "rb") as lines, open(edges, "wb") as file:
        file.write(next(lines).replace(b"timestamp:long", b"timestamp:IGNORE"))
        shutil.copyfileobj(lines, file)
    whole.unlink()
