"""TAO's mix of queries asked of a server over loopback: Nakshi over gRPC, and Neo4j over Bolt.

    bench/property/served.py                                # scale 16, both systems
    bench/property/served.py --scale 12 --runs 1 --queries 2000

The server and its client are processes of this machine and share its cores. Each kind of query is asked alone,
one after the other; then the mix, without waiting in between: `nakshi bench` asks 64 queries at once on each
connection, and Neo4j's own Java driver runs 64 queries in a transaction on each of several connections.
Answers of Nakshi's server are compared with those of the store before a time is taken. Writes
docs/results/served.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import nakshi
from harness import measure, study
from property import ours
from property.rivals import EmbeddedNeo4j

#: Connections of Neo4j's driver in the mix; the best of them counts.
CONNECTIONS = (2, 4, 8, 16)
#: Port of Neo4j.
PORT = 17687
#: Single calls of Python.
CALLS = 20_000


class Study(harness.Study):
    """The page, and the store of its parts."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"tables by ZipG's rules, scale {options.scale}: 40 texts of 16 bytes a node, 128 bytes of "
            "text an edge; in memory, warm",
            "servers and clients are processes of one machine, over loopback",
        ]
        super().__init__("served", "Servers", options, conditions)
        self.loaded = ours.imported(options, ours.generated(options.work, options.scale))


def calls(study: Study) -> None:
    """Adds the latencies of single calls from Python."""
    with ours.serving(study.loaded.store) as address, nakshi.connect(address) as graph:
        ids = graph.get_node_ids(limit=1000)
        name = next(iter(graph.get_node_property(ids[0])))
        kinds: dict[str, Callable[[Any], Any]] = {
            "one property": lambda id: graph.get_node_property(id, name),
            "all properties": lambda id: graph.get_node_property(id),
            "neighbours": lambda id: graph.get_neighbor_ids(id),
        }
        rows = []
        for kind, call in kinds.items():
            times = []
            for i in range(-CALLS // 10, CALLS):
                began = time.perf_counter()
                call(ids[i % len(ids)])
                if i >= 0:
                    times.append(1e6 * (time.perf_counter() - began))
            times.sort()
            quantiles = (times[int(len(times) * part)] for part in (0.5, 0.99, 0.999))
            rows.append([kind, *(f"{quantile:.0f}" for quantile in quantiles)])
    head = ["Call of one Python client", "p50, us", "p99, us", "p99.9, us"]
    study.section("Single calls", head, rows)


def tao(study: Study) -> None:
    """Adds TAO's mix on Nakshi's server and, if it is there, on Neo4j's."""
    chosen, store = study.options, study.loaded.store
    here = [ours.bench("tao", store, chosen) for _ in range(chosen.runs)]
    with ours.serving(store) as address:
        served = [ours.bench("tao", store, chosen, "--server", address) for _ in range(chosen.runs)]
    rows = ours.kinds_of(served)
    rate = ours.rate_of(served)
    rows.append([f"mix on {chosen.threads} connections", f"{rate:,.0f}", "", "", "", ""])
    study.section("TAO, Nakshi over gRPC", ours.HEAD, rows)
    compared = [
        [
            "Nakshi in one process",
            f"{ours.rate_of(here):,.0f}",
            f"{ours.rate_of(here) / rate:.2f}x",
        ],
        ["Nakshi over gRPC", f"{rate:,.0f}", "1"],
    ]
    try:
        rival = EmbeddedNeo4j(chosen, store)
    except measure.Skipped as reason:
        study.section("TAO, mixes", ["", "ops/s", "of gRPC"], compared, f"without Neo4j: {reason}")
        return
    kinds, rates = over_bolt(rival, chosen)
    study.section(f"TAO, {rival.title} over Bolt", ours.HEAD, kinds)
    best = max(rates, key=lambda connections: rates[connections])
    for connections, found in rates.items():
        title = f"{rival.title} over Bolt, {connections} connections"
        compared.append([title, f"{found:,.0f}", f"{found / rate:.3f}x"])
    study.section(
        "TAO, mixes",
        ["", "ops/s", "of gRPC"],
        compared,
        f"Nakshi over gRPC answers {rate / rates[best]:.1f}x as many queries as {rival.title} over Bolt "
        f"with {best} connections",
        "Neo4j: Cypher with parameters, an index of ids; every query runs once before it is timed",
    )


def over_bolt(
    rival: EmbeddedNeo4j, chosen: argparse.Namespace
) -> tuple[list[list[str]], dict[int, float]]:
    """Rows of the kinds of queries, and the rate of the mix by the number of connections."""
    java = ["java", "-Xmx4g", "-cp", rival.neo4j.classes, "bench.Main"]
    command = [*java, "serve", str(rival.home), f"port={PORT}"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None and server.stdin is not None
        while "ready" not in server.stdout.readline():
            if server.poll() is not None:
                raise SystemExit("Neo4j did not start")
        runs: list[dict[str, Any]] = []
        rates = {}
        for connections in CONNECTIONS:
            some = [
                rival.neo4j.ask(
                    "bolt",
                    rival.home,
                    chosen.threads,
                    f"port={PORT}",
                    f"queries={chosen.queries}",
                    f"threads={connections}",
                )
                for _ in range(chosen.runs)
            ]
            rates[connections] = ours.rate_of(some)
            runs = runs or some
        server.stdin.close()
        server.wait()
    finally:
        server.kill()
    return ours.kinds_of(runs), rates


PARTS: dict[str, Callable[[Study], None]] = {"calls": calls, "tao": tao}


def main() -> None:
    parser = ours.parser(__doc__, runs=3, parts=PARTS)
    parser.set_defaults(scale=16)
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
