"""Libraries on top of Neo4j's driver, as their users call them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nakshi
import pyarrow as pa
import pytest

from .servers import Server, serving


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    people = [{"id": "ann", "name": "Ann", "age": 31}, {"id": "ben", "name": "Ben", "age": 42}]
    films = [{"id": "m", "title": "M", "rating": 7.5}]
    edges = [
        {"source": "ann", "target": "m", "type": "ACTED_IN", "role": "lead"},
        {"source": "ann", "target": "ben", "type": "KNOWS", "role": None},
    ]
    store = tmp_path / "g.nakshi"
    tables = {"Person": pa.Table.from_pylist(people), "Film": pa.Table.from_pylist(films)}
    nakshi.build(store, edges=pa.Table.from_pylist(edges), nodes=tables, progress=False).close()
    with serving(store, "--bolt", "127.0.0.1:0") as running:
        yield running


def test_langchain_learns_the_schema(server: Server) -> None:
    langchain_neo4j = pytest.importorskip("langchain_neo4j")
    graph = langchain_neo4j.Neo4jGraph(
        url=server.bolt, username="", password="", enhanced_schema=False
    )
    graph.refresh_schema()
    found = graph.get_structured_schema

    def sorted_by_name(properties: list[dict[str, str]]) -> list[tuple[str, str]]:
        return sorted((one["property"], one["type"]) for one in properties)

    assert {label: sorted_by_name(p) for label, p in found["node_props"].items()} == {
        "Person": [("age", "INTEGER"), ("name", "STRING")],
        "Film": [("rating", "FLOAT"), ("title", "STRING")],
    }
    edges = {name: sorted_by_name(p) for name, p in found["rel_props"].items()}
    assert edges == {"ACTED_IN": [("role", "STRING")]}
    pairs = sorted((one["start"], one["type"], one["end"]) for one in found["relationships"])
    assert pairs == [("Person", "ACTED_IN", "Film"), ("Person", "KNOWS", "Person")]
    assert "(:Person)-[:ACTED_IN]->(:Film)" in graph.schema
    answer = graph.query("MATCH (p:Person) WHERE p.age > $age RETURN p.name AS name", {"age": 40})
    assert answer == [{"name": "Ben"}]


def test_graphrag_learns_the_schema(server: Server) -> None:
    neo4j = pytest.importorskip("neo4j")
    schema = pytest.importorskip("neo4j_graphrag.schema")
    with neo4j.GraphDatabase.driver(server.bolt) as driver:
        text = schema.get_schema(driver)
    assert "Person {" in text and "(:Person)-[:KNOWS]->(:Person)" in text
