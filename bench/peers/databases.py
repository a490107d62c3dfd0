"""DuckDB and LadybugDB with one property graph: the queries and the changes of ``workloads.py``.

Both read the files of ``nakshi export --neo4j``.
"""

from __future__ import annotations

import csv
import threading

import pyarrow.csv as tables


class Duckdb:
    """DuckDB: two tables, an ART index of ids, of sources and of each property of nodes."""

    def __init__(self, home, threads):
        import duckdb

        self.duckdb, self.threads = duckdb, threads
        self.database = duckdb.connect(str(home / "graph.db"), config={"threads": threads})

    def load(self, files):
        run = self.database.execute
        with (files / "nodes.csv").open() as lines:
            names = [name.split(":")[0] for name in next(csv.reader(lines))[1:-1]]
        columns = ", ".join(f"{name} VARCHAR" for name in names)
        run(f"CREATE TABLE nodes(id BIGINT PRIMARY KEY, {columns}, data VARCHAR)")
        read = 'SELECT * EXCLUDE (":LABEL"), NULL FROM read_csv(?)'
        run(f"INSERT INTO nodes {read}", [str(files / "nodes.csv")])
        run(
            "CREATE TABLE edges(src BIGINT, dst BIGINT, type VARCHAR, timestamp BIGINT, "
            "text VARCHAR, data VARCHAR)"
        )
        run("INSERT INTO edges SELECT *, NULL FROM read_csv(?)", [str(files / "relationships.csv")])
        for name in names:
            run(f"CREATE INDEX of_{name} ON nodes({name})")
        run("CREATE INDEX of_src ON edges(src)")
        run("CHECKPOINT")
        return {"indexes": len(names) + 2}

    def client(self):
        return DuckdbClient(self.database.cursor(), self.duckdb)

    def close(self):
        self.database.close()


class DuckdbClient:
    """A connection of one thread."""

    def __init__(self, cursor, duckdb):
        self.cursor, self.conflict = cursor, duckdb.TransactionException

    def rows(self, query, *values):
        return self.cursor.execute(query, values).fetchall()

    def object(self, id):
        found = self.rows("SELECT * FROM nodes WHERE id = ?", id)
        if not found:
            return None
        names = [column[0] for column in self.cursor.description]
        values = zip(names[1:], found[0][1:])
        return {name: value for name, value in values if value is not None}

    def one(self, id, name):
        return len(self.rows(f"SELECT {name} FROM nodes WHERE id = ?", id))

    def edges(self, id, type, *, limit=2**62, low=None, high=None, ends=None):
        query, values = (
            "SELECT dst, timestamp, text, data FROM edges WHERE src = ? AND type = ?",
            [],
        )
        if ends is not None:
            query, values = f"{query} AND list_contains(?, dst)", [ends]
        if low is not None:
            query, values = f"{query} AND timestamp BETWEEN ? AND ?", [low, high]
        found = self.rows(f"{query} ORDER BY timestamp DESC LIMIT {limit}", id, type, *values)
        return [edge(*row) for row in found]

    def count(self, id, type):
        return self.rows("SELECT count(*) FROM edges WHERE src = ? AND type = ?", id, type)[0][0]

    def friends(self, id, type=None, value=None):
        query, values = "SELECT DISTINCT dst FROM edges WHERE src = ?", [id]
        if type is not None:
            query, values = f"{query} AND type = ?", [id, type]
        if value is not None:
            query = (
                "SELECT DISTINCT dst FROM edges JOIN nodes ON nodes.id = dst "
                f"WHERE src = ? AND {value[0]} = ?"
            )
            values = [id, value[1]]
        return [row[0] for row in self.rows(query, *values)]

    def find(self, a, x, b, y):
        return [
            row[0] for row in self.rows(f"SELECT id FROM nodes WHERE {a} = ? AND {b} = ?", x, y)
        ]

    def change(self, *statements):
        """Runs one transaction, again after a conflict; returns the rows that the last statement changed."""
        while True:
            try:
                self.cursor.begin()
                for query, values in statements:
                    count = self.rows(query, *values)[0][0]
                self.cursor.commit()
                return count
            except self.conflict:
                try:
                    self.cursor.rollback()
                except self.conflict:
                    pass

    def append_node(self, id, data):
        return self.change(("INSERT INTO nodes(id, data) VALUES (?, ?)", [id, data]))

    def update_node(self, id, data):
        return self.change(("UPDATE nodes SET data = ? WHERE id = ?", [data, id]))

    def delete_node(self, id):
        return self.change(
            ("DELETE FROM edges WHERE src = ? OR dst = ?", [id, id]),
            ("DELETE FROM nodes WHERE id = ?", [id]),
        )

    def append_edge(self, source, type, end, time, data):
        return self.change(
            ("DELETE FROM edges WHERE src = ? AND type = ? AND dst = ?", [source, type, end]),
            (
                "INSERT INTO edges SELECT ?, ?, ?, ?, NULL, ? WHERE "
                "EXISTS (FROM nodes WHERE id = ?) AND EXISTS (FROM nodes WHERE id = ?)",
                [source, end, type, time, data, source, end],
            ),
        )

    def delete_edge(self, source, type, end):
        query = "DELETE FROM edges WHERE src = ? AND type = ? AND dst = ?"
        return self.change((query, [source, type, end]))


class Ladybug:
    """LadybugDB: a table of nodes with its index of ids, and a table of edges for each type."""

    def __init__(self, home, threads):
        import ladybug

        self.ladybug, self.writing = ladybug, threading.Lock()
        self.database = ladybug.Database(str(home / "graph.db"), max_num_threads=threads)

    def load(self, files):
        run = ladybug_run(self.ladybug.Connection(self.database))
        nodes, edges = files / "nodes.csv", files / "relationships.csv"
        with nodes.open() as lines:
            names = [name.split(":")[0] for name in next(csv.reader(lines))[1:-1]]
        columns = ", ".join(f"{name} STRING" for name in names)
        run(f"CREATE NODE TABLE N(id INT64 PRIMARY KEY, {columns})")
        run(
            f"COPY N FROM (LOAD WITH HEADERS (id INT64, {columns}, label STRING) FROM '{nodes}' "
            f"(HEADER=true) RETURN id, {', '.join(names)})"
        )
        run("ALTER TABLE N ADD data STRING")
        for type in sorted(types_of(edges)):
            run(f"CREATE REL TABLE {type}(FROM N TO N, timestamp INT64, text STRING)")
            run(
                f"COPY {type} FROM (LOAD WITH HEADERS (a INT64, b INT64, type STRING, time INT64, "
                f"text STRING) FROM '{edges}' (HEADER=true) WHERE type = '{type}' "
                "RETURN a, b, time, text)"
            )
            run(f"ALTER TABLE {type} ADD data STRING")
        run("CHECKPOINT")
        return {"indexes": 1}

    def client(self):
        return LadybugClient(self.ladybug.Connection(self.database, num_threads=1), self.writing)

    def close(self):
        self.database.close()


def ladybug_run(connection):
    def run(query, **values):
        found = connection.execute(query, values)
        rows = found.get_all()
        found.close()
        return rows

    return run


class LadybugClient:
    """A connection of one thread. Only one transaction writes at a time."""

    def __init__(self, connection, writing):
        self.rows, self.writing = ladybug_run(connection), writing

    def object(self, id):
        found = self.rows("MATCH (a:N) WHERE a.id = $id RETURN a", id=id)
        if not found:
            return None
        left_out = ("_ID", "_LABEL", "id")
        values = found[0][0].items()
        return {name: value for name, value in values if name not in left_out and value is not None}

    def one(self, id, name):
        return len(self.rows(f"MATCH (a:N) WHERE a.id = $id RETURN a.{name}", id=id))

    def edges(self, id, type, *, limit=2**62, low=None, high=None, ends=None):
        query, values = f"MATCH (a:N)-[e:{type}]->(b:N) WHERE a.id = $id", {}
        if ends is not None:
            query, values = f"{query} AND list_contains($ids, b.id)", {"ids": ends}
        if low is not None:
            query = f"{query} AND e.timestamp >= $low AND e.timestamp <= $high"
            values = {"low": low, "high": high}
        back = "RETURN b.id, e.timestamp, e.text, e.data ORDER BY e.timestamp DESC"
        return [edge(*row) for row in self.rows(f"{query} {back} LIMIT {limit}", id=id, **values)]

    def count(self, id, type):
        query = f"MATCH (a:N)-[e:{type}]->(b:N) WHERE a.id = $id RETURN count(*)"
        return self.rows(query, id=id)[0][0]

    def friends(self, id, type=None, value=None):
        query, values = f"MATCH (a:N)-[e{':' + type if type else ''}]->(b:N) WHERE a.id = $id", {}
        if value is not None:
            query, values = f"{query} AND b.{value[0]} = $value", {"value": value[1]}
        return [row[0] for row in self.rows(f"{query} RETURN DISTINCT b.id", id=id, **values)]

    def find(self, a, x, b, y):
        query = f"MATCH (a:N) WHERE a.{a} = $x AND a.{b} = $y RETURN a.id"
        return [row[0] for row in self.rows(query, x=x, y=y)]

    def change(self, *statements):
        """Runs one transaction."""
        with self.writing:
            self.rows("BEGIN TRANSACTION")
            for query, values in statements:
                count = len(self.rows(query, **values))
            self.rows("COMMIT")
        return count

    def append_node(self, id, data):
        query = "CREATE (a:N {id: $id, data: $data}) RETURN 1"
        return self.change((query, {"id": id, "data": data}))

    def update_node(self, id, data):
        query = "MATCH (a:N) WHERE a.id = $id SET a.data = $data RETURN 1"
        return self.change((query, {"id": id, "data": data}))

    def delete_node(self, id):
        return self.change(("MATCH (a:N) WHERE a.id = $id DETACH DELETE a RETURN 1", {"id": id}))

    def append_edge(self, source, type, end, time, data):
        ends = {"source": source, "target": end}
        create = (
            "MATCH (a:N), (b:N) WHERE a.id = $source AND b.id = $target "
            f"CREATE (a)-[:{type} {{timestamp: $time, data: $data}}]->(b) RETURN 1"
        )
        return self.change(gone(type, ends), (create, {**ends, "time": time, "data": data}))

    def delete_edge(self, source, type, end):
        return self.change(gone(type, {"source": source, "target": end}))


def gone(type, ends):
    """Deletes the edges between two nodes."""
    match = f"MATCH (a:N)-[e:{type}]->(b:N) WHERE a.id = $source AND b.id = $target"
    return f"{match} DELETE e RETURN 1", ends


def edge(end, time, text, data):
    """An edge as a row of an answer."""
    values = {"text": text, "data": data}
    return [end, time, {name: value for name, value in values.items() if value is not None}]


def types_of(edges):
    """Types of the edges in a file."""
    column = tables.ConvertOptions(include_columns=[":TYPE"])
    return tables.read_csv(edges, convert_options=column).column(0).unique().to_pylist()
