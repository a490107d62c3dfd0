"""Commands on stores: ``import``, ``info``, ``check``, ``cost``, ``layout``, ``export``, ``generate``."""

from __future__ import annotations

import os
from typing import Any, get_args

import click

from ..orders import Order
from . import options
from .output import print_json, print_pairs

_COUNT = click.IntRange(1, 2**32 - 1)


@click.command("import")
@click.argument("edges", nargs=-1, required=True, metavar="EDGES...")
@click.argument("store", type=options.STORE)
@click.option(
    "--nodes",
    multiple=True,
    metavar="FILE",
    help="Vertices that may have no edge, one a line; or tables of nodes with properties, "
    "[LABEL=]FILE.",
)
@click.option(
    "--properties/--no-properties",
    default=None,
    help="EDGES, as [TYPE=]FILE, and --nodes are tables with properties and headers; by default if a "
    "table of nodes has more columns than ids, or a file has a TYPE or LABEL.",
)
@options.word(
    "--missing-nodes",
    ["error", "create", "skip"],
    "Ends of edges that no table of nodes has: refuse them (default), make nodes of them, or skip "
    "their edges.",
)
@options.word(
    "--parallel-edges",
    ["keep", "replace", "error"],
    "Rows of one source, type and target in tables with properties: keep all, replace them by the "
    "last, or refuse them; by default equal rows are one edge and all others stay.",
)
@options.word(
    "--id-spaces",
    ["headers", "labels"],
    "Spaces of ids: those that headers name, as :ID(Person) (default), or one for each LABEL.",
)
@click.option("--allow-empty", is_flag=True, help="Make a store also if no edge is read.")
@click.option(
    "--format",
    type=click.Choice(options.FORMATS),
    default="auto",
    help="Format of EDGES; found out by content and name by default.",
)
@click.option(
    "--directed/--undirected",
    default=True,
    help="Whether edges lead one way only (default) or both.",
)
@click.option("--weighted", is_flag=True, help="Read weights from the third column.")
@click.option(
    "--columns",
    metavar="SRC,DST[,W]",
    help="Source, target and weight column, by name or number from 1; of tables with properties also "
    "headers, NAME=:START_ID,NAME=:END_ID,NAME=born:date.",
)
@click.option("--separator", metavar="CHAR", help="Between columns; found out by default.")
@click.option(
    "--header/--no-header", default=None, help="First line has names; found out by default."
)
@options.layout
@options.property_layout
@options.searchable
@options.shards
@click.option("--seed", type=int, help="Of --layout random, bondhu and bisection.")
@options.word(
    "--duplicates",
    ["drop", "keep", "sum"],
    "Edges that occur again [drop]; of tables with properties see --parallel-edges.",
)
@options.choice("--self-loops", ["keep", "drop"], "Edges from a vertex to itself.")
@options.choice("--encoding", ["packed", "raw"], "Of edge lists.")
@options.size("--page-size", "512 to 1MiB; default 4096.")
@options.stripes
@options.scratch
@options.long_call
def import_(
    edges: tuple[str, ...],
    store: str,
    as_json: bool,
    progress: bool | None,
    columns: str | None,
    nodes: tuple[str, ...],
    properties: bool | None,
    separator: str | None,
    **chosen: Any,
) -> None:
    """Import EDGES into a new STORE ("-" is standard input).

    Reads edge lists (CSV, TSV, SNAP, KONECT), adjacency lists, Matrix Market, METIS,
    WebGraph (NAME.graph with NAME.properties), Graphalytics, Parquet and Arrow, also
    compressed with gzip or zstd, and folders that EXPORT DATABASE of Kuzu and Ladybug
    writes, of any size under --memory. Until it is complete nothing appears at STORE.
    """
    from .. import kuzu
    from ..stores import report
    from ..tables import are_tables

    chosen["columns"] = None if columns is None else _columns(columns)
    chosen["separator"] = {"\\t": "\t", "tab": "\t", "space": " "}.get(separator or "", separator)
    by_name: tuple[Any, Any] = _by_name(edges), _by_name(nodes)
    if properties is None:
        # Files with a TYPE or LABEL, an export of Kuzu, or tables with more than ids.
        named = any(name is not None for given in by_name for name in given)
        export = kuzu.folder(edges) is not None
        properties = named or export or any(are_tables(file, None, chosen) for file in nodes)
    if properties:
        given = by_name
    else:
        if len(nodes) > 1:
            raise click.UsageError(
                "--nodes takes one list of ids; several are tables, --properties"
            )
        given = list(edges), nodes[0] if nodes else None
    counts = report(store, *given, chosen, progress, properties=properties)
    if as_json:
        print_json({"store": store, **counts})
    else:
        shown = {k: v for k, v in counts.items() if k not in ("notes", "warnings")}
        print_pairs([("store", store), *_lines(shown)])
    for note in (*counts.get("warnings", ()), *counts.get("notes", ())):
        click.echo(f"nakshi: {note}", err=True)


def _columns(text: str) -> list[str] | dict[str, str]:
    """``SRC,DST[,W]``, or ``NAME=HEADER`` for columns of tables with properties."""
    parts = [part.strip() for part in text.split(",")]
    if not any("=" in part for part in parts):
        return parts
    if not all("=" in part for part in parts):
        raise click.UsageError("--columns takes names, or NAME=HEADER for each of them")
    split = (part.partition("=") for part in parts)
    return {name.strip(): header.strip() for name, _, header in split}


def _by_name(files: tuple[str, ...]) -> dict[str | None, list[str]]:
    """Files of ``NAME=FILE`` by name; those without a name under ``None``."""
    found: dict[str | None, list[str]] = {}
    for file in files:
        name, equals, path = file.partition("=")
        if equals and "/" not in name and not os.path.exists(file):
            found.setdefault(name, []).append(path)
        else:
            found.setdefault(None, []).append(file)
    return found


@click.command()
@click.argument("store", type=options.STORE)
@options.as_json
def info(store: str, as_json: bool) -> None:
    """Show what STORE holds: labels, types of edges, properties, counts, layout and files.

    Labels, types and properties are those after the last commit. Large property files are read
    through a cache. A number of distinct values that a sample estimates is marked "about".
    """
    from ..schema import aligned
    from .queries import open_properties

    graph = open_properties(store)
    schema = graph.schema()
    if as_json:
        print_json({**graph.info(), "schema": schema.to_dict()})
        return
    _show(graph.info(), as_json)
    for table in schema.tables():
        click.echo()
        click.echo("\n".join(aligned(table)))


@click.command()
@click.argument("store", type=options.STORE)
@options.long_call
def check(store: str, as_json: bool, **chosen: Any) -> int:
    """Read all of STORE and verify checksums and structure.

    Exit code 1 if anything is damaged; each problem names its file and page. One thread is used:
    the disk takes the time.
    """
    from ..stores import check as verify

    report = verify(store, **chosen)
    if as_json:
        print_json(report)
    else:
        print_pairs(_lines({k: v for k, v in report.items() if k != "problems"}))
    for problem in report["problems"]:
        click.echo(f"nakshi: {problem}", err=True)
    return 0 if report["ok"] else 1


@click.command()
@click.argument("store", type=options.STORE, metavar="STORE|nakshi://HOST:PORT")
@click.argument("copy", type=click.Path())
@options.token_file
@options.ca
@options.as_json
@options.quiet
def backup(
    store: str,
    copy: str,
    token_file: Any,
    ca: str | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Copy STORE, or that of a server, to COPY, also while another process writes to it.

    Every page is compared with its checksum on the way. A server wants the token of an admin or a server.
    """
    if not store.startswith("nakshi://"):
        from ..stores import backup as copy_store

        _show(copy_store(store, copy, progress=progress), as_json)
        return
    from ..remote import connect

    with connect(store, token=options.token(token_file), ca=ca) as graph:
        _show(graph.backup(copy, progress=progress), as_json)


@click.command()
@click.argument("store", type=options.STORE)
@options.shards
@options.long_call
def compact(store: str, as_json: bool, **chosen: Any) -> None:
    """Make the log of STORE, which has properties, part of its compressed files."""
    from ..graph import Graph

    _show(Graph(store).compact(**chosen), as_json)


@click.command()
@click.argument("store", type=options.STORE)
@click.option("--weight", metavar="COLUMN", help="Edge column for the arrangement; default: 1.")
@options.long_call
def cost(store: str, as_json: bool, **chosen: Any) -> None:
    """Measure the order in which the vertices of STORE lie on disk.

    Linear arrangement (Bondhu), degree-weighted variance (Norder), pages a neighbourhood, and
    what compression makes of the gaps between neighbours.
    """
    from ..graph import Graph

    costs = Graph(store).layout_cost(**chosen)
    if as_json:
        print_json({"store": store, **costs})
    else:
        print_pairs(_lines(costs))


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("new", type=options.STORE)
@options.order(
    "Hubs first, neighbours together, or communities together; auto takes the one of "
    "original, degree, norder and bisection in which sampled searches read fewest pages."
)
@click.option("--seed", type=click.IntRange(0), help="Of auto, random, bondhu, bisection [1].")
@options.word("--by", ["in", "out", "total"], "degree: edges [total].")
@click.option("--depth", type=_COUNT, help="norder: edges that a search follows [2].")
@click.option("--window", type=_COUNT, help="gorder: vertices [lists in a page].")
@click.option(
    "--communities", type=click.IntRange(0, 2**32 - 1), help="bondhu-parcom: how many [V / 1000]."
)
@click.option(
    "--level", type=click.IntRange(0, 2**32 - 1), help="bondhu-modcom: levels of merging [all]."
)
@options.word(
    "--model", ["uniform", "preferential", "overlap"], "bondhu: what edges weigh [uniform]."
)
@options.word("--sides", ["nearer", "alternate"], "bondhu: where the next community goes [nearer].")
@options.other_store("--like", "extend: an earlier store of the graph, whose order stays.")
@click.option("--weight", metavar="COLUMN", help="bondhu, bisection: column with weights.")
@options.size("--page-size", "512 to 1MiB; default: as in STORE.")
@options.word("--encoding", ["packed", "raw"], "Default: as in STORE.")
@options.stripes
@options.long_call
def layout(store: str, new: str, as_json: bool, progress: bool | None, **chosen: Any) -> None:
    """Write STORE once more as NEW, with its vertices in another order.

    Ids, weights, edges and properties stay, and STORE is only read: the graph after its last commit.
    gorder, bondhu and bisection hold the graph in memory, the others a few bytes a vertex; properties
    take what they take on disk.
    """
    from ..graph import Graph

    report = Graph(store)._relayout(new, chosen, progress)
    if as_json:
        print_json({"store": new, **report})
    else:
        print_pairs([("store", new), *_lines(report)])


@click.command("cache-plan")
@click.argument("store", type=options.STORE)
@click.option("--size", default="20%", show_default=True, help="Share of the bytes of all lists.")
@click.option("--iterations", type=_COUNT, help="Of the greedy choice [50].")
@click.option(
    "--select",
    type=click.Choice(["levels", "gvs", "highd", "lowd", "random"]),
    default="levels",
    show_default=True,
    help="Greedy choice by levels of sampled searches or by neighbourhoods (BASC), or by degree or "
    "at random for comparison.",
)
@click.option("--seed", type=click.IntRange(0), help="Of --select levels and random [1].")
@options.other_store(
    "--like", "Take over the plan of OTHER, an earlier store of the same graph, by ids."
)
@options.long_call
def cache_plan(store: str, as_json: bool, **chosen: Any) -> None:
    """Choose edge lists of STORE to keep in memory during traversals.

    The plan is written into the directory of STORE; `nakshi run ... --static-cache` uses it.
    """
    from ..graph import Graph

    report = Graph(store).cache_plan(**chosen)
    if as_json:
        print_json({**report, "path": store})
    else:
        print_pairs(_lines(report))


@click.command()
@click.argument("store", type=options.STORE)
@click.argument("file", type=click.Path(path_type=str))
@click.option(
    "--format",
    type=click.Choice(
        ["auto", "tsv", "csv", "parquet", "arrow", "matrix-market", "metis", "graphalytics"]
    ),
    default="auto",
    help="By the name of FILE by default.",
)
@click.option("--weight", metavar="COLUMN", help="Edge column to write; default: weight.")
@click.option(
    "--nodes",
    metavar="FILE",
    help="Also write all ids, one a line, to this file; of a STORE with properties, a table of nodes.",
)
@click.option(
    "--plain", is_flag=True, help="Of a STORE with properties, the edges alone, each of them once."
)
@click.option(
    "--neo4j",
    is_flag=True,
    help="FILE is a new directory with CSV for Neo4j's importer: nodes and edges in the order of "
    "STORE, with all properties.",
)
@options.word(
    "--layout",
    get_args(Order),
    "--neo4j: in another order, as `nakshi layout --order` takes it.",
)
@click.option("--seed", type=click.IntRange(0), help="Of --layout auto, random, bondhu, bisection.")
@options.other_store("--like", "Of --layout extend.")
@options.long_call
def export(store: str, file: str, as_json: bool, **chosen: Any) -> None:
    """Write the edges of STORE to FILE, in the ids of the import ("-" is standard output).

    FILE may end in .gz or .zst for text formats. One thread is used: the lists are written in
    their order.

    Of a STORE with properties FILE and --nodes are tables, CSV, TSV or Parquet by their names, which
    `nakshi import --properties` reads: all properties after the last commit, with typed headers.

    With --neo4j the command that imports the files in this order is shown, and kept
    as FILE/import.sh.
    """
    from ..stores import export as write

    counts = write(store, file, **chosen)
    if as_json:
        print_json({"store": store, "file": file, **counts})
    elif file != "-":
        print_pairs([("file", file), *_lines(counts)])


@click.command()
@click.argument(
    "kind",
    type=click.Choice(["kronecker", "power-law", "log-normal", "hyperbolic", "path", "grid"]),
)
@click.argument("out", type=click.Path(path_type=str))
@click.option("--scale", type=click.IntRange(1, 48), help="kronecker: 2^scale vertices.")
@click.option("--edge-factor", type=click.IntRange(1), help="kronecker: edges per vertex [16].")
@click.option("--vertices", type=click.IntRange(1), help="All but kronecker: how many.")
@click.option("--edges", type=click.IntRange(0), help="power-law: how many [16 a vertex].")
@click.option("--degree", type=float, help="hyperbolic: mean degree [16].")
@click.option(
    "--exponent", type=float, help="power-law, hyperbolic: of the density of degrees [2.5]."
)
@click.option("--mu", type=float, help="log-normal: mean log-degree [4].")
@click.option("--sigma", type=float, help="log-normal: deviation of the log-degree [1.3].")
@click.option("--cap", type=click.IntRange(1), help="log-normal: largest in-degree [128].")
@click.option("--width", type=click.IntRange(1), help="grid: vertices of a row [a square].")
@click.option("--shuffle", is_flag=True, help="path, grid, hyperbolic: shuffle the ids.")
@click.option("--seed", type=click.IntRange(0), help="[1]")
@click.option(
    "--nodes",
    metavar="FILE",
    help="Tables with properties, by the rules of ZipG: nodes to FILE, edges to OUT.",
)
@click.option("--unique-text", is_flag=True, help="--nodes: no two nodes share a value.")
@options.long_call
def generate(kind: str, out: str, as_json: bool, **parameters: Any) -> None:
    """Write the edges of a graph of KIND to OUT.

    OUT is tab-separated, compressed if it ends in .gz or .zst; "-" is standard output. The same
    seed gives the same graph on any number of threads.
    """
    from ..stores import generate as write

    counts = write(kind, out, **parameters)  # type: ignore[arg-type]
    if as_json:
        print_json({"kind": kind, "file": out, **counts})
    elif out != "-":
        print_pairs([("file", out), *_lines(counts)])


def _show(report: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(report)
    else:
        print_pairs(_lines(report))


def _lines(counts: dict[str, Any]) -> list[tuple[str, Any]]:
    """Flatten nested objects to one line for each value: ``files.out 1,234``."""
    lines: list[tuple[str, Any]] = []
    for name, value in counts.items():
        label = name.replace("_", " ")
        if isinstance(value, dict):
            lines += [(f"{label}: {inner}", entry) for inner, entry in _lines(value)]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for entry in value:
                title = next(iter(entry))
                head = str(entry[title])
                rest = {k: v for k, v in entry.items() if k != title}
                lines.append((f"{label}: {head}", rest))
        else:
            lines.append((label, value))
    return lines
