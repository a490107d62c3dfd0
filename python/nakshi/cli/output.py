"""Output of the commands: one JSON object, or aligned text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from ..units import readable


def print_json(value: Mapping[str, Any]) -> None:
    """One object on one line; NaN and infinities, which JSON lacks, become null."""
    click.echo(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value


def print_pairs(pairs: Iterable[tuple[str, Any]]) -> None:
    """``name  value`` lines, values in one column."""
    rows = [(name, plain(value)) for name, value in pairs]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")


def state(topology: Mapping[str, Any]) -> str:
    """The state of a store with properties that a run was about."""
    if topology["at"] == "last_compaction":
        left = "; changes since then are left out" if topology["stale"] else ""
        return f"last compaction (commit {topology['commit']}){left}"
    took = topology["seconds"]
    made = f", edge lists made in {took:.3f} s" if took else ""
    return f"last commit ({topology['commit']}){made}"


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A small table: text to the left, numbers to the right."""
    cells = [[plain(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    right = [
        bool(rows) and all(isinstance(row[i], (int, float)) or row[i] is None for row in rows)
        for i in range(len(head))
    ]
    for row in [list(head), *cells]:
        line = [
            f"{cell:>{width}}" if aligned else f"{cell:<{width}}"
            for cell, width, aligned in zip(row, widths, right)
        ]
        click.echo("  ".join(line).rstrip())


def plain(value: Any) -> str:
    """A value as readable text: 1,234 and 0.00123; bytes as escaped text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(entry) for entry in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(entry)}" for key, entry in value.items())
    return readable(value)
