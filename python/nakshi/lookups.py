"""Look-ups on any store: neighbours, degrees, edges, samples and paths of named vertices."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core
from .errors import ParameterError
from .limits import check_limits
from .property import Writable
from .result import optional_module
from .units import parse_size

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped]
    from typing_extensions import Self

    from ._core import EdgePairs, Neighborhood
    from .queries import Id

    Ids = Iterable[Id] | np.ndarray

__all__ = ["Direction", "Edges", "Lookups", "Neighbors"]

Direction = Literal["out", "in", "both"]
_Engine = Literal["auto", "memory", "ssd"]
#: Store, limits (engine, memory, threads, seconds) and properties, as the extension module takes them.
_Call = tuple[
    _core.Store, tuple[str, int | None, int | None, float | None], _core.Properties | None
]


class _ArrowSource:
    """A table in the extension module, as a consumer of the Arrow C stream protocol takes it."""

    _core: EdgePairs | Neighborhood

    def to_arrow(self) -> pa.Table:
        """The rows as a ``pyarrow.Table``. Needs pyarrow."""
        return optional_module("pyarrow", "to_arrow").table(self)

    def to_polars(self) -> pl.DataFrame:
        """The rows as a ``polars.DataFrame``. Needs polars."""
        frame: pl.DataFrame = optional_module("polars", "to_polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a ``pandas.DataFrame``. Needs pandas and pyarrow."""
        optional_module("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream of the rows (the Arrow PyCapsule interface).

        A consumer may ask for other types, and has to accept those of the stream.
        """
        return self._core.arrow_stream()


class Neighbors(_ArrowSource):
    """The neighbours of some vertices: two arrays, or a table of pairs.

    It unpacks into the arrays, ``offsets, targets = graph.neighbors(ids)``: the neighbours of
    ``ids[i]`` are ``targets[offsets[i]:offsets[i + 1]]``. Any consumer of the Arrow C stream protocol
    takes it as a table with a row for each pair, and the columns ``source`` and ``target``.

    Attributes:
        offsets: ``int64`` array of one entry more than there are ids.
        targets: ids of neighbours, as :class:`nakshi.Result` has ids.
    """

    _core: Neighborhood

    def __init__(self, core: Neighborhood) -> None:
        self._core = core
        self.offsets: np.ndarray = core.offsets()
        self._targets: np.ndarray | None = None

    @property
    def targets(self) -> np.ndarray:
        """Ids of all neighbours, those of each vertex one after the other."""
        if self._targets is None:
            self._targets = self._core.targets()
        return self._targets

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.offsets, self.targets))

    def __repr__(self) -> str:
        lists, pairs = len(self.offsets) - 1, int(self.offsets[-1])
        return f"<nakshi.Neighbors: {pairs:,} neighbours of {lists:,} vertices>"


class Edges(_ArrowSource):
    """Edges as arrays, or as a table.

    It unpacks into the arrays, ``sources, targets = graph.edges()``, and with weights into three. Any
    consumer of the Arrow C stream protocol takes it as a table with the columns ``source``, ``target``
    and, with weights, ``weight``.

    Attributes:
        weights: ``float64`` array, or ``None`` if no column was asked for.
    """

    _core: EdgePairs

    def __init__(self, core: EdgePairs) -> None:
        self._core = core
        self._ends: tuple[np.ndarray, np.ndarray] | None = None
        self.weights: np.ndarray | None = core.weights()

    @property
    def sources(self) -> np.ndarray:
        """Ids of the vertices at which the edges begin."""
        return self._arrays()[0]

    @property
    def targets(self) -> np.ndarray:
        """Ids of the vertices to which the edges lead."""
        return self._arrays()[1]

    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        if self._ends is None:
            self._ends = (self._core.sources(), self._core.targets())
        return self._ends

    def __len__(self) -> int:
        """Number of edges."""
        return len(self.sources)

    def __iter__(self) -> Iterator[np.ndarray]:
        weights = () if self.weights is None else (self.weights,)
        return iter((*self._arrays(), *weights))

    def __repr__(self) -> str:
        return f"<nakshi.Edges: {len(self):,} edges>"


class Lookups(Writable):
    """The look-ups of :class:`nakshi.Graph`, on stores with and without properties.

    Ids are those of the imported edges: integers of any size, text or bytes; one, or a list, a tuple, a
    NumPy array, a column of a data frame. An id that the graph does not have raises
    ``UnknownVertexError``, which names the first of them.

    The first look-up opens the index, the ids and a page cache, which stay open for the next ones.
    Every look-up takes these arguments:

    * ``engine``: ``"ssd"`` reads lists as they are needed, ``"memory"`` loads all of them first,
      ``"auto"`` (default) begins on the SSD and loads them once calls have read as much.
    * ``memory``: cap for what stays open and for the answer, as for algorithms; no cap by default.
      Another cap or engine than in the call before opens everything anew.
    * ``threads``: worker threads; all cores by default. Answers do not depend on it.
    * ``timeout``: seconds after which the call stops with ``DeadlineError``.

    On a store with properties look-ups see the last commit: lists that the log has changed are merged
    with it. They also see what other processes have committed before this handle loads its properties;
    afterwards :meth:`nakshi.Graph.refresh` reads it.
    """

    #: Edge lists with the weight that the last look-up named.
    _weighed: _core.Store | None = None

    def neighbors(
        self,
        ids: Id | Ids,
        direction: Direction = "out",
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Neighbors:
        """The neighbours of vertices: ``offsets, targets = graph.neighbors(ids)``.

        Args:
            ids: one id, or many; an id that stands there twice is answered twice.
            direction: ``"out"`` (default) along the edges, ``"in"`` against them, ``"both"``: first
                out, then in, so that a neighbour both ways is there twice. Undirected edges lead both
                ways, and all three are the same.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            ``offsets`` of shape ``(len(ids) + 1,)``, and ``targets``: those of ``ids[i]`` are
            ``targets[offsets[i]:offsets[i + 1]]``, in the order of the store's layout. Parallel edges
            count once.

        Raises:
            UnknownVertexError: ids that the graph does not have.
            BudgetError: ``memory`` is too small, also for the answer.
        """
        call = self._call(engine, memory, threads, timeout)
        return Neighbors(_core.neighbors(call, _ids(ids), _along(direction)))

    def sample_neighbors(
        self,
        ids: Id | Ids,
        k: int,
        seed: int = 0,
        replace: bool = False,
        direction: Literal["out", "in"] = "out",
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Neighbors:
        """Some neighbours of each vertex, drawn evenly.

        The lists of vertices with many neighbours are decoded only up to the last one drawn.

        Args:
            ids: one id, or many.
            k: neighbours of each vertex; without ``replace`` at most as many as it has.
            seed: of the draws, which depend on it and on the place of a vertex in ``ids``, not on
                threads or engine.
            replace: draw each time from all neighbours, so that one may come twice.
            direction: ``"out"`` (default) or ``"in"``.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            As :meth:`neighbors`.
        """
        if direction not in ("out", "in"):
            raise ParameterError(f"direction={direction!r} is not known; choose 'out' or 'in'")
        if isinstance(k, bool) or not 0 <= k < 1 << 32:
            raise ParameterError(f"k={k!r} cannot work; give a number of neighbours")
        if not 0 <= seed < 1 << 64:
            raise ParameterError(f"seed={seed!r} cannot work; give an integer from 0 to 2**64 - 1")
        call = self._call(engine, memory, threads, timeout)
        sampling = (int(k), int(seed), bool(replace))
        return Neighbors(_core.neighbors(call, _ids(ids), direction, sampling))

    def degree(
        self,
        ids: Id | Ids,
        direction: Direction = "out",
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Number of neighbours of vertices, without reading all of their lists.

        Args:
            ids: one id, or many.
            direction: ``"out"`` (default), ``"in"``, or ``"both"``, the sum of the two.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            An ``int`` for one id, else an ``int64`` array.
        """
        call = self._call(engine, memory, threads, timeout)
        found = _core.degrees(call, _ids(ids), _along(direction))
        return int(found[0]) if _is_one(ids) else found

    def has_edge(
        self,
        sources: Id | Ids,
        targets: Id | Ids,
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Whether edges lead from sources to targets.

        Args:
            sources: one id, or many.
            targets: one id, or as many.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            A ``bool`` for one pair, else an array of them.

        Raises:
            UnknownVertexError: ids that the graph does not have.
            ParameterError: numbers of sources and targets that differ.
        """
        call = self._call(engine, memory, threads, timeout)
        found = _core.has_edges(call, _ids(sources), _ids(targets))
        return bool(found[0]) if _is_one(sources) and _is_one(targets) else found

    def __contains__(self, id: object) -> bool:
        if not _is_one(id):
            raise ParameterError(f"{id!r} is no vertex id; give an int, str or bytes")
        return bool(_core.contains(self._call("auto", None, None, None), _ids(id))[0])

    def edges(
        self,
        ids: Id | Ids | None = None,
        direction: Direction = "out",
        weight: str | None = None,
        *,
        missing_weight: float | None = None,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Edges:
        """The edges of vertices, or all edges: ``sources, targets = graph.edges()``.

        Args:
            ids: one id, or many: the edges of each, one vertex after the other; by default of all
                vertices, ascending by source, and an undirected edge comes once. All edges of a graph
                larger than memory are for :func:`nakshi.export`.
            direction: of ``ids``: ``"out"`` (default), ``"in"``, or ``"both"``: first out, then in. A
                directed edge stands there as it leads, whichever end was asked for.
            weight: edge column, or edge property with numbers, whose values come along.
            missing_weight: value of edges that lack the property; refused by default.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            :class:`Edges`, which unpacks into ``sources, targets`` or, with ``weight``,
            ``sources, targets, weights``.
        """
        call = self._call(engine, memory, threads, timeout, weight, missing_weight)
        wanted = None if ids is None else _ids(ids)
        return Edges(_core.edges(call, wanted, _along(direction), weight))

    def subgraph(
        self,
        ids: Ids,
        path: str | os.PathLike[str] | None = None,
        *,
        weight: str | None = None,
        missing_weight: float | None = None,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Self:
        """The graph of some vertices and the edges between them, as a new store.

        Args:
            ids: the vertices; those without edges among them are vertices too.
            path: directory of the new store; by default a temporary one, which goes with the graph
                that is returned.
            weight: edge column, or edge property with numbers, that becomes the weight of the new
                graph; by default the only column there is. Other properties are not taken along.
            missing_weight: weight of edges that lack the property; refused by default.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            The new graph, opened. It has no properties.

        Raises:
            UnknownVertexError: ids that the graph does not have.
            StoreExistsError: ``path`` exists.
        """
        call = self._call(engine, memory, threads, timeout, weight, missing_weight)
        return self._cut(call, _ids(ids), path, None, "out", weight)

    def ego(
        self,
        id: Id,
        radius: int = 1,
        limit: int | None = None,
        direction: Direction = "out",
        path: str | os.PathLike[str] | None = None,
        *,
        weight: str | None = None,
        missing_weight: float | None = None,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Self:
        """The graph around a vertex: those within some edges of it, and the edges between them.

        Args:
            id: of the vertex in the middle.
            radius: edges from it, at most.
            limit: vertices, at most, nearest first; all by default.
            direction: in which edges are followed: ``"out"`` (default), ``"in"`` or ``"both"``.
            path, weight, missing_weight: as for :meth:`subgraph`.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            As :meth:`subgraph`.
        """
        if not _is_one(id):
            raise ParameterError(f"{id!r} is no vertex id; give an int, str or bytes")
        if isinstance(radius, bool) or not 0 <= radius < 1 << 63:
            raise ParameterError(f"radius={radius!r} cannot work; give a number of edges")
        if limit is not None and not 1 <= limit < 1 << 63:
            raise ParameterError(f"limit={limit!r} cannot work; give a number of vertices")
        reach = (radius, limit or (1 << 63) - 1)
        call = self._call(engine, memory, threads, timeout, weight, missing_weight)
        return self._cut(call, [id], path, reach, _along(direction), weight)

    def _cut(
        self,
        call: _Call,
        ids: Any,
        path: str | os.PathLike[str] | None,
        reach: tuple[int, int] | None,
        direction: str,
        weight: str | None,
    ) -> Self:
        """A new store of some vertices and the edges between them."""
        # Edge properties are weights only where one is named.
        columns = [] if self._core.has_properties else self._core.columns
        if weight is None and len(columns) > 1:
            raise ParameterError(f"which weights? name one with weight= ({', '.join(columns)})")
        if weight is None and columns:
            [weight] = columns
        folder = None
        if path is None:
            folder = tempfile.TemporaryDirectory(prefix="nakshi-", dir=Path(self._core.path).parent)
            path = Path(folder.name) / "subgraph.nakshi"
        _core.subgraph(call, os.fspath(path), ids, reach, direction, weight)
        graph = type(self)(path)
        graph._folder = folder
        return graph

    @overload
    def shortest_path(
        self,
        source: Id,
        target: Id,
        weight: None = None,
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> list[Id] | None: ...
    @overload
    def shortest_path(
        self,
        source: Id,
        target: Id,
        weight: str,
        *,
        missing_weight: float | None = None,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> tuple[list[Id] | None, float]: ...
    def shortest_path(
        self,
        source: Id,
        target: Id,
        weight: str | None = None,
        *,
        missing_weight: float | None = None,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> list[Id] | None | tuple[list[Id] | None, float]:
        """A shortest path along the edges, searched from both ends.

        Args:
            source: id of the first vertex.
            target: id of the last.
            weight: edge column, or edge property with numbers, with the lengths, of at least 0; by
                default the path has as few edges as possible, also where edges have weights.
            missing_weight: length of edges that lack the property; refused by default.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            The ids of the path, both ends included, or ``None`` if there is no path. With ``weight``
            the ids and the length: ``(None, inf)`` if there is no path.

        Raises:
            UnknownVertexError: ids that the graph does not have.
            ParameterError: no such column or property; a negative weight on the way.
        """
        _check_ends(source, target)
        call = self._call(engine, memory, threads, timeout, weight, missing_weight)
        found = _core.shortest_path(call, source, target, weight)
        if found is None:
            return None if weight is None else (None, float("inf"))
        path, length = found
        return path.tolist() if weight is None else (path.tolist(), length)

    def shortest_paths(
        self,
        source: Id,
        target: Id,
        k: int,
        weight: str | None = None,
        *,
        missing_weight: float | None = None,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> list[tuple[list[Id], float]]:
        """The k shortest paths that visit no vertex twice, the shortest first.

        Args:
            source: id of the first vertex.
            target: id of the last.
            k: paths at most.
            weight: edge column, or edge property with numbers, with the lengths, of at least 0; by
                default every edge has length 1.
            missing_weight: length of edges that lack the property; refused by default.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            The ids of each path, both ends included, and its length; fewer than ``k`` if there are no
            more. Of paths of the same length any may come first.

        Raises:
            UnknownVertexError: ids that the graph does not have.
            ParameterError: no such column or property; a negative weight on the way.

        J. Y. Yen, "Finding the k shortest loopless paths in a network", Management Science 17 (1971).
        """
        _check_ends(source, target)
        if k < 0:
            raise ParameterError(f"k={k} must be at least 0")
        call = self._call(engine, memory, threads, timeout, weight, missing_weight)
        found = _core.shortest_paths(call, source, target, k, weight)
        return [(path.tolist(), length) for path, length in found]

    def guided_path(
        self,
        source: Id,
        target: Id,
        potential: str | Any,
        weight: str | None = None,
        *,
        missing_weight: float | None = None,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> tuple[list[Id] | None, float]:
        """A shortest path by the A* algorithm, which looks first where least of the way may be left.

        The path is shortest if no potential is above the length of the shortest path from its vertex to
        the target. The nearer potentials are to that length, the fewer vertices are looked at.

        Args:
            source: id of the first vertex.
            target: id of the last.
            potential: a number for each vertex, in ascending order of the ids, as results have them; or
                the name of a node property that all vertices have. A vertex of which it is infinite is
                on no path.
            weight: edge column, or edge property with numbers, with the lengths, of at least 0; by
                default every edge has length 1.
            missing_weight: length of edges that lack the property; refused by default.
            engine, memory, threads, timeout: as for every look-up.

        Returns:
            The ids of the path, both ends included, and its length: ``(None, inf)`` if there is none.

        Raises:
            UnknownVertexError: ids that the graph does not have.
            ParameterError: no such column or property; a negative weight on the way; another number of
                potentials, or one that is no number.

        P. E. Hart, N. J. Nilsson, B. Raphael, "A formal basis for the heuristic determination of minimum
        cost paths", IEEE Transactions on Systems Science and Cybernetics 4 (1968).
        """
        import numpy as np

        _check_ends(source, target)
        potentials = self._potentials(potential) if isinstance(potential, str) else potential
        try:
            potentials = np.ascontiguousarray(potentials, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"potential= has something that is no number: {error}") from None
        if potentials.ndim != 1:
            raise ParameterError("potential= must be an array of one dimension")
        call = self._call(engine, memory, threads, timeout, weight, missing_weight)
        found = _core.guided_path(call, source, target, potentials, weight)
        if found is None:
            return None, float("inf")
        path, length = found
        return path.tolist(), length

    def _potentials(self, name: str) -> list[float]:
        """The values of a node property of all vertices, in ascending order of the ids."""
        graph: Any = self
        ids = graph.degrees(progress=False).to_numpy()[0].tolist()
        values: list[Any] = graph.get_node_properties(ids, name)
        for id, value in zip(ids, values):
            if value is None:
                raise ParameterError(f"the vertex {id!r} has no {name!r}; all need a potential")
        return values

    def _call(
        self,
        engine: str,
        memory: int | str | None,
        threads: int | None,
        timeout: float | None,
        weight: str | None = None,
        missing: float | None = None,
    ) -> _Call:
        """The first argument of a look-up in the extension module."""
        check_limits(engine, threads, timeout)
        cap = parse_size(memory)
        limits = (engine, cap, threads, timeout)
        if missing is not None and weight is None:
            raise ParameterError("missing_weight belongs to weights; name a property with weight=")
        if missing is not None or (weight is not None and self._core.has_properties):
            found = self._edge_lists(weight=weight, missing=missing, memory=cap, threads=threads)
            # The same handle serves the next look-up with this weight: its index stays open.
            if self._weighed is None or self._weighed.path != found.path:
                self._weighed = found
            return self._weighed, limits, None
        # Loading the properties may open the store anew.
        latest = self._latest(memory)
        return self._core, limits, latest

    def _edge_lists(
        self,
        *,
        weight: str | None = None,
        missing: float | None = None,
        memory: int | None = None,
        threads: int | None = None,
    ) -> _core.Store:
        raise NotImplementedError

    def _latest(self, memory: int | str | None) -> _core.Properties | None:
        """The properties, if look-ups may have to merge their changes with the edge lists."""
        if not self._core.has_properties:
            return None
        if self._properties is None:
            state = self._core.log_state()
            if state == "replaced":
                with self._loading:
                    self._core = _core.Store(self._core.path)
                state = self._core.log_state()
            if state == "nothing":
                return None
            self.load_properties(memory=memory, progress=False)
        return self._properties


def _along(direction: str) -> str:
    if direction not in ("out", "in", "both"):
        raise ParameterError(f"direction={direction!r} is not known; choose 'out', 'in' or 'both'")
    return direction


def _check_ends(*ends: object) -> None:
    for end in ends:
        if not _is_one(end):
            raise ParameterError(f"{end!r} is no vertex id; give an int, str or bytes")


def _is_one(ids: object) -> bool:
    """Whether an argument is one id."""
    if isinstance(ids, (str, bytes)):
        return True
    return hasattr(ids, "__index__") and not getattr(ids, "shape", ())


def _ids(ids: Any) -> Any:
    """Ids for the extension module: an array of 64-bit integers, or a list."""
    if _is_one(ids):
        return [ids]
    if not hasattr(ids, "__array__"):
        if not isinstance(ids, Iterable):
            kind = type(ids).__name__
            raise ParameterError(f"{ids!r} ({kind}) is no vertex id; give an int, str or bytes")
        return ids if isinstance(ids, (list, tuple)) else list(ids)
    import numpy as np

    array = np.asarray(ids)
    if array.ndim != 1:
        raise ParameterError(f"ids have the shape {array.shape}; give one id or one dimension")
    if array.dtype.kind == "i":
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "u":
        return np.ascontiguousarray(array, dtype=np.uint64)
    if array.dtype.kind in "fcbmM":
        raise ParameterError(f"ids have the type {array.dtype}; give integers, text or bytes")
    return array.tolist()
