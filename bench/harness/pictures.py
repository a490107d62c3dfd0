"""Bars, lines and points as SVG beside a page of results; the same figures give the same file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def bars(
    out: Path,
    name: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    label: str,
) -> str:
    """Draws grouped bars as SVG and returns the Markdown that shows them."""
    figure, axes = _axes(groups)
    width = 0.8 / max(1, len(series))
    for number, (legend, values) in enumerate(series.items()):
        shift = (number - (len(series) - 1) / 2) * width
        axes.bar([at + shift for at in range(len(groups))], values, width, label=legend)
    return _save(figure, axes, out, name, label, from_zero=True)


def lines(
    out: Path,
    name: str,
    ticks: Sequence[str],
    series: Mapping[str, Sequence[float]],
    label: str,
    *,
    steps: str = "",
    levels: Mapping[str, float] | None = None,
) -> str:
    """Draws lines over named steps as SVG and returns the Markdown that shows them.

    `steps` says what the ticks count; `levels` are dashed across, to compare with.
    """
    figure, axes = _axes(ticks)
    for legend, values in series.items():
        axes.plot(range(len(values)), values, marker="o", label=legend)
    for legend, value in (levels or {}).items():
        axes.axhline(value, linestyle="--", label=legend)
    axes.set_xlabel(steps)
    return _save(figure, axes, out, name, label, from_zero=True)


def spans(
    out: Path,
    name: str,
    ticks: Sequence[str],
    series: Mapping[str, Sequence[tuple[float, float, float]]],
    label: str,
    *,
    steps: str = "",
    log: bool = False,
) -> str:
    """Draws lines of middle values with bars from the least to the greatest, and returns the Markdown
    that shows them; each step has its least, middle and greatest."""
    figure, axes = _axes(ticks)
    for number, (legend, values) in enumerate(series.items()):
        # The shift keeps the bars of several series apart.
        shift = 0.08 * (number - (len(series) - 1) / 2)
        middles = [middle for _, middle, _ in values]
        down = [middle - least for least, middle, _ in values]
        up = [greatest - middle for _, middle, greatest in values]
        at = [step + shift for step in range(len(values))]
        axes.errorbar(at, middles, yerr=(down, up), fmt="o-", markersize=3, capsize=4, label=legend)
    axes.set_xlabel(steps)
    if log:
        axes.set_yscale("log")
    return _save(figure, axes, out, name, label, from_zero=not log)


def points(
    out: Path,
    name: str,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    across: str,
    label: str,
    *,
    log: bool = False,
) -> str:
    """Draws points as SVG and returns the Markdown that shows them."""
    figure, axes = _axes(None)
    for legend, (x, y) in series.items():
        axes.plot(x, y, ".", markersize=2, label=legend)
    axes.set_xlabel(across)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    return _save(figure, axes, out, name, label)


def _axes(ticks: Sequence[str] | None) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("svg")
    # Without a salt the ids in the file are random.
    matplotlib.rcParams["svg.hashsalt"] = "nakshi"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.2), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    if ticks is not None:
        axes.set_xticks(range(len(ticks)), ticks)
    return figure, axes


def _save(
    figure: Any, axes: Any, out: Path, name: str, label: str, *, from_zero: bool = False
) -> str:
    from matplotlib import pyplot

    axes.set_ylabel(label)
    if from_zero:
        axes.set_ylim(bottom=0)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(frameon=False, fontsize="small")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / f"{name}.svg", metadata={"Date": None})
    # pyplot keeps every figure until it is closed.
    pyplot.close(figure)
    return f"![{label}]({name}.svg)"
