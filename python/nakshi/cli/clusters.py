"""``cluster`` and ``worker``: runs on several servers."""

from __future__ import annotations

import json
import os
from typing import IO, TYPE_CHECKING, Any

import click

from ..declared import DECLARATIONS
from . import options
from .algorithms import option
from .options import TOKEN
from .output import print_json, print_pairs, print_table, state

if TYPE_CHECKING:
    from ..advice import Advice
    from ..declared import Parameter
    from ..edge_file import EdgeFile
    from ..graph import Graph
    from ..result import Result


#: Names of the algorithms that run on several servers.
ALGORITHMS = [name for name, declared in DECLARATIONS.items() if declared.pulls]


@click.group()
def cluster() -> None:
    """Run on several servers: nakshi cluster run ALGO STORE, nakshi cluster plan STORE."""


@cluster.command("run")
@click.argument("algorithm")
@click.argument("store", type=options.STORE, metavar="STORE|EDGES|nakshi://HOST:PORT")
@options.count("--workers", "Placed by Ray, which is joined or started.")
@options.count("--local", "Processes of this machine [2].")
@click.option(
    "--hosts",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Addresses of `nakshi worker`s, one host:port a line.",
)
@options.file(
    "--token-file",
    "With --hosts: the secret that the workers were started with [that of this user]. With nakshi://: the "
    f"token of this client [{TOKEN}].",
)
@options.file("--ca", "With nakshi://: certificates (PEM) by which that of the server is trusted.")
@click.option("--undirected", is_flag=True, help="EDGES lead both ways.")
@click.option(
    "--weighted", is_flag=True, help="EDGES have lengths in their third column, for sssp."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(options.FORMATS),
    help="Of EDGES; found out by content and name by default.",
)
@click.option(
    "--columns", metavar="SRC,DST[,W]", help="Of EDGES: columns by name or number from 1."
)
@click.option("--nodes", metavar="FILE", help="With EDGES: vertices that may have no edge.")
@options.at
@options.missing_weight
@click.option("--out", metavar="FILE", help="Write all rows: .tsv, .csv or .parquet.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Fail after this long.")
@click.option("--deadline", metavar="TIME", help="End before this, as 30s, with the values so far.")
@options.count(
    "--checkpoint-every",
    "Supersteps between checkpoints; without, a run that loses a server begins anew.",
)
@click.option(
    "--checkpoints",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Folder of all servers for them; default: memory of the next server.",
)
@click.option(
    "--restarts",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    help="How often lost servers are replaced.",
)
@click.option(
    "--steps",
    type=click.File("w"),
    metavar="FILE",
    help='Write every superstep as a line of JSON; "-" is standard output.',
)
@options.threads_of("--threads", "Computation workers of each server.")
@options.threads_of("--senders", "Communication workers of each server.")
@options.memory
@options.quiet
@options.as_json
def run_(
    algorithm: str,
    store: str,
    workers: int | None,
    local: int | None,
    hosts: str | None,
    undirected: bool,
    weighted: bool,
    format_: str | None,
    columns: str | None,
    nodes: str | None,
    out: str | None,
    steps: IO[str] | None,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Run ALGORITHM on the graph of STORE, which all servers can read under the same path.

    Or on that of EDGES, a file between whole numbers, which they load by shares without an import; or on
    one that `nakshi serve` serves, by processes of that machine.

    Algorithms and their options are those of ``nakshi run`` with ``--variant pull-program``; ``nakshi
    run ALGORITHM --help`` tells more.
    """
    from ..cluster import is_served, run
    from ..placement import read_hosts

    if out is not None and not out.endswith((".tsv", ".csv", ".parquet")):
        raise click.UsageError(f"--out {out}: the file must end in .tsv, .csv or .parquet")
    chosen |= {"workers": workers, "local": local, "at": chosen["at"].replace("-", "_")}
    chosen["hosts"] = None if hosts is None else read_hosts(hosts)
    given = {
        name: value for name, value in chosen.items() if value is not None and value is not False
    }
    places = {"workers", "local", "hosts"} & given.keys()
    if len(places) > 1:
        raise click.UsageError("--workers, --local and --hosts exclude each other")
    served = is_served(store)
    if served:
        given |= _client(given, steps)
    elif not places:
        given["local"] = 2
    if not served and "token_file" in given and "hosts" not in given:
        raise click.UsageError("--token-file goes with --hosts: others make their own token")

    def watch(told: dict[str, Any]) -> None:
        if steps is not None:
            steps.write(json.dumps(told) + "\n")
            steps.flush()
        if (lost := told.get("recovered")) is not None:
            where = "its beginning" if lost["from"] is None else f"superstep {lost['from']}"
            numbers = ", ".join(str(server) for server in lost["lost"])
            why = f"server {numbers} was lost ({lost['why']}) and replaced"
            click.echo(f"{why}; the run goes on from {where}", err=True)

    if "checkpoints" in given and "checkpoint_every" not in given:
        raise click.UsageError("--checkpoints needs --checkpoint-every, a number of supersteps")
    edges: dict[str, Any] = {
        "directed": False if undirected else None,
        "weighted": weighted or None,
        "format": format_,
        "columns": columns and columns.split(","),
        "nodes": nodes,
    }
    edges = {name: value for name, value in edges.items() if value is not None}
    graph = store if served and not edges else _graph(store, edges)
    result = run(graph, algorithm, watch=None if served else watch, **given)
    if out is not None:
        result.write(out)
    if as_json:
        print_json({"algorithm": algorithm, **result.stats, "result": result.summary})
        return
    _print_run(algorithm, graph, result)
    if out is not None:
        click.echo(f"\n{len(result):,} rows in {out}")
    elif result.columns:
        click.echo()
        print_table(*result.best(10))


def _shared_options() -> list[click.Option]:
    """The parameters of all algorithms that run on servers, each once, with its algorithms."""
    found: dict[str, list[tuple[str, Parameter]]] = {}
    for name in ALGORITHMS:
        for parameter in DECLARATIONS[name].on_servers:
            found.setdefault(parameter.name, []).append((name, parameter))
    made = []
    for same in found.values():
        parameter = same[0][1]
        defaults = [f" [{one.shown_default}]" if one.shown_default else "" for _, one in same]
        whose = ", ".join(f"{name}{text}" for (name, _), text in zip(same, defaults, strict=True))
        made.append(option(parameter, False, f"{parameter.brief}. Of {whose}."))
    return made


run_.params[2:2] = _shared_options()


def _graph(path: str, edges: dict[str, Any]) -> Graph | EdgeFile:
    """A store, or a file of edges with its options."""
    from ..edge_file import EdgeFile
    from ..graph import Graph

    if os.path.isfile(path):
        return EdgeFile(path, **edges)
    graph = Graph(path)
    if edges:
        raise click.UsageError(f"{path} is a store, whose edges are as they were imported")
    return graph


def _client(given: dict[str, Any], steps: IO[str] | None) -> dict[str, Any]:
    """The token of a client of a graph on a server."""
    if steps is not None:
        raise click.UsageError("--steps goes with workers of your own, not with nakshi://")
    token = None if "token_file" in given else os.environ.get(TOKEN)
    return {} if token is None else {"token": token}


def _print_run(algorithm: str, graph: Graph | EdgeFile | str, result: Result) -> None:
    from ..edge_file import EdgeFile

    if isinstance(graph, (EdgeFile, str)):
        count = f", {len(result):,} vertices" if result.columns else ""
        name = f"{os.fspath(graph if isinstance(graph, str) else graph.path)}{count}"
    else:
        name = f"{graph.num_vertices:,} vertices, {graph.num_edges:,} edges"
    stats = result.stats
    servers = stats["servers"]
    done = servers["steps"]
    print_pairs(
        [
            ("algorithm", algorithm),
            ("graph", name),
            *([("state", state(stats["topology"]))] if "topology" in stats else []),
            *((key.replace("_", " "), value) for key, value in result.summary.items()),
            ("servers", f"{len(done)} with {stats['threads']} threads"),
            ("supersteps", stats["iterations"]),
            *([("servers lost", lost)] if (lost := len(servers["recoveries"])) else []),
            ("seconds", f"{servers['run']:.3f} (load {servers['load']:.3f})"),
            ("values sent", sum(step["sent"] for server in done for step in server)),
        ]
    )


def _numbers(text: str) -> list[int]:
    """Numbers of servers: ``2,4``, or ``2..256`` in powers of two."""
    if ".." not in text:
        return [int(number) for number in text.split(",")]
    low, high = (int(number) for number in text.split(".."))
    numbers = []
    while 0 < low <= high:
        numbers.append(low)
        low *= 2
    return numbers


@cluster.command("plan")
@click.argument("store", type=options.STORE)
@click.option(
    "--servers", default="2..256", show_default=True, help="2,4,8 or 2..256 (doubled each time)."
)
@click.option("--value-bytes", default=8, show_default=True, help="Of a vertex's value.")
@options.size("--memory-per-server", "What a server has; fewer than fit are not recommended.")
@options.size("--bandwidth", "Into a server, in a second, for the recommendation [1GB].")
@click.option(
    "--edge-rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="In-edges that a server computes in a second, for the recommendation [2.5e8].",
)
@click.option(
    "--plot", "picture", metavar="FILE", help="Draw it too: .svg, .png or .pdf; needs matplotlib."
)
@options.long_call
def plan_(
    store: str,
    servers: str,
    value_bytes: int,
    as_json: bool,
    picture: str | None,
    memory_per_server: int | None,
    bandwidth: int | None,
    edge_rate: float | None,
    **chosen: Any,
) -> None:
    """Predict the messages and memory of STORE's graph on so many servers, and recommend a number.

    Values per vertex and iteration in which all change, by the equations of Pregel, GraphLab,
    PowerGraph and LFGraph, and counted for the hash that is used; imbalance is the greatest over the
    mean. The time of a superstep is an estimate: in-edges and bytes of the busiest server by the two
    rates, and 1 ms.
    """
    from ..cluster import plan, recommend

    try:
        numbers = _numbers(servers)
    except ValueError:
        raise click.UsageError(f"--servers {servers}: write 2,4,8 or 2..256") from None
    if picture is not None and not picture.endswith((".svg", ".png", ".pdf")):
        raise click.UsageError(f"--plot {picture}: the file must end in .svg, .png or .pdf")
    rows = plan(store, numbers, value_bytes=value_bytes, **chosen)
    rates = {"bandwidth": bandwidth, "edge_rate": edge_rate}
    given: dict[str, Any] = {name: rate for name, rate in rates.items() if rate is not None}
    advice = recommend(rows, memory_per_server=memory_per_server, value_bytes=value_bytes, **given)
    if as_json:
        print_json({"store": store, "plan": rows, "recommended": advice.to_dict()})
    else:
        _print_plan(rows, advice)
    if picture is not None:
        from ..plot import servers as draw

        draw(rows).savefig(picture)
        if not as_json:
            click.echo(picture)


def _print_plan(rows: list[dict[str, Any]], advice: Advice) -> None:
    from ..units import format_size

    head = ["servers", "Pregel", "GraphLab", "PowerGraph", "LFGraph", "exact"]
    head += ["imbalance, edges", "pairs", "memory", "superstep, ms"]

    def imbalance(spread: dict[str, float]) -> str:
        return f"{spread['greatest'] / spread['mean']:.3f}" if spread["mean"] else "1.000"

    names = ("pregel", "graphlab", "powergraph", "lfgraph", "exact")
    shown = [
        [
            row["servers"],
            *(f"{row['communication'][name]:.3f}" for name in names),
            imbalance(row["computation"]),
            imbalance(row["pairs"]),
            format_size(int(row["memory"]["greatest"])),
            f"{1000 * advice.seconds[row['servers']]:.3g}",
        ]
        for row in rows
    ]
    print_table(head, shown)
    count = "none" if advice.servers is None else f"{advice.servers} servers"
    click.echo(f"\nrecommended  {count}: {advice.why}")


@click.command()
@click.option(
    "--listen", default="127.0.0.1:7077", show_default=True, metavar="HOST:PORT", help="Where."
)
@click.option("--once", is_flag=True, help="End after one run.")
@click.option("--until-eof", is_flag=True, help="End with the standard input.")
@options.file(
    "--token-file",
    'A secret of 16 bytes or more that front-ends know; "-" is a line of the standard input.',
)
@click.option(
    "--allow",
    type=click.Path(),
    multiple=True,
    metavar="DIR",
    help="Folder of stores, edges and checkpoints; repeat it for several [the working directory].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
def worker(
    listen: str,
    once: bool,
    until_eof: bool,
    token_file: str | None,
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Be a server of a cluster: wait for `nakshi cluster run --hosts`.

    Whoever knows the token can run algorithms on stores and files below the folders that are allowed,
    write checkpoints there, and send programs in Python, which run with the rights of this user. Make a token with `openssl rand -hex 32 > FILE`, for all workers of a run
    and its front-end. Without --token-file it is that of this user, which is made where it is missing, and
    the worker listens on this machine only. The token never crosses the network; what follows the
    greeting is not encrypted: listen on a network of your own only.
    """
    from ..cluster import serve_and_tell

    def ready(address: str, file: str | None) -> None:
        if as_json:
            print_json({"address": address} | ({"token_file": file} if file else {}))
        else:
            click.echo(f"listening at {address}" + (f", with the token in {file}" if file else ""))

    serve_and_tell(listen, ready, once, until_eof, None, token_file, allow)
