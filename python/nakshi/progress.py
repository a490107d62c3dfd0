"""Progress of long calls: bars in a terminal or notebook, silence in scripts.

A *sink* is any callable ``sink(phase, done, total, unit)``: the phase's name, how much of it is
done, the total (``None`` while unknown) and the unit, such as ``"bytes"``, ``"edges"`` or
``"iterations"``. It is called in the thread of the call, at most ten times a second. An exception
that it raises stops the call and reaches the caller.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Sink", "ProgressArgument", "Bars", "reporting"]

Sink = Callable[[str, int, int | None, str], None]
ProgressArgument = bool | Sink | None

# Shorter calls draw nothing, because a bar that flashes up cannot be read.
_QUIET_SECONDS = 0.5


def interactive() -> bool:
    """True if standard error is a terminal, or this is a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class Bars:
    """A sink that draws a rich bar for each phase on standard error; imports rich at first use."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._display: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        if self._display is None:
            if time.monotonic() - self._began < _QUIET_SECONDS:
                return
            self._display = _display()
            self._display.start()
        task = self._tasks.get(phase)
        if task is None:
            for earlier in self._tasks.values():
                self._finish(earlier)
            task = self._display.add_task(f"{self._title}: {phase}", total=total, amount="")
            self._tasks[phase] = task
        self._display.update(
            task, completed=done, total=total, amount=_amount(done, total, unit), refresh=True
        )

    def _finish(self, task: TaskID) -> None:
        assert self._display is not None
        entry = next(entry for entry in self._display.tasks if entry.id == task)
        done = entry.total if entry.total is not None else max(entry.completed, 1)
        self._display.update(task, completed=done, total=done)

    def close(self) -> None:
        """Stop drawing; what was drawn stays."""
        if self._display is not None:
            self._display.stop()
            self._display = None


def _display() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        # Bars are drawn by the thread that calls the sink. A thread of rich's own might not start
        # under a limit on processes, and a fork would have to survive it.
        auto_refresh=False,
    )


def _amount(done: int, total: int | None, unit: str) -> str:
    if unit == "bytes":
        from .units import format_size

        return format_size(done) + (f" of {format_size(total)}" if total is not None else "")
    return f"{done:,}" + (f" of {total:,}" if total is not None else "") + f" {unit}"


@contextmanager
def reporting(progress: ProgressArgument, title: str) -> Iterator[Sink | None]:
    """The sink of a call.

    ``None`` draws bars in a terminal or a notebook and is silent elsewhere, ``True`` always draws,
    ``False`` never does, and a callable is the sink itself.
    """
    if callable(progress):
        yield progress
    elif progress or (progress is None and interactive()):
        bars = Bars(title)
        try:
            yield bars
        finally:
            bars.close()
    else:
        yield None
