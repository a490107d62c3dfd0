"""The queries of the interactive workload, asked over Bolt, and their answers in one form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import neo4j
from harness import bolt
from snb.data import Archive, Network

FOLDER = Path(__file__).resolve().parent / "queries"
#: Columns that are lists whose order is not prescribed.
SETS = {"universities", "companies", "tagNames"}
#: Persons and messages that short reads ask for.
SHORT = 12


@dataclass(frozen=True)
class Query:
    """A query with parameters; an insert may have several statements."""

    name: str
    parameters: dict[str, Any]

    @property
    def statements(self) -> list[str]:
        return [text.strip() for text in (FOLDER / f"{self.name}.cypher").read_text().split(";")]

    def message(self) -> bolt.Message:
        """The requests by which :class:`bolt.Line` asks it."""
        if self.name.startswith("insert"):
            return bolt.transaction(self.statements, self.parameters)
        (statement,) = self.statements
        return bolt.query(statement, self.parameters)


def complex_reads(archive: Archive) -> list[Query]:
    """The complex reads with all parameters of the archive."""
    numbers = range(1, 15)
    return [Query(f"complex-{n}", given) for n in numbers for given in archive.parameters(n)]


def short_reads(network: Network) -> list[Query]:
    """Short reads of persons and messages, spread evenly over their files."""
    persons = [{"personId": row["id"]} for row in spread(network.nodes["person"])]
    messages = [
        {"messageId": row["id"]}
        for kind in ("post", "comment")
        for row in spread(network.nodes[kind])
    ]
    given = {1: persons, 2: persons, 3: persons, 4: messages, 5: messages, 6: messages, 7: messages}
    return [Query(f"short-{n}", each) for n, all in given.items() for each in all]


def spread(rows: list[Any]) -> list[Any]:
    return rows[:: max(1, len(rows) // SHORT)][:SHORT]


def inserts(archive: Archive) -> list[Query]:
    """All inserts in the order of their time."""
    return [Query(f"insert-{number}", given) for number, given in archive.updates()]


def ask(session: neo4j.Session, query: Query) -> list[dict[str, Any]]:
    """Asks a read, and returns its rows in one form."""
    (statement,) = query.statements
    work = lambda tx: [record.data() for record in tx.run(statement, query.parameters)]  # noqa: E731
    return [canonical(row) for row in session.execute_read(work)]


def canonical(row: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if name in SETS else value for name, value in row.items()}


def insert(session: neo4j.Session, query: Query) -> dict[str, int]:
    """Makes an insert in one transaction, and returns what it has changed."""

    def work(tx: neo4j.ManagedTransaction) -> dict[str, int]:
        counted: dict[str, int] = {}
        for statement in query.statements:
            counters = tx.run(statement, query.parameters).consume().counters
            for name in ("nodes_created", "relationships_created", "properties_set"):
                counted[name] = counted.get(name, 0) + getattr(counters, name)
        return counted

    return session.execute_write(work)
