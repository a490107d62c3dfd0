"""Stubs, annotations and documentation agree with what is there."""

from __future__ import annotations

import inspect
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


def test_algorithms_take_keywords_only() -> None:
    for name, method in inspect.getmembers(nakshi.Graph, inspect.isfunction):
        returns = inspect.signature(method).return_annotation
        if returns == "Result" and name != "run":
            kinds = [p.kind for p in inspect.signature(method).parameters.values()][1:]
            assert inspect.Parameter.POSITIONAL_OR_KEYWORD not in kinds, name
