"""Agreement with NetworkX on random graphs: every layout, one and two threads.

Integers must be equal, floats within 1e-4 (the ranks also sum to 1). Seen red with triangles that
count self-loops, component labels left as internal ids (which only the layouts other than
``original`` show) and components of the heads alone, the last of several weights kept instead of
the smallest (SSSP), PageRank that stops at a change of 1e-3, the largest label of the most frequent
(CDLP), sides of one direction counted where there are two (LCC), the parent of the smallest
internal id (BFS), and paths that forget their own end (BC). PageRank without the mass of dangling
vertices does not show here: scaled to sum 1, its limit is the same. Graphalytics' fixed number of
iterations shows it.
"""

from __future__ import annotations

import math
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nakshi
import networkx as nx
import pytest

from .conftest import SCALE, random_edges

LAYOUTS = ["original", "degree", "random"]
GRAPHS = 200 * SCALE
CHUNKS = 10


def random_graph(seed: int) -> tuple[nx.Graph, list[tuple[int, int, float]]]:
    """A graph of up to 40 vertices, half of them directed, and its edges as they are imported."""
    rng = random.Random(seed)
    vertices = rng.randint(1, 40)
    pairs = random_edges(rng, vertices, rng.randint(0, 4 * vertices))
    # Ids with gaps, in no order of importance; now and then negative or beyond 32 bits.
    base = rng.choice([0, 0, 1, -5, 1 << 33])
    name = [base + 3 * i for i in range(vertices)]
    rng.shuffle(name)
    edges = [(name[u], name[v], float(rng.randint(1, 9))) for u, v in pairs]
    if not edges:
        edges = [(name[0], name[0], 1.0)]
    graph: nx.Graph = nx.DiGraph() if seed % 2 else nx.Graph()
    for u, v, w in edges:
        # `duplicates="drop"` keeps the smallest weight.
        if not graph.has_edge(u, v) or graph[u][v]["weight"] > w:
            graph.add_edge(u, v, weight=w)
    return graph, edges


def expected(graph: nx.Graph, source: int) -> dict[str, dict[int, Any]]:
    """What NetworkX says, by algorithm."""
    plain = nx.Graph(graph)
    plain.remove_edges_from(nx.selfloop_edges(plain))
    levels = nx.single_source_shortest_path_length(graph, source)
    distances = nx.single_source_dijkstra_path_length(graph, source)
    components = nx.connected_components(nx.Graph(graph))
    return {
        "bfs": {v: levels.get(v) for v in graph},
        "sssp": {v: distances.get(v) for v in graph},
        "wcc": {v: min(c) for c in components for v in c},
        "triangles": nx.triangles(plain),
        "pagerank": nx.pagerank(graph, weight=None, tol=1e-12, max_iter=1000),
        "bc": nx.betweenness_centrality(graph, normalized=False),
        "cdlp": cdlp(graph, 5),
        "lcc": lcc(graph),
    }


def cdlp(graph: nx.Graph, rounds: int) -> dict[int, int]:
    """Graphalytics' label propagation: the most frequent label, the smallest among equals.

    In a directed graph a pair of opposite edges counts twice.
    """
    label = {v: v for v in graph}
    for _ in range(rounds):
        fresh = {}
        for v in graph:
            votes: dict[int, int] = {}
            if graph.is_directed():
                voters = [*graph.successors(v), *graph.predecessors(v)]
            else:
                voters = list(graph.neighbors(v))
            for u in voters:
                votes[label[u]] = votes.get(label[u], 0) + 1
            most = max(votes.values(), default=0)
            fresh[v] = min((k for k, n in votes.items() if n == most), default=label[v])
        label = fresh
    return label


def lcc(graph: nx.Graph) -> dict[int, float]:
    """Graphalytics' clustering coefficient, directed edges between neighbours counted each."""
    result = {}
    for v in graph:
        near = set(nx.all_neighbors(graph, v)) - {v}
        links = sum(1 for u in near for w in near if u != w and graph.has_edge(u, w))
        pairs = len(near) * (len(near) - 1)
        result[v] = links / pairs if pairs else 0.0
    return result


def agree(name: str, found: dict[int, Any], wanted: dict[int, Any]) -> None:
    assert found.keys() == wanted.keys(), name
    for vertex, value in wanted.items():
        if isinstance(value, float):
            assert math.isclose(found[vertex], value, rel_tol=1e-4, abs_tol=1e-12), (name, vertex)
        else:
            assert found[vertex] == value, (name, vertex)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Path]:
    """Where stores go: in memory if possible, as syncing hundreds of them would take minutes."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="nakshi-test-") as place:
        yield Path(place)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_agreement(chunk: int, places: Path) -> None:
    for seed in range(chunk, GRAPHS, CHUNKS):
        graph, edges = random_graph(seed)
        sources, targets, weights = (list(column) for column in zip(*edges))
        source = min(graph)
        wanted = expected(graph, source)
        arguments: dict[str, dict[str, Any]] = {
            "bfs": {"source": source},
            "sssp": {"source": source},
            "pagerank": {"tolerance": 1e-10},
            "cdlp": {"iterations": 5},
            "triangles": {"per_vertex": True},
        }
        for layout in LAYOUTS:
            store = nakshi.build(
                places / f"{seed}-{layout}",
                (sources, targets, weights),
                directed=graph.is_directed(),
                weighted=True,
                layout=layout,  # type: ignore[arg-type]
                seed=seed,
            )
            assert store.num_vertices == graph.number_of_nodes()
            assert store.num_edges == graph.number_of_edges()
            for threads in (1, 2):
                for name, values in wanted.items():
                    result = store.run(name, threads=threads, **arguments.get(name, {}))
                    found = result.to_dict()
                    agree(f"{name} seed={seed} {layout} {threads}", found, values)
                    if name == "pagerank":
                        assert abs(sum(found.values()) - 1) < 1e-9
                check_parents(graph, store, source, wanted["bfs"])
                for name in ("bfs", "wcc", "pagerank"):
                    given = {**arguments.get(name, {}), "variant": "vertex"}
                    for engine in ("memory", "ssd"):
                        found = store.run(name, threads=threads, engine=engine, **given).to_dict()
                        place = f"{name} as a program, seed={seed} {layout} {threads} {engine}"
                        agree(place, found, wanted[name])


def check_parents(
    graph: nx.Graph, store: nakshi.Graph, source: int, levels: dict[int, int | None]
) -> None:
    """The parent is the in-neighbour one level up with the smallest id."""
    for vertex, parent in store.bfs(source=source, parents=True).to_dict("parent").items():
        level = levels[vertex]
        if level is None or vertex == source:
            assert parent is None
        else:
            before = graph.predecessors(vertex) if graph.is_directed() else graph[vertex]
            assert parent == min(u for u in before if levels[u] == level - 1)
