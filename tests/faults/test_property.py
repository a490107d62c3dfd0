"""Loading property graphs under kills, memory limits and a full disk, on real processes.

A load killed at any point leaves its store absent or complete, and a rerun gives the same one; it stays
within the memory that it is given.
"""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import measure
import nakshi as package
import pytest
from rig import MIB, NAKSHI, SCALE, CommandLine, leftovers

#: What the interpreter and the program text take beside the budget, and what allocators round up.
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


def verify(nakshi: CommandLine, tables: Path, store: Path, expected: str) -> None:
    """Absent or complete now; complete after a rerun; nothing left beside it."""
    if not store.exists():
        nakshi.json(*words(tables, store))
    assert leftovers(store.parent) == []
    assert package.open(store).info()["content_hash"] == expected
    nakshi.assert_sound(store)


def test_a_load_killed_at_a_random_moment(
    nakshi: CommandLine, tables: Path, tmp_path: Path
) -> None:
    """Seen red with the manifest written before the property files are complete."""
    began = time.monotonic()
    nakshi.json(*words(tables, tmp_path / "whole"))
    lasts = time.monotonic() - began
    expected = nakshi.content_hash(tmp_path / "whole")
    moments = random.Random(17)
    for attempt in range(6 * SCALE):
        store = tmp_path / f"random-{attempt}"
        process = nakshi.start(*words(tables, store))
        time.sleep(lasts * moments.uniform(0.1, 1.1))
        process.kill()
        process.communicate()
        verify(nakshi, tables, store, expected)


@pytest.mark.parametrize("operation", ["create", "write", "fsync", "rename"])
def test_a_load_killed_at_the_nth_operation(
    nakshi: CommandLine, tables: Path, operation: str, tmp_path: Path
) -> None:
    """As at a random moment, with every kind of operation on files by its number."""
    nakshi.json(*words(tables, tmp_path / "whole"))
    expected = nakshi.content_hash(tmp_path / "whole")
    kills, nth, step = 0, 0, 1
    while True:
        store = tmp_path / f"{operation}-{nth}"
        done = nakshi.run(*words(tables, store), env={"NAKSHI_FAULT": f"{operation}:{nth}:kill"})
        verify(nakshi, tables, store, expected)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        kills += 1
        step = 1 if SCALE >= 10 else 2 * step + 8
        nth += step
    assert kills > 0, f"the fault never came: does {operation} pass through the seam?"


@pytest.mark.parametrize("operation", ["write", "fsync", "rename"])
def test_a_load_on_a_disk_that_fails(
    nakshi: CommandLine, tables: Path, operation: str, tmp_path: Path
) -> None:
    """An error in one line, and nothing is left; the next load succeeds."""
    for nth in (0, 3):
        store = tmp_path / f"{operation}-{nth}"
        fault = {"NAKSHI_FAULT": f"{operation}:{nth}:eio"}
        done = nakshi.run(*words(tables, store), env=fault)
        if done.returncode == 0:
            continue
        assert done.returncode == 1 and done.stderr.startswith("nakshi: ")
        assert not store.exists() and leftovers(tmp_path) == []
        nakshi.json(*words(tables, store))


def test_a_load_stays_within_its_memory(
    nakshi: CommandLine, tables: Path, tmp_path: Path
) -> None:
    """Too little is refused with what works, and that is enough. Seen red with sorters that take
    half of the memory each."""
    call = [*words(tables, tmp_path / "g"), "--memory", "8MiB"]
    refused = nakshi.run(*call)
    assert refused.returncode == 1 and "bytes of memory are needed" in refused.stderr
    needed = int(refused.stderr.split(": ")[1].split()[0])
    assert not (tmp_path / "g").exists()
    big = tmp_path / "big"
    big.mkdir()
    generate = ["generate", "kronecker", big / "edges.tsv", "--scale", 15]
    nakshi.json(*generate, "--nodes", big / "nodes.tsv")
    call = list(map(str, [*NAKSHI, *words(big, tmp_path / "big.nakshi"), "--memory", needed]))
    ran = measure.run(call, threads=2)
    baseline = measure.run([*NAKSHI, "--version"], threads=2).peak_rss
    print(f"given {needed / MIB:.0f} MiB, took {(ran.peak_rss - baseline) / MIB:.0f} MiB")
    assert ran.peak_rss - baseline <= needed + SLACK
