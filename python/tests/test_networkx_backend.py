"""Calls of NetworkX on the backend against NetworkX itself, on random graphs and stores.

Graphs are directed and undirected, with self-loops, isolated nodes, parallel edges and nodes of any
hashable type. Seen red with the neighbours of a store in the order of its layout (trees of
searches), and with parallel self-loops counted once (degrees, modularity).
"""

from __future__ import annotations

import inspect
import math
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
import pytest

from .conftest import SCALE, random_edges

nx = pytest.importorskip("networkx", minversion="3.5")
pytest.importorskip("scipy")
from nakshi.nx import info, interface, offers  # noqa: E402
from nakshi.nx.mapping import VertexMapping  # noqa: E402

GRAPHS = 20 * SCALE


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Graphs are converted anew, without the warning about cached conversions."""
    with nx.config(cache_converted_graphs=False):
        yield


def node(rng: random.Random, number: int) -> Any:
    return rng.choice([number, f"n{number}", (number, "x"), frozenset([number]), number + 0.5])


def random_graph(seed: int, kind: Callable[[], Any], weighted: bool = False) -> Any:
    """A graph of up to 30 nodes of mixed types."""
    rng = random.Random(seed)
    count = rng.randint(1, 30)
    names = [node(rng, i) for i in range(count)]
    rng.shuffle(names)
    graph = kind()
    graph.add_nodes_from(names[: rng.randint(0, count)])
    for a, b in random_edges(rng, count, rng.randint(0, 3 * count)):
        graph.add_edge(names[a], names[b], **({"weight": rng.randint(0, 5)} if weighted else {}))
    graph.add_nodes_from(names)
    return graph


def kinds(seed: int) -> Callable[[], Any]:
    found: Callable[[], Any] = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph][seed % 4]
    return found


def close(a: Any, b: Any) -> bool:
    """True for equal results, floats up to rounding; the order of mappings is of no meaning."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return set(a) == set(b) and all(close(a[key], b[key]) for key in a)
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(close, a, b))
    return bool(a == b)


def outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Result of a call, with iterators as lists, or the class of its error."""
    try:
        found = call(*args, **kwargs)
        return list(found) if isinstance(found, Iterator) else found
    except (nx.NetworkXException, ZeroDivisionError, ValueError, KeyError) as error:
        return type(error)


def nodes(graph: Any) -> list[Any]:
    return list(graph.degrees().to_dict()) if isinstance(graph, nakshi.Graph) else list(graph)


#: Calls on any graph, with its first node.
ANY = {
    "bfs_edges": lambda f, g, v: f(g, v),
    "bfs_predecessors": lambda f, g, v: f(g, v, depth_limit=2),
    "bfs_successors": lambda f, g, v: f(g, v),
    "bfs_layers": lambda f, g, v: f(g, [v]),
    "descendants": lambda f, g, v: f(g, v),
    "ancestors": lambda f, g, v: f(g, v),
    "descendants_at_distance": lambda f, g, v: f(g, v, 2),
    "single_source_shortest_path": lambda f, g, v: f(g, v),
    "single_target_shortest_path": lambda f, g, v: f(g, v, cutoff=2),
    "single_source_shortest_path_length": lambda f, g, v: f(g, v),
    "single_target_shortest_path_length": lambda f, g, v: f(g, v, cutoff=1.5),
    "all_pairs_shortest_path_length": lambda f, g, v: f(g),
    "shortest_path": lambda f, g, v: f(g, target=v),
    "shortest_path_length": lambda f, g, v: f(g, target=v),
    "average_shortest_path_length": lambda f, g, v: f(g),
    "eccentricity": lambda f, g, v: f(g),
    "closeness_centrality": lambda f, g, v: f(g, wf_improved=False),
    "harmonic_centrality": lambda f, g, v: f(g),
    "degree_centrality": lambda f, g, v: f(g),
    "isolates": lambda f, g, v: f(g),
    "number_of_isolates": lambda f, g, v: f(g),
    "is_isolate": lambda f, g, v: f(g, v),
    "pagerank": lambda f, g, v: f(g, weight=None, tol=1e-9),
    "modularity": lambda f, g, v: f(g, [{v}, {*nodes(g)} - {v}], weight=None),
}
DIRECTED = {
    "weakly_connected_components": lambda f, g, v: f(g),
    "number_weakly_connected_components": lambda f, g, v: f(g),
    "is_weakly_connected": lambda f, g, v: f(g),
    "triadic_census": lambda f, g, v: f(g),
    "in_degree_centrality": lambda f, g, v: f(g),
    "out_degree_centrality": lambda f, g, v: f(g),
    "number_strongly_connected_components": lambda f, g, v: f(g),
    "is_strongly_connected": lambda f, g, v: f(g),
    "is_directed_acyclic_graph": lambda f, g, v: f(g),
    "topological_generations": lambda f, g, v: f(g),
    "dag_longest_path_length": lambda f, g, v: f(g),
}
UNDIRECTED = {
    "connected_components": lambda f, g, v: f(g),
    "number_connected_components": lambda f, g, v: f(g),
    "is_connected": lambda f, g, v: f(g),
    "node_connected_component": lambda f, g, v: f(g, v),
    "triangles": lambda f, g, v: f(g),
}
#: Without parallel edges.
SIMPLE = {
    "betweenness_centrality": lambda f, g, v: f(g, normalized=False),
    "core_number": lambda f, g, v: f(g),
    "eigenvector_centrality": lambda f, g, v: f(g, max_iter=1000),
    "katz_centrality": lambda f, g, v: f(g, alpha=0.02),
    "average_neighbor_degree": lambda f, g, v: f(g),
}
SIMPLE_DIRECTED = {
    "reciprocity": lambda f, g, v: f(g, nodes(g)),
    "overall_reciprocity": lambda f, g, v: f(g),
}
SIMPLE_UNDIRECTED = {
    "clustering": lambda f, g, v: f(g),
    "average_clustering": lambda f, g, v: f(g, count_zeros=False),
    "transitivity": lambda f, g, v: f(g),
    "jaccard_coefficient": lambda f, g, v: f(g),
    "resource_allocation_index": lambda f, g, v: f(g, [(v, n) for n in nodes(g)]),
    "preferential_attachment": lambda f, g, v: f(g, [(v, n) for n in nodes(g)]),
}


def named(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = nx.utils.backends._registered_algorithms[name]
    return found


def calls_of(graph: Any) -> dict[str, Any]:
    chosen = ANY | (DIRECTED if graph.is_directed() else UNDIRECTED)
    if not graph.is_multigraph():
        chosen |= SIMPLE | (SIMPLE_DIRECTED if graph.is_directed() else SIMPLE_UNDIRECTED)
    return chosen


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_converted_graphs(seed: int) -> None:
    graph = random_graph(seed, kinds(seed))
    first = next(iter(graph))
    for name, call in calls_of(graph).items():
        expected = outcome(call, named(name), graph, first)
        converted = partial(named(name), backend="nakshi")
        found = outcome(call, converted, graph, first)
        assert close(found, expected), name
        assert not isinstance(found, VertexMapping), name


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_lengths_by_weight(seed: int) -> None:
    graph = random_graph(seed, kinds(seed), weighted=True)
    first, last = list(graph)[0], list(graph)[-1]
    lengths = nx.single_source_dijkstra_path_length(graph, first, backend="nakshi")
    assert lengths == nx.single_source_dijkstra_path_length(graph, first)
    assert all(type(length) is int for length in lengths.values())
    paths = nx.shortest_path(graph, first, weight="weight", backend="nakshi")
    assert {end: nx.path_weight(graph, path, "weight") for end, path in paths.items()} == lengths
    if last in lengths:
        length, path = nx.single_source_dijkstra(graph, first, last, backend="nakshi")
        assert length == lengths[last] == nx.path_weight(graph, path, "weight")
    else:
        with pytest.raises(nx.NetworkXNoPath):
            nx.dijkstra_path(graph, first, last, backend="nakshi")


@pytest.mark.parametrize("seed", range(GRAPHS // 4))
def test_stores(tmp_path: Path, seed: int) -> None:
    """A store has the ids of the graph, and neighbours in their order."""
    rng = random.Random(seed)
    count = rng.randint(1, 25)
    names: list[Any] = [f"v{i:03}" for i in range(count)] if seed % 3 else list(range(5, count + 5))
    graph = (nx.DiGraph if seed % 2 else nx.Graph)()
    graph.add_nodes_from(names)
    edges = {(names[a], names[b]) for a, b in random_edges(rng, count, 3 * count)}
    graph.add_edges_from(sorted(edges | (set() if seed % 2 else {(b, a) for a, b in edges})))
    store = nakshi.build(tmp_path / "g", graph)
    for name, call in calls_of(graph).items():
        if name in ("single_source_shortest_path", "single_target_shortest_path", "shortest_path"):
            continue
        if name == "jaccard_coefficient":
            continue
        function = named(name)
        assert close(
            outcome(call, function, store, names[0]), outcome(call, function, graph, names[0])
        ), name
    for target in names:
        assert nx.has_path(store, names[0], target) == nx.has_path(graph, names[0], target)
    tree = nx.bfs_tree(store, names[0])
    assert isinstance(tree, nakshi.Graph)
    assert set(tree.to_networkx().edges) == set(nx.bfs_tree(graph, names[0]).edges)


def test_a_store_is_passed_as_it_is(karate: nakshi.Graph) -> None:
    ranks = nx.pagerank(nakshi.open(karate.path), tol=1e-9)
    assert isinstance(ranks, VertexMapping) and len(ranks) == 34
    assert list(ranks) == list(range(34)) and ranks[33] == dict(ranks)[33]
    assert ranks == dict(ranks) == nx.pagerank(karate, tol=1e-9) and ranks != {}
    assert 34 not in ranks and "a" not in ranks and [] not in ranks and 2**70 not in ranks
    with pytest.raises(KeyError):
        ranks[-1]
    assert list(ranks.items()) == list(dict(ranks).items())
    assert list(ranks.values()) == list(dict(ranks).values())
    assert pickle.loads(pickle.dumps(ranks)) == ranks
    ids, values = ranks.to_numpy()
    assert ids.nbytes + values.nbytes == 16 * 34
    assert nx.betweenness_centrality(karate, k=7, seed=3) == pytest.approx(
        nx.betweenness_centrality(nx.karate_club_graph(), k=7, seed=3)
    )


def test_mappings_by_text(diamond: nakshi.Graph) -> None:
    levels = nx.single_source_shortest_path_length(diamond, "a")
    assert levels == {"a": 0, "b": 1, "c": 1, "d": 2} and "e" not in levels and [] not in levels


def test_weights_of_stores(diamond: nakshi.Graph) -> None:
    assert nx.shortest_path_length(diamond, "a", "d", weight="weight") == 6.0
    assert nx.dijkstra_path(diamond, "a", "d") == ["a", "c", "d"]
    assert nx.shortest_path_length(diamond, "a", "d", weight="cost") == 2
    assert nx.single_source_dijkstra_path_length(diamond, "a") == {"a": 0, "b": 1, "c": 5, "d": 6}
    with pytest.raises(nakshi.UnsupportedError, match="weights of the store.*weight=None"):
        nx.pagerank(diamond)
    assert sum(nx.pagerank(diamond, weight=None).values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("pagerank", {"weight": None, "personalization": {1: 1, 2: 3}}, "must give equal parts"),
        ("single_source_shortest_path", {"source": 0}, "more memory than the graph"),
        ("shortest_path", {"source": 0}, "more memory than the graph"),
        ("bfs_edges", {"source": 0, "sort_neighbors": sorted}, "sort_neighbors= is not supported"),
        ("jaccard_coefficient", {}, "give those of interest"),
        ("betweenness_centrality", {"weight": len}, "weight= must name an edge attribute"),
    ],
)
def test_refusals_of_stores_have_a_reason(
    karate: nakshi.Graph, name: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(nakshi.UnsupportedError, match=message):
        list(named(name)(karate, **arguments))


def test_what_the_backend_lacks(karate: nakshi.Graph) -> None:
    with pytest.raises(NotImplementedError):
        nx.wiener_index(karate)
    with nx.config(fallback_to_nx=True):
        assert nx.wiener_index(karate) == nx.wiener_index(nx.karate_club_graph())
        with nx.config.backends.nakshi(max_edges=77):
            with pytest.raises(nakshi.ParameterError, match="78 edges.*max_edges=77"):
                nx.wiener_index(karate)


def test_can_run_and_should_run() -> None:
    graph = nx.path_graph(4)
    assert interface.can_run("pagerank", (graph,), {}) is True
    assert interface.can_run("pagerank", (graph,), {"nstart": {}}) == "nstart= is not supported"
    assert interface.can_run("clustering", (nx.DiGraph(graph),), {}) == (
        "directed graphs are not supported"
    )
    assert interface.can_run("clustering", (nx.MultiGraph(graph),), {}) == (
        "multigraphs are not supported"
    )
    assert "3 edges, fewer than" in str(interface.should_run("pagerank", (graph,), {}))
    with nx.config.backends.nakshi(min_edges=3):
        assert interface.should_run("pagerank", (graph,), {}) is True


def test_priorities_follow_the_threshold() -> None:
    graph = nx.gnm_random_graph(50, 200, seed=1)
    calls = []
    original = interface.triangles
    interface.triangles = lambda *args, **kwargs: calls.append(1) or original(*args, **kwargs)
    try:
        with nx.config.backend_priority(algos=["nakshi"]):
            expected = nx.triangles(graph)
            assert not calls
            with nx.config.backends.nakshi(min_edges=100):
                assert nx.triangles(graph) == expected and calls
    finally:
        interface.triangles = original


def test_limits_of_the_configuration(karate: nakshi.Graph) -> None:
    with nx.config.backends.nakshi(memory=1000), pytest.raises(nakshi.BudgetError):
        nx.pagerank(karate)


def test_scores_and_communities() -> None:
    graph = nx.karate_club_graph()
    for weight in (None, "weight"):
        one = nx.eigenvector_centrality(graph, weight=weight, backend="nakshi")
        assert close(one, nx.eigenvector_centrality(graph, weight=weight))
    for one, other in zip(nx.hits(graph, backend="nakshi"), nx.hits(graph)):
        assert close(one, other)
    chosen = {"personalization": {0: 2, 33: 2}, "weight": None, "tol": 1e-9}
    assert close(nx.pagerank(graph, backend="nakshi", **chosen), nx.pagerank(graph, **chosen))
    one = nx.degree_assortativity_coefficient(graph, backend="nakshi")
    assert close(one, nx.degree_assortativity_coefficient(graph))
    assert nx.closeness_centrality(graph, 5, backend="nakshi") == nx.closeness_centrality(graph, 5)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.katz_centrality(graph, alpha=0.5, backend="nakshi")
    for find in (nx.community.louvain_communities, nx.community.leiden_communities):
        found = find(graph, weight=None, seed=3, backend="nakshi")
        assert nx.community.modularity(graph, found, weight=None) > 0.41
    find = nx.community.fast_label_propagation_communities
    found = list(find(graph, weight="weight", seed=3, backend="nakshi"))
    assert sorted(node for community in found for node in community) == sorted(graph)
    assert nx.community.modularity(graph, found) > 0.2


def test_longest_paths_of_networkx() -> None:
    for seed in range(GRAPHS):
        graph = random_graph(seed, kinds(seed), weighted=True)
        acyclic = graph.__class__()
        acyclic.add_nodes_from(graph)
        place = {node: at for at, node in enumerate(graph)}
        edges = [edge for edge in graph.edges(data="weight") if place[edge[0]] < place[edge[1]]]
        acyclic.add_weighted_edges_from(edges)
        if not graph.is_directed():
            with pytest.raises(nx.NetworkXNotImplemented):
                nx.dag_longest_path(acyclic, backend="nakshi")
            continue
        length = nx.dag_longest_path_length(acyclic, backend="nakshi")
        assert length == nx.dag_longest_path_length(acyclic)
        path = nx.dag_longest_path(acyclic, backend="nakshi")
        steps = (max(d["weight"] for d in _links(acyclic, u, v)) for u, v in zip(path, path[1:]))
        assert length == sum(steps)


@pytest.mark.parametrize("seed", range(GRAPHS // 2))
def test_rich_clubs_of_networkx(tmp_path: Path, seed: int) -> None:
    graph = random_graph(seed, nx.Graph)
    loops = list(nx.selfloop_edges(graph))
    if loops:
        with pytest.raises(Exception, match="self loops"):
            nx.rich_club_coefficient(graph, normalized=False, backend="nakshi")
        graph.remove_edges_from(loops)
    expected = nx.rich_club_coefficient(graph, normalized=False)
    assert nx.rich_club_coefficient(graph, normalized=False, backend="nakshi") == expected
    with pytest.raises(NotImplementedError):
        nx.rich_club_coefficient(graph, backend="nakshi")
    numbered = nx.convert_node_labels_to_integers(graph)
    if numbered.edges:
        store = nakshi.build(tmp_path / "g", numbered)
        assert nx.rich_club_coefficient(store, normalized=False) == expected


def _links(graph: nx.DiGraph, u: Any, v: Any) -> list[dict[str, Any]]:
    return list(graph[u][v].values()) if graph.is_multigraph() else [graph[u][v]]


def test_values_that_are_refused() -> None:
    graph = nx.Graph([(1, 2, {"weight": -1}), (2, 3, {"weight": 2})])
    with pytest.raises(NotImplementedError):
        nx.dijkstra_path(graph, 1, 3, backend="nakshi")
    graph[1][2]["weight"] = 7
    with pytest.raises(NotImplementedError):
        nx.pagerank(graph, backend="nakshi")
    assert nx.dijkstra_path_length(graph, 1, 3, backend="nakshi") == 9


def test_readers(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2], "b": [2, 3], "weight": [0.5, 2.0]})
    store = nx.from_pandas_edgelist(frame, "a", "b", "weight", nx.DiGraph, backend="nakshi")
    assert isinstance(store, nakshi.Graph) and store.directed
    assert nx.dijkstra_path_length(store, 1, 3) == 2.5
    folder = Path(store.path).parent
    del store
    assert not folder.exists()
    (tmp_path / "e.txt").write_text("# a comment\n1 2\n2 3\n")
    read = nx.read_edgelist(tmp_path / "e.txt", nodetype=int, backend="nakshi")
    assert sorted(nx.connected_components(read)) == [{1, 2, 3}]
    with pytest.raises(nakshi.InputError, match="ids are int; give nodetype=int"):
        nx.read_edgelist(tmp_path / "e.txt", backend="nakshi")
    (tmp_path / "w.txt").write_text("a b 2\nb c 3\n")
    with pytest.raises(nakshi.InputError, match="columns after the ends"):
        nx.read_edgelist(tmp_path / "w.txt", backend="nakshi")
    weights = nx.read_edgelist(tmp_path / "w.txt", data=[("weight", float)], backend="nakshi")
    assert nx.dijkstra_path_length(weights, "a", "c") == 5


def test_conversions_go_with_their_graph() -> None:
    graph = nx.path_graph(5)
    converted = interface.convert_from_nx(graph)
    folder = Path(converted.store.path).parent
    assert folder.exists() and interface.convert_to_nx(converted) is graph
    del converted
    assert not folder.exists()


def test_the_names_are_told_without_the_engine() -> None:
    program = "import sys, networkx as nx; nx.config.backends.nakshi\n"
    program += "print('nakshi._core' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
    known = nx.utils.backends._registered_algorithms
    assert set(info.NOTES) == set(info.get_info()["functions"]) <= set(known)
    assert set(offers.OFFERS) | {"read_edgelist", "from_pandas_edgelist"} == set(info.NOTES)
    for name in info.NOTES:
        ours = list(offers.OFFERS[name].signature.parameters) if name in offers.OFFERS else []
        theirs = [one for one in inspect.signature(inspect.unwrap(known[name])).parameters]
        assert not ours or ours == theirs, name


def test_ids_beyond_64_bits(tmp_path: Path) -> None:
    store = nakshi.build(tmp_path / "g", ([1 << 70, 5], [5, 2]))
    assert nx.descendants(store, 1 << 70) == {5, 2}
    assert nx.pagerank(store)[1 << 70] == pytest.approx(store.pagerank()[1 << 70], abs=1e-6)
    assert np.int64(5) in nx.pagerank(store)
