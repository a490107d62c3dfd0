"""Plugin of pytest for NetworkX's own tests: which of them called the backend, and how they ended.

A test that falls back to NetworkX passes, too; so a call counts only if a function of the backend
has returned.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx
import pytest
from nakshi.nx import interface
from nakshi.nx.info import NOTES

_running: list[str] = []
_called: set[str] = set()
_outcomes: dict[str, str] = {}


def _name(item: pytest.Item) -> str:
    """The id of a test, from the folder of the package on."""
    path = item.path.relative_to(Path(networkx.__file__).parents[1])
    return f"{path.as_posix()}::{item.nodeid.partition('::')[2]}"


def _noted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        _called.update(_running)
        return result

    return call


def pytest_configure() -> None:
    for name in NOTES:
        setattr(interface, name, _noted(getattr(interface, name)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _running[:] = [_name(item)]
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    name = _name(item)
    if report.failed or report.when == "call":
        _outcomes[name] = "failed" if report.failed else report.outcome
    return report


def pytest_sessionfinish() -> None:
    found = {
        "ran": sorted(name for name in _called if _outcomes.get(name) == "passed"),
        "failed": sorted(name for name, outcome in _outcomes.items() if outcome == "failed"),
    }
    Path(os.environ["NAKSHI_NETWORKX_REPORT"]).write_text(json.dumps(found))
