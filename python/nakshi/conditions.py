"""Property values, and conditions that may stand in place of a value in queries."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Condition",
    "Property",
    "Where",
    "between",
    "contains",
    "equals",
    "ge",
    "gt",
    "is_null",
    "le",
    "lt",
    "one_of",
    "starts",
]

Scalar = (
    str
    | bytes
    | int
    | float
    | bool
    | datetime.date
    | datetime.datetime
    | datetime.time
    | datetime.timedelta
)
Property = Scalar | Sequence[Scalar] | None
"""A value of a property. Instants come back in UTC; the times of edges are milliseconds since 1970-01-01
00:00 UTC. A date or instant outside the years 1 to 9999 is an integer: days, or microseconds."""


@dataclass(frozen=True)
class Where:
    """A condition on a property, which may stand in place of a value.

    :func:`contains`, :func:`gt`, :func:`between` and the like return conditions. ``a & b`` and
    ``a | b`` combine two of them, and ``~a`` negates one: it also matches nodes and edges without
    the property, unless the condition is :func:`is_null`.
    """

    _parts: tuple[Any, ...]

    def __and__(self, other: Where) -> Where:
        return Where(("and", self._parts, _parts(other)))

    def __or__(self, other: Where) -> Where:
        return Where(("or", self._parts, _parts(other)))

    def __invert__(self) -> Where:
        return Where(("not", self._parts))

    def __bool__(self) -> bool:
        raise TypeError("a condition is neither true nor false; combine conditions by & | ~")


Condition = Property | Where
"""A condition on a property: a value, or a :class:`Where`. A list matches if any item matches."""


def _parts(condition: Where) -> tuple[Any, ...]:
    if not isinstance(condition, Where):
        raise TypeError(f"{condition!r} is no condition; write nakshi.equals({condition!r})")
    return condition._parts


def equals(value: Property) -> Where:
    """Condition that a property has a value: ``nakshi.equals("Bern") | nakshi.is_null()``."""
    return Where(("is", value))


def contains(pattern: str | bytes) -> Where:
    """Condition that a text contains a pattern: ``g.get_node_ids({"bio": nakshi.contains("rust")})``.

    Upper and lower case differ. Properties that were built ``searchable``, and all properties with
    ``layout="zipg"``, search their compressed text; for others a search reads every value.

    Args:
        pattern: text for a property of strings, bytes for a property of bytes. Every value contains
            the empty pattern; a node or an edge without a value never matches.
    """
    return Where(("contains", pattern))


def starts(prefix: str | bytes) -> Where:
    """Condition that a text starts with a prefix: ``{"name": nakshi.starts("An")}``."""
    return Where(("starts", prefix))


def gt(value: Scalar) -> Where:
    """Condition that a property is greater than a value: ``{"age": nakshi.gt(30)}``."""
    return Where(("range", value, False, None, False))


def ge(value: Scalar) -> Where:
    """Condition that a property is at least a value: ``{"age": nakshi.ge(30)}``."""
    return Where(("range", value, True, None, False))


def lt(value: Scalar) -> Where:
    """Condition that a property is less than a value: ``{"age": nakshi.lt(30)}``."""
    return Where(("range", None, False, value, False))


def le(value: Scalar) -> Where:
    """Condition that a property is at most a value: ``{"age": nakshi.le(30)}``."""
    return Where(("range", None, False, value, True))


def between(low: Scalar, high: Scalar) -> Where:
    """Condition that ``low <= property <= high``: ``{"age": nakshi.between(18, 30)}``."""
    return Where(("range", low, True, high, True))


def one_of(values: Iterable[Property]) -> Where:
    """Condition that a property has one of some values: ``{"city": nakshi.one_of(["Bern", "Ulm"])}``."""
    return Where(("in", *values))


def is_null() -> Where:
    """Condition that a node or an edge lacks a property; ``~nakshi.is_null()`` that it has one."""
    return Where(("null",))


def asked(properties: Mapping[str, Condition] | None) -> list[tuple[str, tuple[Any, ...]]]:
    """Name and parts of each condition."""
    return [
        (name, one._parts if isinstance(one, Where) else ("is", one))
        for name, one in (properties or {}).items()
    ]
