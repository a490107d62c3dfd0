"""LDBC's Social Network Benchmark, interactive v1, over Bolt: Nakshi beside Neo4j.

    bench/snb/run.py ldbc-snb-sf0.003-v1.tar.zst                # writes docs/results/snb.md
    bench/snb/run.py ldbc-snb-sf0.003-v1.tar.zst --only answers # compares, and measures nothing

Both systems get the same network, in Nakshi by `nakshi.build`, in Neo4j by statements, with
indexes. Their answers to every read with every parameter are compared, then each insert changes the
same in both, and the reads are compared once more. Only then are the complex reads timed, by turns,
and the mix: complex reads as often beside inserts as the specification says, each followed by the
short reads. One client makes the inserts in their order, the others read.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import logging
import multiprocessing
import queue
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import nakshi
import neo4j
from harness import bolt, measure, study
from snb import loads, queries, stores
from snb.data import Archive
from snb.queries import Query
from systems.neo4j import Neo4j

#: Inserts for one complex read, by its number; from the specification.
EVERY = {
    **{1: 26, 2: 37, 3: 69, 4: 36, 5: 57, 6: 129, 7: 87},
    **{8: 45, 9: 157, 10: 30, 11: 16, 12: 44, 13: 19, 14: 49},
}
#: Differences that the page lists.
LISTED = 20
# Neo4j notes that aggregates skip nulls, for each query that has one.
logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)


@dataclass
class System:
    """A server under test: its name, and what starts it on a new copy of the network."""

    name: str
    serving: Callable[[], contextlib.AbstractContextManager[str]]


class Study(harness.Study):
    """The page, the network, and both systems."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"{options.archive.name.partition('.tar')[0]}; servers and clients are processes of one "
            "machine, over loopback",
            "answers are compared, and loads made, by Neo4j's driver for Python; all else is timed with clients that "
            "send messages made before, and count the rows of the answers (`bench/harness/bolt.py`)",
            "Neo4j has indexes of every property that the queries look up; Nakshi has its columns'",
        ]
        super().__init__("snb", "Social Network Benchmark", options, conditions)
        work = options.work / "snb"
        shutil.rmtree(work, ignore_errors=True)
        self.archive = Archive(options.archive, work / "data")
        self.network = self.archive.network()
        self.reads = queries.complex_reads(self.archive) + queries.short_reads(self.network)
        self.inserts = queries.inserts(self.archive)[: options.inserts]
        stores.build(self.network, work / "built.nakshi")
        self.systems = [System("Nakshi", lambda: self.nakshi(work))]
        try:
            folder = options.work / "neo4j"
            folder.mkdir(exist_ok=True)
            programs = Neo4j(folder)
            self.systems.append(System("Neo4j", lambda: self.neo4j(programs, work)))
        except measure.Skipped as why:
            print(f"without Neo4j: {why}", file=sys.stderr)

    @contextlib.contextmanager
    def nakshi(self, work: Path) -> Iterator[str]:
        store = work / "served.nakshi"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(work / "built.nakshi", store)
        with stores.nakshi_server(store, self.options.servers) as server:
            yield server.bolt

    @contextlib.contextmanager
    def neo4j(self, programs: Neo4j, work: Path) -> Iterator[str]:
        home = work / "neo4j"
        shutil.rmtree(home, ignore_errors=True)
        (home / "conf").mkdir(parents=True)
        with stores.neo4j_server(programs, home) as address:
            with neo4j.GraphDatabase.driver(address) as driver:
                stores.load(driver, self.network)
            yield address

    @contextlib.contextmanager
    def drivers(self) -> Iterator[list[neo4j.Driver]]:
        with contextlib.ExitStack() as stack:
            addresses = [stack.enter_context(system.serving()) for system in self.systems]
            drivers = [neo4j.GraphDatabase.driver(address) for address in addresses]
            yield [stack.enter_context(driver) for driver in drivers]

    @contextlib.contextmanager
    def lines(self) -> Iterator[list[bolt.Line]]:
        with contextlib.ExitStack() as stack:
            addresses = [stack.enter_context(system.serving()) for system in self.systems]
            yield [stack.enter_context(contextlib.closing(bolt.Line(one))) for one in addresses]


def attempt(work: Callable[[], Any]) -> Any:
    """The answer of a query, or the error that it ends with."""
    try:
        return work()
    except neo4j.exceptions.Neo4jError as error:
        return f"{error.code}: {error.message}"


def answers(page: Study) -> None:
    """Compares the answers of both systems, before and after the inserts."""
    rows, differences = [], []

    def compare(when: str, asked: list[Query], ask: Callable[[neo4j.Session, Query], Any]) -> None:
        equal: dict[str, list[bool]] = {}
        for query in asked:
            found = [attempt(lambda s=s: ask(s, query)) for s in sessions]  # noqa: B023
            same = all(answer == found[0] for answer in found) and not isinstance(found[0], str)
            equal.setdefault(query.name, []).append(same)
            if not same:
                differences.append([when, query, found])
        for name, each in equal.items():
            rows.append([when, name, f"{sum(each)} of {len(each)}"])

    with page.drivers() as drivers, contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(driver.session()) for driver in drivers]
        compare("before the inserts", page.reads, queries.ask)
        compare("inserts", page.inserts, queries.insert)
        compare("after the inserts", page.reads, queries.ask)
    names = " and ".join(system.name for system in page.systems)
    page.section("Answers", ["", "query", "equal"], rows, f"Answers of {names}.")
    for when, query, found in differences[:LISTED]:
        print(f"{when}: {query.name} {query.parameters}", file=sys.stderr)
        for system, answer in zip(page.systems, found):
            print(f"  {system.name}: {str(answer)[:600]}", file=sys.stderr)
    if differences:
        raise SystemExit(f"{len(differences)} answers differ")


def latencies(page: Study) -> None:
    """Measures the complex reads, by turns."""
    times: dict[str, list[list[float]]] = {}
    reads = [(read.name, read.message()) for read in queries.complex_reads(page.archive)]
    with page.lines() as lines:
        for round in range(-page.options.warm, page.options.rounds):
            for (name, message), (at, line) in itertools.product(reads, enumerate(lines)):
                began = time.perf_counter()
                line.ask(message)
                if round >= 0:
                    each = times.setdefault(name, [[] for _ in lines])
                    each[at].append(1e3 * (time.perf_counter() - began))
    rows = []
    for name, each in times.items():
        medians = [sorted(some)[len(some) // 2] for some in each]
        ratios = [f"{medians[1] / medians[0]:.1f}x"] if len(medians) > 1 else []
        rows.append([name, *(f"{median:.2f}" for median in medians), *ratios])
    heads = [f"{system.name}, p50, ms" for system in page.systems]
    page.section("Complex reads", ["query", *heads, "Neo4j : Nakshi"][: len(rows[0])], rows)


def mixed(page: Study) -> tuple[list[Query], list[Query]]:
    """The inserts, and the reads beside them."""
    given: dict[str, list[Query]] = {}
    for query in page.reads:
        given.setdefault(query.name, []).append(query)
    turns = {name: itertools.cycle(each) for name, each in given.items()}
    short = [name for name in given if name.startswith("short")]
    reads = []
    for number in range(1, len(page.inserts) + 1):
        for read, every in EVERY.items():
            if number % every == 0:
                reads += [next(turns[name]) for name in (f"complex-{read}", *short)]
    return page.inserts, reads


def rate(address: str, inserts: list[Query], reads: list[Query], clients: int) -> float:
    """Queries of the mix in a second."""
    waiting: queue.SimpleQueue[bolt.Message] = queue.SimpleQueue()
    for query in reads:
        waiting.put(query.message())
    failed: list[BaseException] = []

    def work(own: list[bolt.Message]) -> None:
        try:
            with contextlib.closing(bolt.Line(address)) as line:
                for message in own:
                    line.ask(message)
                with contextlib.suppress(queue.Empty):
                    while True:
                        line.ask(waiting.get_nowait())
        except BaseException as error:
            failed.append(error)

    each = [[query.message() for query in inserts], *([] for _ in range(clients - 1))]
    threads = [threading.Thread(target=work, args=(own,)) for own in each]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if failed:
        raise failed[0]
    return (len(inserts) + len(reads)) / seconds


def mix(page: Study) -> None:
    """Measures the mix on a new copy of the network for each run."""
    inserts, reads = mixed(page)
    rates: list[list[float]] = [[] for _ in page.systems]
    for _ in range(page.options.runs):
        for system, each in zip(page.systems, rates):
            with system.serving() as address:
                each.append(rate(address, inserts, reads, page.options.clients))
    medians = [sorted(each)[len(each) // 2] for each in rates]
    rows = [
        [system.name, f"{median:,.0f}", f"{medians[0] / median:.2f}x"]
        for system, median in zip(page.systems, medians)
    ]
    what = f"{len(inserts):,} inserts, {len(reads):,} reads, {page.options.clients} clients"
    page.section("Mix", ["", "queries/s", "Nakshi has"], rows, what)


def loading(page: Study) -> None:
    """Measures how fast statements of an application fill a graph."""
    rates: list[list[list[float]]] = [[] for _ in page.systems]
    left = []
    for _ in range(page.options.runs):
        for system, each in zip(page.systems, rates):
            with system.serving() as address, neo4j.GraphDatabase.driver(address) as driver:
                found, there = loads.load(driver, page.options.nodes)
            each.append(found)
            left.append(there)
    if any(there != left[0] for there in left):
        raise SystemExit(f"the graphs differ after the loads: {left}")
    rows = []
    for at, (what, _, _) in enumerate(loads.LOADS):
        medians = [measure.median([run[at] for run in each]) for each in rates]
        rows.append(
            [what, *(f"{rate:,.0f}" for rate in medians), f"{medians[0] / medians[-1]:.1f}x"]
        )
    heads = [f"{system.name}, rows/s" for system in page.systems]
    what = f"{page.options.nodes:,} nodes, twice as many edges, {loads.BATCH:,} rows a statement."
    page.section("Loading by statements", ["", *heads, "Nakshi has"], rows, what)


#: A look-up of one node.
POINT = "MATCH (n:Person {id: $id}) RETURN n.firstName"


def points(page: Study) -> None:
    """Measures look-ups of one node: in process, over loopback by turns, and by many clients."""
    ids = [row["id"] for row in page.network.nodes["person"]]
    store = page.options.work / "snb" / "built.nakshi"
    with nakshi.open(store) as graph:
        graph.load_properties(progress=False)
        here = spread(lambda id: graph.query(POINT, id=id).single(), ids)
    rows = [["Nakshi, in process", *here, "-"]]
    messages = {id: bolt.query(POINT, {"id": id}) for id in ids}
    with page.lines() as lines:
        asks = [lambda id, line=line: line.ask(messages[id]) for line in lines]
        found = [spread(ask, ids) for _ in range(2) for ask in asks]
    for system, each in zip(page.systems, found[len(page.systems) :]):
        rates = [many(page, system, ids) for _ in range(page.options.runs)]
        rows.append([f"{system.name}, over loopback", *each, f"{measure.median(rates):,.0f}"])
    clients = page.options.readers
    head = ["", "p50, us", "p99, us", f"queries/s of {clients} clients"]
    page.section("Look-ups of one node", head, rows, f"`{POINT}`; each client is a process.")


def spread(ask: Callable[[Any], Any], ids: list[Any]) -> list[str]:
    """Median and 99th percentile of a look-up, in microseconds."""
    times = []
    for id in itertools.islice(itertools.cycle(ids), 3000):
        began = time.perf_counter()
        ask(id)
        times.append(1e6 * (time.perf_counter() - began))
    times.sort()
    return [f"{times[len(times) // 2]:,.0f}", f"{times[len(times) * 99 // 100]:,.0f}"]


def many(page: Study, system: System, ids: list[Any]) -> float:
    """Look-ups in a second of many clients."""
    count = page.options.readers
    with system.serving() as address, multiprocessing.get_context("spawn").Pool(count) as pool:
        return sum(pool.starmap(look_up, [(address, ids)] * count, chunksize=1))


def look_up(address: str, ids: list[Any], seconds: float = 5.0) -> float:
    """Look-ups in a second of a client."""
    messages = [bolt.query(POINT, {"id": id}) for id in ids]
    with contextlib.closing(bolt.Line(address)) as line:
        line.ask(messages[0])
        done, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds:
            line.ask(messages[done % len(messages)])
            done += 1
        return done / passed


#: Many rows, and a query that runs for ever.
STREAM = "UNWIND range(1, $rows) AS i RETURN i, i % 1000 AS j"
ENDLESS = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(a + b)"


def streams(page: Study) -> None:
    """Measures a stream of many rows, and how soon the server is free of a query that is given up."""
    store = page.options.work / "snb" / "built.nakshi"
    rows: list[list[Any]] = []
    with stores.nakshi_server(store) as server, neo4j.GraphDatabase.driver(server.bolt) as driver:
        with driver.session() as session:
            session.run(STREAM, rows=100_000).consume()
            before, began = peak(server.pid), time.perf_counter()
            result = session.run(STREAM, rows=page.options.rows)
            next(result)
            first = 1e3 * (time.perf_counter() - began)
            count = 1 + sum(1 for _ in result)
            assert count == page.options.rows
            grown = (peak(server.pid) - before) / 2**20
        rows.append([f"{count:,} rows: first row, ms", f"{first:.1f}"])
        rows.append([f"{count:,} rows: growth of the server's memory, MiB", f"{grown:.1f}"])
        with driver.session() as session:
            late = []
            for _ in range(5):
                began = time.perf_counter()
                with contextlib.suppress(neo4j.exceptions.Neo4jError):
                    with session.begin_transaction(timeout=0.3) as transaction:
                        transaction.run(ENDLESS).consume()
                late.append(time.perf_counter() - began - 0.3)
        rows.append(["query past its time of 0.3 s: over it, s", f"{measure.median(late):.3f}"])
        with nakshi.connect(server.own) as own:
            gone = [after_kill(server.bolt, own) for _ in range(5)]
        rows.append(["client killed: until the server is free, s", f"{measure.median(gone):.3f}"])
    page.section("Streams and queries that are given up", ["", "Nakshi"], rows)


def peak(pid: int) -> int:
    """Largest resident memory of a process so far, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("the server has ended")


def after_kill(address: str, own: nakshi.RemoteGraph) -> float:
    """Seconds from the end of a client to that of its query."""
    client = multiprocessing.get_context("spawn").Process(target=never_ends, args=(address,))
    client.start()
    # This question is a running call itself.
    while own.status()["running_calls"] < 2:
        time.sleep(0.01)
    client.kill()
    began = time.perf_counter()
    while own.status()["running_calls"] > 1:
        time.sleep(0.002)
    seconds = time.perf_counter() - began
    client.join()
    return seconds


def never_ends(address: str) -> None:
    with neo4j.GraphDatabase.driver(address) as driver:
        driver.execute_query(ENDLESS)


def main() -> None:
    parts = {
        "answers": answers,
        "latencies": latencies,
        "mix": mix,
        "loads": loading,
        "points": points,
        "streams": streams,
    }
    parser = study.parser(__doc__, threads=None, runs=3, parts=parts)
    parser.add_argument("archive", type=Path, help="the benchmark's files, as a tar packed by zstd")
    parser.add_argument(
        "--servers", type=int, default=1, help="of Nakshi, which agree on the graph"
    )
    parser.add_argument("--inserts", type=int, help="make only so many inserts")
    parser.add_argument("--clients", type=int, default=4, help="clients of the mix")
    parser.add_argument("--nodes", type=int, default=20_000, help="nodes that are loaded")
    parser.add_argument("--readers", type=int, default=16, help="clients that look nodes up")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the stream")
    parser.add_argument("--rounds", type=int, default=20, help="times of each complex read")
    parser.add_argument("--warm", type=int, default=5, help="rounds before these")
    options = study.options(parser)
    Study(options).measure(parts)


if __name__ == "__main__":
    main()
