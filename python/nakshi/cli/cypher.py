"""``query``: queries in Cypher, one at a time or in a shell."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import click

from ..errors import NakshiError
from ..result import RowFormat
from . import options

if TYPE_CHECKING:
    from ..cypher import QueryResult, Row
    from ..graph import Graph
    from ..remote import RemoteGraph

#: Rows by which the widths of a table are chosen.
_ROWS = 256
#: Widest column of a table; longer values go beyond it.
_WIDE = 60
#: Where the lines of the shell are kept.
_HISTORY = "nakshi_history"
#: Words that the shell completes, beside labels, types and properties.
_WORDS = (
    "MATCH OPTIONAL WHERE RETURN WITH UNWIND CREATE MERGE SET REMOVE DELETE DETACH CALL YIELD ORDER "
    "BY SKIP LIMIT DISTINCT UNION EXPLAIN AND OR NOT IN STARTS ENDS CONTAINS EXISTS COUNT CASE WHEN "
    "THEN ELSE END AS"
).split()
_HELP = """\
A query ends with a semicolon and may have several lines.

:param NAME = JSON   give a parameter a value; without a value, forget it
:params              show the parameters
:format FORMAT       table, json, jsonl or csv
:timing              show how long queries take, or stop it
:schema              labels, types of edges and properties
:help                this text
:exit                leave, as Ctrl-D does
"""


@click.command()
@click.argument("store", type=options.STORE, metavar="STORE|nakshi://HOST:PORT")
@click.argument("text", required=False)
@click.option("--params", metavar="JSON", help="Parameters, as a JSON object.")
@options.word(
    "--format",
    ["table", "json", "jsonl", "csv", "arrow", "parquet"],
    "table (default), json (an array of objects), jsonl (an object a line), csv, arrow or parquet.",
)
@options.file("--out", "Write the rows to FILE; its ending tells the format if none is given.")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), help="Seconds that it may take."
)
@options.size("--memory", "Most memory of the rows and groups of a query.")
@options.folder("--csv-folder", "Folder that LOAD CSV may read from.")
@options.token_file
@options.ca
def query(
    store: str,
    text: str | None,
    params: str | None,
    format: str | None,
    out: str | None,
    timeout: float | None,
    memory: int | None,
    csv_folder: str | None,
    token_file: Any,
    ca: str | None,
) -> None:
    """Run the query TEXT in openCypher on STORE, or on a server.

    \b
    nakshi query g.nakshi 'MATCH (n:Person) RETURN n.name ORDER BY n.age LIMIT 10'
    nakshi query g.nakshi 'MATCH (n {name: $name}) RETURN n' --params '{"name": "Ann"}'

    Without TEXT it is read from standard input; in a terminal, a shell begins.
    """
    if format == "table" and out is not None:
        raise click.UsageError("--out FILE takes a format for programs, such as csv")
    if format in ("arrow", "parquet") and out is None and sys.stdout.isatty():
        raise click.UsageError(f"--format {format} is nothing to look at; add --out FILE")
    rows = cast("RowFormat | None", format)
    given = _parameters(params)
    graph = _open(store, token_file, ca)
    limits: dict[str, Any] = {"timeout": timeout, "memory": memory, "csv_folder": csv_folder}
    if text is None and sys.stdin is not None and sys.stdin.isatty() and out is None:
        Shell(graph, given, limits, format or "table").run()
        return
    began = time.monotonic()
    result = graph.query(text if text is not None else sys.stdin.read(), given, **limits)
    if out is not None:
        count = result.write(out, format=rows)
        click.echo(_outcome(result, count, time.monotonic() - began), err=True)
    else:
        _show(result, format or "table", began)


def _parameters(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        given = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"--params is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise click.UsageError("--params is no JSON object; write '{\"name\": value}'")
    return given


def _open(store: str, token_file: Any, ca: str | None) -> Graph | RemoteGraph:
    if not store.startswith("nakshi://"):
        from .queries import open_graph

        return open_graph(store, None)
    from ..remote import connect

    return connect(store, token=options.token(token_file), ca=ca)


def _show(result: QueryResult, format: str, began: float, timing: bool = True) -> None:
    """Print the rows of a query, and on standard error what it did."""
    if format == "table":
        count = _print_table(result)
    else:
        count = result.write("-", format=cast(RowFormat, format)) if result.columns else 0
    plan = result.summary["plan"]
    if plan is not None:
        click.echo(plan.rstrip())
        return
    took = time.monotonic() - began if timing else None
    sys.stdout.flush()
    click.echo(_outcome(result, count, took), err=True)


def _print_table(result: QueryResult) -> int:
    from ..cypher import text_of

    def cells(row: Row) -> list[str]:
        return [text_of(value).replace("\n", "\\n") for value in row]

    first = [cells(row) for row in islice(result, _ROWS)]
    if not result.columns:
        return 0
    lines: list[list[str]] = [result.columns, *first]
    columns = range(len(result.columns))
    widths = [min(_WIDE, max(len(line[column]) for line in lines)) for column in columns]

    def line(cells: list[str]) -> None:
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths))
        click.echo("  ".join(padded).rstrip())

    line(result.columns)
    line(["-" * width for width in widths])
    count = 0
    for row in _chain(first, (cells(row) for row in result)):
        line(row)
        count += 1
    return count


def _chain(first: list[list[str]], rest: Iterator[list[str]]) -> Iterator[list[str]]:
    yield from first
    yield from rest


def _outcome(result: QueryResult, count: int, took: float | None) -> str:
    parts = []
    if result.columns:
        parts.append("1 row" if count == 1 else f"{count:,} rows")
    for name, number in result.summary["counters"].items():
        if number:
            parts.append(f"{name.replace('_', ' ')}: {number:,}")
    if not parts:
        parts.append("no changes")
    text = ", ".join(parts)
    return text if took is None else f"{text} ({took:.3f} s)"


class Shell:
    """Reads queries and commands line by line."""

    def __init__(
        self,
        graph: Graph | RemoteGraph,
        parameters: dict[str, Any],
        limits: dict[str, Any],
        format: str,
    ) -> None:
        self.graph, self.parameters, self.limits = graph, parameters, limits
        self.format, self.timing = format, True
        self.commands: dict[str, Callable[[str], None]] = {
            ":help": lambda _: click.echo(_HELP),
            ":param": self.param,
            ":params": lambda _: click.echo(json.dumps(self.parameters, default=str)),
            ":format": self.choose,
            ":timing": self.switch,
            ":schema": lambda _: click.echo(str(self.graph.schema())),
        }

    def run(self) -> None:
        """Read until the end of the input, or ``:exit``."""
        with _history(self.words):
            click.echo("A query ends with a semicolon; :help tells more, :exit leaves.")
            text = ""
            while True:
                try:
                    line = input("nakshi> " if not text else "   ...> ")
                except EOFError:
                    click.echo()
                    return
                except KeyboardInterrupt:
                    click.echo()
                    text = ""
                    continue
                if not text and line.strip() in (":exit", ":quit"):
                    return
                if not text and line.lstrip().startswith(":"):
                    self.attempt(self.command, line.strip())
                    continue
                text = f"{text}\n{line}" if text else line
                if text.rstrip().endswith(";"):
                    query, text = text.rstrip().rstrip(";"), ""
                    if query.strip():
                        self.attempt(self.query, query)
                elif not text.strip():
                    text = ""

    def attempt(self, action: Callable[[str], None], text: str) -> None:
        """Do something with a text; an error, or Ctrl-C, ends it alone."""
        try:
            action(text)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
        except NakshiError as error:
            click.echo(f"error: {error}", err=True)

    def query(self, text: str) -> None:
        """Run a query and print its rows."""
        began = time.monotonic()
        result = self.graph.query(text, self.parameters, **self.limits)
        _show(result, self.format, began, self.timing)

    def command(self, line: str) -> None:
        """Run a command."""
        word, _, rest = line.partition(" ")
        known = self.commands.get(word)
        if known is None:
            click.echo(f"there is no command {word}; :help lists them", err=True)
        else:
            known(rest.strip())

    def param(self, text: str) -> None:
        """Give a parameter a value."""
        name, _, value = (part.strip() for part in text.partition("="))
        if not name:
            click.echo(":param NAME = JSON", err=True)
        elif not value:
            self.parameters.pop(name, None)
        else:
            try:
                self.parameters[name] = json.loads(value)
            except ValueError:
                click.echo(f'{value} is no JSON; write text in quotes: "{value}"', err=True)

    def choose(self, text: str) -> None:
        """Choose a format."""
        if text in ("table", "json", "jsonl", "csv"):
            self.format = text
        else:
            click.echo("the formats are table, json, jsonl and csv", err=True)

    def switch(self, _: str) -> None:
        """Show times, or no longer."""
        self.timing = not self.timing
        click.echo(f"times are {'shown' if self.timing else 'not shown'}")

    def words(self) -> list[str]:
        """Words that Tab completes."""
        schema = self.graph.schema(exact=0)
        names = [ty.name for ty in schema.edge_types]
        names += [one.name for one in (*schema.node_properties, *schema.edge_properties)]
        return [*_WORDS, *self.commands, ":exit", *schema.labels, *names]


class _history:
    """Lines of earlier shells, and completion by Tab, where Python has readline."""

    def __init__(self, words: Callable[[], list[str]]) -> None:
        self.words = words
        folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        self.path = os.path.join(folder, _HISTORY)
        self.known: list[str] | None = None

    def __enter__(self) -> None:
        try:
            import readline
        except ImportError:
            return
        readline.set_completer(self.complete)
        readline.set_completer_delims(" \t\n`'\"()[]{}.,;=<>|$-")
        readline.parse_and_bind("tab: complete")
        if os.path.exists(self.path):
            readline.read_history_file(self.path)

    def complete(self, begin: str, state: int) -> str | None:
        """The word of a number among those that begin so."""
        if self.known is None:
            try:
                self.known = self.words()
            except NakshiError:
                self.known = list(_WORDS)
        begin = begin.removeprefix(":") if begin[1:] else begin
        found = [word for word in self.known if word.lower().startswith(begin.lower())]
        return found[state] if state < len(found) else None

    def __exit__(self, *_: object) -> None:
        try:
            import readline
        except ImportError:
            return
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            readline.set_history_length(1000)
            readline.write_history_file(self.path)
        except OSError as error:
            click.echo(f"the lines of this shell are not kept: {error}", err=True)
