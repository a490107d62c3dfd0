"""Values of Kuzu's types as those that properties have."""

from __future__ import annotations

import json
import re
import struct
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from .schema import ColumnType

__all__ = ["Values", "as_read", "is_wide", "may_be_wide", "notes", "property_type"]

#: Types of properties by Kuzu's scalar types.
_SCALARS = {
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64", "SERIAL"), "int"),
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **dict.fromkeys(("BOOL", "BOOLEAN"), "boolean"),
    **dict.fromkeys(("STRING", "UUID", "JSON"), "string"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS"), "localdatetime"),
    "TIMESTAMP_SEC": "localdatetime",
    "TIMESTAMP_TZ": "datetime",
    "BLOB": "bytes",
    "DATE": "date",
    "TIME": "time",
    "INTERVAL": "duration",
}
#: Integers of which some have more than 63 bits.
_WIDE = ("UINT64", "INT128")
_NESTED = ("STRUCT", "MAP", "UNION")
#: Digits that a float keeps of any decimal number, and an integer.
_FLOAT_DIGITS, _INT_DIGITS = 15, 18
#: As Kuzu compares intervals, and its package for Python returns them.
_DAYS_OF_MONTH = 30
_DAY = 86_400_000_000

_ARROW = {
    "int": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "localdatetime": pa.timestamp("us"),
    "datetime": pa.timestamp("us", "UTC"),
    "duration": pa.duration("us"),
}


def property_type(type: ColumnType, wide: bool = False) -> str | None:
    """Type of the property that a column becomes, as headers name it; ``None`` if there is none.

    Args:
        type: type of the column.
        wide: numbers that only text keeps are among its values.
    """
    if type.name in _NESTED or type.lists > 1:
        return "string" if _is_known(type) else None
    scalar = _scalar(type, wide)
    return scalar if scalar is None else scalar + "[]" * type.lists


def _is_known(type: ColumnType) -> bool:
    return type.name in _NESTED or _scalar(type, False) is not None


def _scalar(type: ColumnType, wide: bool) -> str | None:
    if type.name == "DECIMAL":
        if not _is_decimal(type):
            return None
        digits, scale = _decimal(type)
        if scale == 0 and digits <= _INT_DIGITS:
            return "int"
        return "string" if wide else "float"
    if type.name in _WIDE:
        return "string" if wide else "int"
    return _SCALARS.get(type.name)


def _is_decimal(type: ColumnType) -> bool:
    """Returns True if digits and scale are numbers that Kuzu takes."""
    numbers = type.arguments[::2] or ("18", "3")
    return len(numbers) == 2 and all(re.fullmatch("[0-9]{1,2}", one) for one in numbers)


def _decimal(type: ColumnType) -> tuple[int, int]:
    """Digits of a decimal number, and those behind the point."""
    digits, scale = (int(number) for number in type.arguments[::2] or ("18", "3"))
    return digits, scale


def may_be_wide(type: ColumnType) -> bool:
    """Returns True if values of a type may be numbers that neither an int nor a float keeps."""
    if type.lists > 1 or property_type(type) is None:
        return False
    if type.name == "DECIMAL":
        return property_type(type) != "int" and _decimal(type)[0] > _FLOAT_DIGITS
    return type.name in _WIDE


def is_wide(type: ColumnType, values: pa.Array) -> bool:
    """Returns True if one of the values of a column is no int, or loses digits as a float.

    Raises:
        ValueError: a value is no decimal number.
    """
    if type.lists and pa.types.is_string(values.type):
        items = [item for text in values.to_pylist() if text for item in _items(text) if item]
        values = pa.array(items, pa.string())
    elif type.lists:
        values = values.flatten()
    if type.name == "DECIMAL":
        exact = pc.cast(values, pa.decimal128(*_decimal(type)))
        digits = (f"{number:f}" for number in exact.drop_null().to_pylist())
        return any(Decimal(number) != Decimal(repr(float(number))) for number in digits)
    try:
        pc.cast(values, pa.int64())
    except pa.ArrowInvalid:
        return True
    return False


def notes(where: str, type: ColumnType, wide: bool, text: bool) -> list[str]:
    """Sentences on what becomes of a column whose type has no counterpart.

    Args:
        where: name of the table and of the column.
        type, wide: as in :func:`property_type`.
        text: the file is CSV.
    """
    named = f"{where} ({type})"
    found = []
    if type.name in _NESTED or type.lists > 1:
        form = "text, as Kuzu writes it" if text else "text in JSON"
        found.append(f"{named} became {form}: properties have no such type")
    elif wide and type.name in _WIDE:
        found.append(f"{named} became text: integers of properties have 64 bits with a sign")
    elif type.name == "DECIMAL":
        found.append(f"{named} became {_scalar(type, wide)}: properties have no decimal numbers")
    if type.name == "UNION" and not text:
        found.append(f"{named}: Kuzu 0.11 writes values of a union empty to Parquet; export to CSV")
    if type.name == "STRING" and type.lists and text:
        found.append(
            f"{named}: in CSV Kuzu writes items without quotes, so one with a comma became several, "
            "and null an empty text; export to Parquet to keep them"
        )
    if type.name in ("FLOAT", "DOUBLE") and text:
        found.append(f"{named}: in CSV Kuzu writes six decimals; export to Parquet to keep all")
    if type.name == "INT128" and not text:
        found.append(
            f"{named} became float: Kuzu exports it so to Parquet; export to CSV for all digits"
        )
    if type.name == "TIMESTAMP_NS":
        found.append(f"{named} has microseconds: Kuzu exports no nanoseconds")
    return found


def as_read(declared: ColumnType, arrow: pa.DataType) -> ColumnType:
    """Type of a column of a Parquet file, where it differs from the one that the schema declares.

    Kuzu writes integers of 128 bits as floats. Other tools declare text for types that they do not
    know.
    """
    if declared.name == "INT128" and pa.types.is_floating(arrow):
        return ColumnType("DOUBLE", (), declared.lists)
    if declared.name != "STRING":
        return declared
    if _is_list(arrow):
        item = as_read(ColumnType("STRING"), arrow.value_type)
        return ColumnType(item.name, item.arguments, item.lists + 1)
    if pa.types.is_decimal(arrow):
        return ColumnType("DECIMAL", (str(arrow.precision), ",", str(arrow.scale)))
    if pa.types.is_timestamp(arrow):
        return ColumnType("TIMESTAMP_TZ" if arrow.tz else "TIMESTAMP")
    for name, matches in (
        ("BOOL", pa.types.is_boolean),
        ("INT64", pa.types.is_integer),
        ("DOUBLE", pa.types.is_floating),
        ("DATE", pa.types.is_date),
        ("TIME", pa.types.is_time),
        ("BLOB", pa.types.is_binary),
        ("STRUCT", pa.types.is_nested),
    ):
        if matches(arrow):
            return ColumnType(name)
    return declared


def _is_list(arrow: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(arrow)
        or pa.types.is_large_list(arrow)
        or pa.types.is_fixed_size_list(arrow)
    )


class Values:
    """Conversion of the values of one column.

    Attributes:
        type: type of the property, as headers name it.
        arrow: type of the arrays that the conversion returns.
        where: name of the table and of the column.
    """

    def __init__(
        self, where: str, type: ColumnType, header: str, text: bool, lost: Counter[str]
    ) -> None:
        self.type = header
        self.arrow = _arrow(header)
        self.where = where
        self._declared, self._text, self._lost = type, text, lost

    def converted(self, array: pa.Array) -> pa.Array:
        """The values, of the type :attr:`arrow`.

        Raises:
            ValueError: a value is none of the column's type.
        """
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        convert = self._from_text if self._text else self._from_arrow
        return convert(self.type, self._declared, array)

    def _lose(self, what: str, count: int) -> None:
        if count:
            self._lost[f"{self.where}: {what}"] += count

    def _from_text(self, header: str, type: ColumnType, array: pa.Array) -> pa.Array:
        if header.endswith("[]"):
            pieces = [None if text is None else _items(text) for text in array.to_pylist()]
            lists = pa.array(pieces, pa.list_(pa.string()))
            if type.name != "STRING":
                # Kuzu writes nothing for null.
                lists = self._without_nulls(_emptied(lists))
            return _mapped(lists, lambda items: self._from_text(header[:-2], type.item, items))
        if header == "bytes":
            return pa.array(map(_blob, array.to_pylist()), pa.binary())
        if header == "duration":
            return self._durations(map(_interval, array.to_pylist()))
        return pc.cast(array, _ARROW[header])

    def _from_arrow(self, header: str, type: ColumnType, array: pa.Array) -> pa.Array:
        if header.endswith("[]"):
            lists = pc.cast(array, pa.list_(array.type.value_type))
            lists = self._without_nulls(lists)
            return _mapped(lists, lambda items: self._from_arrow(header[:-2], type.item, items))
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if type.name == "UUID" and pa.types.is_fixed_size_binary(array.type):
            return pa.array(map(_uuid, array.to_pylist()), pa.string())
        if header == "duration" and pa.types.is_fixed_size_binary(array.type):
            return self._durations(map(_parquet_interval, array.to_pylist()))
        if header == "string" and pa.types.is_nested(array.type):
            return pa.array(map(_json, array.to_pylist(maps_as_pydicts="strict")), pa.string())
        return pc.cast(array, _ARROW[header])

    def _without_nulls(self, lists: pa.ListArray) -> pa.ListArray:
        """The lists without items that are null, which no list of a property has."""
        if lists.flatten().null_count == 0:
            return lists
        self._lose("items that are null, left out of lists", lists.flatten().null_count)
        kept = [
            None if items is None else [item for item in items if item is not None]
            for items in lists.to_pylist()
        ]
        return pa.array(kept, lists.type)

    def _durations(self, found: Iterable[tuple[int, int, int] | None]) -> pa.Array:
        lengths: list[int | None] = []
        for value in found:
            if value is None:
                lengths.append(None)
                continue
            months, days, microseconds = value
            self._lose("intervals whose months became 30 days each", months != 0)
            lengths.append((months * _DAYS_OF_MONTH + days) * _DAY + microseconds)
        return pa.array(lengths, pa.int64()).cast(pa.duration("us"))


def _arrow(header: str) -> pa.DataType:
    if header.endswith("[]"):
        return pa.list_(_ARROW[header[:-2]])
    return _ARROW[header]


def _mapped(lists: pa.ListArray, convert: Callable[[pa.Array], pa.Array]) -> pa.ListArray:
    """The lists with converted items."""
    items = convert(lists.flatten())
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pa.ListArray.from_arrays(offsets, items, mask=pc.is_null(lists))


def _emptied(lists: pa.ListArray) -> pa.ListArray:
    """The lists with null in place of empty texts."""

    def emptied(items: pa.Array) -> pa.Array:
        return pc.if_else(pc.equal(items, ""), pa.scalar(None, pa.string()), items)

    return _mapped(lists, emptied)


def _items(text: str) -> list[str]:
    """Items of a list as Kuzu writes it in CSV: between brackets, without quotes."""
    if not text.startswith("[") or not text.endswith("]"):
        raise ValueError(f"{text[:80]!r} is no list")
    inside = text[1:-1]
    return inside.split(",") if inside else []


def _blob(text: str | None) -> bytes | None:
    """Bytes as Kuzu writes them in CSV: ASCII, and ``\\xAA`` for all others."""
    if text is None:
        return None
    pieces = re.split(r"\\x([0-9A-Fa-f]{2})", text)
    plain, codes = pieces[::2], [*pieces[1::2], ""]
    return b"".join(
        one.encode("ascii") + bytes.fromhex(code) for one, code in zip(plain, codes, strict=True)
    )


_INTERVAL = re.compile(
    r"(?:(?P<years>-?\d+) years? ?)?(?:(?P<months>-?\d+) months? ?)?(?:(?P<days>-?\d+) days? ?)?"
    r"(?:(?P<sign>-?)(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)(?:\.(?P<part>\d{1,6}))?)?"
)


def _interval(text: str | None) -> tuple[int, int, int] | None:
    """Months, days and microseconds of an interval as Kuzu writes it in CSV."""
    if text is None:
        return None
    found = _INTERVAL.fullmatch(text)
    if not found or not text:
        raise ValueError(f"{text[:80]!r} is no interval")
    years, months, days, hours, minutes, seconds = (
        int(found[name] or 0) for name in ("years", "months", "days", "hours", "minutes", "seconds")
    )
    part = int((found["part"] or "").ljust(6, "0"))
    clock = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + part
    return 12 * years + months, days, -clock if found["sign"] else clock


def _parquet_interval(value: bytes | None) -> tuple[int, int, int] | None:
    """Months, days and microseconds of an interval of Parquet, which counts milliseconds."""
    if value is None:
        return None
    months, days, milliseconds = struct.unpack("<iii", value)
    return months, days, milliseconds * 1000


def _uuid(value: bytes | None) -> str | None:
    return None if value is None else str(uuid.UUID(bytes=value))


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, default=_shown)


def _shown(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
