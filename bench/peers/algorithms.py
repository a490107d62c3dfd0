"""One peer, one algorithm, one process: ``python algorithms.py PEER ALGORITHM FOLDER SOURCE THREADS RUNS``.

Runs in the peers' own environment, never in the product's. Prints one JSON object: seconds of each run,
and the answer in numbers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from kernels import Missing, top

#: Algorithms that read the weights.
WEIGHTED = {"weighted_matching"}
#: The error and its probability of estimated betweenness, as `bench/algorithms.py` asks for them.
EPSILON, DELTA = 0.01, 0.1


class Networkit:
    """NetworKit: parallel, in memory."""

    def __init__(self, n, u, v, w, directed, threads):
        import networkit

        self.nk = networkit
        networkit.setNumberOfThreads(threads)
        networkit.setSeed(1, True)
        weighted = w is not None
        values = w.astype(float) if weighted else np.ones(len(u))
        ends = (u.astype(np.uint64), v.astype(np.uint64))
        self.g = networkit.GraphFromCoo((values, ends), n=n, weighted=weighted, directed=directed)

    def undirected(self):
        if self.g.isDirected():
            raise Missing("undirected graphs only")

    def k_core(self, _source):
        self.undirected()
        found = self.nk.centrality.CoreDecomposition(self.g).run()
        return lambda: {"largest": int(max(found.scores())), "sum": float(sum(found.scores()))}

    def scc(self, _source):
        if not self.g.isDirected():
            raise Missing("directed graphs only")
        found = self.nk.components.StronglyConnectedComponents(self.g).run()
        return lambda: {"components": found.numberOfComponents()}

    def spanning_forest(self, _source):
        self.undirected()
        found = self.nk.graph.SpanningForest(self.g).run().getForest()
        return lambda: {"edges": found.numberOfEdges()}

    def articulation_points(self, _source):
        self.undirected()
        found = self.nk.components.BiconnectedComponents(self.g).run()
        return lambda: {"blocks": found.numberOfComponents()}

    def lcc(self, _source):
        self.undirected()
        found = self.nk.centrality.LocalClusteringCoefficient(self.g, True).run()
        return lambda: {"sum": float(sum(found.scores()))}

    def communities(self, method):
        self.undirected()
        found = method.run().getPartition()
        quality = self.nk.community.Modularity()
        return lambda: {"modularity": quality.getQuality(found, self.g)}

    def louvain(self, _source):
        return self.communities(self.nk.community.PLM(self.g))

    def leiden(self, _source):
        self.undirected()
        return self.communities(self.nk.community.ParallelLeiden(self.g))

    def label_propagation(self, _source):
        return self.communities(self.nk.community.PLP(self.g))

    def eigenvector(self, _source):
        found = self.nk.centrality.EigenvectorCentrality(self.g, 1e-6).run()
        return lambda: top(found.scores())

    def eccentricity(self, source):
        self.undirected()
        found = self.nk.distance.Eccentricity.getValue(self.g, source)
        return lambda: {"eccentricity": int(found[1])}

    def weighted_matching(self, _source):
        self.undirected()
        found = self.nk.matching.SuitorMatcher(self.g).run().getMatching()
        return lambda: {"weight": found.weight(self.g)}

    def mis(self, _source):
        self.undirected()
        found = self.nk.independentset.Luby().run(self.g)
        return lambda: {"members": int(sum(found))}

    def bc(self, _source):
        found = self.nk.centrality.KadabraBetweenness(self.g, EPSILON, DELTA).run()
        return lambda: {"most": max(found.scores())}

    def harmonic(self, _source):
        found = self.nk.distance.EffectiveDiameterApproximation(self.g, 0.9, 64, 7).run()
        return lambda: {"effective diameter": found.getEffectiveDiameter()}

    def diameter(self, _source):
        self.undirected()
        exact = self.nk.distance.DiameterAlgo.EXACT
        found = self.nk.distance.Diameter(self.g, exact).run()
        return lambda: {"diameter": int(found.getDiameter()[0])}


class Igraph:
    """igraph: one thread, in memory."""

    def __init__(self, n, u, v, w, directed, threads):
        import igraph

        self.ig = igraph
        self.g = igraph.Graph(n=n, edges=np.stack([u, v], axis=1), directed=directed)
        self.w = None if w is None else w.tolist()

    def undirected(self):
        if self.g.is_directed():
            raise Missing("undirected graphs only")

    def k_core(self, _source):
        found = self.g.coreness()
        return lambda: {"largest": max(found), "sum": float(sum(found))}

    def scc(self, _source):
        found = self.g.connected_components(mode="strong")
        return lambda: {"components": len(found)}

    def articulation_points(self, _source):
        self.undirected()
        found = self.g.articulation_points()
        return lambda: {"points": len(found)}

    def bridges(self, _source):
        self.undirected()
        found = self.g.bridges()
        return lambda: {"bridges": len(found)}

    def lcc(self, _source):
        self.undirected()
        found = self.g.transitivity_local_undirected(mode="zero")
        return lambda: {"sum": float(sum(found))}

    def louvain(self, _source):
        self.undirected()
        found = self.g.community_multilevel()
        return lambda: {"modularity": found.modularity}

    def leiden(self, _source):
        self.undirected()
        found = self.g.community_leiden(objective_function="modularity", n_iterations=2)
        return lambda: {"modularity": found.modularity}

    def label_propagation(self, _source):
        self.undirected()
        found = self.g.community_label_propagation()
        return lambda: {"modularity": found.modularity}

    def eigenvector(self, _source):
        self.undirected()
        found = self.g.eigenvector_centrality()
        return lambda: top(found)

    def hits(self, _source):
        found = self.g.hub_score()
        self.g.authority_score()
        return lambda: top(found)

    def personalized_pagerank(self, source):
        found = self.g.personalized_pagerank(reset_vertices=[source])
        return lambda: top(found)

    def eccentricity(self, source):
        found = self.g.eccentricity([source], mode="all")
        return lambda: {"eccentricity": int(found[0])}

    def diameter(self, _source):
        self.undirected()
        found = self.g.diameter()
        return lambda: {"diameter": found}

    def coloring(self, _source):
        self.undirected()
        found = self.g.vertex_coloring_greedy()
        return lambda: {"colors": max(found) + 1}

    def spanning_forest(self, _source):
        found = self.g.spanning_tree(return_tree=False)
        return lambda: {"edges": len(found)}

    def triad_census(self, _source):
        if not self.g.is_directed():
            raise Missing("directed graphs only")
        found = self.g.triad_census()
        return lambda: {"transitive": found.t030T, "complete": found.t300}

    def assortativity(self, _source):
        found = self.g.assortativity_degree()
        return lambda: {"assortativity": found}

    def degrees(self, _source):
        found = self.g.degree()
        return lambda: {"sum": float(sum(found))}

    def power_law(self, _source):
        found = self.ig.statistics.power_law_fit([d for d in self.g.degree() if d])
        return lambda: {"alpha": found.alpha}


PEERS = {"networkit": Networkit, "igraph": Igraph}


def main() -> None:
    peer, algorithm, folder, source, threads, runs = sys.argv[1:7]
    if not hasattr(PEERS[peer], algorithm):
        raise Missing("no such algorithm")
    budget = float(os.environ.get("NAKSHI_BENCH_SECONDS", "120"))
    u, v, w = (np.load(Path(folder) / f"{name}.npy") for name in "uvw")
    n = json.loads((Path(folder) / "facts.json").read_text())["vertices"]
    weights = w if algorithm in WEIGHTED else None
    graph = PEERS[peer](n, u, v, weights, "directed" in sys.argv[7:], int(threads))
    seconds: list[float] = []
    while len(seconds) < int(runs) and sum(seconds) < budget:
        began = time.perf_counter()
        answer = getattr(graph, algorithm)(int(source))
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds": seconds, "digest": answer()}))


if __name__ == "__main__":
    try:
        main()
    except Missing as missing:
        sys.exit(f"{missing}")
