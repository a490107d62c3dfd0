"""``run random-walks`` and ``run node2vec``: a line for each walk, or for each vertex."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from . import options
from .lookups import named

Command = Callable[..., None]


def _with(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def decorate(command: Command) -> Command:
        for one in reversed(decorators):
            command = one(command)
        return command

    return decorate


_count = click.IntRange(min=1)
_biases = _with(
    click.argument("store", type=options.STORE),
    click.option("--walks", type=_count, default=10, show_default=True, help="Walks of a vertex."),
    click.option(
        "--length", type=_count, default=80, show_default=True, help="Vertices of a walk."
    ),
    click.option("--p", type=float, default=1.0, show_default=True, help="Against steps back."),
    click.option("--q", type=float, default=1.0, show_default=True, help="Against steps far away."),
    click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the draws."),
    click.option("--out", default="-", metavar="FILE", help="File of the lines [standard output]."),
    click.option(
        "--engine",
        type=click.Choice(["auto", "memory", "ssd"]),
        default="auto",
        help="Where the edge lists are; auto by --memory.",
    ),
    options.memory,
    options.threads,
    click.option("--timeout", type=float, metavar="SECONDS", help="Stop after this long."),
)


def _write(out: str, rows: Iterable[Iterable[Any]]) -> None:
    with click.open_file(out, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows)


@click.command("random-walks")
@_biases
@click.option("--starts", metavar="ID,ID,...", help="Vertices to start from [all].")
def random_walks(store: str, starts: str | None, out: str, **chosen: Any) -> None:
    """Walk along random edges: the ids of each walk, a walk a line."""
    from ..graph import Graph

    ids = None if starts is None else [named(id) for id in starts.split(",")]
    _write(out, Graph(store).random_walks(ids, **chosen).tolist())


@click.command()
@_biases
@click.option("--dimensions", type=_count, default=128, show_default=True, help="Of a vector.")
@click.option("--window", type=_count, default=10, show_default=True, help="Steps that are near.")
@click.option("--epochs", type=_count, default=1, show_default=True, help="Passes over the walks.")
def node2vec(store: str, out: str, **chosen: Any) -> None:
    """Find vectors of vertices by node2vec: id and numbers, a vertex a line. Needs gensim."""
    from ..graph import Graph

    ids, vectors = Graph(store).node2vec(**chosen)
    _write(out, ([id, *vector] for id, vector in zip(ids.tolist(), vectors.tolist())))
