"""Property graphs written once more: as tables, and in another order of their nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import nakshi
import pyarrow.parquet as pq
import pytest
from nakshi.errors import BudgetError, ParameterError, StoreExistsError
from nakshi.orders import Order

from .conftest import content, run_cli


@pytest.fixture(params=["columns", "zipg"])
def graph(tmp_path: Path, request: pytest.FixtureRequest) -> nakshi.Graph:
    """Two circles and a few chords; some of it in the log."""
    home = tmp_path / "home"
    home.mkdir()
    nodes = "".join(f"n{v},{'abc'[v % 3]},{v}.5,x;y\n" for v in range(60))
    edges = "".join(
        f"n{v},n{(v + 1) % 60},next,{v},\nn{v},n{v * 7 % 60},jump,1,j\n" for v in range(60)
    )
    (home / "nodes.csv").write_text("id:ID,name:string,score:float,tags:string[]\n" + nodes)
    (home / "edges.csv").write_text(":START_ID,:END_ID,:TYPE,timestamp:long,note\n" + edges)
    graph = nakshi.build(
        home / "g",
        edges=home / "edges.csv",
        nodes=home / "nodes.csv",
        properties=True,
        layout=request.param,
        progress=False,
    )
    graph.append_node('new, "node"', {"name": "", "when": b"\xff,\n", "score": -0.0})
    graph.append_edge('new, "node"', "next", "n3", -5, {"note": 'a\n"b"\t', "timestamp": 4})
    graph.update_node("n4", {"name": "four"})
    graph.delete_node("n5")
    graph.delete_edge("n7", "next", "n8")
    graph.set_inverse("next", "before")
    return graph


def again(path: Path, edges: Path, nodes: Path) -> dict[Any, Any]:
    graph = nakshi.build(path, edges=edges, nodes=nodes, properties=True, progress=False)
    return content(graph)


def test_tables_come_back(graph: nakshi.Graph, tmp_path: Path) -> None:
    """From Python and the command line, in each form. Seen red with the log left out."""
    expected = content(graph)
    for ending in ("csv", "csv.gz", "parquet"):
        edges, nodes = tmp_path / f"e.{ending}", tmp_path / f"n.{ending}"
        done = nakshi.export(graph, edges, nodes=nodes, progress=False)
        assert done == {"edges": 118 - 2, "nodes": 60}, done
        assert again(tmp_path / ending, edges, nodes) == expected
    assert pq.read_table(tmp_path / "n.parquet").num_rows == 60
    words = [tmp_path / "shown.csv", "--nodes", tmp_path / "shown-nodes.csv"]
    shown = run_cli("export", graph.path, *words)
    assert shown.code == 0 and "nodes" in shown.out, shown.err
    assert (tmp_path / "shown.csv").read_bytes() == (tmp_path / "e.csv").read_bytes()
    head = run_cli("export", graph.path, "-", "--format", "csv").out.splitlines()[0]
    assert head == ":START_ID,:END_ID,:TYPE,timestamp:int,note:string,timestamp:int"
    told = run_cli("export", graph.path, tmp_path / "plain.tsv", "--plain", "--json")
    assert json.loads(told.out)["edges"] == nakshi.open(graph.path).num_edges
    assert (tmp_path / "plain.tsv").read_text().startswith("source\ttarget\n")


def test_what_tables_cannot_hold(graph: nakshi.Graph, tmp_path: Path) -> None:
    """One line with the column, and no file. Seen red with nodes that get their name at once."""
    out = tmp_path / "out"
    out.mkdir()
    for name, mention in (("e.tsv", "tab or a line break"), ("e.arrow", "plain")):
        done = run_cli("export", graph.path, out / name, "--nodes", out / "n.csv")
        assert done.code == 1 and mention in done.err, done.err
    with pytest.raises(BudgetError, match="memory"):
        nakshi.export(graph, out / "e.parquet", memory="1MiB")
    graph.append_edge("n1", "next", "n9", 1, {"list": ["a;b"]})
    with pytest.raises(ParameterError, match="list:string.*semicolon.*export to Parquet"):
        nakshi.export(graph, out / "e.csv", nodes=out / "n.csv", progress=False)
    assert list(out.iterdir()) == []


def test_every_order(graph: nakshi.Graph, tmp_path: Path) -> None:
    """No answer changes, and the order is that of the same edges without properties. Seen red with the
    order of a graph in which nodes are edges to themselves."""
    expected = content(graph)
    plain = graph.project(progress=False)
    levels = plain.bfs(source="n0", progress=False).to_dict()
    ranks = [name for name in get_args(Order) if name != "extend"]
    for order in ranks:
        done = run_cli("layout", graph.path, tmp_path / order, "--order", order, "--json")
        assert done.code == 0, done.err
        report = json.loads(done.out)
        new = nakshi.open(tmp_path / order)
        assert new.info()["layout"] == report["layout"]
        assert content(new) == expected
        assert new.bfs(source="n0", progress=False).to_dict() == levels
        alone = plain.relayout(tmp_path / f"{order}.plain", order, progress=False)
        assert alone.info()["layout"] == report["layout"]
        costs = new.layout_cost()
        del costs["topology"]
        assert alone.layout_cost() == costs
        assert new.append_node("later") is None
    like = graph.relayout(tmp_path / "like", "extend", like=tmp_path / "random", progress=False)
    # All but the node that the other has got since.
    others = nakshi.open(tmp_path / "random").get_node_ids()[:-1]
    assert like.get_node_ids() == others


def test_orders_that_cannot_be(graph: nakshi.Graph, tmp_path: Path) -> None:
    before = sorted(entry.name for entry in tmp_path.iterdir())
    with pytest.raises(StoreExistsError):
        graph.relayout(graph.path, "degree")
    with pytest.raises(ParameterError, match="seed"):
        graph.relayout(tmp_path / "new", "degree", seed=1)
    for memory in ("4KiB", "80MiB"):
        with pytest.raises(BudgetError):
            graph.relayout(tmp_path / "new", "degree", memory=memory)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == before
