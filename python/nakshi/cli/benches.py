"""``bench``: workloads on a store with properties, timed."""

from __future__ import annotations

import os
import statistics
from typing import Any

import click

from .._core import Properties
from . import options, workloads
from .options import TOKEN
from .output import print_json


@click.command()
@click.argument(
    "workload",
    type=click.Choice(
        [
            "tao",
            "graph-search",
            "linkbench",
            "append",
            "transactions",
            "sustained",
            "compaction",
            "list-friends",
        ]
    ),
)
@click.argument("store", type=options.STORE)
@click.option("--queries", type=click.IntRange(100), default=20_000, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of draws.")
@options.word(
    "--access",
    ["uniform", "zipf"],
    "tao, graph-search, compaction: which nodes are asked for how often [uniform].",
)
@click.option("--exponent", type=float, help="--access zipf: of Zipf's law [0.99].")
@click.option(
    "--compacting", type=click.IntRange(1), help="compaction: its threads; default: all cores."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    help="sustained: at most [60].",
)
@click.option(
    "--changes", type=click.IntRange(0), default=0, help="sustained: stop after so many [0: never]."
)
@click.option(
    "--server",
    metavar="nakshi://HOST:PORT",
    help="tao, graph-search: ask this server, which serves STORE or a copy of it.",
)
@options.long_call
def bench(
    workload: str,
    store: str,
    queries: int,
    seed: int,
    access: str | None,
    exponent: float | None,
    compacting: int | None,
    seconds: float,
    changes: int,
    server: str | None,
    as_json: bool,
    progress: bool | None,
    memory: int | None,
    threads: int | None,
) -> None:
    """Measure queries on STORE: each kind alone on one thread, then their mix on all.

    TAO's reading queries in the shares of its paper, or the five of Graph Search. Microseconds.
    LinkBench reads and changes, with Zipf's laws of its own; append adds nodes for 8 writers;
    transactions read and write one node each from 8 threads, against commits without reads;
    sustained makes changes for minutes beside TAO's mix, while the log is frozen and fragments merge;
    compaction runs TAO's mix before, during and after a compaction. These change STORE, so take a
    copy (nakshi backup). Every change is durable.
    list-friends reads the properties of all neighbours of 1,500 nodes from disk, with as little memory
    as works.
    """
    from ..graph import Graph

    if workload in ("linkbench", "append", "transactions") and (access or exponent is not None):
        raise click.UsageError(
            f"{workload} draws by laws of its own; leave out --access and --exponent"
        )
    if server is not None and workload not in ("tao", "graph-search"):
        raise click.UsageError("--server goes with tao and graph-search")
    graph = Graph(store)
    if workload == "list-friends":
        found = workloads.friends(graph.path, progress, memory=memory, seed=seed)
        if as_json:
            print_json({"store": store, "workload": workload, **found})
            return
        for name in ("friends", "micros", "reads", "bytes"):
            click.echo(f"{name + ', median':<28}{statistics.median(found[name]):>12,.1f}")
        return
    graph.load_properties(memory=memory, progress=progress)
    properties = graph._queries
    if workload in ("append", "transactions"):
        _writes(workload, store, properties, as_json, progress)
        return
    mix = workloads.Mix(
        mix="graph-search" if workload == "graph-search" else "tao",
        queries=queries,
        threads=threads or 2,
        seed=seed,
        access=access or "uniform",
        exponent=exponent,
    )
    if workload == "compaction":
        found = workloads.compaction(
            properties, mix, progress, memory=memory, compacting=compacting
        )
    elif workload == "sustained":
        found = workloads.sustained(properties, mix, progress, seconds=seconds, changes=changes)
    elif workload == "linkbench":
        found = workloads.linkbench(properties, mix, progress)
    elif server is not None:
        token = os.environ.get(TOKEN)
        found = workloads.served(properties, server, mix, progress, token)
    else:
        found = workloads.queries(properties, mix, progress)
    if as_json:
        print_json({"store": store, "workload": workload, **found})
        return
    click.echo(f"{'':<28}{'ops/s':>12}{'p50':>9}{'p99':>9}{'p99.9':>9}{'results':>9}")
    for one in found.get("phases") or found["classes"]:
        times = "".join(f"{one[name]:>9.2f}" for name in ("p50", "p99", "p999"))
        click.echo(f"{one['name']:<28}{one['rate']:>12,.0f}{times}{one['results']:>9.1f}")
    if workload == "sustained":
        click.echo(_sustained(found))
    elif workload != "compaction":
        click.echo(f"{'mix on ' + str(found['threads']) + ' threads':<28}{found['rate']:>12,.0f}")


def _writes(
    workload: str, store: str, properties: Properties, as_json: bool, progress: bool | None
) -> None:
    """Measure durable appends, or transactions, and print the rates."""
    if workload == "append":
        rows = [
            workloads.appends(properties, progress, threads=threads, in_flight=n)
            for threads, n in ((8, 1), (2, 1), (8, 64))
        ]
        lines = [_append(row) for row in rows]
    else:
        rows = workloads.transactions(properties, progress)
        lines = [_transaction(row) for row in rows]
    if as_json:
        name = "appends" if workload == "append" else workload
        print_json({"store": store, "workload": workload, name: rows})
    else:
        click.echo("\n".join(lines))


def _sustained(found: dict[str, Any]) -> str:
    rates = ", ".join(f"{rate:,.0f}" for rate in found["rates"])
    layers = found["layers"]
    per_byte = found["written"] / max(found["log_bytes"], 1)
    return (
        f"{found['changes']:,} changes in {found['seconds']:.1f} s; a second, in each tenth: {rates}\n"
        f"commits of 100: p99 {found['p99']:.2f} ms, longest {found['longest']:.1f} ms; "
        f"{per_byte:.2f} bytes written a byte of change; {layers['fragments']} fragments"
    )


def _append(row: dict[str, Any]) -> str:
    return (
        f"{row['writers']} writers on {row['threads']} threads, {row['in_flight']} in flight of each: "
        f"{row['rate']:,.0f} durable appends/s; the disk alone: {row['syncs']:,.0f} fdatasync/s"
    )


def _transaction(row: dict[str, Any]) -> str:
    kind = "read and write" if row["reads"] else "write"
    where = "one node" if row["one_node"] else "own nodes"
    least, most = row["per_thread"]
    return (
        f"{row['threads']} threads {kind} {where}: {row['rate']:,.0f} durable commits/s; "
        f"{least:,} to {most:,} of each thread"
    )
