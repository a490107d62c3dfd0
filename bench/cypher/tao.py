"""TAO's and Graph Search's queries in Cypher (ZipG, Tables 2 and 4), drawn as `nakshi bench` draws them.

Nodes and types are uniform, drawn again until the list has an edge.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nakshi
from cypher.asking import Query
from harness import measure
from property import ours
from property.rivals import TYPES

#: The mixes: shares of their queries in percent. Writes, 0.1 % of TAO's, are left out.
MIXES = {
    "TAO": {
        "assoc_range": 40.8,
        "obj_get": 28.8,
        "assoc_get": 15.7,
        "assoc_count": 11.7,
        "assoc_time_range": 2.8,
    },
    "Graph Search": {
        "GS1 friends": 20.0,
        "GS2 friends with a value": 20.0,
        "GS3 nodes with two values": 20.0,
        "GS4 friends by a type": 20.0,
        "GS5 data of a type": 20.0,
    },
}
#: Most edges of a part of a list.
LIMIT = 1000
#: Label of all nodes, and their properties that are looked up.
LABEL = "Node"
PROPERTIES = [f"p{number}" for number in range(40)]
NODE = "MATCH (n:Node {id: $id})"
EDGES = "RETURN m.id, e.time, e.text ORDER BY e.time DESC"
#: Texts; a type or the name of a property is part of the text, as Cypher has no parameters for them.
TEXTS = {
    "assoc_range": f"{NODE}-[e:TYPE]->(m) {EDGES} SKIP $from LIMIT $limit",
    "obj_get": f"{NODE} RETURN properties(n)",
    "assoc_get": f"{NODE}-[e:TYPE]->(m) WHERE m.id IN $others {EDGES}",
    "assoc_count": f"{NODE} RETURN COUNT {{ (n)-[:TYPE]->() }}",
    "assoc_time_range": f"{NODE}-[e:TYPE]->(m) WHERE $low <= e.time <= $high {EDGES} LIMIT $limit",
    "GS1 friends": f"{NODE}-->(m) RETURN DISTINCT m.id",
    "GS2 friends with a value": f"{NODE}-->(m:Node) WHERE m.NAME = $value RETURN DISTINCT m.id",
    "GS3 nodes with two values": "MATCH (n:Node) WHERE n.NAME = $value AND n.OTHER = $second RETURN n.id",
    "GS4 friends by a type": f"{NODE}-[:TYPE]->(m) RETURN DISTINCT m.id",
    "GS5 data of a type": f"{NODE}-[e:TYPE]->(m) {EDGES}",
}


def tables(work: Path, scale: int) -> tuple[str, str]:
    """Tables of edges and nodes by ZipG's rules, as the importer takes them, made once.

    Ids of nodes and times of edges are properties: the importer's own columns of ids and of times are
    none in Cypher.
    """
    files = ours.generated(work, scale)
    edges, nodes = (file.with_name(f"cypher-{file.name}") for file in files)
    if not nodes.exists():
        with open(files[0], "rb") as lines, open(edges, "wb") as file:
            file.write(next(lines).replace(b"\ttimestamp:long\t", b"\ttime:long\t"))
            shutil.copyfileobj(lines, file)
        with open(files[1]) as lines, open(nodes, "w") as file:
            file.write(next(lines).replace(":ID\t", ":ID\tid:long\t", 1))
            for line in lines:
                id = line.partition("\t")[0]
                file.write(f"{id}\t{line}")
    return str(edges), f"{LABEL}={nodes}"


class Draw:
    """Draws queries about what a store holds."""

    def __init__(self, graph: nakshi.Graph, seed: int) -> None:
        self.graph, self.random = graph, random.Random(seed)
        self.ids = [int(id) for id in graph.get_node_ids()]

    def list(self) -> tuple[int, str]:
        """A node and a type of which it has edges."""
        while True:
            id, type = self.random.choice(self.ids), self.random.choice(TYPES)
            if self.graph.tao.assoc_count(id, type):
                return id, type

    def values(self) -> list[tuple[str, str]]:
        """Two values of a node that has properties, which may be the same, with their names."""
        while True:
            found = self.graph.get_node_property(self.random.choice(self.ids), PROPERTIES)
            pairs = [(name, value) for name, value in found.items() if value is not None]
            if pairs:
                return [self.random.choice(pairs) for _ in range(2)]

    def times(self, id: int, type: str) -> dict[str, int]:
        """Two times between the oldest and the newest edge of a list."""
        edges = self.graph.search.friends_data(id, type)
        times = sorted(edge.properties["time"] for edge in edges)
        last = max(times[-1], times[0] + 1)
        low, high = sorted(self.random.randrange(times[0], last) for _ in range(2))
        return {"low": low, "high": high}

    def half(self, id: int, type: str) -> list[int]:
        """About half of the destinations of a list."""
        ends = sorted(self.graph.get_neighbor_ids(id, type))
        return [int(end) for end in ends if self.random.randrange(2)]

    def query(self, kind: str) -> Query:
        """A query of a kind."""
        text, parameters = TEXTS[kind], {}
        if "$value" in text:
            two = self.values()
            parameters["value"] = two[0][1]
            text = text.replace("NAME", two[0][0])
            if "$second" in text:
                parameters["second"] = two[1][1]
                text = text.replace("OTHER", two[1][0])
        if "$id" in text:
            id, type = self.list()
            if kind == "obj_get":
                id = self.random.choice(self.ids)
            parameters["id"] = id
            text = text.replace("TYPE", type)
            more: dict[str, Callable[[], dict[str, Any]]] = {
                "assoc_range": lambda: {"from": 0, "limit": LIMIT},
                "assoc_get": lambda: {"others": self.half(id, type)},
                "assoc_time_range": lambda: {"limit": LIMIT, **self.times(id, type)},
            }
            parameters |= more.get(kind, dict)()
        return Query(kind, text, parameters, 1 if EDGES in text else None)


def drawn(store: Path, count: int) -> dict[str, list[Query]]:
    """So many queries of each kind."""
    with nakshi.open(store) as graph:
        draw = Draw(graph, seed=1)
        if not draw.ids:
            raise measure.Skipped("the graph has no nodes")
        return {kind: [draw.query(kind) for _ in range(count)] for kind in TEXTS}


def mixed(queries: dict[str, list[Query]], mix: str, count: int) -> list[Query]:
    """So many queries in the shares of a mix, in random order."""
    draw, shares = random.Random(2), MIXES[mix]
    kinds = draw.choices(list(shares), weights=list(shares.values()), k=count)
    return [draw.choice(queries[kind]) for kind in kinds]
