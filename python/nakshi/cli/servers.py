"""``serve`` and ``status``: servers of graphs with properties."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import click

from ..units import format_size
from . import options
from .output import print_json, print_pairs

#: Seconds for another server to tell its state.
_WORD = 2.0


@click.command()
@click.argument("store", type=options.STORE)
@click.option(
    "--listen",
    default="127.0.0.1:7480",
    show_default=True,
    metavar="HOST:PORT",
    help="Where clients connect; with port 0 the system chooses one.",
)
@click.option(
    "--local",
    type=click.IntRange(min=1, max=15),
    metavar="N",
    help="Start N servers on this machine, with copies of STORE in STORE/servers, that agree on every "
    "commit: to try out what --hosts does.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=15),
    metavar="N",
    help="Have Ray, which is joined or started, place N servers on its nodes, with copies of STORE in "
    "STORE/servers there, that agree on every commit. Ray starts one again that is killed.",
)
@options.file(
    "--hosts",
    "Be one of several servers: FILE has their addresses, one HOST:PORT a line, that of --listen among "
    "them. Each serves a copy (nakshi backup) of the same store.",
)
@options.file(
    "--ca",
    "Certificates (PEM) by which the servers of --hosts trust each other, if they have certificates.",
)
@click.option(
    "--replicas",
    type=click.IntRange(min=1),
    metavar="R",
    help="The first three servers have the whole graph. The others share it, so that R of them have each "
    "share [all have the whole graph].",
)
@click.option(
    "--fetch",
    is_flag=True,
    help="With --hosts: if STORE is not there, copy it from another of the servers, and go on with that.",
)
@options.size("--keep-log", "Of commits for servers that lag behind, in memory [64MiB].")
@click.option("--until-eof", is_flag=True, help="End with the standard input.")
@click.option(
    "--bolt",
    metavar="HOST:PORT",
    help="Where drivers of Neo4j connect, by Bolt, to ask in Cypher.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Show metrics for Prometheus there, at /metrics; only for this machine.",
)
@click.option(
    "--read-only", is_flag=True, help="Refuse changes, and read those of the process that writes."
)
@options.folder("--csv-folder", "Folder that LOAD CSV may read from [none].")
@options.file(
    "--certificate",
    "Certificate (PEM) of this server, for encrypted connections; with --key.",
)
@options.file("--key", "Its private key (PEM).")
@options.file(
    "--tokens",
    "Whom to answer: a line for each token, `reader TOKEN`, `writer TOKEN`, `admin TOKEN` or "
    "`server TOKEN`; for the owner's eyes only (chmod 600).",
)
@options.file(
    "--users",
    "Users with passwords, for Bolt: a line for each, as nakshi add-user writes it; for the owner's eyes "
    "only (chmod 600).",
)
@click.option(
    "--audit-log",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Append a line of JSON to FILE for each login, change and ended transaction: who, from where, when. "
    "Changes are refused while FILE cannot be written.",
)
@click.option(
    "--slow-log",
    type=click.FloatRange(min=0),
    metavar="MILLISECONDS",
    help="Tell of statements in Cypher that take so long, in the lines on standard error.",
)
@click.option(
    "--log-parameters",
    is_flag=True,
    help="Write the parameters of statements into both, too.",
)
@options.memory
@options.count("--max-calls", "Calls and transactions at the same time [512].")
@options.count("--max-rows", "Rows of an answer [1000000].")
@options.size("--max-memory", "That a statement in Cypher may take [256MiB].")
@options.size("--max-request", "Of a request, such as one commit [16MiB].")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    metavar="SECONDS",
    help="For a call [60].",
)
@click.option(
    "--plain-runs",
    is_flag=True,
    help="With --certificate and --replicas: let algorithms run on the servers of all shares, whose workers send "
    "each other ids and values without encryption [they run on the server that is asked].",
)
@options.word("--log", ["text", "json"], "Lines on standard error [text].")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
def serve(
    store: str,
    listen: str,
    local: int | None,
    workers: int | None,
    hosts: str | None,
    replicas: int | None,
    until_eof: bool,
    certificate: str | None,
    key: str | None,
    slow_log: float | None,
    max_calls: int | None,
    max_rows: int | None,
    max_memory: int | None,
    max_request: int | None,
    timeout: float | None,
    log: str | None,
    as_json: bool,
    **others: Any,
) -> None:
    """Serve STORE, a graph with properties, by gRPC (nakshi.connect) and to drivers of Neo4j.

    Prints one line, `ready nakshi://HOST:PORT`, when it answers. Ends at Ctrl-C and SIGTERM, when its
    running calls have ended, at most ten seconds later. An address that other machines can reach needs
    --certificate, --key and --tokens.

    Of several servers (--local, --workers, --hosts), a majority must run. A commit is on the disks of a majority when
    it is acknowledged.
    """
    from ..placement import read_hosts
    from ..processes import end_with_input

    if (certificate is None) != (key is None):
        raise click.UsageError("--certificate and --key belong together")
    serve_graph = _of_server("serve_graph")

    ready = partial(_ready, as_json)
    if others["fetch"] and hosts is None:
        raise click.UsageError("--fetch goes with --hosts")
    if local is not None or workers is not None:
        sys.exit(_serve_several(click.get_current_context(), ready))
    if replicas is not None and hosts is None:
        raise click.UsageError("--replicas goes with --local, --workers or --hosts")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if until_eof:
        end_with_input()
    with suppress(KeyboardInterrupt):
        serve_graph(
            store,
            listen,
            ready,
            json_logs=log == "json",
            certificate=None if certificate is None or key is None else (certificate, key),
            slow_log=None if slow_log is None else slow_log / 1000,
            runner=[sys.executable, "-m", "nakshi.served_run"],
            worker=[sys.executable, "-m", "nakshi.served_worker"],
            hosts=None if hosts is None else read_hosts(hosts, removed=True),
            replicas=replicas,
            calls=max_calls,
            rows=max_rows,
            statement_bytes=max_memory,
            request_bytes=max_request,
            time=timeout,
            **others,
        )


def _of_server(name: str) -> Any:
    """A function of the core that only builds with a server have."""
    from .. import _core
    from ..errors import UnsupportedError

    if not hasattr(_core, name):
        raise UnsupportedError("this build of nakshi has no server; run `make build`")
    return getattr(_core, name)


def _serve_several(
    context: click.Context, ready: Callable[[str, str | None, str | None], None]
) -> int:
    """Serve by several servers that this process, or Ray, starts. Returns the exit code."""
    from ..served_by_ray import RayServers
    from ..serving import LocalServers

    given = context.params
    store, listen, replicas = (given[name] for name in ("store", "listen", "replicas"))
    other = [f"--{name.replace('_', '-')}" for name in ("hosts", "read_only") if given[name]]
    if given["workers"] is None:
        if other:
            raise click.UsageError(f"--local does not go with {other[0]}")
        places = {f"--{name}": given[name] for name in ("bolt", "http")}
        local = LocalServers(store, listen, given["local"], _given(context), places, replicas)
        first = {option: found[0] for option, found in local.others.items()}
        return local.run(
            lambda: ready(local.addresses[0], first.get("--bolt"), first.get("--http"))
        )
    other += [f"--{name}" for name in ("local", "bolt", "http") if given[name] is not None]
    if other:
        raise click.UsageError(f"--workers does not go with {other[0]}")
    options = _given(context, absolute=True)
    strangers = given["certificate"] is not None and given["tokens"] is not None
    placed = RayServers(store, listen, given["workers"], options, replicas, strangers)
    return placed.run(lambda: ready(placed.addresses[0], None, None))


def _ready(as_json: bool, address: str, drivers: str | None, pages: str | None) -> None:
    """Print the addresses of a server that answers."""
    found = {"nakshi": address, "bolt": drivers, "http": pages}
    urls = {name: f"{name}://{where}" for name, where in found.items() if where is not None}
    if as_json:
        print_json({"ready": urls, "pid": os.getpid()})
    else:
        click.echo(f"ready {' '.join(urls.values())}")


#: Options of ``serve`` that each of several servers gets.
_EACH = (
    "certificate",
    "key",
    "ca",
    "tokens",
    "users",
    "csv_folder",
    "audit_log",
    "slow_log",
    "log_parameters",
    "keep_log",
    "memory",
    "max_calls",
    "max_rows",
    "max_memory",
    "max_request",
    "timeout",
    "plain_runs",
    "log",
)


#: Those of them that name files and folders.
_FILES = ("certificate", "key", "ca", "tokens", "users", "csv_folder", "audit_log")


def _given(context: click.Context, *, absolute: bool = False) -> list[str]:
    """The options that were given for each of several servers; with `absolute` for any working directory."""
    given: list[str] = []
    for name in _EACH:
        value = context.params[name]
        if value is True:
            given.append(f"--{name.replace('_', '-')}")
        elif value is not None and value is not False:
            if absolute and name in _FILES:
                value = os.path.abspath(value)
            given += [f"--{name.replace('_', '-')}", str(value)]
    return given


def _server(address: str, found: dict[str, Any]) -> dict[str, Any]:
    """The role, process and last commit of a server."""
    wanted = ("role", "pid", "commit")
    return {"address": address, **{name: found[name] for name in wanted}, "error": None}


def _ask(address: str, token: str | None, ca: str | None) -> dict[str, Any]:
    """As :func:`_server`, of another server, or the error if it does not answer."""
    from ..errors import NakshiError
    from ..remote import connect

    try:
        with connect(address, token=token, ca=ca, timeout=_WORD) as graph:
            return _server(address, graph.status())
    except NakshiError as error:
        away = {"role": "away", "pid": None, "commit": None}
        return {"address": address, **away, "error": str(error)}


@click.command(name="add-user")
@click.argument("file", type=click.Path(dir_okay=False), metavar="FILE")
@click.argument("name")
@options.word("--role", ["reader", "writer", "admin"], "What the user may do [reader].")
@click.option(
    "--password-file",
    type=click.File(),
    metavar="FILE",
    help="The password, or - for standard input; it is asked for otherwise.",
)
def add_user(file: str, name: str, role: str | None, password_file: Any) -> None:
    """Add a user NAME with a password to FILE, for `nakshi serve --users FILE`.

    The file has hashes of passwords (Argon2id), and only its owner can read it.
    """
    from ..errors import ParameterError

    hash_password = _of_server("hash_password")
    if not name or any(c.isspace() or c == "#" for c in name):
        raise ParameterError(f"{name!r} is no name of a user; leave out spaces and #")
    if os.path.exists(file) and any(line.split()[1:2] == [name] for line in open(file)):
        raise ParameterError(f"{file} has a user {name} already; remove that line first")
    if password_file is None:
        password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        password = password_file.readline().rstrip("\r\n")
    line = f"{role or 'reader'} {name} {hash_password(password)}\n"
    with open(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w") as users:
        users.write(line)


@click.command()
@click.argument("address", metavar="nakshi://HOST:PORT")
@options.token_file
@options.ca
@options.as_json
def status(address: str, token_file: Any, ca: str | None, as_json: bool) -> None:
    """Describe the servers at an address, one line each: role, process, last commit, lag."""
    from ..remote import connect

    token = options.token(token_file)
    with connect(address, token=token, ca=ca) as graph:
        found = graph.status()
    servers = [_server(found.pop("own") or address, found)]
    for other in found.pop("servers"):
        if other != servers[0]["address"]:
            servers.append(_ask(other, token, ca))
    last = max(server["commit"] for server in servers if server["commit"] is not None)
    for server in servers:
        server["lag"] = None if server["commit"] is None else last - server["commit"]
    if as_json:
        print_json({"servers": [{**servers[0], **found}, *servers[1:]]})
        return
    for server in servers:
        click.echo(
            f"{server['role']}  {server['address']}  pid {server['pid']}  commit {server['commit']:,}  "
            f"lag {server['lag']:,}"
            if server["commit"] is not None
            else f"away  {server['address']}  {server['error']}"
        )
    mode = "read-only" if found["read_only"] else "read and write"
    click.echo()
    print_pairs(
        [
            ("version", found["version"]),
            ("uptime", f"{found['uptime_seconds']:.1f} s"),
            ("graph", f"{found['nodes']:,} nodes, {found['edges']:,} edges, {mode}"),
            ("log", format_size(found["log_bytes"])),
            ("running calls", f"{found['running_calls']} of at most {found['most_calls']}"),
            ("connections", found["connections"]),
        ]
    )
