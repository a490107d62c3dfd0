"""Export for Neo4j, from Python and the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import nakshi
import pytest
from nakshi.errors import NakshiError, ParameterError, StoreExistsError

from .conftest import content, run_cli

NODES = """id:ID,name,age:int,tags:string[],:LABEL
ann,"Ann ""A"" B.",31,a;b,Person;Admin
bob,Bob,,,Person
cid,"Cid,
Jr.",45,,
"""
EDGES = """:START_ID,:END_ID,:TYPE,timestamp:long,note,weight:double
ann,bob,follows,5,"hi, there",0.5
ann,cid,follows,2,,
ann,cid,likes,7,much,-1e-3
bob,dan,follows,1,,
"""


@pytest.fixture
def graph(tmp_path: Path) -> nakshi.Graph:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "edges.csv").write_text(EDGES)
    return loaded(tmp_path / "g", tmp_path / "edges.csv", tmp_path / "nodes.csv")


def loaded(store: Path, edges: Path, nodes: Path) -> nakshi.Graph:
    return nakshi.build(store, edges, nodes=nodes, missing_nodes="create", progress=False)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def place(folder: Path) -> dict[str, int]:
    return {row["id:ID"]: at for at, row in enumerate(rows(folder / "nodes.csv"))}


def test_properties_come_back(graph: nakshi.Graph, tmp_path: Path) -> None:
    out = tmp_path / "neo4j"
    done = nakshi.export(graph, out, neo4j=True, progress=False)
    assert done["edges"] == 4 and "--multiline-fields=true" in done["command"]
    assert f"--nodes={out}/nodes.csv" in done["command"]
    nodes = rows(out / "nodes.csv")
    assert list(place(out)) == graph.get_node_ids()
    assert {row["id:ID"]: row[":LABEL"] for row in nodes}["ann"] == "Person;Admin"
    assert (out / "import.sh").read_text().startswith("#!/bin/sh")
    again = loaded(tmp_path / "again", out / "relationships.csv", out / "nodes.csv")
    assert content(again) == content(graph)


def test_properties_in_another_order(graph: nakshi.Graph, tmp_path: Path) -> None:
    """With changes in the log. Seen red with the log left out."""
    graph.append_node("eve", {"name": "Eve"})
    graph.append_edge("eve", "likes", "ann", 3, {"note": "new"})
    laid = graph.relayout(tmp_path / "laid", "random", seed=5, progress=False)
    out = tmp_path / "neo4j"
    nakshi.export(graph, out, neo4j=True, layout="random", seed=5, progress=False)
    assert list(place(out)) == laid.get_node_ids() != graph.get_node_ids()
    again = loaded(tmp_path / "again", out / "relationships.csv", out / "nodes.csv")
    assert content(again) == content(graph)
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_orders(tmp_path: Path) -> None:
    edges = [(i, (i * 7 + 3) % 40) for i in range(40)] + [(i, i + 1) for i in range(39)]
    sources, targets = zip(*edges, strict=True)
    store = tmp_path / "plain"
    graph = nakshi.build(store, (list(sources), list(targets)), layout="original", progress=False)
    for order, parameters in (
        ("original", {}),
        ("random", {"seed": 3}),
        ("bondhu-parcom", {}),
        ("bisection", {}),
        ("extend", {"like": store}),
    ):
        laid = tmp_path / f"{order}.laid"
        graph.relayout(laid, order, **parameters, progress=False)  # type: ignore[arg-type]
        expected = tmp_path / f"{order}.own"
        nakshi.export(laid, expected, neo4j=True, progress=False)
        words = [f"--{name}={value}" for name, value in parameters.items()]
        folder = tmp_path / order
        shown = run_cli("export", store, folder, "--neo4j", "--layout", order, *words)
        assert shown.code == 0 and "neo4j-admin database import full" in shown.out, shown.err
        for name in ("nodes.csv", "relationships.csv", "import.sh"):
            assert (folder / name).read_bytes() == (expected / name).read_bytes()
        places = place(folder)
        at = [places[row[":START_ID"]] for row in rows(folder / "relationships.csv")]
        assert at == sorted(at) and len(at) == len(set(edges))
    left = [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]
    assert left == []


def test_what_cannot_be(graph: nakshi.Graph, tmp_path: Path) -> None:
    before = sorted(entry.name for entry in tmp_path.iterdir())
    with pytest.raises(StoreExistsError, match="exists"):
        nakshi.export(graph, tmp_path, neo4j=True)
    with pytest.raises(StoreExistsError, match="exists"):
        nakshi.export(graph, tmp_path, neo4j=True, layout="degree")
    with pytest.raises(ParameterError, match="neo4j"):
        nakshi.export(graph, tmp_path / "out", layout="degree")
    with pytest.raises(ParameterError, match="layout"):
        nakshi.export(graph, tmp_path / "out", neo4j=True, seed=1)
    with pytest.raises(ParameterError, match="format"):
        nakshi.export(graph, tmp_path / "out", neo4j=True, format="csv")
    with pytest.raises(ParameterError, match="nodes"):
        nakshi.export(graph, tmp_path / "out", neo4j=True, nodes=tmp_path / "n")
    with pytest.raises(NakshiError, match="memory"):
        nakshi.export(graph, tmp_path / "out", neo4j=True, memory=1)
    for words, mention in (
        (["--layout", "degree"], "neo4j"),
        (["--neo4j", "--nodes", "n"], "nodes"),
    ):
        done = run_cli("export", graph.path, tmp_path / "out", *words)
        assert done.code in (1, 2) and mention in done.err and done.out == ""
    done = run_cli("export", graph.path, "-", "--neo4j")
    assert done.code == 1 and "directory" in done.err
    assert sorted(entry.name for entry in tmp_path.iterdir()) == before


def test_a_callback_that_raises_leaves_nothing(tmp_path: Path) -> None:
    edges = tmp_path / "edges.tsv"
    nakshi.generate("kronecker", edges, scale=18, progress=False)
    store = nakshi.build(tmp_path / "g", edges, progress=False)
    before = sorted(entry.name for entry in tmp_path.iterdir())

    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    for layout in (None, "bisection"):
        with pytest.raises(RuntimeError, match="enough"):
            nakshi.export(store, tmp_path / "out", neo4j=True, layout=layout, progress=stop)
        assert sorted(entry.name for entry in tmp_path.iterdir()) == before
