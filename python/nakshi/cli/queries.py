"""Queries of nodes and edges: ``get``, ``neighbors``, ``find``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ..errors import BudgetError, UnsupportedError
from . import lookups, options
from .output import print_json, print_pairs

if TYPE_CHECKING:
    from ..graph import Graph

_WHERE = click.option(
    "--where",
    multiple=True,
    metavar="NAME=VALUE",
    help="Only nodes that meet this condition (see nakshi find); once for each.",
)
#: Default memory of a query for property files; larger files stay on disk.
_MEMORY = 256 << 20
_TYPE = click.option("--type", "edge_type", metavar="TYPE", help="Edges of this type only.")


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("id")
@click.argument("properties", nargs=-1)
@options.memory
@options.as_json
def get(
    store: str, id: str, properties: tuple[str, ...], memory: int | None, as_json: bool
) -> None:
    """Show the PROPERTIES of the node ID of STORE; all of them by default."""
    found = _open(store, memory).get_node_property(id, properties or None)
    if as_json:
        print_json({"id": id, "properties": _plain(found)})
    else:
        print_pairs([(name, _shown(value)) for name, value in found.items()])


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@lookups.direction
@_TYPE
@_WHERE
@click.option("--edges", is_flag=True, help="With times and properties of edges, newest first.")
@options.memory
@options.as_json
def neighbors(
    store: str,
    ids: tuple[str, ...],
    direction: str | None,
    edge_type: str | None,
    where: tuple[str, ...],
    edges: bool,
    memory: int | None,
    as_json: bool,
) -> None:
    """List the destinations of the edges of each node ID of STORE.

    --type, --where and --edges are for the edges from one node of a store with properties.
    """
    from ..graph import Graph

    chosen = edge_type is not None or bool(where) or edges
    if chosen and (direction not in (None, "out") or len(ids) > 1):
        raise click.UsageError("--type, --where and --edges take one ID and --direction out")
    plain = Graph(store)
    if not chosen and (direction or len(ids) > 1 or not plain._core.has_properties):
        lookups.neighbors_of(plain, ids, direction or "out", memory, as_json)
        return
    [id] = ids
    graph = _open(store, memory)
    found = graph._queries.get_neighbor_ids(id, edge_type, _wanted(where), text=True)
    if not edges:
        _list(found, as_json)
        return
    wanted = set(found)
    rows = []
    for record in graph.get_edge_record(id):
        if edge_type is None or record.edge_type == edge_type:
            for place in reversed(range(len(record))):
                edge = graph.get_edge_data(record, place)
                if edge.destination in wanted:
                    rows.append({"type": record.edge_type, **edge._asdict()})
    if as_json:
        print_json({"edges": _plain(rows)})
        return
    for row in rows:
        told = " ".join(f"{name}={_shown(value)}" for name, value in row["properties"].items())
        click.echo(f"{row['type']} {row['destination']} {row['timestamp']} {told}".rstrip())


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("where", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--order-by", metavar="NAME", help="Sort by this property; nodes without it last.")
@click.option("--descending", is_flag=True, help="Begin with the greatest value.")
@click.option("--limit", type=click.IntRange(0), help="Most nodes to list.")
@click.option("--count", is_flag=True, help="Print the number of nodes only.")
@click.option("--count-by", metavar="NAME", help="Count the nodes by the value of this property.")
@options.memory
@options.as_json
def find(
    store: str,
    where: tuple[str, ...],
    order_by: str | None,
    descending: bool,
    limit: int | None,
    count: bool,
    count_by: str | None,
    memory: int | None,
    as_json: bool,
) -> None:
    """List the nodes of STORE that meet all conditions; all nodes without one.

    Conditions are NAME=VALUE, NAME!=VALUE, <, <=, > and >=, NAME~PART for text that contains
    PART, NAME^=PREFIX for text that starts with PREFIX, and !NAME for nodes without the property.
    """
    queries, wanted = _open(store, memory)._queries, _wanted(where)
    if count_by is not None:
        counts = queries.count_nodes_by(wanted, count_by, text=True)
        if as_json:
            print_json({"counts": [{"value": _plain(v), "nodes": n} for v, n in counts]})
        else:
            print_pairs([(_shown(value), f"{nodes:,}") for value, nodes in counts[:limit]])
    elif count:
        nodes = queries.count_nodes(wanted, text=True)
        print_json({"nodes": nodes}) if as_json else click.echo(nodes)
    else:
        found = queries.get_node_ids(
            wanted, text=True, order_by=order_by, descending=descending, limit=limit
        )
        _list(found, as_json)


def open_properties(store: str) -> Graph:
    """A graph for one query, with properties or without."""
    try:
        return _open(store, None)
    except UnsupportedError:
        from ..graph import Graph

        return Graph(store)


def _open(store: str, memory: int | None) -> Graph:
    """Open a graph for one query; large files stay on disk if the layout allows it."""
    from ..graph import Graph

    graph = Graph(store)
    try:
        graph.load_properties(memory=memory or _MEMORY, progress=False)
    except BudgetError:
        if memory is not None:
            raise
        graph.load_properties(progress=False)
    return graph


def _wanted(where: tuple[str, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    """Name and parts of each condition."""
    wanted: list[tuple[str, tuple[Any, ...]]] = []
    for condition in where:
        if condition.startswith("!") and len(condition) > 1:
            wanted.append((condition[1:], ("null",)))
            continue
        found = re.match(r"([^=~<>!^]+)(!=|>=|<=|\^=|[=~<>])(.*)", condition, re.DOTALL)
        if found is None:
            raise click.UsageError(
                f"'{condition}' is no condition; write NAME=VALUE, !=, <, <=, >, >=, NAME~PART, "
                "NAME^=PREFIX, or !NAME for no value"
            )
        name, sign, value = found.groups()
        wanted.append((name, _SIGNS[sign](value)))
    return wanted


#: Conditions by their sign, as in `nakshi.property`.
_SIGNS: dict[str, Callable[[str], tuple[Any, ...]]] = {
    "=": lambda value: ("is", value),
    "!=": lambda value: ("not", ("is", value)),
    "~": lambda value: ("contains", value),
    "^=": lambda value: ("starts", value),
    ">": lambda value: ("range", value, False, None, False),
    ">=": lambda value: ("range", value, True, None, False),
    "<": lambda value: ("range", None, False, value, False),
    "<=": lambda value: ("range", None, False, value, True),
}


def _list(ids: list[Any], as_json: bool) -> None:
    if as_json:
        print_json({"ids": _plain(ids)})
        return
    for id in ids:
        click.echo(_shown(id))


def _plain(value: Any) -> Any:
    """A value for JSON: bytes become text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _shown(value: Any) -> str:
    plain = _plain(value)
    return ";".join(map(str, plain)) if isinstance(plain, list) else str(plain)
