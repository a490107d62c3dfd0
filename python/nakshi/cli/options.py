"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import click

from ..errors import ParameterError
from ..formats import Format
from ..orders import Layout, Order, PropertyLayout
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
#: Names of the formats of edge files.
FORMATS = get_args(Format)


def size(flag: str, help: str) -> Callable[[F], F]:
    """An option that takes a size in bytes."""
    return click.option(flag, type=SIZE, metavar="SIZE", help=help)


def count(flag: str, help: str) -> Callable[[F], F]:
    """An option that takes a number from 1 on."""
    return click.option(flag, type=click.IntRange(min=1), metavar="N", help=help)


def word(flag: str, words: Sequence[str], help: str) -> Callable[[F], F]:
    """An option that takes one of `words`."""
    return click.option(flag, type=click.Choice(words), help=help)


def file(flag: str, help: str) -> Callable[[F], F]:
    """An option that takes a file."""
    return click.option(flag, type=click.Path(), metavar="FILE", help=help)


def folder(flag: str, help: str) -> Callable[[F], F]:
    """An option that takes a folder that is there."""
    taken = click.Path(exists=True, file_okay=False)
    return click.option(flag, type=taken, metavar="DIR", help=help)


def other_store(flag: str, help: str) -> Callable[[F], F]:
    """An option that takes another store."""
    return click.option(flag, type=STORE, metavar="OTHER", help=help)


def order(help: str) -> Callable[[F], F]:
    """The option `--order` of commands about vertex orders."""
    return click.option(
        "--order",
        type=click.Choice(get_args(Order)),
        default="auto",
        show_default=True,
        help=help,
    )


#: Variable with the token of a client.
TOKEN = "NAKSHI_TOKEN"
token_file = click.option(
    "--token-file",
    type=click.File(),
    metavar="FILE",
    help=f"The token of this client; else the variable {TOKEN}.",
)
ca = file(
    "--ca", "Certificates (PEM) by which that of the server is trusted, for encrypted connections."
)


def token(given: Any) -> str | None:
    """The token of a client: from the file of ``--token-file``, or from the environment."""
    return os.environ.get(TOKEN) if given is None else given.read().strip()


#: Options of an import that its estimate takes, too.
layout = click.option(
    "--layout",
    type=click.Choice([*get_args(Layout), *get_args(PropertyLayout)]),
    default="auto",
    help="Order of the vertices on disk; auto takes degree or original, by a sample. "
    "Names of --property-layout mean that.",
)
property_layout = word(
    "--property-layout",
    get_args(PropertyLayout),
    "With --properties: in columns (default), as ZipG's text, or in blocks, for data far "
    "larger than memory.",
)
searchable = click.option(
    "--searchable",
    multiple=True,
    metavar="NAME",
    help="--properties: find parts of this property (nakshi find STORE NAME~PART) without reading all "
    "its values; once for each.",
)
shards = click.option(
    "--shards",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Shards of a store with properties, which searches of all nodes go through in parallel; by "
    "default one for each core, at most 64, and in a compaction as many as STORE has.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
memory = size("--memory", "Cap for everything the command keeps in memory, e.g. 512MiB or 1GiB.")
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
at = click.option(
    "--at",
    type=click.Choice(["last-commit", "last-compaction"]),
    default="last-commit",
    help="State of a store with properties. Its edge lists are those of the last compaction; for "
    "last-commit (default) they are brought up to date first.",
)
missing_weight = click.option(
    "--missing-weight",
    type=float,
    metavar="NUMBER",
    help="Weight of edges without the property that --weight names; refused by default.",
)
stripes = click.option(
    "--stripe",
    "stripes",
    multiple=True,
    type=click.Path(path_type=str),
    metavar="DIR",
    help="Spread edge lists over these directories, one a disk; once for each.",
)


scratch = click.option(
    "--scratch",
    type=click.Path(path_type=str),
    metavar="DIR",
    help="Put temporary files into this directory; by default they are beside STORE.",
)


def choice(flag: str, words: Sequence[str], help: str) -> Callable[[F], F]:
    """An option that takes one of `words`, by default the first."""
    kind = click.Choice(words)
    return click.option(flag, type=kind, default=words[0], show_default=True, help=help)


def threads_of(flag: str, help: str) -> Callable[[F], F]:
    """An option that takes a number of threads, by default 1."""
    kind = click.IntRange(min=1, max=1024)
    return click.option(flag, type=kind, default=1, show_default=True, help=help)


def long_call(function: F) -> F:
    """``--memory --threads --progress --json``, the options of every long command."""
    for option in (as_json, quiet, threads, memory):
        function = option(function)
    return function
