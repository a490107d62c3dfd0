"""A store opened for analysis, and the algorithms on it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .condensation import Condensations
from .conversions import Conversions
from .declared import DECLARATIONS, with_implied
from .errors import DeadlineError, NakshiError, ParameterError, UnsupportedError
from .limits import check_limits
from .methods import Algorithms
from .orders import Order
from .programs import Program, run_on
from .progress import ProgressArgument, reporting
from .queries import Id
from .result import Result
from .schema import EXACT, Schema, of_properties, of_topology
from .units import parse_share, parse_size

if TYPE_CHECKING:
    from typing_extensions import Self

    from . import _core

__all__ = ["At", "Graph", "Id", "Engine", "Order", "RunOptions"]

Engine = Literal["auto", "memory", "ssd"]
At = Literal["last_commit", "last_compaction"]
"""The state of a graph with properties: after its last commit, or as its last compaction left it."""


class RunOptions(TypedDict, total=False):
    """Keyword arguments that every algorithm takes.

    Attributes:
        engine: ``"memory"`` loads the compressed edge lists first, ``"ssd"`` reads them while the
            algorithm runs, ``"auto"`` (default) loads them if the budget allows.
        memory: memory cap for everything that the call keeps (vertex state, index, buffers,
            caches), in bytes or as a string such as ``"256MiB"``; no cap by default. A cap that is
            too small raises ``BudgetError``, which names the smallest that works.
        threads: worker threads; by default all cores that the process may use. Integer results
            are the same for any number of threads.
        timeout: seconds after which the call stops with ``DeadlineError``; none by default.
        selective: read only the pages of selected lists, as the engines of the papers do, without
            heads in memory and whole chunks; for experiments.
        static_cache: keep the lists of the store's plan in memory; see :meth:`Graph.cache_plan`.
            ``memory`` must have room for them.
        at: of a graph with properties: ``"last_commit"`` (default), for which the edge lists are
            brought up to date first where the log has changes, within ``memory`` and in a temporary
            store; or ``"last_compaction"``, the edge lists in the files as they are.
            ``stats["topology"]`` says which it was, and the seconds that it took.
        missing_weight: the weight of edges that lack the property which ``weight=`` names; without it
            such an edge is an error. ``stats["topology"]`` counts them.
        progress: ``None`` (default) draws bars in a terminal or notebook and is silent elsewhere,
            ``True`` always draws, ``False`` never; or a callable
            ``(phase, done, total, unit)``.
    """

    engine: Engine
    memory: int | str | None
    threads: int | None
    timeout: float | None
    selective: bool
    static_cache: bool
    at: At
    missing_weight: float | None
    progress: ProgressArgument


class Graph(Algorithms, Conversions, Condensations):
    """A graph in a store on disk. Made by :func:`nakshi.open` or :func:`nakshi.build`.

    Opening reads the manifest only; edge lists stay on disk. One graph may be used from several
    threads, and after ``os.fork`` also in the child. It is a context manager::

        with nakshi.open("graph.nakshi") as graph:
            ranks = graph.pagerank(iterations=20, memory="256MiB")

    Every algorithm takes, besides its own arguments, those of :meth:`run`, returns a
    :class:`Result` in the ids of the imported edges, and can be stopped by Ctrl-C.

    Inside:

    - what it is: ``path``, ``num_vertices``, ``num_edges``, ``directed``, ``weighted``, ``weights``,
      ``info``, ``schema``; ``is_directed`` and ``is_multigraph`` for NetworkX
    - algorithms: ``apsp``, ``article_rank``, ``articulation_points``, ``assortativity``,
      ``betweenness``, ``bfs``, ``bridges``, ``cdlp``, ``closeness``, ``coloring``,
      ``dag_longest_path``, ``degrees``, ``densest_subgraph``, ``diameter``, ``eccentricity``,
      ``eigenvector``, ``fastrp``, ``gee``, ``harmonic``, ``hits``, ``k_core``, ``k_truss``,
      ``katz``, ``label_propagation``, ``lcc``, ``leiden``, ``louvain``, ``matching``, ``mis``,
      ``pagerank``, ``personalized_pagerank``, ``power_law``, ``rich_club``, ``scan_statistics``,
      ``scc``, ``similar``, ``spanning_forest``, ``sssp``, ``topological_sort``, ``triad_census``,
      ``triangles``, ``wcc``, ``weighted_matching``; ``run`` by name, ``estimate`` of memory,
      ``degree_distribution``
    - look-ups: ``neighbors``, ``sample_neighbors``, ``degree``, ``has_edge``, ``edges``,
      ``shortest_path``, ``shortest_paths``, ``guided_path``; ``subgraph`` and ``ego`` cut a graph
      out, ``condensation`` makes one of the strong components
    - similarity of pairs: ``jaccard``, ``overlap``, ``cosine``, ``adamic_adar``,
      ``resource_allocation``; ``random_walks``, ``node2vec``
    - ``query`` in Cypher
    - queries of properties: ``count``, ``get_node_property``, ``get_node_properties``, ``read_node_property``,
      ``get_node_ids``, ``get_neighbor_ids``, ``expand``, ``get_edge_record``, ``get_edge_range``,
      ``get_edge_data``, ``get_edge``, ``get_incoming_edges``, ``find_edges``, ``count_edges``;
      ``tao``, ``search``
    - changes: ``append_node``, ``update_node``, ``delete_node``, ``add_labels``,
      ``remove_labels``, ``append_edge``, ``delete_edge``, ``create_edge``, ``update_edge``,
      ``remove_edge``, ``change_type``, ``set_inverse``, ``write_back``; ``batch``,
      ``transaction``, ``transact``; ``snapshot``, ``refresh``; ``log``, ``apply``, ``log_bytes``
    - other graphs: ``project``, ``relayout``, ``to_networkx``, ``to_igraph``, ``to_scipy_sparse``;
      ``write_graph`` for drawing programs; ``plot`` a neighbourhood
    - maintenance: ``freeze``, ``compact``, ``load_properties``, ``release``, ``close``, ``layout_cost``,
      ``cache_plan``

    All algorithms raise ``BudgetError`` (``memory`` too small), ``UnknownVertexError`` (an id
    that the graph does not have), ``ParameterError`` (an argument that cannot work),
    ``CorruptError`` and ``StorageError`` (a damaged or unreadable store) and ``DeadlineError``.
    """

    #: NetworkX gives its calls on a store to the backend of this name.
    __networkx_backend__ = "nakshi"

    @property
    def path(self) -> str:
        """Path of the store."""
        return os.fspath(self._core.path)

    @property
    def num_vertices(self) -> int:
        """Number of vertices, isolated ones included; with properties, after the last commit."""
        counts = self._counts()
        return self._core.num_vertices if counts is None else counts["vertices"]

    @property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge counts once. With properties, after the last commit, and
        each of the edges between two nodes counts.
        """
        counts = self._counts()
        return self._core.num_edges if counts is None else counts["edges"]

    def _counts(self) -> dict[str, int] | None:
        """Commit, vertices and edges of a graph with properties."""
        text = self._core.counts(self._properties)
        found: dict[str, int] | None = None if text is None else json.loads(text)
        return found

    @property
    def directed(self) -> bool:
        """True if edges have a direction."""
        return self._core.directed

    def is_directed(self) -> bool:
        """The same as :attr:`directed`, as NetworkX asks for it."""
        return self.directed

    def is_multigraph(self) -> bool:
        """False: NetworkX's calls on a store do not tell parallel edges apart by keys."""
        return False

    @property
    def weighted(self) -> bool:
        """True if the edges carry a weight."""
        return bool(self.weights)

    @property
    def weights(self) -> list[str]:
        """Names of the edge columns, or edge properties with numbers, that can serve as ``weight=``."""
        properties = self._properties
        return self._core.columns if properties is None else properties.weights()

    def info(self) -> dict[str, Any]:
        """Summary of the store: counts, layout, files and sizes in bytes, format version.

        Of a graph with properties ``vertices``, ``edges`` and ``commit`` are those after the last
        commit; ``last_compaction`` has those of the files, and all others are of the files too.
        """
        found = _object(self._core.info())
        counts = self._counts()
        if counts is not None:
            # The files may be others than those that were opened: a writer freezes its log.
            found = _object(type(self._core)(self._core.path).info()) | counts
        return found

    def schema(self, *, exact: int = EXACT, progress: ProgressArgument = None) -> Schema:
        """What the graph holds after its last commit: labels, types of edges, properties, with counts.

        Numbers of nodes by label and of edges by type are exact. ``print`` and notebooks show the
        schema as tables.

        Args:
            exact: distinct values of a property, and labels at the ends of edges, are counted if at most
                this many values have to be read for it; otherwise a sample estimates them, and the
                schema says so. A property with few distinct values is counted whatever the graph's size.
            progress: as for algorithms.

        Raises:
            ParameterError: a number of values below 0.
            BudgetError: the properties were loaded under a cap that is too small.
        """
        try:
            core = self._queries
        except UnsupportedError:
            return of_topology(self.info())
        return of_properties(core, self.directed, exact, progress)

    def close(self) -> None:
        """Close the store's files and release the writer's lock; later calls raise ``StoreError``.

        Snapshots stay usable.
        """
        self._core.close()
        self._weighed = None
        self._close_properties()
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Graph], tuple[str]]:
        return Graph, (os.path.abspath(self.path),)

    def __len__(self) -> int:
        return self.num_vertices

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        try:
            kind = "directed" if self.directed else "undirected"
            counts = f"{self.num_vertices:,} vertices, {self.num_edges:,} edges"
        except NakshiError:
            return f"<nakshi.Graph {self.path!r}: closed>"
        return f"<nakshi.Graph {self.path!r}: {kind}, {counts}>"

    def layout_cost(
        self,
        *,
        weight: str | None = None,
        at: At = "last_commit",
        missing_weight: float | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Measure the vertex order of the store; reads all out-lists once.

        Args:
            weight: edge column, or edge property with numbers, for the linear arrangement; 1 for every
                edge by default.
            at, missing_weight: as for algorithms (:class:`RunOptions`).
            memory: memory cap; a cap that is too small fails at once, with the smallest that works.
            threads: worker threads; all cores by default. Does not change the figures.
            progress: as for algorithms.

        Returns:
            ``layout``; ``linear_arrangement``, the sum over all edges of the weight times the
            distance between the positions of the two ends (Bondhu), and
            ``linear_arrangement_per_vertex``; ``norder``, the sum over all vertices of the
            in-degree times the variance of the neighbours' positions; ``pages_per_neighbourhood``,
            the mean number of pages in which the lists of a vertex's neighbours begin;
            ``list_bytes``, ``bytes_per_entry``, and ``log2_gap``, the mean between neighbours. Of a graph
            with properties also ``topology``, as in ``stats`` of a :class:`Result`.
        """
        cap = parse_size(memory)
        with reporting(progress, "cost") as sink:
            core = self._edge_lists(
                at, weight=weight, missing=missing_weight, memory=cap, threads=threads, sink=sink
            )
            text = core.layout_cost(weight, (cap, threads), progress=sink)
        costs: dict[str, Any] = json.loads(text)
        return costs | core.told()

    def _edge_lists(
        self,
        at: At = "last_commit",
        *,
        weight: str | None = None,
        weighs: bool = False,
        missing: float | None = None,
        memory: int | None = None,
        threads: int | None = None,
        sink: Any = None,
    ) -> _core.Store:
        """The edge lists that a call runs on, brought up to date if need be."""
        if at not in ("last_commit", "last_compaction"):
            raise ParameterError(
                f"at={at!r} is not known; choose 'last_commit' or 'last_compaction'"
            )
        request = {"at": at, "weight": weight, "weighs": weighs, "missing": missing}
        if missing is not None and not self._core.has_properties:
            raise ParameterError(
                "missing_weight belongs to edge properties, and this store has none; leave it out"
            )
        return self._core.edge_lists(
            self._properties, json.dumps(request), (memory, threads), progress=sink
        )

    def cache_plan(
        self,
        size: float | str = "20%",
        *,
        iterations: int | None = None,
        select: Literal["levels", "gvs", "highd", "lowd", "random"] = "levels",
        seed: int | None = None,
        like: str | os.PathLike[str] | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        progress: ProgressArgument = None,
    ) -> dict[str, Any]:
        """Choose edge lists to keep in memory, and write the plan into the store's directory.

        Runs with ``static_cache=True`` load these lists before they start. The plan belongs to this
        store and its layout; small changes of the edges do not spoil it.

        Args:
            size: share of the bytes of all lists, such as ``"20%"`` or ``0.2``.
            iterations: iterations of Greedy Vertex Selection; default 50.
            select: how lists are charged with the pages that they waste: ``"levels"`` by the
                levels of sampled searches, ``"gvs"`` by neighbourhoods (BASC, USENIX ATC 2019).
                For comparison, ``"highd"`` and ``"lowd"`` take the lists of the largest or the
                smallest degree, and ``"random"`` takes any.
            seed: seed of ``"levels"`` and ``"random"``; default 1.
            like: another store, such as yesterday's of the same graph, whose plan is taken over by
                ids; ``size`` and the other arguments have no effect then.
            memory: memory cap; a cap that is too small fails at once, with the smallest that works.
            threads: worker threads; all cores by default. Does not change the plan.
            progress: as for algorithms.

        Returns:
            ``store``, ``layout``, ``select``, ``iterations``, ``budget`` in bytes; the numbers of
            ``lists`` and ``bytes`` chosen; ``seconds``. Of a graph with properties also
            ``topology``: the plan is of the edge lists in the files, those of the last compaction,
            and runs after later commits take it over by ids.

        Raises:
            ParameterError: a size of 0 % or less or over 100 %.
            StorageError: the directory is not writable.
        """
        config = {
            "share": parse_share(size),
            "iterations": iterations,
            "select": select,
            "seed": seed,
            "like": None if like is None else os.fspath(like),
        }
        given = {name: value for name, value in config.items() if value is not None}
        with reporting(progress, "cache-plan") as sink:
            core = self._edge_lists("last_compaction")
            text = core.cache_plan(json.dumps(given), (parse_size(memory), threads), progress=sink)
        report: dict[str, Any] = json.loads(text)
        return report | core.told()

    def relayout(
        self,
        path: str | os.PathLike[str],
        order: Order = "auto",
        *,
        seed: int | None = None,
        by: Literal["in", "out", "total"] | None = None,
        depth: int | None = None,
        window: int | None = None,
        communities: int | None = None,
        level: int | None = None,
        model: Literal["uniform", "preferential", "overlap"] | None = None,
        sides: Literal["nearer", "alternate"] | None = None,
        like: str | os.PathLike[str] | None = None,
        weight: str | None = None,
        page_size: int | str | None = None,
        encoding: Literal["packed", "raw"] | None = None,
        stripes: Sequence[str | os.PathLike[str]] | None = None,
        memory: int | str | None = None,
        threads: int | None = None,
        progress: ProgressArgument = None,
    ) -> Graph:
        """Write the graph to a new store with its vertices in another order, and open the new store.

        Ids, weights, edges and properties stay the same; this store is only read. A store with
        properties is written in the state after the last commit, with an empty log. Nothing appears
        at ``path`` before the new store is complete.

        Args:
            path: directory to create; must not exist.
            order: ``"auto"`` (the one of ``original``, ``degree``, ``norder`` and ``bisection`` in
                which sampled searches read the fewest pages), ``"original"`` (by id), ``"random"``,
                ``"degree"`` (hubs first), ``"pagerank"``, ``"norder"`` (neighbours of hubs side by
                side), ``"gorder"`` (vertices with edges or sources in common within a window),
                ``"organ-pipe"`` (hubs in the middle), ``"bondhu-parcom"`` and ``"bondhu-modcom"``
                (communities by METIS or by modularity, placed greedily), ``"bisection"``
                (recursive bisection by the cost of a linear arrangement) or ``"extend"`` (as
                ``like``).
            seed: ``auto``, ``random``, ``bondhu-*``, ``bisection``: random seed; default 1.
            by: ``degree``: the edges that count; default ``"total"``.
            depth: ``norder``: depth of a search, in edges; default 2.
            window: ``gorder``: vertices in the window; default as many as have lists in a page.
            communities: ``bondhu-parcom``: number of communities, from 1 to the number of vertices;
                default one for a thousand vertices, and at least two.
            level: ``bondhu-modcom``: levels of merging; default as many as gain anything.
            model: ``bondhu-*``: weight of an edge: 1 or the column ``weight`` (``"uniform"``,
                default), the mean degree of its ends (``"preferential"``), or the number of
                their common neighbours plus 1 (``"overlap"``).
            sides: ``bondhu-*``: side of the next community: where its friends are (``"nearer"``,
                default), or left and right by turns, as in the thesis (``"alternate"``).
            like: ``extend``: an earlier store of the graph, whose order is kept; new vertices are
                placed beside their neighbours.
            weight: ``bondhu-*``, ``bisection``: edge column with weights.
            page_size, encoding: page size and encoding of the new store; by default those of this
                store.
            stripes: directories over which edge lists and weights are spread.
            memory: memory cap; by default 1 GiB for writing. ``gorder``, ``bondhu-*`` and
                ``bisection`` hold the graph in memory: a cap that is too small fails at once, with
                the smallest that works.
            threads: worker threads; all cores by default. Does not change the order.
            progress: as for algorithms.

        Raises:
            ParameterError: the order is unknown, or does not take a parameter.
            StoreExistsError: ``path`` exists.
            BudgetError, StorageError: not enough memory or disk; the directory is not writable.
        """
        request = {
            "order": order,
            "seed": seed,
            "by": by,
            "depth": depth,
            "window": window,
            "communities": communities,
            "level": level,
            "model": model,
            "sides": sides,
            "like": None if like is None else os.fspath(like),
            "weight": weight,
            "page_size": parse_size(page_size),
            "encoding": encoding,
            "stripes": None if stripes is None else [os.fspath(folder) for folder in stripes],
            "memory": parse_size(memory),
            "threads": threads,
        }
        self._relayout(path, request, progress)
        return Graph(path)

    def _relayout(
        self,
        path: str | os.PathLike[str],
        options: dict[str, Any],
        progress: ProgressArgument,
    ) -> dict[str, Any]:
        """Relayout with options as a dictionary and return the report, for the command line."""
        given = {name: value for name, value in options.items() if value is not None}
        limits = (given.pop("memory", None), given.pop("threads", None))
        written = ("page_size", "encoding", "stripes")
        output = {name: given.pop(name) for name in written if name in given}
        with reporting(progress, "layout") as sink:
            text = self._core.relayout(
                os.fspath(path), json.dumps(given), json.dumps(output), limits, progress=sink
            )
        report: dict[str, Any] = json.loads(text)
        return report

    def run(
        self,
        algorithm: str | Program,
        *,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
        **parameters: Any,
    ) -> Result:
        """Run an algorithm by its name on the command line, such as ``"scan-statistics"``, or a program.

        The named methods do the same with documented arguments. Arguments that are ``None`` take
        the algorithm's default.

        Args:
            algorithm: its name, which :func:`nakshi.algorithms` lists; or a :func:`nakshi.program`.
            engine: ``"memory"`` loads the compressed edge lists first, ``"ssd"`` reads them while
                the algorithm runs, ``"auto"`` loads them if ``memory`` allows.
            memory: cap for everything that the call adds to the memory of the process (vertex
                state, index, buffers, caches), in bytes or as text such as ``"256MiB"``; no cap by
                default. Too small a cap raises ``BudgetError``, which names one that works.
                ``stats["memory"]["peak_rss"]`` is of the whole process instead.
            threads: worker threads; by default all cores that the process may use. Integer results
                are the same for any number of threads.
            timeout: seconds after which the call stops with ``DeadlineError``; none by default.
            selective: read pages of selected lists only; for experiments.
            static_cache: keep the lists in memory that the plan of :meth:`cache_plan` names.
            progress: ``None`` draws bars in a terminal or notebook and is silent elsewhere,
                ``True`` always draws, ``False`` never; or a callable ``(phase, done, total, unit)``.
            parameters: those of the algorithm. Of a program: ``iterations`` (most steps), ``tolerance``,
                ``sources`` (ids of vertices that it asks for, or that send first), ``weight`` (the edge
                column of weights), arrays that it is given, numbers that it has defaults for, and
                ``jit=False`` to run it in the interpreter.

        Raises:
            ProgramError: a program cannot be compiled, or has failed; the message names its line.
        """
        check_limits(engine, threads, timeout)
        if isinstance(algorithm, Program):
            if selective or static_cache:
                raise ParameterError(
                    "a program reads all lists; selective and static_cache do not apply"
                )
            return run_on(
                self,
                algorithm,
                memory,
                progress,
                at=at,
                missing=missing_weight,
                engine=engine,
                threads=threads,
                timeout=timeout,
                **parameters,
            )
        core = self._run(
            algorithm,
            parameters,
            memory,
            progress,
            engine=engine,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
        )
        return Result(core)

    def _prepared_program(
        self, program: Program, given: dict[str, Any], weight: str | None, **chosen: Any
    ) -> tuple[_core.Store, str]:
        """The edge lists that a program runs on, and its description."""
        if weight is not None and not program.weighted:
            raise ParameterError(f"{program.name} reads no weights; leave out weight={weight!r}")
        if given.get("sources") is not None:
            given["sources"] = _vertices(given["sources"])
        if program.weighted and weight is None and self.weights and not self._core.has_properties:
            weight = self._only_weight()
        core = self._edge_lists(weight=weight, weighs=program.weighted, **chosen)
        weight = (core.weight or weight) if program.weighted else None
        return core, program.described(weight=weight, **given)

    def _run(
        self,
        algorithm: str,
        parameters: dict[str, Any],
        memory: int | str | None,
        progress: ProgressArgument,
        **options: Any,
    ) -> _core.Outcome:
        """Run an algorithm with the options of the extension module."""
        cap, timeout = parse_size(memory), options.pop("timeout", None)
        began = time.monotonic()
        with reporting(progress, algorithm) as sink:
            core, given = self._prepared(
                algorithm,
                parameters,
                at=options.pop("at", "last_commit"),
                missing=options.pop("missing_weight", None),
                memory=cap,
                threads=options.get("threads"),
                sink=sink,
            )
            if timeout is not None:
                left = timeout - (time.monotonic() - began)
                if left <= 0:
                    raise DeadlineError(
                        f"{algorithm} was stopped after {timeout} seconds, while edge lists were "
                        "brought up to date"
                    )
                timeout = left
            return core.run(algorithm, given, memory=cap, timeout=timeout, progress=sink, **options)

    def _prepared(
        self,
        algorithm: str,
        parameters: dict[str, Any],
        *,
        at: At = "last_commit",
        missing: float | None = None,
        memory: int | None = None,
        threads: int | None = None,
        sink: Any = None,
    ) -> tuple[_core.Store, str]:
        """The edge lists that an algorithm runs on, and its arguments as JSON."""
        given, weight, weighs = self._arguments(algorithm, parameters, missing)
        core = self._edge_lists(
            at,
            weight=weight,
            weighs=weighs,
            missing=missing,
            memory=memory,
            threads=threads,
            sink=sink,
        )
        if weighs and core.weight is not None:
            given["weight"] = core.weight
        if missing is not None and "weight" not in given:
            raise ParameterError("missing_weight belongs to weights; name a property with weight=")
        return core, _json(given)

    def estimate(
        self,
        algorithm: str,
        *,
        threads: int | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        memory: int | str | None = None,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Memory that a run would need, without running it; also that of a relayout or of properties.

        Args:
            algorithm: name as on the command line, such as ``"pagerank"``; ``"layout"`` for
                :meth:`relayout`, ``"properties"`` for :meth:`load_properties`.
            threads: worker threads of the planned run.
            selective: whether the run shall read selected pages only.
            static_cache: whether it shall keep the lists of the store's plan.
            at, missing_weight: as for the run; edge lists are brought up to date for it.
            memory: cap for that.
            parameters: arguments of the planned run; of ``"layout"`` the ``order`` and its own.

        Returns:
            Bytes: ``minimum``, the smallest ``memory=`` that works, with edge lists on the SSD;
            ``in_memory``, the budget from which on they are loaded; ``parts``, the parts of the
            minimum; ``lists``, the edge lists that the run reads, with weights. Of
            a graph with properties also ``topology``, as in ``stats`` of a :class:`Result`.
        """
        check_limits("auto", threads, None)
        if algorithm in ("layout", "properties"):
            return self._estimate_other(algorithm, threads, parameters)
        core, given = self._prepared(
            algorithm,
            parameters,
            at=at,
            missing=missing_weight,
            memory=parse_size(memory),
            threads=threads,
        )
        found = _object(
            core.estimate(
                algorithm, given, threads=threads, selective=selective, static_cache=static_cache
            )
        )
        found["parts"] = dict(found["parts"])
        return found | core.told()

    def _estimate_other(
        self, call: str, threads: int | None, parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Memory of a call that is no algorithm."""
        if call == "properties":
            if parameters:
                raise ParameterError(f"properties has no {', '.join(parameters)}")
            minimum, whole = self._core.estimate_properties()
            return {"minimum": minimum, "in_memory": whole, "parts": {"files": whole}, "lists": 0}
        request = {name: value for name, value in parameters.items() if value is not None}
        request.setdefault("order", "auto")
        found = _object(self._core.estimate_relayout(json.dumps(request), threads=threads))
        found["parts"] = dict(found["parts"])
        return found

    def _arguments(
        self, algorithm: str, parameters: dict[str, Any], missing: float | None
    ) -> tuple[dict[str, Any], str | None, bool]:
        """As :meth:`_given`, with the edge property that is named as the weight."""
        given, weighs = self._given(algorithm, parameters)
        weight = given.get("weight") if _weighs(algorithm) else None
        if missing is not None and not (weighs or weight):
            raise ParameterError(
                f"missing_weight belongs to weights, and {algorithm} reads none here"
            )
        return given, weight, weighs

    def _given(self, algorithm: str, parameters: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Arguments with the values that they imply; ``None`` leaves an argument to its default.

        Also returns true if the usual edge property shall be the weight, where there is one.
        """
        given = with_implied(algorithm, parameters)
        declared = DECLARATIONS.get(algorithm)
        for one in declared.parameters if declared is not None else ():
            if one.kind == "vertex" and one.name in given:
                given[one.name] = _vertex(given[one.name])
            if one.kind == "vertices" and one.name in given:
                given[one.name] = _vertices(given[one.name], one.name)
        unit = _weighs(algorithm) and given.pop("unit", False)
        if not _weighs(algorithm) or unit or "weight" in given:
            return given, False
        if self._core.has_properties:
            return given, True
        if self.weights:
            given["weight"] = self._only_weight(", or unit=True")
        return given, False

    def _only_weight(self, otherwise: str = "") -> str:
        """The edge column with the weights, of which there is one."""
        if len(self.weights) > 1:
            known = ", ".join(self.weights)
            raise ParameterError(f"which lengths? name one with weight= ({known}){otherwise}")
        return self.weights[0]


def _weighs(algorithm: str) -> bool:
    """True if an algorithm reads weights of edges."""
    declared = DECLARATIONS.get(algorithm)
    return declared is not None and any(one.kind == "column" for one in declared.parameters)


def _json(given: dict[str, Any]) -> str:
    try:
        return json.dumps(given, default=_plain)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"an argument has a value of a wrong type: {error}") from None


def _vertices(given: Any, name: str = "sources") -> list[Any]:
    """Vertices in JSON."""
    if isinstance(given, (str, bytes, int)):
        # A lone text would otherwise pass as a sequence of one-letter ids.
        raise ParameterError(f"{name} is a list of vertices: [{given!r}]")
    return [_vertex(one) for one in given]


def _vertex(vertex: Any) -> Any:
    """A vertex in JSON: integers beyond 64 bits as text, bytes that are not UTF-8 as a list."""
    if hasattr(vertex, "item"):
        vertex = vertex.item()
    if isinstance(vertex, int) and not -(1 << 63) <= vertex < 1 << 64:
        return str(vertex)
    if isinstance(vertex, str):
        # Python stores bytes that are not UTF-8 in a str like this, as in file names and arguments.
        vertex = vertex.encode("utf-8", "surrogateescape")
    if isinstance(vertex, bytes):
        try:
            return vertex.decode("utf-8")
        except UnicodeDecodeError:
            return {"bytes": list(vertex)}
    if isinstance(vertex, bool) or not isinstance(vertex, int):
        kind = type(vertex).__name__
        raise ParameterError(f"{vertex!r} ({kind}) is no vertex id; give an int, str or bytes")
    return vertex


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} ({type(value).__name__})")


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    assert isinstance(value, dict)
    return value
