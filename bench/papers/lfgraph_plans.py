"""LFGraph's analysis, sections 2.4 and 2.5 of the thesis: messages and work of a hash partition."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from harness import pictures
from nakshi import cluster
from nakshi.units import format_size

if TYPE_CHECKING:
    from lfgraph import Input, Study

SERVERS = cluster.SERVERS
TICKS = [str(number) for number in SERVERS]
SYSTEMS = {
    "pregel": "Pregel",
    "graphlab": "GraphLab",
    "powergraph": "PowerGraph",
    "lfgraph": "LFGraph",
    "exact": "LFGraph, counted",
}
EXPONENTS = (1.7, 1.9, 2.1)


@functools.cache
def rows(graph: Input) -> list[dict[str, Any]]:
    """The plan of a graph, which several figures show."""
    return cluster.plan(graph.store, SERVERS, progress=False)


def communication(study: Study) -> None:
    """Figure 2.3: communication by the equations, beside the counts of a hash partition."""
    for graph in study.analysed:
        found = rows(graph)
        series = {
            label: [row["communication"][name] for row in found] for name, label in SYSTEMS.items()
        }
        cells = [
            [tick, *(f"{values[at]:.3f}" for values in series.values())]
            for at, tick in enumerate(TICKS)
        ]
        head = ["Servers", *series]
        note = "values sent per vertex in an iteration in which all change, by equations 2.2 to 2.7"
        study.section(f"Figure 2.3: communication, {graph.name}", head, cells, note)
        study.picture(
            pictures.lines,
            f"figure-2-3-{graph.file}",
            TICKS,
            series,
            "values a vertex",
            steps="servers",
        )


def synthetic(study: Study) -> None:
    """Figure 2.4: balance of in-degrees that are drawn from a power law."""
    draw = np.random.default_rng(1)
    vertices = 10 << study.options.scale
    series = {}
    for exponent in EXPONENTS:
        # The inverse of the distribution; no vertex has more in-neighbours than there are vertices.
        degrees = (1 - draw.random(vertices)) ** (-1 / (exponent - 1))
        degrees = np.minimum(degrees, vertices - 1).astype(np.int64)
        loads = []
        for servers in SERVERS:
            owners = draw.integers(0, servers, vertices)
            loads.append(np.bincount(owners, degrees, servers))
        series[f"exponent {exponent}"] = [(x.min(), x.mean(), x.max()) for x in loads]
    note = f"{vertices:,} vertices, whose in-degrees and servers are drawn; {SHOWN}"
    _spread(study, "2.4: computation, synthetic power laws", "2-4", series, "in-edges", note)


SHOWN = "greatest over mean (least over mean)"


def computation(study: Study) -> None:
    """Figure 2.5: balance of in-edges."""
    series = {graph.name: _spans(rows(graph), "computation") for graph in study.analysed}
    note = f"in-edges of a server; {SHOWN}"
    _spread(study, "2.5: computation balance", "2-5", series, "in-edges", note)


def degrees(study: Study) -> None:
    """Figure 2.6: the largest in-degree against a server's load, and the spread of the high in-degrees."""
    cells, series, last = [], {}, SERVERS[-1]
    for graph in study.analysed:
        found = graph.in_degrees()
        counts = np.bincount(found)
        at = np.flatnonzero(counts)
        at = at[at > 0]
        series[graph.name] = (at.tolist(), counts[at].tolist())
        highest = np.sort(found)[::-1][:last]
        load = highest[0] / (found.sum() / last)
        tail = f"{highest[0] / highest[-1]:.1f}" if len(highest) == last else ""
        cells.append([graph.name, f"{highest[0]:,}", f"{load:.2f}", tail])
    head = ["Graph", "greatest in-degree", f"of the mean load of {last} servers"]
    head += [f"greatest / {last}th greatest"]
    ratios = [f"{last ** (1 / (exponent - 1)):.0f}" for exponent in EXPONENTS]
    note = (
        f"greatest / {last}th greatest, expected of power laws of exponents "
        f"{EXPONENTS[0]}, {EXPONENTS[1]} and {EXPONENTS[2]}: "
    )
    study.section("Figure 2.6: in-degrees", head, cells, note + ", ".join(ratios))
    study.picture(pictures.points, "figure-2-6", series, "in-degree", "vertices", log=True)


def pairs(study: Study) -> None:
    """Figure 2.7: balance of the values between pairs of servers."""
    series = {graph.name: _spans(rows(graph), "pairs") for graph in study.analysed}
    note = f"values from one server to another; {SHOWN}"
    _spread(study, "2.7: communication balance", "2-7", series, "values", note)


def recommended(study: Study) -> None:
    """Recommendation of `nakshi cluster plan` for each graph, and the error of equation 2.7."""
    cells = []
    for graph in study.analysed:
        found = rows(graph)
        advice = cluster.recommend(found)
        off = max(
            abs(row["communication"]["exact"] / row["communication"]["lfgraph"] - 1)
            for row in found
        )
        row = next(row for row in found if row["servers"] == advice.servers)
        times = [f"{1000 * advice.seconds[count]:.3g}" for count in (2, 16, 256)]
        memory = format_size(row["memory"]["greatest"])
        cells.append([graph.name, str(advice.servers), memory, *times, f"{off:.3%}"])
    head = ["Graph", "recommended", "memory of a server then", "superstep with 2, ms", "with 16"]
    head += ["with 256", "equation 2.7 off the counts by at most"]
    note = "no limit of memory; times are estimates with the default rates of `nakshi cluster plan`"
    study.section("Recommended numbers of servers", head, cells, note)


def _spans(found: list[dict[str, Any]], name: str) -> list[tuple[float, float, float]]:
    return [tuple(row[name][part] for part in ("least", "mean", "greatest")) for row in found]


def _spread(
    study: Study,
    title: str,
    name: str,
    series: Mapping[str, list[tuple[float, float, float]]],
    label: str,
    note: str,
) -> None:
    """A table of balance by number of servers, and the picture."""
    cells = []
    for at, tick in enumerate(TICKS):
        spans = [values[at] for values in series.values()]
        cells.append(
            [tick, *(f"{most / mean:.3f} ({least / mean:.3f})" for least, mean, most in spans)]
        )
    study.section(f"Figure {title}", ["Servers", *series], cells, note)
    study.picture(pictures.spans, f"figure-{name}", TICKS, series, label, steps="servers", log=True)


FIGURES: dict[str, Callable[[Study], None]] = {
    "2.3": communication,
    "2.4": synthetic,
    "2.5": computation,
    "2.6": degrees,
    "2.7": pairs,
    "recommended": recommended,
}
