"""Queries in Cypher: their rows, and the values that only they have."""

from __future__ import annotations

import html
import json
import os
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from ._core import Properties
from .errors import ParameterError
from .result import RowFormat, optional_module
from .units import parse_size, readable

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

    from ._core import QueryRows, Remote

__all__ = ["Duration", "Node", "Path", "Point", "QueryResult", "Relationship", "Row"]

#: Rows that are taken at once; the first batches are smaller, so that the first row comes at once.
BATCH = 1024
#: Rows of the first batch: with two, a query of one row ends with it.
FIRST = 2
#: Rows that a notebook shows.
SHOWN = 10


class Node(NamedTuple):
    """A node of a result.

    Attributes:
        id: the users' id.
        labels: its labels.
        properties: values by name, without those that are null.
    """

    id: int | str | bytes
    labels: tuple[str, ...]
    properties: dict[str, Any]


class Relationship(NamedTuple):
    """An edge of a result.

    Attributes:
        source, destination: the users' ids of its ends.
        type: its type.
        properties: values by name, without those that are null.
        element_id: tells edges of one result apart.
    """

    source: int | str | bytes
    type: str
    destination: int | str | bytes
    properties: dict[str, Any]
    element_id: str


class Path(NamedTuple):
    """A path of a result.

    Attributes:
        nodes: in their order, one more than edges.
        relationships: the edges between them, some of which may be passed against their direction.
    """

    nodes: tuple[Node, ...]
    relationships: tuple[Relationship, ...]


class Duration(NamedTuple):
    """A duration of Cypher, whose months and days have no fixed length.

    Attributes:
        months, days, seconds, nanoseconds: its parts.
    """

    months: int
    days: int
    seconds: int
    nanoseconds: int


class Point(NamedTuple):
    """A point in space.

    Attributes:
        srid: system of coordinates: 7203 and 9157 are Cartesian with two and three coordinates, 4326 and 4979
            are longitude and latitude (WGS 84), without and with height.
        coordinates: two or three numbers.
    """

    srid: int
    coordinates: tuple[float, ...]


class Row(tuple[Any, ...]):
    """The values of a row, by place and by the name of the column."""

    _columns: Mapping[str, int]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                key = self._columns[key]
            except KeyError:
                raise KeyError(f"no column {key!r}; there are {', '.join(self._columns)}") from None
        return super().__getitem__(key)

    def to_dict(self) -> dict[str, Any]:
        """Values by the names of the columns."""
        return dict(zip(self._columns, self))


class QueryResult:
    """The rows of a query in Cypher; see :meth:`nakshi.Graph.query`.

    A query that only reads runs while its rows are taken, so that memory stays small. One that changes the
    graph has committed when the result is there.

    Attributes:
        columns: names of the columns.
    """

    def __init__(self, core: QueryRows) -> None:
        self._core = core
        self.columns: list[str] = core.columns()
        self._places = {name: place for place, name in enumerate(self.columns)}
        self._rows: deque[Row] = deque()
        self._batch = FIRST
        self._ended = False

    def _more(self) -> bool:
        """Take a batch of rows; False if there are none."""
        if self._ended:
            return False
        rows, self._ended = self._core.next(self._batch)
        self._batch = min(4 * self._batch, BATCH)
        for values in rows:
            row = Row(values)
            row._columns = self._places
            self._rows.append(row)
        self._ended |= not rows
        return bool(rows)

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        if not self._rows and not self._more():
            raise StopIteration
        return self._rows.popleft()

    def single(self) -> Any:
        """The only row; its value, if it has one column.

        Raises:
            ParameterError: there are no rows, or several.
        """
        rows = list(self)
        if len(rows) != 1:
            raise ParameterError(f"the query has {len(rows):,} rows, and single() is for one")
        return rows[0] if len(self.columns) != 1 else rows[0][0]

    @property
    def summary(self) -> dict[str, Any]:
        """Type, plan and counts of changes.

        ``type`` is ``"r"``, ``"w"`` or ``"rw"``, ``counters`` are the counts of its changes, and ``plan`` is
        the plan of a query that begins with ``EXPLAIN``.
        """
        summary: dict[str, Any] = json.loads(self._core.summary())
        return summary

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream of the rows that are left (the Arrow PyCapsule interface).

        Values of one type have Arrow's type for it. Nodes, edges, paths, maps, and columns of several types are
        JSON text.
        """
        self._refuse_taken()
        self._ended = True
        return self._core.arrow_stream()

    def _refuse_taken(self) -> None:
        if self._rows or self._batch != FIRST:
            raise ParameterError("some rows are taken already; run the query again for a table")

    def to_arrow(self) -> pa.Table:
        """All rows as a table of pyarrow."""
        arrow = optional_module("pyarrow", "to_arrow")
        table: pa.Table = arrow.table(self)
        return table

    def to_polars(self) -> pl.DataFrame:
        """All rows as a data frame of Polars."""
        frames = optional_module("polars", "to_polars")
        frame: pl.DataFrame = frames.DataFrame(self)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a data frame of pandas."""
        optional_module("pandas", "to_pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def write(self, path: str | os.PathLike[str], *, format: RowFormat | None = None) -> int:
        """Write all rows to a file, or to standard output where ``path`` is ``"-"``.

        Args:
            path: file.
            format: ``"csv"``, ``"jsonl"`` (an object a line), ``"json"`` (an array of them), ``"arrow"`` or
                ``"parquet"``; by the ending of ``path`` by default.

        Returns:
            Number of rows.

        Raises:
            ParameterError: another format, or some rows are taken already.
        """
        self._refuse_taken()
        known = [name for name in get_args(RowFormat) if name != "tsv"]
        if format is not None and format not in known:
            raise ParameterError(f"format={format!r} is not known; choose {', '.join(known)}")
        self._ended = True
        return self._core.write(os.fspath(path), format)

    def __repr__(self) -> str:
        return f"<nakshi.QueryResult {', '.join(self.columns) or 'without columns'}>"

    def _repr_html_(self) -> str:
        while len(self._rows) <= SHOWN and self._more():
            pass
        shown = list(self._rows)[:SHOWN]
        more = "<p>and more rows</p>" if len(self._rows) > SHOWN else ""

        def line(tag: str, cells: list[str]) -> str:
            return (
                "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
            )

        body = "".join(line("td", [text_of(value) for value in row]) for row in shown)
        head = line("th", self.columns)
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}"


def text_of(value: Any) -> str:
    """A value for a table that people read."""
    if isinstance(value, Node):
        labels = "".join(f":{label}" for label in value.labels)
        return f"({_name(value.id)}{' ' if labels else ''}{labels})"
    if isinstance(value, Relationship):
        return f"({_name(value.source)})-[:{value.type}]->({_name(value.destination)})"
    if isinstance(value, Path):
        steps = [_name(value.nodes[0].id)]
        for edge, node in zip(value.relationships, value.nodes[1:]):
            onward = edge.destination == node.id
            steps.append(f"-[:{edge.type}]->" if onward else f"<-[:{edge.type}]-")
            steps.append(_name(node.id))
        return "".join(steps)
    if isinstance(value, list):
        return f"[{', '.join(text_of(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {text_of(item)}' for name, item in value.items())}}}"
    return "null" if value is None else readable(value)


def _name(id: int | str | bytes) -> str:
    """An id as text."""
    return repr(id) if isinstance(id, bytes) else str(id)


class Limits(NamedTuple):
    """What a query may use."""

    #: Seconds.
    timeout: float | None
    #: Bytes of its rows and groups.
    memory: int | str | None
    #: Folder of ``LOAD CSV``.
    csv_folder: str | os.PathLike[str] | None


def ask(
    core: Properties | Remote,
    text: str,
    parameters: Mapping[str, Any] | None,
    named: Mapping[str, Any],
    limits: Limits,
) -> QueryResult:
    """Run a query."""
    if not isinstance(text, str):
        raise ParameterError(f"a query is text, not {type(text).__name__}")
    given = {**(parameters or {}), **named}
    timeout, memory = limits.timeout, parse_size(limits.memory)
    if isinstance(core, Properties):
        folder = limits.csv_folder
        rows = core.query(text, given, timeout=timeout, memory=memory, csv_folder=folder)
    elif limits.csv_folder is None:
        rows = core.query(text, given, timeout=timeout, memory=memory)
    else:
        message = "LOAD CSV on a server reads from its own folder (nakshi serve --csv-folder)"
        raise ParameterError(message)
    return QueryResult(rows)
