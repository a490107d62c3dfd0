"""Edges in memory (arrays, matrices, tables) as streams for the import."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Union

from . import _core
from .errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import sparray, spmatrix

__all__ = [
    "AdjacencyGraph",
    "ArrowStream",
    "Edges",
    "Nodes",
    "Input",
    "nodes_file",
    "pairs",
    "prepare",
    "stream",
    "vertices",
]


class AdjacencyGraph(Protocol):
    """A graph of NetworkX or igraph, as far as both are alike."""

    def is_directed(self) -> bool:
        """True if edges have a direction."""


class ArrowStream(Protocol):
    """A table of any library with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow C stream of the table."""


Column = Union["np.ndarray[Any, Any]", Sequence[int], Sequence[str], Sequence[float]]
Edges = Union[
    str,
    "os.PathLike[str]",
    Sequence[Union[str, "os.PathLike[str]"]],
    ArrowStream,
    AdjacencyGraph,
    tuple[Column, Column],
    tuple[Column, Column, Column],
    "np.ndarray[Any, Any]",
    "sparray",
    "spmatrix",
]
Nodes = Union[str, "os.PathLike[str]", ArrowStream, Column]

_FORMS = (
    "edges must be a path, a list of paths, a table with __arrow_c_stream__, a tuple of arrays "
    "(sources, targets[, weights]), an array of shape (n, 2) or (2, n), a SciPy sparse matrix or a graph of "
    "NetworkX or igraph"
)


class Input(NamedTuple):
    """Edges as the extension module takes them: files, a stream, and a sparse matrix."""

    paths: list[str]
    batches: _core.Batches | None = None
    csr: tuple[Any, Any, Any | None] | None = None


def prepare(edges: Any, options: dict[str, Any]) -> Input:
    """Classify the edges that a user gave; adds the columns that the input implies to `options`."""
    paths = _paths(edges)
    if paths is not None:
        return Input(paths)
    if _is_sparse(edges):
        return Input([], csr=_rows(edges, options))
    return Input([], batches=_edges(edges, options))


@contextmanager
def nodes_file(nodes: Any) -> Iterator[str | None]:
    """A file of vertices for the import; vertices in memory are written to a temporary file."""
    if nodes is None or _is_path(nodes):
        yield None if nodes is None else os.fspath(nodes)
        return
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        # Quoted as in RFC 4180, under the header of a list of vertices, so that any text is kept.
        file.write("id\n")
        for name in _ids(nodes):
            if "\n" in name or "\r" in name:
                raise ParameterError(
                    f"{name!r} has a line break, which no vertex of a list can have"
                )
            marked = name.replace('"', '""')
            file.write(f'"{marked}"\n')
        file.flush()
        yield file.name


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _paths(edges: Any) -> list[str] | None:
    if _is_path(edges):
        return [os.fspath(edges)]
    if isinstance(edges, (list, tuple)) and edges and all(map(_is_path, edges)):
        return [os.fspath(path) for path in edges]
    if isinstance(edges, (list, tuple)) and not edges:
        raise ParameterError(f"no edges given; {_FORMS}")
    return None


def _is_sparse(value: Any) -> bool:
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and bool(scipy.issparse(value))


def _rows(matrix: Any, options: dict[str, Any]) -> tuple[Any, Any, Any | None]:
    """Row pointers, columns and weights of a sparse matrix; every row is a vertex."""
    import numpy as np

    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ParameterError(
            f"a matrix of shape {matrix.shape} is no graph; it must be square, a row and a "
            "column for each vertex"
        )
    sound = _sound(matrix)
    if sound.format == "coo":
        starts, columns, data = _by_row(sound)
    else:
        compressed = sound.tocsr()
        starts, columns, data = compressed.indptr, compressed.indices, compressed.data
    weights = None
    if options.get("weighted"):
        weights = _array(data)
        if weights.dtype.kind == "u":
            weights = weights.astype(np.float64)
    return np.ascontiguousarray(starts), np.ascontiguousarray(columns), weights


def _by_row(matrix: Any) -> tuple[Any, Any, Any]:
    """Row pointers, columns and data of a matrix of coordinates.

    SciPy's conversion adds up entries in the same place; here they stay, and ``duplicates=`` decides.
    """
    import numpy as np

    order = np.argsort(matrix.row, kind="stable")
    counts = np.bincount(matrix.row, minlength=matrix.shape[0])
    starts = np.concatenate(([0], np.cumsum(counts)))
    return starts, matrix.col[order], matrix.data[order]


def _sound(matrix: Any) -> Any:
    """The same matrix, after a check of its index arrays.

    A user may have replaced the arrays since the matrix was made. SciPy's conversions trust them, and
    wrong ones make it read and write out of bounds. The columns of a row-compressed matrix are not
    checked here, because the import compares each with the number of rows.
    """
    import numpy as np
    import scipy.sparse

    kind = matrix.format
    if kind not in ("csr", "csc", "bsr", "coo"):
        return matrix
    places = (matrix.row, matrix.col) if kind == "coo" else (matrix.indices, matrix.indptr)
    if any(np.asarray(array).dtype.kind not in "iu" for array in places):
        raise ParameterError("the index arrays of a sparse matrix must hold integers")
    parts = (matrix.data, places) if kind == "coo" else (matrix.data, *places)
    try:
        sound = getattr(scipy.sparse, f"{kind}_array")(parts, shape=matrix.shape)
        if kind != "coo" and (sound.indptr[1:] < sound.indptr[:-1]).any():
            raise ValueError("indptr descends")
        if kind in ("csc", "bsr"):
            sound.check_format(full_check=True)
    except ValueError as error:
        raise ParameterError(f"the sparse matrix is damaged: {error}") from error
    return sound


def _edges(edges: Any, options: dict[str, Any]) -> _core.Batches:
    if hasattr(edges, "__arrow_c_stream__"):
        return stream(edges)
    arrays = _arrays(edges, bool(options.get("weighted")))
    if options.get("weighted") and len(arrays) < 3:
        raise ParameterError("weighted=True needs a third array with the weights")
    if not options.get("weighted") and len(arrays) > 2:
        raise ParameterError(
            "a third array of weights, which weighted=True reads; leave it out for edges without"
        )
    options["columns"] = list(_NAMES[: len(arrays)])
    return _batches(arrays)


#: Columns of edges that are given as arrays.
_NAMES = ("source", "target", "weight")


def pairs(edges: Any, weighted: bool = False) -> _core.Batches:
    """Edges in arrays as a table with the columns `source`, `target` and, if given, `weight`."""
    return _batches(_arrays(edges, weighted))


def vertices(nodes: Any) -> _core.Batches:
    """Ids in an array as a table with the column `id`."""
    return _core.Batches.from_arrays([("id", _array(nodes))])


def _batches(arrays: Sequence[Any]) -> _core.Batches:
    columns = [_array(array) for array in arrays]
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise ParameterError(
            f"arrays of {' and '.join(map(str, lengths))} values; sources, targets and weights "
            "must have one value an edge"
        )
    return _core.Batches.from_arrays(list(zip(_NAMES, columns)))


def stream(table: Any) -> _core.Batches:
    """A table with ``__arrow_c_stream__``, even if pandas would need pyarrow for it."""
    frame = _without_pyarrow(table)
    if frame is None:
        return _core.Batches.from_stream(table)
    return _core.Batches.from_arrays([(str(name), _array(frame[name])) for name in frame])


def _arrays(edges: Any, weighted: bool) -> list[Any]:
    if isinstance(edges, tuple) and len(edges) in (2, 3):
        return list(edges)
    import numpy as np

    if isinstance(edges, (np.ndarray, list)):
        table = np.asarray(edges)
        if table.ndim == 2 and _is_index(edges, table.shape, weighted):
            return list(edges if isinstance(edges, list) else table)
        if table.ndim == 2 and table.shape[1] in (2, 3):
            if isinstance(edges, list) and table.dtype.kind == "f":
                # Column by column, because weights would turn the ids beside them into floats.
                return [list(column) for column in zip(*edges)]
            return [table[:, column] for column in range(table.shape[1])]
        raise ParameterError(
            f"an array of shape {table.shape} holds no edges; an edge list is (n, 2), an edge index "
            "(2, n)"
        )
    raise ParameterError(f"{type(edges).__name__} given; {_FORMS}")


def _is_index(edges: Any, shape: tuple[int, int], weighted: bool) -> bool:
    """Returns True for a row of sources and one of targets, False for an edge a row.

    Raises:
        ParameterError: the shape fits both.
    """
    rows, columns = shape
    if rows != 2 or columns == 3 and weighted:
        return False
    if columns not in (2, 3):
        return True
    if isinstance(edges, list) and all(isinstance(edge, tuple) for edge in edges):
        return False
    raise ParameterError(
        f"edges of shape {shape} may be a list or an index; give tuple(edges) if its rows are sources "
        "and targets, tuple(zip(*edges)) or tuple(edges.T) if each row is an edge"
    )


def _array(values: Any) -> Any:
    """A contiguous array of a type that the import reads, or a list of texts."""
    import numpy as np

    array = np.asarray(values)
    if array.dtype.kind == "f" and not hasattr(values, "dtype") and all(map(_is_whole, values)):
        # NumPy turns a list of integers below zero and above 63 bits into floats.
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise ParameterError(f"arrays of edges have one dimension, not {array.ndim}")
    kind, width = array.dtype.kind, array.dtype.itemsize
    if kind in "US" or array.dtype == object:
        return [_text(value) for value in array.tolist()]
    if kind not in "iuf":
        raise ParameterError(f"dtype {array.dtype} cannot be imported; use integers or text")
    wide = {"i": "<i8", "u": "<u8", "f": "<f8"}[kind]
    keep = width in (4, 8) and array.dtype.isnative
    return np.ascontiguousarray(array if keep else array.astype(np.dtype(wide).newbyteorder("=")))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or getattr(getattr(value, "dtype", None), "kind", None) in (
        "i",
        "u",
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if _is_whole(value) and not isinstance(value, bool):
        return str(value)
    raise ParameterError(f"{value!r} is no vertex id; use integers or text")


def _ids(nodes: Any) -> list[str]:
    """Vertices of an array, or of the column `id` (else the first) of a table."""
    if hasattr(nodes, "columns") or hasattr(nodes, "column_names"):
        names = list(getattr(nodes, "column_names", None) or nodes.columns)
        nodes = nodes["id" if "id" in names else names[0]]
    array = _array(nodes)
    return [_text(name) for name in (array if isinstance(array, list) else array.tolist())]


def _without_pyarrow(table: Any) -> Any | None:
    """The table, if it is a pandas DataFrame that cannot stream because pyarrow is missing."""
    if type(table).__module__.partition(".")[0] != "pandas":
        return None
    try:
        import pyarrow  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        return table
    return None
