"""Tables of an export of Kuzu or Ladybug, as the import of tables with properties takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from ..errors import NakshiError
from .files import read_errors
from .parts import Part, parts
from .schema import SCHEMA, ColumnType, NodeTable, damaged, read_schema
from .values import Values, as_read, is_wide, may_be_wide, notes, property_type

__all__ = ["Export"]

#: The property with the labels of a node, and how names begin that Nakshi keeps for itself.
_LABELS, _RESERVED = "labels", "nakshi:"
#: The column with the time of an edge.
_TIME = "timestamp"
#: Types of properties that make an id.
_KEYS = ("int", "string", "float", "date", "localdatetime", "datetime", "boolean")


@dataclass
class _Property:
    """A column and the property that it becomes."""

    column: str
    name: str
    values: Values

    @property
    def header(self) -> str:
        return f"{self.name}:{self.values.type}"

    @property
    def is_time(self) -> bool:
        """Returns True if the import takes the property for the times of edges."""
        named = self.column.lower() == _TIME and pa.types.is_timestamp(self.values.arrow)
        return named or self.name.lower() == _TIME


class Export:
    """The tables of a folder that ``EXPORT DATABASE`` wrote.

    Attributes:
        nodes: readers of record batches by label.
        edges: readers of record batches by type.
        notes: what became of columns and statements that have no counterpart.
        lost: counts of what is left out; complete once all batches have been read.
        error: what ended a reader. A stream of Arrow has but its text, with the traceback.
    """

    def __init__(self, folder: Path, qualified: bool | None) -> None:
        """Open a folder.

        Args:
            folder: the folder.
            qualified: put the name of the table before each key, to make it an id; by default where
                there are several tables of nodes.

        Raises:
            InputError: a file is missing or damaged, or a type is unknown.
        """
        self._schema_file = folder / SCHEMA
        schema = read_schema(self._schema_file)
        if not schema.nodes:
            raise damaged(f"{self._schema_file}: no table of nodes; export the database again")
        self._qualified = len(schema.nodes) > 1 if qualified is None else qualified
        self.notes: list[str] = []
        self.lost: Counter[str] = Counter()
        self.error: NakshiError | None = None
        found = parts(folder, schema)
        nodes = [part for part in found if part.ends is None]
        rels = [part for part in found if part.ends is not None]
        self._properties = {**self._planned(nodes), **self._planned(rels)}
        self.nodes: dict[str, list[Any]] = {}
        self.edges: dict[str, list[Any]] = {}
        for part in nodes:
            self.nodes.setdefault(part.table.name, []).append(self._node_rows(part))
        for part in rels:
            self.edges.setdefault(part.table.name, []).append(self._edge_rows(part))
        for kind, count in schema.others.items():
            self.notes.append(f"{count} {kind}{'s' * (count > 1)} of the database left out")

    def _planned(self, tables: Sequence[Part]) -> dict[str, list[_Property]]:
        """The properties of each table.

        A property has one type. Columns of one name and several types have the names of their tables
        before them.
        """
        values: dict[str, dict[str, Values]] = {}
        kept = [_LABELS] if any(part.ends is None for part in tables) else []
        for part in tables:
            if part.table.name not in values:
                same = [other for other in tables if other.table.name == part.table.name]
                values[part.table.name] = self._values(same)
        found: dict[str, list[_Property]] = {}
        for table, columns in values.items():
            found[table] = []
            for column, one in columns.items():
                types = {other[column].type for other in values.values() if column in other}
                name = column
                if len(types) > 1:
                    name = f"{table}.{column}"
                    why = f"{column} is {' and '.join(sorted(types))} in different tables"
                elif column in kept or column.startswith(_RESERVED):
                    name, why = f"{table}.{column}", f"Nakshi keeps the name {column} for itself"
                if name != column:
                    self.notes.append(f"{table}.{column} became the property '{name}': {why}")
                found[table].append(_Property(column, name, one))
        return found

    def _values(self, files: Sequence[Part]) -> dict[str, Values]:
        """Conversions of the columns of a table, which has one or more files."""
        table, file = files[0].table, files[0].file
        types, found = file.types(), {}
        for column in table.columns:
            where, type = f"{table.name}.{column.name}", column.type
            if not file.is_text:
                type = as_read(type, types[files[0].places[column.name]])
            wide = may_be_wide(type) and any(_has_wide(part, column.name, type) for part in files)
            header = property_type(type, wide)
            if header is None:
                raise damaged(
                    f"{self._schema_file}: {where} has the unknown type {type}; export the database "
                    "without this column"
                )
            found[column.name] = Values(where, type, header, file.is_text, self.lost)
            self.notes += notes(where, column.type, wide, file.is_text)
        return found

    def _node_rows(self, part: Part) -> pa.RecordBatchReader:
        table, properties = part.table, self._properties[part.table.name]
        assert isinstance(table, NodeTable)
        key = self._ids(table)
        fields = [(":ID", key.arrow), *((one.header, one.values.arrow) for one in properties)]
        schema = pa.schema([pa.field(name, type) for name, type in fields])

        def batches() -> Iterator[pa.RecordBatch]:
            for columns in part.file.batches([part.places[one.column] for one in properties]):
                with read_errors(part.file.path):
                    made = _converted(properties, columns)
                    ids = key.of_values(made[[one.column for one in properties].index(key.column)])
                    yield pa.record_batch([ids, *made], schema=schema)

        return self._reader(schema, batches())

    def _edge_rows(self, part: Part) -> pa.RecordBatchReader:
        properties = self._properties[part.table.name]
        assert part.ends is not None
        ends = [self._ids(table) for table in part.ends]
        fields = [(":START_ID", ends[0].arrow), (":END_ID", ends[1].arrow)]
        time = next((one for one in properties if one.is_time), None)
        if time is not None:
            # Without this column the property would be the time alone.
            fields.append((f"{_TIME}:timestamp", pa.int64()))
        fields += [(one.header, one.values.arrow) for one in properties]
        schema = pa.schema([pa.field(name, type) for name, type in fields])

        def batches() -> Iterator[pa.RecordBatch]:
            places = [part.places[one.column] for one in properties]
            makers = ends[0].of_keys, ends[1].of_keys
            if part.csr is None:
                rows = part.file.batches([0, 1, *places])
            else:
                rows = part.csr.batches(places, makers)
            for source, target, *columns in rows:
                with read_errors(part.file.path):
                    made = _converted(properties, columns)
                    ids = [source, target]
                    if part.csr is None:
                        ids = [make(keys) for make, keys in zip(makers, ids)]
                    times = [] if time is None else [_times(made[properties.index(time)])]
                    yield pa.record_batch([*ids, *times, *made], schema=schema)

        return self._reader(schema, batches())

    def _reader(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Any:
        def kept() -> Iterator[pa.RecordBatch]:
            try:
                yield from batches
            except NakshiError as error:
                self.error = error
                raise

        return pa.RecordBatchReader.from_batches(schema, kept())

    def _ids(self, table: NodeTable) -> _Ids:
        name = table.key.name
        values = next(one.values for one in self._properties[table.name] if one.column == name)
        if values.type not in _KEYS:
            raise damaged(
                f"{self._schema_file}: {table.name}.{name} of the type {table.key.type} makes no id; "
                "give the table another primary key"
            )
        return _Ids(name, values, f"{table.name}:" if self._qualified else None)


@dataclass
class _Ids:
    """Ids of the keys of a table: the keys, with the name of the table before them if they need it."""

    column: str
    values: Values
    space: str | None

    @property
    def arrow(self) -> pa.DataType:
        return pa.int64() if self.space is None and self.values.type == "int" else pa.string()

    def of_keys(self, keys: pa.Array) -> pa.Array:
        """Ids of keys as a file has them."""
        return self.of_values(self.values.converted(keys))

    def of_values(self, keys: pa.Array) -> pa.Array:
        """Ids of keys that are converted."""
        if keys.null_count:
            raise ValueError(f"a key of {self.values.where} is null")
        texts = keys.cast(self.arrow)
        if self.space is None:
            return texts
        return pc.binary_join_element_wise(self.space, texts, "")


def _has_wide(part: Part, column: str, type: ColumnType) -> bool:
    """Returns True if a column has numbers that only text keeps."""
    for (values,) in part.file.batches([part.places[column]]):
        with read_errors(part.file.path):
            if is_wide(type, values):
                return True
    return False


def _converted(properties: Sequence[_Property], columns: Sequence[pa.Array]) -> list[pa.Array]:
    found = []
    for one, column in zip(properties, columns):
        try:
            found.append(one.values.converted(column))
        except (pa.ArrowException, ValueError) as error:
            raise ValueError(f"column {one.column}: {error}") from None
    return found


def _times(values: pa.Array) -> pa.Array:
    """Times of edges in milliseconds; 0 where a value is missing, or no time."""
    if not pa.types.is_timestamp(values.type):
        return pa.array([0] * len(values), pa.int64())
    return pc.fill_null(
        pc.cast(values, pa.timestamp("ms", values.type.tz), safe=False).cast("int64"), 0
    )
