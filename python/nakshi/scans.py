"""Nodes and edges of a store as lazy frames of Polars, which read only what a query needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .errors import ParameterError, UnsupportedError
from .graph import Graph
from .pushdown import conditions_of, keys_of
from .result import optional_module

if TYPE_CHECKING:
    import polars as pl

    from .lookups import Direction

__all__ = ["scan_edges", "scan_nodes"]

#: Rows of a batch, unless Polars asks for another number.
_ROWS = 1 << 16
_KEYS = ("source", "target")
_OF_EDGES = (*_KEYS, "type", "timestamp")


def scan_nodes(
    store: str | os.PathLike[str] | Graph, *, memory: int | str | None = None
) -> pl.LazyFrame:
    """The nodes of a store as a lazy frame: ``id``, and the properties after the last commit.

    Columns that a query leaves out are not read. Of a filter the store answers comparisons of
    ``id`` and of properties with values, where ``&`` joins them; Polars filters by the rest.

    Args:
        store: a graph, or the path of a store.
        memory: cap for the ids of a store without properties, as for algorithms.

    Returns:
        A ``polars.LazyFrame``. Labels are the column ``labels``, a list.

    Raises:
        UnsupportedError: polars is not installed, or a property has a type that Polars lacks.
    """
    graph = store if isinstance(store, Graph) else Graph(store)
    types = _types(graph, "node_properties")
    schema = _schema(graph, ("id",), types)

    def ids(predicate: pl.Expr | None) -> Any:
        keys = keys_of(predicate, "id")
        if keys is not None:
            return [key for key in keys if key in graph]
        if types is None:
            return graph.degrees(memory=memory, progress=False).to_numpy()[0]
        return graph.get_node_ids(conditions_of(predicate, types) or None)

    def read(columns: list[str], predicate: pl.Expr | None, rows: int) -> Iterator[dict[str, Any]]:
        names = [name for name in columns if name != "id"]
        found = ids(predicate)
        for start in range(0, len(found), rows):
            some = found[start : start + rows]
            batch: dict[str, Any] = {"id": some}
            if names:
                values = graph.get_node_properties(some, names)
                batch |= {name: [one.get(name) for one in values] for name in names}
            yield batch

    return _lazy(schema, read)


def scan_edges(
    store: str | os.PathLike[str] | Graph, *, memory: int | str | None = None
) -> pl.LazyFrame:
    """The edges of a store as a lazy frame: ``source``, ``target``, and weights or properties.

    Edges with properties also have ``type`` and ``timestamp``. An undirected edge comes once, from
    its smaller end. Columns that a query leaves out are not read. Of a filter the store answers
    ``source`` and ``target`` (``==``, ``is_in``), and of edges with properties comparisons of those
    and ``type``, where ``&`` joins them; Polars filters by the rest.

    Args:
        store: a graph, or the path of a store.
        memory: cap for look-ups of edges without properties, as for algorithms.

    Returns:
        A ``polars.LazyFrame``.

    Raises:
        UnsupportedError: polars is not installed, or a property has a type that Polars lacks.
    """
    graph = store if isinstance(store, Graph) else Graph(store)
    types = _types(graph, "edge_properties")
    if types is None:
        schema = _schema(graph, _KEYS, dict.fromkeys(graph.weights, "float"))
        return _lazy(schema, _plain_edges(graph, memory))
    schema = _schema(graph, _OF_EDGES, types)
    return _lazy(schema, _property_edges(graph, types))


#: Batches of columns for projected columns, a predicate and a number of rows.
_Read = Callable[[list[str], Any, int], Iterator[dict[str, Any]]]


def _lazy(schema: dict[str, Any], read: _Read) -> pl.LazyFrame:
    import polars as pl
    from polars.io.plugins import register_io_source

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, count: int | None, rows: int | None
    ) -> Iterator[pl.DataFrame]:
        wanted = list(schema) if columns is None else columns
        types = {column: schema[column] for column in wanted}
        # A number of rows is of those before the filter.
        pushed = predicate if count is None else None
        for batch in read(wanted, pushed, min(rows or _ROWS, _ROWS)):
            frame = pl.DataFrame(
                {column: pl.Series(batch[column], dtype=kind) for column, kind in types.items()}
            )
            if count is not None:
                frame = frame.head(count)
                count -= frame.height
            yield frame if predicate is None else frame.filter(predicate)
            if count == 0:
                return

    return register_io_source(source, schema=schema)


def _types(graph: Graph, of: str) -> dict[str, str] | None:
    """Types of properties by name, or ``None`` for a store without properties."""
    if "last_compaction" not in graph.info():
        return None
    return {one["name"]: one["type"] for one in graph.schema().to_dict()[of]}


def _schema(graph: Graph, keys: tuple[str, ...], types: dict[str, str] | None) -> dict[str, Any]:
    """Columns of a frame and their types."""
    pl = optional_module("polars", "scan")
    id = pl.String if graph.info()["ids"] == "text" else pl.Int64
    kinds = {
        "id": id,
        "source": id,
        "target": id,
        "type": pl.String,
        "timestamp": pl.Int64,
    }
    schema = {name: kinds[name] for name in keys}
    for name, kind in (types or {}).items():
        if name in schema:
            raise ParameterError(f"a property has the name of the column {name!r}; rename it")
        schema[name] = _dtype(pl, name, kind)
    return schema


def _dtype(pl: Any, name: str, kind: str) -> Any:
    known = {
        "string": pl.String,
        "bytes": pl.Binary,
        "int": pl.Int64,
        "float": pl.Float64,
        "bool": pl.Boolean,
        "date": pl.Date,
        "localdatetime": pl.Datetime("us"),
        "datetime": pl.Datetime("us", "UTC"),
        "timestamp": pl.Datetime("us", "UTC"),
        "time": pl.Time,
        "localtime": pl.Time,
        "duration": pl.Duration("us"),
    }
    item = kind.removesuffix("[]")
    if item not in known:
        raise UnsupportedError(f"the property {name!r} has the type {kind}, which no column has")
    return pl.List(known[item]) if kind.endswith("[]") else known[item]


def _plain_edges(graph: Graph, memory: int | str | None) -> _Read:
    def read(columns: list[str], predicate: pl.Expr | None, rows: int) -> Iterator[dict[str, Any]]:
        import numpy as np

        direction: Direction = "out"
        keys = keys_of(predicate, "source")
        if keys is None and graph.directed:
            keys = keys_of(predicate, "target")
            direction = "out" if keys is None else "in"
        if keys is None:
            ids: Any = graph.degrees(memory=memory, progress=False).to_numpy()[0]
        else:
            ids = [key for key in keys if key in graph]
        weights = [name for name in columns if name not in _KEYS]
        if not len(ids):
            return
        ends = np.cumsum(graph.degree(ids, direction, memory=memory))
        start = 0
        while start < len(ids):
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + rows, side="right")))
            yield _lists(graph, ids[start:stop], direction, weights, memory)
            start = stop

    return read


def _lists(
    graph: Graph, ids: Any, direction: Any, weights: list[str], memory: int | str | None
) -> dict[str, Any]:
    """The edges of some vertices, with weights."""
    found = graph.edges(ids, direction, memory=memory)
    batch: dict[str, Any] = {"source": found.sources, "target": found.targets}
    for name in weights:
        batch[name] = graph.edges(ids, direction, name, memory=memory).weights
    if graph.directed:
        return batch
    once = found.sources <= found.targets
    return {name: values[once] for name, values in batch.items()}


def _property_edges(graph: Graph, types: dict[str, str]) -> _Read:
    def found(predicate: pl.Expr | None) -> Iterator[tuple[Any, str, Any]]:
        kinds, keys = keys_of(predicate, "type"), keys_of(predicate, "source")
        if keys is None:
            conditions = conditions_of(predicate, types)
            if conditions or kinds is not None:
                for kind in [None] if kinds is None else kinds:
                    yield from graph.find_edges(conditions or None, edge_type=kind)
                return
            keys = graph.get_node_ids()
        for source in keys:
            if source in graph:
                for record in graph.get_edge_record(source):
                    for place in range(len(record)):
                        yield source, record.edge_type, graph.get_edge_data(record, place)

    def read(columns: list[str], predicate: pl.Expr | None, rows: int) -> Iterator[dict[str, Any]]:
        names = [name for name in columns if name not in _OF_EDGES]
        batch: dict[str, list[Any]] = {name: [] for name in (*_OF_EDGES, *names)}
        for source, kind, edge in found(predicate):
            for name, value in zip(_OF_EDGES, (source, edge.destination, kind, edge.timestamp)):
                batch[name].append(value)
            for name in names:
                batch[name].append(edge.properties.get(name))
            if len(batch["source"]) == rows:
                yield batch
                batch = {name: [] for name in batch}
        yield batch

    return read
