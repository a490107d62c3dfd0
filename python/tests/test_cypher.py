"""Queries in Cypher in the process, on servers and on the command line; algorithms as procedures."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import nakshi
import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from nakshi.cypher import Duration, Node, Point, Relationship
from nakshi.cypher import Path as CypherPath
from nakshi.declared import DECLARATIONS

from .servers import serving

#: Two queries that run for ever: one in the executor, one in an algorithm.
ENDLESS = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(a + b)"
EDGES = [("ann", "ben", 2015), ("ann", "cem", 2019), ("ben", "dee", 2011), ("cem", "dee", 2020)]
MANY = 20_000


def build(store: Path) -> nakshi.Graph:
    people = pa.table(
        {
            "id": ["ann", "ben", "cem", "dee"],
            "name": ["Ann", "Ben", "Cem", "Dee"],
            "age": [31, 42, 27, 55],
        }
    )
    sources, targets, since = zip(*EDGES)
    knows = pa.table(
        {"source": sources, "target": targets, "type": ["KNOWS"] * len(EDGES), "since": since}
    )
    return nakshi.build(store, edges=knows, nodes={"Person": people}, progress=False)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[nakshi.Graph]:
    with build(tmp_path / "g.nakshi") as graph:
        yield graph


@pytest.fixture(params=["here", "server"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """The same graph in the process and on a server."""
    store = tmp_path / "g.nakshi"
    with build(store) as graph:
        if request.param == "here":
            yield graph
            return
    with serving(store) as server, nakshi.connect(server.address) as remote:
        yield remote


def test_rows(asked: Any) -> None:
    rows = asked.query(
        "MATCH (p:Person) WHERE p.age > $least RETURN p.name, p.age ORDER BY p.age", least=30
    )
    assert rows.columns == ["p.name", "p.age"]
    first = next(rows)
    assert (
        first == ("Ann", 31)
        and first["p.age"] == 31
        and first.to_dict() == {"p.name": "Ann", "p.age": 31}
    )
    with pytest.raises(KeyError, match="there are p.name, p.age"):
        first["age"]
    assert list(rows) == [("Ben", 42), ("Dee", 55)]
    assert list(rows) == []
    assert rows.summary["type"] == "r" and not any(rows.summary["counters"].values())
    assert asked.query("RETURN 1 + $x", {"x": 2}).single() == 3
    with pytest.raises(nakshi.ParameterError, match="4 rows"):
        asked.query("MATCH (p) RETURN p").single()
    assert asked.query("UNWIND range(1, $n) AS i RETURN i", n=MANY).to_arrow().num_rows == MANY


def test_values_come_back(asked: Any) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    values = [
        None, True, -(2**63), 0.1, "é", b"\0\xff", [1, [2.5, None]], {"a": {"b": [1]}},
        dt.date(1, 1, 1), dt.time(23, 59, 59, 999_999), dt.datetime(9999, 12, 31, 1, 2, 3, 4),
        dt.datetime(2024, 3, 31, 3, 30, tzinfo=berlin),
        dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=berlin),
        dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=-30))),
        dt.time(1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        Duration(-1, 2, -3, 4), Point(7203, (1.5, -2.0)), Point(4979, (1.0, 2.0, 3.0)),
    ]  # fmt: skip
    for value in values:
        found = asked.query("RETURN $x", x=value).single()
        assert found == value and type(found) is type(value), value
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            assert found.utcoffset() == value.utcoffset() and str(found.tzinfo) == str(value.tzinfo)
    assert asked.query("RETURN $x", x=np.int64(7)).single() == 7
    assert asked.query("RETURN $x", x=np.array([[1, 2], [3, 4]])).single() == [[1, 2], [3, 4]]
    assert asked.query("RETURN $x", x=dt.timedelta(days=1, microseconds=5)).single() == Duration(
        0, 0, 86_400, 5_000
    )
    # Python has no nanoseconds.
    assert asked.query("RETURN localtime('12:00:00.000000001')").single() == "12:00:00.000000001"


def test_parameters_that_cannot_be(graph: nakshi.Graph) -> None:
    endless: list[Any] = []
    endless.append(endless)
    cases: list[tuple[Any, type[Exception], str]] = [
        (2**63, ValueError, "parameter x: 9223372036854775808 does not fit 64 bits"),
        (object(), TypeError, "parameter x: a query does not take values of type object"),
        (endless, ValueError, "parameter x: it has more than 100 levels"),
        (Point(1, (1.0,)), ValueError, "parameter x: .* is no point"),
    ]
    for value, error, message in cases:
        with pytest.raises(error, match=message):
            graph.query("RETURN $x", x=value)
    with pytest.raises(nakshi.QueryError, match="parameter 'x' is missing"):
        graph.query("RETURN $x")


def test_nodes_edges_and_paths(asked: Any) -> None:
    node, edge, path = next(
        asked.query("MATCH way = (a {name: 'Ann'})-[k]->({name: 'Ben'}) RETURN a, k, way")
    )
    assert node == Node("ann", ("Person",), {"name": "Ann", "age": 31})
    assert isinstance(edge, Relationship)
    assert edge[:4] == ("ann", "KNOWS", "ben", {"since": 2015})
    assert isinstance(path, CypherPath)
    assert [one.id for one in path.nodes] == ["ann", "ben"] and path.relationships == (edge,)
    back = asked.query("MATCH way = (b {name: 'Ben'})<--() RETURN way").single()
    assert [one.id for one in back.nodes] == ["ben", "ann"]
    assert back.relationships[0].source == "ann"


def test_ids_keep_their_types(tmp_path: Path) -> None:
    edges = pa.table({"source": [1, 2], "target": [2, 3]})
    with nakshi.build(tmp_path / "n.nakshi", edges=edges, properties=True, progress=False) as graph:
        found = [row[0].id for row in graph.query("MATCH (n) RETURN n ORDER BY id(n)")]
        assert found == [1, 2, 3]
    with serving(tmp_path / "n.nakshi") as server, nakshi.connect(server.address) as remote:
        assert [row[0].id for row in remote.query("MATCH (n) RETURN n ORDER BY id(n)")] == [1, 2, 3]
    texts = pa.table({"source": ["1", "02"], "target": ["02", "x"]})
    with nakshi.build(tmp_path / "t.nakshi", edges=texts, properties=True, progress=False) as graph:
        assert {row[0].id for row in graph.query("MATCH (n) RETURN n")} == {"1", "02", "x"}
    with serving(tmp_path / "t.nakshi") as server, nakshi.connect(server.address) as remote:
        assert {row[0].id for row in remote.query("MATCH (n) RETURN n")} == {"1", "02", "x"}


def test_tables(asked: Any) -> None:
    text = (
        "UNWIND [[1, 1, 'a', [1, 2], date('2024-02-29'), 1], [2.5, null, 'b', [], null, 'x']] AS r "
        "RETURN r[0] AS f, r[1] AS i, r[2] AS t, r[3] AS l, r[4] AS d, r[5] AS mixed"
    )
    table = asked.query(text).to_arrow()
    types = {field.name: field.type for field in table.schema}
    assert types == {
        "f": pa.float64(), "i": pa.int64(), "t": pa.large_utf8(), "l": pa.large_list(pa.int64()),
        "d": pa.date32(), "mixed": pa.large_utf8(),
    }  # fmt: skip
    assert table.to_pylist() == [
        {"f": 1.0, "i": 1, "t": "a", "l": [1, 2], "d": dt.date(2024, 2, 29), "mixed": "1"},
        {"f": 2.5, "i": None, "t": "b", "l": [], "d": None, "mixed": '"x"'},
    ]
    frame = asked.query("MATCH (p) RETURN p.name AS name, p.age AS age ORDER BY age").to_pandas()
    assert frame["age"].tolist() == [27, 31, 42, 55]
    assert asked.query("MATCH (p) RETURN p.age AS age").to_polars()["age"].sum() == 155
    node = asked.query("MATCH (p {name: 'Ann'}) RETURN p").to_arrow()["p"][0].as_py()
    assert json.loads(node)["properties"] == {"name": "Ann", "age": 31}
    empty = asked.query("MATCH (p:Person) WHERE p.age > 1000 RETURN p.age AS age").to_arrow()
    assert empty.num_rows == 0 and empty.column_names == ["age"]
    started = asked.query("MATCH (p) RETURN p.age")
    next(started)
    with pytest.raises(nakshi.ParameterError, match="taken already"):
        started.to_arrow()


def test_changes(asked: Any) -> None:
    made = asked.query(
        "CREATE (e:Person {name: 'Eva'})-[:KNOWS {since: 2024}]->(:Person {name: 'Fin'})"
    )
    counters = made.summary["counters"]
    assert made.summary["type"] == "w" and list(made) == []
    assert counters["nodes_created"] == 2 and counters["relationships_created"] == 1
    assert asked.query("MATCH (:Person) RETURN count(*)").single() == 6
    gone = asked.query("MATCH (p {name: 'Fin'}) DETACH DELETE p RETURN count(*) AS n")
    assert gone.single() == 1 and gone.summary["type"] == "rw"
    assert gone.summary["counters"]["nodes_deleted"] == 1


def test_transactions(graph: nakshi.Graph) -> None:
    with graph.transaction() as t:
        t.query("MATCH (p {name: 'Ann'}) SET p.age = 1")
        assert t.get_node_property("ann", "age") == 1
        t.update_node("ben", {"age": 2})
        assert t.query("MATCH (p) WHERE p.age < 3 RETURN count(*)").single() == 2
        assert graph.query("MATCH (p) WHERE p.age < 3 RETURN count(*)").single() == 0
        with pytest.raises(nakshi.QueryError):
            t.query("MATCH (p) SET p.age = 1 / 0")
        assert t.get_node_property("cem", "age") == 27
        ranks = dict(t.query("CALL nakshi.degrees() YIELD node, degree RETURN node.name, degree"))
        assert ranks["Ann"] == 2
    assert graph.query("MATCH (p) WHERE p.age < 3 RETURN count(*)").single() == 2
    with pytest.raises(RuntimeError), graph.transaction() as t:
        t.query("MATCH (p) SET p.age = 0")
        raise RuntimeError
    assert graph.query("MATCH (p {age: 0}) RETURN count(*)").single() == 0
    snapshot = graph.snapshot()
    graph.query("MATCH (p) SET p.age = 0")
    assert snapshot.query("MATCH (p {age: 0}) RETURN count(*)").single() == 0
    with pytest.raises(nakshi.QueryError, match="may only be read"):
        snapshot.query("CREATE (n)")


def test_an_algorithm_in_a_transaction_conflicts_with_edges(graph: nakshi.Graph) -> None:
    with pytest.raises(nakshi.ConflictError), graph.transaction() as t:
        t.query("CALL nakshi.pagerank() YIELD node, rank SET node.rank = rank")
        graph.append_edge("dee", "KNOWS", "ann")


def test_errors_say_where(asked: Any) -> None:
    with pytest.raises(nakshi.QueryError, match=r"line 2, column 8") as caught:
        asked.query("MATCH (p)\nRETURN q.name")
    assert caught.value.position == (2, 8)
    assert caught.value.code == "Neo.ClientError.Statement.SyntaxError"
    with pytest.raises(nakshi.QueryError, match="procedure 'nakshi.nothing' is unknown"):
        asked.query("CALL nakshi.nothing()")
    with pytest.raises(nakshi.QueryError) as caught:
        list(asked.query("UNWIND [1, 0] AS x RETURN 1 / x"))
    assert caught.value.position is None


def test_limits(asked: Any) -> None:
    began = time.monotonic()
    with pytest.raises(nakshi.DeadlineError):
        asked.query(ENDLESS, timeout=0.1).single()
    assert time.monotonic() - began < 1
    with pytest.raises(nakshi.BudgetError, match="memory"):
        asked.query("UNWIND range(1, 1000000) AS i RETURN collect(i)", memory="1MiB").single()
    assert asked.query("RETURN 1").single() == 1


@pytest.mark.parametrize(
    "text",
    [
        ENDLESS,
        "CALL nakshi.cdlp({iterations: 1000000000}) YIELD node RETURN count(*)",
        "UNWIND range(1, 100000000) AS i CREATE ()",
    ],
    ids=["read", "algorithm", "write"],
)
def test_interrupts(graph: nakshi.Graph, text: str) -> None:
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            graph.query(text).single()
    finally:
        timer.cancel()
    began = time.monotonic()
    assert graph.query("MATCH (p:Person) RETURN count(*)").single() == 4
    assert time.monotonic() - began < 0.2


def test_procedures_agree_with_methods(tmp_path: Path) -> None:
    drawn = nx.gnm_random_graph(200, 900, seed=5, directed=True)
    sources, targets = zip(*drawn.edges)
    edges = pa.table(
        {
            "source": sources,
            "target": targets,
            "type": ["A" if s % 3 else "B" for s in sources],
            "weight": [1 + (s * t) % 7 for s, t in drawn.edges],
        }
    )
    nodes = {
        "Even": pa.table({"id": range(0, 200, 2)}),
        "Odd": pa.table({"id": range(1, 200, 2)}),
    }
    with nakshi.build(tmp_path / "g.nakshi", edges=edges, nodes=nodes, progress=False) as graph:
        ranks = {
            row[0].id: row[1] for row in graph.query("CALL nakshi.pagerank() YIELD node, rank")
        }
        assert ranks == graph.pagerank().to_dict()
        found = graph.query(
            "CALL nakshi.sssp({source: $from}) YIELD node, distance RETURN id(node), distance",
            {"from": 3},
        )
        expected = {v: None if d == float("inf") else d for v, d in graph.sssp(3).to_dict().items()}
        assert dict(found) == expected
        by_node = graph.query(
            "MATCH (s) WHERE id(s) = 3 CALL nakshi.sssp({source: s, unit: true}) YIELD node, distance "
            "RETURN id(node), distance"
        )
        hops = {
            v: None if d == float("inf") else d
            for v, d in graph.sssp(3, unit=True).to_dict().items()
        }
        assert dict(by_node) == hops
        # A projection.
        kept = drawn.edge_subgraph((s, t) for s, t in drawn.edges if s % 3 and s % 2 == t % 2 == 0)
        even = nx.DiGraph(kept)
        even.add_nodes_from(range(0, 200, 2))
        parts = graph.query(
            "CALL nakshi.wcc.stats({labels: 'Even', types: ['A']}) YIELD components"
        ).single()
        assert parts == nx.number_weakly_connected_components(even)
        degrees = graph.query(
            "CALL nakshi.degrees({labels: ['Even'], types: 'A', direction: 'both'}) "
            "YIELD node, degree RETURN id(node), degree"
        )
        assert dict(degrees) == dict(nx.Graph(even).degree)
        # Many columns are one list, and results for the whole graph are one row.
        vectors = graph.query(
            "CALL nakshi.fastrp({dimensions: 8}) YIELD node, embedding RETURN embedding"
        )
        assert {len(row[0]) for row in vectors} == {8}
        # After a change, the state is the query's.
        graph.query("MATCH (a), (b) WHERE id(a) = 0 AND id(b) = 1 CREATE (a)-[:A]->(b)")
        ranks = {
            row[0].id: row[1] for row in graph.query("CALL nakshi.pagerank() YIELD node, rank")
        }
        assert ranks == graph.pagerank().to_dict()
        for wrong, message in {
            "{nothing: 1}": "nothing",
            "{iterations: 'x'}": "expected u32",
            "{direction: 'up'}": "'out', 'in' or 'both'",
            "{threads: 0}": "a number above 0",
            "{labels: 7}": "a name or a list of names",
        }.items():
            with pytest.raises(nakshi.QueryError, match=message):
                list(graph.query(f"CALL nakshi.pagerank({wrong}) YIELD node RETURN node"))


def test_every_algorithm_is_a_procedure(graph: nakshi.Graph) -> None:
    shown = {row["name"]: row["description"] for row in graph.query("SHOW PROCEDURES")}
    for declared in DECLARATIONS.values():
        assert f"nakshi.{declared.method}" in shown
    assert "db.labels" in shown and all(shown.values())
    assert "pagerank" not in " ".join(row[0] for row in graph.query("SHOW FUNCTIONS YIELD name"))
    named = graph.query("SHOW PROCEDURES YIELD name AS n WHERE n STARTS WITH 'nakshi.page'")
    assert list(named) == [("nakshi.pagerank",), ("nakshi.pagerank.stats",)]
    assert list(graph.query("SHOW INDEXES")) == [] and list(graph.query("SHOW CONSTRAINTS")) == []
    assert next(graph.query("SHOW DATABASES"))["name"] == "neo4j"


def test_a_plan(asked: Any) -> None:
    explained = asked.query("EXPLAIN MATCH (p:Person {name: 'Ann'})-->(f) RETURN f")
    assert list(explained) == []
    assert "Person" in explained.summary["plan"]
    profiled = asked.query("PROFILE MATCH (p:Person {name: 'Ann'})-->(f) RETURN f")
    assert len(list(profiled)) == 2
    first, *rest = profiled.summary["plan"].splitlines()
    assert "rows 2, " in first and rest[-1].startswith("Argument  rows 1, ")


def test_notebooks(graph: nakshi.Graph) -> None:
    result = graph.query("UNWIND range(1, 50) AS i RETURN i, '<b>' AS t")
    shown = result._repr_html_()
    assert shown.count("<tr>") == 11 and "&lt;b&gt;" in shown and "more rows" in shown
    assert len(list(result)) == 50
    assert repr(result) == "<nakshi.QueryResult i, t>"


def test_asyncio(tmp_path: Path) -> None:
    build(tmp_path / "g.nakshi").close()

    async def ask(address: str) -> tuple[list[Any], int, Any]:
        async with await nakshi.connect_async(address) as graph:
            rows = await graph.query("MATCH (p) RETURN p.name ORDER BY p.name")
            names = [row[0] async for row in rows]
            table = await (await graph.query("MATCH (p) RETURN p.age")).to_arrow()
            one = await (await graph.query("RETURN $x", x=1)).single()
            return names, table.num_rows, one

    with serving(tmp_path / "g.nakshi") as server:
        assert asyncio.run(ask(server.address)) == (["Ann", "Ben", "Cem", "Dee"], 4, 1)


def test_a_server_has_limits_and_roles(tmp_path: Path) -> None:
    store = tmp_path / "g.nakshi"
    build(store).close()
    with serving(store, "--read-only") as server, nakshi.connect(server.address) as remote:
        with pytest.raises(nakshi.DeniedError, match="read-only"):
            remote.query("CREATE (n)")
        assert remote.query("MATCH (n) RETURN count(*)").single() == 4
    with serving(store, "--timeout", "0.2") as server, nakshi.connect(server.address) as remote:
        with pytest.raises(nakshi.DeadlineError):
            remote.query(ENDLESS).single()
    with serving(store) as server, nakshi.connect(server.address) as remote:
        # A client that goes away ends its query.
        rows = remote.query("UNWIND range(1, 1000000000) AS i RETURN i")
        next(rows)
        assert remote.status()["running_calls"] == 2
        del rows
        deadline = time.monotonic() + 5
        while remote.status()["running_calls"] > 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    with pytest.raises(nakshi.UnavailableError):
        list(rows_of_a_lost_server(store))


def rows_of_a_lost_server(store: Path) -> Iterator[Any]:
    with serving(store) as server:
        remote = nakshi.connect(server.address)
        rows = remote.query("UNWIND range(1, 1000000000) AS i RETURN i")
        yield next(rows)
    yield from rows


def command(*words: object, given: str | None = None, fails: bool = False) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "nakshi", "query", *map(str, words)],
        input=given, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout, done.stderr


def test_command_line(tmp_path: Path) -> None:
    store = tmp_path / "g.nakshi"
    build(store).close()
    text = "MATCH (p:Person) RETURN p.name AS name, p.age AS age ORDER BY age"
    out, told = command(store, text)
    assert out.splitlines() == [
        "name  age",
        "----  ---",
        "Cem   27",
        "Ann   31",
        "Ben   42",
        "Dee   55",
    ]
    assert told.startswith("4 rows (")
    out, _ = command(store, text, "--format", "json")
    assert [row["age"] for row in json.loads(out)] == [27, 31, 42, 55]
    lines, _ = command(store, text, "--format", "jsonl")
    assert [json.loads(line) for line in lines.splitlines()] == json.loads(out)
    out, _ = command(store, "MATCH (n:None) RETURN n", "--format", "json")
    assert json.loads(out) == []
    out, _ = command(store, "UNWIND ['a,b', null, 'c\"d'] AS t RETURN t", "--format", "csv")
    assert out == 't\n"a,b"\n\n"c""d"\n'
    out, _ = command(store, "--format", "csv", given="RETURN $x AS x", fails=True)
    out, _ = command(store, "--params", '{"x": [1]}', "--format", "csv", given="RETURN $x AS x")
    assert out == "x\n[1]\n"
    command(store, text, "--out", tmp_path / "p.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "p.parquet")["age"].to_pylist() == [27, 31, 42, 55]
    _, told = command(store, "CREATE (:Person {name: 'Eva'})")
    assert told.startswith("labels added: 1, nodes created: 1, properties set: 1 (")
    _, told = command(store, "RETURN x", fails=True)
    assert "line 1, column 8" in told and len(told.splitlines()) == 1
    for words in (
        ["--format", "tsv"],
        ["--params", "{"],
        ["--params", "[1]"],
        ["--format", "table", "--out", "x"],
    ):
        command(store, text, *words, fails=True)
    command(tmp_path / "none", "RETURN 1", fails=True)
    with serving(store) as server:
        out, _ = command(server.address, "MATCH (p:Person) RETURN count(*) AS n", "--format", "csv")
        assert out == "n\n5\n"


def terminal(master: int) -> str:
    """The output of a program in a terminal; empty once it has ended."""
    try:
        return os.read(master, 4096).decode()
    except OSError:
        return ""


def test_shell(tmp_path: Path) -> None:
    store = tmp_path / "g.nakshi"
    build(store).close()
    lines = [
        ":help",
        ":param least = 40",
        "MATCH (p:Person)",
        "WHERE p.age > $least RETURN p.name AS name ORDER BY name;",
        "RETURN nothing;",
        ":format csv",
        "RETURN 1 AS one;",
        ":nothing",
        ":exit",
    ]
    master, slave = pty.openpty()
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"}
    shell = subprocess.Popen(
        [sys.executable, "-m", "nakshi", "query", str(store)],
        stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    os.write(master, ("\n".join(lines) + "\n").encode())
    out = "".join(iter(lambda: terminal(master), ""))
    os.close(master)
    assert shell.wait(timeout=60) == 0, out
    assert ":timing" in out and "Ben" in out and "Dee" in out and "Cem" not in out
    assert "error: " in out and "one\r\n1\r\n" in out
    assert "there is no command :nothing" in out
    assert "MATCH (p:Person)" in (tmp_path / "nakshi_history").read_text()


def test_algorithms_where_the_graph_is(asked: Any) -> None:
    ranked = "CALL nakshi.pagerank() YIELD node, rank RETURN node.name ORDER BY rank DESC LIMIT 1"
    assert asked.query(ranked).single() == "Dee"
    asked.query("CALL nakshi.wcc() YIELD node, component SET node.component = component")
    assert asked.query("MATCH (n) RETURN collect(DISTINCT n.component)").single() == ["ann"]


def test_constraints_are_kept_by_every_call(graph: nakshi.Graph) -> None:
    graph.query("CREATE CONSTRAINT ids FOR (n:Thing) REQUIRE n.key IS UNIQUE")
    graph.query("CREATE (:Thing {key: 1})")
    with pytest.raises(nakshi.errors.QueryError) as failed:
        graph.query("CREATE (:Thing {key: 1})")
    assert failed.value.code == "Neo.ClientError.Schema.ConstraintValidationFailed"
    with pytest.raises(nakshi.ConstraintError, match="key = 1"):
        graph.append_node(901, {"key": 1, "labels": ["Thing"]})
    graph.append_node(901, {"key": 2, "labels": ["Thing"]})
    names = [row["name"] for row in graph.query("SHOW CONSTRAINTS YIELD name")]
    assert names == ["ids"]


def test_csv_files_come_from_the_folder_that_is_named(graph: nakshi.Graph, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.csv").write_text("x,y\n1,2\n3,\n")
    text = "LOAD CSV WITH HEADERS FROM 'file:///a.csv' AS row RETURN row.x, row.y"
    assert [tuple(row) for row in graph.query(text, csv_folder=files)] == [("1", "2"), ("3", None)]
    with pytest.raises(nakshi.errors.QueryError, match="csv_folder="):
        list(graph.query(text))
