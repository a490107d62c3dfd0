"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..errors import ParameterError
from ..units import parse_size

F = TypeVar("F", bound=Callable[..., Any])


class Size(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A size in bytes such as ``512MiB``."""

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        try:
            return parse_size(value)
        except ParameterError as error:
            self.fail(str(error), param, ctx)


SIZE = Size()
STORE = click.Path(path_type=str)
#: Of files of edges.
FORMATS = [
    "auto",
    "edge-list",
    "adjacency",
    "in-adjacency",
    "matrix-market",
    "metis",
    "graphalytics",
    "parquet",
    "arrow",
]

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
memory = click.option(
    "--memory",
    type=SIZE,
    metavar="SIZE",
    help="Cap for everything the command keeps in memory, e.g. 512MiB or 1GiB.",
)
threads = click.option(
    "--threads",
    type=click.IntRange(min=1, max=1024),
    metavar="N",
    help="Worker threads; default: all cores that the process may use.",
)
quiet = click.option(
    "--progress/--no-progress",
    default=None,
    help="Draw progress bars; default: only on a terminal.",
)


def long_call(function: F) -> F:
    """``--memory --threads --progress --json``, which every command that works for long has."""
    for option in (as_json, quiet, threads, memory):
        function = option(function)
    return function
