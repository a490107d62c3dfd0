"""``degree``, ``path``, ``subgraph``: vertices of any store, looked up by their ids."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..units import readable
from . import options
from .output import print_json, print_pairs

if TYPE_CHECKING:
    from ..graph import Graph

#: The edges of a vertex that a look-up follows.
direction = options.word(
    "--direction", ["out", "in", "both"], "Along edges [out], against them, or both."
)


def named(text: str) -> str | bytes:
    """An id as the shell gave it: text, or bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text)
    return text


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@direction
@options.memory
@options.threads
@options.as_json
def degree(
    store: str,
    ids: tuple[str, ...],
    direction: str | None,
    memory: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Show the number of neighbours of each ID of STORE."""
    found = _open(store).degree(
        [named(id) for id in ids],
        direction or "out",  # type: ignore[arg-type]
        memory=memory,
        threads=threads,
    )
    if as_json:
        rows = [{"id": id, "degree": int(count)} for id, count in zip(ids, found)]
        print_json({"degrees": rows})
        return
    for id, count in zip(ids, found):
        click.echo(f"{id}\t{count}")


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("source")
@click.argument("target")
@click.option("--weight", metavar="NAME", help="Edge column or property with the lengths.")
@click.option(
    "--paths",
    type=click.IntRange(1),
    metavar="K",
    help="The K shortest paths, each after its length.",
)
@click.option(
    "--potential",
    metavar="NAME",
    help="Node property with lower bounds of the way that is left (A*).",
)
@options.missing_weight
@options.memory
@options.threads
@options.as_json
def path(
    store: str,
    source: str,
    target: str,
    weight: str | None,
    paths: int | None,
    potential: str | None,
    missing_weight: float | None,
    memory: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Show a shortest path of STORE from SOURCE to TARGET, a vertex a line.

    Ends with exit code 1 if there is no path.
    """
    ends = named(source), named(target)
    limits: dict[str, Any] = {"memory": memory, "threads": threads}
    if missing_weight is not None:
        limits["missing_weight"] = missing_weight
    if paths is not None:
        if potential is not None:
            raise click.UsageError("--potential is for one path; leave out --paths")
        _print_paths(_open(store).shortest_paths(*ends, paths, weight, **limits), ends, as_json)
        return
    length: float | None = None
    if potential is not None:
        ids, length = _open(store).guided_path(*ends, potential, weight, **limits)
    elif weight is None:
        ids = _open(store).shortest_path(*ends, **limits)
        length = None if ids is None else len(ids) - 1
    else:
        ids, length = _open(store).shortest_path(*ends, weight, **limits)
    if as_json:
        print_json({"path": ids, "length": length if ids is not None else None})
        if ids is None:
            click.get_current_context().exit(1)
        return
    if ids is None:
        raise click.ClickException(f"there is no path from {source} to {target}")
    for id in ids:
        click.echo(id)
    click.echo(f"{readable(length)} {'edges' if weight is None else weight}", err=True)


def _print_paths(
    found: list[tuple[list[Any], float]], ends: tuple[Any, Any], as_json: bool
) -> None:
    if as_json:
        print_json({"paths": [{"path": ids, "length": length} for ids, length in found]})
    if not found:
        if as_json:
            click.get_current_context().exit(1)
        raise click.ClickException(f"there is no path from {ends[0]} to {ends[1]}")
    if not as_json:
        for ids, length in found:
            click.echo("\t".join([readable(length), *map(str, ids)]))


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("ids", nargs=-1, metavar="ID...")
@click.option(
    "--ids", "file", type=click.File("r"), metavar="FILE", help="File of ids, one a line ('-')."
)
@click.option(
    "--radius",
    type=click.IntRange(0),
    metavar="N",
    help="The vertices within N edges of the one ID instead.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="--radius: N vertices at most.")
@direction
@click.option("--weight", metavar="NAME", help="Edge column or property with the weights.")
@options.missing_weight
@click.option(
    "--out",
    type=click.Path(path_type=str),
    metavar="NEW",
    help="New store to write; without it the edges are printed.",
)
@options.memory
@options.threads
@options.as_json
def subgraph(
    store: str,
    ids: tuple[str, ...],
    file: Any,
    radius: int | None,
    limit: int | None,
    direction: Any,
    weight: str | None,
    missing_weight: float | None,
    out: str | None,
    memory: int | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Cut the graph of some vertices and the edges between them out of STORE.

    Prints the edges, or writes a new store with --out.
    """
    wanted = [named(id) for id in ids]
    if file is not None:
        wanted += [named(line.rstrip("\n")) for line in file if line.rstrip("\n")]
    if not wanted:
        raise click.UsageError("no ids; give some, or --ids FILE")
    if radius is None and (direction is not None or limit is not None):
        raise click.UsageError("--direction and --limit are for --radius")
    if radius is not None and len(wanted) > 1:
        raise click.UsageError("--radius takes one ID")
    limits: dict[str, Any] = {"memory": memory, "threads": threads}
    limits |= {"weight": weight, "missing_weight": missing_weight}
    if radius is None:
        graph = _open(store).subgraph(wanted, out, **limits)
    else:
        graph = _open(store).ego(wanted[0], radius, limit, direction or "out", out, **limits)
    with graph:
        counts = {"vertices": graph.num_vertices, "edges": graph.num_edges}
        if as_json:
            print_json({"store": out, **counts})
        elif out is not None:
            print_pairs([("store", out), *counts.items()])
        else:
            columns = [
                part.tolist() for part in graph.edges(weight=next(iter(graph.weights), None))
            ]
            for row in zip(*columns):
                click.echo("\t".join(map(str, row)))


def neighbors_of(
    graph: Graph,
    ids: tuple[str, ...],
    direction: str,
    memory: int | None,
    as_json: bool,
) -> None:
    """Print the neighbours of vertices: of one a line each, of several after their vertex."""
    offsets, targets = graph.neighbors(
        [named(id) for id in ids],
        direction,  # type: ignore[arg-type]
        memory=memory,
    )
    ends, all_ids = offsets.tolist(), targets.tolist()
    lists = [all_ids[begin:end] for begin, end in zip(ends, ends[1:])]
    if as_json:
        if len(ids) == 1:
            print_json({"ids": lists[0]})
        else:
            rows = [{"id": id, "neighbors": found} for id, found in zip(ids, lists)]
            print_json({"neighbors": rows})
        return
    for id, found in zip(ids, lists):
        for neighbor in found:
            click.echo(neighbor if len(ids) == 1 else f"{id}\t{neighbor}")


def _open(store: str) -> Graph:
    from ..graph import Graph

    return Graph(store)
