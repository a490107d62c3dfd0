"""Values by vertex as a mapping on two arrays."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["VertexMapping", "row_of"]

#: Rows that are turned into Python objects at a time.
_CHUNK = 1 << 16


class VertexMapping(Mapping[Any, Any]):
    """A value for each vertex, read like a dict, in the order of the ids.

    The mapping takes 16 bytes a vertex where ids are integers. A look-up by an integer searches the
    ids by halves. Text ids are Python objects, and the first look-up by text makes a dict of them.
    """

    def __init__(self, ids: np.ndarray, values: np.ndarray) -> None:
        self._ids = ids
        self._values = values
        self._rows: dict[Any, int] | None = None

    def to_numpy(self) -> tuple[np.ndarray, np.ndarray]:
        """Ids, ascending, and values: two arrays of shape ``(len(self),)``."""
        return self._ids, self._values

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Any]:
        return _objects(self._ids)

    def __getitem__(self, node: Any) -> Any:
        row = self._row(node)
        if row < 0:
            raise KeyError(node)
        value = self._values[row]
        return value.item() if hasattr(value, "item") else value

    def __contains__(self, node: object) -> bool:
        return self._row(node) >= 0

    def values(self) -> ValuesView[Any]:
        """The values, in the order of the ids."""
        return _Values(self)

    def items(self) -> ItemsView[Any, Any]:
        """Pairs of id and value, in the order of the ids."""
        return _Items(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VertexMapping):
            import numpy as np

            return np.array_equal(self._ids, other._ids) and np.array_equal(
                self._values, other._values
            )
        if not isinstance(other, Mapping):
            return NotImplemented
        if len(self) != len(other):
            return False
        missing = object()
        return all(other.get(node, missing) == value for node, value in self.items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<nakshi.VertexMapping of {len(self):,} vertices>"

    def _row(self, node: Any) -> int:
        if self._ids.dtype != object:
            return row_of(self._ids, node)
        if self._rows is None:
            self._rows = {id: row for row, id in enumerate(self._ids.tolist())}
        try:
            return self._rows.get(node, -1)
        except TypeError:
            return -1


class _Values(ValuesView[Any]):
    _mapping: VertexMapping

    def __iter__(self) -> Iterator[Any]:
        return _objects(self._mapping._values)


class _Items(ItemsView[Any, Any]):
    _mapping: VertexMapping

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return zip(self._mapping, self._mapping.values())


def _objects(array: np.ndarray) -> Iterator[Any]:
    for start in range(0, len(array), _CHUNK):
        yield from array[start : start + _CHUNK].tolist()


def row_of(ids: np.ndarray, node: Any) -> int:
    """Place of an id among ascending integers, or -1."""
    import numpy as np

    if not isinstance(node, (int, np.integer)):
        return -1
    limits = np.iinfo(ids.dtype)
    if not limits.min <= node <= limits.max:
        return -1
    row = int(np.searchsorted(ids, ids.dtype.type(node)))
    return row if row < len(ids) and ids[row] == node else -1
