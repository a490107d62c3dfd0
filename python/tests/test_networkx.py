"""Agreement with NetworkX on random graphs: every layout, one and two threads, memory and SSD.

Graphs are directed and undirected, with self-loops, duplicates, isolated vertices, and ids that are
text or lie on both sides of 0, 2^63 and 2^64. `NAKSHI_TEST_SCALE=10` takes 2,000 of them.

Integers must be equal, floats within 1e-4 (the ranks also sum to 1). Seen red with triangles that
count self-loops, component labels left as internal ids (which only the layouts other than
``original`` show) and components of the heads alone, the last of several weights kept instead of
the smallest (SSSP), PageRank that stops at a change of 1e-3, the largest label of the most frequent
(CDLP), sides of one direction counted where there are two (LCC), the parent of the smallest
internal id (BFS), paths that forget their own end (BC), two edges for arcs in both directions (scan
statistics), ids beyond 2^63 beside negative ones read as floats, and distances between ids that do not
fit 64 bits with a sign. PageRank without the mass of dangling
vertices does not show here: scaled to sum 1, its limit is the same. Graphalytics' fixed number of
iterations shows it.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import nakshi
import networkx as nx
import pytest
from nakshi.orders import Layout

from .conftest import SCALE, random_edges

#: Orders of an import, and those of a second store, of which each graph has one.
LAYOUTS = ["original", "degree", "random"]
ORDERS = [order for order in get_args(Layout) if order not in LAYOUTS]
GRAPHS = 200 * SCALE
CHUNKS = 10

Id = Any  # int or str


@dataclass
class Sample:
    """A graph, and how it is given to the import."""

    graph: nx.Graph
    edges: list[tuple[Id, Id, float]]
    isolated: list[Id]
    duplicates: Literal["drop", "sum"]


def names_of(rng: random.Random, count: int) -> list[Id]:
    """Ids with gaps, in no order of importance, in a range that is easily got wrong."""
    ends = 3 * count
    around = [0, 0, 1, -5, 1 << 33, 1 << 63, (1 << 63) - ends, 1 << 64, (1 << 64) - ends]
    start = rng.choice([*around, *(border - ends // 2 for border in (0, 1 << 63, 1 << 64))])
    names: list[Id] = [start + 3 * i for i in range(count)]
    kind = rng.randrange(8)
    if kind == 0:
        names = [f"v{name}" for name in names]
    elif kind == 1:
        # Both ends of what has a sign, and more.
        names = [name if i % 2 else -(1 << 63) + i for i, name in enumerate(names)]
    rng.shuffle(names)
    return names


def random_graph(seed: int) -> Sample:
    """A graph of up to 40 vertices, half of them directed, and its edges as they are imported."""
    rng = random.Random(seed)
    vertices = rng.randint(1, 40)
    pairs = random_edges(rng, vertices, rng.randint(0, 4 * vertices))
    name = names_of(rng, vertices + 2)
    edges = [(name[u], name[v], float(rng.randint(1, 9))) for u, v in pairs]
    if not edges:
        edges = [(name[0], name[0], 1.0)]
    duplicates: Literal["drop", "sum"] = "sum" if seed % 3 == 0 else "drop"
    graph: nx.Graph = nx.DiGraph() if seed % 2 else nx.Graph()
    for u, v, w in edges:
        if not graph.has_edge(u, v):
            graph.add_edge(u, v, weight=w)
        elif duplicates == "sum":
            graph[u][v]["weight"] += w
        else:
            # The smallest weight stays.
            graph[u][v]["weight"] = min(w, graph[u][v]["weight"])
    isolated = name[: rng.randrange(3)] + name[vertices:]
    graph.add_nodes_from(isolated)
    return Sample(graph, edges, isolated, duplicates)


def expected(graph: nx.Graph, source: Id) -> dict[str, dict[Id, Any]]:
    """The results of NetworkX, by algorithm."""
    plain = nx.Graph(graph)
    plain.remove_edges_from(nx.selfloop_edges(plain))
    levels = nx.single_source_shortest_path_length(graph, source)
    distances = nx.single_source_dijkstra_path_length(graph, source)
    components = nx.connected_components(nx.Graph(graph))
    balls = {v: nx.ego_graph(plain, v).number_of_edges() for v in plain}
    return {
        "bfs": {v: levels.get(v) for v in graph},
        "sssp": {v: distances.get(v) for v in graph},
        "wcc": {v: min(c) for c in components for v in c},
        "triangles": nx.triangles(plain),
        "pagerank": nx.pagerank(graph, weight=None, tol=1e-12, max_iter=1000),
        "bc": nx.betweenness_centrality(graph, normalized=False),
        "cdlp": cdlp(graph, 5),
        "lcc": lcc(graph),
        "scan-statistics": balls,
        "apsp": {v: levels.get(v) for v in graph},
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
    """A folder for stores: in memory if possible, as syncing hundreds of them would take minutes."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="nakshi-test-") as place:
        yield Path(place)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_agreement(chunk: int, places: Path) -> None:
    for seed in range(chunk, GRAPHS, CHUNKS):
        sample = random_graph(seed)
        graph = sample.graph
        source = random.Random(seed).choice(sorted(graph))
        wanted = expected(graph, source)
        for store in stores(seed, sample, places):
            assert store.num_vertices == graph.number_of_nodes()
            assert store.num_edges == graph.number_of_edges()
            layout = Path(store.path).name
            for threads in (1, 2):
                engine = ["memory", "ssd"][(threads + seed) % 2]
                run = {"threads": threads, "engine": engine, "progress": False}
                place = f"seed={seed} {layout} {threads} {engine}"
                agree_all(place, store, graph, wanted, source, run)
                refuse_missing(store, graph, run)
            check_parents(graph, store, source, wanted["bfs"])
        shutil.rmtree(places / str(seed))


def stores(seed: int, sample: Sample, places: Path) -> Iterator[nakshi.Graph]:
    """The graph in the layouts of an import, and in one of another."""
    sources, targets, weights = (list(column) for column in zip(*sample.edges))
    folder = places / str(seed)
    folder.mkdir()
    for layout in LAYOUTS:
        yield nakshi.build(
            folder / layout,
            (sources, targets, weights),
            nodes=sample.isolated,
            directed=sample.graph.is_directed(),
            weighted=True,
            duplicates=sample.duplicates,
            layout=layout,  # type: ignore[arg-type]
            seed=seed if layout == "random" else None,
            progress=False,
        )
    order = ORDERS[seed // 2 % len(ORDERS)]
    first = nakshi.open(folder / LAYOUTS[seed % len(LAYOUTS)])
    yield first.relayout(folder / order, order, progress=False)  # type: ignore[arg-type]


def agree_all(
    place: str,
    store: nakshi.Graph,
    graph: nx.Graph,
    wanted: dict[str, dict[Id, Any]],
    source: Id,
    run: dict[str, Any],
) -> None:
    """All algorithms, and those that vertex programs run too."""
    arguments: dict[str, dict[str, Any]] = {
        "bfs": {"source": source},
        "sssp": {"source": source},
        "pagerank": {"tolerance": 1e-10},
        "cdlp": {"iterations": 5},
        "triangles": {"per_vertex": True},
        "scan-statistics": {"per_vertex": True},
        "apsp": {"sources": [source]},
    }
    for name, values in wanted.items():
        result = store.run(name, **arguments.get(name, {}), **run)
        found = result.to_dict()
        agree(f"{name} {place}", found, values)
        if name == "pagerank":
            assert abs(sum(found.values()) - 1) < 1e-9
        if name == "scan-statistics":
            most = max(values.values())
            first = min(v for v, value in values.items() if value == most)
            alone = store.run(name, **run).summary
            for summary in (result.summary, alone):
                assert (summary["max"], type(first)(summary["vertex"])) == (most, first), place
    for name in ("bfs", "wcc", "pagerank"):
        given = {**arguments.get(name, {}), "variant": "vertex"}
        agree(
            f"{name} as a program, {place}", store.run(name, **given, **run).to_dict(), wanted[name]
        )
    given = {**arguments["pagerank"], "variant": "delta"}
    agree(
        f"pagerank by deltas, {place}",
        store.run("pagerank", **given, **run).to_dict(),
        wanted["pagerank"],
    )
    agree_on_diameter(place, store, graph, run)


def agree_on_diameter(
    place: str, store: nakshi.Graph, graph: nx.Graph, run: dict[str, Any]
) -> None:
    """The distance of the two vertices that it names, and half of what is possible at least."""
    plain = nx.Graph(graph)
    summary = store.run("diameter", **run).summary
    # Beyond 64 bits ids are text in a summary.
    begin, end = (type(next(iter(graph)))(summary[name]) for name in ("from", "to"))
    distances = nx.single_source_shortest_path_length(plain, begin)
    assert distances[end] == summary["diameter"] == max(distances.values()), place


def refuse_missing(store: nakshi.Graph, graph: nx.Graph, run: dict[str, Any]) -> None:
    """Searches from vertices that are not there, near those that are."""
    present = next(iter(graph))
    if isinstance(present, str):
        missing: set[Id] = {"", present + "0", 0, 1 << 63}
    else:
        missing = {
            min(graph) - 1,
            max(graph) + 1,
            present + 1,
            -(1 << 63),
            (1 << 63),
            (1 << 64) - 1,
        }
    for source in missing - set(graph):
        for name in ("bfs", "sssp"):
            with pytest.raises(nakshi.UnknownVertexError):
                store.run(name, source=source, **run)


def check_parents(
    graph: nx.Graph, store: nakshi.Graph, source: Id, levels: dict[Id, int | None]
) -> None:
    """The parent is the in-neighbour one level up with the smallest id."""
    found = store.bfs(source=source, parents=True, progress=False).to_dict("parent")
    for vertex, parent in found.items():
        level = levels[vertex]
        if level is None or vertex == source:
            assert parent is None
        else:
            before = graph.predecessors(vertex) if graph.is_directed() else graph[vertex]
            assert parent == min(u for u in before if levels[u] == level - 1)
