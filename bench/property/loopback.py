"""Servers of other systems, which clients in Java ask TAO's mix over loopback."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nakshi
from harness import tables
from property import ours
from property.against import COMPARED
from property.rivals import SHARE, TYPES, EmbeddedNeo4j, exported
from systems.janusgraph import JanusGraph
from systems.maven import Programs

#: Connections of a client in the mix; the best of them counts.
CONNECTIONS = (2, 4, 8, 16)


class Server:
    """A system with what a store holds, and its client.

    Attributes:
        title: name and version.
        protocol: name of the protocol between client and server.
        notes: remarks on the system and its queries.
        programs: the server, started by ``serve``, and the client.
        home: folder of the database.
        client: command of the client.
        told: more options of the client.
        port: port of the server.
        queries: queries of each kind.
    """

    title: str
    protocol: str
    notes: list[str]
    programs: Programs
    home: Path
    client: str
    told: Sequence[str] = ()
    port: int
    queries: int

    def compare(self, chosen: argparse.Namespace, store: Path) -> None:
        """Ends the program if answers of the running server differ from those of the store."""

    def mixes(
        self, chosen: argparse.Namespace, store: Path
    ) -> tuple[list[list[str]], dict[int, float]]:
        """Rows of the kinds of queries, and the rate of the mix by the number of connections."""
        kinds: list[list[str]] = []
        rates = {}
        with self.programs.serving(self.home, f"port={self.port}"):
            self.compare(chosen, store)
            for connections in CONNECTIONS:
                told = [f"queries={self.queries}", f"threads={connections}"]
                told += ["only=mix"] if kinds else []
                runs = [
                    self.ask(self.client, chosen, *told, *self.told) for _ in range(chosen.runs)
                ]
                rates[connections] = ours.rate_of(runs)
                kinds = kinds or ours.kinds_of(runs)
        return kinds, rates

    def ask(self, what: str, chosen: argparse.Namespace, *told: str) -> Any:
        """Runs a command that asks the server."""
        return self.programs.ask(what, self.home, chosen.threads, f"port={self.port}", *told)


class Bolt(Server):
    """Neo4j."""

    protocol, client, port = "Bolt", "bolt", 17687

    def __init__(self, chosen: argparse.Namespace, store: Path) -> None:
        rival = EmbeddedNeo4j(chosen, store)
        self.title, self.home, self.programs = rival.title, rival.home, rival.neo4j
        self.queries = chosen.queries
        self.notes = [
            "Neo4j: Cypher with parameters, an index of ids; every query runs once before it is timed"
        ]


class Gremlin(Server):
    """JanusGraph on BerkeleyDB, behind a Gremlin Server."""

    protocol, client, port = "WebSocket", "gremlin", 17688

    def __init__(self, chosen: argparse.Namespace, store: Path) -> None:
        self.programs = JanusGraph(chosen.work / "janusgraph")
        self.title = f"JanusGraph {self.programs.version()}"
        self.home = chosen.work / "janusgraph-property"
        self.queries = chosen.queries // SHARE
        # Which the client reads, too.
        files = exported(store, chosen.work / "janusgraph-csv")
        self.told = [f"files={files}"]
        seconds = self.programs.load(self.home, files, chosen.threads)
        size = sum(file.stat().st_size for file in self.home.iterdir())
        self.notes = [
            f"JanusGraph: on BerkeleyDB in the process of a Gremlin Server; all properties; loaded in "
            f"{tables.seconds(seconds)} s, {tables.size(size)}; a unique composite index of ids, and "
            "one of each type of edges by time, newest first, at every node",
            "JanusGraph: traversals as bytecode in GraphBinary, a transaction each, 64 at once on each "
            f"connection in the mix; {self.queries:,} queries of each kind, and every query runs once "
            "before it is timed",
        ]

    def compare(self, chosen: argparse.Namespace, store: Path) -> None:
        """Compares objects, lists, counts, and parts of lists of some random nodes."""
        graph = nakshi.open(store)
        ids = [int(id) for id in graph.get_node_ids()]
        asked = list(questions(graph, random.Random(1).sample(ids, min(COMPARED, len(ids)))))
        file = chosen.work / "questions.tsv"
        file.write_text("".join("\t".join(map(str, words)) + "\n" for words in asked))
        given = self.ask("answers", chosen, f"questions={file}")
        for words, found in zip(asked, given, strict=True):
            if not same(found, answer(graph, *words)):
                raise SystemExit(f"{self.title} answers otherwise: {words}")
        graph.close()
        self.notes.append(
            f"JanusGraph's answers to {len(asked):,} queries about {min(COMPARED, len(ids))} random nodes were "
            "compared with Nakshi's first"
        )


def questions(graph: nakshi.Graph, ids: list[int]) -> Iterator[list[Any]]:
    """Queries of TAO, each a name and what it takes: ends between commas, times from low to high."""
    draw = random.Random(2)
    for id in ids:
        yield ["obj_get", id]
        for type in TYPES:
            edges = graph.tao.assoc_range(id, type)
            if not edges:
                continue
            ends = sorted({edge.destination for edge in edges})
            some = draw.sample(ends, (len(ends) + 1) // 2)
            low, high = sorted(draw.choice(edges).timestamp for _ in range(2))
            yield ["assoc_range", id, type]
            yield ["assoc_count", id, type]
            yield ["assoc_get", id, type, ",".join(map(str, some))]
            yield ["assoc_time_range", id, type, low, high]


def answer(graph: nakshi.Graph, name: str, id: int, *rest: Any) -> Any:
    """The answer of a store to a question."""
    if name == "obj_get":
        return graph.tao.obj_get(id)
    if name == "assoc_count":
        return graph.tao.assoc_count(id, *rest)
    type, *more = rest
    if name == "assoc_get":
        more = [[int(end) for end in more[0].split(",")]]
    if name == "assoc_time_range":
        low, high = more
        return list(map(list, graph.tao.assoc_time_range(id, type, high, low)))
    return list(map(list, getattr(graph.tao, name)(id, type, *more)))


def same(given: Any, wanted: Any) -> bool:
    """Compares answers. Edges are in the order of their times; those of one time may have any order."""
    if not isinstance(wanted, list):
        return bool(given == wanted)
    times = [[edge[1] for edge in edges] for edges in (given, wanted)]
    return times[0] == times[1] and sorted(given, key=str) == sorted(wanted, key=str)
