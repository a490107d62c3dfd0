"""The network in Nakshi and in Neo4j: building, loading, serving."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nakshi
import neo4j
import pyarrow as pa
from harness import product
from snb.data import Edges, Network
from systems.neo4j import Neo4j, index

PORT = 17689
#: Rows of a statement that loads.
BATCH = 5000
#: Labels whose ids are looked up.
LOOKED_UP = (
    *("Person", "Message", "Post", "Comment", "Forum", "Tag"),
    *("City", "Country", "University", "Company"),
)
#: More properties that are looked up.
MORE = (("Person", "firstName"), ("Tag", "name"), ("TagClass", "name"), ("Country", "name"))


def key(kind: str, id: int) -> str:
    return f"{kind}:{id}"


def tables(network: Network) -> tuple[list[pa.Table], list[pa.Table]]:
    """The nodes and edges as tables that `nakshi.build` reads."""
    nodes = []
    for kind, rows in network.nodes.items():
        names = dict.fromkeys(name for row in rows for name in row if name != "labels")
        table = {
            ":ID": [key(kind, row["id"]) for row in rows],
            ":LABEL": [row["labels"] for row in rows],
        }
        nodes.append(pa.table(table | {name: [row.get(name) for row in rows] for name in names}))
    return nodes, [edge_table(edges) for edges in network.edges]


def edge_table(edges: Edges) -> pa.Table:
    names = edges.rows[0][2] if edges.rows else {}
    ends = {
        ":START_ID": [key(edges.source, source) for source, _, _ in edges.rows],
        ":END_ID": [key(edges.target, target) for _, target, _ in edges.rows],
        ":TYPE": [edges.type] * len(edges.rows),
    }
    return pa.table(ends | {name: [more[name] for _, _, more in edges.rows] for name in names})


def build(network: Network, store: Path) -> None:
    """Builds Nakshi's store."""
    nodes, edges = tables(network)
    # A column of this name would be that of the ids, which are unlike the property: all kinds of
    # nodes count from 0.
    columns = {"nodes": {"id": "id:int"}}
    nakshi.build(
        store, edges=edges, nodes=nodes, properties=True, columns=columns, progress=False
    ).close()


@dataclass
class Serving:
    """A server of Nakshi: its process, and its addresses for Nakshi's clients and for drivers."""

    pid: int
    own: str
    bolt: str


@contextmanager
def nakshi_server(store: Path, count: int = 1) -> Iterator[Serving]:
    """Serves a store over Bolt, by one server or by several that agree; the address is the leader's."""
    # A client in Python takes longer than a call may to read millions of rows.
    options = ["--timeout", "600", "--bolt", "127.0.0.1:0"]
    if count > 1:
        options += ["--local", str(count)]
    with product.serving(store, *options) as server:
        own, bolt = server.words
        yield Serving(server.pid, own, leader(bolt) if count > 1 else bolt)


def leader(bolt: str) -> str:
    """The address of the server that takes changes, of several of which one is at `bolt`."""
    with neo4j.GraphDatabase.driver(bolt.replace("bolt://", "neo4j://")) as driver:
        found = driver.execute_query("RETURN 1", routing_=neo4j.RoutingControl.WRITE)
        host, port = found.summary.server.address[:2]
    return f"bolt://{host}:{port}"


@contextmanager
def neo4j_server(programs: Neo4j, home: Path) -> Iterator[str]:
    """Serves a database of Neo4j over Bolt, and returns the address."""
    with programs.serving(home, f"port={PORT}"):
        yield f"bolt://127.0.0.1:{PORT}"


def load(driver: neo4j.Driver, network: Network) -> None:
    """Loads the network by statements, with indexes of what the queries look up."""
    ask(driver, "CREATE INDEX loading IF NOT EXISTS FOR (n:Loading) ON (n.key)")
    for kind, rows in network.nodes.items():
        by_labels: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            labels = ":".join([*row["labels"], "Loading"])
            properties = {name: value for name, value in row.items() if name != "labels"}
            properties["key"] = key(kind, row["id"])
            by_labels.setdefault(labels, []).append(properties)
        for labels, made in by_labels.items():
            statement = f"UNWIND $rows AS row CREATE (n:{labels}) SET n = row"
            for batch in batches(made):
                ask(driver, statement, rows=batch)
    for edges in network.edges:
        ends = "MATCH (a:Loading {key: row.a}), (b:Loading {key: row.b})"
        statement = f"UNWIND $rows AS row {ends} CREATE (a)-[e:{edges.type}]->(b) SET e = row.p"
        source, target = edges.source, edges.target
        rows = [{"a": key(source, a), "b": key(target, b), "p": p} for a, b, p in edges.rows]
        for batch in batches(rows):
            ask(driver, statement, rows=batch)
    ask(driver, "MATCH (n:Loading) REMOVE n:Loading, n.key")
    ask(driver, "DROP INDEX loading")
    index(driver, [*((label, "id") for label in LOOKED_UP), *MORE])


def batches(rows: list[Any]) -> Iterator[list[Any]]:
    items = iter(rows)
    while batch := list(itertools.islice(items, BATCH)):
        yield batch


def ask(driver: neo4j.Driver, statement: str, **parameters: Any) -> None:
    driver.execute_query(statement, parameters)
