"""Cypher over Bolt, Nakshi beside Neo4j: TAO and Graph Search, three hops, and what they take.

    bench/cypher/run.py                                 # writes docs/results/cypher.md
    bench/cypher/run.py --only tao                      # a part of it: tao, hops, size
    bench/cypher/run.py --scale 12 --hops-scale 12 --queries 200 --starts 5 --seconds 1 --warm 1 --runs 1

Both servers get the same texts with the same parameters. Neo4j's driver for Python asks them first,
and the answers are compared; what is timed is a client that costs next to nothing. Neo4j gets what
`nakshi export --neo4j` writes, by its own importer, with an index of the ids and of each property of
nodes. `size` needs root: it limits memory.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import neo4j
from cypher import asking, hops, ladder, stores, tao
from cypher.asking import Query
from cypher.stores import Graph, Serving
from harness import bolt, measure, study, tables
from systems.neo4j import Neo4j

#: Differences that are shown.
LISTED = 10
#: Starts of each size that are asked for with little memory.
LADDER = 10
#: What Nakshi must reach: its speed by Neo4j's, and its bytes by Neo4j's.
FASTER, SMALLER = 3.0, 1 / 3
# Neo4j notes types and properties that a text names and the graph has not.
logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)


class Study(harness.Study):
    """The page, and the graphs in both systems."""

    def __init__(self, options: argparse.Namespace) -> None:
        began = time.perf_counter()
        options.tell = lambda line: print(
            f"{time.perf_counter() - began:6.0f} s  {line}", file=sys.stderr, flush=True
        )
        self.programs: Neo4j | None = None
        try:
            folder = options.work / "neo4j"
            folder.mkdir(exist_ok=True)
            self.programs = Neo4j(folder)
            beside = f"Neo4j {self.programs.version()}, community"
        except measure.Skipped as why:
            beside = f"without Neo4j: {why}"
        conditions = [
            f"{beside}; servers and clients are processes of one machine, over loopback",
            "both systems get the same texts with the same parameters, each query in a transaction of its own; "
            f"Neo4j's driver {neo4j.__version__} for Python asked both first, and the answers were compared",
            "timed are clients that send messages made before, and count the rows of the answers "
            "(`bench/harness/bolt.py`), but where the driver is named",
            f"Neo4j: {stores.HEAP} heap and {stores.CACHE >> 30} GiB page cache where memory is not limited; "
            "the files of `nakshi export --neo4j`, and an index of each property of nodes",
        ]
        super().__init__("cypher", "Cypher over Bolt", options, conditions)

    @functools.cached_property
    def tao(self) -> Graph:
        """The graph of TAO and Graph Search."""
        files = tao.tables(self.options.work, self.options.scale)
        indexes = [(tao.LABEL, name) for name in ["id", *tao.PROPERTIES]]
        return self.load(f"tao-{self.options.scale}", files, indexes)

    @functools.cached_property
    def hops(self) -> Graph:
        """The graph of the hops."""
        files = hops.tables(self.options.work, self.options.hops_scale)
        indexes = [(hops.LABEL, name) for name in hops.PROPERTIES]
        return self.load(f"hops-{self.options.hops_scale}", files, indexes)

    @functools.cached_property
    def starts(self) -> dict[str, list[Query]]:
        """Queries of the hops, by size."""
        options = self.options
        edges, _ = hops.tables(options.work, options.hops_scale)
        path = Path(edges.partition("=")[2])
        found = hops.drawn(path, options.hops_scale, options.starts)
        options.tell(f"starts: {', '.join(f'{len(all)} of {size}' for size, all in found.items())}")
        return found

    def load(self, name: str, files: tuple[str, str], indexes: list[tuple[str, str]]) -> Graph:
        return stores.load(self.options, name, files, self.programs, indexes)

    def heads(self, graph: Graph, unit: str, *, rate: bool) -> list[str]:
        """Heads of columns with a figure of each system, and with the ratio of :func:`faster`."""
        names = [system.name for system in graph.systems]
        ratio = " : ".join(names if rate else names[::-1])
        return [*(f"{name}, {unit}" for name in names), *[ratio] * (len(names) > 1)]


@contextlib.contextmanager
def served(graph: Graph) -> Iterator[tuple[list[Serving], list[neo4j.Session], list[bolt.Line]]]:
    """The servers of all systems, with a session and a line to each."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(system.serving()) for system in graph.systems]
        drivers = [neo4j.GraphDatabase.driver(server.address) for server in servers]
        sessions = [stack.enter_context(stack.enter_context(one).session()) for one in drivers]
        lines = [bolt.Line(server.address) for server in servers]
        yield servers, sessions, [stack.enter_context(contextlib.closing(line)) for line in lines]


def compared(
    page: Study, graph: Graph, sessions: Sequence[neo4j.Session], queries: Sequence[Query]
) -> None:
    """Ends the program if answers differ, or are errors."""
    differences = asking.compare(sessions, queries)
    for difference in differences[:LISTED]:
        query = difference.query
        print(f"{query.kind}: {query.text} {query.parameters}", file=sys.stderr)
        for system, found in zip(graph.systems, difference.found):
            print(f"  {system.name}: {str(found)[:600]}", file=sys.stderr)
    if differences:
        raise SystemExit(f"{len(differences)} answers of {len(queries)} differ")
    page.options.tell(f"{len(queries):,} queries answered, equally")


def faster(figures: Sequence[float], shown: str, *, rate: bool) -> list[str]:
    """Cells with a figure of each system, and how many times as fast Nakshi is."""
    cells = [format(figure, shown) for figure in figures]
    if len(figures) > 1:
        mine, other = figures if rate else figures[::-1]
        cells.append(f"{mine / other:.1f}x")
    return cells


def alone(
    page: Study, lines: Sequence[bolt.Line], queries: Sequence[Query]
) -> tuple[list[float], float]:
    """Medians of each system in milliseconds, by turns after a round to warm up; and rows of an answer."""
    asking.latencies(lines, queries)
    found = asking.latencies(lines, queries)
    page.options.tell(f"{queries[0].kind}: {', '.join(f'{ms:.2f} ms' for ms in found.medians())}")
    return found.medians(), found.rows / len(queries)


def social(page: Study) -> None:
    """Measures TAO and Graph Search: each query alone, then the mixes."""
    graph, options = page.tao, page.options
    queries = tao.drawn(graph.store, options.queries)
    shares = {kind: share for mix in tao.MIXES.values() for kind, share in mix.items()}
    rows = []
    with served(graph) as (servers, sessions, lines):
        for kind, some in queries.items():
            compared(page, graph, sessions, some)
            medians, count = alone(page, lines, some)
            figures = faster([1e3 * ms for ms in medians], ",.0f", rate=False)
            rows.append([kind, f"{shares[kind]:g} %", f"{count:.1f}", *figures])
        size = f"scale {options.scale}: {graph.nodes:,} nodes with 40 texts of 16 bytes, {graph.edges:,} edges"
        notes = [
            f"tables by ZipG's rules, {size} with 128 bytes of text",
            f"{options.queries:,} queries of each kind, asked by turns by one client, the second time timed",
            *(f"{kind}: `{text}`" for kind, text in tao.TEXTS.items()),
        ]
        heads = page.heads(graph, "p50, us", rate=False)
        page.section(
            "TAO and Graph Search: each query", ["", "share", "rows", *heads], rows, *notes
        )
        mixes(page, graph, servers, queries)


def mixes(
    page: Study, graph: Graph, servers: list[Serving], queries: dict[str, list[Query]]
) -> None:
    """Measures the rates of the mixes, by turns."""
    options, rows = page.options, []
    for mix in tao.MIXES:
        asked = tao.mixed(queries, mix, 10 * options.queries)
        for server in servers:
            asking.rate(server.address, server.server, asked, options.clients, options.warm)
        ways = [(clients, False) for clients in sorted({1, options.clients})]
        for clients, driver in [*ways, (options.clients, True)]:
            found: list[list[asking.Rate]] = [[] for _ in servers]
            for _ in range(options.runs):
                for each, server in zip(found, servers):
                    told = (server.address, server.server, asked, clients, options.seconds)
                    each.append(asking.rate(*told, driver=driver))
            rates = [measure.median([one.each_second for one in each]) for each in found]
            processor = [1e3 * measure.median([one.processor for one in each]) for each in found]
            label = (
                f"{mix}, {clients} client{'s' if clients > 1 else ''}{' by the driver' * driver}"
            )
            page.options.tell(f"{label}: {', '.join(f'{rate:,.0f}/s' for rate in rates)}")
            row = [label, *faster(rates, ",.0f", rate=True)]
            if len(rates) > 1:
                row.append("" if driver else f"{FASTER:g}x")
            rows.append([*row, *faster(processor, ",.0f", rate=False)])
    must = ["must"] * (len(graph.systems) > 1)
    heads = page.heads(graph, "queries/s", rate=True) + must
    heads += page.heads(graph, "processor, us a query", rate=False)
    notes = [
        f"each client is a process; runs of {options.seconds:g} s by turns, after {options.warm:g} s of each mix",
        "the driver is in Python, and takes most of the time where it asks; the processor's time is the server's alone",
    ]
    page.section("TAO and Graph Search: mixes", ["", *heads], rows, *notes)


def three(page: Study) -> None:
    """Measures friends of friends of friends."""
    graph, rows = page.hops, []
    starts = page.starts
    with served(graph) as (_, sessions, lines):
        for size, all in starts.items():
            compared(page, graph, sessions, all)
            for kind in hops.TEXTS:
                some = [query for query in all if query.kind == kind]
                medians, _ = alone(page, lines, some)
                row = [f"{kind}, {size}", str(len(some)), *faster(medians, ",.2f", rate=False)]
                rows.append([*row, *[f"{FASTER:g}x"] * (len(medians) > 1)])
    notes = [
        f"Kronecker graph, scale {page.options.hops_scale}: {graph.nodes:,} nodes with four properties, "
        f"{graph.edges:,} edges of one type, directed",
        f"starts are drawn by the walks of three edges from them; by turns, the second time timed; a query "
        f"may take {asking.LONGEST:g} s",
        *(f"{kind}: `{text}`" for kind, text in hops.TEXTS.items()),
    ]
    must = ["must"] * (len(graph.systems) > 1)
    heads = ["query, walks", "starts", *page.heads(graph, "p50, ms", rate=False), *must]
    page.section("Three hops", heads, rows, *notes)


def size(page: Study) -> None:
    """Measures the bytes on disk of the graph of the hops, and the memory that serves the hops."""
    graph = page.hops
    queries = [query for all in page.starts.values() for query in all[: LADDER * len(hops.TEXTS)]]
    with served(graph) as (_, sessions, _):
        compared(page, graph, sessions, queries)
    load = ladder.Load(queries, page.options.seconds, page.options.warm)
    figures = {"on disk": ([system.size for system in graph.systems], f"{SMALLER:.2f}x")}
    notes = []
    try:
        climbed = [ladder.climb(page, system, load) for system in graph.systems]
    except measure.Skipped as reason:
        notes.append(f"without memory: {reason}")
    else:
        little(page, graph, load, climbed)
        kept = f"memory that keeps {ladder.KEPT:g} of the speed"
        figures[kept] = ([one.least() for one in climbed], f"{SMALLER:.2f}x")
        figures["memory without a limit"] = ([one.peak for one in climbed], "")
    rows = [bytes_of(name, *each) for name, each in figures.items()]
    head = ["", *(system.name for system in graph.systems), "Nakshi : Neo4j", "must"]
    page.section("Three hops: disk and memory", head[: len(rows[0])], rows, *notes)


def little(page: Study, graph: Graph, load: ladder.Load, climbed: list[ladder.Climbed]) -> None:
    """Adds the table of rates with little memory."""
    limits = sorted({limit for one in climbed for limit in one.rates}, reverse=True)
    heads = [f"{system.name}, {what}" for system in graph.systems for what in ("queries/s", "kept")]
    rows = [["none", *(cell for one in climbed for cell in (f"{one.free:,.1f}", ""))]]
    for limit in limits:
        row = [f"{limit / 2**20:,.0f} MiB"]
        for one in climbed:
            rate = one.rates.get(limit)
            missing = ["does not run" if limit in one.rates else "", ""]
            row += missing if rate is None else [f"{rate:,.1f}", f"{rate / one.free:.2f}"]
        rows.append(row)
    splits = ", ".join(f"{heap:.0%} and {cache:.0%}" for heap, cache in stores.Neo4jServer.splits)
    notes = [
        f"{len(load.queries)} queries, asked by each of {ladder.CLIENTS} clients; each server starts cold in a "
        f"cgroup that charges heap and page cache, is warmed up for {load.warm:g} s, and is asked for "
        f"{load.seconds:g} s, both or as long as all queries take",
        f"Nakshi: `--memory` is the limit less {tables.size(stores.BESIDE)}",
        f"Neo4j: the best of heap and page cache of {splits} of the limit, up to the first that keeps "
        f"{ladder.KEPT:g} of the speed",
        *(reason for one in climbed for reason in one.reasons),
    ]
    page.section("Three hops with little memory", ["limit of memory", *heads], rows, *notes)


def bytes_of(name: str, each: Sequence[int | None], must: str) -> list[str]:
    """A row of bytes, and their ratio."""
    row = [name, *("not found" if one is None else tables.size(one) for one in each)]
    if len(each) > 1:
        mine, other = each
        row += [f"{mine / other:.2f}x" if mine and other else "", must]
    return row


def main() -> None:
    parts = {"tao": social, "hops": three, "size": size}
    parser = study.parser(__doc__, runs=3, parts=parts)
    parser.add_argument("--scale", type=int, default=17, help="of TAO's graph; default: 17")
    parser.add_argument("--hops-scale", type=int, default=20, help="default: 20")
    parser.add_argument("--queries", type=int, default=2000, help="of each kind; default: 2000")
    parser.add_argument("--starts", type=int, default=30, help="of hops, of each size; default: 30")
    parser.add_argument("--clients", type=int, default=4, help="of a mix, beside one; default: 4")
    parser.add_argument("--seconds", type=float, default=10, help="of a rate; default: 10")
    parser.add_argument("--warm", type=float, default=20, help="seconds before it; default: 20")
    parser.add_argument("--keep", action="store_true", help="use the stores of the last run")
    Study(study.options(parser)).measure(parts)


if __name__ == "__main__":
    main()
