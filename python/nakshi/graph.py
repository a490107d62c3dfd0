"""A store opened for analysis, and the algorithms on it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Literal, Sequence, TypedDict, Union

from . import _core
from .errors import ParameterError
from .progress import ProgressArgument, reporting
from .result import Result
from .units import parse_size

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

__all__ = ["Graph", "Id", "Engine", "RunOptions"]

Id = Union[int, str, bytes]
"""A vertex as the imported edges named it."""
Engine = Literal["auto", "memory", "ssd"]


class RunOptions(TypedDict, total=False):
    """Keyword arguments that every algorithm takes.

    Attributes:
        engine: ``"memory"`` loads the compressed edge lists first, ``"ssd"`` reads them while the
            algorithm runs, ``"auto"`` (default) loads them if the budget allows.
        memory: cap for everything that the call keeps in memory (vertex state, index, buffers,
            caches), in bytes or as a string such as ``"256MiB"``; no cap by default. Too small a
            cap raises ``BudgetError``, which names the smallest that works.
        threads: worker threads; by default all cores that the process may use. Integer results
            are the same for any number of threads.
        timeout: seconds after which the call stops with ``DeadlineError``; none by default.
        progress: ``None`` (default) draws bars in a terminal or notebook and is silent elsewhere,
            ``True`` always draws, ``False`` never; or a callable
            ``(phase, done, total, unit)``.
    """

    engine: Engine
    memory: int | str | None
    threads: int | None
    timeout: float | None
    progress: ProgressArgument


class Graph:
    """A graph in a store on disk. Made by :func:`nakshi.open` or :func:`nakshi.build`.

    Opening reads the manifest only; edge lists stay on disk. One graph may be used from several
    threads, and after ``os.fork`` also in the child. It is a context manager::

        with nakshi.open("graph.nakshi") as graph:
            ranks = graph.pagerank(iterations=20, memory="256MiB")

    Every algorithm takes, besides its own arguments, those of :class:`RunOptions`, returns a
    :class:`Result` in the ids of the imported edges, and can be stopped by Ctrl-C.

    All algorithms raise ``BudgetError`` (``memory`` too small), ``UnknownVertexError`` (an id
    that the graph does not have), ``ParameterError`` (an argument that cannot work),
    ``CorruptError`` and ``StorageError`` (a damaged or unreadable store) and ``DeadlineError``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._core = _core.Store(os.fspath(path))

    @property
    def path(self) -> str:
        """Where the store is."""
        return self._core.path

    @property
    def num_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        return self._core.num_vertices

    @property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return self._core.num_edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._core.directed

    @property
    def weighted(self) -> bool:
        """Whether the edges carry a weight."""
        return bool(self.weights)

    @property
    def weights(self) -> list[str]:
        """Names of the edge columns that can serve as ``weight=``."""
        return self._core.columns

    @property
    def id_kind(self) -> Literal["int", "text"]:
        """Whether vertex ids are integers or text."""
        return "int" if self._core.integer_ids else "text"

    def info(self) -> dict[str, Any]:
        """What the store holds: counts, layout, files and sizes in bytes, format version."""
        return _object(self._core.info())

    def close(self) -> None:
        """Let go of the store's files; any further call raises ``StoreError``."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Graph], tuple[str]]:
        return Graph, (os.path.abspath(self.path),)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        counts = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges"
        return f"<nakshi.Graph {self.path!r}: {kind}, {counts}>"

    def bfs(self, *, source: Id, **run: Unpack[RunOptions]) -> Result:
        """Breadth-first search along out-edges from ``source``.

        Args:
            source: vertex to start from.

        Returns:
            ``level``: edges on a shortest path from the source (``uint32``; missing where
            unreachable). ``parent``: the vertex before it on such a path, the one with the
            smallest id if there are several; the source is its own parent; missing where
            unreachable. Summary: ``reached`` vertices, ``depth``.
        """
        return self.run("bfs", source=source, **run)

    def pagerank(
        self,
        *,
        damping: float | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        variant: Literal["pull", "delta"] | None = None,
        **run: Unpack[RunOptions],
    ) -> Result:
        """PageRank, normalised to sum 1, the rank of dangling vertices spread evenly.

        Args:
            damping: probability of following an edge; default 0.85.
            iterations: run exactly this many; by default it stops by ``tolerance``.
            tolerance: stop when the ranks change by less than this in sum (L1); default 1e-6.
            variant: ``"pull"`` reads in-edges in every iteration; ``"delta"`` (FlashGraph's)
                sends changes along out-edges of the vertices that still change.

        Returns:
            ``rank`` (``float64``, sums to 1). Summary: ``iterations``, ``residual``.
        """
        return self.run(
            "pagerank",
            damping=damping,
            iterations=iterations,
            tolerance=tolerance,
            variant=variant,
            **run,
        )

    def wcc(self, **run: Unpack[RunOptions]) -> Result:
        """Weakly connected components: the direction of edges is ignored.

        Returns:
            ``component``: the smallest vertex id of the component. Summary: ``components``,
            ``largest`` (vertices in it).
        """
        return self.run("wcc", **run)

    def sssp(
        self,
        *,
        source: Id,
        weight: str | None = None,
        delta: float | None = None,
        **run: Unpack[RunOptions],
    ) -> Result:
        """Shortest paths along out-edges from ``source`` by non-negative weights.

        Args:
            source: vertex to start from.
            weight: edge column to use; by default the store's only one, or weight 1 for every
                edge in a store without weights.
            delta: width of the buckets in units of the weight; chosen from the weights by default.

        Returns:
            ``distance``: sum of weights on a shortest path (missing where unreachable).
            Summary: ``reached`` vertices, ``farthest`` distance.

        Raises:
            ParameterError: a negative or NaN weight, or no such column.
        """
        return self.run("sssp", source=source, weight=weight, delta=delta, **run)

    def betweenness(
        self,
        *,
        sources: Sequence[Id] | None = None,
        samples: int | None = None,
        seed: int | None = None,
        **run: Unpack[RunOptions],
    ) -> Result:
        """Betweenness centrality (Brandes) by unweighted shortest paths.

        Args:
            sources: sum over shortest paths from these vertices only.
            samples: sum over this many random sources instead.
            seed: of the random choice; the same seed gives the same sources.
                With neither ``sources`` nor ``samples`` every vertex is a source: exact, and
                expensive.

        Returns:
            ``centrality`` (``float64``): the sum of pair dependencies, not normalised. In an
            undirected graph every pair is counted once for each of its ends that is a source.
        """
        return self.run("bc", sources=_ids(sources), samples=samples, seed=seed, **run)

    def triangles(self, **run: Unpack[RunOptions]) -> Result:
        """Triangles, with edges taken as undirected; self-loops and duplicates never count.

        Returns:
            ``triangles`` (``uint64``): how many contain the vertex. Summary: ``triangles`` in all.
        """
        return self.run("triangles", **run)

    def scan_statistics(self, **run: Unpack[RunOptions]) -> Result:
        """Scan statistic: the vertex whose closed neighbourhood has most edges inside.

        Vertices are tried by descending degree, and the search stops as soon as no other can win.

        Returns:
            Summary: ``vertex`` (the winner, smallest id on a tie) and ``edges`` among it and its
            neighbours; no value per vertex.
        """
        return self.run("scan-statistics", **run)

    def diameter(
        self,
        *,
        sweeps: int | None = None,
        source: Id | None = None,
        **run: Unpack[RunOptions],
    ) -> Result:
        """Estimate of the diameter by double sweeps, along edges in both directions.

        Args:
            sweeps: breadth-first searches, each from the farthest vertex of the one before.
            source: where the first one starts; by default the vertex with most edges.

        Returns:
            Summary: ``diameter`` (a lower bound, in edges); no value per vertex.
        """
        return self.run("diameter", sweeps=sweeps, source=source, **run)

    def apsp(
        self,
        *,
        sources: Sequence[Id] | None = None,
        samples: int | None = None,
        seed: int | None = None,
        **run: Unpack[RunOptions],
    ) -> Result:
        """Distances from many sources at once, up to 128 in one traversal.

        Args:
            sources: vertices to start from.
            samples: start from this many random vertices instead.
            seed: of the random choice.

        Returns:
            One value a vertex about the sources that reach it, and the distribution of distances
            in the summary.
        """
        return self.run("apsp", sources=_ids(sources), samples=samples, seed=seed, **run)

    def cdlp(self, *, iterations: int | None = None, **run: Unpack[RunOptions]) -> Result:
        """Communities by synchronous label propagation (LDBC Graphalytics).

        Args:
            iterations: rounds; default 10.

        Returns:
            ``label``: the community, named by one of the vertex ids; ties go to the smallest id.
        """
        return self.run("cdlp", iterations=iterations, **run)

    def lcc(self, **run: Unpack[RunOptions]) -> Result:
        """Local clustering coefficient (LDBC Graphalytics); self-loops never count.

        Returns:
            ``coefficient`` (``float64``): edges between neighbours, over the pairs of neighbours.
            Summary: ``average``.
        """
        return self.run("lcc", **run)

    def run(
        self,
        algorithm: str,
        *,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        progress: ProgressArgument = None,
        **parameters: Any,
    ) -> Result:
        """Run an algorithm by its name on the command line, such as ``"scan-statistics"``.

        The named methods do the same with documented arguments. Arguments that are ``None`` take
        the algorithm's default.
        """
        _check_run(engine, threads, timeout)
        with reporting(progress, algorithm) as sink:
            core = self._core.run(
                algorithm,
                _parameters(parameters),
                engine=engine,
                memory=parse_size(memory),
                threads=threads,
                timeout=timeout,
                progress=sink,
            )
        return Result(core)

    def estimate(
        self, algorithm: str, *, threads: int | None = None, **parameters: Any
    ) -> dict[str, Any]:
        """Memory that a run would need, told without running it.

        Args:
            algorithm: name as on the command line, such as ``"pagerank"``.
            threads: worker threads of the planned run.
            parameters: arguments of the planned run.

        Returns:
            ``minimum``: smallest ``memory=`` that works, edge lists on the SSD; ``in_memory``:
            budget with which they are loaded; ``parts``: what the minimum consists of. Bytes.
        """
        _check_run("auto", threads, None)
        return _object(self._core.estimate(algorithm, _parameters(parameters), threads=threads))


def _check_run(engine: str, threads: int | None, timeout: float | None) -> None:
    if engine not in ("auto", "memory", "ssd"):
        raise ParameterError(f"engine={engine!r} is not known; choose 'auto', 'memory' or 'ssd'")
    if threads is not None and not (isinstance(threads, int) and 1 <= threads <= 1024):
        raise ParameterError(f"threads={threads!r} cannot work; give a number from 1 to 1024")
    if timeout is not None and not timeout > 0:
        raise ParameterError(f"timeout={timeout!r} cannot work; give seconds above 0")


def _ids(sources: Sequence[Id] | None) -> list[Id] | None:
    """A list; a lone string would otherwise pass as a sequence of one-letter ids."""
    if sources is None:
        return None
    if isinstance(sources, (str, bytes, int)):
        raise ParameterError(f"sources must be a list of vertices; write [{sources!r}]")
    return list(sources)


def _parameters(parameters: dict[str, Any]) -> str:
    """Arguments as JSON; NumPy numbers become Python's, ``None`` is left to the default."""
    given = {
        name: value for name, value in parameters.items() if value is not None
    }
    try:
        return json.dumps(given, default=_plain)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"an argument has a value of a wrong type: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} ({type(value).__name__})")


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    assert isinstance(value, dict)
    return value
