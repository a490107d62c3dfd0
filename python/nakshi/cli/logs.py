"""Commands on the log of a store with properties: ``log`` and ``apply``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

import click

from ..errors import InputError
from . import options
from .output import print_json, print_pairs


@click.command()
@click.argument("store", type=options.STORE)
@click.option(
    "--since",
    type=click.IntRange(0),
    metavar="COMMIT",
    help="Commits behind this number only; by default all that no compaction has moved.",
)
def log(store: str, since: int | None) -> None:
    """Print the commits in the log of STORE, which has properties, as lines of JSON.

    Each line is one commit: its number, the transaction that made it, and its changes. `nakshi apply`
    makes the same commits in another store that began as a copy of STORE.
    """
    from ..graph import Graph

    for entry in Graph(store).log(since):
        click.echo(json.dumps(entry, ensure_ascii=False))


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@options.as_json
def apply(store: str, file: IO[str], as_json: bool) -> None:
    """Make the commits of FILE, lines as `nakshi log` prints them, in STORE.

    FILE is standard input by default. Commits that STORE has already are skipped, so the command can be
    repeated.
    """
    from ..graph import Graph

    report = Graph(store).apply(_entries(file))
    if as_json:
        print_json({"store": store, **report})
    else:
        print_pairs(report.items())


def _entries(file: IO[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{file.name}:{number}: no JSON: {error}") from None
