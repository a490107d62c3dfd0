"""Files of an export of Kuzu or Ladybug, and the tables that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .csr import Csr
from .files import CsvFile, File, ParquetFile
from .schema import COPY, SCHEMA, Copy, NodeTable, RelTable, Schema, damaged, read_copies

__all__ = ["Part", "parts"]


@dataclass
class Part:
    """A file of a table.

    Attributes:
        table: the table.
        file: the file; of a graph in CSR, the one with the properties of edges.
        places: numbers of the columns in the file, by name.
        ends: of a table of relationships, the tables of nodes that they lead from and to, whose keys
            are the first two columns.
        csr: the edges of a graph in CSR, whose file has no columns of keys.
    """

    table: NodeTable | RelTable
    file: File
    places: dict[str, int]
    ends: tuple[NodeTable, NodeTable] | None = None
    csr: Csr | None = None


#: Number of an edge, which statements of Kuzu 0.5 to 0.7 name and their files do not have.
_ID = "_ID"


def parts(folder: Path, schema: Schema) -> list[Part]:
    """The files of all tables.

    Raises:
        InputError: a table has no file, or a file is not there or has other columns.
    """
    if (folder / COPY).exists():
        found = [_copied(folder, schema, copy) for copy in read_copies(folder / COPY)]
    elif any(folder.glob("nodes_*.parquet")):
        found = _icebug(folder, schema)
    else:
        raise damaged(
            f"{folder / COPY}: there is no such file; export the database with its data "
            "(without schema_only)"
        )
    known = {part.table.name for part in found}
    for name in (*schema.nodes, *schema.rels):
        if name not in known:
            raise damaged(
                f"{folder / COPY}: no file for the table {name} of {SCHEMA}; export the "
                "database again"
            )
    return found


def _copied(folder: Path, schema: Schema, copy: Copy) -> Part:
    """The file of a statement of ``copy.cypher``."""
    where = f"{folder / COPY}:{copy.line}"
    table, ends = _target(schema, copy, where)
    names = [column.name for column in table.columns]
    listed = [name for name in copy.columns or names if ends is None or name != _ID]
    for name in listed:
        if name not in names:
            raise damaged(f"{where}: {table.name} has no column {name}; export the database again")
    first = 0 if ends is None else 2
    places = {name: first + number for number, name in enumerate(listed)}
    for name in names:
        if name not in places:
            raise damaged(f"{where}: the column {name} of {table.name} is not in the file")
    # An export stays what it is wherever it is moved.
    path = folder / Path(copy.file).name
    count = first + len(listed)
    file: File
    if path.suffix.lower() == ".parquet":
        file = ParquetFile(path)
        _check_count(path, len(file.types()), count)
    elif path.suffix.lower() == ".csv":
        file = CsvFile.of(path, count, copy.options, where)
    else:
        raise damaged(f"{where}: {copy.file} is neither CSV nor Parquet; export to one of these")
    if not path.exists():
        raise damaged(
            f"{path}: there is no such file, which {COPY} names for the table {table.name}; export "
            "the database again"
        )
    return Part(table, file, places, ends)


def _check_count(path: Path, found: int, expected: int) -> None:
    if found != expected:
        raise damaged(f"{path}: {found} columns in place of {expected}; export the database again")


def _target(
    schema: Schema, copy: Copy, where: str
) -> tuple[NodeTable | RelTable, tuple[NodeTable, NodeTable] | None]:
    """The table of a statement, and the tables at the ends of its relationships."""
    if copy.table in schema.nodes:
        return schema.nodes[copy.table], None
    named = copy.options.get("from"), copy.options.get("to")
    for rel in schema.rels.values():
        for source, target in rel.ends:
            # Before version 0.9 Kuzu kept a table for each pair of ends.
            own = copy.table == f"{rel.name}_{source}_{target}"
            if own or copy.table == rel.name and (named == (source, target) or len(rel.ends) == 1):
                return rel, (schema.nodes[source], schema.nodes[target])
    if copy.table in schema.rels:
        raise damaged(
            f"{where}: the table {copy.table} does not lead from {named[0]} to {named[1]}"
        )
    raise damaged(f"{where}: {SCHEMA} has no table {copy.table}; export the database again")


def _icebug(folder: Path, schema: Schema) -> list[Part]:
    """The files of an export of Ladybug: Parquet with the edges in CSR (icebug-disk)."""
    found = []
    for table in schema.nodes.values():
        file = ParquetFile(folder / f"nodes_{table.name}.parquet")
        found.append(Part(table, file, _by_name(file, table)))
    nodes = {part.table.name: part for part in found}
    for rel in schema.rels.values():
        if len(rel.ends) > 1:
            raise damaged(
                f"{folder / SCHEMA}: {rel.name} has several pairs of FROM and TO, which CSR cannot "
                "hold; export the database with Kuzu or Ladybug 0.15 to CSV or Parquet"
            )
        source, target = rel.ends[0]
        ends = schema.nodes[source], schema.nodes[target]
        path = folder / f"rels_{rel.name}.parquet"
        if path.exists():
            file = ParquetFile(path)
            found.append(Part(rel, file, _by_name(file, rel), ends))
            continue
        file = ParquetFile(folder / f"indices_{rel.name}.parquet")
        csr = Csr(
            file,
            ParquetFile(folder / f"indptr_{rel.name}.parquet"),
            (_keys(nodes[source]), _keys(nodes[target])),
        )
        found.append(Part(rel, file, _by_name(file, rel), ends, csr))
    return found


def _keys(part: Part) -> tuple[ParquetFile, int]:
    """File of a table of nodes, and the place of the key in it."""
    assert isinstance(part.table, NodeTable) and isinstance(part.file, ParquetFile)
    return part.file, part.places[part.table.key.name]


def _by_name(file: ParquetFile, table: NodeTable | RelTable) -> dict[str, int]:
    names = file.names()
    for column in table.columns:
        if column.name not in names:
            raise damaged(
                f"{file.path}: no column {column.name}, which {SCHEMA} has; export the database again"
            )
    return {column.name: names.index(column.name) for column in table.columns}
