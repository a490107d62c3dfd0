"""``run`` and ``estimate``, with a subcommand for each algorithm and its options."""

from __future__ import annotations

from typing import Any

import click

from ..declared import ALIASES, DECLARATIONS, Declaration, Parameter
from ..errors import ParameterError
from . import options
from .output import plain, print_json, print_pairs, print_table


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
        metavars = {"vertex": "ID", "vertices": "ID,ID,...", "column": "COLUMN"}
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
    vertex, ascending by id: .tsv has "id<TAB>value" without a header, .csv and .parquet have
    all columns.
    """


@click.group(cls=_Algorithms, no_args_is_help=False)
def estimate() -> None:
    """Estimate the memory that a run needs: nakshi estimate ALGO STORE."""


_SETTINGS = ("engine", "memory", "threads", "timeout", "selective", "static_cache")


def _run(name: str, store: str, out: str | None, as_json: bool, **chosen: Any) -> None:
    from ..graph import Graph

    if out is not None and not out.endswith((".tsv", ".csv", ".parquet")):
        raise click.UsageError(f"--out {out}: the file must end in .tsv, .csv or .parquet")
    if out is not None and "per_vertex" in chosen:
        # A file has a row for each vertex.
        chosen["per_vertex"] = True
    graph = Graph(store)
    settings = {key: chosen.pop(key) for key in _SETTINGS}
    settings["progress"] = chosen.pop("progress")
    result = graph.run(name, **settings, **_parameters(graph, name, chosen))
    if out is not None:
        result.write(out)
    stats = result.stats
    if as_json:
        report = {
            "algorithm": name,
            "engine": stats["engine"],
            "threads": stats["threads"],
            "vertices": graph.num_vertices,
            "edges": graph.num_edges,
            "iterations": stats["iterations"],
            "seconds": stats["seconds"],
            "memory": stats["memory"],
            "io": stats["io"],
            "result": result.summary,
        }
        print_json(report)
        return
    _summary(graph, name, result.summary, stats)
    if out is not None:
        click.echo(f"\n{len(result):,} rows in {out}")
    elif result.columns:
        click.echo()
        head, rows = result.best(10)
        print_table(head, [(_id(row[0]), *row[1:]) for row in rows])


def _id(value: Any) -> str:
    """An id as text, without thousands separators."""
    return str(value) if isinstance(value, int) else plain(value)


def _summary(graph: Any, name: str, summary: dict[str, Any], stats: dict[str, Any]) -> None:
    from ..units import format_size

    seconds, memory, io = stats["seconds"], stats["memory"], stats["io"]
    budget = memory.get("budget")
    found = {key: value for key, value in summary.items() if key != "iterations"}
    limit = f" of {format_size(budget)}" if budget else ""
    print_pairs(
        [
            ("algorithm", name),
            ("graph", f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges"),
            *((key.replace("_", " "), value) for key, value in found.items()),
            ("engine", f"{stats['engine']}, {stats['threads']} threads"),
            ("iterations", stats["iterations"]),
            ("seconds", f"{seconds['run']:.3f} (open {seconds['open']:.3f})"),
            ("memory", f"{format_size(memory['peak_rss'])}{limit}"),
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
    if "sources" in given:
        given["sources"] = given["sources"].split(",")
    return given


def _estimate(name: str, store: str, as_json: bool, threads: int | None, **chosen: Any) -> None:
    from ..graph import Graph
    from ..units import format_size

    graph = Graph(store)
    memory = chosen.pop("memory")
    mode = {key: chosen.pop(key) for key in ("selective", "static_cache")}
    found = graph.estimate(name, threads=threads, **mode, **_parameters(graph, name, chosen))
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
        click.option("--timeout", type=float, metavar="SECONDS", help="Stop after this long."),
        options.threads,
        options.memory,
        click.option("--out", metavar="FILE", help="Write all rows: .tsv, .csv or .parquet."),
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
