"""One peer, one kernel, one process: ``python kernels.py PEER KERNEL FOLDER SOURCE THREADS RUNS``.

Runs in the peers' own environment, never in the product's. Prints one JSON object: seconds of each
run, seconds to load, and a digest of the answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

ITERATIONS = 20


class Missing(Exception):
    """The peer has no such kernel; the message says what it lacks."""


def top(scores):
    """The five best vertices with their scores."""
    scores = np.asarray(scores, dtype=float)
    best = np.argsort(scores)[::-1][:5]
    return {"top": [[int(v), float(scores[v])] for v in best]}


def reached(distances):
    """Number of vertices at a finite distance; an unreachable one is at inf, or negative, or huge."""
    distances = np.asarray(distances, dtype=float)
    return {"reached": int(((distances >= 0) & (distances < 1e18)).sum())}


class Networkit:
    """NetworKit: parallel, in memory."""

    def __init__(self, n, u, v, w, weighted, directed, threads):
        import networkit

        self.nk = networkit
        networkit.setNumberOfThreads(threads)
        data = (
            w.astype(float) if weighted else np.ones(len(u)),
            (u.astype(np.uint64), v.astype(np.uint64)),
        )
        self.g = networkit.GraphFromCoo(data, n=n, weighted=weighted, directed=directed)

    def bfs(self, source):
        found = self.nk.distance.BFS(self.g, source, storePaths=False).run()
        return lambda: reached(found.getDistances())

    def pagerank(self, _source):
        rank = self.nk.centrality.PageRank(self.g, damp=0.85, tol=0.0)
        rank.maxIterations = ITERATIONS
        rank.run()
        return lambda: top(rank.scores())

    def wcc(self, _source):
        if self.g.isDirected():
            found = self.nk.components.WeaklyConnectedComponents(self.g).run()
        else:
            found = self.nk.components.ParallelConnectedComponents(self.g).run()
        return lambda: {"components": found.numberOfComponents()}

    def sssp(self, source):
        found = self.nk.distance.Dijkstra(self.g, source, storePaths=False).run()
        return lambda: reached(found.getDistances())

    def bc(self, _source):
        raise Missing("no betweenness from a chosen source")

    def triangles(self, _source):
        self.g.indexEdges()
        scores = self.nk.sparsification.TriangleEdgeScore(self.g).run().scores()
        return lambda: {"triangles": int(round(sum(scores))) // 3}


class Igraph:
    """igraph: one thread, in memory."""

    def __init__(self, n, u, v, w, weighted, directed, threads):
        import igraph

        edges = np.stack([u, v], axis=1)
        self.g = igraph.Graph(n=n, edges=edges, directed=directed)
        self.w = w.tolist() if weighted else None

    def bfs(self, source):
        found = self.g.distances(source)[0]
        return lambda: reached(found)

    def pagerank(self, _source):
        scores = self.g.pagerank()
        return lambda: top(scores)

    def wcc(self, _source):
        found = self.g.connected_components(mode="weak")
        return lambda: {"components": len(found)}

    def sssp(self, source):
        found = self.g.distances(source, weights=self.w)[0]
        return lambda: reached(found)

    def bc(self, source):
        scores = self.g.betweenness(sources=[source])
        return lambda: top(scores)

    def triangles(self, _source):
        raise Missing("lists triangles, does not count them")


class Rustworkx:
    """rustworkx: mostly one thread, in memory."""

    def __init__(self, n, u, v, w, weighted, directed, threads):
        import rustworkx

        self.rx = rustworkx
        self.directed = directed
        self.g = rustworkx.PyDiGraph() if directed else rustworkx.PyGraph()
        self.g.add_nodes_from([None] * n)
        self.g.add_edges_from(list(zip(u.tolist(), v.tolist(), w.astype(float).tolist())))

    def bfs(self, source):
        found = self.rx.dijkstra_shortest_path_lengths(self.g, source, lambda _edge: 1.0)
        return lambda: {"reached": len(found) + 1}

    def pagerank(self, _source):
        if not self.directed:
            raise Missing("PageRank of directed graphs only")
        scores = self.rx.pagerank(self.g)
        return lambda: top([scores[v] for v in range(len(scores))])

    def wcc(self, _source):
        count = (
            self.rx.number_weakly_connected_components
            if self.directed
            else self.rx.number_connected_components
        )
        found = count(self.g)
        return lambda: {"components": found}

    def sssp(self, source):
        found = self.rx.dijkstra_shortest_path_lengths(self.g, source, float)
        return lambda: {"reached": len(found) + 1}

    def bc(self, _source):
        raise Missing("no betweenness from a chosen source")

    def triangles(self, _source):
        if self.directed:
            raise Missing("triangles of undirected graphs only")
        raise Missing("transitivity only, no triangle count")


class Graphblas:
    """python-graphblas on SuiteSparse: textbook formulations, parallel, in memory."""

    def __init__(self, n, u, v, w, weighted, directed, threads):
        import graphblas

        self.gb = graphblas
        graphblas.ss.config["nthreads"] = threads
        if not directed:
            u, v, w = np.concatenate([u, v]), np.concatenate([v, u]), np.concatenate([w, w])
        values = w.astype(np.int64) if weighted else np.ones(len(u), np.int64)
        self.n, self.directed = n, directed
        self.a = graphblas.Matrix.from_coo(
            u, v, values, nrows=n, ncols=n, dup_op=graphblas.binary.min
        )
        self.at = self.a.T.new() if directed else self.a

    def bfs(self, source):
        gb = self.gb
        levels = gb.Vector(gb.dtypes.INT32, self.n)
        frontier = gb.Vector(bool, self.n)
        frontier[source] = True
        depth = 0
        while frontier.nvals:
            levels(frontier.S) << depth
            frontier(~levels.S, replace=True) << frontier.vxm(self.a, gb.semiring.any_pair)
            depth += 1
        return lambda: {"reached": int(levels.nvals)}

    def pagerank(self, _source):
        gb = self.gb
        degree = self.a.reduce_rowwise(gb.agg.count).new(gb.dtypes.FP64)
        rank = gb.Vector(gb.dtypes.FP64, self.n)
        rank << 1.0 / self.n
        for _ in range(ITERATIONS):
            share = rank.ewise_mult(degree, gb.binary.truediv).new()
            dangling = 1.0 - float(rank.dup(mask=degree.S).reduce().new())
            new = gb.Vector(gb.dtypes.FP64, self.n)
            new << 0.15 / self.n + 0.85 * dangling / self.n
            new(gb.binary.plus) << 0.85 * self.at.mxv(share, gb.semiring.plus_second).new()
            rank = new
        return lambda: top(rank.to_dense(0.0))

    def wcc(self, _source):
        gb = self.gb
        label = gb.Vector.from_dense(np.arange(self.n))
        while True:
            new = label.dup()
            new(gb.binary.min) << self.a.mxv(label, gb.semiring.min_second)
            if self.directed:
                new(gb.binary.min) << self.at.mxv(label, gb.semiring.min_second)
            # Shortcut: take the label of the label.
            values = new.to_dense()
            new(gb.binary.min) << gb.Vector.from_dense(values[values])
            if new.isequal(label):
                break
            label = new
        return lambda: {"components": len(np.unique(label.to_dense()))}

    def sssp(self, source):
        gb = self.gb
        distance = gb.Vector(gb.dtypes.INT64, self.n)
        distance[source] = 0
        frontier = distance.dup()
        while frontier.nvals:
            step = frontier.vxm(self.a, gb.semiring.min_plus).new()
            known = step.ewise_mult(distance, gb.binary.ge).new()
            step(~known.V, replace=True) << step
            distance(gb.binary.min) << step
            frontier = step
        return lambda: {"reached": int(distance.nvals)}

    def bc(self, source):
        gb = self.gb
        paths = gb.Vector(gb.dtypes.FP64, self.n)
        frontier = gb.Vector(gb.dtypes.FP64, self.n)
        frontier[source] = 1.0
        waves = []
        while frontier.nvals:
            waves.append(frontier.dup())
            paths(gb.binary.plus) << frontier
            frontier(~paths.S, replace=True) << frontier.vxm(self.a, gb.semiring.plus_first)
        score = gb.Vector(gb.dtypes.FP64, self.n)
        score << 0.0
        for depth in range(len(waves) - 1, 0, -1):
            one = gb.Vector(gb.dtypes.FP64, self.n)
            one(waves[depth].S) << 1.0
            share = score.ewise_mult(waves[depth], gb.binary.first).new()
            share(gb.binary.plus) << one
            share << share.ewise_mult(waves[depth], gb.binary.truediv)
            back = gb.Vector(gb.dtypes.FP64, self.n)
            back(waves[depth - 1].S) << self.a.mxv(share, gb.semiring.plus_second)
            score(gb.binary.plus) << back.ewise_mult(waves[depth - 1], gb.binary.times)
        values = score.to_dense(0.0)
        values[source] = 0.0
        return lambda: top(values)

    def triangles(self, _source):
        if self.directed:
            raise Missing("triangles of undirected graphs only")
        gb = self.gb
        lower = gb.select.tril(self.a, -1).new()
        closed = lower.mxm(lower.T, gb.semiring.plus_pair).new(mask=lower.S)
        found = int(closed.reduce_scalar().new())
        return lambda: {"triangles": found}


PEERS = {"networkit": Networkit, "igraph": Igraph, "rustworkx": Rustworkx, "graphblas": Graphblas}


def main() -> None:
    peer, kernel, folder, source, threads, runs = sys.argv[1:7]
    directed = "directed" in sys.argv[7:]
    budget = float(os.environ.get("NAKSHI_BENCH_SECONDS", "120"))
    u, v, w = (np.load(Path(folder) / f"{name}.npy") for name in "uvw")
    n = json.loads((Path(folder) / "facts.json").read_text())["vertices"]
    began = time.perf_counter()
    graph = PEERS[peer](n, u, v, w, kernel == "sssp", directed, int(threads))
    load = time.perf_counter() - began
    del u, v, w
    seconds: list[float] = []
    while len(seconds) < int(runs) and sum(seconds) < budget:
        began = time.perf_counter()
        answer = getattr(graph, kernel)(int(source))
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds": seconds, "load": load, "digest": answer()}))


if __name__ == "__main__":
    try:
        main()
    except Missing as missing:
        sys.exit(f"{missing}")
