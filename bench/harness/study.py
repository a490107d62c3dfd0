"""A page of results: the options of its program, its parts, and the sections that they write."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from . import tables

ROOT = Path(__file__).resolve().parents[2]
Own = TypeVar("Own", bound="Study")


def parser(
    text: str | None,
    *,
    threads: int | None = 2,
    runs: int | None = None,
    repeated: bool = True,
    parts: Iterable[str] = (),
) -> argparse.ArgumentParser:
    """The options that benchmarks share.

    Args:
        text: docstring of the program, whose first line describes it.
        threads: default of ``--threads``; ``None`` leaves the option out.
        runs: default of ``--runs``; ``None`` chooses by the time of a run (``measure.repeats``).
        repeated: whether there is ``--runs``.
        parts: names for ``--only``, which selects parts of the page.
    """
    made = argparse.ArgumentParser(description=(text or " ").splitlines()[0])
    if threads is not None:
        made.add_argument("--threads", type=int, default=threads, help="default: %(default)s")
    if repeated:
        usual = f"medians of so many; default: {runs}"
        chosen = "default: 5, 3 where one takes over 20 s"
        made.add_argument("--runs", type=int, default=runs, help=usual if runs else chosen)
    names = list(parts)
    if names:
        made.set_defaults(parts=names)
        made.add_argument(
            "--only", "--parts", help=f"of {','.join(names)}, separated by commas; default: all"
        )
    made.add_argument("--work", type=Path, default=ROOT / "target" / "bench", help="for data")
    made.add_argument("--out", type=Path, default=ROOT / "docs" / "results", help="for pages")
    return made


def options(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Reads the command line. Folders exist afterwards, paths are absolute, ``only`` is a list."""
    chosen = parser.parse_args()
    if getattr(chosen, "only", None):
        chosen.only = chosen.only.split(",")
        unknown = set(chosen.only) - set(chosen.parts)
        if unknown:
            parser.error(f"no part is called {', '.join(sorted(unknown))}")
    for name, value in vars(chosen).items():
        if isinstance(value, Path):
            setattr(chosen, name, value.resolve())
    for folder in (chosen.work, chosen.out):
        folder.mkdir(parents=True, exist_ok=True)
    return chosen


def medians(runs: int | None) -> str:
    """Condition of a page: the number of runs behind each figure."""
    if runs:
        return f"medians of {runs} run(s)"
    return "medians of 5 runs, of 3 where one takes over 20 s"


class Study:
    """The page that a program writes.

    Attributes:
        name: name of the page's file, and the beginning of its pictures' names.
        options: the command line.
        command: the command line as the page shows it.
    """

    def __init__(
        self, name: str, title: str, options: argparse.Namespace, conditions: Sequence[str]
    ) -> None:
        self.name, self.options = name, options
        self.command = tables.invocation()
        told = [medians(options.runs)] if hasattr(options, "runs") else []
        self.page = tables.Page(title, self.command, [*conditions, *told])

    def section(
        self, title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], *notes: str
    ) -> None:
        """Adds one table under its heading."""
        self.page.section(title, self.command, tables.table(head, rows), notes)

    def picture(self, draw: Callable[..., str], name: str, *values: Any, **how: Any) -> None:
        """Adds a picture below the last section, by one of the functions of ``pictures``."""
        self.page.parts.append(draw(self.options.out, f"{self.name}-{name}", *values, **how))

    def write(self, keep: str = "") -> None:
        """Writes the page; sections of ``keep`` that it does not have stay."""
        self.page.write(self.options.out / f"{self.name}.md", keep=keep)

    def measure(self: Own, parts: Mapping[str, Callable[[Own], None]]) -> None:
        """Measures the parts that were asked for, and writes the page after each.

        The page keeps the sections of the other parts. What was measured before a failure is not lost.
        """
        path = self.options.out / f"{self.name}.md"
        wanted = [name for name in parts if name in (self.options.only or parts)]
        keep = path.read_text() if path.exists() and set(wanted) != set(parts) else ""
        for name in wanted:
            began = time.perf_counter()
            try:
                parts[name](self)
            finally:
                if self.page.sections:
                    self.write(keep)
            print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
