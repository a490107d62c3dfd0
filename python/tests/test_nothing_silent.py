"""Nothing of an import is dropped, replaced, created or guessed without a word."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from nakshi.errors import InputError, InputWarning, ParameterError

from .conftest import content, data, ldbc, run_cli

PEOPLE = {"id": [1, 2, 3], "name": ["Ann", "Bob", "Cid"]}
KNOWS = {"source": [1, 2, 3], "target": [2, 3, 1], "since": [1999, 2004, 2011]}


def build(path: Path, edges: Any, **options: Any) -> nakshi.Graph:
    return nakshi.build(path, edges, progress=False, **options)


# --- ids and the nodes that edges name ---


def test_labels_are_no_id_spaces(tmp_path: Path) -> None:
    """Seen red: six nodes of three rows, three of them without a label."""
    graph = build(
        tmp_path / "g", {"knows": pl.DataFrame(KNOWS)}, nodes={"Person": pl.DataFrame(PEOPLE)}
    )
    assert sorted(graph.get_node_ids()) == [1, 2, 3]
    assert graph.get_node_ids({"labels": "Person"}) == [1, 2, 3]
    assert graph.get_neighbor_ids(1, "knows") == [2]


def test_ends_that_no_table_of_nodes_has(tmp_path: Path) -> None:
    """Seen red: node 7 was made without a word."""
    nodes, edges = pl.DataFrame(PEOPLE), pl.DataFrame({"source": [1, 2, 7], "target": [2, 7, 8]})
    with pytest.raises(InputError, match=r"2 edges.* 2 nodes.*\b7\b.*missing_nodes"):
        build(tmp_path / "g", edges, nodes=nodes)
    assert not (tmp_path / "g").exists()
    with pytest.warns(InputWarning, match="2 nodes .*created"):
        made = build(tmp_path / "made", edges, nodes=nodes, missing_nodes="create")
    assert sorted(made.get_node_ids()) == [1, 2, 3, 7, 8] and made.get_node_property(7) == {}
    with pytest.warns(InputWarning, match="2 edges .*skipped"):
        left = build(tmp_path / "left", edges, nodes=nodes, missing_nodes="skip")
    assert sorted(left.get_node_ids()) == [1, 2, 3] and left.num_vertices == 3
    assert left.info()["import"]["skipped"] == 2 and left.num_edges == 1
    assert nakshi.check(left.path, progress=False)["ok"]
    with pytest.raises(ParameterError, match="missing_nodes"):
        build(tmp_path / "h", ([1], [2]), missing_nodes="skip")


def test_ends_of_another_space(tmp_path: Path) -> None:
    """The remedy is named where ids differ by their space alone."""
    (tmp_path / "p.csv").write_text("id:ID(Person),name\n1,Ann\n2,Bob\n")
    edges = pl.DataFrame({"source": [1], "target": [2]})
    with pytest.raises(InputError, match=r"Person:1.*:START_ID\(Person\)"):
        build(tmp_path / "g", edges, nodes=tmp_path / "p.csv")
    columns = {"source": ":START_ID(Person)", "target": ":END_ID(Person)"}
    graph = build(tmp_path / "g", edges, nodes=tmp_path / "p.csv", columns=columns)
    assert sorted(graph.get_node_ids()) == ["Person:1", "Person:2"]
    blank = pl.DataFrame({"source": ["1 "], "target": ["2"]})
    with pytest.raises(InputError, match="blank"):
        build(tmp_path / "h", blank, nodes=pl.DataFrame({"id": ["1", "2"], "name": ["a", "b"]}))


def test_an_id_in_two_tables_of_one_space(tmp_path: Path) -> None:
    """Seen red with labels that were spaces: both nodes were there."""
    places = {"id": [2, 9], "name": ["Oslo", "Rome"]}
    nodes = {"Person": pl.DataFrame(PEOPLE), "Place": pl.DataFrame(places)}
    edges = {"lives_in": pl.DataFrame({"person": [1], "place": [9]})}
    columns = {"person": ":START_ID(Person)", "place": ":END_ID(Place)"}
    with pytest.raises(InputError, match="2 .*Person.*Place.*id_spaces"):
        build(tmp_path / "g", pl.DataFrame(KNOWS), nodes=nodes)
    graph = build(tmp_path / "g", edges, nodes=nodes, columns=columns)
    assert len(graph.get_node_ids()) == 5
    assert graph.get_neighbor_ids("Person:1") == ["Place:9"]
    named = build(tmp_path / "named", [], nodes=nodes, id_spaces="labels")
    assert len(named.get_node_ids()) == 5


def test_raw_snb(tmp_path: Path) -> None:
    """LDBC's files as they are, in one call; headers such as Person.id name the spaces."""
    edges, nodes = ldbc(tmp_path)
    graph = build(tmp_path / "snb", edges, nodes=nodes)
    rows = sum(len(path.read_text().splitlines()) - 1 for path in nodes.values())
    assert len(graph.get_node_ids()) == rows
    assert "import" in graph.info() and graph.info()["import"]["created"] == 0


# --- parallel edges ---

CALLS = {
    "source": [1, 1, 1, 2, 2],
    "target": [2, 2, 2, 3, 3],
    "note": ["a", "b", "b", "c", "c"],
}


def notes(graph: nakshi.Graph) -> list[Any]:
    record = graph.get_edge_record(1, "edge")
    return [graph.get_edge_data(record, i).properties["note"] for i in range(len(record))]


def test_parallel_edges(tmp_path: Path) -> None:
    """Seen red: the last row replaced the others without a word."""
    table = pl.DataFrame(CALLS)
    graph = build(tmp_path / "auto", table, properties=True)
    # Rows that are the same in everything are one edge, all others stay.
    assert notes(graph) == ["a", "b"] and len(graph.get_edge_record(2, "edge")) == 1
    told = graph.info()["import"]
    assert (told["edges"], told["parallel"], told["repeated"], told["replaced"]) == (3, 1, 2, 0)
    assert any("1 -[edge]-> 2" in note for note in told["notes"]), told["notes"]
    kept = build(tmp_path / "keep", table, properties=True, parallel_edges="keep")
    assert notes(kept) == ["a", "b", "b"]
    with pytest.warns(InputWarning, match="3 .*replaced"):
        last = build(tmp_path / "last", table, properties=True, parallel_edges="replace")
    assert notes(last) == ["b"]
    with pytest.raises(InputError, match=r"3 edges.*1 -\[edge\]-> 2.*parallel_edges"):
        build(tmp_path / "error", table, properties=True, parallel_edges="error")
    with pytest.raises(ParameterError, match="duplicates"):
        build(tmp_path / "plain", ([1], [2]), parallel_edges="keep")


def test_counts_say_what_they_count(tmp_path: Path) -> None:
    """Seen red: repr and info had the pairs of nodes, the import the edges."""
    graph = build(tmp_path / "g", pl.DataFrame(CALLS), properties=True, parallel_edges="keep")
    info = graph.info()
    assert (info["import"]["edges"], info["import"]["pairs"]) == (5, 2)
    assert info["edges"] == graph.num_edges == 5 and "5 edges" in repr(graph)
    done = run_cli("info", graph.path)
    assert "import: edges 5" in " ".join(done.out.split())


def test_changes_of_parallel_edges(tmp_path: Path) -> None:
    """Seen red: change_type kept one of three edges."""
    graph = build(tmp_path / "g", pl.DataFrame(CALLS), properties=True, parallel_edges="keep")
    with pytest.raises(ParameterError, match="3 parallel edges"):
        graph.change_type(1, "edge", 2, "called")
    assert notes(graph) == ["a", "b", "b"]
    assert graph.delete_edge(1, "edge", 2) and len(graph.get_edge_record(1, "edge")) == 0
    graph.append_edge(2, "edge", 3, 0, {"note": "new"})
    assert len(graph.get_edge_record(2, "edge")) == 1


def test_debian_keeps_all_edges(tmp_path: Path) -> None:
    edges, nodes = data("debian.edges.tsv.zst"), data("debian.nodes.tsv.zst")
    done = run_cli("import", edges, tmp_path / "g", "--nodes", nodes, "--no-progress", "--json")
    assert done.code == 0, done.err
    told = done.json
    assert (told["edge_rows"], told["edges"] + told["repeated"]) == (414_689, 414_689)
    assert told["parallel"] + told["repeated"] == 5_086 and "parallel" in done.err


# --- which store ---


def test_tables_of_nodes_mean_properties(tmp_path: Path) -> None:
    """Seen red: properties went without a word."""
    (tmp_path / "n.csv").write_text("id,name\n1,Ann\n2,Bob\n")
    (tmp_path / "e.csv").write_text("source,target,since\n1,2,1999\n")
    done = run_cli("import", tmp_path / "e.csv", tmp_path / "g", "--nodes", tmp_path / "n.csv")
    assert done.code == 0, done.err
    graph = nakshi.open(tmp_path / "g")
    assert graph.get_node_property(1, "name") == "Ann"
    plain = build(
        tmp_path / "plain", tmp_path / "e.csv", nodes=tmp_path / "n.csv", properties=False
    )
    with pytest.raises(nakshi.UnsupportedError):
        plain.get_node_property(1)
    # Arrays go with a table of nodes too.
    arrays = build(tmp_path / "arrays", (np.array([1]), np.array([2])), nodes=pl.DataFrame(PEOPLE))
    assert arrays.get_node_property(2) == {"name": "Bob"}
    assert arrays.get_neighbor_ids(1) == [2]


def test_unread_columns_are_named(tmp_path: Path) -> None:
    """Seen red: the columns of properties were left out without a word."""
    (tmp_path / "e.csv").write_text("source,target,since,note\n1,2,1999,x\n")
    done = run_cli("import", tmp_path / "e.csv", tmp_path / "g")
    assert done.code == 0 and "since, note" in done.err and "--properties" in done.err, done.err
    table = pa.table({"source": [1], "target": [2], "since": [3]})
    assert "since" in build(tmp_path / "t", table).info()["import"]["notes"][0]


def test_comments_and_headers_are_counted(tmp_path: Path) -> None:
    """Seen red: hashtags were comments without a word."""
    (tmp_path / "e.txt").write_text("# tags\n#rust a\n#c b\na b\n")
    done = run_cli("import", tmp_path / "e.txt", tmp_path / "g", "--json")
    assert done.json["comments"] == 3
    (tmp_path / "h.csv").write_text("anne,bert\n1,2\n")
    done = run_cli("import", tmp_path / "h.csv", tmp_path / "h", "--json")
    assert any("anne,bert" in note for note in done.json["notes"]), done.json


def test_weights_in_files_that_nobody_reads(tmp_path: Path) -> None:
    """Seen red: weights of these formats were left out without a word."""
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n")
    (tmp_path / "m.metis").write_text("2 1 011 1\n5 2 7\n6 1 7\n")
    for name in ("m.mtx", "m.metis"):
        graph = build(tmp_path / f"{name}.g", tmp_path / name, directed=False)
        assert any("not read" in note for note in graph.info()["import"]["notes"]), name


# --- columns ---


def test_columns_of_tables_with_properties(tmp_path: Path) -> None:
    """Seen red: columns had no meaning for them."""
    nodes = pl.DataFrame({"login": ["a", "b"], "born": ["1990-01-02", "1991-03-04"]})
    edges = pl.DataFrame({"who": ["a"], "whom": ["b"], "source": ["web"]})
    columns = {
        "login": ":ID",
        "born": "born:date",
        "who": ":START_ID",
        "whom": ":END_ID",
    }
    graph = build(tmp_path / "g", edges, nodes=nodes, columns=columns)
    assert graph.get_node_property("a") == {"born": dt.date(1990, 1, 2)}
    record = graph.get_edge_record("a", "edge")
    assert graph.get_edge_data(record, 0).properties == {"source": "web"}
    pairs = build(tmp_path / "pairs", edges, properties=True, columns=["who", "whom"])
    assert pairs.get_neighbor_ids("a") == ["b"]
    with pytest.raises(ParameterError, match="'wo'"):
        build(tmp_path / "h", edges, properties=True, columns={**columns, "wo": "x:int"})
    with pytest.raises(InputError, match="columns="):
        build(tmp_path / "h", edges, properties=True)


def test_tables_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b,5\nb,c,6\n")
    columns = [":START_ID", ":END_ID", "km:int"]
    graph = build(
        tmp_path / "g", tmp_path / "e.csv", properties=True, header=False, columns=columns
    )
    record = graph.get_edge_record("a", "edge")
    assert graph.get_edge_data(record, 0).properties == {"km": 5}
    words = ["import", tmp_path / "e.csv", tmp_path / "h", "--properties", "--no-header"]
    assert run_cli(*words, "--columns", "1=:START_ID,2=:END_ID,3=km:int").code == 0
    assert content(nakshi.open(tmp_path / "h")) == content(graph)
    with pytest.raises(InputError, match="column 3"):
        build(
            tmp_path / "i", tmp_path / "e.csv", properties=True, header=False, columns=columns[:2]
        )


def test_unknown_types_are_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(":START_ID,:END_ID,at:point\n1,2,3\n")
    with pytest.raises(InputError, match="point.*duration"):
        build(tmp_path / "g", tmp_path / "e.csv", properties=True)


def test_errors_name_table_and_column(tmp_path: Path) -> None:
    """Seen red: "table:1: a column holds Struct", without its name."""
    edges = pa.table({"source": [1], "target": [2], "place": [{"x": 1}]})
    with pytest.raises(InputError, match="visits.*'place'"):
        build(tmp_path / "g", {"visits": edges}, properties=True)
    (tmp_path / "n.csv").write_text("id,age:int\n1,old\n")
    with pytest.raises(InputError, match="n.csv:2.*'age'.*old"):
        build(tmp_path / "g", [], nodes=tmp_path / "n.csv")


# --- times ---

TIMES = {
    "day": [dt.date(1990, 1, 2), None],
    "local": [dt.datetime(2001, 2, 3, 4, 5, 6, 789012), None],
    "instant": [dt.datetime(2001, 2, 3, 4, 5, 6, 789012, tzinfo=dt.timezone.utc), None],
    "clock": [dt.time(23, 59, 58, 5), None],
    "took": [dt.timedelta(days=1, microseconds=3), None],
}
ANN = {name: values[0] for name, values in TIMES.items()}


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "pandas"])
@pytest.mark.parametrize("layout", ["columns", "zipg", "blocks"])
def test_times_keep_their_type(kind: str, layout: Any, tmp_path: Path) -> None:
    """Seen red: dates came back as numbers, and microseconds were cut off."""
    data = {"id": [1, 2], **TIMES}
    table: Any = pl.DataFrame(data) if kind == "polars" else pa.table(data)
    if kind == "pandas":
        table = pd.DataFrame(data)
        table["local"] = pd.to_datetime(table["local"])
    edges = pl.DataFrame({"source": [1], "target": [2], "on": [dt.date(2020, 2, 29)]})
    # Several shards need a higher version of the format.
    graph = build(tmp_path / "g", edges, nodes=table, property_layout=layout, shards=1)
    assert graph.get_node_property(1) == ANN
    for name, value in ANN.items():
        assert graph.get_node_ids({name: value}) == [1], name
    assert graph.find_edges({"on": dt.date(2020, 2, 29)})[0][2].destination == 2
    graph.append_node(3, ANN | {"late": dt.date(1, 1, 1), "days": [dt.date(9999, 12, 31)]})
    assert nakshi.open(graph.path).get_node_property(3)["late"] == dt.date(1, 1, 1)
    graph.compact()
    assert graph.get_node_property(3) == ANN | {
        "late": dt.date(1, 1, 1),
        "days": [dt.date(9999, 12, 31)],
    }
    manifest = max(Path(graph.path).glob("MANIFEST-*")).read_bytes()
    assert manifest.startswith(b"nakshi manifest 2\n") and graph.info()["format"] == 2
    before = content(graph)
    for ending in ("csv", "parquet"):
        files = tmp_path / f"e.{ending}", tmp_path / f"n.{ending}"
        nakshi.export(graph, files[0], nodes=files[1], progress=False)
        assert content(build(tmp_path / ending, files[0], nodes=files[1])) == before


def test_times_in_text(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text(
        "id,day:date,local:localdatetime,instant:datetime,clock:time,took:duration,ts:timestamp\n"
        "1,1990-01-02,2001-02-03T04:05:06.789012,2001-02-03T05:05:06.789012+01:00,"
        "23:59:58.000005,P1DT0.000003S,1500\n"
    )
    graph = build(tmp_path / "g", [], nodes=tmp_path / "n.csv")
    found = graph.get_node_property(1)
    assert {name: found[name] for name in ANN} == ANN
    assert found["ts"] == dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.timezone.utc)
    assert run_cli("find", graph.path, "day=1990-01-02").out.split() == ["1"]
    shown = run_cli("get", graph.path, "1").out
    assert "1990-01-02" in shown and "23:59:58.000005" in shown
    for column, text, mention in (
        ("day:date", "1990-02-30", "date"),
        ("took:duration", "P1M", "months"),
        ("clock:time", "25:00", "time"),
    ):
        (tmp_path / "bad.csv").write_text(f"id,{column}\n1,{text}\n")
        with pytest.raises(InputError, match=mention):
            build(tmp_path / "bad", [], nodes=tmp_path / "bad.csv")


def test_nanoseconds_are_not_cut_off(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"id": [1], "at": pd.to_datetime([1_000_000_001], unit="ns")})
    with pytest.raises(InputError, match="'at'.*nanoseconds"):
        build(tmp_path / "g", [], nodes=nodes)


# --- arrays, nothing to read, no file ---


def test_an_edge_index(tmp_path: Path) -> None:
    """Seen red: "an array of shape (2, 4) is no edge list"."""
    index = np.array([[1, 2, 3, 1], [2, 3, 1, 3]])
    graph = build(tmp_path / "g", index)
    assert graph.num_edges == 4 and graph.bfs(source=1).to_dict() == {1: 0, 2: 1, 3: 1}
    for number, shape in enumerate([index[:, :2], index[:, :3], index[:, :2].tolist()]):
        with pytest.raises(ParameterError, match=r"tuple\(edges\)|edges\.T"):
            build(tmp_path / f"no{number}", shape)
    pairs = build(tmp_path / "pairs", [(1, 2), (2, 3)])
    assert pairs.bfs(source=1).to_dict() == {1: 0, 2: 1, 3: 2}


def test_weights_that_nobody_reads(tmp_path: Path) -> None:
    """Seen red: a third array was left out without a word."""
    for edges in (([1], [2], [0.5]), [(1, 2, 0.5)], np.array([[1, 2, 3]] * 4)):
        with pytest.raises(ParameterError, match="weighted=True"):
            build(tmp_path / "g", edges)


def test_no_edges_read(tmp_path: Path) -> None:
    """Seen red: a store without edges."""
    (tmp_path / "e.csv").write_text("source,target\n")
    for number, options in enumerate([{}, {"properties": True}]):
        with pytest.raises(InputError, match="no edge"):
            build(tmp_path / "g", tmp_path / "e.csv", **options)
        graph = build(tmp_path / f"g{number}", tmp_path / "e.csv", allow_empty=True, **options)
        assert graph.num_edges == 0
    done = run_cli("import", tmp_path / "e.csv", tmp_path / "c")
    assert done.code == 1 and "--allow-empty" in done.err
    assert run_cli("import", tmp_path / "e.csv", tmp_path / "c", "--allow-empty").code == 0


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    """Seen red: StoreNotFoundError."""
    for options in ({}, {"properties": True}, {"format": "parquet"}):
        with pytest.raises(InputError, match="no.csv"):
            build(tmp_path / "g", tmp_path / "no.csv", **options)
    with pytest.raises(InputError, match="no.csv"):
        build(tmp_path / "g", ([1], [2]), nodes=tmp_path / "no.csv")
    with pytest.raises(nakshi.StoreNotFoundError):
        nakshi.open(tmp_path / "no")


# --- values ---


def test_values_that_go_are_counted(tmp_path: Path) -> None:
    """Seen red: empty items of lists, missing types and times went without a word."""
    (tmp_path / "n.csv").write_text("id,tags:string[]\n1,a;;b\n2,c\n")
    (tmp_path / "e.csv").write_text(":START_ID,:END_ID,:TYPE,timestamp\n1,2,,5\n2,1,t,\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        graph = build(tmp_path / "g", tmp_path / "e.csv", nodes=tmp_path / "n.csv")
    told = graph.info()["import"]
    assert (told["empty_items"], told["untyped"], told["timeless"]) == (1, 1, 1), told
    assert len(told["notes"]) >= 3
    assert graph.get_node_property(1) == {"tags": ["a", "b"]}


def test_labels_of_table_and_column(tmp_path: Path) -> None:
    """Seen red: the label of the table went where a row had its own."""
    nodes = pa.table({"id": [1, 2], ":LABEL": ["Admin", None]})
    graph = build(tmp_path / "g", [], nodes={"Person": nodes})
    assert sorted(graph.get_node_property(1)["labels"]) == ["Admin", "Person"]
    assert graph.get_node_property(2)["labels"] == ["Person"]


def test_the_report_names_the_types(tmp_path: Path) -> None:
    graph = build(tmp_path / "g", pl.DataFrame(KNOWS), nodes=pl.DataFrame(PEOPLE))
    told = graph.info()["import"]
    assert told["node_properties"] == {"name": "string"}
    assert told["edge_properties"] == {"since": "int"}
    assert json.dumps(told)
