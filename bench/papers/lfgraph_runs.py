"""LFGraph's experiments, chapter 4 of the thesis: runs on several servers, each figure from the same runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import nakshi
import numpy as np
from cluster import namespaces as apart
from cluster.servers import PHASES, Run
from harness import measure, pictures, tables
from nakshi import cluster

if TYPE_CHECKING:
    from lfgraph import Input, Study

ITERATIONS = 10
#: Bytes of a value of PageRank.
VALUE = 8
#: Absolute and relative difference that ranks of several servers may have from those of one machine,
#: which rounds contributions to 32 bits on large graphs.
NEAR, ROUNDED = 1e-9, 2e-7
MIB = 1 << 20


def parameters(algorithm: str, graph: Input) -> dict[str, Any]:
    """The thesis's settings."""
    return {
        "pagerank": {"iterations": ITERATIONS},
        "sssp": {"source": graph.source},
    }.get(algorithm, {})


@functools.cache
def alone(graph: Input, algorithm: str, threads: int) -> nakshi.Result:
    """The single-machine engine, with all lists in memory."""
    opened, given = nakshi.open(graph.store), parameters(algorithm, graph)
    return opened.run(algorithm, engine="memory", threads=threads, progress=False, **given)


def check(graph: Input, algorithm: str, found: nakshi.Result) -> None:
    """Ends the program if servers and one machine have different answers."""
    want = alone(graph, algorithm, 1)
    if algorithm == "triangles":
        same = found.summary["triangles"] == want.summary["triangles"]
    elif algorithm == "pagerank":
        ours, theirs = found.to_numpy(), want.to_numpy()
        same = all(
            np.allclose(ours, theirs, rtol=near, atol=absolute)
            for near, absolute in ((0, NEAR), (ROUNDED, 0))
        )
    else:
        same = np.array_equal(found.to_numpy(), want.to_numpy())
    if not same:
        raise SystemExit(f"{algorithm} on {graph.name}: servers and one machine differ")


def named(count: int, what: str) -> str:
    """`1 server`, `2 servers`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def sample(study: Study, graph: Input, algorithm: str, count: int, threads: int = 0) -> Run:
    """The run of median time."""
    threads = threads or study.options.threads
    return _sample(graph, algorithm, count, threads, study.options.runs)


@functools.cache
def _sample(graph: Input, algorithm: str, count: int, threads: int, wanted: int | None) -> Run:
    def run() -> nakshi.Result:
        given = parameters(algorithm, graph)
        return cluster.run(
            graph.store, algorithm, local=count, threads=threads, progress=False, **given
        )

    return median(graph, algorithm, run, wanted)


def median(
    graph: Input, algorithm: str, run: Callable[[], nakshi.Result], wanted: int | None
) -> Run:
    """The run whose time is the median, after its answer was compared once."""
    first = run()
    check(graph, algorithm, first)
    runs = [_reported(first)]
    while len(runs) < measure.repeats(runs[0].seconds, wanted):
        runs.append(_reported(run()))
    return sorted(runs, key=lambda ran: ran.seconds)[len(runs) // 2]


def _reported(result: nakshi.Result) -> Run:
    return Run(result.stats["servers"])


def totals(run: Run, name: str) -> np.ndarray:
    """Sums over the supersteps of each server, of shape `(servers,)`."""
    return np.array(run.of(name)).sum(axis=1)


@functools.cache
def planned(graph: Input, counts: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    """Rows of a plan by the number of servers, for values of 8 bytes."""
    rows = cluster.plan(graph.store, counts, value_bytes=VALUE, progress=False)
    return {row["servers"]: row for row in rows}


def runtime(study: Study, graph: Input, algorithm: str, title: str, name: str) -> None:
    """Figures 4.1, 4.8, 4.11 and 4.14: run time without loading; servers share the cores."""
    counts = study.options.servers
    runs = [sample(study, graph, algorithm, count) for count in counts]
    rows = []
    for count, ran in zip(counts, runs, strict=True):
        rows.append(
            [
                named(count, "server"),
                tables.seconds(ran.seconds),
                f"{1000 * ran.each:.3g}",
                tables.ratio(ran.seconds / runs[0].seconds),
                str(ran.supersteps),
            ]
        )
    levels = {}
    for threads in (1, 2):
        took = alone(graph, algorithm, threads).stats["seconds"]["run"]
        called = f"one machine, {named(threads, 'thread')}"
        levels[called] = took
        rows.append([called, tables.seconds(took), "", tables.ratio(took / runs[0].seconds), ""])
    head = ["On", "run, s", "a superstep, ms", f"of {named(counts[0], 'server')}", "supersteps"]
    note = "PowerGraph does not run here; one machine: the engine without a cluster, lists in memory, one run"
    study.section(f"{title}, {graph.name}", head, rows, note)
    ticks, series = [str(count) for count in counts], {"servers": [ran.seconds for ran in runs]}
    study.picture(
        pictures.lines, f"figure-{name}", ticks, series, "run, s", steps="servers", levels=levels
    )


def loading(study: Study, graph: Input, algorithm: str, title: str, name: str) -> None:
    """Figures 4.2 and 4.12: run time with loading, which includes the partition."""
    counts = study.options.servers
    runs = [sample(study, graph, algorithm, count) for count in counts]
    rows = [
        [
            str(count),
            tables.seconds(ran.rest),
            tables.seconds(ran.seconds),
            tables.seconds(ran.rest + ran.seconds),
            f"{ran.rest / (ran.rest + ran.seconds):.0%}",
        ]
        for count, ran in zip(counts, runs, strict=True)
    ]
    head = ["Servers", "loading, s", "supersteps, s", "both, s", "share of loading"]
    note = (
        "loading: connecting, reading, partition, results; the thesis divides PowerGraph's times by "
        "these, most of which were its partition"
    )
    study.section(f"{title}, {graph.name}", head, rows, note)
    series = {"loading": [ran.rest for ran in runs], "supersteps": [ran.seconds for ran in runs]}
    study.picture(
        pictures.bars, f"figure-{name}", [str(count) for count in counts], series, "seconds"
    )


def memory(study: Study, graph: Input, title: str, name: str) -> None:
    """Figures 4.3 and 4.10: largest memory of a server, beside the plan's prediction for its part."""
    counts = study.options.servers
    rows, series = [], {"above an empty one": [], "predicted": []}
    for count in counts:
        # The peak of a process without a graph.
        base = min(sample(study, study.tiny, "pagerank", count).peaks)
        most = max(sample(study, graph, "pagerank", count).peaks)
        part = planned(graph, tuple(counts))[count]["memory"]["greatest"]
        series["above an empty one"].append((most - base) / MIB)
        series["predicted"].append(part / MIB)
        cells = [tables.size(size) for size in (most, most - base, part)]
        rows.append([str(count), *cells, tables.ratio((most - base) / part)])
    head = ["Servers", "most of a server", "above one of a tiny graph", "predicted for its part"]
    head += ["above / predicted"]
    note = "peak memory of a process, loading included; PowerGraph's is not measured"
    study.section(f"{title}, {graph.name}", head, rows, note)
    ticks = [str(count) for count in counts]
    study.picture(pictures.lines, f"figure-{name}", ticks, series, "MiB a server", steps="servers")


def traffic(study: Study, graph: Input, title: str, name: str) -> None:
    """Figures 4.4 and 4.9: bytes that a server sends in an iteration, beside PowerGraph's by equation."""
    counts = study.options.servers
    rows, series = [], {"LFGraph, on the wire": [], "PowerGraph, by equation 2.5": []}
    vertices = nakshi.open(graph.store).num_vertices
    for count in counts:
        ran = sample(study, graph, "pagerank", count)
        said = planned(graph, tuple(counts))[count]["communication"]
        sent, moved = totals(ran, "sent").sum(), totals(ran, "bytes").sum()
        values, wire = sent / ran.supersteps, moved / ran.supersteps / count
        mirrors = said["powergraph"] * vertices * VALUE / count
        series["LFGraph, on the wire"].append(wire / MIB)
        series["PowerGraph, by equation 2.5"].append(mirrors / MIB)
        counted = said["exact"] * vertices
        rows.append(
            [
                str(count),
                tables.size(wire),
                f"{moved / sent:.2f}" if values else "",
                f"{values / counted:.4f}" if counted else "",
                f"{values / vertices / said['lfgraph'] - 1:+.3%}" if values else "",
                tables.size(mirrors),
                tables.ratio(mirrors / wire) if wire else "",
            ]
        )
    head = ["Servers", "sent by a server", "bytes a value", "values / counted by the plan"]
    head += ["values against equation 2.7", "PowerGraph, by equation 2.5", "that / sent"]
    note = "an iteration of PageRank; PowerGraph: two values of 8 bytes for each mirror, no headers"
    study.section(f"{title}, {graph.name}", head, rows, note)
    ticks = [str(count) for count in counts]
    study.picture(
        pictures.lines,
        f"figure-{name}",
        ticks,
        series,
        "MiB a server and iteration",
        steps="servers",
    )


def balance(study: Study, graph: Input, title: str, name: str) -> None:
    """Figure 4.5: seconds of each server, as mean and standard deviation."""
    rows: list[list[str]] = []
    series: dict[str, list[tuple[float, float, float]]] = {phase: [] for phase in PHASES}
    counts = [count for count in study.options.servers if count > 1]
    for count in counts:
        ran, cells = sample(study, graph, "pagerank", count), []
        for phase in PHASES:
            times = totals(ran, phase)
            mean, off = times.mean(), times.std()
            series[phase].append((mean - off, mean, mean + off))
            cells += [tables.seconds(mean), f"{off / mean:.3f}", f"{times.max() / mean:.3f}"]
        spread = planned(graph, tuple(study.options.servers))[count]["computation"]
        rows.append([str(count), *cells, f"{spread['greatest'] / spread['mean']:.3f}"])
    shown = ["mean, s", "deviation / mean", "greatest / mean"]
    head = ["Servers", *[f"{phase}: {what}" for phase in PHASES for what in shown]]
    head += ["in-edges: greatest / mean"]
    note = (
        "sums over supersteps; a server communicates until the slowest server has communicated, so that "
        "phase takes about as long on all; with more servers than cores the servers compute in turns"
    )
    study.section(f"{title}, {graph.name}", head, rows, note)
    ticks = [str(count) for count in counts]
    study.picture(
        pictures.spans, f"figure-{name}", ticks, series, "seconds a server", steps="servers"
    )


def split(study: Study, graph: Input, title: str, name: str) -> None:
    """Figures 4.6 and 4.7: shares of computation and communication in a run. PowerGraph's time of
    communication is computed in proportion to its bytes, which holds in the thesis too."""
    counts = study.options.servers
    phases: dict[str, list[float]] = {phase: [] for phase in PHASES}
    rows = []
    for count in counts:
        ran = sample(study, graph, "pagerank", count)
        times = [totals(ran, phase).mean() for phase in PHASES]
        for phase, took in zip(phases, times, strict=True):
            phases[phase].append(took)
        said = planned(graph, tuple(study.options.servers))[count]["communication"]
        more = said["powergraph"] / said["exact"] if said["exact"] else 0.0
        share = f"{times[1] / sum(times):.0%}"
        mirrors = tables.seconds(times[1] * more) if more else ""
        rows.append([str(count), *map(tables.seconds, [*times, ran.seconds]), share, mirrors])
    head = ["Servers", "computation, s", "communication, s", "run, s", "share of communication"]
    head += ["communication of PowerGraph's values, s"]
    note = (
        "means over servers of sums over supersteps; the last column is the time of communication, "
        "waiting included, in proportion to the values of equation 2.5"
    )
    study.section(f"{title}, {graph.name}", head, rows, note)
    study.picture(
        pictures.bars, f"figure-{name}", [str(count) for count in counts], phases, "seconds"
    )


def growth(study: Study) -> None:
    """Figure 4.13: shortest paths on log-normal graphs of growing size."""
    most = max(study.options.servers)
    counts = sorted({1, most})
    rows = []
    series: dict[str, list[float]] = {named(count, "server"): [] for count in counts}
    for graph in study.growing:
        edges, cells = nakshi.open(graph.store).num_edges, []
        for count in counts:
            ran = sample(study, graph, "sssp", count)
            series[named(count, "server")].append(ran.seconds)
            cells += [tables.seconds(ran.rest), tables.seconds(ran.seconds)]
        each = 1e9 * ran.each / edges
        rows.append([graph.name, f"{edges:,}", *cells, str(ran.supersteps), f"{each:.2f}"])
    head = ["Log-normal", "edges"]
    head += [f"{what} on {count}, s" for count in counts for what in ("loading", "run")]
    head += ["supersteps", f"ns an edge and superstep on {most}"]
    note = (
        "mean of the logarithm of degrees 4, deviation 1.3, in-degrees of at most 128; the thesis has up "
        "to a billion vertices on 12 servers, and Pregel's published times on 300"
    )
    study.section("Figure 4.13: SSSP on larger graphs", head, rows, note)
    ticks = [graph.name.removesuffix(" vertices") for graph in study.growing]
    study.picture(pictures.lines, "figure-4-13", ticks, series, "run, s", steps="vertices")


def workers(study: Study) -> None:
    """Computation workers of a server: the thesis has as many as cores."""
    graph, counts = study.directed, [count for count in study.options.servers if count <= 2]
    rows = []
    for count in counts:
        runs = [sample(study, graph, "pagerank", count, threads) for threads in (1, 2, 4)]
        for threads, ran in zip((1, 2, 4), runs, strict=True):
            times = [totals(ran, phase).mean() for phase in PHASES]
            cells = [tables.seconds(took) for took in (ran.seconds, *times)]
            rows.append(
                [f"{count}, {threads}", *cells, tables.ratio(ran.seconds / runs[0].seconds)]
            )
    head = ["Servers, computation workers of each", "run, s", "computation, s", "communication, s"]
    head += ["run, of 1 worker"]
    title = f"Computation workers, PageRank, {graph.name}"
    study.section(title, head, rows, "the thesis has a worker for each core of a server")


def overhead(study: Study) -> None:
    """Time of a superstep without work: the cost of more servers."""
    rows = []
    for count in study.options.servers:
        ran = sample(study, study.tiny, "pagerank", count)
        rows.append([str(count), f"{1000 * ran.each:.2f}", tables.seconds(ran.rest)])
    head = ["Servers", "a superstep, ms", "loading, s"]
    study.section(f"Overhead, {study.tiny.name}", head, rows)


def namespaces(study: Study) -> None:
    """Figures 4.1, 4.4, 4.6, 4.11 and 4.14 with a link for each server."""
    title = "Servers in network namespaces"
    try:
        if not study.options.namespaces:
            raise measure.Skipped("asked for by `--namespaces`")
        rows = _namespaces(study)
    except measure.Skipped as reason:
        study.page.section(title, study.command, f"Not measured: {reason}.")
        return
    head = ["On servers", "loopback: run, s", "own links", f"links of {study.options.link}"]
    head += ["there: computation, s", "communication, s", "sent by a server"]
    note = (
        "as in Figures 4.1, 4.6, 4.11 and 4.14; a namespace for each server, joined by a bridge; links "
        "in both directions by tc"
    )
    study.section(title, head, rows, note)


def _namespaces(study: Study) -> list[list[str]]:
    rows = []
    for algorithm, graph in (
        ("pagerank", study.directed),
        ("sssp", study.directed),
        ("triangles", study.small),
    ):
        for count in (count for count in study.options.servers if count > 1):
            runs = [sample(study, graph, algorithm, count)]
            for link in (apart.Link(), study.options.link):
                runs.append(_apart(study, graph, algorithm, count, link))
            shaped = runs[-1]
            times = [tables.seconds(totals(shaped, phase).mean()) for phase in PHASES]
            cells = [tables.seconds(ran.seconds) for ran in runs]
            sent = tables.size(totals(shaped, "bytes").mean())
            rows.append([f"{algorithm}, {count}", *cells, *times, sent])
    return rows


def _apart(study: Study, graph: Input, algorithm: str, count: int, link: apart.Link) -> Run:
    def run() -> nakshi.Result:
        given = {"threads": study.options.threads, **parameters(algorithm, graph)}
        return apart.run(graph.store, algorithm, count, link, **given)

    return median(graph, algorithm, run, study.options.runs)


def _of(figure: Callable[..., None], graph: str, *words: str) -> Callable[[Study], None]:
    """A figure of one of the study's graphs. The graph is made when the figure is measured."""
    return lambda study: figure(study, getattr(study, graph), *words)


FIGURES: dict[str, Callable[[Study], None]] = {
    "4.1": _of(runtime, "directed", "pagerank", "Figure 4.1: PageRank without loading", "4-1"),
    "4.2": _of(loading, "directed", "pagerank", "Figure 4.2: PageRank with loading", "4-2"),
    "4.3": _of(memory, "directed", "Figure 4.3: memory", "4-3"),
    "4.4": _of(traffic, "directed", "Figure 4.4: communication", "4-4"),
    "4.5": _of(balance, "directed", "Figure 4.5: balance", "4-5"),
    "4.6": _of(split, "directed", "Figures 4.6 and 4.7: computation and communication", "4-6"),
    "4.8": _of(runtime, "undirected", "pagerank", "Figure 4.8: PageRank without loading", "4-8"),
    "4.9": _of(traffic, "undirected", "Figure 4.9: communication", "4-9"),
    "4.10": _of(memory, "undirected", "Figure 4.10: memory", "4-10"),
    "4.11": _of(runtime, "directed", "sssp", "Figure 4.11: SSSP without loading", "4-11"),
    "4.12": _of(loading, "directed", "sssp", "Figure 4.12: SSSP with loading", "4-12"),
    "4.13": growth,
    "4.14": _of(runtime, "small", "triangles", "Figure 4.14: triangles", "4-14"),
    "workers": workers,
    "overhead": overhead,
    "namespaces": namespaces,
}
