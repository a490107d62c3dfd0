"""Results of algorithms, in the user's own vertex ids."""

from __future__ import annotations

import html
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from .errors import ParameterError, UnknownVertexError, UnsupportedError
from .units import format_size, readable

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped]
    from matplotlib.figure import Figure

    from . import _core
    from .charts import Chart
    from .queries import Id

__all__ = ["Result", "RowFormat"]

RowFormat = Literal["tsv", "csv", "jsonl", "json", "arrow", "parquet"]
"""Format of the rows of a result."""


class Result:
    """The outcome of an algorithm: columns with one value for each vertex, and a summary.

    Rows are ascending by vertex id, whatever the layout of the store. Ids are those of the imported
    edges: integers as ``int64`` (``uint64`` if they need it), text as ``str``, and text that is not
    UTF-8 as ``bytes``.

    The values stay in nakshi's compact form until one of the ``to_*`` methods is called. Each call
    converts them again, so keep its result. Any consumer of the Arrow C stream protocol
    (``polars.DataFrame(result)``, ``pyarrow.table(result)``, DuckDB ...) takes a result directly.

    Attributes:
        algorithm: name of the algorithm, such as ``"pagerank"``.
        summary: what the whole graph amounts to (components found, iterations, residual ...).
        stats: how it ran: ``engine``, ``threads``, ``iterations``, ``seconds`` (``open``,
            ``run``), ``memory`` in bytes (``budget``: the cap on what the call added, ``memory=``;
            ``peak_rss``: the most that the whole process has had resident, interpreter and other
            data included), ``io`` (``bytes_read``,
            ``requests``, ``hits``, ``misses``), ``per_iteration``, a list of the same per
            iteration (``steps`` tells how many short steps an entry sums up); in ``io`` also ``pinned_hits`` (of the hits, lists of the static cache and
            pages kept from one pass to the next) and ``page_utilisation`` (share of the 64-byte
            units of cached pages that the run touched, or ``None``).
    """

    def __init__(self, core: _core.Outcome) -> None:
        self._core = core
        self.algorithm: str = core.algorithm
        self.summary: dict[str, Any] = json.loads(core.summary())
        self.stats: dict[str, Any] = json.loads(core.stats())
        self.stats["memory"]["peak_rss"] = _peak_rss()
        self._tree: _Tree | None = None
        #: Columns by vertex, of look-ups.
        self._lookups: dict[str, dict[Any, Any]] = {}

    @property
    def columns(self) -> list[str]:
        """Names of the value columns, without ``id``; empty if there is only a summary."""
        return [name for name, _, _ in self._core.columns()][1:]

    def __len__(self) -> int:
        """Number of rows: that of the vertices, or 0 if there is only a summary."""
        return self._core.rows if self.columns else 0

    def to_numpy(self, column: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Ids and the values of one column as two arrays of shape ``(num_vertices,)``.

        Args:
            column: name from :attr:`columns`; the first by default.

        Returns:
            ``(ids, values)``. A number that is missing (an unreachable distance) is ``inf``, for
            which the column becomes ``float64``. A vertex that is missing (the parent of an
            unreached vertex) is masked in a ``numpy.ma.MaskedArray``, or ``None`` among text ids.

        Raises:
            ParameterError: no such column, or the result has only a summary.
        """
        name = self._name(column)
        return self._values("id")[0], self._dense(name)

    def to_matrix(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids and all columns as one array of shape ``(num_vertices, columns)``, as for embeddings.

        Returns:
            ``(ids, matrix)``; a missing number is ``inf``, for which the matrix becomes ``float64``.

        Raises:
            ParameterError: the result has only a summary, or a column of text.
        """
        import numpy as np

        columns = [self._dense(name) for name in self._with_rows().columns]
        if any(column.dtype == object for column in columns):
            raise ParameterError(f"{self.algorithm} has columns of text; use to_arrow()")
        return self._values("id")[0], np.stack(columns, axis=1)

    def to_arrow(self) -> pa.Table:
        """All columns as a ``pyarrow.Table``; missing values are null. Needs pyarrow."""
        return optional_module("pyarrow", "to_arrow").table(self._with_rows())

    def to_polars(self) -> pl.DataFrame:
        """All columns as a ``polars.DataFrame``; missing values are null. Needs polars."""
        frame: pl.DataFrame = optional_module("polars", "to_polars").DataFrame(self._with_rows())
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """All columns as a ``pandas.DataFrame``; missing values are ``NA``. Needs pandas."""
        pandas = optional_module("pandas", "to_pandas")
        self._with_rows()
        data = {}
        for name in ["id", *self.columns]:
            values, missing = self._values(name)
            if missing is not None and values.dtype.kind in "iu":
                values = pandas.arrays.IntegerArray(values, missing)
            elif missing is not None and values.dtype.kind == "f":
                values[missing] = float("nan")
            data[name] = values
        return pandas.DataFrame(data, copy=False)

    def to_dict(self, column: str | None = None) -> dict[Any, Any]:
        """One column as ``{id: value}`` of plain Python objects; missing values are ``None``."""
        name = self._name(column)
        ids, _ = self._values("id")
        values, missing = self._values(name)
        pairs = dict(zip(ids.tolist(), values.tolist()))
        if missing is not None:
            for vertex in ids[missing].tolist():
                pairs[vertex] = None
        return pairs

    def __getitem__(self, key: Any) -> Any:
        """Value of a vertex: ``r["ann"]`` of the first column, ``r["ann", "parent"]`` of another.

        The first look-up converts the ids and the column, which the result then keeps.

        Returns:
            A plain Python value; ``None`` where it is missing (an unreachable distance).

        Raises:
            UnknownVertexError: the result has no such vertex.
            ParameterError: no such column, or the result has only a summary.
        """
        vertex, column = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        name = self._name(column)
        values = self._lookups.get(name)
        if values is None:
            values = self._lookups[name] = self.to_dict(name)
        if hasattr(vertex, "item"):
            vertex = vertex.item()
        try:
            return values[vertex]
        except (KeyError, TypeError):
            raise UnknownVertexError(f"vertex {vertex!r} is not in the result") from None

    def __contains__(self, vertex: object) -> bool:
        """True if a vertex with this id has a row."""
        try:
            self[vertex]
        except UnknownVertexError:
            return False
        return True

    def top(self, count: int = 10) -> list[tuple[Any, ...]]:
        """The first ``count`` rows of a ranking, as tuples ``(id, value)``.

        Scores and distances are ranked by value, the largest first, and ties by smaller id. Labels
        (components, communities) are ranked by their members, as ``(label, members)``.
        """
        return self.best(count)[1]

    def path_to(self, id: Id) -> list[Id] | None:
        """The path from the source to a vertex, of a search that was run with ``parents=True``.

        Args:
            id: of the vertex in which the path ends.

        Returns:
            The ids of the path, both ends included; ``None`` if the search did not reach the vertex.

        Raises:
            UnknownVertexError: there is no such vertex.
            ParameterError: a result without parents.
        """
        if "parent" not in self.columns:
            raise ParameterError(
                f"{self.algorithm} has no parents here; run bfs or sssp with parents=True"
            )
        if self._tree is None:
            self._tree = _Tree(self)
        return self._tree.path_to(id)

    def plot(self, kind: Chart | None = None, *, column: str | None = None) -> Figure:
        """Draw one column; notebooks show the figure, and its ``savefig`` writes it to a file.

        Args:
            kind: ``"distribution"``: share of vertices with at least each value (degrees);
                ``"rank"``: values in descending order (PageRank, betweenness); ``"sizes"``: how many
                components or communities have how many vertices; ``"hops"``: vertices at each distance,
                and within it (searches). By default the one for the column.
            column: name from :attr:`columns`; the first by default.

        Returns:
            A matplotlib figure.

        Raises:
            UnsupportedError: matplotlib is not installed.
            ParameterError: no such kind or column, or nothing to draw.
        """
        from .charts import draw

        return draw(self, kind, column)

    def write(self, path: str | os.PathLike[str], *, format: RowFormat | None = None) -> None:
        """Write all rows to a file, or to standard output.

        Args:
            path: file; ``"-"`` is standard output.
            format: by the ending of ``path`` by default, and TSV on standard output. ``"tsv"`` is one
                line a vertex, ``id<TAB>value`` of the first column, no header, ``inf`` where a
                distance is missing. The others have all columns, names and nulls: ``"csv"``,
                ``"jsonl"`` (an object a line), ``"json"`` (an array of them), ``"arrow"`` (IPC; on standard output the stream)
                and ``"parquet"``.

        Raises:
            ParameterError: another file ending or format, or a result without rows.
            StorageError: the file cannot be written.
            BrokenPipeError: standard output was closed by its reader.
        """
        self._with_rows()
        if format is not None and format not in get_args(RowFormat):
            known = ", ".join(get_args(RowFormat))
            raise ParameterError(f"format={format!r} is not known; choose {known}")
        if os.fspath(path) == "-" and sys.stdout is not None:
            sys.stdout.flush()
        self._core.write(os.fspath(path), format=format)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream of all columns (the Arrow PyCapsule interface).

        A consumer may ask for other types, and has to accept those of the stream.
        """
        return self._with_rows()._core.arrow_stream()

    def __iter__(self) -> Iterator[str]:
        raise TypeError(
            "a Result is not iterable; use .to_dict(), .to_numpy(), .top(), or r[id] for one vertex"
        )

    def __repr__(self) -> str:
        parts = [f"{self.algorithm}"]
        if self.columns:
            parts.append(f"{len(self):,} rows of {', '.join(['id', *self.columns])}")
        parts += [f"{name}={readable(value)}" for name, value in self.summary.items()]
        # Ids in the summary may have line breaks.
        return f"<nakshi.Result {' '.join('; '.join(parts).split())}>"

    def _repr_html_(self) -> str:
        rows = [("algorithm", self.algorithm)]
        rows += [(name, readable(value)) for name, value in self.summary.items()]
        rows += [
            ("engine", f"{self.stats['engine']}, {self.stats['threads']} threads"),
            ("seconds", f"{self.stats['seconds']['run']:.3f}"),
            ("read", format_size(self.stats["io"]["bytes_read"])),
        ]
        text = _html_table(None, rows)
        if self.columns:
            head, best = self.best(10)
            text += _html_table(head, [(_id(row[0]), *map(readable, row[1:])) for row in best])
        return f"<div>{text}</div>"

    def best(self, count: int) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Column names and rows of :meth:`top`, for printing."""
        return self._core.top(count) if self.columns else ([], [])

    def _name(self, column: str | None) -> str:
        names = self._with_rows().columns
        if column is None:
            return names[0]
        if column not in names:
            raise ParameterError(f"no column {column!r}; this result has {', '.join(names)}")
        return column

    def _with_rows(self) -> Result:
        if not self.columns:
            raise ParameterError(
                f"{self.algorithm} has no value per vertex; read its .summary instead"
            )
        return self

    def _values(self, name: str) -> tuple[np.ndarray, np.ndarray | None]:
        return self._core.numpy(name)

    def _dense(self, name: str) -> np.ndarray:
        values, missing = self._values(name)
        if missing is None:
            return values
        import numpy as np

        if values.dtype == object:
            return values
        if any(column == name and vertex for column, vertex, _ in self._core.columns()):
            return np.ma.MaskedArray(values, missing)
        values = values.astype(np.float64)
        values[missing] = np.inf
        return values


class _Tree:
    """The parents of a search, by the rows of a result."""

    def __init__(self, result: Result) -> None:
        self.ids, _ = result._values("id")
        parents, missing = result._values("parent")
        _, unreached = result._values(result.columns[0])
        self.parents, self.missing, self.unreached = parents, missing, unreached
        self.rows: dict[Any, int] | None = None
        if self.ids.dtype == object:
            self.rows = {id: row for row, id in enumerate(self.ids.tolist())}

    def row(self, id: Any) -> int:
        if self.rows is not None:
            found = self.rows.get(id, -1)
            if found < 0 and isinstance(id, bytes):
                found = self.rows.get(id.decode("utf-8", "replace"), -1)
        else:
            import numpy as np

            try:
                number = int(id)
                found = int(np.searchsorted(self.ids, self.ids.dtype.type(number)))
                found = found if found < len(self.ids) and self.ids[found] == number else -1
            except (TypeError, ValueError, OverflowError):
                found = -1
        if found < 0:
            raise UnknownVertexError(f"vertex {id!r} is not in the graph")
        return found

    def path_to(self, id: Any) -> list[Any] | None:
        row = self.row(id)
        if self.unreached is not None and self.unreached[row]:
            return None
        rows = [row]
        while self.missing is None or not self.missing[row]:
            row = self.row(self.parents[row])
            rows.append(row)
        path: list[Any] = self.ids[rows[::-1]].tolist()
        return path


def _peak_rss() -> int:
    """Largest resident memory of this process so far, in bytes.

    ``getrusage`` would also count the memory of the parent when it started this process.
    """
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _id(value: object) -> str:
    """A vertex id as text, without thousands separators."""
    return str(value) if isinstance(value, int) else readable(value)


def _html_table(head: Sequence[str] | None, rows: Sequence[Sequence[str]]) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    top = f"<thead>{line('th', head)}</thead>" if head else ""
    return f"<table>{top}<tbody>{body}</tbody></table>"


def optional_module(module: str, method: str) -> Any:
    """A module that one of the ``to_*`` methods needs.

    Raises:
        UnsupportedError: it is not installed.
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        instead = " or use to_numpy()" if method in ("to_arrow", "to_polars", "to_pandas") else ""
        raise UnsupportedError(
            f"{method}() needs {package}; install it with 'pip install {package}'{instead}"
        ) from None
