"""Pages of Markdown tables, each with the command that made it."""

from __future__ import annotations

import datetime
import shlex
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import measure


def seconds(value: float | None) -> str:
    """Seconds with three significant digits."""
    return "" if value is None else f"{value:.3g}"


def size(value: float | None) -> str:
    """Bytes in kB, MB or GB, with three significant digits."""
    if value is None:
        return ""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def ratio(value: float | None) -> str:
    """A ratio such as ``1.25x``."""
    return "" if value is None else f"{value:.2f}x"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table in Markdown: first column to the left, the others to the right."""
    lines = [
        "| " + " | ".join(head) + " |",
        "| " + " | ".join(["---"] + ["---:"] * (len(head) - 1)) + " |",
    ]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def wrapped(page: str) -> str:
    """The page with its prose at 100 columns, as `cargo xtask tidy` asks; tables stay as they are."""
    lines: list[str] = []
    for line in page.splitlines():
        prose = not line.startswith(("|", "#", "![", "<"))
        if not prose or len(line) <= 100:
            lines.append(line)
            continue
        indent = "  " if line.startswith("- ") else ""
        lines += textwrap.wrap(
            line,
            100,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines) + "\n"


def invocation() -> str:
    """The command line of this program, with ``DIR`` for each folder of this machine."""
    program = Path(sys.argv[0]).resolve()
    root = Path(__file__).resolve().parents[2]
    words = ["DIR" if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return shlex.join([str(program.relative_to(root)), *words])


class Page:
    """A page of results: every section names its command and its conditions."""

    def __init__(self, title: str, command: str, conditions: Sequence[str]) -> None:
        today = datetime.date.today().isoformat()
        self.parts = [
            f"# {title}",
            f"Written by `{command}` on {today}; not edited by hand.",
            "\n".join(f"- {line}" for line in [f"machine: {measure.machine()}", *conditions]),
        ]
        self.sections = 0

    def section(self, heading: str, command: str, body: str, notes: Sequence[str] = ()) -> None:
        """Adds a table under its heading, with its command and with notes."""
        self.sections += 1
        self.parts += [f"## {heading}", f"Command: `{command}`", body]
        if notes:
            self.parts.append("\n".join(f"- {note}" for note in notes))

    def write(self, path: Path, *, keep: str = "") -> None:
        """Writes the page. Sections of the page ``keep`` stay unless the page has one of the same heading."""
        path.parent.mkdir(parents=True, exist_ok=True)
        head, *own = wrapped("\n\n".join(self.parts)).rstrip().split("\n\n## ")
        sections = keep.rstrip().split("\n\n## ")[1:]
        place = 0
        for section in own:
            headings = [kept.partition("\n")[0] for kept in sections]
            heading = section.partition("\n")[0]
            if heading in headings:
                place = headings.index(heading)
                sections[place] = section
            else:
                sections.insert(place, section)
            place += 1
        path.write_text("\n\n## ".join([head, *sections]) + "\n")
        print(f"wrote {path}")
