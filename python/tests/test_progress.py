"""Progress: one bar a phase, totals of what is counted, full at the end; text in a notebook."""

from __future__ import annotations

import sys
import types
import warnings
from pathlib import Path
from typing import Any

import nakshi
import pytest
from nakshi.progress import Bars, NotebookBars, Phases, reporting

from .conftest import ALGORITHMS


class Told:
    """A sink that keeps what it was told, by phase."""

    def __init__(self) -> None:
        self.phases: dict[str, list[tuple[int, int | None, str]]] = {}

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        self.phases.setdefault(phase, []).append((done, total, unit))

    def check(self, call: str) -> None:
        assert self.phases, call
        for phase, told in self.phases.items():
            assert phase and phase == phase.strip(), call
            for done, total, _ in told:
                assert total is None or done <= total, (call, phase, told)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("progress")
    nakshi.generate("kronecker", folder / "e.tsv", scale=13, progress=False)
    nakshi.generate("kronecker", folder / "p.tsv", scale=9, nodes=folder / "n.tsv", progress=False)
    nakshi.build(folder / "g", folder / "e.tsv", directed=False, progress=False)
    return folder


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("engine", ["memory", "ssd"])
def test_totals_of_algorithms(files: Path, algorithm: str, engine: Any) -> None:
    told = Told()
    arguments = {"sources": [0, 1]} if algorithm == "bc" else ALGORITHMS[algorithm]
    nakshi.open(files / "g").run(algorithm, engine=engine, progress=told, **arguments)
    if told.phases:
        told.check(algorithm)


def test_totals_of_files(files: Path, tmp_path: Path) -> None:
    def check(call: str, run: Any) -> None:
        told = Told()
        run(told)
        told.check(call)

    graph = nakshi.open(files / "g")
    check("build", lambda p: nakshi.build(tmp_path / "a", files / "e.tsv", progress=p))
    check(
        "properties",
        lambda p: nakshi.build(
            tmp_path / "b", files / "p.tsv", nodes=files / "n.tsv", properties=True, progress=p
        ),
    )
    check(
        "generate", lambda p: nakshi.generate("kronecker", tmp_path / "x.tsv", scale=10, progress=p)
    )
    check("check", lambda p: nakshi.check(files / "g", progress=p))
    check("export", lambda p: nakshi.export(graph, tmp_path / "e.csv", progress=p))
    check("relayout", lambda p: graph.relayout(tmp_path / "c", "degree", progress=p))
    check("backup", lambda p: nakshi.backup(files / "g", tmp_path / "d", progress=p))


class Drawn(Phases):
    """Keeps the bars of each drawing."""

    def __init__(self) -> None:
        super().__init__("call")
        self._began -= 10
        self.drawings: list[dict[str, tuple[int, int | None]]] = []

    def _draw(self, phases: list[Any]) -> None:
        self.drawings.append({one.name: (one.done, one.total) for one in phases})

    _stop = _draw


def test_one_bar_a_phase() -> None:
    bars = Drawn()
    bars("read", 10, 100, "bytes")
    bars("read", 97, 100, "bytes")
    bars("sort", 3, None, "edges")
    # A total that was too small, then a phase that tells no total.
    bars("write", 12, 10, "edges")
    bars.close()
    # Full at what was done, as of an algorithm that converged before its last iteration.
    assert bars.drawings[2] == {"read": (97, 97), "sort": (3, None)}
    assert bars.drawings[-2] == {"read": (97, 97), "sort": (3, 3), "write": (12, 12)}
    assert bars.drawings[-1] == bars.drawings[-2]


def test_a_failed_call_leaves_its_bar_where_it_was() -> None:
    bars = Drawn()
    bars("read", 10, 100, "bytes")
    bars.close(complete=False)
    assert bars.drawings[-1] == {"read": (10, 100)}


class Handle:
    """A display of a notebook."""

    def __init__(self, shown: list[str], data: dict[str, str]) -> None:
        self.shown = shown
        shown.append(data["text/plain"])

    def update(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """IPython as a notebook has it, without widgets; returns what it shows."""
    shown: list[str] = []
    shell = type("ZMQInteractiveShell", (), {})()
    module: Any = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    module.display = types.SimpleNamespace(
        display=lambda data, raw, display_id: Handle(shown, data)
    )
    monkeypatch.setitem(sys.modules, "IPython", module)
    return shown


def test_notebooks_show_text_without_a_warning(notebook: list[str]) -> None:
    """Seen red with rich's bars: a UserWarning that asks for ipywidgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with reporting(None, "import") as sink:
            assert isinstance(sink, NotebookBars)
            sink._began -= 10
            sink("read", 1 << 20, 4 << 20, "bytes")
            sink("write", 5, None, "edges")
    assert "import: read" in notebook[0] and "1.0 MiB of 4.0 MiB" in notebook[0]
    assert notebook[-1].splitlines()[0].count("█") == notebook[-1].splitlines()[1].count("█") == 30


def test_terminals_have_bars(capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(True, "pagerank") as sink:
        assert isinstance(sink, Bars)
        sink._began -= 10
        sink("pagerank", 3, 20, "iterations")
    assert "3 of 3 iterations" in capsys.readouterr().err
