"""``run jaccard`` and its kin: a value for each pair of vertices."""

from __future__ import annotations

import re
from typing import Any

import click

from ..errors import ParameterError, StorageError
from ..similarity import MEASURES
from . import options
from .lookups import named
from .output import print_json


def _pairs(path: str) -> list[tuple[str | bytes, str | bytes]]:
    """The pairs of a file, two ids a line."""
    found = []
    try:
        with click.open_file(path, encoding="utf-8", errors="surrogateescape") as file:
            for number, line in enumerate(file, 1):
                ids = re.split(r"[,\s]+", line.strip())
                if ids == [""] or line.startswith("#"):
                    continue
                if len(ids) != 2:
                    raise ParameterError(f"{path}:{number}: {line.strip()!r} is no pair of two ids")
                found.append((named(ids[0]), named(ids[1])))
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None
    return found


def _text(id: str | bytes) -> str:
    return id.decode("utf-8", "replace") if isinstance(id, bytes) else id


def _command(measure: str, about: str) -> click.Command:
    @options.as_json
    @click.option("--timeout", type=float, metavar="SECONDS", help="Stop after this long.")
    @options.threads
    @options.memory
    @click.option(
        "--pairs", required=True, metavar="FILE", help='Two ids a line; "-" is standard input.'
    )
    @click.option(
        "--engine",
        type=click.Choice(["auto", "memory", "ssd"]),
        default="auto",
        help="Where the edge lists are; auto by --memory.",
    )
    @click.argument("store", type=options.STORE)
    def similar(store: str, pairs: str, as_json: bool, **limits: Any) -> None:
        from ..graph import Graph

        asked = _pairs(pairs)
        found = getattr(Graph(store), measure)(asked, **limits).tolist()
        if as_json:
            rows = [
                {"source": source, "target": target, measure: value}
                for (source, target), value in zip(asked, found)
            ]
            print_json({"algorithm": measure, "pairs": rows})
            return
        for (source, target), value in zip(asked, found):
            click.echo(f"{_text(source)}\t{_text(target)}\t{value!r}")

    help = (
        f"Similarity of pairs of vertices: {about}.\n\nPrints both ids and the value of each pair."
    )
    return click.command(measure.replace("_", "-"), help=help)(similar)


def commands() -> list[click.Command]:
    """The measures as subcommands of ``run``."""
    return [_command(measure, about) for measure, about in MEASURES.items()]
