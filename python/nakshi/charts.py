"""Pictures of results: degrees, ranks, sizes of components, vertices by distance. Needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from .errors import ParameterError
from .plot import figure_with_axes

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from .result import Result

__all__ = ["Chart", "draw"]

Chart = Literal["distribution", "rank", "sizes", "hops"]
"""Kind of a chart; see :meth:`nakshi.Result.plot`."""

_COLOR = "#1f5c7a"
_SECOND = "#c8553d"

#: The chart of a column that is not of the kind that its values suggest.
_BY_COLUMN: dict[str, Chart] = {
    "degree": "distribution",
    "rank": "rank",
    "betweenness": "rank",
    "level": "hops",
    "component": "sizes",
    "label": "sizes",
    "color": "sizes",
    "member": "sizes",
    "articulation_point": "sizes",
}


def draw(result: Result, kind: Chart | None, column: str | None) -> Figure:
    """The chart of one column of a result."""
    name = result._name(column)
    chosen = kind or chart_of(name)
    charts = {"distribution": _distribution, "rank": _rank, "sizes": _sizes, "hops": _hops}
    if chosen not in charts:
        raise ParameterError(f"kind={kind!r} is not known; choose {', '.join(charts)}")
    values = _present(result, name, labels=chosen == "sizes")
    if not len(values):
        raise ParameterError(f"no vertex has a value in {name!r}; there is nothing to draw")
    figure, axes = figure_with_axes(5.6, 3.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    charts[chosen](axes, values, name)
    title = f"{result.algorithm}, {len(result):,} vertices"
    axes.set_title(title, loc="left", fontsize="medium")
    return figure


def chart_of(column: str) -> Chart:
    """The chart that says most about a column of this name."""
    if column.startswith("distance"):
        return "hops"
    return _BY_COLUMN.get(column, "distribution")


def _present(result: Result, name: str, *, labels: bool) -> np.ndarray:
    """Values that are there; numbers unless they are `labels`."""
    values, missing = result._values(name)
    if missing is not None:
        values = values[~missing]
    if values.dtype == object and not labels:
        raise ParameterError(f"the column {name!r} holds vertices; draw it with kind='sizes'")
    return values


def _distribution(axes: Any, values: np.ndarray, name: str) -> None:
    """Share of vertices with at least each value: a straight line for a power law."""
    import numpy as np

    found, counts = np.unique(values, return_counts=True)
    at_least = counts[::-1].cumsum()[::-1] / len(values)
    zeros = int(counts[found <= 0].sum())
    shown = found > 0
    axes.plot(found[shown], at_least[shown], ".", color=_COLOR, markersize=4)
    if values.dtype.kind in "iu":
        _log_or_linear(axes, found[shown], "x")
        _log_or_linear(axes, at_least[shown], "y")
    axes.set_xlabel(name.replace("_", " "))
    axes.set_ylabel("share of vertices with at least that")
    if zeros:
        note = f"{zeros:,} vertices have {'0' if (found[found <= 0] == 0).all() else 'at most 0'}"
        _note(axes, note)


def _rank(axes: Any, values: np.ndarray, name: str) -> None:
    """Values in descending order against their place."""
    import numpy as np

    ordered = np.sort(values)[::-1]
    shown = ordered[ordered > 0]
    # Places evenly spaced on the logarithmic axis are enough for a picture.
    places = np.unique(np.geomspace(1, max(len(shown), 1), 4000).astype(np.int64))
    places = places[places <= len(shown)]
    axes.plot(places, shown[places - 1], "-", color=_COLOR, linewidth=1.4)
    axes.plot(places[:20], shown[places[:20] - 1], ".", color=_COLOR, markersize=4)
    _log_or_linear(axes, places, "x")
    _log_or_linear(axes, shown, "y")
    axes.set_xlabel("place of the vertex, the largest first")
    axes.set_ylabel(name.replace("_", " "))
    if len(shown) < len(ordered):
        _note(axes, f"{len(ordered) - len(shown):,} vertices have 0")


def _sizes(axes: Any, values: np.ndarray, name: str) -> None:
    """How many labels have how many vertices."""
    import numpy as np

    if values.dtype == object:
        values = np.asarray([str(value) for value in values])
    members = np.unique(values, return_counts=True)[1]
    sizes, counts = np.unique(members, return_counts=True)
    axes.vlines(sizes, 0.6, counts, color=_COLOR, linewidth=0.8, alpha=0.5)
    axes.plot(sizes, counts, "o", color=_COLOR, markersize=4)
    if len(sizes) > 1 or sizes[0] > 1:
        axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.6)
    axes.set_xlabel(f"vertices of a {name.replace('_', ' ')}")
    axes.set_ylabel("how many have that size")
    largest = members.max()
    share = largest / len(values)
    _note(axes, f"{len(members):,} in all, the largest has {largest:,} vertices ({share:.0%})")


def _hops(axes: Any, values: np.ndarray, name: str) -> None:
    """Vertices at each distance, and within it."""
    import numpy as np

    whole = values.dtype.kind in "iu" or bool((values == np.floor(values)).all())
    if whole and values.max() < 200:
        steps = np.arange(int(values.min()), int(values.max()) + 1)
        counts = np.bincount(values.astype(np.int64), minlength=steps[-1] + 1)[steps[0] :]
        width = 0.8
    else:
        counts, edges = np.histogram(values, bins=40)
        steps, width = (edges[:-1] + edges[1:]) / 2, (edges[1] - edges[0]) * 0.9
    axes.bar(steps, counts, width=width, color=_COLOR, alpha=0.85)
    axes.set_xlabel(f"{name.replace('_', ' ')} from the source")
    axes.set_ylabel("vertices", color=_COLOR)
    axes.grid(axis="x", visible=False)
    within = axes.twinx()
    within.spines[["top"]].set_visible(False)
    within.plot(steps, counts.cumsum() / counts.sum(), "o-", color=_SECOND, markersize=3)
    within.set_ylim(0, 1.05)
    within.set_ylabel("share of the reached within it", color=_SECOND)
    if whole and len(steps) <= 25:
        axes.set_xticks(steps)


def _log_or_linear(axes: Any, values: np.ndarray, axis: str) -> None:
    """A logarithmic axis where values span more than a factor of ten."""
    if len(values) and values.min() > 0 and values.max() > 10 * values.min():
        getattr(axes, f"set_{axis}scale")("log")


def _note(axes: Any, text: str) -> None:
    axes.text(0.98, 0.97, text, transform=axes.transAxes, ha="right", va="top", color="0.35")
