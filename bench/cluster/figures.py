"""Figures of Nakshi's servers alone: values and bytes sent, overhead of a superstep, memory; and
PageRank beside gapbs."""

from __future__ import annotations

import argparse
import sys
from statistics import mean

from cluster import servers
from cluster.servers import Input
from harness import Study, graphs, kernels, measure, product, tables
from systems import files, gapbs

SERVERS = [2, 4, 8]
#: Iterations of runs in which every iteration sends the same values.
FEW = 5
#: Bytes of a value.
VALUE = 8


def values(study: Study) -> None:
    """Values sent in each superstep of PageRank, which must be as many as the plan counts."""
    chosen = study.options
    given = servers.prepared(chosen, chosen.scale)
    vertices = given.vertices
    rows = []
    for planned in servers.plan(given, SERVERS):
        count, told = planned["servers"], planned["communication"]
        exact = round(told["exact"] * vertices)
        run = servers.run("pagerank", given, count, iterations=FEW)
        sent = [round(sum(step)) for step in zip(*run.of("sent", first=0))]
        if set(sent) != {exact}:
            sys.exit(f"{count} servers sent {sent} values a superstep, the plan says {exact}")
        moved = measure.median([sum(step) for step in zip(*run.of("bytes", first=0))])
        off = abs(exact / vertices / told["lfgraph"] - 1)
        equation = round(told["powergraph"] * vertices)
        both = 2 * int(files.run("mirrors", given.graph.folder, count))
        rows.append(
            [
                count,
                f"{exact:,}",
                f"{exact / vertices:.4f}",
                f"{told['lfgraph']:.4f}",
                f"{off:.3%}",
                f"{moved / exact:.3f}",
                f"{moved / exact / VALUE - 1:.1%}",
                f"{equation:,}",
                f"{exact / equation:.3f}",
                f"{both:,}",
                f"{exact / both:.3f}",
            ]
        )
    head = ["Servers", "values a superstep", "a vertex", "equation 2.7", "difference"]
    head += ["bytes a value", f"over {VALUE}", "PowerGraph's values", "share of them"]
    head += ["with both directions", "share of them"]
    notes = [
        f"{_size(chosen, given)}; in every superstep as many values as `nakshi cluster plan` counts",
        "bytes: of all frames with their headers, without those of TCP",
        "PowerGraph's values: two for each mirror, expected by equation 2.5 where an edge is on one server; "
        "with both directions: where each direction is an edge of its own, placed on its own",
    ]
    study.section("Values sent by PageRank", head, rows, *notes)


def overhead(study: Study) -> None:
    """Time of a superstep on a tiny graph."""
    chosen = study.options
    given = servers.prepared(chosen, servers.TINY)
    rows = []
    for processes in (1, 2, 4, 8):
        each: list[float] = []
        whole: list[float] = []
        for _ in range(chosen.runs):
            run = servers.run("pagerank", given, processes, iterations=chosen.supersteps)
            each += run.step_seconds[1:]
            whole.append(run.collected / (run.supersteps + 1))
        each.sort()
        late = each[int(0.99 * len(each))]
        milliseconds = [measure.median(each), late, measure.median(whole)]
        rows.append([processes, *(tables.seconds(1e3 * value) for value in milliseconds)])
    head = ["Processes", "ms a superstep, median", "99th percentile", "whole run by supersteps"]
    notes = [
        f"PageRank on Kron{servers.TINY}, {given.vertices:,} vertices; {chosen.runs} run(s) of "
        f"{chosen.supersteps:,} supersteps, computation and communication of the slowest server",
        "one thread each; the processes share the cores of this machine",
    ]
    study.section("Overhead of a superstep", head, rows, *notes)


def memory(study: Study) -> None:
    """Peak memory above that of the same process with a tiny graph, beside the plan."""
    chosen = study.options
    given = servers.prepared(chosen, chosen.scale)
    tiny = servers.prepared(chosen, servers.TINY)
    rows = []
    for planned in servers.plan(given, [1, *SERVERS]):
        count, told = planned["servers"], planned["memory"]
        greatest, average = [], []
        base = 0
        for _ in range(chosen.runs):
            base = round(mean(servers.run("pagerank", tiny, count, iterations=FEW).peaks))
            above = [
                peak - base for peak in servers.run("pagerank", given, count, iterations=FEW).peaks
            ]
            greatest.append(max(above))
            average.append(mean(above))
        most, usual = measure.median(greatest), measure.median(average)
        rows.append(
            [
                count,
                *map(tables.size, (base, told["greatest"], most)),
                tables.ratio(most / told["greatest"]),
                *map(tables.size, (told["mean"], usual)),
                tables.ratio(usual / told["mean"]),
            ]
        )
    head = ["Servers", "process base", "plan, greatest", "measured", "ratio"]
    head += ["plan, mean", "measured", "ratio"]
    notes = [
        f"{_size(chosen, given)}; PageRank, one thread each; peak resident set (VmHWM) of each "
        "server from its start to its end, loading included",
        f"base: the mean peak of as many servers with Kron{servers.TINY}; subtracted",
    ]
    study.section("Memory of a server", head, rows, *notes)


def pagerank(study: Study) -> None:
    """One process on all threads, turn by turn with gapbs where it is given."""
    chosen = study.options
    given = servers.prepared(chosen, chosen.scale)
    ours, theirs = servers.Sample(), servers.Sample()
    notes = [f"{_size(chosen, given)}; {kernels.ITERATIONS} iterations"]
    answer = chosen.work / "cluster-pagerank.tsv"
    servers.run("pagerank", given, 1, chosen.threads, out=answer)
    found = product.digest("pagerank", answer)
    if chosen.gapbs:
        graphs.binaries(given.graph, chosen.gapbs)
    else:
        notes.append("without --gapbs there is nothing to compare with")
    for _ in range(chosen.runs):
        run = servers.run("pagerank", given, 1, chosen.threads)
        ours.add(run.seconds, run.load, max(run.peaks))
        if chosen.gapbs:
            other = gapbs.run(chosen.gapbs, "pagerank", given.graph, chosen.threads, 2)
            reason = kernels.disagreement(found, other.digest)
            if reason:
                sys.exit(f"answers differ, pagerank of Nakshi and gapbs: {reason}")
            theirs.add(measure.median(other.seconds), None, other.peak)
    rows = []
    for name, sample in (("Nakshi, one server", ours), ("gapbs", theirs)):
        if sample.seconds:
            against = sample.median / theirs.median if theirs.seconds else None
            cells = [
                name,
                tables.seconds(sample.median / kernels.ITERATIONS),
                tables.ratio(against),
            ]
            rows.append([*cells, tables.size(sample.peak)])
    head = [f"{chosen.threads} threads", "s an iteration", "against gapbs", "peak memory"]
    notes.append(
        "all supersteps, by iterations; turn by turn, a new process each time; gapbs: its trials, without "
        "the first of each process, which warms up"
    )
    study.section("PageRank on one server", head, rows, *notes)


def _size(chosen: argparse.Namespace, given: Input) -> str:
    edges = given.graph.facts()["edges"]
    return (
        f"Kron{chosen.scale}: {given.vertices:,} vertices with {edges:,} edges, in both directions"
    )
