"""Stubs, annotations and documentation agree with what is there."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import nakshi
import pytest

ROOT = Path(__file__).parents[2]


def test_stubtest() -> None:
    """mypy's stubtest: the stubs of the compiled half describe exactly what it has."""
    pytest.importorskip("mypy")
    words = [sys.executable, "-m", "mypy.stubtest", "nakshi._core", "--concise"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy() -> None:
    pytest.importorskip("mypy")
    words = [sys.executable, "-m", "mypy", "--no-error-summary"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def public(owner: object) -> list[object]:
    members = [getattr(owner, name) for name in dir(owner) if not name.startswith("_")]
    return [member for member in members if callable(member) or isinstance(member, property)]


@pytest.mark.parametrize("owner", [nakshi, nakshi.Graph, nakshi.Result], ids=str)
def test_everything_is_documented(owner: object) -> None:
    for member in public(owner):
        assert inspect.getdoc(member), member


#: Arguments of every run.
RUN = {"engine", "memory", "threads", "timeout", "selective", "static_cache", "progress"}


def test_algorithms_name_their_arguments() -> None:
    """Seen red with ``**run``: required arguments may stand without a name, all others have one.

    Every argument is in the signature, so that editors and notebooks complete it.
    """
    for name, method in inspect.getmembers(nakshi.Graph, inspect.isfunction):
        signature = inspect.signature(method)
        if signature.return_annotation != "Result" or name == "run":
            continue
        known = list(signature.parameters.values())[1:]
        kinds = {one.kind for one in known}
        assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
        for one in known:
            required = one.default is inspect.Parameter.empty
            assert required == (one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD), (name, one)
        assert {one.name for one in known} >= RUN, name


def test_a_source_may_stand_without_its_name(diamond: nakshi.Graph) -> None:
    assert diamond.bfs("a").to_dict() == diamond.bfs(source="a").to_dict()
    assert diamond.sssp("a", memory="256MiB")["d"] == 6


def test_groups_of_methods_are_told() -> None:
    """The documentation of ``Graph`` has every method and property in one group."""
    told = inspect.getdoc(nakshi.Graph)
    assert told is not None
    groups = told[told.index("Inside:") :]
    for name in dir(nakshi.Graph):
        if not name.startswith(("_", "bench")):
            assert re.search(rf"\b{name}\b", groups), f"the docstring of Graph lacks {name}"
