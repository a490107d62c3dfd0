"""``run`` and ``estimate``, with a subcommand for each algorithm and its options."""

from __future__ import annotations

from typing import Any, get_args

import click

from ..declared import ALIASES, DECLARATIONS, Declaration, Parameter
from ..errors import ParameterError
from ..result import RowFormat
from . import options, similarities, walks
from .output import plain, print_json, print_pairs, print_table, state


def option(parameter: Parameter, required: bool = True, help: str | None = None) -> click.Option:
    """A parameter as an option; an estimate requires none."""
    name = "--" + (parameter.flag or parameter.name).replace("_", "-")
    more: dict[str, Any] = {"required": required and parameter.required}
    default = f" [{parameter.shown_default}]" if parameter.shown_default else ""
    about = f"{parameter.brief}{default}." if help is None else help
    if parameter.kind == "flag":
        more |= {"is_flag": True}
        if parameter.flag is not None:
            about = f"Not: {parameter.brief[:1].lower()}{parameter.brief[1:]}."
    elif parameter.choices is not None:
        words = [choice["name"] for choice in parameter.choices]
        more |= {"type": click.Choice(words)}
    elif parameter.kind == "integer":
        most = None if parameter.greatest is None else int(parameter.greatest)
        more |= {"type": click.IntRange(min=int(parameter.least or 0), max=most)}
    elif parameter.kind == "number":
        more |= {"type": float}
    else:
        metavars = {
            "vertex": "ID",
            "vertices": "ID,ID,...",
            "column": "COLUMN",
            "numbers": "X,X,...",
        }
        more |= {"metavar": metavars[parameter.kind]}
    return click.Option([name], help=about, **more)


class _Algorithms(click.Group):
    """The algorithms as subcommands, in the table's order; aliases work but are not listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = ", ".join(self.commands)
            raise click.UsageError(f"no algorithm {name!r}; choose from {known}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Algorithms, no_args_is_help=False)
def run() -> None:
    """Run an algorithm: nakshi run ALGO STORE.

    Without --out a summary and the ten rows that say most are printed. --out writes one row a
    vertex, ascending by id: .tsv has "id<TAB>value" without a header; .csv, .jsonl, .json, .arrow and
    .parquet have all columns. "--out -" writes the rows alone to standard output, by --format, so
    that another program can read them from a pipe.

    --memory caps what the run adds to the memory of the process; "peak rss" is the most that the
    whole process has had resident.
    """


@click.group(cls=_Algorithms, no_args_is_help=False)
def estimate() -> None:
    """Tell the memory that a run needs: nakshi estimate ALGO STORE.

    Also that of `nakshi layout` (estimate layout STORE), of loading properties (estimate
    properties STORE) and of an import (estimate import).
    """


_SETTINGS = ("engine", "memory", "threads", "timeout", "selective", "static_cache")


#: Endings of files of rows.
_ENDINGS = (".tsv", ".csv", ".jsonl", ".ndjson", ".json", ".arrow", ".parquet")


def _run(
    name: str, store: str, out: str | None, format: str | None, as_json: bool, **chosen: Any
) -> None:
    from ..graph import Graph

    if format is not None and out is None:
        out = "-"
    if out is not None and out != "-" and format is None and not out.endswith(_ENDINGS):
        raise click.UsageError(
            f"--out {out}: name the --format, or let the file end in {', '.join(_ENDINGS)}"
        )
    if out == "-" and as_json:
        raise click.UsageError("--json and rows both go to standard output; give --out a file")
    if out is not None and "per_vertex" in chosen:
        # A file has a row for each vertex.
        chosen["per_vertex"] = True
    graph = Graph(store)
    settings = {key: chosen.pop(key) for key in _SETTINGS}
    settings["progress"] = chosen.pop("progress")
    settings |= _lists(chosen)
    result = graph.run(name, **settings, **_parameters(graph, name, chosen))
    if out is not None:
        result.write(out, format=format)  # type: ignore[arg-type]
    if out == "-":
        return
    stats = result.stats
    if as_json:
        report = {
            "algorithm": name,
            "engine": stats["engine"],
            "threads": stats["threads"],
            "vertices": graph.num_vertices,
            "edges": graph.num_edges,
            **({"topology": stats["topology"]} if "topology" in stats else {}),
            "iterations": stats["iterations"],
            "seconds": stats["seconds"],
            "memory": stats["memory"],
            "io": stats["io"],
            "result": result.summary,
        }
        if result.columns:
            head, rows = result.best(10)
            report["top"] = [dict(zip(head, row)) for row in rows]
        print_json(report)
        return
    _summary(graph, name, result.summary, stats)
    if out is not None:
        click.echo(f"\n{len(result):,} rows in {out}")
    elif result.columns:
        click.echo()
        head, rows = result.best(10)
        print_table(head, [(_id(row[0]), *row[1:]) for row in rows])


def _lists(chosen: dict[str, Any]) -> dict[str, Any]:
    """Options that choose edge lists, as arguments."""
    at = chosen.pop("at").replace("-", "_")
    return {"at": at, "missing_weight": chosen.pop("missing_weight")}


def _id(value: Any) -> str:
    """An id as text, without thousands separators."""
    return str(value) if isinstance(value, int) else plain(value)


def _summary(graph: Any, name: str, summary: dict[str, Any], stats: dict[str, Any]) -> None:
    from ..units import format_size

    seconds, memory, io = stats["seconds"], stats["memory"], stats["io"]
    budget = memory.get("budget")
    found = {key: value for key, value in summary.items() if key != "iterations"}
    if "unused_weights" in found:
        found["unused_weights"] = ", ".join(found["unused_weights"])
    print_pairs(
        [
            ("algorithm", name),
            ("graph", f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges"),
            *([("state", state(stats["topology"]))] if "topology" in stats else []),
            *((key.replace("_", " "), value) for key, value in found.items()),
            ("engine", f"{stats['engine']}, {stats['threads']} threads"),
            ("iterations", stats["iterations"]),
            ("seconds", f"{seconds['run']:.3f} (open {seconds['open']:.3f})"),
            *([("memory cap", format_size(budget))] if budget else []),
            ("peak rss", f"{format_size(memory['peak_rss'])} of the whole process"),
            ("read", f"{format_size(io['bytes_read'])} in {io['requests']:,} requests"),
        ]
    )


def _parameters(graph: Any, name: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """The options that are set, as arguments; ids are of the store's kind."""
    given = {
        key: value for key, value in chosen.items() if value is not None and value is not False
    }
    if given.pop("weighted", False) and not graph.weighted:
        raise ParameterError(
            f"{graph.path} has no weights; import the edges with --weighted, "
            "or leave out --weighted to count every edge as 1"
        )
    for parameter in DECLARATIONS[name].parameters:
        if parameter.flag is not None and given.pop(parameter.flag.replace("-", "_"), False):
            given[parameter.name] = False
        if parameter.kind == "numbers" and parameter.name in given:
            given[parameter.name] = _numbers(parameter.name, given[parameter.name])
        if parameter.kind == "vertices" and parameter.name in given:
            given[parameter.name] = given[parameter.name].split(",")
    return given


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        option = name.replace("_", "-")
        raise click.UsageError(
            f"--{option} {text}: give numbers with commas between them"
        ) from None


def _estimate(name: str, store: str, as_json: bool, threads: int | None, **chosen: Any) -> None:
    from ..graph import Graph

    graph = Graph(store)
    memory = chosen.pop("memory")
    mode = {key: chosen.pop(key) for key in ("selective", "static_cache")}
    mode |= _lists(chosen)
    found = graph.estimate(name, threads=threads, **mode, **_parameters(graph, name, chosen))
    _tell(name, found, memory, as_json)


def _tell(name: str, found: dict[str, Any], memory: int | None, as_json: bool) -> None:
    """Prints an estimate, and whether `memory` is enough."""
    from ..units import format_size

    if memory is not None:
        found["fits"] = memory >= found["minimum"]
        found["engine"] = "memory" if memory >= found["in_memory"] else "ssd"
    if as_json:
        print_json({"algorithm": name, **found})
        return
    lines = [
        ("algorithm", name),
        ("minimum", f"{format_size(found['minimum'])} with the edge lists on the SSD"),
        ("in memory", f"{format_size(found['in_memory'])} with the edge lists loaded"),
    ]
    lines += [(f"  {part}", format_size(size)) for part, size in found["parts"].items()]
    if memory is not None:
        verdict = f"runs with engine {found['engine']}" if found["fits"] else "too little"
        lines.append((format_size(memory), verdict))
    print_pairs(lines)


@estimate.command("layout")
@click.argument("store", type=options.STORE)
@options.order("As in nakshi layout.")
@click.option("--communities", type=int, help="bondhu-parcom: how many.")
@click.option("--like", type=options.STORE, metavar="OTHER", help="extend: an earlier store.")
@options.memory
@options.threads
@options.as_json
def estimate_layout(
    store: str, memory: int | None, threads: int | None, as_json: bool, **chosen: Any
) -> None:
    """Memory that `nakshi layout` needs: for the order, for writing, and for properties."""
    from ..graph import Graph

    _tell("layout", Graph(store).estimate("layout", threads=threads, **chosen), memory, as_json)


@estimate.command("properties")
@click.argument("store", type=options.STORE)
@options.memory
@options.as_json
def estimate_properties(store: str, memory: int | None, as_json: bool) -> None:
    """Memory that the properties need: to be read when they are asked for, and loaded."""
    from ..graph import Graph

    _tell("properties", Graph(store).estimate("properties"), memory, as_json)


@estimate.command("import")
@click.option("--properties", is_flag=True, help="Of tables with properties.")
@options.layout
@options.property_layout
@options.searchable
@options.memory
@options.as_json
def estimate_import(memory: int | None, as_json: bool, **chosen: Any) -> None:
    """Memory that `nakshi import` needs, whatever the size of its input."""
    from ..stores import estimate_import as estimated
    from ..units import format_size

    found: dict[str, Any] = dict(estimated(**chosen))
    if memory is not None:
        found["fits"] = memory >= found["minimum"]
    if as_json:
        print_json({"algorithm": "import", **found})
        return
    lines = [
        ("minimum", f"{format_size(found['minimum'])} for input of any size, sorted on disk"),
        ("default", format_size(found["default"])),
    ]
    if memory is not None:
        lines.append((format_size(memory), "is enough" if found["fits"] else "too little"))
    print_pairs(lines)


def _help(declared: Declaration) -> str:
    return "\n\n".join(text for text in (declared.about, declared.details) if text)


def _add(name: str, declared: Declaration) -> None:
    def running(**chosen: Any) -> None:
        _run(name, **chosen)

    def estimating(**chosen: Any) -> None:
        _estimate(name, **chosen)

    selective = click.option(
        "--selective", is_flag=True, help="Read pages of selected lists only; for experiments."
    )
    static_cache = click.option(
        "--static-cache", is_flag=True, help="Keep the lists of `nakshi cache-plan` in memory."
    )
    for decorate in (
        options.as_json,
        options.quiet,
        selective,
        static_cache,
        options.at,
        options.missing_weight,
        click.option("--timeout", type=float, metavar="SECONDS", help="Stop after this long."),
        options.threads,
        options.memory,
        click.option(
            "--format",
            type=click.Choice(get_args(RowFormat)),
            help="Of the rows; default: by the ending of --out. Alone it means --out -.",
        ),
        click.option(
            "--out", metavar="FILE", help='Write all rows to FILE; "-" is standard output.'
        ),
        click.option(
            "--engine",
            type=click.Choice(["auto", "memory", "ssd"]),
            default="auto",
            help="Where the edge lists are during the run; auto by --memory.",
        ),
    ):
        running = decorate(running)
    for decorate in (
        options.as_json,
        selective,
        static_cache,
        options.at,
        options.missing_weight,
        options.threads,
        options.memory,
    ):
        estimating = decorate(estimating)
    for group, function in ((run, running), (estimate, estimating)):
        command = click.command(name, help=_help(declared))(
            click.argument("store", type=options.STORE)(function)
        )
        command.params[1:1] = [option(parameter, group is run) for parameter in declared.everything]
        group.add_command(command)


for _name, _declared in DECLARATIONS.items():
    _add(_name, _declared)
for _command in (*similarities.commands(), walks.random_walks, walks.node2vec):
    run.add_command(_command)
