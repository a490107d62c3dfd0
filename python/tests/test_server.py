"""Graphs on servers: the same answers and exceptions as in this process, and what can go wrong."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import nakshi
import pyarrow as pa
import pytest

from .conftest import SCALE, Outcome, content, random_edges
from .servers import Server, Writers, serving


def build(path: Path) -> Path:
    """A graph with values of all types, some of them missing."""
    import random

    rng = random.Random(7)
    n = 60
    nodes = {
        "id": list(range(n)),
        "name": [f"n{i % 17}" for i in range(n)],
        "age": [None if i % 7 == 0 else i % 30 for i in range(n)],
        "score": [i / 3 for i in range(n)],
        "raw": [bytes([i]) for i in range(n)],
        "tags": [[f"t{i % 3}", f"u{i % 5}"] for i in range(n)],
        "born": [datetime.date(1990, 1, 1) + datetime.timedelta(days=i) for i in range(n)],
        "seen": [datetime.datetime(2026, 1, 1, i % 24, 0, 0, i) for i in range(n)],
        "member": [i % 2 == 0 for i in range(n)],
    }
    pairs = sorted(set(random_edges(rng, n, 400)))
    edges = {
        "source": [a for a, _ in pairs],
        "target": [b for _, b in pairs],
        "type": ["knows" if (a + b) % 3 else "likes" for a, b in pairs],
        "timestamp": [(7 * a + b) % 50 for a, b in pairs],
        "weight": [a / (b + 1) for a, b in pairs],
        "note": [None if b % 4 else f"e{a}" for a, b in pairs],
    }
    nakshi.build(path, edges=pa.table(edges), nodes=pa.table(nodes), progress=False)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "graph.nakshi")


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[nakshi.Graph, nakshi.RemoteGraph]]:
    """A graph, opened here and on a server."""
    store = build(tmp_path_factory.mktemp("served") / "graph.nakshi")
    with serving(store) as server, nakshi.connect(server.address) as remote:
        yield nakshi.open(store), remote


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call returns, or its exception."""
    try:
        return ("returned", call())
    except nakshi.NakshiError as error:
        return ("raised", type(error), str(error))


#: Queries, each of one argument, which is the graph.
QUERIES: dict[str, Callable[[Any], Any]] = {
    "property": lambda g: [g.get_node_property(id, "name") for id in range(60)],
    "all properties": lambda g: [g.get_node_property(id) for id in range(60)],
    "named": lambda g: g.get_node_property(7, ["age", "born", "raw"]),
    "many": lambda g: g.get_node_properties(range(60), ["seen", "tags"]),
    "many, one name": lambda g: g.get_node_properties([3, 4], "score"),
    "part": lambda g: [g.read_node_property(7, "name", 0, 1), g.read_node_property(7, "raw", 5, 9)],
    "no node": lambda g: g.get_node_property(99, "name"),
    "no property": lambda g: g.get_node_property(1, "nam"),
    "all nodes": lambda g: g.get_node_ids(),
    "equal": lambda g: g.get_node_ids({"name": "n3", "member": True}),
    "range": lambda g: g.get_node_ids({"age": nakshi.between(3, 9) | nakshi.is_null()}),
    "not": lambda g: g.get_node_ids({"name": ~nakshi.starts("n1"), "tags": "t1"}),
    "contains": lambda g: g.get_node_ids({"name": nakshi.contains("6")}),
    "dates": lambda g: g.get_node_ids({"born": nakshi.ge(datetime.date(1990, 2, 1))}),
    "one of": lambda g: g.get_node_ids({"age": nakshi.one_of([1, 2, 40])}),
    "ordered": lambda g: g.get_node_ids(order_by="age", descending=True, limit=7),
    "ages in order": lambda g: g.get_node_properties(
        g.get_node_ids(order_by="age", descending=True, limit=7), "age"
    ),
    "wrong type": lambda g: g.get_node_ids({"age": "old"}),
    "no order": lambda g: g.get_node_ids(order_by="tags"),
    "count": lambda g: [g.count(), g.count({"member": True}), g.count(by="tags")],
    "neighbors": lambda g: [sorted(g.get_neighbor_ids(id)) for id in range(60)],
    "neighbors of a type": lambda g: g.get_neighbor_ids(
        1, "knows", {"member": True}, order_by="age"
    ),
    "no type": lambda g: g.get_neighbor_ids(1, "know"),
    "records": lambda g: [[r.edge_type for r in g.get_edge_record(id)] for id in range(60)],
    "record": lambda g: list(g.get_edge_record(1, "knows")),
    "reversed": lambda g: list(reversed(g.get_edge_record(1, "knows"))),
    "slices": lambda g: [
        g.get_edge_record(1, "knows")[part] for part in (slice(1, 3), slice(9, 0, -2))
    ],
    "place": lambda g: [g.get_edge_record(1, "knows")[-1], repr(g.get_edge_record(1, "knows"))],
    "edge range": lambda g: g.get_edge_range(g.get_edge_record(1, "knows"), 5, 30),
    "edge data": lambda g: g.get_edge_data(g.get_edge_record(1, "knows"), 1),
    "no edge data": lambda g: g.get_edge_data(g.get_edge_record(1, "knows"), 999),
    "edge id": lambda g: g.get_edge_record(1, "knows").edge_id(0),
    "edge": lambda g: [g.get_edge(g.get_edge_record(1, "knows").edge_id(i)) for i in range(3)],
    "no edge": lambda g: g.get_edge(nakshi.property.EdgeId(1, "knows", 1, 12345)),
    "incoming": lambda g: g.get_incoming_edges(1),
    "incoming of a type": lambda g: g.get_incoming_edges(1, "likes"),
    "edges": lambda g: sorted(g.find_edges({"note": "e1"}, edge_type="knows"), key=str),
    "edges by time": lambda g: [
        e[2].timestamp for e in g.find_edges(order_by="timestamp", limit=9)
    ],
    "too many edges": lambda g: g.find_edges(),
    "count edges": lambda g: [g.count_edges(), g.count_edges({"weight": nakshi.gt(1.0)})],
    "count edges by": lambda g: g.count_edges(edge_type="likes", by="note"),
    "object": lambda g: [g.tao.obj_get(5), g.tao.obj_get(99), g.tao.obj_get(98)],
    "assoc": lambda g: [g.tao.assoc_count(1, "knows"), g.tao.assoc_range(1, "knows", 1, 3)],
    "assoc of nobody": lambda g: g.tao.assoc_count(99, "knows"),
    "assoc get": lambda g: g.tao.assoc_get(1, "knows", list(range(20)), 3, 40),
    "assoc time": lambda g: g.tao.assoc_time_range(1, "knows", 40, 10, 5),
    "search": lambda g: [sorted(g.search.friends(1)), g.search.find({"name": "n1"})],
    "search data": lambda g: [g.search.friends_data(1, "likes"), g.search.friends_by(1, "knows")],
    "friends with": lambda g: g.search.friends_with(1, {"member": False}),
    "schema": lambda g: str(g.schema()),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_server_answers_as_the_graph_itself(
    both: tuple[nakshi.Graph, nakshi.RemoteGraph], name: str
) -> None:
    graph, remote = both
    wanted = outcome(lambda: QUERIES[name](graph))
    assert outcome(lambda: QUERIES[name](remote)) == wanted
    with remote.transaction() as t:
        if name != "schema":
            assert outcome(lambda: QUERIES[name](t)) == wanted


class Piped:
    """A graph whose queries each go through a pipeline."""

    def __init__(self, graph: nakshi.RemoteGraph, part: str = "") -> None:
        self._graph = graph
        self._part = part

    def __getattr__(self, name: str) -> Any:
        if name in ("tao", "search"):
            return Piped(self._graph, name)

        def ask(*arguments: Any, **named: Any) -> Any:
            with self._graph.pipeline() as pipeline:
                asks = getattr(pipeline, self._part) if self._part else pipeline
                pending = getattr(asks, name)(*arguments, **named)
                also = pipeline.get_node_property(3, "name")
            assert len(pipeline) == 2 and also.result() == "n3"
            found = pending.result()
            assert pending.result() == found
            return found

        return ask


#: Queries that read edge records, and the schema.
RECORDS = frozenset(
    ["records", "record", "reversed", "slices", "place", "edge range", "edge data", "edge id"]
    + ["no edge data", "edge", "schema"]
)


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - RECORDS))
def test_a_pipeline_answers_as_the_graph_itself(
    both: tuple[nakshi.Graph, nakshi.RemoteGraph], name: str
) -> None:
    graph, remote = both
    assert outcome(lambda: QUERIES[name](Piped(remote))) == outcome(lambda: QUERIES[name](graph))


def test_a_pipeline_reads_no_records_and_changes_nothing(
    both: tuple[nakshi.Graph, nakshi.RemoteGraph],
) -> None:
    remote = both[1]
    commit = remote.status()["commit"]
    with remote.pipeline() as p:
        with pytest.raises(nakshi.UnsupportedError, match="edge records"):
            p.get_edge_record(1, "knows")
        with pytest.raises(nakshi.UnsupportedError, match="changes"):
            p.tao.obj_delete(1)
        with pytest.raises(AttributeError, match="no query 'append_node'"):
            p.append_node(5)
        with pytest.raises(TypeError, match="a property is"):
            p.get_node_ids({"age": object()})
        late = p.search.friends_by(1, "knows")
    assert len(p) == 1 and late.result() == remote.search.friends_by(1, "knows")
    # One whose answer is asked for before the end of the block is sent then.
    with remote.pipeline() as p:
        assert p.count().result() == remote.count()
    assert remote.status()["commit"] == commit


def change(graph: Any) -> list[Any]:
    """All changes there are, and what they return."""
    told = [
        graph.append_node(100, {"name": "x", "age": 5, "since": datetime.date(2020, 2, 2)}),
        graph.append_node(2**70),
        graph.update_node(1, {"age": None, "score": 1.5}),
        graph.update_node(2, {"name": "only"}, replace=True),
        graph.append_edge(100, "knows", 1, 77, {"weight": 2.5}),
        graph.delete_node(3),
        graph.delete_node(3),
        graph.change_type(1, "knows", graph.get_neighbor_ids(1, "knows")[0], "likes"),
        graph.delete_edge(4, "knows", 4),
        graph.set_inverse("likes", "liked_by"),
        graph.add_labels(5, "Person", "Member"),
        graph.remove_labels(5, "Person"),
        graph.tao.assoc_add(6, "likes", 7, 3),
        graph.tao.obj_update(6, {"age": 1}),
    ]
    with graph.batch() as batch:
        batch.append_node(101)
        batch.append_edge(101, "knows", 100)
    edge = graph.create_edge(101, "knows", 100, 5, {"note": "second"})
    graph.update_edge(edge, {"note": "third"})
    told += [batch.changed, graph.get_edge(edge), graph.get_node_ids({"labels": "Member"})]
    return [*told, graph.remove_edge(graph.create_edge(1, "knows", 2))]


def test_a_server_changes_as_the_graph_itself(store: Path, tmp_path: Path) -> None:
    twin = nakshi.open(build(tmp_path / "twin.nakshi"))
    wanted = change(twin)
    with serving(store) as server, nakshi.connect(server.address) as remote:
        assert change(remote) == wanted
        impossible: list[Callable[[Any], Any]] = [
            lambda g: g.append_node(101),
            lambda g: g.append_node("text"),
            lambda g: g.append_edge(101, "knows", 999),
            lambda g: g.update_node(101, {"age": "text"}),
        ]
        for call in impossible:
            kind, told = outcome(partial(call, remote))[1:]
            assert (kind, told.replace(store.name, "twin.nakshi")) == outcome(partial(call, twin))[
                1:
            ]
    graph = nakshi.open(store)
    assert content(graph) == content(twin)
    assert nakshi.check(store, progress=False)["ok"]


@pytest.mark.parametrize("_", range(2 * SCALE))
def test_what_was_acknowledged_survives_a_kill(store: Path, _: int) -> None:
    server = Server(store)
    remote = nakshi.connect(server.address)
    done: list[int] = []

    def write(number: int) -> None:
        for id in range(1000 * number, 1000 * number + 1_000_000):
            try:
                remote.append_node(id, {"age": number})
            except nakshi.UnavailableError as error:
                assert "may have been made or not" in str(error)
                return
            done.append(id)

    threads = [threading.Thread(target=write, args=(1000 * number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    while len(done) < 200:
        assert all(thread.is_alive() for thread in threads)
        time.sleep(0.001)
    server.process.kill()
    for thread in threads:
        thread.join()
    assert server.wait() == -signal.SIGKILL
    with serving(store) as again, nakshi.connect(again.address) as other:
        found = set(other.get_node_ids())
    # At most one commit of each thread was made without an answer.
    assert found.issuperset(done) and 60 + len(done) <= len(found) <= 60 + len(done) + 4


def test_every_commit_is_made_once_while_the_server_is_killed(store: Path) -> None:
    """Seen red with repeated commits that are not looked for in the log."""
    server = Server(store)
    with Writers(nakshi.connect(server.address)) as writers:
        for _ in range(3 * SCALE):
            writers.wait_for(10)
            server.process.kill()
            server.wait()
            server = Server(store, listen=server.listen)
    writers.check()
    assert server.end() == 0


def test_a_client_finds_its_server_again(store: Path) -> None:
    first = Server(store)
    remote = nakshi.connect(first.address)
    remote.append_node(1000)
    assert first.end() == 0
    with pytest.raises(nakshi.UnavailableError, match=f"{first.listen}.*does the server run"):
        remote.count()
    with pytest.raises(nakshi.UnavailableError, match="may have been made or not"):
        remote.append_node(1001)
    second = Server(store, listen=first.listen)
    assert remote.count() == 61
    assert second.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_in_order(store: Path, number: int) -> None:
    server = Server(store)
    with nakshi.connect(server.address) as remote:
        remote.append_node(1000)
        with pytest.raises(nakshi.StoreLockedError):
            nakshi.open(store).append_node(1001)
        began = time.monotonic()
        assert server.end(number) == 0
        assert time.monotonic() - began < 5
    nakshi.open(store).append_node(1001)


def test_ctrl_c_and_timeouts_end_a_call_that_waits(store: Path) -> None:
    server = Server(store)
    server.process.send_signal(signal.SIGSTOP)
    program = f"""
import nakshi, os, signal, threading, time
timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
timer.start()
began = time.monotonic()
try:
    nakshi.connect({server.address!r})
except KeyboardInterrupt:
    print(time.monotonic() - began)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30
    )
    assert float(done.stdout) < 0.9, done.stderr
    with pytest.raises(nakshi.DeadlineError, match="timeout="):
        nakshi.connect(server.address, timeout=0.2)
    server.process.send_signal(signal.SIGCONT)
    assert server.end() == 0


def test_a_connection_carries_any_number_of_transactions(store: Path) -> None:
    """Seen red with the library's limit of calls that a client drops before their end has come."""
    with serving(store) as server, nakshi.connect(server.address) as remote:
        for age in range(3000):
            remote.transact(lambda t, age=age: t.update_node(1, {"age": age}))
        assert remote.get_node_property(1, "age") == 2999


def test_a_forked_child_has_a_connection_of_its_own(store: Path) -> None:
    with serving(store) as server, nakshi.connect(server.address) as remote:
        assert remote.count() == 60
        child = os.fork()
        if child == 0:
            try:
                remote.append_node(1000)
                os._exit(0)
            except BaseException:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert remote.count() == 61


def secret(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_tokens_say_who_may_read_and_who_may_write(store: Path, tmp_path: Path) -> None:
    reader, writer = "r" * 32, "w" * 32
    tokens = secret(tmp_path / "tokens", f"# ours\nreader {reader}\nwriter {writer}\n")
    with serving(store, "--tokens", tokens) as server:
        for wrong in (None, "x" * 32, ""):
            with pytest.raises(nakshi.DeniedError, match="token"):
                nakshi.connect(server.address, token=wrong)
        with nakshi.connect(server.address, token=reader) as remote:
            assert remote.count() == 60
            with pytest.raises(nakshi.DeniedError, match="writer"):
                remote.append_node(1000)
            with pytest.raises(nakshi.DeniedError), remote.transaction():
                pass
        with nakshi.connect(server.address, token=writer) as remote:
            remote.append_node(1000)
            assert remote.count() == 61
    tokens.chmod(0o644)
    with pytest.raises(RuntimeError, match="chmod 600"):
        Server(store, "--tokens", tokens)


def certificate(
    folder: Path, name: str, *options: str, days: int = 1, hosts: Sequence[str] = ("127.0.0.1",)
) -> tuple[Path, Path, Path]:
    """An authority, and a certificate of it for some addresses with its key."""
    ca, ca_key = folder / f"{name}-ca.pem", folder / f"{name}-ca.key"
    cert, key, request = (folder / f"{name}.{end}" for end in ("pem", "key", "csr"))

    def openssl(*arguments: object) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl(*new, "-x509", "-subj", f"/CN={name}-ca", "-keyout", ca_key, "-out", ca, "-days", 2)
    openssl(*new, "-subj", "/CN=server", "-keyout", key, "-out", request)
    extensions = folder / f"{name}.ext"
    extensions.write_text("subjectAltName=" + ",".join(f"IP:{host}" for host in hosts) + "\n")
    signed = ["x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial"]
    openssl(*signed, "-out", cert, "-extfile", extensions, "-days", days, *options)
    return ca, cert, key


def test_certificates_encrypt_and_prove_the_server(store: Path, tmp_path: Path) -> None:
    ca, cert, key = certificate(tmp_path, "ours")
    foreign, *_ = certificate(tmp_path, "foreign")
    with serving(store, "--certificate", cert, "--key", key) as server:
        with nakshi.connect(server.address, ca=ca) as remote:
            assert remote.count() == 60
        for wrong in (foreign, None):
            with pytest.raises(nakshi.UnavailableError):
                nakshi.connect(server.address, ca=wrong, timeout=5)
    old_ca, old, old_key = certificate(tmp_path, "old", days=-1)
    with (
        serving(store, "--certificate", old, "--key", old_key) as server,
        pytest.raises(nakshi.UnavailableError, match="(?i)expired"),
    ):
        nakshi.connect(server.address, ca=old_ca)
    with pytest.raises(RuntimeError, match="cannot start"):
        Server(store, "--certificate", key, "--key", cert)


def test_strangers_are_kept_out(store: Path) -> None:
    for listen in ("0.0.0.0:0", "[::]:0"):
        with pytest.raises(RuntimeError, match="--certificate.*--tokens"):
            Server(store, listen=listen)


def test_a_read_only_server_follows_the_writer(store: Path) -> None:
    graph = nakshi.open(store)
    with serving(store, "--read-only") as server, nakshi.connect(server.address) as remote:
        with pytest.raises(nakshi.DeniedError, match="read-only"):
            remote.append_node(1000)
        graph.append_node(1001)
        deadline = time.monotonic() + 10
        while remote.count() == 60:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert remote.status()["read_only"] and remote.get_node_property(1001) == {}


def test_limits_are_enforced(store: Path) -> None:
    with (
        serving(store, "--max-rows", 10, "--max-request", "64KiB", "--max-calls", 3) as server,
        nakshi.connect(server.address) as remote,
    ):
        with pytest.raises(nakshi.OverloadedError, match="limit="):
            remote.get_node_ids()
        assert len(remote.get_node_ids(limit=10)) == 10
        with pytest.raises(nakshi.OverloadedError):
            remote.append_node(1000, {"name": "x" * 100_000})
        running = [remote.transaction() for _ in range(3)]
        with pytest.raises(nakshi.OverloadedError, match="3 calls"):
            remote.count()
        for transaction in running:
            with transaction:
                pass
        assert remote.count() == 60
    with serving(store, "--max-memory", "1MiB") as server, nakshi.connect(server.address) as remote:
        with pytest.raises(nakshi.OverloadedError, match="max-memory"), remote.transaction() as t:
            for id in range(1000, 11_000):
                t.append_node(id)
        assert remote.count() == 60


def test_the_command_line_describes_a_server(
    store: Path, tmp_path: Path, cli: Callable[..., Outcome]
) -> None:
    with serving(store) as server:
        found = cli("status", server.address, "--json").json["servers"]
        (one,) = found
        assert one["role"] == "server" and one["pid"] == server.process.pid and one["lag"] == 0
        assert (one["nodes"], one["read_only"]) == (60, False)
        told = cli("status", server.address).out
        assert f"pid {server.process.pid}" in told.splitlines()[0] and "60 nodes" in told
        taken = cli("serve", build(tmp_path / "other.nakshi"), "--listen", server.listen)
        assert taken.code == 1 and "choose another --listen" in taken.err
        locked = cli("serve", store, "--listen", "127.0.0.1:0")
        assert locked.code == 1 and "written by another process" in locked.err
    gone = cli("status", server.address)
    assert gone.code == 1 and "does the server run" in gone.err
    assert cli("status", "http://x").code == 1
    assert cli("serve", tmp_path / "nothing.nakshi").code == 1
    assert cli("serve", store, "--key", "x").code == 2
    plain = tmp_path / "plain.nakshi"
    nakshi.build(plain, edges=([0, 1], [1, 2]), progress=False)
    refused = cli("serve", plain, "--listen", "127.0.0.1:0")
    assert refused.code == 1 and "propert" in refused.err


def test_metrics_count_what_was_asked(store: Path) -> None:
    options = ("--http", "127.0.0.1:0", "--max-calls", 1)
    with serving(store, *options) as server, nakshi.connect(server.address) as remote:
        for id in (1, 2, 99):
            outcome(partial(remote.get_node_property, id))
        remote.append_node(1000)
        with remote.transaction(), pytest.raises(nakshi.OverloadedError):
            remote.count()
        lines = server.metrics()
    calls = "nakshi_calls_total{call="
    assert lines[calls + '"node_properties",outcome="ok"}'] == "2"
    assert lines[calls + '"node_properties",outcome="unknown_node"}'] == "1"
    assert lines[calls + '"commit",outcome="ok"}'] == "1"
    assert lines[calls + '"refused",outcome="overloaded"}'] == "1"
    assert lines['nakshi_call_duration_seconds_count{call="node_properties"}'] == "3"
    assert (lines["nakshi_commit"], lines["nakshi_nodes"]) == ("1", "61")
    assert int(lines["nakshi_log_bytes"]) > 0 and lines["nakshi_connections"] == "1"
    with pytest.raises(RuntimeError, match="a proxy"):
        Server(store, "--http", "0.0.0.0:0")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_server_logs_what_its_operator_needs(store: Path, form: str) -> None:
    with serving(store, "--log", form) as server, nakshi.connect(server.address) as remote:
        outcome(partial(remote.get_node_property, 99))
    lines = server.log.splitlines()
    assert len(lines) == 2, lines
    if form == "json":
        first, last = map(json.loads, lines)
        assert (first["message"], first["level"], last["message"]) == ("serving", "INFO", "ended")
        assert first["address"] == server.listen and first["store"] == str(store)
    else:
        assert "INFO serving" in lines[0] and f"address={server.listen}" in lines[0]


def test_a_closed_connection_says_so(store: Path) -> None:
    with serving(store) as server:
        remote = nakshi.connect(server.address)
        assert repr(remote) == f"<nakshi.RemoteGraph {server.address}>"
        remote.close()
        with pytest.raises(nakshi.StoreError, match="closed"):
            remote.count()
        with pytest.raises(nakshi.ParameterError, match="HOST:PORT"):
            nakshi.connect("http://127.0.0.1")
        with pytest.raises(nakshi.ParameterError, match="timeout"):
            nakshi.connect(server.address, timeout=-1)
