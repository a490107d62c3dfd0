"""Graphs over Bolt: Neo4j's own driver as its users call it, and strangers who break the rules."""

from __future__ import annotations

import asyncio
import base64
import datetime
import json
import socket
import ssl
import struct
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nakshi
import neo4j
import neo4j.exceptions
import neo4j.time
import pytest
import pytz

from .conftest import run_cli
from .servers import Server, serving

BOLT = ("--bolt", "127.0.0.1:0")
HTTP = ("--http", "127.0.0.1:0")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    people = [{"id": i, "name": f"n{i}", "age": 20 + i} for i in range(10)]
    edges = [{"source": i, "target": i + 1, "type": "KNOWS"} for i in range(9)]
    import pyarrow as pa

    nodes, pairs = {"Person": pa.Table.from_pylist(people)}, pa.Table.from_pylist(edges)
    path = tmp_path / "graph.nakshi"
    nakshi.build(path, edges=pairs, nodes=nodes, progress=False)
    return path


@pytest.fixture
def server(store: Path) -> Iterator[Server]:
    with serving(store, *BOLT) as running:
        yield running


@pytest.fixture
def driver(server: Server) -> Iterator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(server.bolt) as made:
        yield made


def names(driver: neo4j.Driver, text: str, **parameters: Any) -> list[Any]:
    return [record[0] for record in driver.execute_query(text, parameters).records]


def test_a_driver_reads_and_writes(driver: neo4j.Driver) -> None:
    driver.verify_connectivity()
    assert driver.get_server_info().agent.startswith("Neo4j/5.26.0 compatible (Nakshi ")
    assert names(driver, "MATCH (p:Person {name: $name}) RETURN p.age", name="n3") == [23]
    made = driver.execute_query(
        "CREATE (p:Person {name: 'new'})-[:KNOWS {since: 5}]->(:Person) RETURN p"
    )
    node = made.records[0]["p"]
    assert node.labels == {"Person"} and dict(node) == {"name": "new"}
    counters = made.summary.counters
    assert (counters.nodes_created, counters.relationships_created) == (2, 1)
    assert made.summary.query_type == "rw" and made.summary.database == "neo4j"
    path = driver.execute_query(
        "MATCH p = (:Person {name: 'n2'})<-[:KNOWS]-()-[:KNOWS]-() RETURN p"
    ).records[0]["p"]
    assert isinstance(path, neo4j.graph.Path) and len(path) == 2
    edge = path.relationships[0]
    assert (
        edge.type == "KNOWS" and edge.end_node["name"] == "n2" and edge.start_node["name"] == "n1"
    )


VALUES: list[Any] = [
    None,
    True,
    -(2**63),
    1.5,
    "text ü 😀",
    b"\x00\xff",
    [1, "a", None, [2.5]],
    {"a": 1, "b": {"c": [True]}},
    list(range(70_000)),
    neo4j.time.Date(2024, 2, 29),
    neo4j.time.Time(12, 30, 1, 5, tzinfo=pytz.FixedOffset(120)),
    neo4j.time.Time(23, 59, 59, 999_999_999),
    neo4j.time.DateTime(2024, 2, 29, 12, 0, 0, 7),
    neo4j.time.Duration(months=14, days=3, seconds=-5, nanoseconds=1),
    neo4j.spatial.WGS84Point((1.5, 2.5)),
    neo4j.spatial.CartesianPoint((1.0, 2.0, 3.0)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_parameters_come_back(driver: neo4j.Driver, value: Any) -> None:
    assert names(driver, "RETURN $x", x=value) == [value]


def test_times_keep_their_zones(driver: neo4j.Driver) -> None:
    for zone in (pytz.utc, pytz.timezone("Europe/Berlin")):
        given = zone.localize(datetime.datetime(2024, 7, 1, 12, 0))
        (back,) = names(driver, "RETURN $x", x=given)
        assert back.to_native() == given
        (shown,) = names(driver, "RETURN toString($x)", x=given)
        assert ("[Europe/Berlin]" in shown) == (zone is not pytz.utc)


def test_rows_come_as_they_are_asked_for(driver: neo4j.Driver) -> None:
    with driver.session(fetch_size=7) as session:
        result = session.run("UNWIND range(1, 100000) AS i RETURN i")
        assert [next(result)["i"] for _ in range(20)] == list(range(1, 21))
        result.consume()
        assert session.run("UNWIND range(1, 30) AS i RETURN i").value() == list(range(1, 31))


def test_transactions(driver: neo4j.Driver) -> None:
    count = "MATCH (n:New) RETURN count(n)"
    with driver.session() as session:
        with session.begin_transaction() as transaction:
            transaction.run("CREATE (:New {x: 1})")
            assert transaction.run(count).single(strict=True)[0] == 1
            assert names(driver, count) == [0]
            transaction.rollback()
        assert names(driver, count) == [0]
        with session.begin_transaction() as transaction:
            # Several results are open at once.
            first = transaction.run("UNWIND range(1, 5000) AS i RETURN i")
            second = transaction.run("CREATE (n:New {x: 1}) RETURN n.x AS x")
            assert [record["x"] for record in second] == [1]
            assert len(list(first)) == 5000
        assert names(driver, count) == [1]


def test_functions_that_are_repeated_lose_no_update(driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:Counter {n: 0})")

    def add(transaction: neo4j.ManagedTransaction) -> None:
        n = transaction.run("MATCH (c:Counter) RETURN c.n").single(strict=True)[0]
        transaction.run("MATCH (c:Counter) SET c.n = $n", n=n + 1).consume()

    def work() -> None:
        with driver.session() as session:
            for _ in range(10):
                session.execute_write(add)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert names(driver, "MATCH (c:Counter) RETURN c.n") == [40]


def test_bookmarks_and_routing(server: Server) -> None:
    with neo4j.GraphDatabase.driver(server.bolt.replace("bolt://", "neo4j://")) as driver:
        driver.execute_query("CREATE (:Routed)")
        with driver.session() as session:
            session.execute_write(lambda t: t.run("CREATE (:Routed)").consume())
            marks = session.last_bookmarks()
            assert next(iter(marks.raw_values)).startswith("nakshi:")
        with driver.session(bookmarks=marks, default_access_mode="READ") as session:
            counted = session.execute_read(
                lambda t: t.run("MATCH (n:Routed) RETURN count(n)").single(strict=True)[0]
            )
            assert counted == 2
            with pytest.raises(neo4j.exceptions.ClientError):
                session.execute_read(lambda t: t.run("CREATE (:Routed)").consume())


def test_errors_leave_the_session_usable(driver: neo4j.Driver) -> None:
    with driver.session() as session:
        for text, error in [
            ("RETRUN 1", neo4j.exceptions.CypherSyntaxError),
            ("RETURN $missing", neo4j.exceptions.ClientError),
            ("RETURN 1 / 0", neo4j.exceptions.ClientError),
        ]:
            with pytest.raises(error) as raised:
                session.run(text).consume()
            assert raised.value.code.startswith("Neo.ClientError.Statement.")
            assert "\n" not in raised.value.message
        assert session.run("RETURN 1").single(strict=True)[0] == 1
    with pytest.raises(neo4j.exceptions.ClientError, match="no database"):
        driver.execute_query("RETURN 1", database_="other")


def test_what_runs_is_cancelled(driver: neo4j.Driver, server: Server) -> None:
    long = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH sum(a * b) AS s RETURN s"
    began = time.monotonic()
    with driver.session() as session:
        with pytest.raises(neo4j.exceptions.Neo4jError) as raised:
            with session.begin_transaction(timeout=0.5) as transaction:
                transaction.run(long).consume()
        assert raised.value.code == "Neo.ClientError.Transaction.TransactionTimedOut"
    assert time.monotonic() - began < 3

    async def give_up() -> None:
        async with neo4j.AsyncGraphDatabase.driver(server.bolt) as other:
            async with other.session() as session:
                running = asyncio.create_task(session.run(long))
                await asyncio.sleep(0.3)
                session.cancel()
                running.cancel()

    asyncio.run(give_up())
    wait_until(lambda: nakshi.connect(server.address).status()["running_calls"] <= 1)


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 5
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)


# Below the driver.


class Line:
    """A connection whose bytes a test writes by itself."""

    def __init__(self, server: Server, versions: bytes = bytes([0, 0, 4, 5]) + bytes(12)) -> None:
        host, _, port = server.bolt.removeprefix("bolt://").partition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=15)
        self.socket.sendall(b"\x60\x60\xb0\x17" + versions)
        self.version = self.take(4)

    def take(self, count: int) -> bytes:
        data = b""
        while len(data) < count and (more := self.socket.recv(count - len(data))):
            data += more
        return data

    def send(self, message: bytes) -> None:
        self.socket.sendall(struct.pack(">H", len(message)) + message + b"\0\0")

    def reply(self) -> int | None:
        """The kind of the next message; ``None`` at the end."""
        message = b""
        while size := int.from_bytes(self.take(2) or b"\0\0", "big"):
            message += self.take(size)
        return message[1] if message else None

    def log_on(self) -> None:
        self.send(b"\xb1\x01\xa0")
        self.send(b"\xb1\x6a\xa1\x86scheme\x84none")
        assert [self.reply(), self.reply()] == [SUCCESS, SUCCESS]


SUCCESS, RECORD, FAILURE, IGNORED = 0x70, 0x71, 0x7F, 0x7E
RESET, PULL = b"\xb0\x0f", b"\xb1\x3f\xa1\x81n\xff"


def run(text: bytes) -> bytes:
    assert len(text) < 16
    return b"\xb3\x10" + bytes([0x80 + len(text)]) + text + b"\xa0\xa0"


def test_reset_forgets_what_failed(server: Server) -> None:
    line = Line(server)
    line.log_on()
    for message in (run(b"RETURN"), PULL, run(b"RETURN 1"), RESET, run(b"RETURN 1"), PULL):
        line.send(message)
    replies = [line.reply() for _ in range(7)]
    assert replies in (
        [FAILURE, IGNORED, IGNORED, SUCCESS, SUCCESS, RECORD, SUCCESS],
        # The RESET was read before the first message was answered.
        [IGNORED, IGNORED, IGNORED, SUCCESS, SUCCESS, RECORD, SUCCESS],
    )


@pytest.mark.parametrize("version", [(5, 4), (5, 3), (5, 2), (5, 1), (5, 0), (4, 4)])
def test_versions(server: Server, version: tuple[int, int]) -> None:
    major, minor = version
    line = Line(server, bytes([0, 0, minor, major]) + bytes(12))
    assert line.version == bytes([0, 0, minor, major])
    if version >= (5, 1):
        line.log_on()
    else:
        line.send(b"\xb1\x01\xa1\x86scheme\x84none")
        assert line.reply() == SUCCESS
    line.send(run(b"RETURN 1"))
    line.send(PULL)
    assert [line.reply() for _ in range(3)] == [SUCCESS, RECORD, SUCCESS]


def test_strangers_get_nowhere(server: Server) -> None:
    deep = b"\xb1\x01" + b"\xa1\x81a" * 20_000 + b"\xc0"
    for message in (
        run(b"RETURN 1"),
        RESET,
        b"",
        b"\x00",
        b"\xb1\x01",
        deep,
        b"\xb1\x01\xdb\xff\xff\xff\xff",
    ):
        line = Line(server)
        if message:
            line.send(message)
            assert line.reply() in (FAILURE, None)
            assert line.reply() is None
        else:
            line.socket.close()
    # A message of a stranger has a limit, and it is refused before it was read.
    line = Line(server)
    with pytest.raises(OSError):
        for _ in range(100):
            line.socket.sendall(b"\xff\xff" + bytes(65535))
            time.sleep(0.01)
    for greeting in (b"GET / HTTP/1.1\r\n\r\n\r\n", bytes(20), b"\x60\x60\xb0\x17" + bytes(16)):
        stranger = socket.create_connection(
            ("127.0.0.1", int(server.bolt.rpartition(":")[2])), timeout=15
        )
        stranger.sendall(greeting)
        assert stranger.recv(100) in (b"", bytes(4))
    line = Line(server)
    line.log_on()
    line.send(run(b"RETURN 1"))
    assert line.reply() == SUCCESS


def test_tokens_and_certificates(store: Path, tmp_path: Path) -> None:
    from .test_server import certificate

    tokens = tmp_path / "tokens"
    tokens.write_text("reader 0123456789abcdef\nwriter fedcba9876543210\n")
    tokens.chmod(0o600)
    ca, chain, key = certificate(tmp_path, "ours")
    with serving(store, *BOLT, "--tokens", tokens, "--certificate", chain, "--key", key) as server:
        url = server.bolt.replace("bolt://", "bolt+ssc://")

        def client(token: str) -> neo4j.Driver:
            return neo4j.GraphDatabase.driver(url, auth=neo4j.basic_auth("anybody", token))

        with client("fedcba9876543210") as driver:
            driver.execute_query("CREATE (:Secret)")
        with client("0123456789abcdef") as driver:
            assert names(driver, "MATCH (n:Secret) RETURN count(n)") == [1]
            with pytest.raises(neo4j.exceptions.ClientError):
                driver.execute_query("CREATE (:Secret)")
        for wrong in ("", "0123456789abcdeX"):
            with client(wrong) as driver, pytest.raises(neo4j.exceptions.AuthError):
                driver.verify_connectivity()
        trusting = ssl.create_default_context(cafile=str(ca))
        trusted = neo4j.GraphDatabase.driver(
            server.bolt,
            auth=neo4j.bearer_auth("0123456789abcdef"),
            ssl_context=trusting,
            encrypted=True,
        )
        with trusted as driver:
            driver.verify_connectivity()
        with pytest.raises(neo4j.exceptions.ServiceUnavailable):
            with neo4j.GraphDatabase.driver(server.bolt) as driver:
                driver.verify_connectivity()


def test_users_have_passwords(store: Path, tmp_path: Path) -> None:
    users = tmp_path / "users"
    for name, role in (("ann", "writer"), ("bob", "reader")):
        done = run_cli(
            "add-user",
            users,
            name,
            "--role",
            role,
            "--password-file",
            "-",
            stdin=f"of {name}\n".encode(),
        )
        assert done.code == 0, done.err
    assert users.stat().st_mode & 0o077 == 0 and "of ann" not in users.read_text()
    assert run_cli("add-user", users, "ann", "--password-file", "-", stdin=b"x\n").code == 1
    with serving(store, *BOLT, *HTTP, "--users", users) as server:

        def client(name: str, password: str) -> neo4j.Driver:
            return neo4j.GraphDatabase.driver(server.bolt, auth=(name, password))

        with client("ann", "of ann") as driver:
            driver.execute_query("CREATE (:Secret)")
        with client("bob", "of bob") as driver:
            assert names(driver, "MATCH (n:Secret) RETURN count(n)") == [1]
            with pytest.raises(neo4j.exceptions.ClientError) as raised:
                driver.execute_query("CREATE (:Secret)")
            assert raised.value.code == "Neo.ClientError.Security.Forbidden"
        codes = []
        for _ in range(4):
            with client("ann", "wrong") as driver:
                with pytest.raises(neo4j.exceptions.ClientError) as raised:
                    driver.verify_connectivity()
                codes.append(raised.value.code.rpartition(".")[2])
        assert codes == [*["Unauthorized"] * 3, "AuthenticationRateLimit"]
        # Whoever comes by gRPC needs a token, and nobody has one.
        with pytest.raises(nakshi.NakshiError, match="token"):
            nakshi.connect(server.address).count()
        assert post(server, {"statement": "RETURN 1"})[0] == 401
        header = {"Authorization": "Basic " + base64.b64encode(b"bob:of bob").decode()}
        assert post(server, {"statement": "RETURN 1"}, **header)[1]["data"]["values"] == [[1]]


def post(server: Server, body: object, **headers: str) -> tuple[int, Any]:
    """The status and the answer of a statement over HTTP."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers["Content-Type"] = "application/json"
    request = urllib.request.Request(f"{server.http}/db/neo4j/query/v2", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_statements_over_http(store: Path) -> None:
    with serving(store, *HTTP) as server:
        status, found = post(
            server,
            {
                "statement": "MATCH (p:Person) WHERE p.name = $n RETURN p, p.age AS age, date('2024-02-29') AS d",
                "parameters": {"n": "n1"},
            },
        )
        assert status == 202 and found["data"]["fields"] == ["p", "age", "d"]
        ((node, age, day),) = found["data"]["values"]
        assert node["labels"] == ["Person"] and node["properties"]["name"] == "n1"
        assert (age, day) == (21, "2024-02-29") and found["bookmarks"][0].startswith("nakshi:")
        made = post(
            server,
            {
                "statement": "CREATE (:New {x: $x})",
                "parameters": {"x": [1, 2.5]},
                "includeCounters": True,
            },
        )
        assert made[1]["counters"]["nodesCreated"] == 1 and made[1]["counters"]["containsUpdates"]
        for body, code in [
            ({"statement": "RETRUN 1"}, "SyntaxError"),
            ({"statement": "CREATE (:New)", "accessMode": "READ"}, "AccessMode"),
            ({}, "Invalid"),
            (b"{", "Invalid"),
        ]:
            status, found = post(server, body)
            assert status in (400, 422), found
            (error,) = found["errors"]
            assert error["code"].endswith(code) and "\n" not in error["message"]


def test_tools_ask_what_there_is(driver: neo4j.Driver) -> None:
    (components,) = driver.execute_query("CALL dbms.components() YIELD name, versions").records[:1]
    assert components["name"] == "Neo4j Kernel" and components["versions"] == ["5.26.0"]
    assert names(driver, "CALL db.labels()") == ["Person"]
    assert names(driver, "CALL db.relationshipTypes() YIELD relationshipType") == ["KNOWS"]
    assert {"name", "age"} <= set(names(driver, "CALL db.propertyKeys()"))
    assert names(driver, "CALL db.ping()") == [True]


def test_others_need_a_certificate_and_tokens(store: Path) -> None:
    with pytest.raises(RuntimeError, match="needs a certificate"):
        Server(store, "--bolt", "0.0.0.0:0")
