"""A graph dealt to servers: what is sent for a query, its processor time, lost servers, algorithms, moves.

    bench/property/shared.py                                # scale 16
    bench/property/shared.py --scale 10 --queries 50

All servers are processes of this machine (`nakshi serve --local N --replicas 1`), and share its cores, so the page
has counts and processor time, and no rates. The client asks a server with the whole graph, which has no share and
sends every query on. *Shipped* is the call itself. *Fetched* is what a client would do with a store that only
returns lists: it asks the same server for the lists and values, and does the rest itself; its answer is compared
with that of the call. Both count the requests and bytes between that server and the servers with shares.
Writes docs/results/shared.md.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import nakshi
from harness import measure, study
from property import ours
from property.replicated import Client, all_of, gaps

#: Servers with the whole graph.
WHOLE = 3
#: Numbers of shares that are compared.
SHARES = (1, 8)
#: Workers of an algorithm.
WORKERS = 2
#: Buckets that are moved, and the shares between which they are.
MOVED, MOVING = 64, 2
#: Ticks of the system's clock for processor time, in a second.
TICKS = os.sysconf("SC_CLK_TCK")
#: Seconds for which servers without queries are watched.
IDLE = 3.0


class Study(harness.Study):
    """The page, the store of its parts, and the queries."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"tables by ZipG's rules, scale {options.scale}; in memory, warm",
            "three servers with the whole graph, and one with each share, as processes of one machine",
            f"{options.queries} calls of each kind, of nodes drawn uniformly",
        ]
        super().__init__("shared", "A graph dealt to servers", options, conditions)
        self.loaded = ours.imported(options, ours.generated(options.work, options.scale))

    @contextmanager
    def serving(self, shares: int) -> Iterator[Servers]:
        """Servers with so many shares, when all of them follow."""
        copy = Path(self.options.work) / f"shared-{self.options.scale}-{shares}.nakshi"
        if not copy.exists():
            nakshi.backup(self.loaded.store, copy)
        options = ["--local", str(WHOLE + shares), "--replicas", "1", "--http", "127.0.0.1:0"]
        with ours.answering(copy, *options) as (address, pages):
            while any(one["lag"] != 0 for one in all_of(address)):
                time.sleep(0.1)
            with nakshi.connect(address) as graph:
                yield Servers(graph, address, pages, [one["pid"] for one in all_of(address)])


class Servers:
    """Running servers, and a client of one of them."""

    def __init__(
        self, graph: nakshi.RemoteGraph, address: str, pages: str, pids: list[int]
    ) -> None:
        self.graph = graph
        self.address = address
        self._pages = pages
        self._pids = pids

    def shipped(self) -> tuple[int, int]:
        """Requests to other servers, and bytes to and from them."""
        with urllib.request.urlopen(f"{self._pages}/metrics") as page:
            lines = dict(line.rsplit(" ", 1) for line in page.read().decode().splitlines()[:-1])
        sent, received = (
            int(lines[f"nakshi_shipped_{way}_bytes_total"]) for way in ("sent", "received")
        )
        return int(lines["nakshi_shipped_requests_total"]), sent + received

    def processor(self) -> float:
        """Seconds of processor time of all servers."""
        ticks = 0
        for pid in self._pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS


def kinds(graph: nakshi.RemoteGraph, draw: random.Random) -> dict[str, list[Any]]:
    """For each kind: the call, and the way of a client that fetches lists."""
    node = graph.get_node_ids(limit=1)[0]
    name = next(iter(graph.get_node_property(node)))
    edge_type = graph.schema().edge_types[0].name
    values = graph.get_node_properties(graph.get_node_ids(limit=100), name)

    def record(id: Any) -> list[Any]:
        return list(reversed(graph.get_edge_record(id, edge_type)))

    def friends(id: Any, value: str) -> list[Any]:
        ids = graph.get_neighbor_ids(id)
        return [
            id
            for id, of in zip(ids, graph.get_node_properties(ids, name), strict=True)
            if of == value
        ]

    def find(value: str) -> list[Any]:
        ids = graph.get_node_ids()
        found = graph.get_node_properties(ids, name)
        return sorted(id for id, of in zip(ids, found, strict=True) if of == value)

    def around(id: Any, value: str) -> list[Any]:
        near = graph.get_neighbor_ids(id)
        far = {end for one in near for end in graph.get_neighbor_ids(one)} - {id}
        ids = sorted(far.union(near) - {id})
        found = graph.get_node_properties(ids, name)
        return [id for id, of in zip(ids, found, strict=True) if of == value]

    def value(_: Any) -> str:
        return str(draw.choice(values))

    return {
        "TAO: assoc_count": [
            lambda id, _: graph.tao.assoc_count(id, edge_type),
            lambda id, _: len(record(id)),
            value,
        ],
        "TAO: assoc_range, the newest 10": [
            lambda id, _: graph.tao.assoc_range(id, edge_type, 0, 10),
            lambda id, _: record(id)[:10],
            value,
        ],
        "Graph Search: friends with a value": [
            lambda id, of: graph.search.friends_with(id, {name: of}),
            friends,
            value,
        ],
        "Graph Search: all nodes with a value": [
            lambda _, of: sorted(graph.search.find({name: of})),
            lambda _, of: find(of),
            value,
        ],
        "two steps, with a value": [
            lambda id, of: sorted(graph.expand(id, None, {name: of}, hops=2)),
            around,
            value,
        ],
    }


def shipped(study: Study) -> None:
    """Adds requests and bytes of calls, shipped and fetched."""
    rows = []
    with study.serving(SHARES[-1]) as servers:
        draw = random.Random(1)
        ids = servers.graph.get_node_ids()
        for kind, (call, fetch, value) in kinds(servers.graph, draw).items():
            count = study.options.queries
            if kind.endswith("nodes with a value"):
                count = max(1, count // 50)
            asked = [(id, value(id)) for id in draw.sample(ids, count)]
            counted = []
            answers = []
            for way in (call, fetch):
                before = servers.shipped()
                answers.append([way(id, of) for id, of in asked])
                after = servers.shipped()
                counted.append([(b - a) / count for a, b in zip(before, after, strict=True)])
            assert answers[0] == answers[1], kind
            (requests, bytes_), (more, other) = counted
            rows.append(
                [
                    kind,
                    f"{requests:.1f}",
                    f"{more:.1f}",
                    f"{bytes_:,.0f}",
                    f"{other:,.0f}",
                    f"{other / bytes_:.1f}x",
                ]
            )
    head = [
        f"Per call, {SHARES[-1]} shares",
        "requests shipped",
        "fetched",
        "bytes shipped",
        "fetched",
        "fewer by",
    ]
    study.section("What is sent", head, rows)


def processor(study: Study) -> None:
    """Adds the processor time of queries on few and many shares."""
    found: dict[str, list[float]] = {}
    for shares in SHARES:
        with study.serving(shares) as servers:
            graph, draw = servers.graph, random.Random(2)
            ids = graph.get_node_ids()
            name = next(iter(graph.get_node_property(ids[0])))
            values = graph.get_node_properties(ids[:100], name)
            edge_type = graph.schema().edge_types[0].name
            before = servers.processor()
            time.sleep(IDLE)
            idle = (servers.processor() - before) / IDLE
            queries: dict[str, tuple[int, Callable[[], object]]] = {
                "one property of a node": (
                    20 * study.options.queries,
                    lambda: graph.get_node_property(draw.choice(ids), name),
                ),
                "all properties of a node": (
                    20 * study.options.queries,
                    lambda: graph.get_node_property(draw.choice(ids)),
                ),
                "TAO: assoc_range, the newest 10": (
                    20 * study.options.queries,
                    lambda: graph.tao.assoc_range(draw.choice(ids), edge_type, 0, 10),
                ),
                "friends with a value": (
                    5 * study.options.queries,
                    lambda: graph.search.friends_with(
                        draw.choice(ids), {name: draw.choice(values)}
                    ),
                ),
                "all nodes with a value": (
                    5 * study.options.queries,
                    lambda: graph.search.find({name: draw.choice(values)}),
                ),
            }
            queries["all nodes with a part of a text"] = (
                study.options.queries,
                lambda: graph.search.find({name: nakshi.contains(draw.choice(values)[2:9])}),
            )
            for kind, (count, query) in queries.items():
                each = []
                for _ in range(study.options.runs):
                    began, before = time.monotonic(), servers.processor()
                    for _ in range(count):
                        query()
                    spent = servers.processor() - before - idle * (time.monotonic() - began)
                    each.append(1e6 * spent / count)
                found.setdefault(kind, []).append(measure.median(each))
    rows = [
        [kind, *(f"{one:,.0f}" for one in times), f"{times[-1] / times[0]:.2f}x"]
        for kind, times in found.items()
    ]
    head = [
        "Processor time of all servers, us",
        *(f"shares: {shares}" for shares in SHARES),
        "ratio",
    ]
    study.section("Processor time", head, rows, "without what servers that nobody asks take")


def failover(study: Study) -> None:
    """Adds what a client sees while servers with shares are killed."""
    copy = Path(study.options.work) / f"shared-{study.options.scale}-failover.nakshi"
    if not copy.exists():
        nakshi.backup(study.loaded.store, copy)
    kills = study.options.kills
    with (
        ours.serving(copy, "--local", str(WHOLE + 4), "--replicas", "2") as address,
        nakshi.connect(address) as graph,
    ):
        while any(one["lag"] != 0 for one in all_of(address)):
            time.sleep(0.1)
        draw, ids = random.Random(3), graph.get_node_ids()
        name = next(iter(graph.get_node_property(ids[0])))
        rows = []
        calls: dict[str, Callable[[], object]] = {
            "a property of a node": lambda: graph.get_node_property(draw.choice(ids), name),
            "properties of 20 nodes": lambda: graph.get_node_properties(draw.sample(ids, 20), name),
        }
        for kind, call in calls.items():
            with Client(call) as reader:
                found = gaps(address, kills, "share", reader)
            quantiles = (found[int(len(found) * part)] for part in (0.5, 0.99))
            rows.append([kind, *(f"{one:.2f}" for one in quantiles), f"{found[-1]:.2f}"])
    head = [f"Longest wait, {kills} kills each", "p50, s", "p99, s", "longest, s"]
    note = "two servers have each of two shares; a server that is killed is started again at once"
    study.section("Servers killed", head, rows, note)


def algorithms(study: Study) -> None:
    """Adds the time of algorithms on the servers of shares, and in as many processes of one machine."""
    rows = []
    with study.serving(WORKERS) as servers:
        for name in ("pagerank", "wcc"):
            ways: list[dict[str, int]] = [{"workers": WORKERS}, {}]
            seconds: list[list[float]] = [[], []]
            found: list[dict[Any, float]] = [{}, {}]
            for _ in range(study.options.runs):
                for place, way in enumerate(ways):
                    began = time.monotonic()
                    result = servers.graph.run(name, **way)
                    seconds[place].append(time.monotonic() - began)
                    found[place] = result.to_dict()
            here, there = found
            assert here.keys() == there.keys(), name
            assert all(math.isclose(value, there[id], rel_tol=1e-9) for id, value in here.items())
            one, shares = map(measure.median, seconds)
            rows.append([name, f"{one:.2f}", f"{shares:.2f}", f"{shares / one:.2f}x"])
    head = [
        "Algorithm, seconds",
        f"{WORKERS} processes of one server",
        f"{WORKERS} shares",
        "ratio",
    ]
    note = (
        "whole calls; the lists of the first are those of a compaction, and the shares write and number theirs; "
        "answers compared, within 1e-9"
    )
    study.section("Algorithms", head, rows, note)


def timed(call: Callable[[], object], times: list[float]) -> None:
    """Make a call, and note its time in milliseconds."""
    began = time.perf_counter()
    call()
    times.append(1e3 * (time.perf_counter() - began))


def moved(study: Study) -> None:
    """Adds the time in which buckets move from one share to another, and what clients see meanwhile."""
    seconds: list[float] = []
    found: dict[str, list[list[float]]] = {}
    with study.serving(MOVING) as servers, nakshi.connect(servers.address) as other:
        draw, ids = random.Random(4), servers.graph.get_node_ids()
        name = next(iter(servers.graph.get_node_property(ids[0])))
        calls: dict[str, Callable[[nakshi.RemoteGraph], object]] = {
            "a property of a node": lambda graph: graph.get_node_property(draw.choice(ids), name),
            "a commit": lambda graph: graph.update_node(draw.choice(ids), {name: "x" * 16}),
        }
        buckets = servers.graph.shares()[0]["buckets"][:MOVED]

        def move() -> None:
            for _ in range(study.options.runs):
                for to in (1, 0):
                    began = time.monotonic()
                    other.move_buckets(buckets, to)
                    seconds.append(time.monotonic() - began)

        for kind, call in calls.items():
            for meanwhile in (lambda: time.sleep(IDLE), move):
                times: list[float] = []
                with Client(partial(timed, partial(call, servers.graph), times)):
                    meanwhile()
                found.setdefault(kind, []).append(sorted(times))
    rows = []
    for kind, (before, during) in found.items():
        cells = [kind]
        for part in (0.5, 0.99, 1):
            for times in (before, during):
                cells.append(f"{times[min(int(len(times) * part), len(times) - 1)]:,.2f}")
        rows.append(cells)
    head = ["Milliseconds", "p50", "in a move", "p99", "in a move", "longest", "in a move"]
    note = (
        f"{MOVED} of 1,024 buckets between {MOVING} shares, {len(seconds)} times; a move takes "
        f"{measure.median(seconds):.1f} s, in which each of the two servers is compacted once"
    )
    study.section("Buckets moved", head, rows, note)


PARTS: dict[str, Callable[[Study], None]] = {
    "shipped": shipped,
    "processor": processor,
    "failover": failover,
    "algorithms": algorithms,
    "moved": moved,
}


def main() -> None:
    parser = ours.parser(__doc__, runs=3, parts=PARTS)
    parser.set_defaults(scale=16, queries=500)
    parser.add_argument("--kills", type=int, default=100, help="of servers with shares [100]")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
