"""Similarity of pairs of vertices by their common neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import ParameterError
from .lookups import Lookups, _Engine, _ids

if TYPE_CHECKING:
    import numpy as np

    from .queries import Id

    Pairs = Iterable[tuple[Id, Id]] | np.ndarray

#: The measures, and what each of them is.
MEASURES = {
    "jaccard": "common neighbours over all neighbours of either",
    "overlap": "common neighbours over the neighbours of the one that has fewer",
    "cosine": "common neighbours over the geometric mean of the numbers of neighbours",
    "adamic_adar": "the sum of 1 over the logarithm of the degree of each common neighbour",
    "resource_allocation": "the sum of 1 over the degree of each common neighbour",
}


class Similarities(Lookups):
    """Methods that tell how similar two vertices of an undirected graph are.

    Each takes ``pairs``, an array of shape ``(n, 2)`` of ids or an iterable of pairs, and the limits
    of every look-up (``engine``, ``memory``, ``threads``, ``timeout``). Each returns a ``float64``
    array of length ``n``. As in NetworkX, neither vertex of a pair is a common neighbour of the two,
    and a self-loop adds two to the degree of its vertex.

    All raise ``UnknownVertexError`` for ids that the graph does not have, ``ParameterError`` for
    pairs of another shape, and ``UnsupportedError`` for a directed graph.
    """

    def jaccard(
        self,
        pairs: Pairs,
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> np.ndarray:
        """Jaccard's coefficient: common neighbours over all neighbours of either; 0 without any."""
        return self._similarities("jaccard", pairs, engine, memory, threads, timeout)

    def overlap(
        self,
        pairs: Pairs,
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> np.ndarray:
        """Overlap: common neighbours over the neighbours of the one that has fewer; 0 without any."""
        return self._similarities("overlap", pairs, engine, memory, threads, timeout)

    def cosine(
        self,
        pairs: Pairs,
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> np.ndarray:
        """Cosine similarity (Salton): common neighbours over the root of the product of their numbers."""
        return self._similarities("cosine", pairs, engine, memory, threads, timeout)

    def adamic_adar(
        self,
        pairs: Pairs,
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> np.ndarray:
        """Index of Adamic and Adar: the sum of 1 over the logarithm of each common neighbour's degree.

        For a vertex and itself, a neighbour of degree 1 makes the index infinite.
        """
        return self._similarities("adamic_adar", pairs, engine, memory, threads, timeout)

    def resource_allocation(
        self,
        pairs: Pairs,
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> np.ndarray:
        """Resource allocation index: the sum of 1 over the degree of each common neighbour."""
        return self._similarities("resource_allocation", pairs, engine, memory, threads, timeout)

    def _similarities(
        self,
        measure: str,
        pairs: Pairs,
        engine: str,
        memory: int | str | None,
        threads: int | None,
        timeout: float | None,
    ) -> np.ndarray:
        sources, targets = _columns(pairs)
        call = self._call(engine, memory, threads, timeout)
        found: np.ndarray = _core.similarities(call, measure, _ids(sources), _ids(targets))
        return found


def _columns(pairs: Any) -> tuple[Any, Any]:
    """The sources and the targets of pairs."""
    if hasattr(pairs, "__array__"):
        import numpy as np

        array = np.asarray(pairs)
        if array.ndim != 2 or array.shape[1] != 2:
            raise ParameterError(
                f"pairs have the shape {array.shape}; give an array of shape (n, 2)"
            )
        return array[:, 0], array[:, 1]
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise ParameterError(f"{pairs!r} is no list of pairs; give pairs of two ids")
    found = [tuple(pair) if isinstance(pair, (list, tuple)) else (pair,) for pair in pairs]
    wrong = next((pair for pair in found if len(pair) != 2), None)
    if wrong is not None:
        raise ParameterError(f"{wrong!r} is no pair; give two ids")
    return [pair[0] for pair in found], [pair[1] for pair in found]
