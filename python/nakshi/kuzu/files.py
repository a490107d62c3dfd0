"""Files of an export of Kuzu, CSV and Parquet, as record batches whose columns are numbered."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import csv, parquet

from ..errors import StorageError
from .schema import damaged

__all__ = ["CsvFile", "File", "ParquetFile", "read_errors"]

#: Bytes of a CSV file that are read at once; no row may be longer.
_BLOCK = 8 << 20
_ROWS = 1 << 16
#: Options of copy.cypher that do not change what a file means.
_WITHOUT_EFFECT = {"parallel", "auto_detect", "sample_size", "from", "to"}
_MAGIC = b"PAR1"


class File:
    """A file with the rows of a table."""

    path: Path
    #: Whether its values are text.
    is_text: bool

    def types(self) -> list[pa.DataType]:
        """Types of the columns."""
        raise NotImplementedError

    def batches(self, columns: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of some of the columns, by their numbers.

        Raises:
            InputError: the file is damaged.
        """
        raise NotImplementedError


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Errors of reading a file, as errors that name it."""
    try:
        yield
    except FileNotFoundError:
        raise damaged(
            f"{path}: there is no such file, which a table needs; export the database again"
        ) from None
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(error.errno, error.strerror, str(path)) from None
        what = " ".join(str(error).split())
        raise damaged(f"{path}: {what}; export the database again") from None


@dataclass
class CsvFile(File):
    """A CSV file in the form that options of ``copy.cypher`` describe."""

    path: Path
    count: int
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    header: bool = False
    is_text = True

    @classmethod
    def of(cls, path: Path, count: int, options: Mapping[str, str], where: str) -> CsvFile:
        """A file with `count` columns.

        Raises:
            InputError: an option is unknown, or its value cannot be.
        """
        form: dict[str, Any] = {}
        for option, value in options.items():
            field = {"delim": "delimiter", "delimiter": "delimiter"}.get(option, option)
            if field == "header" and value in ("true", "false"):
                form[field] = value == "true"
            elif field in ("delimiter", "quote", "escape") and len(value.encode()) == 1:
                form[field] = value
            elif option not in _WITHOUT_EFFECT:
                raise damaged(f"{where}: unknown option {option}={value!r}; leave it out")
        return cls(path, count, **form)

    def types(self) -> list[pa.DataType]:
        return [pa.string()] * self.count

    def batches(self, columns: Sequence[int]) -> Iterator[list[pa.Array]]:
        names = [str(number) for number in range(self.count)]
        read = csv.ReadOptions(
            column_names=names, skip_rows=int(self.header), block_size=_BLOCK, use_threads=False
        )
        form = csv.ParseOptions(
            delimiter=self.delimiter, quote_char=self.quote, newlines_in_values=True
        )
        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=[str(column) for column in columns],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        with read_errors(self.path), self.path.open("rb") as file:
            if not self._has_rows(file):
                return
            rows: Any = file
            if self.escape != self.quote:
                rows = _Doubled(file, *(char.encode() for char in self._marks()))
            for batch in csv.open_csv(rows, read, form, convert):
                yield batch.columns

    def _marks(self) -> tuple[str, str, str]:
        return self.quote, self.escape, self.delimiter

    def _has_rows(self, file: io.BufferedReader) -> bool:
        """Returns whether there is a byte after the header, which has no line break."""
        if self.header:
            file.readline(_BLOCK)
        found = bool(file.read(1))
        file.seek(0)
        return found


class _Doubled(io.RawIOBase):
    """A CSV file in which quotes between quotes are doubled in place of escaped.

    Outside of quotes an escape character stands for itself, as Kuzu writes it.
    """

    def __init__(self, file: io.BufferedReader, quote: bytes, escape: bytes, delimiter: bytes):
        self._file, self._quote, self._escape = file, quote, escape
        self._end = re.compile(b"%s|\n|\r" % re.escape(delimiter))
        self._mark = re.compile(b"%s.|%s" % (re.escape(escape), re.escape(quote)), re.DOTALL)
        self._begins, self._quoted = True, False
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while True:
            block = self._file.read(max(1, size - len(self._rest)) if size >= 0 else _BLOCK)
            text, self._rest = self._rest + block, b""
            if not block:
                return text
            doubled = self._doubled(text)
            if doubled:
                return doubled

    def _doubled(self, text: bytes) -> bytes:
        pieces, at = [], 0
        while at < len(text):
            if not self._quoted and self._begins and text.startswith(self._quote, at):
                self._quoted, self._begins = True, False
                pieces.append(self._quote)
                at += 1
            elif not self._quoted:
                found = self._end.search(text, at)
                end = found.end() if found else len(text)
                self._begins = found is not None
                pieces.append(text[at:end])
                at = end
            else:
                at = self._inside(text, at, pieces)
        return b"".join(pieces)

    def _inside(self, text: bytes, at: int, pieces: list[bytes]) -> int:
        """Go on inside of quotes up to their next mark, and return the place behind it."""
        found = self._mark.search(text, at)
        if found is None:
            if text.endswith(self._escape):
                # The character that it escapes is in the next block.
                text, self._rest = text[:-1], self._escape
            pieces.append(text[at:])
            return len(text) + len(self._rest)
        pieces.append(text[at : found.start()])
        escaped = found.group()[1:]
        if not escaped:
            self._quoted = False
            pieces.append(self._quote)
        else:
            pieces.append(self._quote * 2 if escaped == self._quote else escaped)
        return found.end()


@dataclass
class ParquetFile(File):
    """A Parquet file."""

    path: Path
    is_text = False

    def names(self) -> list[str]:
        """Names of the columns."""
        return [str(name) for name in self._open().schema_arrow.names]

    def types(self) -> list[pa.DataType]:
        return list(self._open().schema_arrow.types)

    def rows(self) -> int:
        """Number of rows."""
        return int(self._open().metadata.num_rows)

    def batches(self, columns: Sequence[int]) -> Iterator[list[pa.Array]]:
        file = self._open()
        names = [file.schema_arrow.names[column] for column in columns]
        with read_errors(self.path):
            for batch in file.iter_batches(_ROWS, columns=names, use_threads=False):
                yield [batch.column(name) for name in names]

    def _open(self) -> parquet.ParquetFile:
        with read_errors(self.path):
            try:
                return parquet.ParquetFile(self.path)
            except OSError as error:
                if isinstance(error, FileNotFoundError):
                    raise
                footer = _repaired(self.path)
                if footer is None:
                    raise ValueError(str(error)) from None
                return parquet.ParquetFile(self.path, metadata=footer)


#: An integer of 64 bits in the schema of a footer: its type, its repetition, and its name follows.
_INT64_COLUMN = re.compile(b"\x15\x04%[\x00\x02\x04]\x18", re.DOTALL)
#: Field with the converted type behind the name: Kuzu's own SERIAL, and INT_64.
_SERIAL, _INT_64 = b"\x25\x2c", b"\x25\x24"


def _repaired(path: Path) -> Any:
    """The metadata of a file of Kuzu in which columns of the type SERIAL are ordinary integers.

    Kuzu writes a converted type (22) for them that Parquet does not have. ``None`` if the file has no
    such column.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if len(end) < 8 or end[4:] != _MAGIC or length > size - 8:
            return None
        file.seek(size - 8 - length)
        footer = bytearray(file.read(length))
    found = False
    for column in _INT64_COLUMN.finditer(bytes(footer)):
        at, name, shift = column.end(), 0, 0
        while at < len(footer):
            name |= (footer[at] & 0x7F) << shift
            shift += 7
            at += 1
            if footer[at - 1] < 0x80:
                break
        if footer[at + name : at + name + 2] == _SERIAL:
            footer[at + name : at + name + 2] = _INT_64
            found = True
    if not found:
        return None
    return parquet.read_metadata(io.BytesIO(_MAGIC + bytes(footer) + end))
