"""Queries of nodes and edges: ``get``, ``neighbors``, ``find``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ..edge_data import EdgeData
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
    found = open_graph(store, memory).get_node_property(id, properties or None)
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
    graph = open_graph(store, memory)
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
                    rows.append(_edge(record.edge_type, edge))
    _list_edges(rows, as_json)


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("where", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--edges", is_flag=True, help="Find edges, by their properties, in place of nodes.")
@_TYPE
@click.option("--order-by", metavar="NAME", help="Sort by this property; what lacks it comes last.")
@click.option("--descending", is_flag=True, help="Begin with the greatest value.")
@click.option("--limit", type=click.IntRange(0), help="Most nodes or edges to list.")
@click.option("--count", is_flag=True, help="Print their number only.")
@click.option("--count-by", metavar="NAME", help="Count them by the value of this property.")
@options.memory
@options.as_json
def find(
    store: str,
    where: tuple[str, ...],
    edges: bool,
    edge_type: str | None,
    order_by: str | None,
    descending: bool,
    limit: int | None,
    count: bool,
    count_by: str | None,
    memory: int | None,
    as_json: bool,
) -> None:
    """List the nodes of STORE that meet all conditions, or with --edges the edges.

    Conditions are NAME=VALUE, NAME!=VALUE, <, <=, > and >=, NAME~PART for text that contains
    PART, NAME^=PREFIX for text that starts with PREFIX, and !NAME for nodes without the property.
    'NAME in (A,B)' takes any of some values, 'NAME notin (A,B)' none of them, and 'C1 or C2' joins
    conditions on one property: 'age<18 or age>=65'.
    """
    queries, wanted = open_graph(store, memory)._queries, _wanted(where)
    order: dict[str, Any] = {"order_by": order_by, "descending": descending, "limit": limit}
    if edge_type is not None and not edges:
        raise click.UsageError("--type is a type of edges; it goes with --edges")
    of = "edges" if edges else "nodes"
    if count_by is not None:
        if edges:
            counts = queries.count_edges_by(edge_type, wanted, count_by, text=True)
        else:
            counts = queries.count_nodes_by(wanted, count_by, text=True)
        if as_json:
            print_json({"counts": [{"value": _plain(v), of: n} for v, n in counts]})
        else:
            print_pairs([(_shown(value), f"{number:,}") for value, number in counts[:limit]])
    elif count:
        if edges:
            number = queries.count_edges(edge_type, wanted, text=True)
        else:
            number = queries.count_nodes(wanted, text=True)
        print_json({of: number}) if as_json else click.echo(number)
    elif edges:
        rows = [
            {"source": source, **_edge(ty, EdgeData(*edge))}
            for source, ty, edge in queries.find_edges(edge_type, wanted, text=True, **order)
        ]
        _list_edges(rows, as_json)
    else:
        _list(queries.get_node_ids(wanted, text=True, **order), as_json)


def open_properties(store: str) -> Graph:
    """A graph for one query, with properties or without."""
    try:
        return open_graph(store, None)
    except UnsupportedError:
        from ..graph import Graph

        return Graph(store)


def open_graph(store: str, memory: int | None) -> Graph:
    """Open a graph for queries; large files stay on disk if the layout allows it."""
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
    return [_joined(text) for text in where]


def _joined(text: str) -> tuple[str, tuple[Any, ...]]:
    """Name and parts of a condition, or of several on one property that ``or`` joins.

    An ``or`` joins only what reads as a condition: in ``title=trick or treat`` it is part of the value.
    """
    pieces = re.split(r"\s+or\s+", text)
    alternatives = [pieces[0]]
    for piece in pieces[1:]:
        if _condition(piece) is None:
            alternatives[-1] += f" or {piece}"
        else:
            alternatives.append(piece)
    parsed = [_condition(one) or _refuse(one) for one in alternatives]
    names = dict.fromkeys(name for name, _ in parsed)
    if len(names) > 1:
        raise click.UsageError(
            f"'{text}' joins conditions on {' and '.join(names)}; 'or' is for conditions on one property"
        )
    name, parts = parsed[0]
    return name, parts if len(parsed) == 1 else ("or", *(one for _, one in parsed))


def _condition(text: str) -> tuple[str, tuple[Any, ...]] | None:
    """Name and parts of one condition; ``None`` if the text is none."""
    if text.startswith("!") and len(text) > 1 and re.search(r"[=~<>^]", text) is None:
        return text[1:], ("null",)
    found = re.fullmatch(r"(\S+)\s+(in|notin)\s*\((.*)\)", text, re.DOTALL)
    if found is not None:
        name, sign, values = found.groups()
        some = ("in", *(value.strip() for value in values.split(",")))
        return name, some if sign == "in" else ("not", some)
    found = re.match(r"([^=~<>!^]+)(!=|>=|<=|\^=|[=~<>])(.*)", text, re.DOTALL)
    if found is None:
        return None
    name, sign, value = found.groups()
    return name, _SIGNS[sign](value)


def _refuse(text: str) -> NoReturn:
    raise click.UsageError(
        f"'{text}' is no condition; write NAME=VALUE, !=, <, <=, >, >=, NAME~PART, NAME^=PREFIX, "
        "'NAME in (A,B)', or !NAME for no value"
    )


#: Conditions by their sign, as in `nakshi.conditions`.
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


def _edge(ty: str, edge: EdgeData) -> dict[str, Any]:
    return {"type": ty, **edge._asdict()}


def _list_edges(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json({"edges": _plain(rows)})
        return
    for row in rows:
        words = [_shown(value) for name, value in row.items() if name != "properties"]
        words += [f"{name}={_shown(value)}" for name, value in row["properties"].items()]
        click.echo(" ".join(words))


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
