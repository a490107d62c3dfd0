"""What a store holds: counted by the schema, and by going through everything."""

from __future__ import annotations

import random
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nakshi
import pyarrow as pa
import pytest

from .conftest import run_cli

LAYOUTS = ["columns", "zipg", "blocks"]


def load(folder: Path, layout: str = "columns", **options: Any) -> nakshi.Graph:
    """People and posts, some without a value, and three types of edges."""
    rng = random.Random(7)
    people = [f"p{i}" for i in range(60)]
    posts = [f"t{i}" for i in range(40)]
    nodes = pa.table(
        {
            ":ID": people + posts,
            ":LABEL": [["Person", "Member"] if i % 3 else ["Person"] for i in range(60)]
            + [["Post"] if i % 4 else None for i in range(40)],
            "city:string": [rng.choice(["Ithaca", "Oslo", None]) for _ in range(100)],
            "age:long": [rng.randrange(90) for _ in range(100)],
            "bio:string": [f"text {rng.random()}" for _ in range(100)],
        }
    )
    ends = [(rng.choice(people), rng.choice(people)) for _ in range(150)]
    likes = [(rng.choice(people), rng.choice(posts)) for _ in range(90)]
    edges = pa.table(
        {
            ":START_ID": [a for a, _ in ends + likes],
            ":END_ID": [b for _, b in ends + likes],
            ":TYPE": ["follows"] * 150 + ["likes"] * 90,
            "weight:double": [float(rng.randrange(9)) for _ in range(240)],
        }
    )
    return nakshi.build(
        folder / f"{layout}.nakshi",
        edges,
        nodes=nodes,
        properties=True,
        property_layout=layout,  # type: ignore[arg-type]
        duplicates="keep",
        **options,
    )


def hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def counted(graph: nakshi.Graph) -> dict[str, Any]:
    """The same numbers by asking for every node and every edge."""
    labels: Counter[str] = Counter()
    types: Counter[str] = Counter()
    ends: Counter[Any] = Counter()
    values: dict[str, list[Any]] = {}
    of: dict[Any, tuple[str, ...]] = {}
    nodes = graph.get_node_ids()
    for id in nodes:
        found = graph.get_node_property(id)
        of[id] = tuple(found.get("labels") or ())  # type: ignore[arg-type]
        labels.update(of[id])
        for name, value in found.items():
            values.setdefault(f"node {name}", []).append(hashable(value))
    for id in nodes:
        for record in graph.get_edge_record(id):
            for place in range(len(record)):
                edge = graph.get_edge_data(record, place)
                types[record.edge_type] += 1
                ends[record.edge_type, of[id], of[edge.destination]] += 1
                for name, value in edge.properties.items():
                    values.setdefault(f"edge {name}", []).append(hashable(value))
    return {
        "labels": dict(labels),
        "unlabelled": sum(not own for own in of.values()),
        "types": dict(types),
        "ends": dict(ends),
        "values": {name: (len(all), len(set(all))) for name, all in values.items()},
    }


def told(schema: Any) -> dict[str, Any]:
    properties = [("node", one) for one in schema.node_properties]
    properties += [("edge", one) for one in schema.edge_properties]
    return {
        "labels": schema.labels,
        "unlabelled": schema.unlabelled,
        "types": {one.name: one.edges for one in schema.edge_types if one.edges},
        "ends": {
            (one.name, ends.source, ends.target): ends.edges
            for one in schema.edge_types
            for ends in one.ends
        },
        "values": {
            f"{of} {one.name}": (one.values, one.distinct) for of, one in properties if one.values
        },
    }


def change(graph: nakshi.Graph, rng: random.Random) -> None:
    """Some of every kind of change."""
    people = [id for id in graph.get_node_ids() if str(id).startswith("p")]
    new = f"p{rng.randrange(10**9)}"
    graph.append_node(new, {"labels": ["Person", "New"], "city": "Bonn", "height": rng.random()})
    graph.append_edge(new, "follows", rng.choice(people), 3, {"weight": 77.0})
    graph.append_edge(rng.choice(people), "knows", new, 4, {"since": 1})
    graph.update_node(rng.choice(people), {"city": "Paris"})
    graph.delete_node(rng.choice(people))
    source = rng.choice([id for id in graph.get_node_ids() if len(graph.get_edge_record(id))])
    record = graph.get_edge_record(source)[0]
    end = graph.get_edge_data(record, 0).destination
    if rng.random() < 0.5:
        graph.delete_edge(source, record.edge_type, end)
    else:
        graph.change_type(source, record.edge_type, end, "changed")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_counts_are_exact_before_and_after_changes(tmp_path: Path, layout: str) -> None:
    graph = load(tmp_path, layout)
    assert told(graph.schema()) == counted(graph)
    rng = random.Random(11)
    for _ in range(12):
        change(graph, rng)
        assert told(graph.schema()) == counted(graph)
    schema = graph.schema()
    assert not any(p.estimated for p in (*schema.node_properties, *schema.edge_properties))
    assert (schema.nodes, schema.edges) == (
        len(graph.get_node_ids()),
        sum(counted(graph)["types"].values()),
    )
    before = graph.snapshot()
    graph.compact()
    assert told(graph.schema()) == told(schema) == told(before.schema())
    change(graph, rng)
    assert told(before.schema()) == told(schema)


def test_codecs_and_indexes(tmp_path: Path) -> None:
    schema = load(tmp_path, searchable=["bio"]).schema()
    by_name = {one.name: one for one in schema.node_properties}
    assert (
        by_name["city"].codec == ("dictionary",) and by_name["city"].index == "rows of each value"
    )
    assert by_name["bio"].codec == ("searchable",) and by_name["bio"].searchable
    assert by_name["bio"].index == "text" and by_name["age"].type == "int"
    flat = load(tmp_path, "zipg").schema()
    assert {one.codec for one in flat.node_properties} == {("succinct",)}
    blocks = load(tmp_path, "blocks").schema()
    assert {(one.codec, one.index) for one in blocks.node_properties} == {(("blocks",), None)}


def test_estimates_say_so(tmp_path: Path) -> None:
    """With no value to be read exactly, all values come from the sample, which is the whole store here."""
    graph = load(tmp_path)
    change(graph, random.Random(2))
    schema, exact = graph.schema(exact=0), graph.schema()
    assert all(one.estimated for one in (*schema.node_properties, *schema.edge_properties))
    assert all(one.ends_estimated for one in schema.edge_types if one.edges)
    assert told(schema) == told(exact)
    assert "about" in str(schema) and "about" not in str(exact)
    with pytest.raises(nakshi.ParameterError, match="exact"):
        graph.schema(exact=-1)


def test_inverses(tmp_path: Path) -> None:
    graph = load(tmp_path)
    graph.set_inverse("follows", "followed by")
    assert {one.name: one.inverse for one in graph.schema().edge_types} == {
        "follows": "followed by",
        "followed by": "follows",
        "likes": None,
    }


class Cells(HTMLParser):
    """Collects the cells of the tables of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def test_shown_as_line_table_and_dict(tmp_path: Path) -> None:
    graph = load(tmp_path)
    graph.append_node("odd", {"labels": ["<b>"], "a&b": "x"})
    schema = graph.schema()
    assert "\n" not in repr(schema) and "101 nodes" in repr(schema)
    assert "edge types follows, likes" in repr(schema)
    lines = str(schema).splitlines()
    assert lines[0] == "101 nodes, 240 edges, directed"
    assert any(line.split() == ["likes", "90", *line.split()[2:]] for line in lines)
    page = schema._repr_html_()
    assert "<b>" not in page
    parser = Cells()
    parser.feed(page)
    assert {"Person", "<b>", "a&b", "follows", "labels", "edge types"} <= set(parser.cells)
    found = schema.to_dict()
    assert found["labels"]["Person"] == 60 and found["edge_types"][0]["name"] == "follows"
    import json

    assert json.loads(json.dumps(found)) == found


def test_without_properties(tmp_path: Path) -> None:
    graph = nakshi.build(tmp_path / "g", ([1, 2], [2, 3], [0.5, 1.5]), weighted=True)
    schema = graph.schema()
    assert (schema.nodes, schema.edges, schema.labels, schema.commit) == (3, 2, {}, None)
    assert [(one.name, one.distinct) for one in schema.edge_properties] == [("weight", None)]
    assert "weight" in str(schema)


def test_info_on_the_command_line(tmp_path: Path) -> None:
    graph = load(tmp_path, shards=1)
    change(graph, random.Random(5))
    expected = graph.schema().to_dict()
    graph.close()
    found = run_cli("info", tmp_path / "columns.nakshi", "--json").json
    assert found["schema"] == expected and found["format"] == 1
    shown = run_cli("info", tmp_path / "columns.nakshi").out
    for word in ("label", "Person", "edge types", "follows", "properties of nodes", "dictionary"):
        assert word in shown
    plain = nakshi.build(tmp_path / "plain", ([1], [2]))
    assert run_cli("info", plain.path, "--json").json["schema"]["nodes"] == 2
