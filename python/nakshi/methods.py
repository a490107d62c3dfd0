"""The algorithms as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from .graph import At, Engine
    from .progress import ProgressArgument
    from .queries import Id


class Algorithms:
    """Methods that run an algorithm on a graph.

    Keyword arguments from ``engine`` on are those of every run; :meth:`nakshi.Graph.run` describes
    them.
    """

    def run(self, algorithm: str, **arguments: Any) -> Result:
        """Run an algorithm by its name."""
        raise NotImplementedError

    # Written by `make methods` from the engine's declarations; do not edit.

    def apsp(
        self,
        *,
        sources: Sequence[Id] | None = None,
        sample: int | None = None,
        seed: int | None = None,
        distances: bool = True,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Distances in edges from up to 128 sources, in one traversal.

        Args:
            sources: vertices to start from. At most 128.
            sample: draw this many at random instead. At least 0 and at most 128; default 16.
            seed: seed of the draw. Default 0.
            distances: keep the distances from each source. Otherwise each vertex has the mean
                distance from the sources that reach it.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``distance_*`` (``uint32``), with ``distances``: distance from that source; missing
                where unreachable.
            ``mean_distance`` (``float64``), with ``distances=False``: mean distance from the
                sources that reach the vertex.
            Summary:
                ``sources`` (``uint64``): number of sources.
                ``mean_distance`` (``float64``): mean over all pairs that have a path.
                ``max_distance`` (``uint64``): the longest distance.
                ``reached``: vertices that each source reaches.
                ``eccentricities``: the longest distance from each source.
                ``source_*``: the source of that number.

        M. Then et al., "The more the merrier: efficient multi-source graph traversal" (MS-BFS),
        PVLDB 8 (2014).
        """
        return self.run(
            "apsp",
            sources=sources,
            sample=sample,
            seed=seed,
            distances=distances,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def article_rank(
        self,
        *,
        damping: float | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """ArticleRank: PageRank in which vertices with few out-edges give less to each of them.

        The scores are not normalised: a vertex without in-edges has 1 - damping.

        Args:
            damping: probability of following an edge. At least 0 and below 1; default 0.85.
            iterations: most iterations. Without a tolerance exactly this many are run. Default 100;
                given alone, it sets ``tolerance`` to 0.
            tolerance: stop when the scores change by less than this a vertex, on average. 0 runs
                all iterations that change a score. At least 0; default 1e-7.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``article_rank`` (``float64``): the score.
            Summary:
                ``iterations`` (``uint64``): iterations that were run.
                ``change`` (``float64``): change in the last iteration (L1).
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: a weight that is negative or not finite; no such column.

        J. Li, P. Willett, "ArticleRank: a PageRank-based alternative to numbers of citations for
        analysing citation networks", Aslib Proceedings 61 (2009).
        """
        return self.run(
            "article-rank",
            damping=damping,
            iterations=iterations,
            tolerance=tolerance,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def articulation_points(
        self,
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
    ) -> Result:
        """Articulation points: vertices without which their component falls apart.

        The direction of edges is ignored.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``articulation_point`` (``bool``): true if the vertex is one.
            Summary:
                ``articulation_points`` (``uint64``): number of articulation points.
                ``blocks`` (``uint64``): largest parts without an articulation point of their own,
                    of two vertices at least.

        R. Tarjan, U. Vishkin, "An efficient parallel biconnectivity algorithm", SIAM J. Comput. 14
        (1985).
        """
        return self.run(
            "articulation-points",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def assortativity(
        self,
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
    ) -> Result:
        """Degree assortativity, reciprocity, and the mean degree of the neighbours of each vertex.

        In a directed graph assortativity compares out-degrees of sources with in-degrees of
        targets. A self-loop of an undirected graph adds two to the degree of its vertex.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``average_neighbor_degree`` (``float64``): mean degree of the neighbours; in a directed
                graph out-degrees of out-neighbours; 0 without any.
            Summary:
                ``assortativity`` (``float64``): correlation of the degrees at the two ends of
                    edges; missing if one side has no variance.
                ``reciprocity`` (``float64``): share of the edges whose reverse is an edge, too; 1
                    in an undirected graph.

        M. Newman, "Mixing patterns in networks", Phys. Rev. E 67 (2003).
        """
        return self.run(
            "assortativity",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def betweenness(
        self,
        *,
        sources: Sequence[Id] | None = None,
        sample: int | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        seed: int | None = None,
        normalized: bool = False,
        variant: Literal["direct", "block"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Betweenness centrality (Brandes) by unweighted shortest paths.

        With neither sources nor a sample nor an error every vertex is a source: exact, and
        expensive.

        Args:
            sources: vertices to start from. Scores are then the sum over the shortest paths from
                these only.
            sample: draw this many at random instead. The sum is then scaled by vertices over
                sources, so that it estimates the one over all; 0 draws none.
            epsilon: draw shortest paths between pairs of vertices instead, as many as bring all
                normalised scores within this of their exact values, with probability 1 - delta. 0
                draws none. At least 0 and below 1; default 0.
            delta: probability with which the error of any score may be larger than epsilon. Above 0
                and below 1; default 0.1.
            seed: seed of the draw. The paths also depend on the layout of the store. Default 0.
            normalized: divide by the number of pairs of other vertices.
            variant: method that finds the scores; they are the same, but for the rounding of
                doubles. ``"direct"`` (default): scans and gathers, with what is known about the
                algorithm; ``"block"``: two programs on blocks of vertices, one for each way.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``betweenness`` (``float64``): the score; halved in an undirected graph, where each pair
                is found from both of its ends.
            Summary:
                ``sources`` (``uint64``): sources that were searched from, or pairs of vertices that
                    were drawn.
                ``scale`` (``float64``): factor by which the sum over the sources was multiplied.
                ``depth`` (``uint64``): levels of the deepest search, or vertices of the longest
                    path that was drawn.
                ``max`` (``float64``): the largest score.

        Raises:
            ParameterError: more than one of sources, sample and epsilon, or epsilon with another
                variant.

        U. Brandes, "A faster algorithm for betweenness centrality", J. Math. Sociology 25 (2001);
        M. Riondato, E. Kornaropoulos, "Fast approximation of betweenness centrality through
        sampling", Data Min. Knowl. Discov. 30 (2016).
        """
        return self.run(
            "bc",
            sources=sources,
            sample=sample,
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            normalized=normalized,
            variant=variant,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def bfs(
        self,
        source: Id,
        *,
        parents: bool = False,
        hops: int | None = None,
        variant: Literal["direct", "vertex", "block", "pull-program"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Breadth-first search along out-edges: levels, and parents if asked for.

        Args:
            source: vertex to start from.
            parents: find parents, too. For each reached vertex that is the in-neighbour one level
                up whose id is smallest; it costs a pass over the edges of all reached vertices.
            hops: edges of a path at most; vertices that are farther away count as unreachable. 0 is
                no bound.
            variant: method that finds the levels; the results are the same. ``"direct"`` (default):
                scans and gathers, with what is known about the algorithm; ``"vertex"``:
                FlashGraph's vertex program; ``"block"``: a program on blocks of vertices;
                ``"pull-program"``: LFGraph's pull program, which also runs on several servers.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``level`` (``uint32``): edges on a shortest path from the source; missing where
                unreachable.
            ``parent``, with ``parents``: the vertex before it on such a path, the one with the
                smallest id if there are several; missing at the source and where unreachable.
            Summary:
                ``reached`` (``uint64``): vertices that the search reached.
                ``depth`` (``uint64``): the largest level.

        S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing breadth-first search", SC 2012.
        """
        return self.run(
            "bfs",
            source=source,
            parents=parents,
            hops=hops,
            variant=variant,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def bridges(
        self,
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
    ) -> Result:
        """Bridges: edges on no cycle, without which their component falls apart.

        The direction of edges is ignored, and edges in both directions are one. Parallel edges are
        no bridges.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``bridge``: the other end of the bridge that leads from the vertex towards the smallest
                id of its component; missing where there is none, so that each bridge is there once.
            Summary:
                ``bridges`` (``uint64``): number of bridges.

        R. Tarjan, U. Vishkin, "An efficient parallel biconnectivity algorithm", SIAM J. Comput. 14
        (1985).
        """
        return self.run(
            "bridges",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def cdlp(
        self,
        *,
        iterations: int | None = None,
        variant: Literal["direct", "pull-program"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Communities by synchronous label propagation (LDBC Graphalytics).

        Args:
            iterations: rounds at most. There are fewer if a round changes nothing. Default 10.
            variant: method that spreads the labels; the results are the same. ``"direct"``
                (default): scans and gathers, with what is known about the algorithm;
                ``"pull-program"``: LFGraph's pull program, which also runs on several servers.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``label``: the community, named by one of the vertex ids; ties go to the smallest.
            Summary:
                ``communities`` (``uint64``): number of communities.
                ``iterations`` (``uint64``): rounds that were run.

        LDBC Graphalytics specification 1.0, section 2.3.4; U. Raghavan, R. Albert, S. Kumara, Phys.
        Rev. E 76 (2007).
        """
        return self.run(
            "cdlp",
            iterations=iterations,
            variant=variant,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def closeness(
        self,
        *,
        improved: bool = True,
        log2m: int | None = None,
        exact: bool = False,
        seed: int | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Closeness centrality: 1 over the mean distance from the vertices that have a path.

        Distances are counted in edges, along their direction. Graphs of more than 4,096 vertices
        are estimated by HyperBall.

        Args:
            improved: multiply by the share of the other vertices that have a path (Wasserman and
                Faust).
            log2m: binary logarithm of the registers of a counter. Each takes two bytes a vertex;
                four times as many halve the error. At least 4 and at most 12; default 8.
            exact: search from every vertex instead. It is expensive.
            seed: seed of the counters. Default 0.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``closeness`` (``float64``): the score; 0 without a path from another vertex.
            Summary:
                ``effective_diameter`` (``float64``): distance within which 90 % of the pairs with a
                    path lie, interpolated.
                ``neighborhood_function``: pairs of vertices within each distance, from 0 on.
                ``method``: "exact" or "hyperball".

        P. Boldi, S. Vigna, "In-core computation of geometric centralities with HyperBall", arXiv
        1308.2144.
        """
        return self.run(
            "closeness",
            improved=improved,
            log2m=log2m,
            exact=exact,
            seed=seed,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def coloring(
        self,
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
    ) -> Result:
        """Proper colouring: neighbours never share a colour; the direction of edges is ignored.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``color`` (``uint32``): the colour, from 0.
            Summary:
                ``colors`` (``uint64``): number of colours.

        M. Jones, P. Plassmann, "A parallel graph coloring heuristic", SIAM J. Sci. Comput. 14
        (1993).
        """
        return self.run(
            "coloring",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def dag_longest_path(
        self,
        *,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Longest path in a graph without cycles, by the sum of the weights, and the longest to
        each vertex.

        A path may begin at any vertex, so that no length is below 0. Of several that are as long,
        it is the one whose vertices come first in the topological order. An undirected graph is
        refused, and so is one with a cycle.

        Args:
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``length`` (``float64``): the length of the longest path that ends at the vertex.
            ``before``: the vertex before it on that path; missing where the path begins.
            ``on_path`` (``bool``): true if the vertex is on the longest path of the graph.
            Summary:
                ``length`` (``float64``): the length of the longest path.
                ``edges`` (``uint64``): edges of that path.
                ``lengths``: the column that was used, or "unit".
                ``from``: the vertex at which it begins.
                ``to``: the vertex at which it ends.

        Raises:
            ParameterError: a cycle, an undirected graph, a weight that is not finite, no such
                column.

        R. Sedgewick, K. Wayne, "Algorithms", 4th edition (2011), section 4.4.
        """
        return self.run(
            "dag-longest-path",
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def degrees(
        self,
        *,
        direction: Literal["both", "out", "in"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Number of edges at each vertex; a self-loop of an undirected graph counts once.

        Args:
            direction: edges that count; of no meaning in an undirected graph. ``"both"`` (default):
                edges from and to the vertex; ``"out"``: edges from the vertex; ``"in"``: edges to
                the vertex.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``degree`` (``uint64``): number of edges at the vertex.
            Summary:
                ``max_degree`` (``uint64``): the largest degree.
                ``mean_degree`` (``float64``): mean over all vertices.
                ``isolated`` (``uint64``): vertices of degree 0.

        P. Erdős, T. Gallai, "Graphs with prescribed degrees of vertices", Mat. Lapok 11 (1960).
        """
        return self.run(
            "degrees",
            direction=direction,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def densest_subgraph(
        self,
        *,
        passes: int | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Dense part of the graph: its edges per vertex are at least half of the most that any part
        has.

        The density of a part is the number of edges inside it over the number of its vertices.
        Edges of both directions count, each; self-loops do not. The summary has a bound that no
        part exceeds.

        Args:
            passes: passes over all edges that look for a denser part than the densest k-core, and
                lower the bound. Default 16.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``dense`` (``bool``): true if the vertex is in the dense part.
            Summary:
                ``density`` (``float64``): edges inside the part, over its vertices; at least half
                    of the largest density.
                ``bound`` (``float64``): a number that the density of no part exceeds.
                ``vertices`` (``uint64``): vertices of the part.
                ``edges`` (``uint64``): edges inside the part.

        M. Charikar, "Greedy approximation algorithms for finding dense components in a graph",
        APPROX 2000; M. Danisch, T.-H. H. Chan, M. Sozio, "Large scale density-friendly graph
        decomposition via convex programming", WWW 2017.
        """
        return self.run(
            "densest-subgraph",
            passes=passes,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def diameter(
        self,
        *,
        sweeps: int | None = None,
        source: Id | None = None,
        ignore_direction: bool = True,
        exact: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Lower bound of the diameter by repeated sweeps, or the diameter and the radius.

        Args:
            sweeps: breadth-first searches at most, each from the farthest vertex of the one before.
                There are fewer when one finds nothing longer. Default 10.
            source: vertex to start from. By default that is the vertex with most neighbours, the
                one with the smallest id among several.
            ignore_direction: follow edges both ways. Otherwise sweeps alternate between out- and
                in-edges, and the bound is for directed paths.
            exact: find the diameter itself, by as many searches as it takes, and the radius.
                `sweeps` and `source` have no part in it. Along directed edges the graph must be
                strongly connected.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            Summary:
                ``diameter`` (``uint64``): edges of the longest shortest path that was found.
                ``radius`` (``uint64``), with ``exact``: the smallest eccentricity in the largest
                    component; if there are several as large, in any of them.
                ``sweeps`` (``uint64``): sweeps that were run.
                ``from``: the beginning of that path.
                ``to``: the end of that path.

        C. Magnien, M. Latapy, M. Habib, "Fast computation of empirically tight bounds for the
        diameter of massive graphs", J. Exp. Algorithmics 13 (2009).
        """
        return self.run(
            "diameter",
            sweeps=sweeps,
            source=source,
            ignore_direction=ignore_direction,
            exact=exact,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def eccentricity(
        self,
        *,
        sources: Sequence[Id] | None = None,
        ignore_direction: bool = True,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Eccentricity: edges between a vertex and the vertex of its component that is farthest
        away.

        Args:
            sources: vertices whose eccentricity is wanted. By default all are.
            ignore_direction: follow edges both ways. Otherwise paths follow their direction, and
                the graph must be strongly connected.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``eccentricity`` (``uint32``): edges of the longest shortest path from the vertex;
                missing at vertices other than the sources.
            Summary:
                ``largest`` (``uint64``): the largest of them.
                ``smallest`` (``uint64``): the smallest of them.
                ``searches`` (``uint64``): searches that were run.

        F. Takes, W. Kosters, "Computing the eccentricity distribution of large graphs", Algorithms
        6 (2013).
        """
        return self.run(
            "eccentricity",
            sources=sources,
            ignore_direction=ignore_direction,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def eigenvector(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Eigenvector centrality: a vertex scores as its in-neighbours do, in sum; 2-norm 1.

        Args:
            iterations: iterations at most. A run that does not settle within them fails. Default
                100.
            tolerance: stop when the scores change by less than this a vertex, on average. Above 0;
                default 1e-6.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``eigenvector`` (``float64``): the score; the squares sum to 1.
            Summary:
                ``iterations`` (``uint64``): iterations that were run.
                ``change`` (``float64``): change in the last iteration (L1).
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: the scores do not settle in the iterations allowed; no such column.

        P. Bonacich, "Power and centrality: a family of measures", Am. J. Sociology 92 (1987).
        """
        return self.run(
            "eigenvector",
            iterations=iterations,
            tolerance=tolerance,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def fastrp(
        self,
        *,
        dimensions: int | None = None,
        iteration_weights: Sequence[float] | None = None,
        normalization: float | None = None,
        seed: int | None = None,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Vectors of vertices by very sparse random projection (FastRP).

        Vertices with similar neighbourhoods have similar vectors, in the sense of the cosine.

        Args:
            dimensions: length of a vector. At least 1 and at most 4096; default 128.
            iteration_weights: the part of each iteration in the result, one number an iteration.
                Default 0,1,1.
            normalization: power of the degree by which the first vectors are scaled. Below 0 hubs
                count less. Default 0.
            seed: seed of the first vectors. Default 0.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``embedding_*`` (``float64``): that entry of the vector.
            Summary:
                ``dimensions`` (``uint64``): length of a vector.
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: iteration weights that are not finite; no such column.

        H. Chen et al., "Fast and accurate network embeddings via very sparse random projection",
        CIKM 2019.
        """
        return self.run(
            "fastrp",
            dimensions=dimensions,
            iteration_weights=iteration_weights,
            normalization=normalization,
            seed=seed,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def gee(
        self,
        *,
        labeled: Sequence[Id] | None = None,
        classes: Sequence[float] | None = None,
        laplacian: bool = False,
        normalized: bool = False,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Vectors of vertices from known classes of some of them (GEE), one entry a class.

        The direction of edges is ignored. Classes of vertices that are not named are unknown; these
        vertices have vectors, too.

        Args:
            labeled: vertices whose classes are known.
            classes: their classes, in the same order: whole numbers from 0 on.
            laplacian: divide the weight of an edge by the root of the product of the sums at both
                ends, so that hubs count less.
            normalized: scale every vector to length 1.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``embedding_*`` (``float64``): the entry of this class.
            Summary:
                ``classes`` (``uint64``): length of a vector: the largest class, and 1.
                ``labeled`` (``uint64``): vertices whose classes are known.
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: no vertex with a class, or another number of classes; a class that is no
                whole number from 0 to 4,095; a vertex with two classes; a weight that is negative
                or not finite; no such column.

        C. Shen, Q. Wang, C. E. Priebe, "One-Hot Graph Encoder Embedding", IEEE Transactions on
        Pattern Analysis and Machine Intelligence 45 (2023).
        """
        return self.run(
            "gee",
            labeled=labeled,
            classes=classes,
            laplacian=laplacian,
            normalized=normalized,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def harmonic(
        self,
        *,
        log2m: int | None = None,
        exact: bool = False,
        seed: int | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Harmonic centrality: the sum of 1 over the distance from every other vertex.

        Distances are counted in edges, along their direction. Graphs of more than 4,096 vertices
        are estimated by HyperBall.

        Args:
            log2m: binary logarithm of the registers of a counter. Each takes two bytes a vertex;
                four times as many halve the error. At least 4 and at most 12; default 8.
            exact: search from every vertex instead. It is expensive.
            seed: seed of the counters. Default 0.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``harmonic`` (``float64``): the sum; a vertex without a path adds nothing.
            Summary:
                ``effective_diameter`` (``float64``): distance within which 90 % of the pairs with a
                    path lie, interpolated.
                ``neighborhood_function``: pairs of vertices within each distance, from 0 on.
                ``method``: "exact" or "hyperball".

        P. Boldi, S. Vigna, "In-core computation of geometric centralities with HyperBall", arXiv
        1308.2144.
        """
        return self.run(
            "harmonic",
            log2m=log2m,
            exact=exact,
            seed=seed,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def hits(
        self,
        *,
        iterations: int | None = None,
        tolerance: float | None = None,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Hubs and authorities (HITS), each normalised to sum 1.

        Good hubs lead to good authorities. A graph without edges has neither: all scores are 0.

        Args:
            iterations: iterations at most. A run that does not settle within them fails. Default
                1000.
            tolerance: stop when the hubs change by less than this in sum (L1). Above 0; default
                1e-8.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``hub`` (``float64``): the score as a hub; all sum to 1.
            ``authority`` (``float64``): the score as an authority; all sum to 1.
            Summary:
                ``iterations`` (``uint64``): iterations that were run.
                ``change`` (``float64``): change of the hubs in the last iteration (L1).
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: the scores do not settle in the iterations allowed; no such column.

        J. Kleinberg, "Authoritative sources in a hyperlinked environment", J. ACM 46 (1999).
        """
        return self.run(
            "hits",
            iterations=iterations,
            tolerance=tolerance,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def k_core(
        self,
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
    ) -> Result:
        """Core number: the largest k for which the vertex is in the k-core.

        The k-core is the largest part in which every vertex has at least k edges. Edges of both
        directions count, each; self-loops do not.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``core`` (``uint32``): the core number.
            Summary:
                ``degeneracy`` (``uint64``): the largest core number.
                ``innermost`` (``uint64``): vertices that have it.

        D. Matula, L. Beck, "Smallest-last ordering and clustering and graph coloring algorithms",
        J. ACM 30 (1983); N. Dasari, D. Ranjan, M. Zubair, "ParK", IEEE Big Data 2014.
        """
        return self.run(
            "k-core",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def k_truss(
        self,
        k: int,
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
    ) -> Result:
        """The k-truss: the largest part of the graph in which every edge is in k - 2 triangles.

        The direction of edges is ignored, edges between the same vertices are one, and self-loops
        never count.

        Args:
            k: order of the truss: an edge is in at least `k - 2` triangles.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``member`` (``bool``): true if the vertex has an edge in the truss.
            ``degree`` (``uint32``): edges of the truss at the vertex.
            Summary:
                ``vertices`` (``uint64``): vertices in the truss.
                ``edges`` (``uint64``): edges in the truss.

        J. Cohen, "Trusses: Cohesive subgraphs for social network analysis", NSA technical report
        (2008).
        """
        return self.run(
            "k-truss",
            k=k,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def katz(
        self,
        *,
        alpha: float | None = None,
        beta: float | None = None,
        normalized: bool = True,
        iterations: int | None = None,
        tolerance: float | None = None,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Katz centrality: walks that end at a vertex, those of k edges counted alpha to the power
        of k times.

        Args:
            alpha: factor by which an edge attenuates. The scores settle only if it is below 1 over
                the largest eigenvalue of the adjacency matrix, which is at most the largest degree.
                Above 0; default 0.1.
            beta: score that every vertex has of itself. Default 1.
            normalized: scale the squares of the scores to sum 1.
            iterations: iterations at most. A run that does not settle within them fails. Default
                1000.
            tolerance: stop when the scores change by less than this a vertex, on average. Above 0;
                default 1e-6.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``katz`` (``float64``): the score.
            Summary:
                ``iterations`` (``uint64``): iterations that were run.
                ``change`` (``float64``): change in the last iteration (L1).
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: the scores do not settle in the iterations allowed; no such column.

        L. Katz, "A new status index derived from sociometric analysis", Psychometrika 18 (1953).
        """
        return self.run(
            "katz",
            alpha=alpha,
            beta=beta,
            normalized=normalized,
            iterations=iterations,
            tolerance=tolerance,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def label_propagation(
        self,
        *,
        iterations: int | None = None,
        fixed: Sequence[Id] | None = None,
        seed: int | None = None,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Communities by label propagation with weights; the direction of edges is ignored.

        In the end each vertex has a label that weighs most among its neighbours.

        Args:
            iterations: rounds at most. There are fewer if no vertex changes its label any more.
                Default 100.
            fixed: vertices that keep their labels, and alone have one at first. By default every
                vertex begins with a label of its own.
            seed: seed of the order of changes, and of the choice between labels that weigh the
                same. Default 0.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``label``: the community, named by one of the vertex ids; missing where no label has
                come.
            Summary:
                ``communities`` (``uint64``): number of communities.
                ``iterations`` (``uint64``): rounds that were run.
                ``settled`` (``bool``): true if no vertex would change its label in a further round.
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: a negative or NaN weight, no such column, or several columns and none
                named.

        U. Raghavan, R. Albert, S. Kumara, Phys. Rev. E 76 (2007); V. Traag, L. Šubelj, "Large
        network community detection by fast label propagation", Sci. Rep. 13 (2023).
        """
        return self.run(
            "label-propagation",
            iterations=iterations,
            fixed=fixed,
            seed=seed,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def lcc(
        self,
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
    ) -> Result:
        """Local clustering coefficient (LDBC Graphalytics); self-loops never count.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``lcc`` (``float64``): edges between neighbours, over the pairs of neighbours.
            Summary:
                ``mean`` (``float64``): mean over all vertices.

        LDBC Graphalytics specification 1.0, section 2.3.5.
        """
        return self.run(
            "lcc",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def leiden(
        self,
        *,
        resolution: float | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        seed: int | None = None,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Connected communities of high modularity, by the Leiden method; the direction of edges is
        ignored.

        As the Louvain method, but before communities become the vertices of the next level, each is
        split into parts that grow along edges. No community falls apart into pieces without edges
        between them.

        Args:
            resolution: resolution of modularity. Above 1 communities are smaller, below 1 larger.
                Above 0; default 1.
            iterations: searches at most, each from the communities of the one before. A search that
                gains less modularity than `tolerance` is the last. Default 2.
            tolerance: a level ends when a pass over its vertices gains less modularity than this.
                At least 0; default 0.0001.
            seed: seed of the choice between communities that gain the same. Default 0.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``community``: the community, named by the smallest id in it.
            Summary:
                ``communities`` (``uint64``): number of communities.
                ``modularity`` (``float64``): modularity of the communities, at this resolution.
                ``levels`` (``uint64``): levels that were searched, the graph itself included.
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: a negative or NaN weight, no such column, or several columns and none
                named.

        V. Traag, L. Waltman, N. J. van Eck, "From Louvain to Leiden", Sci. Rep. 9 (2019); S. Sahu,
        arXiv 2411.02268.
        """
        return self.run(
            "leiden",
            resolution=resolution,
            iterations=iterations,
            tolerance=tolerance,
            seed=seed,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def louvain(
        self,
        *,
        resolution: float | None = None,
        tolerance: float | None = None,
        seed: int | None = None,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Communities of high modularity, by the Louvain method; the direction of edges is ignored.

        Vertices move to the community of a neighbour while modularity grows, then communities
        become the vertices of the next level, whose edges are kept in memory.

        Args:
            resolution: resolution of modularity. Above 1 communities are smaller, below 1 larger.
                Above 0; default 1.
            tolerance: a level ends when a pass over its vertices gains less modularity than this.
                At least 0; default 0.0001.
            seed: seed of the choice between communities that gain the same. Default 0.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``community``: the community, named by the smallest id in it.
            Summary:
                ``communities`` (``uint64``): number of communities.
                ``modularity`` (``float64``): modularity of the communities, at this resolution.
                ``levels`` (``uint64``): levels that were searched, the graph itself included.
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: a negative or NaN weight, no such column, or several columns and none
                named.

        V. Blondel et al., "Fast unfolding of communities in large networks", J. Stat. Mech. (2008).
        """
        return self.run(
            "louvain",
            resolution=resolution,
            tolerance=tolerance,
            seed=seed,
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def matching(
        self,
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
    ) -> Result:
        """Maximal matching: pairs of neighbours, none in two pairs; the direction of edges is
        ignored.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``partner``: the other vertex of the pair; missing where there is none.
            Summary:
                ``pairs`` (``uint64``): number of pairs.

        J. Hoepman, "Simple distributed weighted matchings", arXiv:cs/0410047 (2004).
        """
        return self.run(
            "matching",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def mis(
        self,
        *,
        seed: int | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Maximal independent set: no two members are neighbours.

        Every other vertex has a member as neighbour. The direction of edges is ignored, and so are
        self-loops.

        Args:
            seed: seed of the priorities, by which vertices join the set. Default 0.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``member`` (``bool``): true if the vertex is in the set.
            Summary:
                ``members`` (``uint64``): vertices in the set.

        G. Blelloch, J. Fineman, J. Shun, "Greedy sequential maximal independent set and matching
        are parallel on average", SPAA 2012.
        """
        return self.run(
            "mis",
            seed=seed,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def pagerank(
        self,
        *,
        damping: float | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        variant: Literal["pull", "delta", "vertex", "block", "pull-program"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """PageRank, normalised to sum 1, the rank of dangling vertices spread evenly.

        Args:
            damping: probability of following an edge. At least 0 and below 1; default 0.85.
            iterations: most iterations. Without a tolerance exactly this many are run. Default 100;
                given alone, it sets ``tolerance`` to 0.
            tolerance: stop when the ranks change by less than this in sum (L1). 0 runs all
                iterations, of which "pull" leaves out those that would change no rank. Below 1e-7 a
                run by "pull" on more than 262,144 vertices keeps numbers of 64 bits instead of 32,
                which takes 4 to 8 bytes a vertex more and up to twice the time. At least 0; default
                1e-7.
            variant: method that spreads the ranks. ``"pull"`` (default): every vertex pulls from
                its in-neighbours in every iteration; ``"delta"``: vertices whose rank changed send
                the change along their out-edges (FlashGraph); ``"vertex"``: the same by
                FlashGraph's vertex program; ``"block"``: a program on blocks of vertices;
                ``"pull-program"``: LFGraph's pull program, which also runs on several servers.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``rank`` (``float64``): the rank; all sum to 1.
            Summary:
                ``iterations`` (``uint64``): iterations that were run.
                ``change`` (``float64``): change in the last iteration (L1); of "delta" and "vertex"
                    the part of all rank that is not passed on yet.

        S. Brin, L. Page, "The anatomy of a large-scale hypertextual Web search engine", 1998.
        """
        return self.run(
            "pagerank",
            damping=damping,
            iterations=iterations,
            tolerance=tolerance,
            variant=variant,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def personalized_pagerank(
        self,
        sources: Sequence[Id],
        *,
        damping: float | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """PageRank of walks that begin again at some vertices, normalised to sum 1.

        The rank of dangling vertices, too, goes to these vertices, in equal parts.

        Args:
            sources: vertices to begin at. One that is named twice counts once.
            damping: probability of following an edge. At least 0 and below 1; default 0.85.
            iterations: most iterations. Without a tolerance exactly this many are run. Default 100;
                given alone, it sets ``tolerance`` to 0.
            tolerance: stop when the ranks change by less than this in sum (L1). 0 runs all
                iterations that change a rank. At least 0; default 1e-7.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``rank`` (``float64``): the rank; all sum to 1.
            Summary:
                ``iterations`` (``uint64``): iterations that were run.
                ``change`` (``float64``): change in the last iteration (L1).

        Raises:
            ParameterError: no source.

        T. Haveliwala, "Topic-sensitive PageRank", WWW 2002.
        """
        return self.run(
            "personalized-pagerank",
            sources=sources,
            damping=damping,
            iterations=iterations,
            tolerance=tolerance,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def power_law(
        self,
        *,
        direction: Literal["both", "out", "in"] | None = None,
        least: int | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Power law of the degrees: its exponent, the degree from which it holds, and its distance.

        Vertices of degree 0 are left out.

        Args:
            direction: edges that count. ``"both"`` (default): edges from and to the vertex;
                ``"out"``: edges from the vertex; ``"in"``: edges to the vertex.
            least: degree from which the law holds. 0 finds the one whose law is nearest to the
                distribution.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            Summary:
                ``alpha`` (``float64``): the exponent; missing if the degrees are too few for a law.
                ``error`` (``float64``): standard error of the exponent.
                ``least`` (``uint64``): the degree from which the law holds.
                ``distance`` (``float64``): largest difference of the two cumulative distributions.
                ``vertices`` (``uint64``): vertices of that degree and more.

        A. Clauset, C. Shalizi, M. Newman, "Power-law distributions in empirical data", SIAM Rev. 51
        (2009).
        """
        return self.run(
            "power-law",
            direction=direction,
            least=least,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def rich_club(
        self,
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
    ) -> Result:
        """Rich-club coefficients: of the pairs of vertices with more than k neighbours, the share
        that is joined.

        The direction of edges is ignored, edges between the same vertices are one, and self-loops
        never count. The coefficients are not normalised by those of random graphs.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``degree`` (``uint32``): number of neighbours.
            ``rich_club`` (``float64``): the coefficient for k = degree; missing if fewer than two
                vertices have more neighbours.
            Summary:
                ``density`` (``float64``): share of all pairs of vertices that is joined, which is
                    the coefficient for every k below the smallest degree; missing without pairs.

        S. Zhou, R. Mondragón, "The rich-club phenomenon in the Internet topology", IEEE
        Communications Letters 8 (2004).
        """
        return self.run(
            "rich-club",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def scan_statistics(
        self,
        *,
        per_vertex: bool = False,
        variant: Literal["direct", "vertex"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Scan statistic: the most edges inside the closed neighbourhood of a vertex.

        Edges are taken as undirected. Vertices are tried by descending degree, and the search stops
        as soon as no other can win.

        Args:
            per_vertex: compute it for every vertex, without stopping early.
            variant: method that finds it; the results are the same. ``"direct"`` (default): scans,
                for 64 candidates at a time; ``"vertex"``: FlashGraph's vertex program, for
                undirected graphs and without `per_vertex`.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``scan_statistic`` (``uint64``), with ``per_vertex``: edges inside the closed
                neighbourhood.
            Summary:
                ``max`` (``uint64``): the largest statistic.
                ``vertex``: the vertex that has it, the one with the smallest id among equals.
                ``counted`` (``uint64``): neighbourhoods that were counted.

        C. Priebe et al., "Scan statistics on Enron graphs", Comput. Math. Organ. Theory 11 (2005).
        """
        return self.run(
            "scan-statistics",
            per_vertex=per_vertex,
            variant=variant,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def scc(
        self,
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
    ) -> Result:
        """Strongly connected components: sets of vertices that all reach each other along edges.

        In an undirected graph they are the connected components.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``component``: the smallest vertex id of the component.
            Summary:
                ``components`` (``uint64``): number of components.
                ``largest`` (``uint64``): vertices in the largest.

        G. Slota, S. Rajamanickam, K. Madduri, "BFS and coloring-based parallel algorithms for
        strongly connected components and related problems", IPDPS 2014; R. Tarjan, SIAM J. Comput.
        1 (1972).
        """
        return self.run(
            "scc",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def similar(
        self,
        *,
        k: int | None = None,
        hashes: int | None = None,
        rows: int | None = None,
        comparisons: int | None = None,
        least: float | None = None,
        seed: int | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Similar vertices of each vertex: those that share most of their neighbours.

        The similarity of two vertices is that of Jaccard: neighbours of both over neighbours of
        any, estimated by MinHash; in a directed graph out-neighbours count. Vertices without
        neighbours have none.

        Args:
            k: similar vertices for each vertex at most. At least 1 and at most 1000; default 10.
            hashes: hashes of a vertex, 4 bytes each. The standard error of a similarity is at most
                1 over twice the root of this number. At least 1 and at most 4096; default 64.
            rows: hashes in a band. Vertices are compared if they agree in a whole band; with 1,
                less similar ones are found, too, and a run takes longer. Default 2.
            comparisons: comparisons of a vertex in a band at most, which bounds the time where many
                vertices agree. Default 64.
            least: similarity below which vertices do not count as similar. At least 0 and at most
                1; default 0.
            seed: seed of the hashes. Default 0.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``similar_*``: the vertex of this place, the most similar first; missing if there is
                none.
            ``similarity_*`` (``float64``): its estimated similarity.
            Summary:
                ``compared`` (``uint64``): pairs of vertices that were compared.
                ``found`` (``uint64``): vertices that have a similar one.

        Raises:
            ParameterError: more rows than hashes.

        A. Broder, "On the resemblance and containment of documents", SEQUENCES 1997.
        """
        return self.run(
            "similar",
            k=k,
            hashes=hashes,
            rows=rows,
            comparisons=comparisons,
            least=least,
            seed=seed,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def spanning_forest(
        self,
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
    ) -> Result:
        """Spanning forest: a tree for each connected component, by the parent of each vertex.

        The direction of edges is ignored. The root of a tree is the smallest vertex id of its
        component, and paths to it are shortest paths.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``parent``: the other end of the edge towards the root, the one with the smallest id if
                there are several; missing at roots.
            Summary:
                ``trees`` (``uint64``): number of trees, isolated vertices included.
                ``edges`` (``uint64``): edges in the forest.

        E. Moore, "The shortest path through a maze", Proc. Int. Symp. Switching Theory 1957 (1959).
        """
        return self.run(
            "spanning-forest",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def sssp(
        self,
        source: Id,
        *,
        weight: str | None = None,
        delta: float | None = None,
        parents: bool = False,
        unit: bool = False,
        variant: Literal["direct", "pull-program", "block"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Shortest paths along out-edges by non-negative weights.

        Args:
            source: vertex to start from.
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge has length 1.
            delta: width of a step. Chosen from the weights by default. Above 0; in units of the
                weights.
            parents: find parents, too. For each reached vertex that is an in-neighbour on a
                shortest path, the one with the smallest id among those that are nearer; it costs a
                pass over the edges of all reached vertices.
            unit: count every edge as 1, whatever its weight.
            variant: method that finds the distances; they are the same, but for the rounding of
                doubles. ``"direct"`` (default): delta-stepping; ``"pull-program"``: LFGraph's pull
                program, which also runs on several servers; ``"block"``: a program on blocks of
                vertices.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``distance`` (``float64``): sum of weights on a shortest path; missing where
                unreachable.
            ``parent``, with ``parents``: the vertex before it on such a path; missing at the source
                and where unreachable.
            Summary:
                ``reached`` (``uint64``): vertices with a path from the source.
                ``farthest`` (``float64``): the longest distance.
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: a negative or NaN weight, no such column, or several columns and none
                named.

        U. Meyer, P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", J.
        Algorithms 49 (2003).
        """
        return self.run(
            "sssp",
            source=source,
            weight=weight,
            delta=delta,
            parents=parents,
            unit=unit,
            variant=variant,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def topological_sort(
        self,
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
    ) -> Result:
        """Topological order: every edge leads to a later vertex.

        A generation has the vertices at the end of whose longest path so many edges lie; inside it
        the order is that of the ids. An undirected graph is refused, and so is one with a cycle, of
        which the error names a vertex.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``order`` (``uint32``): place in the order, from 0.
            ``generation`` (``uint32``): edges of the longest path that ends at the vertex.
            Summary:
                ``generations`` (``uint64``): number of generations.

        A. Kahn, "Topological sorting of large networks", Commun. ACM 5 (1962).
        """
        return self.run(
            "topological-sort",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def triad_census(
        self,
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
    ) -> Result:
        """Triad census: how many sets of three vertices have each of the 16 patterns of arcs.

        The name of a pattern has the pairs of vertices with arcs both ways, with one arc, and with
        none; a letter tells patterns with the same numbers apart: down, up, cyclic, transitive.
        Edges from one vertex to another are one, and self-loops never count. An undirected graph is
        refused.

        Args:
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            Summary:
                ``003`` (``uint64``): no arcs; a rounded float where it exceeds 64 bits.
                ``012`` (``uint64``): A -> B, and C.
                ``102`` (``uint64``): A <-> B, and C.
                ``021D`` (``uint64``): A <- B -> C.
                ``021U`` (``uint64``): A -> B <- C.
                ``021C`` (``uint64``): A -> B -> C.
                ``111D`` (``uint64``): A <-> B <- C.
                ``111U`` (``uint64``): A <-> B -> C.
                ``030T`` (``uint64``): A <- B -> C, A -> C.
                ``030C`` (``uint64``): A -> B -> C -> A.
                ``201`` (``uint64``): A <-> B <-> C.
                ``120D`` (``uint64``): A <- B -> C, A <-> C.
                ``120U`` (``uint64``): A -> B <- C, A <-> C.
                ``120C`` (``uint64``): A -> B -> C, A <-> C.
                ``210`` (``uint64``): A -> B <-> C, A <-> C.
                ``300`` (``uint64``): A <-> B <-> C, A <-> C.

        Raises:
            ParameterError: an undirected graph.

        V. Batagelj, A. Mrvar, "A subquadratic triad census algorithm for large sparse networks with
        small maximum degree", Social Networks 23 (2001).
        """
        return self.run(
            "triad-census",
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def triangles(
        self,
        *,
        per_vertex: bool = False,
        variant: Literal["direct", "vertex", "pull-program"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Triangles, with edges taken as undirected; self-loops and duplicates never count.

        Args:
            per_vertex: count those of each vertex, too. It takes longer, because each triangle must
                be named.
            variant: method that counts triangles; the results are the same. ``"direct"`` (default):
                intersections of oriented lists; ``"vertex"``: FlashGraph's vertex program, for
                undirected graphs; ``"pull-program"``: LFGraph's pull program, which also runs on
                several servers.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``triangles`` (``uint64``), with ``per_vertex``: how many contain the vertex.
            Summary:
                ``triangles`` (``uint64``): how many there are in all.

        T. Schank, D. Wagner, "Finding, Counting and Listing All Triangles in Large Graphs", WEA
        2005.
        """
        return self.run(
            "triangles",
            per_vertex=per_vertex,
            variant=variant,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def wcc(
        self,
        *,
        variant: Literal["direct", "vertex", "block", "pull-program"] | None = None,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Weakly connected components: the direction of edges is ignored.

        Args:
            variant: method that finds the components; the results are the same. ``"direct"``
                (default): scans and gathers, with what is known about the algorithm; ``"vertex"``:
                FlashGraph's vertex program; ``"block"``: a program on blocks of vertices;
                ``"pull-program"``: LFGraph's pull program, which also runs on several servers.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``component``: the smallest vertex id of the component.
            Summary:
                ``components`` (``uint64``): number of components.
                ``largest`` (``uint64``): vertices in the largest.

        M. Sutton, T. Ben-Nun, A. Barak, "Optimizing parallel graph connectivity computation via
        subgraph sampling" (Afforest), IPDPS 2018.
        """
        return self.run(
            "wcc",
            variant=variant,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )

    def weighted_matching(
        self,
        *,
        weight: str | None = None,
        unit: bool = False,
        engine: Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        selective: bool = False,
        static_cache: bool = False,
        at: At = "last_commit",
        missing_weight: float | None = None,
        progress: ProgressArgument = None,
    ) -> Result:
        """Matching of large weight: at least half of the most that any matching has.

        The heaviest edges are taken first; the direction of edges is ignored. Edges whose weight is
        not above 0 and self-loops are left out.

        Args:
            weight: edge column with the weights. By default that is the store's only one; in a
                store without any, and in Rust, every edge weighs 1.
            unit: count every edge as 1, whatever its weight.
            engine, memory, threads, timeout, selective, static_cache, at, missing_weight, progress:
                as for :meth:`nakshi.Graph.run`.

        Returns:
            ``partner``: the other vertex of the pair; missing where there is none.
            Summary:
                ``pairs`` (``uint64``): number of pairs.
                ``weight`` (``float64``): sum of the weights of the edges between them.
                ``lengths``: the column that was used, or "unit".

        Raises:
            ParameterError: a weight that is not finite; no such column.

        R. Preis, "Linear time 1/2-approximation algorithm for maximum weighted matching in general
        graphs", STACS 1999; F. Manne, M. Halappanavar, "New effective multithreaded matching
        algorithms", IPDPS 2014.
        """
        return self.run(
            "weighted-matching",
            weight=weight,
            unit=unit,
            engine=engine,
            memory=memory,
            threads=threads,
            timeout=timeout,
            selective=selective,
            static_cache=static_cache,
            at=at,
            missing_weight=missing_weight,
            progress=progress,
        )
