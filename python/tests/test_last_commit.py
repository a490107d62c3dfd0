"""Algorithms, counts and queries see the last commit, and nothing is stale or mistyped without a word."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
import polars as pl
import pytest
from nakshi.errors import BudgetError, ParameterError

from .conftest import ALGORITHMS, SCALE, run_cli

PEOPLE = {
    "id": ["ann", "bob", "cid", "dot"],
    "name": ["Ann", "Bob", "Cid", "Dot"],
    "age": [31, 28, 45, 9],
}
KNOWS = {
    "source": ["ann", "ann", "bob", "cid"],
    "target": ["bob", "cid", "cid", "dot"],
    "type": ["knows", "knows", "likes", "knows"],
    "timestamp": [1, 2, 3, 4],
    "weight": [5, 1, 1, 2],
    "cost": [0.5, 0.25, 4.0, 1.5],
    "note": ["a", "b", "c", "d"],
}


@pytest.fixture
def graph(tmp_path: Path) -> nakshi.Graph:
    return make(tmp_path / "people.nakshi", KNOWS, PEOPLE)


def make(path: Path, edges: dict[str, Any], nodes: dict[str, Any] | None = None) -> nakshi.Graph:
    tables: dict[str, Any] = {"edges": pl.DataFrame(edges)}
    if nodes is not None:
        tables["nodes"] = pl.DataFrame(nodes)
    return nakshi.build(path, **tables, properties=True, progress=False)


def leftovers(path: Path) -> list[str]:
    return sorted(name for name in os.listdir(path.parent) if ".current-" in name)


# --- weights are edge properties ---


def test_a_numeric_edge_property_is_the_weight(graph: nakshi.Graph) -> None:
    """Seen red: distances of unit lengths, and 'the store has no column weight'."""
    expected = {"ann": 0.0, "bob": 5.0, "cid": 1.0, "dot": 3.0}
    assert graph.sssp(source="ann", weight="weight").to_dict() == expected
    by_default = graph.sssp(source="ann")
    assert by_default.to_dict() == expected and by_default.summary["lengths"] == "weight"
    costs = graph.sssp(source="ann", weight="cost", engine="ssd", memory="96MiB")
    assert costs.to_dict() == {"ann": 0.0, "bob": 0.5, "cid": 0.25, "dot": 1.75}
    assert costs.stats["topology"]["weight"] == "cost"
    assert graph.weights == ["weight", "cost"] and graph.weighted
    pulled = graph.run("sssp", source="ann", weight="weight", variant="pull-program")
    assert pulled.to_dict() == expected
    shown = run_cli("run", "sssp", graph.path, "--source", "ann", "--weight", "cost", "--json")
    assert shown.json["result"]["farthest"] == 1.75, shown.err


def test_an_unweighted_run_says_so(graph: nakshi.Graph, diamond: nakshi.Graph) -> None:
    """Seen red: nothing told that there were weights."""
    summary = graph.sssp(source="ann", unit=True).summary
    assert summary["lengths"] == "unit" and summary["unused_weights"] == ["weight", "cost"]
    summary = diamond.sssp(source="a", unit=True).summary
    assert summary["lengths"] == "unit" and summary["unused_weights"] == ["weight"]
    shown = run_cli("run", "sssp", graph.path, "--source", "ann", "--unit")
    assert "unused weights" in shown.out and "weight, cost" in shown.out


def test_parallel_edges_have_a_weight_each(tmp_path: Path) -> None:
    """The topology has one entry for edges of different types; the shorter one is taken."""
    edges = {"source": [1, 1, 2], "target": [2, 2, 3], "type": ["a", "b", "a"], "weight": [7, 3, 1]}
    graph = make(tmp_path / "g", edges)
    assert graph.sssp(source=1).to_dict() == {1: 0.0, 2: 3.0, 3: 4.0}
    graph.delete_edge(1, "b", 2)
    assert graph.sssp(source=1).to_dict() == {1: 0.0, 2: 7.0, 3: 8.0}


def test_weights_that_cannot_be(graph: nakshi.Graph) -> None:
    """Seen red: all of them were 'the store has no column'."""
    with pytest.raises(ParameterError, match=r"'note' is string and no weight.*weight, cost"):
        graph.sssp(source="ann", weight="note")
    with pytest.raises(ParameterError, match="'weigth'.*did you mean 'weight'"):
        graph.sssp(source="ann", weight="weigth")
    graph.append_edge("dot", "likes", "bob", 5)
    with pytest.raises(ParameterError, match=r"1 of 5 edges have no 'weight', such as dot -> bob"):
        graph.sssp(source="ann")
    some = graph.sssp(source="ann", missing_weight=0.5)
    assert some.to_dict()["bob"] == 3.5 and some.stats["topology"]["missing_weights"] == 1
    graph.append_edge("dot", "likes", "bob", 5, {"weight": -3})
    with pytest.raises(ParameterError, match="-3"):
        graph.sssp(source="ann")
    with pytest.raises(BudgetError):
        graph.sssp(source="ann", weight="cost", missing_weight=0, memory="1MiB")
    with pytest.raises(ParameterError, match="missing_weight"):
        graph.pagerank(missing_weight=1)


# --- algorithms, and all that tells about the graph, see the last commit ---


def change(graph: nakshi.Graph) -> None:
    graph.append_node("eve", {"name": "Eve"})
    graph.append_edge("dot", "knows", "eve", 5, {"weight": 1, "cost": 1.0})
    graph.delete_node("bob")


def test_algorithms_run_on_the_last_commit(graph: nakshi.Graph) -> None:
    """Seen red: the graph of the import, with bob and without eve."""
    change(graph)
    found = graph.bfs(source="ann")
    assert found.to_dict() == {"ann": 0, "cid": 1, "dot": 2, "eve": 3}
    told = found.stats["topology"]
    assert told["at"] == "last_commit" and told["commit"] == 3 and told["seconds"] > 0
    assert graph.bfs(source="ann").stats["topology"]["seconds"] == 0, "made twice"
    assert set(graph.pagerank().to_dict()) == {"ann", "cid", "dot", "eve"}
    assert graph.sssp(source="ann").to_dict() == {"ann": 0.0, "cid": 1.0, "dot": 3.0, "eve": 4.0}
    old = graph.bfs(source="ann", at="last_compaction")
    assert old.to_dict() == {"ann": 0, "bob": 1, "cid": 1, "dot": 2}
    assert old.stats["topology"] == {
        "at": "last_compaction",
        "commit": 0,
        "stale": True,
        "seconds": 0,
        "weight": None,
        "missing_weights": 0,
    }
    other = nakshi.open(graph.path)
    assert other.bfs(source="ann").to_dict() == found.to_dict()
    with pytest.raises(ParameterError, match="at="):
        graph.bfs(source="ann", at="yesterday")


def test_counts_and_repr_are_of_the_last_commit(graph: nakshi.Graph) -> None:
    """Seen red: 4 vertices and 4 edges after the changes."""
    change(graph)
    for one in (graph, nakshi.open(graph.path)):
        assert (one.num_vertices, one.num_edges) == (4, 3)
        assert "4 vertices, 3 edges" in repr(one)
        info = one.info()
        assert (info["vertices"], info["edges"], info["commit"]) == (4, 3, 3)
        assert info["last_compaction"] == {"commit": 0, "vertices": 4, "edges": 4}
    graph.append_node("fay")
    assert graph.num_vertices == 5
    shown = run_cli("info", graph.path)
    assert "5" in shown.out and "last compaction" in shown.out


def test_other_commands_see_the_last_commit(graph: nakshi.Graph, tmp_path: Path) -> None:
    """Seen red: four vertices everywhere."""
    change(graph)
    graph.release()
    shown = run_cli("run", "wcc", graph.path, "--json")
    assert shown.json["vertices"] == 4 and shown.json["topology"]["commit"] == 3, shown.err
    old = run_cli("run", "bfs", graph.path, "--source", "ann", "--at", "last-compaction")
    assert "last compaction" in old.out and "changes since then are left out" in old.out
    assert (
        graph.layout_cost()["linear_arrangement"]
        != graph.layout_cost(at="last_compaction")["linear_arrangement"]
    )
    assert graph.layout_cost(at="last_compaction")["topology"]["stale"]
    planned = graph.cache_plan("50%")
    assert planned["topology"]["at"] == "last_compaction" and planned["topology"]["stale"]
    assert (
        graph.bfs(source="ann", static_cache=True, engine="ssd").to_dict()
        == graph.bfs(source="ann").to_dict()
    )
    assert graph.estimate("bfs", source="ann")["topology"]["commit"] == 3
    nakshi.export(graph.path, tmp_path / "edges.tsv", progress=False)
    assert len((tmp_path / "edges.tsv").read_text().splitlines()) in (3, 4)
    laid = graph.relayout(tmp_path / "laid", "degree")
    assert (laid.num_vertices, laid.num_edges) == (4, 3)
    run = nakshi.cluster.run(graph, "bfs", local=2, source="ann")
    assert (
        run.to_dict() == graph.bfs(source="ann").to_dict() and run.stats["topology"]["commit"] == 3
    )


def test_a_compaction_elsewhere_is_seen(graph: nakshi.Graph) -> None:
    """Seen red: the handle went on with the files that it had opened."""
    other = nakshi.open(graph.path)
    assert len(other.bfs(source="ann")) == 4
    change(graph)
    graph.append_node("fay")
    graph.compact()
    graph.release()
    assert len(other.bfs(source="ann")) == 5 and other.num_vertices == 5
    assert other.bfs(source="ann").stats["topology"]["seconds"] == 0


def test_a_temporary_topology_goes(graph: nakshi.Graph, tmp_path: Path) -> None:
    path = Path(graph.path)
    change(graph)
    graph.pagerank()
    assert len(leftovers(path)) == 1
    graph.append_node("fay")
    graph.pagerank()
    assert len(leftovers(path)) == 1, "that of an older commit stays"
    graph.close()
    assert leftovers(path) == []
    # What a killed process leaves goes when the store is opened next.
    code = "import nakshi, os, signal, sys; g = nakshi.open(sys.argv[1]); g.pagerank(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code, path], check=False)
    assert len(leftovers(path)) == 1
    live = nakshi.open(path)
    assert leftovers(path) == []
    live.pagerank()
    assert len(leftovers(path)) == 1
    nakshi.open(path)
    assert len(leftovers(path)) == 1, "that of a live process is no leftover"
    subprocess.run(
        [sys.executable, "-c", code.replace("os.kill(os.getpid(), 9)", "sys.exit()"), path]
    )
    assert len(leftovers(path)) == 1, "an ordinary end leaves nothing"


def test_a_store_in_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    graph = make(folder / "g", KNOWS, PEOPLE)
    change(graph)
    graph.release()
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    folder.chmod(0o500)
    try:
        assert len(nakshi.open(folder / "g").bfs(source="ann")) == 4
    finally:
        folder.chmod(0o700)


def test_all_algorithms_on_random_changes(tmp_path: Path) -> None:
    """Seen red: results of the import after the first change. The oracle is a store that is built of the
    edges and nodes that there are."""
    for seed in range(3 * SCALE):
        rng = random.Random(seed)
        ids = list(range(30))
        edges = {
            (rng.choice(ids), rng.choice("ab"), rng.choice(ids)): rng.randint(0, 9)
            for _ in range(60)
        }
        nodes = set(ids)
        graph = store(tmp_path / f"g{seed}", nodes, edges)
        for step in range(4):
            for _ in range(rng.randint(1, 12)):
                alter(rng, graph, nodes, edges, base=1000 * step)
            for id in (0, 1):
                if id not in nodes:
                    graph.append_node(id)
                    nodes.add(id)
            fresh = store(tmp_path / f"f{seed}-{step}", nodes, edges)
            for name, arguments in ALGORITHMS.items():
                what = f"{seed} {step} {name}"
                found, expected = graph.run(name, **arguments), fresh.run(name, **arguments)
                if name in ("coloring", "matching"):
                    choose(found, nodes, edges, what)
                else:
                    compare(found, expected, what)
            if rng.random() < 0.2:
                graph.compact()
            fresh.close()
        graph.close()


def store(path: Path, nodes: set[Any], edges: dict[Any, int]) -> nakshi.Graph:
    ordered = sorted(edges)
    table = {
        "source": [s for s, _, _ in ordered],
        "target": [t for _, _, t in ordered],
        "type": [ty for _, ty, _ in ordered],
        "weight": [edges[key] for key in ordered],
    }
    schema = {"source": pl.Int64, "target": pl.Int64, "type": pl.String, "weight": pl.Int64}
    tables = {
        "edges": pl.DataFrame(table, schema=schema),
        "nodes": pl.DataFrame({"id": sorted(nodes)}),
    }
    return nakshi.build(path, **tables, properties=True, progress=False)


def alter(
    rng: random.Random, graph: nakshi.Graph, nodes: set[Any], edges: dict[Any, int], base: int
) -> None:
    """Make one change of a graph, and of its model."""
    what, some = rng.random(), sorted(nodes)
    if what < 0.2 or len(some) < 4:
        id = rng.choice([rng.randint(-50, 60), base + rng.randint(0, 99)])
        if id not in nodes:
            graph.append_node(id)
            nodes.add(id)
    elif what < 0.35:
        id = rng.choice(some)
        graph.delete_node(id)
        nodes.discard(id)
        for key in [key for key in edges if id in (key[0], key[2])]:
            del edges[key]
    elif what < 0.55 and edges:
        key = rng.choice(sorted(edges))
        assert graph.delete_edge(*key)
        del edges[key]
    else:
        key = (rng.choice(some), rng.choice("abc"), rng.choice(some))
        edges[key] = rng.randint(0, 9)
        graph.append_edge(*key, 0, {"weight": edges[key]})


def compare(found: nakshi.Result, expected: nakshi.Result, what: str) -> None:
    assert found.columns == expected.columns, what
    for column in found.columns:
        ids, values = found.to_numpy(column)
        others, theirs = expected.to_numpy(column)
        assert ids.tolist() == others.tolist(), what
        if column == "parent":
            # Any parent on the level before will do.
            continue
        if values.dtype.kind == "f":
            np.testing.assert_allclose(values, theirs, rtol=1e-9, err_msg=what)
        else:
            assert values.tolist() == theirs.tolist(), f"{what} {column}"


def choose(found: nakshi.Result, nodes: set[Any], edges: dict[Any, int], what: str) -> None:
    """Check a choice that may differ by the order of the vertices: colours, or partners."""
    values = found.to_dict()
    assert set(values) == nodes, what
    pairs = {(s, t) for s, _, t in edges if s != t}
    if found.algorithm == "coloring":
        assert all(values[s] != values[t] for s, t in pairs), what
        return
    for own, partner in values.items():
        assert partner is None or values[partner] == own, what
        assert partner is None or {(own, partner), (partner, own)} & pairs, what
    assert all(values[s] is not None or values[t] is not None for s, t in pairs), what


def test_ids_of_every_kind(tmp_path: Path) -> None:
    """New ids that the kind of those in the files cannot hold."""
    for number, (first, more) in enumerate(
        [
            ([1, 2], [-5, 2**63, 10**30]),
            ([1, 2], [-5]),
            ([5, 9], [2**63 + 1]),
            (["a", "c"], ["b", ""]),
        ]
    ):
        graph = make(tmp_path / f"g{number}", {"source": first, "target": first})
        for id in more:
            graph.append_node(id)
            graph.append_edge(first[0], "knows", id)
        levels = graph.bfs(source=first[0]).to_dict()
        assert levels == {first[0]: 0, first[1]: None} | dict.fromkeys(more, 1), number
        graph.delete_node(first[1])
        assert first[1] not in graph.bfs(source=first[0]).to_dict()


# --- update_node merges ---


def test_an_update_keeps_what_it_does_not_name(tmp_path: Path) -> None:
    """Seen red: name and labels were gone."""
    nodes = {"id": [1, 2], "name": ["Ann", "Bob"], "age": [31, 28]}
    graph = make(tmp_path / "g", {"source": [1], "target": [2]}, nodes)
    graph.update_node(1, {"age": 32})
    assert graph.get_node_property(1, None) == {"name": "Ann", "age": 32}
    with graph.batch() as batch:
        batch.update_node(1, {"age": 33})
        batch.update_node(2, {"city": "Oslo"}, replace=True)
    assert graph.get_node_property(1, None) == {"name": "Ann", "age": 33}
    assert graph.get_node_property(2, None) == {"city": "Oslo"}
    graph.tao.obj_update(1, {"age": None})
    assert graph.get_node_property(1, None) == {"name": "Ann"}
    graph.write_back(graph.pagerank(), "rank")
    assert set(graph.get_node_property(1, None)) == {"name", "rank"}
    assert nakshi.open(graph.path).get_node_property(1, None) == graph.get_node_property(1, None)


# --- names that are not known ---


@pytest.mark.parametrize(
    "query",
    [
        lambda g: g.get_neighbor_ids("ann", "knwos"),
        lambda g: g.get_edge_record("ann", "knwos"),
        lambda g: g.tao.assoc_count("ann", "knwos"),
        lambda g: g.tao.assoc_range("ann", "knwos"),
        lambda g: g.tao.assoc_get("ann", "knwos", ["bob"]),
        lambda g: g.tao.assoc_time_range("ann", "knwos"),
        lambda g: g.tao.assoc_delete("ann", "knwos", "bob"),
        lambda g: g.tao.assoc_change_type("ann", "knwos", "bob", "likes"),
        lambda g: g.search.friends_by("ann", "knwos"),
        lambda g: g.search.friends_data("ann", "knwos"),
        lambda g: g.delete_edge("ann", "knwos", "bob"),
        lambda g: g.change_type("ann", "knwos", "bob", "likes"),
        lambda g: g.project(edge_types=["knwos"]),
    ],
)
def test_a_mistyped_edge_type(graph: nakshi.Graph, query: Any) -> None:
    """Seen red: [], 0 or False."""
    with pytest.raises(
        ParameterError, match="no edges of type 'knwos'; did you mean 'knows'"
    ) as told:
        query(graph)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "query",
    [
        lambda g: g.get_node_property("ann", "nmae"),
        lambda g: g.get_node_property("ann", ["age", "nmae"]),
        lambda g: g.get_node_ids({"nmae": "Ann"}),
        lambda g: g.get_neighbor_ids("ann", None, {"nmae": "Bob"}),
        lambda g: g.search.find({"nmae": "Ann"}),
        lambda g: g.search.friends_with("ann", {"nmae": "Ann"}),
    ],
)
def test_a_mistyped_property(graph: nakshi.Graph, query: Any) -> None:
    with pytest.raises(ParameterError, match="no property 'nmae'.*did you mean 'name'"):
        query(graph)


def test_mistyped_names_on_the_command_line(graph: nakshi.Graph) -> None:
    for command in (
        ["neighbors", graph.path, "ann", "--type", "knwos"],
        ["get", graph.path, "ann", "nmae"],
        ["find", graph.path, "nmae=Ann"],
        ["neighbors", graph.path, "ann", "--where", "nmae=Ann"],
    ):
        found = run_cli(*command)
        assert found.code == 1 and "did you mean" in found.err and found.out == "", command


def test_what_is_known_and_not_there(graph: nakshi.Graph) -> None:
    """A known name without an answer is an empty answer; a name of the log is known."""
    assert graph.get_node_ids({"name": "Zoe"}) == []
    assert (
        graph.get_neighbor_ids("dot", "knows") == []
        and len(graph.get_edge_record("dot", "likes")) == 0
    )
    with pytest.raises(ParameterError, match="note"):
        graph.find_edges({"nota": "a"})
    graph.append_edge("dot", "follows", "ann", 9, {"since": 2020})
    graph.append_node("eve", {"city": "Oslo"})
    assert (
        graph.get_neighbor_ids("ann", "follows") == []
        and graph.get_node_ids({"city": "Rome"}) == []
    )
    assert graph.get_node_property("ann", "city") is None
    with pytest.raises(ParameterError, match="label"):
        graph.get_node_ids({"label": "Person"})


def test_a_mistyped_label(tmp_path: Path) -> None:
    """Seen red: []."""
    nodes = {"id:ID": [1, 2], "name": ["Ann", "Oslo"], ":LABEL": [["Person"], ["City"]]}
    edges = {":START_ID": [1], ":END_ID": [2], ":TYPE": ["lives"]}
    graph = make(tmp_path / "g", edges, nodes)
    (label,) = [name for name in graph.get_node_property(1, None) if "label" in name.lower()]
    assert graph.get_node_ids({label: "Person"}) == [1]
    with pytest.raises(ParameterError, match="no label 'Persn'; did you mean 'Person'"):
        graph.get_node_ids({label: "Persn"})
    graph.append_node(3, {label: ["Robot"]})
    graph.delete_node(1)
    assert (
        graph.get_node_ids({label: "Robot"}) == [3] and graph.get_node_ids({label: "Person"}) == []
    )


# --- values, records, incoming edges ---


def test_one_name_gives_the_value(graph: nakshi.Graph) -> None:
    """Seen red: a dictionary of one."""
    assert graph.get_node_property("ann", "name") == "Ann"
    assert graph.get_node_property("ann", ["name"]) == {"name": "Ann"}
    assert graph.get_node_property("ann") == {"name": "Ann", "age": 31}
    assert graph.get_node_properties(["ann", "bob"], "age") == [31, 28]
    assert graph.get_node_properties(["ann"], ["age"]) == [{"age": 31}]
    assert graph.snapshot().get_node_property("bob", "age") == 28


def test_records_are_iterable(graph: nakshi.Graph) -> None:
    """Seen red: 'EdgeRecord' object is not iterable."""
    record = graph.get_edge_record("ann", "knows")
    assert [edge.destination for edge in record] == ["bob", "cid"]
    assert record[0] == graph.get_edge_data(record, 0) and record[-1].timestamp == 2
    assert list(reversed(record)) == [record[1], record[0]] and record[0:1] == [record[0]]
    with pytest.raises(IndexError):
        record[2]
    graph.delete_edge("ann", "knows", "bob")
    assert len(list(record)) == 2, "a record keeps the state in which it was read"
    assert [edge.destination for edge in graph.get_edge_record("ann", "knows")] == ["cid"]


def test_incoming_edges_and_their_properties(graph: nakshi.Graph) -> None:
    """Seen red: there was no way to ask for them."""
    found = graph.get_incoming_edges("cid")
    assert [(e.source, e.edge_type, e.timestamp, e.properties["note"]) for e in found] == [
        ("ann", "knows", 2, "b"),
        ("bob", "likes", 3, "c"),
    ]
    assert [e.source for e in graph.get_incoming_edges("cid", "likes")] == ["bob"]
    graph.append_edge("dot", "likes", "cid", 1, {"note": "z"})
    graph.delete_node("bob")
    assert [e.source for e in graph.get_incoming_edges("cid")] == ["ann", "dot"]
    assert [e.source for e in nakshi.open(graph.path).get_incoming_edges("cid")] == ["ann", "dot"]
    before = graph.snapshot()
    graph.compact()
    assert [e.source for e in graph.get_incoming_edges("cid")] == ["ann", "dot"]
    assert [e.source for e in before.get_incoming_edges("cid")] == ["ann", "dot"]
    with pytest.raises(ParameterError, match="did you mean 'likes'"):
        graph.get_incoming_edges("cid", "lieks")
