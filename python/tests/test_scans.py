"""Stores as lazy frames: what a query reads, and the same rows as from a frame in memory."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import nakshi
import pytest

from .conftest import SCALE, random_edges

pl = pytest.importorskip("polars")
from nakshi import pushdown, scans  # noqa: E402

CITIES = ["Ithaca", "Oslo", "Bonn", None]


@pytest.fixture
def people(tmp_path: Path) -> nakshi.Graph:
    rng = random.Random(5)
    nodes = pl.DataFrame(
        {
            "id": [f"p{i:02}" for i in range(40)],
            "city": [rng.choice(CITIES) for _ in range(40)],
            "age": [rng.choice([None, *range(5)]) for _ in range(40)],
            "height": [rng.choice([1.5, float("nan"), 2.0, None]) for _ in range(40)],
            "tags": [["a"] * rng.randrange(3) for _ in range(40)],
            "happy": [rng.choice([True, False, None]) for _ in range(40)],
        }
    )
    pairs = random_edges(rng, 40, 90)
    edges = pl.DataFrame(
        {
            "source": [f"p{a:02}" for a, _ in pairs],
            "target": [f"p{b:02}" for _, b in pairs],
            "type": [rng.choice(["knows", "likes"]) for _ in pairs],
            "timestamp": list(range(90)),
            "since": [rng.choice([None, 2001, 2002]) for _ in pairs],
        }
    )
    return nakshi.build(tmp_path / "people", edges, nodes=nodes, properties=True, progress=False)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("text", [True, False])
def test_edges(tmp_path: Path, directed: bool, text: bool) -> None:
    rng = random.Random(2)
    pairs = random_edges(rng, 30, 80)
    names: list[Any] = [f"v{i:02}" for i in range(30)] if text else list(range(7, 37))
    arrays = ([names[a] for a, _ in pairs], [names[b] for _, b in pairs], [0.5] * 80)
    graph = nakshi.build(tmp_path / "g", arrays, weighted=True, directed=directed, progress=False)
    lazy = nakshi.scan_edges(graph.path)
    keys = ["source", "target"]
    expected = graph.edges(weight="weight").to_polars().cast(lazy.collect_schema())
    if not directed:
        # A lazy frame has the smaller end first, whatever the layout.
        ends = pl.min_horizontal(keys).alias("source"), pl.max_horizontal(keys).alias("target")
        expected = expected.with_columns(*ends)
    expected = expected.sort(keys)
    assert lazy.sort(keys).collect().equals(expected)
    for predicate in (
        pl.col("source") == names[3],
        pl.col("target").is_in([names[0], names[1]]) & (pl.col("weight") < 1),
        (pl.col("source") == names[0]) | (pl.col("target") == names[0]),
        pl.col("source") == "nobody" if text else pl.col("source") == -1,
    ):
        assert lazy.filter(predicate).sort(keys).collect().equals(expected.filter(predicate))
    assert lazy.select(pl.len()).collect().item() == graph.num_edges
    assert lazy.head(3).collect().height == 3
    assert sorted(nakshi.scan_nodes(graph).collect()["id"]) == sorted(graph.wcc().to_dict())


def predicate(rng: random.Random) -> Any:
    """A random condition on nodes."""
    city, age, height = pl.col("city"), pl.col("age"), pl.col("height")
    kinds = [
        lambda: city == rng.choice(CITIES[:3]),
        lambda: city > "Bonn",
        lambda: pl.lit("Oslo") >= city,
        lambda: city.is_null(),
        lambda: age == rng.randrange(6),
        lambda: rng.randrange(6) < age,
        lambda: age <= rng.randrange(6),
        lambda: height > 1.7,
        lambda: height <= 1.7,
        lambda: height == 2,
        lambda: age == height,
        lambda: pl.col("happy"),
        lambda: pl.col("happy") == False,  # noqa: E712
        lambda: pl.col("id").is_in(["p01", "p07", "nobody"]),
        lambda: pl.col("id") > "p20",
        lambda: pl.col("tags").list.len() > 1,
    ]
    found = rng.choice(kinds)()
    for _ in range(rng.randrange(3)):
        other = rng.choice(kinds)()
        found = rng.choice([found & other, found & other, found | other, ~found])
    return found


def test_predicates_on_nodes(people: nakshi.Graph) -> None:
    lazy = nakshi.scan_nodes(people)
    whole = lazy.collect()
    assert whole.height == 40 and "tags" in whole.columns
    for seed in range(80 * SCALE):
        rng = random.Random(seed)
        asked = predicate(rng)
        columns = rng.sample(["id", "city", "age", "height", "tags", "happy"], rng.randint(1, 4))
        found = lazy.filter(asked).select(columns).collect()
        expected = whole.filter(asked).select(columns)
        assert sorted(found.rows(), key=repr) == sorted(expected.rows(), key=repr) or (
            # NaN is not equal to itself.
            sorted(map(repr, found.rows())) == sorted(map(repr, expected.rows()))
        ), asked


def test_edges_with_properties(people: nakshi.Graph) -> None:
    lazy = nakshi.scan_edges(people)
    whole = lazy.collect()
    assert whole.height == people.num_edges
    since = pl.col("since")
    for asked in (
        pl.col("type") == "likes",
        (pl.col("type") == "knows") & (since >= 2002),
        since == 2001,
        (pl.col("source") == "p00") & (pl.col("timestamp") > 4),
        pl.col("source").is_in(["p00", "p01"]) & since.is_null(),
    ):
        found = lazy.filter(asked).select("source", "timestamp").sort("timestamp").collect()
        expected = whole.filter(asked).select("source", "timestamp").sort("timestamp")
        assert found.equals(expected) and found.height, asked


def test_a_filter_reads_what_it_names(
    people: nakshi.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    original = nakshi.Graph.get_node_properties

    def noted(self: nakshi.Graph, ids: Any, names: Any = None) -> Any:
        read.append((len(ids), names))
        return original(self, ids, names)

    monkeypatch.setattr(nakshi.Graph, "get_node_properties", noted)
    lazy = nakshi.scan_nodes(people)
    lazy.filter(pl.col("id") == "p03").select("age").collect()
    assert read == [(1, ["age"])]
    read.clear()
    oslo = people.count({"city": "Oslo"})
    lazy.filter(pl.col("city") == "Oslo").select("id").collect()
    assert read == [(oslo, ["city"])]


def test_conditions() -> None:
    types = {"age": "int", "name": "string", "x": "float"}
    age = pl.col("age")
    assert pushdown.keys_of((age == 3) & (pl.col("x") > 1), "age") == [3]
    assert pushdown.keys_of(age.is_in([1, 2]) & age.is_in([2, 3]), "age") == [2]
    assert pushdown.keys_of((age == 3) | (age == 4), "age") is None
    assert pushdown.keys_of(None, "age") is None
    assert set(pushdown.conditions_of((age > 3) & (pl.col("name") == "a"), types)) == {
        "age",
        "name",
    }
    for kept in (pl.col("x") > 1, age == "a", age + 1 == 3, age.is_null(), ~(age == 3)):
        assert not pushdown.conditions_of(kept, types)


def test_what_has_no_column(tmp_path: Path) -> None:
    edges = pl.DataFrame({"source": ["a"], "target": ["b"], "id": ["x"]})
    nodes = pl.DataFrame({"id": ["a", "b"], "size": [1, 2]})
    graph = nakshi.build(tmp_path / "g", edges, nodes=nodes, properties=True, progress=False)
    assert nakshi.scan_edges(graph).collect()["id"].to_list() == ["x"]
    assert scans._dtype(pl, "size", "int[]") == pl.List(pl.Int64)
    with pytest.raises(nakshi.UnsupportedError, match="'size' has the type shape"):
        scans._dtype(pl, "size", "shape")


def test_polars_that_is_missing_is_named(
    diamond: nakshi.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(nakshi.UnsupportedError, match="needs polars.*pip install"):
        nakshi.scan_nodes(diamond)


def test_duckdb_reads_stores_and_results_by_name(people: nakshi.Graph) -> None:
    duckdb = pytest.importorskip("duckdb")
    nodes, edges, ranks = nakshi.scan_nodes(people), nakshi.scan_edges(people), people.pagerank()
    assert len(nodes.collect_schema()) == 6 == len(edges.collect_schema()) + 1 and len(ranks) == 40
    found = duckdb.sql("select city, count(*) from nodes group by city").fetchall()
    assert dict(found) == {**people.count(by="city")}
    [(count,)] = duckdb.sql("select count(*) from edges where type = 'likes'").fetchall()
    assert count == people.count_edges(edge_type="likes")
    joined = duckdb.sql("select sum(rank) from ranks join nodes using (id)").fetchall()
    assert joined[0][0] == pytest.approx(1)


@pytest.mark.parametrize("ending", ["graphml", "gexf"])
def test_files_for_drawing(tmp_path: Path, people: nakshi.Graph, ending: str) -> None:
    nx = pytest.importorskip("networkx")
    path = tmp_path / f"g.{ending}"
    people.write_graph(path)
    read = (nx.read_graphml if ending == "graphml" else nx.read_gexf)(path)
    graph = people.to_networkx()
    assert set(read) == set(graph) and read.number_of_edges() == graph.number_of_edges()
    assert read.nodes["p03"].get("city") == graph.nodes["p03"].get("city")
    assert read.nodes["p01"]["tags"] == ";".join(graph.nodes["p01"]["tags"])
    with pytest.raises(nakshi.ParameterError, match="max_edges=3"):
        people.write_graph(tmp_path / f"h.{ending}", max_edges=3)
    with pytest.raises(nakshi.ParameterError, match="neither .graphml nor .gexf"):
        people.write_graph(tmp_path / "h.xml")
    people.append_node("odd", {"city": "a\x00b"})
    with pytest.raises(nakshi.ParameterError, match="node 'odd' has the character"):
        people.write_graph(tmp_path / f"h.{ending}")
    with pytest.raises(nakshi.StorageError):
        people.delete_node("odd")
        people.write_graph(tmp_path / "nowhere" / f"h.{ending}")
    assert {one.name for one in tmp_path.iterdir()} == {"people", path.name}
