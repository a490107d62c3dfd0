"""Runs the scenarios with the driver for Python; ../README.md says what it reads and writes."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import neo4j
import neo4j.exceptions
import pytz
from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

COUNTERS = (
    *("nodes_created", "nodes_deleted", "relationships_created", "relationships_deleted"),
    *("properties_set", "labels_added", "labels_removed"),
)


def offset(seconds: int) -> pytz.tzinfo.BaseTzInfo:
    return pytz.FixedOffset(seconds // 60)


def datetime(fields: list[Any]) -> DateTime:
    zone = pytz.timezone(fields[7]) if isinstance(fields[7], str) else offset(fields[7])
    return zone.localize(DateTime(*fields[:7]))


FROM_WIRE: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "bytes": bytes.fromhex,
    "map": lambda items: {key: from_wire(value) for key, value in items.items()},
    "date": lambda fields: Date(*fields),
    "localtime": lambda fields: Time(*fields),
    "time": lambda fields: Time(*fields[:4], tzinfo=offset(fields[4])),
    "localdatetime": lambda fields: DateTime(*fields),
    "datetime": datetime,
    "duration": lambda f: Duration(months=f[0], days=f[1], seconds=f[2], nanoseconds=f[3]),
    "point": lambda f: (WGS84Point if f[0] in (4326, 4979) else CartesianPoint)(map(float, f[1:])),
}


def from_wire(value: Any) -> Any:
    if isinstance(value, list):
        return [from_wire(item) for item in value]
    if isinstance(value, dict):
        ((kind, inner),) = value.items()
        return FROM_WIRE[kind](inner)
    return value


def clock(value: Time | DateTime) -> list[int]:
    return [value.hour, value.minute, value.second, value.nanosecond]


def seconds(value: Time | DateTime) -> int:
    # The offset of a time does not depend on the day.
    at = value if isinstance(value, DateTime) else None
    return int(value.tzinfo.utcoffset(at).total_seconds())


def named(value: DateTime) -> int | str:
    """The name of a zone, or an offset in seconds."""
    name = getattr(value.tzinfo, "zone", None)
    return name if name and "/" in name else seconds(value)


def relationship(value: Relationship) -> Any:
    return {"type": value.type, "properties": to_wire(dict(value))["map"]}


def path(value: Path) -> list[Any]:
    items = [to_wire(value.nodes[0])]
    for before, edge, after in zip(value.nodes, value.relationships, value.nodes[1:]):
        direction = "forward" if edge.start_node == before else "backward"
        items += [{direction: relationship(edge)}, to_wire(after)]
    return items


def to_wire(value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int():
            return {"int": str(value)}
        case float():
            return {"float": repr(value)}
        case bytes() | bytearray():
            return {"bytes": value.hex()}
        case list():
            return [to_wire(item) for item in value]
        case Node():
            fields = {"labels": sorted(value.labels), "properties": to_wire(dict(value))["map"]}
            return {"node": fields}
        case Relationship():
            return {"relationship": relationship(value)}
        case Path():
            return {"path": path(value)}
        case dict():
            return {"map": {key: to_wire(item) for key, item in value.items()}}
        case DateTime():
            fields = [value.year, value.month, value.day, *clock(value)]
            if value.tzinfo is None:
                return {"localdatetime": fields}
            return {"datetime": [*fields, named(value)]}
        case Date():
            return {"date": [value.year, value.month, value.day]}
        case Time() if value.tzinfo is None:
            return {"localtime": clock(value)}
        case Time():
            return {"time": [*clock(value), seconds(value)]}
        case Duration():
            return {"duration": [value.months, value.days, value.seconds, value.nanoseconds]}
        case Point():
            return {"point": [value.srid, *value]}
    raise TypeError(f"a driver's value of type {type(value)}")


def code(error: Exception) -> str:
    if isinstance(error, neo4j.exceptions.Neo4jError):
        return error.code
    unreachable = isinstance(error, neo4j.exceptions.ServiceUnavailable)
    return "ServiceUnavailable" if unreachable else f"{type(error).__name__}: {error}"


def answer(columns: list[str], rows: list[Any], summary: neo4j.ResultSummary) -> Any:
    changed = {name: getattr(summary.counters, name) for name in COUNTERS}
    return {
        "columns": list(columns),
        "rows": [[to_wire(value) for value in row] for row in rows],
        "counters": {name: count for name, count in changed.items() if count},
        "type": summary.query_type,
        "database": summary.database,
        "plan": summary.plan is not None,
    }


def read(result: neo4j.Result) -> Any:
    rows = [record.values() for record in result]
    return answer(result.keys(), rows, result.consume())


class Scenario:
    """A scenario with its driver."""

    def __init__(self, config: dict[str, Any], scenario: dict[str, Any]) -> None:
        self.config, self.scenario = config, scenario
        self.arguments = scenario.get("arguments", {})
        self.options = {"database": scenario.get("database")}
        self.driver = self.connect()

    def auth(self, connect: dict[str, Any]) -> neo4j.Auth | None:
        if token := connect.get("token"):
            return neo4j.bearer_auth(self.config["tokens"][token])
        if user := connect.get("user"):
            password = connect.get("password") or self.config["passwords"][user]
            return neo4j.basic_auth(user, password)
        return None

    def connect(self, **options: Any) -> neo4j.Driver:
        connect = self.scenario.get("connect", {})
        url = f"{connect.get('scheme', 'bolt')}://{self.config[connect.get('server', 'plain')]}"
        if connect.get("trust"):
            options["encrypted"] = True
            options["trusted_certificates"] = neo4j.TrustCustomCAs(self.config["authority"])
        return neo4j.GraphDatabase.driver(url, auth=self.auth(connect), **options)

    def steps(self) -> list[Any]:
        answers = []
        open: dict[str, tuple[neo4j.Session, neo4j.Transaction]] = {}
        with self.driver.session(**self.options) as session:
            for step in self.scenario["steps"]:
                try:
                    answers.append(self.step(step, session, open))
                except Exception as error:
                    answers.append({"error": code(error)})
        for other, _ in open.values():
            other.close()
        return answers

    def step(self, step: Any, session: neo4j.Session, open: dict[str, Any]) -> Any:
        timeout = step["timeout"] / 1000 if "timeout" in step else None
        metadata = from_wire(step.get("metadata"))
        if name := step.get("begin"):
            other = self.driver.session(**self.options)
            open[name] = other, other.begin_transaction(metadata, timeout)
            return {}
        for end in ("commit", "rollback", "close"):
            if name := step.get(end):
                getattr(open[name][1], end)()
                return {}
        text, parameters = step["cypher"], from_wire(step.get("parameters", {"map": {}}))
        match step.get("by"):
            case "write":
                return session.execute_write(lambda t: read(t.run(text, parameters)))
            case "read":
                return session.execute_read(lambda t: read(t.run(text, parameters)))
            case "query":
                found = self.driver.execute_query(
                    text, parameters, database_=self.options["database"]
                )
                return answer(found.keys, [r.values() for r in found.records], found.summary)
        if name := step.get("in"):
            return read(open[name][1].run(text, parameters))
        return read(session.run(neo4j.Query(text, metadata, timeout), parameters))

    # Behaviours.

    def one(self, text: str, driver: neo4j.Driver | None = None, **parameters: Any) -> Any:
        return (driver or self.driver).execute_query(text, parameters).records[0][0]

    def element_ids(self) -> Any:
        node = self.one("CREATE (n:Element) RETURN n")
        return self.one("MATCH (n) WHERE elementId(n) = $id RETURN count(n)", id=node.element_id)

    def streamed(self) -> Any:
        count = total = 0
        with self.driver.session(fetch_size=self.arguments["fetch"]) as session:
            for record in session.run(self.arguments["cypher"]):
                count, total = count + 1, total + record[0]
        return [count, total]

    def left_early(self) -> Any:
        with self.driver.session(fetch_size=10) as session:
            result = session.run(self.arguments["cypher"])
            total = sum(next(result)[0] for _ in range(20))
            result.consume()
            return [total, session.run("RETURN 1").single()[0]]

    def by_turns(self) -> Any:
        sums = [0, 0]
        with self.driver.session(fetch_size=10) as session:
            with session.begin_transaction() as transaction:
                text = "UNWIND range(1, 1000) AS i RETURN i"
                for pair in zip(transaction.run(text), transaction.run(text)):
                    sums = [total + record[0] for total, record in zip(sums, pair)]
        return sums

    def failing_function(self) -> Any:
        tries = 0

        def work(transaction: neo4j.ManagedTransaction) -> None:
            nonlocal tries
            tries += 1
            transaction.run("CREATE (:Failing)").consume()
            raise ValueError("of the program")

        with self.driver.session() as session:
            try:
                session.execute_write(work)
            except ValueError:
                return [tries, self.one("MATCH (n:Failing) RETURN count(n)")]

    def conflict(self) -> Any:
        self.one("CREATE (n:Conflict {n: 0}) RETURN 1")
        tries = 0

        def work(transaction: neo4j.ManagedTransaction) -> None:
            nonlocal tries
            tries += 1
            n = transaction.run("MATCH (c:Conflict) RETURN c.n").single()[0]
            if tries == 1:
                self.one("MATCH (c:Conflict) SET c.n = 10 RETURN 1")
            transaction.run("MATCH (c:Conflict) SET c.n = $n", n=n + 1).consume()

        with self.driver.session() as session:
            session.execute_write(work)
        return [tries, self.one("MATCH (c:Conflict) RETURN c.n")]

    def counters(self) -> Any:
        self.one("CREATE (n:Counter {n: 0}) RETURN 1")

        def work(transaction: neo4j.ManagedTransaction) -> None:
            # A server with locks takes one here.
            n = transaction.run("MATCH (c:Counter) SET c.held = true RETURN c.n").single()[0]
            transaction.run("MATCH (c:Counter) SET c.n = $n", n=n + 1).consume()

        def add() -> None:
            with self.driver.session() as session:
                for _ in range(5):
                    session.execute_write(work)

        threads = [threading.Thread(target=add) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return self.one("MATCH (c:Counter) RETURN c.n")

    def bookmarks(self) -> Any:
        with self.driver.session() as session:
            session.execute_write(lambda t: t.run("CREATE (:Marked)").consume())
            marks = session.last_bookmarks()
        with self.driver.session(bookmarks=marks) as session:
            count = session.execute_read(
                lambda t: t.run("MATCH (n:Marked) RETURN count(n)").single()[0]
            )
        return [len(marks.raw_values) == 1, count]

    def wrong_bookmark(self) -> Any:
        marks = neo4j.Bookmarks.from_raw_values(["no bookmark of this graph"])
        with self.driver.session(bookmarks=marks) as session:
            try:
                session.run("RETURN 1").consume()
            except neo4j.exceptions.Neo4jError as error:
                return error.code

    def server_info(self) -> Any:
        self.driver.verify_connectivity()
        return self.driver.get_server_info().agent.partition("/")[0]

    def many_sessions(self) -> Any:
        found = []

        def work(number: int) -> None:
            with self.driver.session() as session:
                found.append(session.run("RETURN $x", x=number).single()[0])

        threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(16)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return sum(found)

    def changed(self, text: str, **parameters: Any) -> tuple[str, neo4j.Bookmarks]:
        """Makes a change, and returns the address of the server that has made it, and the bookmark."""
        with self.driver.session() as session:
            found = session.execute_write(lambda t: t.run(text, **parameters).consume())
            host, port = found.server.address[:2]
            return f"{host}:{port}", session.last_bookmarks()

    def routed(self) -> Any:
        address, _ = self.changed("CREATE (:Led)")
        return address == self.config["leader"]

    def bookmarks_everywhere(self) -> Any:
        _, marks = self.changed("CREATE (:Everywhere)")

        def count(transaction: neo4j.ManagedTransaction) -> Any:
            return transaction.run("MATCH (n:Everywhere) RETURN count(n)").single()[0]

        counts = []
        for address in self.config["servers"]:
            with (
                neo4j.GraphDatabase.driver(f"bolt://{address}") as driver,
                driver.session(bookmarks=marks) as session,
            ):
                counts.append(session.execute_read(count))
        return counts

    def leader_lost(self) -> Any:
        count, lost = 0, 0
        until = time.monotonic() + self.arguments["seconds"]
        while time.monotonic() < until:
            try:
                self.changed("MERGE (:Lasting {i: $i})", i=count)
                count += 1
            except neo4j.exceptions.ServiceUnavailable:
                # The driver does not repeat a commit of which it does not know the outcome.
                lost += 1
                if lost > self.arguments["kills"]:
                    raise
            time.sleep(0.02)
        return [count > 50, count - self.one("MATCH (n:Lasting) RETURN count(n)")]

    def liveness(self) -> Any:
        with self.connect(liveness_check_timeout=0) as driver:
            return [self.one("RETURN 1", driver) for _ in range(2)]

    def cancelled(self) -> Any:
        async def give_up() -> bool:
            address = f"bolt://{self.config['plain']}"
            async with neo4j.AsyncGraphDatabase.driver(address) as driver:
                session = driver.session()

                async def work() -> None:
                    await (await session.run(self.arguments["cypher"])).consume()

                running = asyncio.create_task(work())
                await asyncio.sleep(0.3)
                ran = not running.done()
                session.cancel()
                running.cancel()
                return ran

        return [asyncio.run(give_up()), self.one("RETURN 1")]

    def session_user(self) -> Any:
        reader = self.auth({"user": "reader"})
        with self.driver.session(auth=reader) as session:
            try:
                session.run("CREATE (:Secret)").consume()
                first = "written"
            except neo4j.exceptions.ClientError:
                first = "refused"
        return [first, self.one("CREATE (n:Secret) RETURN 1")]


def run(config: dict[str, Any], scenario: dict[str, Any]) -> Any:
    one = Scenario(config, scenario)
    with one.driver:
        if "steps" in scenario:
            return {"steps": one.steps()}
        return {"value": getattr(one, scenario["behaviour"])()}


def main() -> None:
    with open(sys.argv[1]) as file:
        config = json.load(file)
    for scenario in config["scenarios"]:
        try:
            done = run(config, scenario)
        except Exception as error:
            done = {"failed": code(error)}
        print(json.dumps({"name": scenario["name"], **done}), flush=True)


main()
