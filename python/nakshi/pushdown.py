"""Predicates of Polars, taken apart into conditions that a store answers itself.

A store may return more rows than a predicate lets through, and never fewer; Polars' own filter has
the last word.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import conditions
from .conditions import Where

if TYPE_CHECKING:
    import polars as pl

__all__ = ["conditions_of", "keys_of"]

_COMPARISONS: dict[Callable[[Any, Any], Any], tuple[Callable[[Any, Any], Any], Any]] = {
    operator.eq: (operator.eq, conditions.equals),
    operator.lt: (operator.gt, conditions.lt),
    operator.le: (operator.ge, conditions.le),
    operator.gt: (operator.lt, conditions.gt),
    operator.ge: (operator.le, conditions.ge),
}
#: Types of literals that can be compared with a property of a type.
_COMPARABLE: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
}


def keys_of(predicate: pl.Expr | None, column: str) -> list[Any] | None:
    """Values that a column must have one of, or ``None`` if the predicate does not say so."""
    found: set[Any] | None = None
    for part in _parts(predicate):
        values = _values(part, column)
        if values is not None:
            found = set(values) if found is None else found & set(values)
    return None if found is None else sorted(found)


def conditions_of(predicate: pl.Expr | None, types: Mapping[str, str]) -> dict[str, Where]:
    """Conditions on properties that every row of the predicate meets, by name.

    Args:
        predicate: expression of Polars.
        types: types of the properties.
    """
    found: dict[str, Where] = {}
    for part in _parts(predicate):
        for name, kind in types.items():
            condition = _condition(part, name, kind)
            if condition is not None:
                found[name] = condition if name not in found else found[name] & condition
    return found


def _parts(predicate: pl.Expr | None) -> list[pl.Expr]:
    """The expressions that a predicate joins by ``&``."""
    if predicate is None:
        return []
    ends = predicate.meta.pop()
    for left, right in _both_ways(ends):
        if (left & right).meta.eq(predicate):
            return [*_parts(left), *_parts(right)]
    return [predicate]


def _both_ways(ends: list[pl.Expr]) -> Iterable[tuple[pl.Expr, pl.Expr]]:
    return [(ends[0], ends[1]), (ends[1], ends[0])] if len(ends) == 2 else []


def _values(part: pl.Expr, column: str) -> list[Any] | None:
    """The values of ``column == value`` or ``column.is_in(values)``; null is none of them."""
    import polars as pl

    key = pl.col(column)
    for left, literal in _both_ways(part.meta.pop()):
        if not left.meta.eq(key) or not literal.meta.is_literal():
            continue
        if part.meta.eq(key == literal) or part.meta.eq(literal == key):
            return _some([pl.select(literal).item()])
        if part.meta.eq(key.is_in(literal)):
            given = pl.select(literal).item()
            return _some(given.to_list() if isinstance(given, pl.Series) else [given])
    return None


def _some(values: list[Any]) -> list[Any] | None:
    values = [value for value in values if value is not None]
    kinds = {type(value) for value in values}
    return values if kinds <= {int} or kinds <= {str} else None


def _condition(part: pl.Expr, name: str, kind: str) -> Where | None:
    import polars as pl

    key = pl.col(name)
    for left, literal in _both_ways(part.meta.pop()):
        if not left.meta.eq(key) or not literal.meta.is_literal():
            continue
        for compare, (mirrored, condition) in _COMPARISONS.items():
            if part.meta.eq(compare(key, literal)) or part.meta.eq(mirrored(literal, key)):
                value = pl.select(literal).item()
                if _fits(value, kind, compare):
                    found: Where = condition(float(value) if kind == "float" else value)
                    return found
    return None


def _fits(value: Any, kind: str, compare: Callable[[Any, Any], Any]) -> bool:
    if type(value) not in _COMPARABLE.get(kind, ()):
        return False
    if kind == "bool":
        return compare is operator.eq
    # To Polars NaN is above all numbers, and a store leaves it out of any comparison.
    return kind != "float" or (compare not in (operator.gt, operator.ge) and not math.isnan(value))
