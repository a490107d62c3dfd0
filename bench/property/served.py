"""TAO's mix of queries asked of a server over loopback: Nakshi over gRPC, beside other systems.

    bench/property/served.py                                # scale 16, beside Neo4j over Bolt
    bench/property/served.py --janusgraph                   # and JanusGraph over WebSocket
    bench/property/served.py --scale 12 --runs 1 --queries 2000

The server and its client are processes of this machine and share its cores. Each kind of query is asked alone,
one after the other; then the mix, without waiting in between: `nakshi bench` asks 64 queries at once on each
connection, Neo4j's own Java driver runs 64 queries in a transaction on each of several connections, and
TinkerPop's Java driver asks JanusGraph 64 queries at once on each of several connections. Answers of
Nakshi's server and of JanusGraph's are compared with those of the store before a time is taken. Writes
docs/results/served.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import nakshi
from harness import measure, study
from property import loopback, ours

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
    served = over_grpc(study)
    rate = ours.rate_of(served)
    rows = ours.kinds_of(served)
    rows.append([f"mix on {chosen.threads} connections", f"{rate:,.0f}", "", "", "", ""])
    study.section("TAO, Nakshi over gRPC", ours.HEAD, rows)
    inside = ours.rate_of(here)
    first = ["Nakshi in one process", f"{inside:,.0f}", f"{inside / rate:.2f}x"]
    beside(study, loopback.Bolt, "TAO, mixes", served, first)


def janusgraph(study: Study) -> None:
    """Adds TAO's mix on JanusGraph's server, if it is asked for, and once more on Nakshi's."""
    if study.options.janusgraph:
        beside(study, loopback.Gremlin, "TAO, mixes beside JanusGraph", over_grpc(study))


def over_grpc(study: Study) -> list[dict[str, Any]]:
    """Runs of TAO's mix on Nakshi's server."""
    chosen, store = study.options, study.loaded.store
    with ours.serving(store) as address:
        return [ours.bench("tao", store, chosen, "--server", address) for _ in range(chosen.runs)]


def beside(
    study: Study,
    server: Callable[[argparse.Namespace, Path], loopback.Server],
    title: str,
    served: list[dict[str, Any]],
    *first: list[str],
) -> None:
    """Adds the kinds of queries on another system's server, and its mixes beside those that Nakshi served."""
    chosen, store = study.options, study.loaded.store
    rate = ours.rate_of(served)
    head, rows = ["", "ops/s", "of gRPC"], [*first, ["Nakshi over gRPC", f"{rate:,.0f}", "1"]]
    try:
        rival = server(chosen, store)
        kinds, rates = rival.mixes(chosen, store)
    except measure.Skipped as reason:
        study.section(title, head, rows, f"without the other system: {reason}")
        return
    name = f"{rival.title} over {rival.protocol}"
    study.section(f"TAO, {name}", ours.HEAD, kinds)
    best = max(rates, key=lambda connections: rates[connections])
    for connections, found in rates.items():
        label = f"{name}, {connections} connections"
        rows.append([label, f"{found:,.0f}", f"{found / rate:.3f}x"])
    study.section(
        title,
        head,
        rows,
        f"Nakshi over gRPC answers {rate / rates[best]:.1f}x as many queries as {name} "
        f"with {best} connections",
        *rival.notes,
    )


PARTS: dict[str, Callable[[Study], None]] = {"calls": calls, "tao": tao, "janusgraph": janusgraph}


def main() -> None:
    parser = ours.parser(__doc__, runs=3, parts=PARTS)
    parser.set_defaults(scale=16)
    parser.add_argument("--janusgraph", action="store_true", help="the same on JanusGraph's server")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
