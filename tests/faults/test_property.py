"""Loading property graphs, and writing them in another order, under kills, memory limits and a full disk,
on real processes.

Killed at any point it leaves its store absent or complete, and a rerun gives the same one; it stays
within the memory that it is given.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import nakshi as package
import pytest
from harness import measure
from rig import MIB, NAKSHI, SCALE, CommandLine, kill_at_every_operation, leftovers, told

#: Bytes that the interpreter and the program text take beside the budget, and that allocators round up.
SLACK = 24 * MIB


@pytest.fixture(scope="module")
def tables(nakshi: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of ZipG's rules over a Kronecker graph of scale 12."""
    folder = tmp_path_factory.mktemp("tables")
    words = ["--scale", 12, "--nodes", folder / "nodes.tsv"]
    nakshi.json("generate", "kronecker", folder / "edges.tsv", *words)
    return folder


def words(tables: Path, store: Path) -> list[object]:
    nodes = ["--nodes", tables / "nodes.tsv"]
    return ["import", tables / "edges.tsv", store, *nodes, "--properties", "--no-progress"]


@pytest.fixture(scope="module")
def changed(nakshi: CommandLine, tables: Path) -> Path:
    """A store of the tables, and changes in its log."""
    store = tables / "changed.nakshi"
    nakshi.json(*words(tables, store))
    graph = package.open(store)
    graph.append_node(1_000_000, {"city": "Oslo"})
    graph.append_edge(1_000_000, "knows", graph.get_node_ids()[0], 1)
    graph.delete_node(graph.get_node_ids()[7])
    graph.close()
    return store


#: The words of a command that makes a store.
Work = Callable[[Path], list[object]]


@pytest.fixture(params=["load", "layout"])
def work(request: pytest.FixtureRequest, tables: Path, changed: Path) -> Work:
    if request.param == "load":
        return lambda store: words(tables, store)
    return lambda store: ["layout", changed, store, "--order", "degree", "--no-progress"]


def verify(nakshi: CommandLine, work: Work, store: Path, expected: str) -> None:
    """Asserts that the store is absent or complete, and complete after a rerun that leaves no files."""
    if store.exists():
        assert "exists already" in nakshi.run(*work(store)).stderr
    else:
        nakshi.json(*work(store))
    assert leftovers(store.parent) == []
    assert package.open(store).info()["content_hash"] == expected
    nakshi.assert_sound(store)


def test_killed_at_a_random_moment(nakshi: CommandLine, work: Work, tmp_path: Path) -> None:
    """Seen red with the manifest written before the property files are complete."""
    began = time.monotonic()
    nakshi.json(*work(tmp_path / "whole"))
    lasts = time.monotonic() - began
    expected = nakshi.content_hash(tmp_path / "whole")
    moments = random.Random(17)
    for attempt in range(6 * SCALE):
        store = tmp_path / f"random-{attempt}"
        process = nakshi.start(*work(store))
        time.sleep(lasts * moments.uniform(0.1, 1.1))
        process.kill()
        process.communicate()
        verify(nakshi, work, store, expected)


@pytest.mark.parametrize("operation", ["create", "write", "fsync", "rename"])
def test_killed_at_the_nth_operation(
    nakshi: CommandLine, work: Work, operation: str, tmp_path: Path
) -> None:
    """The same holds where every kind of operation on files, by its number, is the last one. Seen red with a
    temporary store of a new order beside the new store."""
    nakshi.json(*work(tmp_path / "whole"))
    expected = nakshi.content_hash(tmp_path / "whole")

    def run(nth: int, fault: dict[str, str]) -> subprocess.CompletedProcess[str]:
        store = tmp_path / f"{operation}-{nth}"
        done = nakshi.run(*work(store), env=fault)
        verify(nakshi, work, store, expected)
        return done

    kill_at_every_operation(operation, run, wider=lambda step: 2 * step + 8)


@pytest.mark.parametrize("operation", ["write", "fsync", "rename"])
def test_a_load_on_a_disk_that_fails(
    nakshi: CommandLine, tables: Path, operation: str, tmp_path: Path
) -> None:
    """A full disk is an error in one line and leaves no files; the next load succeeds."""
    for nth in (0, 3):
        store = tmp_path / f"{operation}-{nth}"
        fault = {"NAKSHI_FAULT": f"{operation}:{nth}:eio"}
        done = nakshi.run(*words(tables, store), env=fault)
        if done.returncode == 0:
            continue
        assert done.returncode == 1 and done.stderr.startswith("nakshi: ")
        assert not store.exists() and leftovers(tmp_path) == []
        nakshi.json(*words(tables, store))


@pytest.fixture(scope="module")
def big(nakshi: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of a Kronecker graph of scale 15."""
    folder = tmp_path_factory.mktemp("big")
    generate = ["generate", "kronecker", folder / "edges.tsv", "--scale", 15]
    nakshi.json(*generate, "--nodes", folder / "nodes.tsv")
    return folder


def refused(nakshi: CommandLine, call: list[object]) -> int:
    """The memory that a command asks for."""
    done = nakshi.run(*call, "--memory", "8MiB")
    assert done.returncode == 1
    return told(done.stderr)


def assert_within(call: list[object], memory: int) -> None:
    call = [*NAKSHI, *call, "--memory", memory]
    ran = measure.run(list(map(str, call)), threads=2)
    baseline = measure.run([*NAKSHI, "--version"], threads=2).peak_rss
    print(f"given {memory / MIB:.0f} MiB, took {(ran.peak_rss - baseline) / MIB:.0f} MiB")
    assert ran.peak_rss - baseline <= memory + SLACK


def test_a_load_stays_within_its_memory(
    nakshi: CommandLine, tables: Path, big: Path, tmp_path: Path
) -> None:
    """Too little memory is refused with the memory that works. Seen red with sorters that take half of the
    memory each."""
    needed = refused(nakshi, words(tables, tmp_path / "g"))
    assert not (tmp_path / "g").exists()
    assert_within(words(big, tmp_path / "big.nakshi"), needed)


def test_another_order_stays_within_its_memory(
    nakshi: CommandLine, big: Path, tmp_path: Path
) -> None:
    """Another order keeps to its memory as a load does, with the properties of the old store on top. Seen
    red with all of the memory for the new store."""
    old, new = tmp_path / "old.nakshi", tmp_path / "new.nakshi"
    nakshi.json(*words(big, old))
    call: list[object] = ["layout", old, new, "--order", "norder", "--no-progress"]
    needed = refused(nakshi, call)
    # The first refusal counts the order, the second the properties.
    done = nakshi.run(*call, "--memory", needed)
    if done.returncode != 0:
        needed = told(done.stderr)
    else:
        nakshi.run("check", new)
    assert leftovers(tmp_path) == []
    again = tmp_path / "again.nakshi"
    assert_within(["layout", old, again, "--order", "norder", "--no-progress"], needed)
    assert package.open(again).info()["layout"] == "norder"
