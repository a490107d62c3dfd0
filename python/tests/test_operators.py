"""What operators of a server see, end and read afterwards."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nakshi
import neo4j
import neo4j.exceptions
import pytest

from .conftest import run_cli
from .servers import Server, serving
from .test_bolt import BOLT, HTTP, names, post, store, wait_until

__all__ = ["store"]

LONG = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH sum(a * b) AS s RETURN s"
TERMINATED = "Neo.ClientError.Transaction.Terminated"
PEOPLE = {"ann": "writer", "bob": "reader", "root": "admin"}


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    for name, role in PEOPLE.items():
        added = run_cli(
            "add-user", path, name, "--role", role, "--password-file", "-", stdin=b"secret\n"
        )
        assert added.code == 0, added.err
    return path


def client(server: Server, name: str) -> neo4j.Driver:
    return neo4j.GraphDatabase.driver(server.bolt, auth=(name, "secret"))


def shown(driver: neo4j.Driver, more: str = "") -> list[dict[str, Any]]:
    """The transactions of others than the statement that shows them."""
    records = driver.execute_query(f"SHOW TRANSACTIONS {more}").records
    return [r.data() for r in records if not r["currentQuery"].startswith("SHOW")]


class Asking(threading.Thread):
    """A statement in a thread of its own, with the code of its error."""

    def __init__(self, ask: Any) -> None:
        super().__init__(daemon=True)
        self.ask, self.code = ask, ""
        self.start()

    def run(self) -> None:
        try:
            self.ask()
        except (neo4j.exceptions.Neo4jError, nakshi.QueryError) as error:
            self.code = error.code or ""


def end_soon(driver: neo4j.Driver, asking: Asking) -> None:
    # It is shown without its statement for a moment.
    wait_until(lambda: [one["currentQuery"] for one in shown(driver)] == [LONG])
    (running,) = shown(driver)
    assert running["status"] == "Running"
    (row,) = driver.execute_query("TERMINATE TRANSACTION $id", id=running["transactionId"]).records
    assert row["message"] == "Transaction terminated."
    # By itself, it would run for longer.
    asking.join(timeout=30)
    assert asking.code == TERMINATED
    wait_until(lambda: shown(driver) == [])


def test_statements_are_ended_however_they_came(store: Path) -> None:
    with serving(store, *BOLT, *HTTP) as server:
        with neo4j.GraphDatabase.driver(server.bolt) as driver:
            other = neo4j.GraphDatabase.driver(server.bolt)
            end_soon(driver, Asking(lambda: other.execute_query(LONG)))
            # The connection goes on.
            assert names(other, "RETURN 1") == [1]
            other.close()
            remote = nakshi.connect(server.address)
            end_soon(driver, Asking(lambda: remote.query(LONG).single()))

            def by_http() -> None:
                _, answer = post(server, {"statement": LONG})
                raise nakshi.QueryError("", answer["errors"][0]["code"], None)

            end_soon(driver, Asking(by_http))


def test_transactions_that_wait_are_ended(store: Path) -> None:
    with serving(store, *BOLT) as server, nakshi.connect(server.address) as remote:
        with neo4j.GraphDatabase.driver(server.bolt) as driver:
            with driver.session() as session:
                transaction = session.begin_transaction(metadata={"app": "x"})
                transaction.run("CREATE (:Waiting)").consume()
                (row,) = shown(driver, "YIELD transactionId, currentQuery, protocol, metaData")
                assert row["protocol"] == "bolt" and row["metaData"] == {"app": "x"}
                driver.execute_query("TERMINATE TRANSACTIONS $id", id=row["transactionId"])
                wait_until(lambda: shown(driver) == [])
                with pytest.raises(neo4j.exceptions.ClientError) as raised:
                    transaction.run("RETURN 1").consume()
                assert raised.value.code == TERMINATED
                assert session.run("RETURN 1").single(strict=True)[0] == 1
            with pytest.raises(nakshi.NakshiError, match="terminated"), remote.transaction() as t:
                t.query("CREATE (:Waiting)")
                (row,) = shown(driver, "YIELD transactionId, currentQuery, protocol")
                assert row["protocol"] == "nakshi"
                driver.execute_query("TERMINATE TRANSACTIONS $id", id=row["transactionId"])
                t.query("RETURN 1")
            assert names(driver, "MATCH (n:Waiting) RETURN count(n)") == [0]
            missing = driver.execute_query("TERMINATE TRANSACTIONS 'neo4j-transaction-99999'")
            assert missing.records[0]["message"] == "Transaction not found."


def test_an_admin_sees_and_ends_what_others_run(store: Path, users: Path) -> None:
    with serving(store, *BOLT, "--users", users) as server:
        ann, bob, root = (client(server, name) for name in PEOPLE)
        with ann, bob, root, ann.session() as session:
            transaction = session.begin_transaction()
            transaction.run("CREATE (:Open)").consume()
            (row,) = shown(root)
            assert row["username"] == "ann" and row["clientAddress"].startswith("127.0.0.1:")
            assert shown(bob) == [] and [one["username"] for one in shown(ann)] == ["ann"]
            end = "TERMINATE TRANSACTION $id"
            (refused,) = bob.execute_query(end, id=row["transactionId"]).records
            assert refused["message"] == "Transaction not found."
            transaction.run("CREATE (:Open)").consume()
            (done,) = root.execute_query(end, id=row["transactionId"]).records
            assert (done["username"], done["message"]) == ("ann", "Transaction terminated.")
            with pytest.raises(neo4j.exceptions.ClientError) as raised:
                transaction.commit()
            assert raised.value.code == TERMINATED
            # An admin may change the graph as well.
            root.execute_query("CREATE (:Root)")
            with pytest.raises(neo4j.exceptions.ClientError):
                bob.execute_query("CREATE (:Bob)")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_audit_log(store: Path, users: Path, tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    with serving(store, *BOLT, *HTTP, "--users", users, "--audit-log", log) as server:
        with client(server, "ann") as driver:
            driver.execute_query("CREATE (:Secret {x: $x})", x="hidden")
            driver.execute_query("MATCH (n) RETURN n")
            with driver.session() as session:
                with session.begin_transaction() as transaction:
                    transaction.run("CREATE (:Two)").consume()
                    transaction.commit()
                with session.begin_transaction() as transaction:
                    transaction.run("CREATE (:Three)").consume()
                    transaction.rollback()
            with pytest.raises(neo4j.exceptions.ClientError):
                driver.execute_query("CREATE (:Bad {x: 1 / 0})")
        with client(server, "bob") as driver, pytest.raises(neo4j.exceptions.ClientError):
            driver.execute_query("CREATE (:Bob)")
        with neo4j.GraphDatabase.driver(server.bolt, auth=("ann", "wrong")) as driver:
            with pytest.raises(neo4j.exceptions.AuthError):
                driver.verify_connectivity()
        with client(server, "root") as driver:
            driver.execute_query("TERMINATE TRANSACTION 'neo4j-transaction-1'")
        assert post(server, {"statement": "RETURN 1"})[0] == 401
    found = lines(log)
    told = [(one["event"], one["user"], one["outcome"], one.get("statement")) for one in found]
    logins = [one[1:3] for one in told if one[0] == "login"]
    assert {
        ("ann", "ok"),
        ("bob", "ok"),
        ("root", "ok"),
        ("ann", "refused"),
        ("", "refused"),
    } == set(logins)
    changes = [one for one in told if one[0] != "login"]
    assert changes == [
        ("change", "ann", "ok", "CREATE (:Secret {x: $x})"),
        ("commit", "ann", "ok", None),
        ("change", "ann", "ok", "CREATE (:Two)"),
        ("commit", "ann", "ok", None),
        ("change", "ann", "ok", "CREATE (:Three)"),
        ("rollback", "ann", "ok", None),
        ("change", "ann", "failed", "CREATE (:Bad {x: 1 / 0})"),
        ("change", "bob", "refused", "CREATE (:Bob)"),
        ("terminate", "root", "refused", None),
    ]
    assert "hidden" not in log.read_text() and "secret" not in log.read_text()
    assert all(
        one["client"].startswith("127.0.0.1:") and one["time"].endswith("Z") for one in found
    )
    of_two = [one for one in found if one["event"] in ("change", "commit")][2:4]
    assert of_two[0]["transaction"] == of_two[1]["transaction"] and of_two[1]["commit"] > 0
    assert log.stat().st_mode & 0o077 == 0


def test_an_audit_log_has_changes_by_methods(store: Path, tmp_path: Path) -> None:
    tokens, log = tmp_path / "tokens", tmp_path / "audit.jsonl"
    tokens.write_text("writer 0123456789abcdef\nreader 0123456789fedcba\n")
    tokens.chmod(0o600)
    options = ("--tokens", tokens, "--audit-log", log, "--log-parameters")
    with serving(store, *options) as server:
        with nakshi.connect(server.address, token="0123456789abcdef") as graph:
            graph.append_node(1000)
            graph.query("CREATE (:A {x: $x})", x=7)
            with graph.transaction() as t:
                t.append_node(1001)
                t.query("CREATE (:B)")
        with nakshi.connect(server.address, token="0123456789fedcba") as graph:
            assert graph.count() == 14
        with pytest.raises(nakshi.DeniedError):
            nakshi.connect(server.address, token="0000000000000000").count()
    found = lines(log)
    assert [one["event"] for one in found] == ["commit", "change", "change", "commit", "login"]
    assert found[1]["parameters"] == {"x": 7}
    assert found[0]["user"] == "token-9f9f5111" and found[0]["role"] == "writer"
    assert found[2]["transaction"] == found[3]["transaction"]
    assert (found[4]["outcome"], found[4]["code"]) == ("refused", "denied")


def test_no_change_goes_unwritten(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = folder / "audit.jsonl"
    missing = run_cli(
        "serve", store, "--listen", "127.0.0.1:0", "--audit-log", tmp_path / "no" / "a"
    )
    assert missing.code != 0 and "audit log" in missing.err
    with serving(store, *BOLT, "--audit-log", log) as server:
        with neo4j.GraphDatabase.driver(server.bolt) as driver:
            driver.execute_query("CREATE (:First)")
            log.rename(folder / "older")
            driver.execute_query("CREATE (:Second)")
            assert (
                len(lines(folder / "older")) > 0
                and lines(log)[0]["statement"] == "CREATE (:Second)"
            )
            log.unlink()
            (folder / "older").unlink()
            folder.rmdir()
            # Its line is the one that is lost.
            driver.execute_query("CREATE (:Third)")
            with pytest.raises(neo4j.exceptions.DatabaseError, match="changes are refused"):
                driver.execute_query("CREATE (:Fourth)")
            with pytest.raises(nakshi.NakshiError, match="changes are refused"):
                nakshi.connect(server.address).append_node(1002)
            assert names(driver, "MATCH (n:Third) RETURN count(n)") == [1]
            folder.mkdir()
            driver.execute_query("CREATE (:Fifth)")
            assert names(driver, "MATCH (n:Fourth) RETURN count(n)") == [0]
    found = lines(log)
    assert [one["event"] for one in found][:2] == ["resume", "change"]
    assert "the audit log cannot be written" in server.log and "(:Third)" in server.log


def test_a_slow_log(store: Path) -> None:
    with serving(store, *BOLT, "--slow-log", "0", "--log", "json") as server:
        with neo4j.GraphDatabase.driver(server.bolt) as driver:
            driver.execute_query("UNWIND range(1, 5) AS i RETURN i + $secret", secret=100)
        with nakshi.connect(server.address) as graph:
            list(graph.query("UNWIND range(1, 4) AS i RETURN i"))
    slow = [json.loads(line) for line in server.log.splitlines()]
    slow = [line for line in slow if line["message"] == "a statement took long"]
    bolt, remote = slow
    assert bolt["statement"] == "UNWIND range(1, 5) AS i RETURN i + $secret" and bolt["rows"] == 5
    assert bolt["protocol"] == "bolt" and "100" not in json.dumps(bolt.get("parameters"))
    assert remote["rows"] == 4 and remote["milliseconds"] < 5000
    with serving(store, *BOLT, "--slow-log", "60000", "--log", "json") as server:
        with neo4j.GraphDatabase.driver(server.bolt) as driver:
            driver.execute_query("RETURN 1")
    assert "took long" not in server.log


@contextmanager
def remote_graph(store: Path) -> Iterator[nakshi.RemoteGraph]:
    with serving(store) as server, nakshi.connect(server.address) as graph:
        yield graph


def test_queries_in_a_transaction_on_a_server(store: Path) -> None:
    with remote_graph(store) as graph:
        with graph.transaction() as t:
            made = t.query("CREATE (p:New {x: 1}) RETURN p")
            assert made.summary["counters"]["nodes_created"] == 1
            assert made.single().properties == {"x": 1}
            t.update_node(1, {"age": 99})
            assert t.query("MATCH (p {age: 99}) RETURN p.name").single() == "n1"
            t.query("MATCH (p {name: 'n2'}) SET p.age = 98")
            assert t.get_node_property(2, "age") == 98
            assert graph.query("MATCH (n:New) RETURN count(n)").single() == 0
            rows = t.query("UNWIND range(1, 5000) AS i RETURN i")
            assert sum(row[0] for row in rows) == 12502500
        assert graph.query("MATCH (n:New) RETURN count(n)").single() == 1
        assert graph.get_node_property(2, "age") == 98
        with pytest.raises(ZeroDivisionError), graph.transaction() as t:
            t.query("CREATE (:Gone)")
            raise ZeroDivisionError
        assert graph.query("MATCH (n:Gone) RETURN count(n)").single() == 0


def test_a_query_that_fails_leaves_its_transaction_as_it_was(store: Path) -> None:
    with remote_graph(store) as graph:
        with graph.transaction() as t:
            t.query("CREATE (:Kept)")
            with pytest.raises(nakshi.QueryError) as raised:
                t.query("MATCH (n) RETURN m")
            assert raised.value.position is not None
            with pytest.raises(nakshi.NakshiError):
                t.query("CREATE (:Undone) WITH 1 AS one UNWIND [1, 0] AS i RETURN one / i")
            assert t.query("MATCH (n:Kept) RETURN count(n)").single() == 1
            assert t.query("MATCH (n:Undone) RETURN count(n)").single() == 0
            with pytest.raises(nakshi.DeadlineError):
                t.query(LONG, timeout=0.2)
        assert graph.query("MATCH (n:Kept) RETURN count(n)").single() == 1


def test_queries_in_a_transaction_find_conflicts(store: Path) -> None:
    with remote_graph(store) as graph:
        with pytest.raises(nakshi.ConflictError), graph.transaction() as t:
            age = t.query("MATCH (p {name: 'n3'}) RETURN p.age").single()
            graph.query("MATCH (p {name: 'n3'}) SET p.age = 1")
            t.query("MATCH (p {name: 'n3'}) SET p.age = $age", age=age + 1)
        tries = []

        def add(t: Any) -> None:
            tries.append(1)
            age = t.query("MATCH (p {name: 'n4'}) RETURN p.age").single()
            if len(tries) == 1:
                graph.query("MATCH (p {name: 'n4'}) SET p.age = 50")
            t.query("MATCH (p {name: 'n4'}) SET p.age = $age", age=age + 1)

        graph.transact(add)
        assert len(tries) == 2 and graph.get_node_property(4, "age") == 51


def test_queries_in_a_transaction_of_asyncio(store: Path) -> None:
    import asyncio

    async def use(address: str) -> Any:
        async with await nakshi.connect_async(address) as graph:
            async with graph.transaction() as t:
                await t.query("CREATE (:New)")
                return await (await t.query("MATCH (n:New) RETURN count(n)")).single()

    with serving(store) as server:
        assert asyncio.run(use(server.address)) == 1


def test_drivers_find_the_server_that_writes_at_any_other(store: Path) -> None:
    with serving(store, "--local", "3", *BOLT) as server:
        places = {}
        with nakshi.connect(server.address) as graph:
            wait_until(lambda: graph.status()["leader"] != "")
            leader = graph.status()["leader"]
            for address in graph.status()["servers"]:
                with nakshi.connect(address) as one:
                    places[address] = one.status()["bolt"]
        assert len(set(places.values())) == 3
        for number, place in enumerate(places.values()):
            with neo4j.GraphDatabase.driver(f"neo4j://{place}") as driver:
                driver.execute_query("CREATE (:From {number: $n})", n=number)
                found = driver.execute_query(
                    "MATCH (n:From) RETURN count(n)", routing_=neo4j.RoutingControl.READ
                )
                assert found.records[0][0] == number + 1
                tables = driver._pool.routing_tables["neo4j"]
                assert {str(one) for one in tables.writers} == {places[leader]}
                assert {str(one) for one in tables.readers} == set(places.values())
                assert {str(one) for one in tables.routers} == set(places.values())
