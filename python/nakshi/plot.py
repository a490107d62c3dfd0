"""Plots of the reads of a run, the adjacency matrix, and the plan of a cluster. Needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ParameterError, UnsupportedError
from .graph import Graph
from .progress import ProgressArgument, reporting
from .units import parse_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SYSTEMS = {
    "pregel": "Pregel",
    "graphlab": "GraphLab",
    "powergraph": "PowerGraph",
    "lfgraph": "LFGraph",
    "exact": "LFGraph, counted",
}

__all__ = ["access", "matrix", "servers"]


def access(
    graph: Graph | str | os.PathLike[str],
    algorithm: str,
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    selective: bool = True,
    static_cache: bool = False,
    progress: ProgressArgument = None,
    **parameters: Any,
) -> Figure:
    """Run an algorithm from the SSD and plot the file offset of every read against time.

    The plot follows Figures 3.1 and 5.1 of I. Hoque's thesis (University of Illinois, 2013). A layout
    that suits the run shows few and narrow bands.

    Args:
        graph: the graph, or the path of its store.
        algorithm: name as on the command line, such as ``"bfs"``.
        memory, threads, selective, static_cache, progress: as for algorithms; by default only
            selected pages are read.
        parameters: arguments of the algorithm.

    Returns:
        A matplotlib figure with a dot for each read, coloured by file: out-lists, in-lists, columns.

    Raises:
        UnsupportedError: matplotlib is not installed.
        Errors of the algorithm.
    """
    figure, axes = figure_with_axes(7, 3.5)
    opened = graph if isinstance(graph, Graph) else Graph(graph)
    result = opened._run(
        algorithm,
        parameters,
        memory,
        progress,
        engine="ssd",
        threads=threads,
        selective=selective,
        static_cache=static_cache,
        trace=True,
    )
    reads = _accesses(result)
    for lists in sorted({read["lists"] for read in reads}):
        own = [read for read in reads if read["lists"] == lists]
        times = [1000 * read["seconds"] for read in own]
        places = [read["offset"] / 2**20 for read in own]
        axes.scatter(times, places, s=2, linewidths=0, label=f"{lists} ({len(own):,} reads)")
    axes.set_xlabel("time, ms")
    axes.set_ylabel("place in the file, MiB")
    axes.set_title(f"{algorithm} on {opened.info()['layout']} order", loc="left")
    if reads:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), markerscale=4)
    return figure


def matrix(
    graph: Graph | str | os.PathLike[str],
    *,
    bins: int = 512,
    memory: int | str | None = None,
    progress: ProgressArgument = None,
) -> Figure:
    """Plot the adjacency matrix in the vertex order of the store.

    Args:
        graph: the graph, or the path of its store.
        bins: number of squares on each side, from 1 to 4,096; darker squares have more edges.
        memory: memory cap; a cap that is too small fails at once, with the smallest that works.
        progress: as for algorithms.

    Returns:
        A matplotlib figure; sources from top to bottom, targets from left to right.

    Raises:
        ParameterError: ``bins`` is out of range.
        UnsupportedError: matplotlib is not installed.
    """
    if not 0 < bins <= 4096:
        raise ParameterError(f"bins={bins!r} cannot work; give 1 to 4096")
    figure, axes = figure_with_axes(5, 5)
    import numpy as np

    opened = graph if isinstance(graph, Graph) else Graph(graph)
    with reporting(progress, "matrix") as sink:
        core = opened._edge_lists(memory=parse_size(memory), sink=sink)
        squares = core.matrix(bins, memory=parse_size(memory), progress=sink)
    counts = np.asarray(squares, dtype=np.float64).reshape(bins, bins)
    axes.imshow(np.log1p(counts), cmap="Greys", interpolation="nearest", aspect="equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(f"{opened.info()['layout']} order", loc="left")
    return figure


def servers(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Plot the plan of :func:`nakshi.cluster.plan`, as in Figures 2.3 to 2.7 of LFGraph's thesis.

    Args:
        rows: a plan, with a row for each number of servers.

    Returns:
        A matplotlib figure with four plots over the number of servers: the values sent per vertex, by
        the equations of four systems and as counted; the in-edges of a server and the values between
        two servers, each as a mean with bars from the least to the greatest; and the ratio of the
        greatest to the mean of both.
    """
    figure, _ = figure_with_axes(10, 7)
    figure.clear()
    sent, edges, pairs, uneven = figure.subplots(2, 2).flat
    numbers = [row["servers"] for row in rows]
    for name, label in _SYSTEMS.items():
        line = "k." if name == "exact" else "-"
        sent.plot(numbers, [row["communication"][name] for row in rows], line, label=label)
    sent.set_title("values sent per vertex", loc="left")
    for axes, name, title in (
        (edges, "computation", "in-edges of a server"),
        (pairs, "pairs", "values between two servers"),
    ):
        spreads = [row[name] for row in rows]
        # A single server has no pairs, so their mean is 0.
        some = [(n, each) for n, each in zip(numbers, spreads, strict=True) if each["mean"]]
        least = [each["mean"] - each["least"] for _, each in some]
        most = [each["greatest"] - each["mean"] for _, each in some]
        at, means = [n for n, _ in some], [each["mean"] for _, each in some]
        axes.errorbar(at, means, yerr=(least, most), fmt="o-", markersize=3, capsize=4)
        axes.set_yscale("log")
        axes.set_title(f"{title}: mean, least to greatest", loc="left")
        ratios = [each["greatest"] / each["mean"] for _, each in some]
        uneven.plot(at, ratios, "o-", markersize=3, label=title)
    uneven.set_ylim(bottom=1)
    uneven.set_title("greatest over mean", loc="left")
    for axes in (sent, uneven):
        axes.legend(frameon=False)
    for axes in (sent, edges, pairs, uneven):
        axes.set_xscale("log", base=2)
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.set_xlabel("servers")
    return figure


def _accesses(result: Any) -> list[dict[str, Any]]:
    import json

    found: list[dict[str, Any]] = json.loads(result.stats()).get("accesses", [])
    return found


def figure_with_axes(width: float, height: float) -> tuple[Figure, Any]:
    """A figure of this size in inches, and its axes."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedError("pictures need matplotlib; run: pip install matplotlib") from None
    # Without pyplot, which would keep every figure and choose a window system.
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()
