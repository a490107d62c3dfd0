"""Progress of long calls: bars in a terminal or notebook, silence in scripts.

A *sink* is any callable ``sink(phase, done, total, unit)``: the phase's name, how much of it is
done, the total (``None`` while unknown) and the unit, such as ``"bytes"``, ``"edges"`` or
``"iterations"``. It is called in the thread of the call, at most ten times a second, and once more with
the last of each phase. An exception that it raises stops the call and reaches the caller.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Sink", "ProgressArgument", "Bars", "NotebookBars", "reporting"]

Sink = Callable[[str, int, int | None, str], None]
ProgressArgument = bool | Sink | None

# Shorter calls draw nothing, because a bar that flashes up cannot be read.
_QUIET_SECONDS = 0.5
#: Characters of a bar in a notebook.
_WIDTH = 30


def interactive() -> bool:
    """True if standard error is a terminal, or this is a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    return in_notebook()


def in_notebook() -> bool:
    """True in a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@dataclass
class Phase:
    """A part of a call that counts by itself.

    Attributes:
        name: its name.
        done: how much of it is done.
        total: of how much; ``None`` while unknown.
        unit: of both.
        began: when it was first told of, by :func:`time.monotonic`.
        seconds: how long it has taken.
    """

    name: str
    done: int
    total: int | None
    unit: str
    began: float
    seconds: float = 0.0

    def end(self) -> None:
        """Fills the bar: the phase is over. What was done is all there was, as where it converged."""
        self.done = self.done or self.total or 1
        self.total = self.done

    @property
    def amount(self) -> str:
        """How much is done, as text."""
        if self.unit == "bytes":
            from .units import format_size

            of = f" of {format_size(self.total)}" if self.total is not None else ""
            return format_size(self.done) + of
        of = f" of {self.total:,}" if self.total is not None else ""
        return f"{self.done:,}{of} {self.unit}".rstrip()


class Phases:
    """A sink that keeps one bar for each phase; subclasses draw them."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._phases: dict[str, Phase] = {}

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        now = time.monotonic()
        known = self._phases.get(phase)
        if known is None:
            for earlier in self._phases.values():
                earlier.end()
            known = self._phases[phase] = Phase(phase, done, total, unit, now)
        # A total that was too small is raised rather than overrun.
        known.done, known.unit, known.seconds = done, unit, now - known.began
        known.total = None if total is None else max(total, done)
        if now - self._began >= _QUIET_SECONDS:
            self._draw(list(self._phases.values()))

    def close(self, *, complete: bool = True) -> None:
        """Stop drawing; what was drawn stays. The bars of a call that succeeded are full."""
        if complete:
            for phase in self._phases.values():
                phase.end()
        self._stop(list(self._phases.values()))

    def _draw(self, phases: list[Phase]) -> None:
        raise NotImplementedError

    def _stop(self, phases: list[Phase]) -> None:
        raise NotImplementedError


class Bars(Phases):
    """Draws one rich bar a phase on standard error; rich is imported at first use."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._display: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def _draw(self, phases: list[Phase]) -> None:
        if self._display is None:
            self._display = _display()
            self._display.start()
        for phase in phases:
            task = self._tasks.get(phase.name)
            if task is None:
                title = f"{self._title}: {phase.name}"
                task = self._display.add_task(title, total=phase.total, amount="")
                self._tasks[phase.name] = task
            self._display.update(task, completed=phase.done, total=phase.total, amount=phase.amount)
        self._display.refresh()

    def _stop(self, phases: list[Phase]) -> None:
        if self._display is not None:
            self._draw(phases)
            self._display.stop()
            self._display = None


class NotebookBars(Phases):
    """Shows one line of text a phase below the cell of a notebook; needs no widgets."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._handle: Any = None

    def _draw(self, phases: list[Phase]) -> None:
        display = sys.modules["IPython"].display
        shown = {"text/plain": "\n".join(self._line(phase) for phase in phases)}
        if self._handle is None:
            self._handle = display.display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def _line(self, phase: Phase) -> str:
        share = 0.0 if not phase.total else phase.done / phase.total
        full = int(share * _WIDTH)
        bar = "█" * full + "░" * (_WIDTH - full)
        return f"{self._title}: {phase.name:<12} {bar} {phase.amount}  {phase.seconds:.0f} s"

    def _stop(self, phases: list[Phase]) -> None:
        if self._handle is not None:
            self._draw(phases)


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


@contextmanager
def reporting(progress: ProgressArgument, title: str) -> Iterator[Sink | None]:
    """The sink of a call.

    ``None`` draws bars in a terminal or a notebook and is silent elsewhere, ``True`` always draws,
    ``False`` never does, and a callable is the sink itself.
    """
    if callable(progress):
        yield progress
    elif progress or (progress is None and interactive()):
        bars = NotebookBars(title) if in_notebook() else Bars(title)
        complete = False
        try:
            yield bars
            complete = True
        finally:
            bars.close(complete=complete)
    else:
        yield None
