"""Look-ups on stores of every kind of id and layout, against a dictionary of lists."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nakshi
import networkx as nx
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from .conftest import SCALE, Outcome, random_edges

#: Names of vertex number ``v``, by the kind of ids.
KINDS: dict[str, Callable[[int], Any]] = {
    "dense": lambda v: v,
    "signed": lambda v: 1000 * v - 7000,
    "unsigned": lambda v: (1 << 63) + 3 * v,
    "big": lambda v: (1 << 70) + v,
    "text": lambda v: f"node {v:x}",
    "bytes": lambda v: b"\xff%d" % v,
}
LAYOUTS = ["original", "degree", "random", "norder"]


class Lists:
    """A graph as a dictionary of lists, by the ids of a kind."""

    def __init__(self, kind: str, directed: bool, seed: int) -> None:
        rng = random.Random(seed)
        name = KINDS[kind]
        pairs = {(name(u), name(v)) for u, v in random_edges(rng, 60, 300)}
        self.directed = directed
        self.edges = sorted(pairs)
        self.out: dict[Any, set[Any]] = {v: set() for pair in pairs for v in pair}
        self.into: dict[Any, set[Any]] = {v: set() for v in self.out}
        for u, v in pairs:
            self.out[u].add(v)
            self.into[v].add(u)
        if not directed:
            for v in self.out:
                self.out[v] |= self.into[v]
            self.into = self.out
        # Sets of texts have another order in every process.
        self.ids = sorted(self.out)
        self.rng = rng

    def of(self, id: Any, direction: str) -> list[Any]:
        """The neighbours, ascending."""
        if direction == "both" and self.directed:
            return sorted([*self.out[id], *self.into[id]])
        return sorted(self.into[id] if direction == "in" else self.out[id])

    def distance(self, source: Any, target: Any) -> int | None:
        found, queue = {source: 0}, deque([source])
        while queue:
            u = queue.popleft()
            for v in self.out[u]:
                if v not in found:
                    found[v] = found[u] + 1
                    queue.append(v)
        return found.get(target)

    def within(self, id: Any, radius: int) -> set[Any]:
        """The vertices that are at most `radius` edges away."""
        found = {id}
        for _ in range(radius):
            found |= {v for u in found for v in self.out[u]}
        return found

    def build(self, path: Path, layout: str) -> nakshi.Graph:
        def plain(id: Any) -> Any:
            return str(id) if isinstance(id, int) else id

        binary = isinstance(self.ids[0], bytes)
        kind = pa.large_binary() if binary else pa.large_string()
        columns = zip(*[(plain(u), plain(v)) for u, v in self.edges])
        table = pa.table(dict(zip("st", [pa.array(column, kind) for column in columns])))
        return nakshi.build(path, table, directed=self.directed, layout=layout)  # type: ignore[arg-type]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_against_lists(tmp_path: Path, kind: str, layout: str, directed: bool) -> None:
    lists = Lists(kind, directed, seed=len(layout))
    graph = lists.build(tmp_path / "g.nakshi", layout)
    wanted = lists.rng.choices(lists.ids, k=90)
    others = lists.rng.choices(lists.ids, k=90)
    for engine, threads in [("memory", 2), ("ssd", 1), ("ssd", 2), ("auto", None)]:
        limits: dict[str, Any] = {"engine": engine, "threads": threads}
        for direction in ("out", "in", "both"):
            found = graph.neighbors(wanted, direction, **limits)  # type: ignore[arg-type]
            offsets, targets = found
            assert len(offsets) == len(wanted) + 1
            for i, id in enumerate(wanted):
                part = targets[offsets[i] : offsets[i + 1]].tolist()
                assert sorted(part) == lists.of(id, direction), (id, direction)
            degrees = graph.degree(wanted, direction, **limits)  # type: ignore[arg-type]
            assert degrees.tolist() == [len(lists.of(id, direction)) for id in wanted]
        edges = graph.has_edge(wanted, others, **limits)
        assert edges.tolist() == [v in lists.out[u] for u, v in zip(wanted, others)]
        for source, target in zip(wanted[:20], others):
            path, distance = graph.shortest_path(source, target, **limits), None
            if path is not None:
                assert path[0] == source and path[-1] == target
                assert all(v in lists.out[u] for u, v in zip(path, path[1:]))
                distance = len(path) - 1
            assert distance == lists.distance(source, target)
    assert len(graph) == len(lists.ids)
    assert all(id in graph for id in lists.ids)


def test_one_id(diamond: nakshi.Graph) -> None:
    offsets, targets = diamond.neighbors("a")
    assert offsets.tolist() == [0, 2] and sorted(targets) == ["b", "c"]
    assert diamond.degree("a") == 2 and diamond.degree("a", "in") == 1
    assert diamond.degree("a", "both") == 3
    assert diamond.has_edge("a", "b") is True and diamond.has_edge("b", "a") is False
    assert "a" in diamond and "z" not in diamond
    assert len(diamond) == 6 and bool(diamond)


def test_forms_of_ids(tmp_path: Path) -> None:
    graph = nakshi.build(tmp_path / "g", ([1, 2, 3], [2, 3, 4]))
    for ids in (
        [1, 2],
        (1, 2),
        iter([1, 2]),
        range(1, 3),
        np.array([1, 2]),
        np.array([1, 2], dtype=np.uint8),
        np.array([1, 0, 2])[::2],
        np.array([1, 2], dtype=object),
        np.array(["1", "2"]),
        pl.Series([1, 2]),
        pa.array([1, 2]),
        ["1", "2"],
        [b"1", "2"],
        [np.int64(1), np.uint32(2)],
    ):
        offsets, targets = graph.neighbors(ids)
        assert offsets.tolist() == [0, 1, 2] and targets.tolist() == [2, 3]
    assert graph.degree(np.int32(4)) == 0
    assert [part.tolist() for part in graph.neighbors([])] == [[0], []]
    for wrong in (None, 1.5, [1.5], [None], True, np.array([1.5]), np.array([[1]])):
        with pytest.raises((nakshi.ParameterError, TypeError)):
            graph.neighbors(wrong)  # type: ignore[arg-type]


def test_unknown_ids_are_named(diamond: nakshi.Graph) -> None:
    for call in (
        diamond.neighbors,
        diamond.degree,
        lambda ids: diamond.sample_neighbors(ids, 2),
        lambda ids: diamond.has_edge(ids, ids),
    ):
        with pytest.raises(nakshi.UnknownVertexError, match='vertex "zoe" is not in the graph'):
            call(["a", "zoe"])
        many = [f"x{i}" for i in range(9)]
        with pytest.raises(
            nakshi.UnknownVertexError, match='9 of the ids.*"x0", .*"x4", \\.\\.\\.'
        ):
            call(["a", *many, "b"])
    with pytest.raises(nakshi.UnknownVertexError, match="zoe"):
        diamond.shortest_path("a", "zoe")


def test_tables_of_pairs(diamond: nakshi.Graph, karate: nakshi.Graph) -> None:
    table = diamond.neighbors(["d", "a"]).to_arrow()
    assert table.column_names == ["source", "target"]
    assert sorted(zip(*table.to_pydict().values())) == [("a", "b"), ("a", "c"), ("d", "a")]
    frame = karate.neighbors([33, 5]).to_polars()
    assert frame.schema == {"source": pl.Int64, "target": pl.Int64}
    assert frame.group_by("source").len().sort("source").rows() == [(5, 4), (33, 17)]
    assert len(karate.neighbors([5, 5]).to_pandas()) == 8


def test_samples(karate: nakshi.Graph) -> None:
    ids = [0, 11, 33, 0]
    whole = [set(karate.neighbors(id).targets.tolist()) for id in ids]
    first = None
    for engine, threads in [("memory", 1), ("memory", 2), ("ssd", 2)]:
        limits: dict[str, Any] = {"engine": engine, "threads": threads}
        offsets, targets = karate.sample_neighbors(ids, 4, seed=3, **limits)
        assert np.diff(offsets).tolist() == [4, 1, 4, 4]
        drawn = [targets[a:b].tolist() for a, b in zip(offsets, offsets[1:])]
        assert all(len(set(some)) == len(some) for some in drawn)
        assert all(set(some) <= every for some, every in zip(drawn, whole))
        # A vertex that stands there twice is drawn for twice.
        assert drawn[0] != drawn[3]
        first = first or drawn
        assert drawn == first
        offsets, targets = karate.sample_neighbors(ids, 30, seed=3, replace=True, **limits)
        assert np.diff(offsets).tolist() == [30] * 4
        assert len(set(targets[30:60].tolist())) == 1
    assert drawn != [
        part.tolist()
        for part in np.split(karate.sample_neighbors(ids, 4, seed=4).targets, [4, 5, 9])
    ]
    for wrong in ({"k": -1}, {"k": 2, "seed": -1}, {"k": 2, "direction": "both"}):
        with pytest.raises(nakshi.ParameterError):
            karate.sample_neighbors(ids, **wrong)  # type: ignore[arg-type]


def test_weighted_paths(diamond: nakshi.Graph) -> None:
    assert diamond.shortest_path("a", "d") in (["a", "b", "d"], ["a", "c", "d"])
    assert diamond.shortest_path("a", "d", weight="weight") == (["a", "c", "d"], 6.0)
    assert diamond.shortest_path("a", "d", "weight", engine="ssd") == (["a", "c", "d"], 6.0)
    assert diamond.shortest_path("a", "f") is None
    assert diamond.shortest_path("a", "f", weight="weight") == (None, float("inf"))
    assert diamond.shortest_path("a", "a") == ["a"]
    with pytest.raises(nakshi.ParameterError, match="wait"):
        diamond.shortest_path("a", "d", weight="wait")


@pytest.mark.parametrize("directed", [True, False])
def test_several_paths(tmp_path: Path, directed: bool) -> None:
    """Lengths are those of NetworkX's simple paths, in their order."""
    for seed in range(6 * SCALE):
        rng = random.Random(seed)
        pairs = {tuple(sorted(rng.sample(range(12), 2))) for _ in range(26)}
        edges = [(*rng.sample(pair, 2), float(rng.randint(0, 6))) for pair in sorted(pairs)]
        other = (nx.DiGraph if directed else nx.Graph)()
        other.add_nodes_from(range(12))
        other.add_weighted_edges_from(edges)
        graph = nakshi.build(
            tmp_path / str(seed),
            tuple(zip(*edges)),
            nodes=range(12),
            directed=directed,
            weighted=True,
        )
        for weight in ("weight", None):
            source, target = rng.sample(range(12), 2)
            paths = nx.shortest_simple_paths(other, source, target, weight=weight)
            expected = []
            with contextlib.suppress(nx.NetworkXNoPath):
                expected = [nx.path_weight(other, path, weight) if weight else len(path) - 1
                            for path in itertools.islice(paths, 9)]  # fmt: skip
            for engine in ("memory", "ssd"):
                found = graph.shortest_paths(source, target, 9, weight, engine=engine)
                assert [length for _, length in found] == expected
                assert all(nx.is_simple_path(other, path) for path, _ in found)
                assert len({tuple(path) for path, _ in found}) == len(found)
                # Distances to the target are the best potentials; half of them are some.
                turned = other.reverse() if directed else other
                left = nx.single_source_dijkstra_path_length(turned, target, weight=weight)
                left = np.array([left.get(v, np.inf) for v in range(12)], dtype=float)
                for bound in (left, left / 2, np.zeros(12)):
                    path, length = graph.guided_path(source, target, bound, weight, engine=engine)
                    assert length == (expected[0] if expected else np.inf)
                    assert (path is None) == (not expected)
    for wrong in ([1.0], ["a"] * 12, [[1.0]] * 12, [float("nan")] * 12):
        with pytest.raises(nakshi.ParameterError, match="potential"):
            graph.guided_path(0, 1, wrong)
    with pytest.raises(nakshi.ParameterError, match="k=-1"):
        graph.shortest_paths(0, 1, -1)
    with pytest.raises(nakshi.UnknownVertexError):
        graph.shortest_paths(0, 99, 2)


def test_potentials_of_a_property(tmp_path: Path, cli: Callable[..., Outcome]) -> None:
    graph = nakshi.build(
        tmp_path / "g",
        edges=pl.DataFrame(
            {":START_ID": [1, 2, 1], ":END_ID": [2, 3, 3], "km:double": [2.0, 2.0, 5.0]}
        ),
        nodes=pl.DataFrame({":ID": [1, 2, 3], "left:double": [4.0, 2.0, 0.0]}),
        properties=True,
    )
    assert graph.guided_path(1, 3, "left", "km") == ([1, 2, 3], 4.0)
    told = cli("path", graph.path, "1", "3", "--weight", "km", "--potential", "left", "--json")
    assert told.json == {"path": [1, 2, 3], "length": 4.0}
    told = cli("path", graph.path, "1", "3", "--weight", "km", "--paths", "4")
    assert told.out == "4\t1\t2\t3\n5\t1\t3\n"
    found = cli("path", graph.path, "3", "1", "--paths", "4", "--json")
    assert (found.code, found.json) == (1, {"paths": []})
    assert cli("path", graph.path, "1", "3", "--paths", "2", "--potential", "left").code == 2


def test_memory_is_a_cap(tmp_path: Path) -> None:
    nakshi.generate("kronecker", tmp_path / "edges.tsv", scale=12)
    graph = nakshi.build(tmp_path / "g", tmp_path / "edges.tsv", directed=False)
    with pytest.raises(nakshi.BudgetError) as error:
        graph.neighbors([1], memory="1MiB")
    assert "try" in str(error.value)
    everything = list(range(0, 4096))
    known = [id for id in everything if id in graph]
    expected = graph.neighbors(known, engine="memory").targets
    found = graph.neighbors(known, engine="ssd", memory="48MiB").targets
    assert np.array_equal(expected, found)
    with pytest.raises(nakshi.BudgetError, match="this answer"):
        graph.neighbors(known * 100, engine="ssd", memory="33MiB")


def test_small_calls_keep_what_is_open(karate: nakshi.Graph) -> None:
    import time

    karate.neighbors(0, engine="memory")
    began = time.perf_counter()
    for id in range(34):
        for _ in range(30):
            karate.neighbors(id, engine="memory")
    # Opening takes milliseconds, an answer microseconds.
    assert time.perf_counter() - began < 20


def test_closed_and_forked(karate: nakshi.Graph) -> None:
    import os

    karate.neighbors([0, 1], engine="ssd")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if karate.neighbors([33], engine="ssd").targets.size == 17 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert karate.neighbors([33]).targets.size == 17
    karate.close()
    with pytest.raises(nakshi.StoreError, match="closed"):
        karate.neighbors([0])


@pytest.fixture
def people(tmp_path: Path) -> nakshi.Graph:
    """A store with properties: ada knows bob and cleo, bob knows cleo, and works with ada."""
    nodes = pl.DataFrame({":ID": ["ada", "bob", "cleo", "dora"], "age:int": [36, 41, 29, 50]})
    edges = pl.DataFrame(
        {
            ":START_ID": ["ada", "ada", "bob", "bob"],
            ":TYPE": ["knows", "knows", "knows", "works"],
            ":END_ID": ["bob", "cleo", "cleo", "ada"],
        }
    )
    return nakshi.build(tmp_path / "people.nakshi", edges=edges, nodes=nodes, properties=True)


def lists_of(graph: nakshi.Graph, ids: list[Any], direction: str) -> dict[Any, list[Any]]:
    offsets, targets = graph.neighbors(ids, direction)  # type: ignore[arg-type]
    parts = [sorted(targets[a:b].tolist()) for a, b in zip(offsets, offsets[1:])]
    return dict(zip(ids, parts))


def test_the_last_commit(people: nakshi.Graph, cli: Callable[..., Outcome]) -> None:
    names = ["ada", "bob", "cleo", "dora"]
    before = {"ada": ["bob", "cleo"], "bob": ["ada", "cleo"], "cleo": [], "dora": []}
    assert lists_of(people, names, "out") == before
    people.append_node("eve", {"age": 20})
    people.append_edge("eve", "knows", "dora")
    people.append_edge("cleo", "knows", "eve")
    people.append_edge("ada", "works", "bob")
    people.delete_edge("ada", "knows", "cleo")
    people.delete_edge("bob", "works", "ada")
    out = {"ada": ["bob"], "bob": ["cleo"], "cleo": ["eve"], "dora": [], "eve": ["dora"]}
    into = {"ada": [], "bob": ["ada"], "cleo": ["bob"], "dora": ["eve"], "eve": ["cleo"]}
    # This handle, another one, and a process of its own.
    for graph in (people, nakshi.open(people.path)):
        assert lists_of(graph, list(out), "out") == out
        assert lists_of(graph, list(out), "in") == into
        assert graph.degree(list(out), "both").tolist() == [1, 2, 2, 1, 2]
        assert graph.has_edge(["ada", "ada", "eve"], ["bob", "cleo", "dora"]).tolist() == [
            True, False, True,
        ]  # fmt: skip
        assert graph.shortest_path("ada", "dora") == ["ada", "bob", "cleo", "eve", "dora"]
        assert graph.shortest_path("dora", "ada") is None
        assert graph.sample_neighbors(["cleo", "ada"], 5).targets.tolist() == ["eve", "bob"]
        assert "eve" in graph
        with pytest.raises(nakshi.UnknownVertexError):
            graph.neighbors("zoe")
    told = cli("neighbors", people.path, "dora", "--direction", "in")
    assert (told.code, told.out) == (0, "eve\n")
    people.delete_node("bob")
    assert lists_of(people, ["ada", "cleo"], "out") == {"ada": [], "cleo": ["eve"]}
    assert lists_of(people, ["cleo"], "in") == {"cleo": []}
    assert "bob" not in people
    other = nakshi.open(people.path)
    assert other.shortest_path("ada", "dora") is None
    people.compact()
    for graph in (people, nakshi.open(people.path)):
        assert lists_of(graph, ["ada", "cleo", "eve"], "out") == {
            "ada": [], "cleo": ["eve"], "eve": ["dora"],
        }  # fmt: skip
    other.refresh()
    assert lists_of(other, ["cleo"], "out") == {"cleo": ["eve"]}


def test_random_changes_are_seen(tmp_path: Path) -> None:
    rng = random.Random(5)
    ids = list(range(40))
    pairs = sorted({(u, v) for u, v in random_edges(rng, 40, 150)})
    nodes = pl.DataFrame({":ID": ids, "x:int": ids})
    edges = pl.DataFrame({":START_ID": [p[0] for p in pairs], ":END_ID": [p[1] for p in pairs]})
    graph = nakshi.build(tmp_path / "g", edges=edges, nodes=nodes, properties=True)
    known, alive = set(pairs), set(ids)
    [kind] = {record.edge_type for id in ids for record in graph.get_edge_record(id)}
    for step in range(120):
        u, v = rng.sample(sorted(alive), 2)
        draw = rng.random()
        if draw < 0.1:
            graph.append_node(1000 + step, {})
            alive.add(1000 + step)
        elif draw < 0.15:
            graph.delete_node(u)
            alive.discard(u)
            known = {pair for pair in known if u not in pair}
        elif draw < 0.6:
            graph.append_edge(u, kind, v)
            known.add((u, v))
        elif known:
            u, v = rng.choice(sorted(known))
            graph.delete_edge(u, kind, v)
            known.discard((u, v))
        if step % 30 == 29:
            wanted = sorted(alive)
            out = {u: sorted(v for s, v in known if s == u) for u in wanted}
            into = {u: sorted(s for s, v in known if v == u) for u in wanted}
            assert lists_of(graph, wanted, "out") == out
            assert lists_of(graph, wanted, "in") == into


def test_edges(diamond: nakshi.Graph, karate: nakshi.Graph) -> None:
    sources, targets = diamond.edges()
    assert sorted(zip(sources, targets)) == [
        ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "a"), ("e", "f"),
    ]  # fmt: skip
    sources, targets, weights = diamond.edges(["d", "e"], "both", "weight")
    assert sorted(zip(sources, targets, weights)) == [
        ("b", "d", 7.0), ("c", "d", 1.0), ("d", "a", 2.0), ("e", "f", 1.0),
    ]  # fmt: skip
    table = diamond.edges("a", weight="weight").to_arrow()
    assert sorted(zip(*table.to_pydict().values())) == [("a", "b", 1), ("a", "c", 5)]
    everything = karate.edges()
    assert len(everything) == 78
    assert len({frozenset(pair) for pair in zip(*map(np.ndarray.tolist, everything))}) == 78


@pytest.mark.parametrize("directed", [True, False])
def test_subgraphs(tmp_path: Path, kind: str, directed: bool) -> None:
    lists = Lists(kind, directed, seed=9)
    graph = lists.build(tmp_path / "g.nakshi", "degree")
    ids = lists.rng.sample(lists.ids, 25)
    with graph.subgraph(ids) as cut:
        assert cut.num_vertices == 25 and cut.directed == directed
        wanted = {(u, v) for u in ids for v in ids if v in lists.out[u]}
        sources, targets = cut.edges()
        found = set(zip(sources.tolist(), targets.tolist()))
        assert found <= wanted
        assert found | (set() if directed else {(v, u) for u, v in found}) == wanted
    kept = graph.ego(ids[0], 2, path=tmp_path / "ego.nakshi")
    near, far = (lists.within(ids[0], radius) for radius in (2, 5))
    assert set(nakshi.open(kept.path).neighbors([]).targets.tolist()) == set()
    assert all(id in kept for id in near) and len(kept) == len(near)
    assert len(graph.ego(ids[0], 5, limit=4)) == min(4, len(far))
    back = graph.ego(ids[0], 1, direction="both")
    assert len(back) == len({ids[0], *lists.out[ids[0]], *lists.into[ids[0]]})


def test_subgraphs_without_edges(tmp_path: Path, diamond: nakshi.Graph) -> None:
    """Seen red, by chance: an `InputError` said that no edge was read."""
    cut = diamond.subgraph(["a", "f"])
    assert (cut.num_vertices, cut.num_edges) == (2, 0)
    alone = diamond.ego("f", 2, path=tmp_path / "alone.nakshi")
    assert ("f" in alone, len(alone), alone.num_edges) == (True, 1, 0)


def test_edge_properties_are_weights(tmp_path: Path, cli: Callable[..., Outcome]) -> None:
    """From the files and after changes; seen red with `no column`, and with lists of the last compaction."""
    roads = pl.DataFrame(
        {"source": [1, 2, 3, 1], "target": [2, 3, 1, 3], "km": [1.5, 2.5, 3.5, 9.0]}
    ).with_columns(toll=pl.Series([1, 2, 3, None]))
    graph = nakshi.build(tmp_path / "g", roads, properties=True, progress=False)
    assert graph.shortest_path(1, 3) == [1, 3]
    assert graph.shortest_path(1, 3, "km") == ([1, 2, 3], 4.0)
    assert graph.edges(1, weight="km").weights.tolist() == [1.5, 9.0]
    assert graph.ego(1, weight="km").sssp(1).to_dict() == {1: 0.0, 2: 1.5, 3: 4.0}
    with pytest.raises(nakshi.ParameterError, match="1 of 4 edges have no 'toll'"):
        graph.edges(weight="toll")
    assert sorted(graph.edges(weight="toll", missing_weight=7).weights) == [1, 2, 3, 7]
    for wrong, mention in (({"weight": "kn"}, "did you mean 'km'"), ({}, "weight=")):
        with pytest.raises(nakshi.ParameterError, match=mention):
            graph.shortest_path(1, 3, missing_weight=1, **wrong)
    for _ in range(2):
        graph.append_node(4)
        graph.append_edge(3, "edge", 4, properties={"km": 1.0})
        assert graph.shortest_path(1, 4, "km") == ([1, 2, 3, 4], 5.0)
        assert graph.subgraph([3, 4], weight="km").edges(weight="weight").weights.tolist() == [1.0]
        graph.delete_node(4)
        graph.compact(progress=False)
    store = str(tmp_path / "g")
    assert cli("path", store, "1", "3", "--weight", "km").out.split() == ["1", "2", "3"]
    found = cli("path", store, "1", "3", "--weight", "toll", "--missing-weight", "2", "--json")
    assert found.json == {"path": [1, 3], "length": 2.0}
    plain = nakshi.build(tmp_path / "plain", ([1], [2]), progress=False)
    with pytest.raises(nakshi.ParameterError, match="this store has none"):
        plain.edges(weight="w", missing_weight=2)


def test_subgraphs_have_weights(diamond: nakshi.Graph) -> None:
    cut = diamond.subgraph(["a", "c", "d", "f"])
    assert cut.weights == ["weight"] and cut.num_vertices == 4
    assert cut.shortest_path("a", "d", weight="weight") == (["a", "c", "d"], 6.0)
    assert cut.bfs(source="a").to_dict() == {"a": 0, "c": 1, "d": 2, "f": None}


def test_subgraph_of_the_last_commit(people: nakshi.Graph) -> None:
    people.append_node("eve", {})
    people.append_edge("cleo", "knows", "eve")
    cut = people.subgraph(["bob", "cleo", "eve"])
    sources, targets = cut.edges()
    assert sorted(zip(sources, targets)) == [("bob", "cleo"), ("cleo", "eve")]
    sources, targets = people.edges()
    assert ("cleo", "eve") in set(zip(sources, targets)) and len(sources) == 5
    assert len(people.ego("bob", 3)) == 4


def test_command_line(diamond: nakshi.Graph, cli: Callable[..., Outcome]) -> None:
    store = diamond.path
    assert sorted(cli("neighbors", store, "a").out.split()) == ["b", "c"]
    assert cli("neighbors", store, "d", "e").out == "d\ta\ne\tf\n"
    assert cli("neighbors", store, "d", "--direction", "both", "--json").json["ids"][0] == "a"
    assert cli("neighbors", store, "d", "e", "--json").json == {
        "neighbors": [{"id": "d", "neighbors": ["a"]}, {"id": "e", "neighbors": ["f"]}]
    }
    assert cli("degree", store, "a", "e").out == "a\t2\ne\t1\n"
    assert cli("degree", store, "a", "--direction", "in", "--json").json == {
        "degrees": [{"id": "a", "degree": 1}]
    }
    told = cli("path", store, "d", "c")
    assert (told.code, told.out, told.err) == (0, "d\na\nc\n", "2 edges\n")
    assert cli("path", store, "a", "d", "--weight", "weight", "--json").json == {
        "path": ["a", "c", "d"], "length": 6.0,
    }  # fmt: skip
    told = cli("path", store, "a", "f")
    assert (told.code, told.err) == (1, "nakshi: there is no path from a to f\n")
    told = cli("path", store, "a", "f", "--json")
    assert (told.code, told.json) == (1, {"path": None, "length": None})
    told = cli("degree", store, "zoe")
    assert told.code == 1 and "zoe" in told.err
    told = cli("neighbors", store, "a", "--edges", "--direction", "in")
    assert told.code == 2


def test_command_line_of_subgraphs(
    diamond: nakshi.Graph, cli: Callable[..., Outcome], tmp_path: Path
) -> None:
    store = diamond.path
    told = cli("subgraph", store, "a", "c", "d")
    assert sorted(told.out.splitlines()) == ["a\tc\t5.0", "c\td\t1.0", "d\ta\t2.0"]
    names = tmp_path / "names.txt"
    names.write_text("b\nd\n")
    new = tmp_path / "cut.nakshi"
    told = cli("subgraph", store, "--ids", names, "--out", new, "--json")
    assert told.json == {"store": str(new), "vertices": 2, "edges": 1}
    assert nakshi.open(new).has_edge("b", "d")
    told = cli("subgraph", store, "d", "--radius", 1, "--direction", "both", "--json")
    assert told.json == {"store": None, "vertices": 4, "edges": 5}
    assert cli("subgraph", store).code == 2
    assert cli("subgraph", store, "a", "--limit", 3).code == 2
