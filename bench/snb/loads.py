"""Statements by which applications fill a graph, batch by batch."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import neo4j

#: Rows of a statement.
BATCH = 5000
UNIQUE = "CREATE CONSTRAINT load IF NOT EXISTS FOR (n:Load) REQUIRE n.id IS UNIQUE"
ENDS = "UNWIND $rows AS r MATCH (a:Load {id: r.a}), (b:Load {id: r.b}) "
#: What is done, by which statement, and to what.
LOADS = (
    ("nodes merged, new", "UNWIND $rows AS r MERGE (n:Load {id: r.id}) SET n += r", "nodes"),
    ("nodes merged, known", "UNWIND $rows AS r MERGE (n:Load {id: r.id}) SET n += r", "nodes"),
    ("edges created", ENDS + "CREATE (a)-[:LINK {w: r.w}]->(b)", "edges"),
    ("edges merged", ENDS + "MERGE (a)-[k:LINK]->(b) SET k.w = r.w", "edges"),
)
COUNT = (
    "MATCH (n:Load) OPTIONAL MATCH (n)-[k:LINK]->() RETURN count(DISTINCT n), count(k), sum(k.w)"
)


def rows(nodes: int) -> dict[str, list[dict[str, Any]]]:
    """The nodes, and twice as many edges between any two of them."""
    drawn = random.Random(1)
    return {
        "nodes": [{"id": i, "name": f"name {i}", "age": i % 90} for i in range(nodes)],
        "edges": [
            {"a": drawn.randrange(nodes), "b": drawn.randrange(nodes), "w": i}
            for i in range(2 * nodes)
        ],
    }


def load(driver: neo4j.Driver, nodes: int) -> tuple[list[float], list[Any]]:
    """Rows in a second of each load, and what is there afterwards."""
    given = rows(nodes)
    with driver.session() as session:
        session.run(UNIQUE).consume()
        found = []
        for _, statement, what in LOADS:
            began = time.perf_counter()
            for batch in batches(given[what]):
                session.run(statement, rows=batch).consume()
            found.append(len(given[what]) / (time.perf_counter() - began))
        return found, session.run(COUNT).single(strict=True).values()


def batches(given: list[Any]) -> Iterator[list[Any]]:
    for at in range(0, len(given), BATCH):
        yield given[at : at + BATCH]
