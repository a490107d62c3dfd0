"""Centralities, communities, similarity and walks, compared with NetworkX."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter

import nakshi
import networkx as nx
import numpy as np
import pytest


def _edges(seed, n=120, m=500):
    """Edges with a few hubs, some self-loops and some isolated vertices."""
    draw = np.random.default_rng(seed)
    return (draw.random((m, 2)) ** 3 * n).astype(np.int64)


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def both(request, tmp_path_factory):
    """A store and the same graph of NetworkX."""
    directed = request.param
    edges = _edges(5)
    path = tmp_path_factory.mktemp("stores") / "g.nakshi"
    graph = nakshi.build(path, edges=(edges[:, 0], edges[:, 1]), directed=directed)
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_edges_from(edges.tolist())
    return graph, other


def _same(found, expected, within=1e-6):
    assert found.keys() == expected.keys()
    for vertex, value in expected.items():
        assert math.isclose(found[vertex], value, rel_tol=within, abs_tol=within), vertex


@pytest.mark.parametrize("engine", ["memory", "ssd"])
def test_personalized_pagerank(both, engine):
    graph, other = both
    sources = sorted(other)[3:6]
    found = graph.personalized_pagerank(sources, tolerance=1e-12, iterations=500, engine=engine)
    restart = dict.fromkeys(sources, 1.0)
    _same(found.to_dict(), nx.pagerank(other, personalization=restart, tol=1e-12, max_iter=500))


def test_hits(both):
    graph, other = both
    found = graph.hits(tolerance=1e-12, iterations=10_000)
    hubs, authorities = nx.hits(other)
    _same(found.to_dict("hub"), hubs)
    _same(found.to_dict("authority"), authorities)


def test_article_rank(both):
    """The solution of the equations, with a dense matrix."""
    graph, other = both
    vertices = sorted(other)
    matrix = nx.to_numpy_array(other, nodelist=vertices)
    degrees = matrix.sum(axis=1)
    spread = matrix / (degrees + degrees.mean())[:, None]
    for damping in (0.85, 0.5):
        system = np.eye(len(vertices)) - damping * spread.T
        expected = np.linalg.solve(system, np.full(len(vertices), 1 - damping))
        for engine in ("memory", "ssd"):
            found = graph.article_rank(damping=damping, tolerance=1e-12, engine=engine)
            _same(found.to_dict(), dict(zip(vertices, expected)), within=1e-9)


def test_betweenness_within_an_error(both):
    graph, other = both
    exact = nx.betweenness_centrality(other)
    found = graph.betweenness(epsilon=0.3, delta=0.5, normalized=True, seed=3)
    assert 0 < found.summary["sources"] < len(other)
    assert max(abs(found[v] - exact[v]) for v in other) <= 0.3
    again = graph.betweenness(epsilon=0.3, delta=0.5, normalized=True, seed=3, threads=1)
    assert again.to_dict() == found.to_dict()
    with pytest.raises(nakshi.ParameterError, match="leave out"):
        graph.betweenness(epsilon=0.1, sample=3)


def test_eigenvector(both):
    graph, other = both
    _same(graph.eigenvector().to_dict(), nx.eigenvector_centrality(other))
    with pytest.raises(nakshi.ParameterError, match="after 2 iterations"):
        graph.eigenvector(iterations=2)


def test_katz(both):
    graph, other = both
    for given in ({"alpha": 0.01}, {"alpha": 0.02, "beta": 3.0, "normalized": False}):
        found = graph.katz(**given, tolerance=1e-9)
        _same(found.to_dict(), nx.katz_centrality(other, **given, tol=1e-9))
    with pytest.raises(nakshi.ParameterError, match="smaller alpha"):
        graph.katz(alpha=5.0)


def test_distances(both):
    graph, other = both
    found = graph.harmonic()
    assert found.summary["method"] == "exact"
    _same(found.to_dict(), nx.harmonic_centrality(other))
    _same(graph.closeness().to_dict(), nx.closeness_centrality(other))
    plain = nx.closeness_centrality(other, wf_improved=False)
    _same(graph.closeness(improved=False).to_dict(), plain)


def test_estimated_distances(tmp_path):
    """HyperBall estimates a graph that is too large to be searched exactly by default."""
    edges = _edges(7, 6000, 60_000)
    graph = nakshi.build(tmp_path / "g.nakshi", edges=(edges[:, 0], edges[:, 1]), directed=False)
    for run in (graph.harmonic, graph.closeness):
        exact, near = run(exact=True), run()
        assert near.summary["method"] == "hyperball"
        error = np.abs(near.to_numpy()[1] / exact.to_numpy()[1] - 1)
        assert np.quantile(error, 0.95) < 0.1
        a, b = near.summary["effective_diameter"], exact.summary["effective_diameter"]
        assert math.isclose(a, b, rel_tol=0.1)


@pytest.mark.parametrize("method", ["louvain", "leiden"])
def test_communities(both, method):
    graph, other = both
    found = graph.run(method)
    members = {}
    for vertex, community in found.to_dict().items():
        members.setdefault(community, set()).add(vertex)
    assert all(min(group) == community for community, group in members.items())
    assert found.summary["communities"] == len(members)
    flat = nx.MultiGraph(other) if not other.is_directed() else nx.MultiGraph(list(other.edges))
    groups = list(members.values())
    expected = nx.community.modularity(flat, groups)
    assert math.isclose(found.summary["modularity"], expected, rel_tol=1e-9)
    best = nx.community.modularity(flat, nx.community.louvain_communities(flat, seed=1))
    assert expected > 0.97 * best
    if method == "leiden":
        assert all(nx.is_connected(flat.subgraph(group)) for group in groups)
    fine = graph.run(method, resolution=3.0)
    assert fine.summary["communities"] > found.summary["communities"]


def test_label_propagation(both):
    """Every vertex has a label that is most frequent around it, the same on one thread and two."""
    graph, other = both
    for given in ({}, {"fixed": sorted(other)[:3]}):
        found = graph.label_propagation(seed=5, threads=1, **given)
        again = graph.label_propagation(seed=5, threads=2, engine="ssd", **given)
        labels = found.to_dict()
        assert again.to_dict() == labels and found.summary["settled"]
        assert found.summary["communities"] == len(set(labels.values()) - {None})
        for vertex in set(other) - set(given.get("fixed", [])):
            ends = [end for pair in other.edges(vertex) for end in pair if end != vertex]
            if other.is_directed():
                ends += [start for start, _ in other.in_edges(vertex) if start != vertex]
            votes = Counter(labels[end] for end in ends if labels[end] is not None)
            assert not votes or votes[labels[vertex]] == max(votes.values())
    with pytest.raises(nakshi.UnknownVertexError):
        graph.label_propagation(fixed=[10**9])
    with pytest.raises(nakshi.ParameterError, match="fixed is a list"):
        graph.label_propagation(fixed=3)
    fixed = ",".join(map(str, sorted(other)[:3]))
    command = [
        sys.executable,
        "-m",
        "nakshi",
        "run",
        "label-propagation",
        graph.path,
        "--fixed",
        fixed,
    ]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_weights_of_label_propagation(tmp_path):
    edges = ([1, 2, 3], [2, 3, 4], [5.0, 1.0, 5.0])
    graph = nakshi.build(tmp_path / "g.nakshi", edges=edges, directed=False, weighted=True)
    labels = graph.label_propagation().to_dict()
    assert labels[1] == labels[2] != labels[3] == labels[4]
    assert graph.label_propagation(unit=True).summary["lengths"] == "unit"


def test_weights_of_communities(tmp_path):
    """Two triangles that a heavy edge joins, and light edges inside."""
    edges = ([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    weights = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0]
    graph = nakshi.build(
        tmp_path / "g.nakshi", edges=(*edges, weights), directed=False, weighted=True
    )
    heavy, light = graph.leiden(), graph.leiden(unit=True)
    assert heavy[2] == heavy[3] and light[2] != light[3]
    assert heavy.summary["lengths"] != "unit" and light.summary["lengths"] == "unit"


def test_assortativity(both):
    graph, other = both
    found = graph.assortativity()
    expected = nx.degree_assortativity_coefficient(other)
    assert math.isclose(found.summary["assortativity"], expected, rel_tol=1e-9)
    _same(found.to_dict(), nx.average_neighbor_degree(other))
    if other.is_directed():
        reciprocity = nx.overall_reciprocity(other)
        assert math.isclose(found.summary["reciprocity"], reciprocity, rel_tol=1e-12)


def test_similarity(both, tmp_path):
    graph, other = both
    vertices = np.array(sorted(other))
    pairs = np.random.default_rng(1).choice(vertices, (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if other.is_directed():
        with pytest.raises(nakshi.UnsupportedError, match="--undirected"):
            graph.jaccard(pairs)
        return
    expected = {
        "jaccard": nx.jaccard_coefficient,
        "adamic_adar": nx.adamic_adar_index,
        "resource_allocation": nx.resource_allocation_index,
    }
    for engine in ("memory", "ssd"):
        for name, function in expected.items():
            found = getattr(graph, name)(pairs, engine=engine)
            values = [value for _, _, value in function(other, pairs.tolist())]
            np.testing.assert_allclose(found, values, rtol=1e-12)
    common = [len(set(nx.common_neighbors(other, a, b))) for a, b in pairs.tolist()]
    counts = np.array([[len(other[a]), len(other[b])] for a, b in pairs.tolist()])
    np.testing.assert_allclose(graph.overlap(pairs.tolist()), common / counts.min(axis=1))
    np.testing.assert_allclose(graph.cosine(pairs), common / np.sqrt(counts.prod(axis=1)))
    assert graph.jaccard([]).shape == (0,)
    with pytest.raises(nakshi.ParameterError, match="shape"):
        graph.jaccard(vertices)
    with pytest.raises(nakshi.UnknownVertexError):
        graph.jaccard([(vertices[0], 10**9)])
    file = tmp_path / "pairs.tsv"
    np.savetxt(file, pairs, fmt="%d", delimiter="\t")
    command = [sys.executable, "-m", "nakshi", "run", "adamic-adar", graph.path, "--pairs", file]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [float(line.split("\t")[2]) for line in lines] == graph.adamic_adar(pairs).tolist()


def test_similar(both):
    """Near the exact similarity of Jaccard, and the most similar pairs are found."""
    graph, other = both
    near = {v: set(other[v]) for v in other}

    def jaccard(a, b):
        return len(near[a] & near[b]) / len(near[a] | near[b])

    found = graph.similar(k=4, hashes=1024, rows=1, seed=3)
    again = graph.similar(k=4, hashes=1024, rows=1, seed=3, threads=1, engine="ssd")
    assert found.columns == [
        f"{name}_{at}" for at in range(4) for name in ("similar", "similarity")
    ]
    best = found.to_dict("similar_0")
    for at in range(4):
        similar, values = found.to_dict(f"similar_{at}"), found.to_dict(f"similarity_{at}")
        assert again.to_dict(f"similar_{at}") == similar
        for vertex, match in similar.items():
            if match is not None:
                assert abs(values[vertex] - jaccard(vertex, match)) < 0.1
    for vertex in other:
        most = max((jaccard(vertex, v) for v in other if v != vertex and near[v]), default=0)
        assert near[vertex] or best[vertex] is None
        if near[vertex] and most > 0.1:
            assert jaccard(vertex, best[vertex]) > most - 0.15
    with pytest.raises(nakshi.ParameterError, match="at most all 2 hashes"):
        graph.similar(hashes=2, rows=3)


@pytest.mark.parametrize("directed", [True, False])
def test_weighted_matching(directed, tmp_path):
    """At least half of the weight of a maximum matching, and maximal."""
    draw = np.random.default_rng(2)
    edges = np.unique(np.sort(_edges(3, 60, 150), axis=1), axis=0)
    weights = draw.integers(1, 30, len(edges)).astype(float)
    graph = nakshi.build(
        tmp_path / "g.nakshi",
        edges=(edges[:, 0], edges[:, 1], weights),
        directed=directed,
        weighted=True,
    )
    other = nx.Graph()
    other.add_weighted_edges_from(zip(*edges.T.tolist(), weights.tolist()))
    for threads, engine in ((1, "memory"), (2, "ssd")):
        found = graph.weighted_matching(threads=threads, engine=engine)
        partners = {v: u for v, u in found.to_dict().items() if u is not None}
        assert all(partners[u] == v and other.has_edge(u, v) for v, u in partners.items())
        pairs = {tuple(sorted(pair)) for pair in partners.items()}
        assert nx.is_maximal_matching(other, pairs)
        weight = sum(other[a][b]["weight"] for a, b in pairs)
        assert found.summary["weight"] == weight and found.summary["pairs"] == len(pairs)
        best = nx.max_weight_matching(other)
        assert 2 * weight >= sum(other[a][b]["weight"] for a, b in best)


def test_power_law(tmp_path):
    """The exponent of the largest likelihood, with SciPy's zeta function and search."""
    optimize = pytest.importorskip("scipy.optimize")
    zeta = pytest.importorskip("scipy.special").zeta
    edges = _edges(4, 3000, 12_000)
    graph = nakshi.build(tmp_path / "g.nakshi", edges=(edges[:, 0], edges[:, 1]), directed=False)
    degrees = graph.degrees().to_numpy()[1]
    found = graph.power_law().summary
    least = found["least"]
    tail = degrees[degrees >= least]
    assert found["vertices"] == len(tail)

    def loss(alpha):
        return len(tail) * np.log(zeta(alpha, least)) + alpha * np.log(tail).sum()

    fit = optimize.minimize_scalar(loss, bounds=(1.01, 19), method="bounded")
    assert math.isclose(found["alpha"], fit.x, rel_tol=1e-3)
    steps = np.arange(least, tail.max() + 1)
    law = 1 - zeta(found["alpha"], steps + 1) / zeta(found["alpha"], least)
    share = np.searchsorted(np.sort(tail), steps, side="right") / len(tail)
    assert math.isclose(found["distance"], np.abs(law - share).max(), rel_tol=1e-6)
    assert graph.power_law(least=least).summary == found


def test_random_walks(both):
    graph, other = both
    walks = graph.random_walks(walks=3, length=12, seed=4)
    assert walks.shape == (3 * len(other), 12)
    assert walks[: len(other), 0].tolist() == sorted(other)
    for given in ({}, {"p": 0.1, "q": 4.0}, {"p": 4.0, "q": 0.1}):
        for engine in ("memory", "ssd"):
            again = graph.random_walks(walks=3, length=12, seed=4, engine=engine, **given)
            for walk in again.tolist():
                for a, b in zip(walk, walk[1:]):
                    assert other.has_edge(a, b) or (a == b and not other[a])
        same = graph.random_walks(walks=3, length=12, seed=4, threads=1, **given)
        assert (again == same).all()
    assert graph.random_walks(sorted(other)[:2], walks=1, length=4).shape == (2, 4)
    with pytest.raises(nakshi.ParameterError, match="p"):
        graph.random_walks(p=0.0)


def test_biased_walks(tmp_path):
    """Steps from the middle of a kite: back, to a neighbour of the last vertex, or away."""
    edges = ([0, 0, 1, 1], [1, 2, 2, 3])
    graph = nakshi.build(tmp_path / "g.nakshi", edges=edges, directed=False)
    p, q = 2.0, 0.5
    walks = graph.random_walks([0], walks=20_000, length=3, p=p, q=q)
    third = walks[walks[:, 1] == 1][:, 2]
    bias = {0: 1 / p, 2: 1.0, 3: 1 / q}
    for vertex, weight in bias.items():
        assert math.isclose((third == vertex).mean(), weight / sum(bias.values()), abs_tol=0.02)
    # Nearly every draw is refused: the biases themselves decide.
    rare = graph.random_walks([0], walks=300, length=3, p=1.0, q=1e-6)
    assert (rare[rare[:, 1] == 1][:, 2] == 3).all()


def test_node2vec_names_its_package(both, monkeypatch):
    graph, other = both
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(nakshi.UnsupportedError, match="pip install gensim"):
        graph.node2vec(dimensions=4)


def test_node2vec(both):
    """Shapes, and the same vectors again on one thread."""
    pytest.importorskip("gensim")
    graph, other = both
    chosen = {"dimensions": 6, "walks": 2, "length": 5, "seed": 4, "threads": 1}
    ids, vectors = graph.node2vec(**chosen)
    assert ids.tolist() == sorted(other)
    assert vectors.shape == (len(other), 6) and vectors.dtype == np.float32
    assert (graph.node2vec(**chosen)[1] == vectors).all()


def test_fastrp(both):
    """Vectors by the powers of the transition matrix."""
    graph, other = both
    weights = [0.3, 0.0, 0.7]
    ids, vectors = graph.fastrp(dimensions=24, iteration_weights=weights, seed=3).to_matrix()
    assert ids.tolist() == sorted(other) and vectors.shape == (len(other), 24)
    again = graph.fastrp(dimensions=24, iteration_weights=weights, seed=3, threads=1, engine="ssd")
    assert (again.to_matrix()[1] == vectors).all()
    one = graph.fastrp(dimensions=24, iteration_weights=[1.0], seed=3).to_matrix()[1]
    lengths = np.linalg.norm(one, axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()
    with pytest.raises(nakshi.ParameterError):
        graph.fastrp(dimensions=0)


def test_gee(both):
    """Vectors as a product of matrices."""
    graph, other = both
    vertices = sorted(other)
    matrix = nx.to_numpy_array(other, nodelist=vertices)
    if other.is_directed():
        matrix = matrix + matrix.T - np.diag(matrix.diagonal())
    draw = np.random.default_rng(2)
    classes = draw.integers(0, 4, len(vertices))
    known = draw.random(len(vertices)) < 0.5
    chosen = {"labeled": np.array(vertices)[known].tolist(), "classes": classes[known].tolist()}
    hot = np.eye(4)[classes] * known[:, None]
    expected = matrix @ (hot / hot.sum(axis=0))
    for engine in ("memory", "ssd"):
        ids, vectors = graph.gee(**chosen, engine=engine).to_matrix()
        assert ids.tolist() == vertices and np.allclose(vectors, expected, atol=1e-6)
    unit = graph.gee(**chosen, laplacian=True, normalized=True).to_matrix()[1]
    root = np.sqrt(matrix.sum(axis=1))
    root[root == 0] = 1
    expected = (matrix / root / root[:, None]) @ (hot / hot.sum(axis=0))
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    assert np.allclose(unit, expected / lengths, atol=1e-6)
    for wrong in ({}, {"labeled": [vertices[0]], "classes": [0.5]}, {"labeled": [vertices[0]]}):
        with pytest.raises(nakshi.ParameterError, match="labeled|classes"):
            graph.gee(**wrong)
    with pytest.raises(nakshi.UnknownVertexError):
        graph.gee(labeled=[10**9], classes=[0])
