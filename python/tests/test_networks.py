"""Graphs of NetworkX and igraph go in and come out; matrices and distributions of degrees."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import nakshi
import networkx as nx
import numpy as np
import pytest

from .conftest import run_cli

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


def same(a: nx.Graph, b: nx.Graph) -> None:
    """Nodes, edges and attributes are equal, whatever their order."""
    assert a.is_directed() == b.is_directed()
    assert dict(a.nodes(data=True)) == dict(b.nodes(data=True))

    def edges(graph: nx.Graph) -> Counter[Any]:
        directed = graph.is_directed()
        return Counter(
            ((u, v) if directed else frozenset((u, v)), tuple(sorted(map(repr, data.items()))))
            for u, v, data in graph.edges(data=True)
        )

    assert edges(a) == edges(b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("text", [False, True])
def test_plain_graphs_come_back(tmp_path: Path, kind: Any, weighted: bool, text: bool) -> None:
    graph = kind()
    pairs = [(1, 2), (2, 3), (3, 1), (3, 3), (4, 1), (1, 2)]
    for number, (u, v) in enumerate(pairs):
        ends = (f"n{u}", f"n{v}") if text else (u, v)
        graph.add_edge(*ends, **({"weight": number + 0.5} if weighted else {}))
    graph.add_node("alone" if text else 9)
    store = nakshi.build(tmp_path / "g", graph)
    assert (store.num_vertices, store.num_edges) == (len(graph), graph.number_of_edges())
    assert store.directed == graph.is_directed()
    assert store.weights == (["weight"] if weighted else [])
    same(store.to_networkx(multigraph=graph.is_multigraph()), graph)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_attributes_come_back(tmp_path: Path, kind: Any) -> None:
    graph = kind()
    graph.add_node(1, labels=["Person"], name='Ann\nBe, "C"', age=31, tags=["a;b", ""])
    graph.add_node(2, labels=["Person", "New"], height=1.5, ok=True)
    graph.add_node(3)
    graph.add_edge(1, 2, type="knows", timestamp=7, since="1999: \t")
    graph.add_edge(2, 3, type="likes", timestamp=8, score=3)
    if graph.is_multigraph():
        graph.add_edge(1, 2, type="knows", timestamp=7, since="twice")
        graph.add_edge(1, 2, type="likes", timestamp=9)
    store = nakshi.build(tmp_path / "g", graph)
    assert store.get_node_property(1)["name"] == 'Ann\nBe, "C"'
    same(store.to_networkx(), graph)
    # Changes that are not compacted come along.
    store.append_node(4, {"name": "Dan"})
    store.append_edge(4, "knows", 1, 10)
    graph.add_node(4, name="Dan")
    graph.add_edge(4, 1, type="knows", timestamp=10)
    same(store.to_networkx(), graph)


def test_an_undirected_edge_with_attributes_leads_both_ways(tmp_path: Path) -> None:
    graph = nx.karate_club_graph()
    store = nakshi.build(tmp_path / "g", graph)
    assert store.get_node_property(0) == {"club": "Mr. Hi"}
    back = store.to_networkx()
    assert back.number_of_edges() == 2 * graph.number_of_edges()
    assert all(back.edges[v, u]["weight"] == back.edges[u, v]["weight"] for u, v in graph.edges)
    loop = nx.Graph([(1, 1, {"a": "x"}), (1, 2, {"a": "y"})])
    assert nakshi.build(tmp_path / "loop", loop).to_networkx().number_of_edges() == 3


def test_types_of_attributes(tmp_path: Path) -> None:
    graph = nx.DiGraph()
    when = datetime.datetime(2020, 5, 17, 12, 30, tzinfo=datetime.timezone.utc)
    graph.add_node(
        "a", when=when, n=np.int64(3), x=np.float32(0.5), many=(1, 2), mixed=1, none=None
    )
    graph.add_node("b", mixed=2.5, raw=b"\xff\x00")
    found = nakshi.build(tmp_path / "g", graph).get_node_property
    a = found("a")
    assert (a["n"], a["x"], a["many"], a["mixed"]) == (3, 0.5, [1, 2], 1.0)
    assert found("b") == {"mixed": 2.5, "raw": b"\xff\x00"}


@pytest.mark.parametrize(
    "graph, message",
    [
        (nx.Graph([((1, 2), (3, 4))]), r"\(1, 2\) \(tuple\) is no id.*convert_node_labels"),
        (nx.Graph([("1", 1)]), "same id as text"),
        (nx.Graph([(1, 2, {"a": {}})]), "edge attribute 'a' has values of type dict"),
        (nx.Graph([(1, 2, {"a": 1}), (2, 3, {"a": "x"})]), "'a' has values of type int and str"),
        (nx.Graph([(1, 2, {"a": [1]}), (2, 3, {"a": 1})]), "'a' is a list here"),
        (nx.Graph([(1, 2, {3: 1})]), "attribute 3 has no name of text"),
    ],
)
def test_what_cannot_be_said(tmp_path: Path, graph: nx.Graph, message: str) -> None:
    with pytest.raises(nakshi.ParameterError, match=message):
        nakshi.build(tmp_path / "g", graph)
    assert not (tmp_path / "g").exists()


def test_nodes_beside_a_graph_are_refused(tmp_path: Path) -> None:
    with pytest.raises(nakshi.ParameterError, match="nodes itself"):
        nakshi.build(tmp_path / "g", nx.Graph([(1, 2)]), nodes=[3])


def test_too_many_edges_are_refused_with_their_number(karate: nakshi.Graph) -> None:
    for method in (karate.to_networkx, karate.to_scipy_sparse):
        with pytest.raises(nakshi.ParameterError, match="78 edges.*max_edges=77"):
            method(max_edges=77)


def test_matrices(tmp_path: Path, karate: nakshi.Graph) -> None:
    matrix, ids = karate.to_scipy_sparse()
    expected = nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None, nodelist=ids.tolist())
    assert (matrix != expected).nnz == 0
    graph = nx.DiGraph(
        [("a", "b", {"weight": 2.5}), ("b", "a", {"weight": 1}), ("c", "c", {"weight": 3})]
    )
    graph.add_node("0")
    store = nakshi.build(tmp_path / "g", graph)
    matrix, ids = store.to_scipy_sparse(weight="weight")
    assert ids.tolist() == ["0", "a", "b", "c"] == list(store.wcc().to_dict())
    assert (matrix != nx.to_scipy_sparse_array(graph, nodelist=ids.tolist())).nnz == 0
    with pytest.raises(nakshi.ParameterError, match=r"no weight 'cost' \(there are: weight\)"):
        store.to_scipy_sparse(weight="cost")


def test_the_matrix_of_a_property(tmp_path: Path) -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge(1, 2, cost=3, name="x")
    graph.add_edge(1, 2, cost=4, name="y")
    graph.add_edge(2, 1, name="z")
    store = nakshi.build(tmp_path / "g", graph)
    matrix, ids = store.to_scipy_sparse(weight="cost")
    assert ids.tolist() == [1, 2] and matrix.toarray().tolist() == [[0, 7], [0, 0]]
    assert store.to_scipy_sparse()[0].toarray().tolist() == [[0, 2], [1, 0]]
    for wrong in ("name", "nothing"):
        with pytest.raises(nakshi.ParameterError, match=f"'{wrong}'"):
            store.to_scipy_sparse(weight=wrong)


@pytest.mark.parametrize("directed", [True, False])
def test_degrees(tmp_path: Path, directed: bool) -> None:
    graph = nx.gnm_random_graph(60, 200, seed=4, directed=directed)
    store = nakshi.build(tmp_path / "g", graph)
    assert store.degrees().to_dict() == dict(graph.degree)
    degrees, counts = store.degree_distribution()
    assert dict(zip(degrees.tolist(), counts.tolist())) == Counter(dict(graph.degree).values())
    if directed:
        assert store.degrees(direction="in").to_dict() == dict(graph.in_degree)
        degrees, counts = store.degree_distribution("out")
        assert dict(zip(degrees.tolist(), counts.tolist())) == Counter(
            dict(graph.out_degree).values()
        )
    assert run_cli("run", "degrees", store.path, "--json").json["result"]["isolated"] == sum(
        degree == 0 for _, degree in graph.degree
    )


class Vertices(dict):  # type: ignore[type-arg]
    """Attributes as igraph has them: lists by name."""

    def attributes(self) -> list[str]:
        return list(self)


class LikeIgraph:
    """The part of an igraph graph that an import uses."""

    vs = Vertices(name=["a", "b", "c"], age=[1, 2, None])
    es = Vertices(kind=["x", "y"])

    def is_directed(self) -> bool:
        return True

    def has_multiple(self) -> bool:
        return False

    def vcount(self) -> int:
        return 3

    def get_edgelist(self) -> list[tuple[int, int]]:
        return [(0, 1), (1, 2)]


def test_a_graph_like_one_of_igraph(tmp_path: Path) -> None:
    store = nakshi.build(tmp_path / "g", LikeIgraph())
    assert store.get_node_property("b") == {"age": 2} and store.bfs("a")["c"] == 2
    assert store.to_networkx().edges["b", "c"]["kind"] == "y"


def test_igraph(tmp_path: Path) -> None:
    """igraph is under the GPL: an oracle of the tests, which the package neither needs nor ships."""
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    graph = igraph.Graph.Famous("Zachary")
    store = nakshi.build(tmp_path / "g", graph)
    assert (store.num_vertices, store.num_edges, store.directed) == (34, 78, False)
    back = store.to_igraph()
    assert sorted(map(sorted, back.get_edgelist())) == sorted(map(sorted, graph.get_edgelist()))
    assert back.vs["name"] == list(range(34))
    graph.vs["name"] = [f"v{i}" for i in range(34)]
    graph.es["weight"] = [float(i) for i in range(78)]
    named = nakshi.build(tmp_path / "named", graph)
    assert sorted(named.to_igraph().es["weight"]) == graph.es["weight"]
    with pytest.raises(nakshi.ParameterError, match="78 edges"):
        named.to_igraph(max_edges=3)


def test_igraph_that_is_missing_is_named(karate: nakshi.Graph, monkeypatch: Any) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(nakshi.UnsupportedError, match="to_igraph.* needs igraph.*pip install"):
        karate.to_igraph()
