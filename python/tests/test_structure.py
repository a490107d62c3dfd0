"""Components, cores, orders, sets and distances of whole graphs, against NetworkX.

The graphs are those of `test_networkx`: directed and not, with self-loops, isolated vertices and ids of
every kind, in several layouts, from memory and from the SSD, with one and two threads.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nakshi
import networkx as nx
import pytest

from .conftest import SCALE
from .test_networkx import places, random_graph, stores

__all__ = ["places"]

GRAPHS = 24 * SCALE
CHUNKS = 4


def simple(graph: nx.Graph) -> nx.Graph:
    """The graph without directions and self-loops."""
    plain = nx.Graph(graph)
    plain.remove_edges_from(list(nx.selfloop_edges(plain)))
    return plain


def expected(graph: nx.Graph) -> dict[str, dict[Any, Any]]:
    """The first column of each algorithm that has but one right answer."""
    plain = simple(graph)
    strong = nx.strongly_connected_components if graph.is_directed() else nx.connected_components
    loopless = graph.copy()
    loopless.remove_edges_from(list(nx.selfloop_edges(loopless)))
    cut = set(nx.articulation_points(plain))
    parts = [plain.subgraph(part) for part in nx.connected_components(plain)]
    truss = nx.k_truss(plain, 4)
    return {
        "scc": {v: min(part) for part in strong(graph) for v in part},
        "k-core": nx.core_number(loopless),
        "articulation-points": {v: v in cut for v in graph},
        "eccentricity": {v: e for part in parts for v, e in nx.eccentricity(part).items()},
        "k-truss": {v: v in truss for v in graph},
    }


def runs(chunk: int, places: Path) -> Iterator[tuple[str, nx.Graph, nakshi.Graph, dict[str, Any]]]:
    for seed in range(chunk, GRAPHS, CHUNKS):
        sample = random_graph(seed)
        for turn, store in enumerate(stores(seed, sample, places)):
            run = {"threads": 1 + turn % 2, "engine": ["memory", "ssd"][(turn + seed) // 2 % 2]}
            yield f"{seed} {Path(store.path).name} {run}", sample.graph, store, run


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_agreement(chunk: int, places: Path) -> None:
    arguments = {"k-truss": {"k": 4}}
    for place, graph, store, run in runs(chunk, places):
        for name, wanted in expected(graph).items():
            found = store.run(name, **arguments.get(name, {}), **run)
            assert found.to_dict() == wanted, (name, place)
        check_sets(place, graph, store, run)
        check_diameter(place, graph, store, run)


def check_sets(place: str, graph: nx.Graph, store: nakshi.Graph, run: dict[str, Any]) -> None:
    """Independent sets, forests and bridges: any that are right, the same for all layouts."""
    plain = simple(graph)
    found = store.mis(seed=7, **run).to_dict()
    members = {v for v, member in found.items() if member}
    assert not plain.subgraph(members).edges, place
    assert all(v in members or members & set(plain[v]) for v in plain), place

    forest = store.spanning_forest(**run)
    tree = nx.Graph([edge for edge in forest.to_dict().items() if edge[1] is not None])
    components = list(nx.connected_components(plain))
    assert forest.summary["trees"] == len(components), place
    assert forest.summary["edges"] == tree.number_of_edges() == len(plain) - len(components), place
    assert all(plain.has_edge(*edge) for edge in tree.edges), place
    assert not tree or nx.is_forest(tree), place
    roots = {v for v, parent in forest.to_dict().items() if parent is None}
    assert roots == {min(part) for part in components}, place

    bridges = store.bridges(**run)
    pairs = [{v, end} for v, end in bridges.to_dict().items() if end is not None]
    wanted = [set(edge) for edge in nx.bridges(plain)]
    assert bridges.summary["bridges"] == len(pairs) == len(wanted), place
    assert all(pair in wanted for pair in pairs), place


def check_diameter(place: str, graph: nx.Graph, store: nakshi.Graph, run: dict[str, Any]) -> None:
    plain = simple(graph)
    parts = [plain.subgraph(part) for part in nx.connected_components(plain)]
    most = max(map(len, parts))
    summary = store.diameter(exact=True, **run).summary
    assert summary["diameter"] == max(map(nx.diameter, parts)), place
    assert summary["radius"] == min(nx.radius(part) for part in parts if len(part) == most), place


def test_orders_of_graphs_without_cycles(tmp_path: Path) -> None:
    for seed in range(10 * SCALE):
        rng = random.Random(seed)
        names = rng.sample(range(1000), 30)
        pairs = [sorted(rng.sample(range(30), 2)) for _ in range(rng.randint(1, 60))]
        edges = [(names[u], names[v]) for u, v in pairs]
        graph = nx.DiGraph(edges)
        store = nakshi.build(tmp_path / str(seed), tuple(zip(*edges)), progress=False)
        found = store.topological_sort(threads=1 + seed % 2)
        layers = list(nx.topological_generations(graph))
        wanted = {v: layer for layer, members in enumerate(layers) for v in members}
        assert found.to_dict("generation") == wanted
        assert found.summary == {"generations": len(layers)}
        in_order = sorted(graph, key=found.to_dict("order").__getitem__)
        assert in_order == [v for layer in layers for v in sorted(layer)]


def test_orders_that_there_are_not(tmp_path: Path, karate: nakshi.Graph) -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "e")]
    store = nakshi.build(tmp_path / "cycle.nakshi", tuple(zip(*edges)), progress=False)
    with pytest.raises(nakshi.UnsupportedError, match="through vertex [bcd];"):
        store.topological_sort()
    with pytest.raises(nakshi.UnsupportedError, match="undirected"):
        karate.topological_sort()


def test_condensation(tmp_path: Path, karate: nakshi.Graph) -> None:
    for seed in range(6 * SCALE):
        rng = random.Random(seed)
        names = rng.sample(range(1000), 40)
        known = [f"v{name}" for name in names] if seed % 2 else names
        edges = [(rng.choice(known), rng.choice(known)) for _ in range(rng.randint(1, 90))]
        graph = nx.DiGraph(edges)
        store = nakshi.build(tmp_path / f"{seed}", tuple(zip(*edges)), progress=False)
        path = tmp_path / f"{seed} components" if seed % 3 else None
        found = store.condensation(path, threads=1 + seed % 2)
        wanted = nx.condensation(graph)
        least = {number: min(members) for number, members in wanted.nodes(data="members")}
        assert set(found.degrees().to_dict()) == set(least.values())
        pairs = {(least[u], least[v]) for u, v in wanted.edges}
        assert set(zip(*(ends.tolist() for ends in found.edges()))) == pairs
        assert found.scc().summary["components"] == found.num_vertices
    with pytest.raises(nakshi.UnsupportedError, match="undirected"):
        karate.condensation()


def test_longest_paths(tmp_path: Path) -> None:
    for seed in range(10 * SCALE):
        rng = random.Random(seed)
        names = rng.sample(range(1000), 30)
        pairs = {tuple(sorted(rng.sample(range(30), 2))) for _ in range(rng.randint(1, 60))}
        edges = [(names[u], names[v], float(rng.randint(-3, 9))) for u, v in sorted(pairs)]
        graph = nx.DiGraph()
        graph.add_weighted_edges_from(edges)
        store = nakshi.build(
            tmp_path / str(seed), tuple(zip(*edges)), weighted=True, progress=False
        )
        for weight, given in (("weight", {}), (None, {"unit": True})):
            found = store.dag_longest_path(**given, threads=1 + seed % 2)
            length = nx.dag_longest_path_length(graph, weight=weight)
            assert found.summary["length"] == length
            path = [v for v, is_on_path in found.to_dict("on_path").items() if is_on_path]
            before = found.to_dict("before")
            ends = [v for v in path if v not in {before[v] for v in path}]
            assert ends == [found.summary["to"]]
            total, v = 0.0, ends[0]
            while before[v] is not None:
                total += graph[before[v]][v].get(weight, 1)
                v = before[v]
            assert v == found.summary["from"] and total == length
            assert found.summary["edges"] == len(path) - 1


def test_dense_parts(karate: nakshi.Graph) -> None:
    """The density is that of the part, and within the bounds."""
    graph = nx.karate_club_graph()
    _, best = nx.approximation.densest_subgraph(graph, iterations=100)
    most = graph.subgraph(best).number_of_edges() / len(best)
    for passes in (0, 5, 100):
        found = karate.densest_subgraph(passes=passes)
        part = graph.subgraph([v for v, dense in found.to_dict().items() if dense])
        assert found.summary["edges"] == part.number_of_edges()
        assert found.summary["density"] == part.number_of_edges() / len(part)
        assert most / 2 <= found.summary["density"] <= found.summary["bound"]
        assert found.summary["bound"] >= most
    assert found.summary["density"] == most


def test_parallel_edges_are_no_bridges(tmp_path: Path) -> None:
    edges = [(1, 2), (1, 2), (2, 3), (3, 4), (4, 3), (3, 3)]
    store = nakshi.build(
        tmp_path / "kept.nakshi",
        tuple(zip(*edges)),
        directed=False,
        duplicates="keep",
        progress=False,
    )
    wanted = set(nx.bridges(nx.MultiGraph(edges)))
    assert wanted == {(2, 3)}
    found = {v: end for v, end in store.bridges().to_dict().items() if end is not None}
    assert found == {3: 2}
    # Edges in both directions are one.
    store = nakshi.build(tmp_path / "two-way.nakshi", ([1, 2, 2], [2, 1, 3]), progress=False)
    found = {v: end for v, end in store.bridges().to_dict().items() if end is not None}
    assert found == {2: 1, 3: 2}


def test_eccentricities_along_edges(tmp_path: Path) -> None:
    edges = [(1, 2), (2, 3), (3, 4), (4, 1), (2, 4)]
    ends = tuple(zip(*edges))
    store = nakshi.build(tmp_path / "cycle.nakshi", ends, progress=False)
    graph = nx.DiGraph(edges)
    assert store.eccentricity(ignore_direction=False).to_dict() == nx.eccentricity(graph)
    summary = store.diameter(exact=True, ignore_direction=False).summary
    assert summary["diameter"] == nx.diameter(graph)
    assert summary["radius"] == nx.radius(graph)
    some = store.eccentricity(sources=[1, 3])
    assert some.to_dict() == {1: 2, 2: None, 3: 2, 4: None}
    store = nakshi.build(tmp_path / "path.nakshi", ([1, 2], [2, 3]), progress=False)
    with pytest.raises(nakshi.UnsupportedError, match="strongly connected"):
        store.eccentricity(ignore_direction=False)


def test_sets_in_every_form(tmp_path: Path, karate: nakshi.Graph) -> None:
    """Columns of true and false in NumPy, Arrow, files and rankings."""
    found = karate.mis(seed=3)
    ids, members = found.to_numpy()
    assert members.dtype == bool and members.sum() == found.summary["members"]
    assert [found[v] for v in ids.tolist()] == members.tolist()
    assert found.to_arrow().column("member").to_pylist() == members.tolist()
    assert all(value is True for _, value in found.top(found.summary["members"]))
    for ending, true in (("tsv", "true"), ("csv", "true"), ("jsonl", "true}")):
        found.write(tmp_path / f"members.{ending}")
        text = (tmp_path / f"members.{ending}").read_text()
        assert text.count(true) == found.summary["members"]
