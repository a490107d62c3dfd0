"""``run`` and ``estimate``: one subcommand an algorithm, with its own options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from ..errors import ParameterError
from . import options
from .output import plain, print_json, print_pairs, print_table


@dataclass(frozen=True)
class Option:
    """An option of an algorithm; `run` and `estimate` each make their own of it."""

    name: str
    help: str
    more: dict[str, Any]

    def make(self, required: bool) -> click.Option:
        """The option for click; an estimate requires none."""
        more = dict(self.more)
        more["required"] = required and more.get("required", False)
        return click.Option([self.name], help=self.help, **more)


@dataclass(frozen=True)
class Algorithm:
    """What the command line knows of an algorithm; defaults and meaning are the engine's."""

    about: str
    options: tuple[Option, ...] = ()


def _option(name: str, help: str, **more: Any) -> Option:
    return Option(name, help, more)


_SOURCE = _option("--source", "Vertex to start from.", metavar="ID", required=True)
_SOURCES = (
    _option("--sources", "Vertices to start from.", metavar="ID,ID,..."),
    _option("--sample", "Draw this many at random instead.", type=click.IntRange(min=1)),
    _option("--seed", "Of the draw [0].", type=click.IntRange(min=0)),
)
_PER_VERTEX = _option("--per-vertex", "For every vertex, too; --out implies it.", is_flag=True)
_ITERATIONS = click.IntRange(min=1)


def _variant(*known: str) -> Option:
    about = f"{', '.join(known[:-1])} or {known[-1]} (a vertex program) [{known[0]}]."
    return _option("--variant", about, type=click.Choice(known))


_VARIANT = _variant("direct", "vertex")

ALGORITHMS: dict[str, Algorithm] = {
    "bfs": Algorithm(
        "Breadth-first search: levels, and parents if asked for.",
        (_SOURCE, _option("--parents", "Find parents, too.", is_flag=True), _VARIANT),
    ),
    "pagerank": Algorithm(
        "PageRank, normalised to sum 1.",
        (
            _option("--damping", "Probability of following an edge [0.85].", type=float),
            _option(
                "--iterations", "Exactly this many; with --tolerance at most.", type=_ITERATIONS
            ),
            _option("--tolerance", "Stop when ranks change by less in sum [1e-7].", type=float),
            _variant("pull", "delta", "vertex"),
        ),
    ),
    "wcc": Algorithm("Weakly connected components.", (_VARIANT,)),
    "sssp": Algorithm(
        "Shortest paths by non-negative weights.",
        (
            _SOURCE,
            _option(
                "--weight", "Edge column with the weights; default: the only one.", metavar="COLUMN"
            ),
            _option(
                "--weighted",
                "Fail if the store has no weights (without it, edges then count as 1).",
                is_flag=True,
            ),
            _option("--unit", "Count every edge as 1, whatever its weight.", is_flag=True),
            _option("--delta", "Width of a step in units of the weights.", type=float),
        ),
    ),
    "bc": Algorithm(
        "Betweenness centrality, exact or from some sources.",
        (*_SOURCES, _option("--normalized", "Divide by the number of pairs.", is_flag=True)),
    ),
    "triangles": Algorithm("Triangles, in all and per vertex.", (_PER_VERTEX,)),
    "scan-statistics": Algorithm(
        "Most edges inside a closed neighbourhood.",
        (_PER_VERTEX,),
    ),
    "diameter": Algorithm(
        "Lower bound of the diameter by repeated sweeps.",
        (
            _option("--sweeps", "At most this many [10].", type=_ITERATIONS),
            _option("--source", "Vertex to start from.", metavar="ID"),
            _option("--directed", "Follow the direction of edges.", is_flag=True),
        ),
    ),
    "apsp": Algorithm("Distances from up to 128 sources in one traversal.", _SOURCES),
    "cdlp": Algorithm(
        "Communities by label propagation.",
        (_option("--iterations", "Rounds [10].", type=_ITERATIONS),),
    ),
    "lcc": Algorithm("Local clustering coefficients."),
}
ALIASES = {"betweenness": "bc", "scan_statistics": "scan-statistics"}


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
    """Tell the memory that a run needs: nakshi estimate ALGO STORE."""


_SETTINGS = ("engine", "memory", "threads", "timeout", "selective", "static_cache")


def _run(name: str, store: str, out: str | None, as_json: bool, **chosen: Any) -> None:
    from ..graph import Graph

    if out is not None and not out.endswith((".tsv", ".csv", ".parquet")):
        raise click.UsageError(f"--out {out}: the file must end in .tsv, .csv or .parquet")
    if out is not None and "per_vertex" in chosen:
        chosen["per_vertex"] = True
    graph = Graph(store)
    settings = {key: chosen.pop(key) for key in _SETTINGS}
    settings["progress"] = chosen.pop("progress")
    result = graph.run(name, **settings, **_parameters(graph, chosen))
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
    """An id as it is, without thousands separators."""
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


def _parameters(graph: Any, chosen: dict[str, Any]) -> dict[str, Any]:
    """Options as arguments: ids of the kind that the store has, no unset ones."""
    given = {
        key: value for key, value in chosen.items() if value is not None and value is not False
    }
    if given.pop("weighted", False) and not graph.weighted:
        raise ParameterError(
            f"{graph.path} has no weights; import the edges with --weighted, "
            "or leave out --weighted to count every edge as 1"
        )
    if given.pop("directed", False):
        given["ignore_direction"] = False
    if "sources" in given:
        given["sources"] = given["sources"].split(",")
    return given


def _estimate(name: str, store: str, as_json: bool, threads: int | None, **chosen: Any) -> None:
    from ..graph import Graph
    from ..units import format_size

    graph = Graph(store)
    memory = chosen.pop("memory")
    mode = {key: chosen.pop(key) for key in ("selective", "static_cache")}
    found = graph.estimate(name, threads=threads, **mode, **_parameters(graph, chosen))
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


def _add(name: str, algorithm: Algorithm) -> None:
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
        command = click.command(name, help=algorithm.about)(
            click.argument("store", type=options.STORE)(function)
        )
        command.params[1:1] = [option.make(group is run) for option in algorithm.options]
        group.add_command(command)


for _name, _algorithm in ALGORITHMS.items():
    _add(_name, _algorithm)
