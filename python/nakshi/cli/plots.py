"""``plot``: plots of a store's layout on disk."""

from __future__ import annotations

from typing import Any

import click

from . import options


@click.group()
def plot() -> None:
    """Plot the layout of a store: nakshi plot matrix STORE, nakshi plot access STORE.

    Pictures are PNG, SVG or PDF by the name of --out, and need matplotlib.
    """


_out = click.option(
    "--out", default="nakshi.png", show_default=True, metavar="FILE", help="Where the picture goes."
)


@plot.command("matrix")
@click.argument("store", type=options.STORE)
@_out
@click.option("--bins", default=512, show_default=True, help="Squares a side, 1 to 4096.")
@options.memory
@options.quiet
def plot_matrix(store: str, out: str, **chosen: Any) -> None:
    """Plot the adjacency matrix of STORE in the order of its layout."""
    from ..plot import matrix

    matrix(store, **chosen).savefig(out)
    click.echo(out)


@plot.command("access")
@click.argument("store", type=options.STORE)
@_out
@click.option("--algorithm", default="bfs", show_default=True, help="As in nakshi run.")
@click.option("--source", help="Where a search starts, for algorithms that need it.")
@click.option(
    "--selective/--whole", default=True, help="Read selected pages only (default), or as usual."
)
@click.option("--static-cache", is_flag=True, help="Keep the lists of `nakshi cache-plan`.")
@options.memory
@options.threads
@options.quiet
def plot_access(store: str, out: str, source: str | None, **chosen: Any) -> None:
    """Plot the file offsets of the reads of a run on STORE against time."""
    from ..plot import access

    if source is not None:
        chosen["source"] = source
    access(store, **chosen).savefig(out)
    click.echo(out)
