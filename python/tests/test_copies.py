"""Copies of a store that its server sends: for backups on other machines, and for servers that come."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import nakshi
import pytest
from click.testing import CliRunner
from nakshi.cli import nakshi as program

from .groups import Listed, log_of, servers
from .servers import Server, Writers, serving
from .test_server import QUERIES, build, certificate, outcome, secret
from .test_shares import Movers, audit, follow, halves

if TYPE_CHECKING:
    pass


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "graph.nakshi")


def left(folder: Path, *known: str) -> list[str]:
    """Names in a folder besides those that are known."""
    return sorted(set(os.listdir(folder)) - set(known))


def test_a_copy_has_the_state_after_a_commit(store: Path, tmp_path: Path) -> None:
    twin = nakshi.open(build(tmp_path / "twin.nakshi"))
    with serving(store) as server, nakshi.connect(server.address) as graph:
        for g in (graph, twin):
            g.append_node(1000, {"name": "new"})
        report = graph.backup(tmp_path / "copy.nakshi", progress=False)
        assert report == nakshi.backup(store, tmp_path / "local.nakshi", progress=False)
        with pytest.raises(nakshi.StoreExistsError, match="copy.nakshi"):
            graph.backup(tmp_path / "copy.nakshi")
        with Writers(graph) as writers:
            writers.wait_for(5)
            graph.backup(tmp_path / "busy.nakshi")
            writers.wait_for(5)
        writers.check()
    copy = nakshi.open(tmp_path / "copy.nakshi")
    for name, query in QUERIES.items():
        wanted = outcome(lambda query=query: query(twin))
        found = outcome(lambda query=query: query(copy))
        assert str(found).replace("copy.nakshi", "twin.nakshi") == str(wanted), name
    logs = [log_of(store), log_of(tmp_path / "busy.nakshi")]
    assert logs[1] and logs[0].startswith(logs[1]) and logs[0] != logs[1]
    for one in ("copy.nakshi", "local.nakshi", "busy.nakshi"):
        assert nakshi.check(tmp_path / one, progress=False)["ok"]


def test_a_copy_is_for_admins(store: Path, tmp_path: Path) -> None:
    ca, cert, key = certificate(tmp_path, "ours")
    lines = [f"{role} {role[0] * 32}" for role in ("reader", "writer", "admin")]
    tokens = secret(tmp_path / "tokens", "\n".join(lines) + "\n")
    with serving(store, "--tokens", tokens, "--certificate", cert, "--key", key) as server:
        for role in ("reader", "writer"):
            with nakshi.connect(server.address, token=role[0] * 32, ca=ca) as graph:
                with pytest.raises(nakshi.DeniedError, match="admin"):
                    graph.backup(tmp_path / "copy.nakshi")
        assert not (tmp_path / "copy.nakshi").exists()
        mine = secret(tmp_path / "mine", "a" * 32)
        command = ["backup", server.address, str(tmp_path / "copy.nakshi")]
        command += ["--token-file", str(mine), "--ca", str(ca), "--json"]
        done = CliRunner().invoke(program, command)
        assert json.loads(done.output)["files"] > 0, done.output
    assert nakshi.open(tmp_path / "copy.nakshi").count() == 60


def copied(server: Server, copy: Path, fault: str = "") -> tuple[int, str]:
    """Exit code and errors of a process that copies the store of a server, while some write of it fails."""
    command = [sys.executable, "-m", "nakshi", "backup", server.address, str(copy), "--no-progress"]
    until = time.monotonic() + 30
    while True:
        done = subprocess.run(
            command, env={**os.environ, "NAKSHI_FAULT": fault}, capture_output=True, text=True
        )
        # The server may not have noticed yet that the one before has gone.
        if "another client" not in done.stderr or time.monotonic() > until:
            return done.returncode, done.stderr


def test_a_copy_that_fails_leaves_nothing(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    with serving(store) as server:
        for fault, why in (("write:3:enospc", "no space left"), ("fsync:2:eio", "fsync")):
            code, told = copied(server, folder / "copy.nakshi", fault)
            assert code == 1 and why in told, told
            assert left(folder) == []
        code, _ = copied(server, folder / "copy.nakshi", "write:5:kill")
        assert code != 0 and "copy.nakshi" not in left(folder)
        # The next one removes what was left.
        assert copied(server, folder / "copy.nakshi") == (0, "")
        assert left(folder) == ["copy.nakshi"]
        assert nakshi.check(folder / "copy.nakshi", progress=False)["ok"]


def test_a_copy_ends_with_its_server(store: Path, tmp_path: Path) -> None:
    server = Server(store)
    graph = nakshi.connect(server.address, timeout=2)
    os.kill(server.process.pid, signal.SIGSTOP)
    threading.Timer(0.5, server.process.kill).start()
    with pytest.raises(nakshi.UnavailableError):
        graph.backup(tmp_path / "copy.nakshi")
    server.wait()
    assert left(tmp_path, "graph.nakshi") == []


def listing(folder: Path, store: Path, count: int) -> Listed:
    """Servers with shares, of which the first has a store; the list names four."""
    stores = [store, *(folder / f"{i}.nakshi" for i in range(1, count))]
    return Listed(folder, stores, 4, "--replicas", 1, "--fetch")


def follows(address: str, commit: int) -> None:
    """Return when the server at an address has a commit."""
    until = time.monotonic() + 30
    with nakshi.connect(address) as graph:
        while graph.status()["commit"] < commit:
            assert time.monotonic() < until
            time.sleep(0.02)


def held(address: str) -> int:
    """The number of buckets that a server has."""
    with nakshi.connect(address) as graph:
        return int(graph.status()["held_buckets"])


def test_servers_begin_with_the_store_of_one(store: Path, tmp_path: Path) -> None:
    """Three servers, of which one has a store; then one that has lost its disk, and a share."""
    with listing(tmp_path, store, 4) as listed:
        listed.start_all((1, 2, 0))
        listen = listed.listen
        with nakshi.connect(",".join(listen)) as graph:
            for id in range(1000, 1020):
                graph.append_node(id, {"age": id})
            listed.end(1, signal.SIGKILL)
            shutil.rmtree(listed.stores[1])
            listed.start(1)
            graph.append_node(1020, {"age": 1020})
            listed.start(3)
            graph.append_node(1021, {"age": 1021})
            for where in (listen[1], listen[3]):
                follows(where, 22)
            assert [one["role"] for one in servers(listen[0])].count("share") == 1
            with nakshi.connect(listen[3]) as share:
                assert share.get_node_properties(range(1000, 1022), "age") == [*range(1000, 1022)]
                # A server with the whole graph sends it.
                share.backup(tmp_path / "whole.nakshi")
        assert nakshi.open(tmp_path / "whole.nakshi").count() == 60 + 22
        for number in list(listed.running):
            assert listed.running.pop(number).end() == 0
        logs = [log_of(one) for one in listed.stores[:3]]
        assert logs[0] and logs.count(logs[0]) == 3
        assert nakshi.check(listed.stores[3], progress=False)["ok"]


def test_a_share_whose_store_was_copied_before_a_move(accounts: Path, tmp_path: Path) -> None:
    """It takes what it lacks by itself, and others answer for that until then."""
    with listing(tmp_path, accounts, 5) as listed:
        listed.lists(listed.listen)
        listed.start_all((1, 2, 0))
        listed.start_all((3, 4))
        listed.settle()
        listed.end(3)
        shutil.copytree(listed.stores[3], tmp_path / "copy", ignore=lambda *_: ["servers"])
        listed.start(3)
        with nakshi.connect(f"nakshi://{','.join(listed.listen[:3])}") as graph:
            graph.move_buckets(graph.shares()[1]["buckets"][:50], 0)
            parts = [len(share["buckets"]) for share in graph.shares()]
            listed.end(3)
            shutil.rmtree(listed.stores[3])
            shutil.copytree(tmp_path / "copy", listed.stores[3])
            listed.start(3)
            follows(listed.listen[3], graph.status()["commit"])
            # It knows of the move, and perhaps lacks the buckets still.
            listed.end(3, signal.SIGKILL)
            listed.start(3)
            with nakshi.connect(listed.listen[3], linearizable=True) as one:
                audit(one, 200)
            until = time.monotonic() + 30
            while held(listed.listen[3]) < parts[0]:
                assert time.monotonic() < until
                time.sleep(0.1)
            assert [held(where) for where in listed.listen[3:]] == parts
            for where in (listed.listen[0], listed.listen[3]):
                with nakshi.connect(where, linearizable=True) as one:
                    audit(one, 200)
                    halves(one, 200)


def test_buckets_move_to_another_server_while_they_are_written(
    accounts: Path, tmp_path: Path
) -> None:
    """One share becomes two: queries go on meanwhile, and no half of an edge is lost."""
    with listing(tmp_path, accounts, 5) as listed:
        listed.start_all((1, 2, 0))
        listed.start(3)
        address = f"nakshi://{','.join(listed.listen[:3])}"
        with nakshi.connect(address) as graph, Movers(address, 200) as movers:
            listed.settle()
            listed.lists(listed.listen)
            for number in range(3):
                listed.renew(number, empty=number >= 3)
                audit(graph, 200)
            # It has all buckets, and shall have half of them.
            listed.end(3)
            listed.start_all((3, 4))
            assert held(listed.listen[3]) == 1024
            before = movers.moved
            for _ in range(20):
                audit(graph, 200)
            assert movers.moved > before
        movers.check()
        follow(listed.listen[0])
        for where in listed.listen:
            with nakshi.connect(where, linearizable=True) as graph:
                audit(graph, 200)
                halves(graph, 200)
        with nakshi.connect(address) as graph:
            # A move leaves out what the servers have besides.
            graph.move_buckets(graph.shares()[0]["buckets"][:1], 0)
            parts = [len(share["buckets"]) for share in graph.shares()]
            assert [held(where) for where in listed.listen[3:]] == parts
            audit(graph, 200)
        for number in list(listed.running):
            assert listed.running.pop(number).end() == 0
        for one in listed.stores:
            assert nakshi.check(one, progress=False)["ok"]
        listed.lists(listed.listen[:4])
        with pytest.raises(RuntimeError, match="another share.*--fetch"):
            listed.start(3)
