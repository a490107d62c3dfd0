"""Orders and cache plans under kills, memory limits and bad input, on real processes.

Either command killed at any point leaves its source as it was and its result absent or complete;
no order takes more memory than it tells; what cannot be is refused in one line.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nakshi as package
import numpy as np
import pyarrow as pa
import pytest
from harness import measure
from pyarrow import parquet
from rig import (
    MIB,
    NAKSHI,
    SCALE,
    TIMEOUT,
    CommandLine,
    kill_at_every_operation,
    leftovers,
    told,
)

BFS = ["--source", 0, "--engine", "ssd"]
PINNED = [*BFS, "--static-cache", "--selective"]


def contents(folder: Path) -> dict[str, str]:
    """Names and hashes of the files of a store."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def copy(store: Path, folder: Path) -> Path:
    return Path(shutil.copytree(store, folder / "copy.nakshi"))


@pytest.fixture(scope="module")
def source(nakshi: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Kronecker graph of scale 16 in the order of its ids."""
    folder = tmp_path_factory.mktemp("source")
    nakshi.json("generate", "kronecker", "--scale", 16, folder / "edges.tsv")
    words = ["--undirected", "--layout", "original"]
    nakshi.json("import", folder / "edges.tsv", folder / "graph.nakshi", *words)
    (folder / "edges.tsv").unlink()
    return folder / "graph.nakshi"


@pytest.fixture(scope="module")
def small(nakshi: CommandLine, small_edges: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that is written once more in a moment."""
    store = tmp_path_factory.mktemp("small") / "graph.nakshi"
    nakshi.json("import", small_edges, store, "--layout", "original")
    return store


# Kills.


class Killed:
    """Verifies what killed runs of `layout` leave of one store and one order."""

    def __init__(self, nakshi: CommandLine, source: Path, order: str, folder: Path) -> None:
        self.nakshi, self.source, self.order = nakshi, source, order
        self.before = contents(source)
        began = time.monotonic()
        whole = nakshi.json(*self.words(folder / "whole.nakshi"))
        self.lasts = time.monotonic() - began
        self.expected = nakshi.content_hash(folder / "whole.nakshi")
        assert self.expected == whole["content_hash"]
        # The hash covers the order, so stores are compared after a layout back to the source's order.
        nakshi.json(
            "layout", folder / "whole.nakshi", folder / "back.nakshi", "--order", "original"
        )
        assert nakshi.content_hash(folder / "back.nakshi") == nakshi.content_hash(source)

    def words(self, new: Path) -> list[object]:
        return ["layout", self.source, new, "--order", self.order]

    def verify(self, new: Path) -> None:
        """Asserts that the store is absent or complete, and complete after a rerun that leaves no files."""
        assert contents(self.source) == self.before
        assert leftovers(self.source.parent) == []
        if not new.exists():
            self.nakshi.json(*self.words(new))
            assert leftovers(new.parent) == []
        assert package.open(new).info()["content_hash"] == self.expected
        self.nakshi.assert_sound(new)
        assert contents(self.source) == self.before
        shutil.rmtree(new)


@pytest.mark.parametrize("order", ["degree", "bisection"])
def test_layout_killed_at_a_random_moment(
    nakshi: CommandLine, source: Path, order: str, tmp_path: Path
) -> None:
    """The new store is absent or complete, the source is unchanged, and a rerun succeeds."""
    killed = Killed(nakshi, source, order, tmp_path)
    moments = random.Random(13)
    for attempt in range(4 * SCALE):
        new = tmp_path / f"random-{attempt}.nakshi"
        process = nakshi.start(*killed.words(new))
        time.sleep(killed.lasts * moments.uniform(0.3, 1.1))
        process.kill()
        process.communicate()
        killed.verify(new)


@pytest.mark.parametrize("operation", ["create", "write", "fsync", "rename"])
def test_layout_killed_at_the_nth_operation(
    nakshi: CommandLine, small: Path, operation: str, tmp_path: Path
) -> None:
    """The same holds where every kind of operation on files, by its number, is the last one."""
    killed = Killed(nakshi, small, "degree", tmp_path)

    def run(nth: int, fault: dict[str, str]) -> subprocess.CompletedProcess[str]:
        new = tmp_path / f"{operation}-{nth}.nakshi"
        done = nakshi.run(*killed.words(new), env=fault)
        killed.verify(new)
        return done

    kill_at_every_operation(operation, run, wider=lambda step: step + 8)


class Planned:
    """Verifies what killed runs of `cache-plan` leave in a store."""

    def __init__(self, nakshi: CommandLine, store: Path) -> None:
        self.nakshi, self.store, self.plan = nakshi, store, store / "cache.plan"
        self.words = ["cache-plan", store, "--size", "20%"]
        self.files = contents(store)
        self.levels = nakshi.json("run", "bfs", store, *BFS)["result"]
        nakshi.json("cache-plan", store, "--size", "5%", "--select", "highd")
        self.old = self.plan.read_bytes()
        began = time.monotonic()
        nakshi.json(*self.words)
        self.lasts = time.monotonic() - began
        self.new = self.plan.read_bytes()
        assert self.old != self.new

    def prepare(self, planned: bool) -> None:
        """Makes the store with the old plan, or without a plan."""
        self.plan.unlink(missing_ok=True)
        if planned:
            self.plan.write_bytes(self.old)

    def verify(self, planned: bool) -> None:
        """Asserts that the plan is the old or the new one, and that a rerun makes the new one and leaves no files."""
        run = self.nakshi.json("run", "bfs", self.store, *BFS)
        assert run["result"] == self.levels
        if self.plan.exists():
            assert self.plan.read_bytes() in ([self.old] if planned else []) + [self.new]
            pinned = self.nakshi.json("run", "bfs", self.store, *PINNED)
            assert pinned["result"] == self.levels
            assert pinned["io"]["pinned_hits"] > 0
        else:
            assert not planned
            refused = self.nakshi.run("run", "bfs", self.store, *PINNED)
            self.nakshi.assert_clean_error(refused, "no cache plan", "nakshi cache-plan")
        self.nakshi.json(*self.words)
        assert self.plan.read_bytes() == self.new
        now = contents(self.store)
        now.pop("cache.plan")
        assert now == self.files


def test_cache_plan_killed_at_a_random_moment(
    nakshi: CommandLine, source: Path, tmp_path: Path
) -> None:
    """A killed `cache-plan` leaves no partial plan, with an older plan and without, and the store still runs."""
    planned = Planned(nakshi, copy(source, tmp_path))
    moments = random.Random(17)
    for attempt in range(4 * SCALE):
        planned.prepare(attempt % 2 == 0)
        process = nakshi.start(*planned.words)
        time.sleep(planned.lasts * moments.uniform(0.3, 1.1))
        process.kill()
        process.communicate()
        planned.verify(attempt % 2 == 0)


@pytest.mark.parametrize("action", ["kill", "tear"])
def test_cache_plan_killed_at_the_nth_operation(
    nakshi: CommandLine, small: Path, action: str, tmp_path: Path
) -> None:
    """The same holds at every operation on files; `tear` dies within a write."""
    planned = Planned(nakshi, copy(small, tmp_path))
    nth = 0
    while True:
        planned.prepare(nth % 2 == 0)
        fault = {"NAKSHI_FAULT": f"{'write' if action == 'tear' else 'any'}:{nth}:{action}"}
        done = nakshi.run(*planned.words, env=fault)
        planned.verify(nth % 2 == 0)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        nth += 1
    assert nth > 0, "the fault never came: does the plan pass through the seam?"


# Memory.

LAUNCHER = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, file=sys.stderr)
"""
"""Starts a command: a child's peak begins at the memory of its parent, so the parent is small."""
SLACK = 2 * MIB
"""Bytes of the allocator and of file tables, and differences of the interpreter's own size."""


def peak_of(*words: object, cap: int | None = None, env: dict[str, str] | None = None) -> Any:
    """Exit code, standard error and peak resident bytes of a command, in a cgroup if capped."""
    call = [sys.executable, "-S", "-c", LAUNCHER, *NAKSHI, *map(str, words)]
    try:
        ran = measure.run(call, threads=2, cap=cap, timeout=TIMEOUT, env=env, check=False)
    except measure.Skipped as reason:
        pytest.skip(str(reason))
    assert ran.status == 0, f"the launcher itself: {ran.status}: {ran.stderr}"
    *errors, last = ran.stderr.splitlines()
    status, peak = map(int, last.split())
    return status, "\n".join(errors), peak


class Sparse:
    """Stores of three edges a vertex, where bytes a vertex show, and an interpreter's size."""

    def __init__(self, nakshi: CommandLine, folder: Path) -> None:
        self.nakshi, self.folder = nakshi, folder

    def store(self, vertices: int, kind: str) -> Path:
        """Makes a directed store in the order of ids, or an undirected one by degree."""
        store = self.folder / f"{kind}-{vertices}.nakshi"
        if not store.exists():
            source = np.random.default_rng(5)
            tail = (vertices * source.random(3 * vertices) ** 2).astype(np.uint32)
            head = source.integers(0, vertices, 3 * vertices, dtype=np.uint32)
            edges = self.folder / "edges.parquet"
            parquet.write_table(pa.table({"source": tail, "target": head}), edges)
            layout = "original" if kind == "directed" else "degree"
            self.nakshi.json("import", edges, store, f"--{kind}", "--layout", layout)
            edges.unlink()
        return store

    def baseline(self, store: Path) -> int:
        """Bytes of the interpreter, the program text and an opened store."""
        status, errors, peak = peak_of("info", store)
        assert status == 0, errors
        return peak


@pytest.fixture(scope="module")
def sparse(nakshi: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Sparse:
    return Sparse(nakshi, tmp_path_factory.mktemp("sparse"))


STREAMED = {"pagerank": 32 * MIB, "norder": 6 * MIB}
"""Buffers and smallest caches of orders that stream, beside 16 bytes a vertex."""
MANY, SOME, FEW = 1_000_000, 200_000, 40_000
ORDERS = [
    *(
        pytest.param(order, "directed", MANY, True)
        for order in ("original", "random", "degree", "pagerank", "organ-pipe")
    ),
    pytest.param("degree", "undirected", MANY, True),
    # With the smallest cache the order reads page by page.
    pytest.param("norder", "directed", FEW, True),
    pytest.param("norder", "undirected", SOME, True),
    pytest.param("gorder", "directed", SOME, False),
    pytest.param("bisection", "undirected", SOME, False),
    pytest.param("bondhu-modcom", "undirected", FEW, False),
    pytest.param("bondhu-parcom", "undirected", SOME, False),
    pytest.param("bondhu-parcom --model overlap", "undirected", SOME, False),
]


@pytest.mark.parametrize(("order", "kind", "vertices", "streamed"), ORDERS)
def test_an_order_takes_what_it_tells(
    sparse: Sparse, order: str, kind: str, vertices: int, streamed: bool, tmp_path: Path
) -> None:
    """The peak until the first byte is written, where the process dies."""
    store, new = sparse.store(vertices, kind), tmp_path / "new.nakshi"
    words = ["layout", store, new, "--order", *order.split(), "--threads", 2]
    refused = sparse.nakshi.run(*words, "--memory", "4KiB")
    sparse.nakshi.assert_clean_error(refused)
    assert not list(tmp_path.iterdir())
    memory = told(refused.stderr)
    fault = {"NAKSHI_FAULT": "write:0:kill"}
    status, errors, peak = peak_of(*words, "--memory", memory, env=fault)
    assert status == -signal.SIGKILL or told(errors) > memory, errors
    took = peak - sparse.baseline(store)
    print(f"{order} {kind} {vertices}: told {memory}, took {took}")
    assert took <= memory + SLACK
    if streamed:
        assert took <= 16 * vertices + STREAMED.get(order, 0) + SLACK


@pytest.mark.parametrize(
    ("order", "kind", "vertices"),
    [
        ("original", "directed", MANY),
        ("organ-pipe", "undirected", MANY),
        pytest.param("bondhu-parcom", "undirected", SOME),
    ],
)
def test_layout_under_a_limit(
    sparse: Sparse, order: str, kind: str, vertices: int, tmp_path: Path
) -> None:
    """The smallest memory that works is enough, in a cgroup that has no more."""
    store, new = sparse.store(vertices, kind), tmp_path / "new.nakshi"
    words = ["layout", store, new, "--order", order, "--threads", 2]
    baseline, memory = sparse.baseline(store), 4096
    for _refusal in range(3):
        status, errors, peak = peak_of(*words, "--memory", memory, cap=memory + baseline + SLACK)
        if status != 1:
            break
        memory = told(errors)
    assert status == 0, f"status {status} under {memory} bytes: {errors}"
    print(f"{order} {kind} {vertices} to its end: told {memory}, took {peak - baseline}")
    assert peak - baseline <= memory + SLACK
    assert package.open(new).num_edges == package.open(store).num_edges


@pytest.mark.parametrize("order", ["degree", "bisection"])
def test_the_told_memory_works(
    nakshi: CommandLine, source: Path, order: str, tmp_path: Path
) -> None:
    """The memory that the first refusal asks for is enough."""
    words = ["layout", source, tmp_path / "new.nakshi", "--order", order]
    refused = nakshi.run(*words, "--memory", "4KiB")
    done = nakshi.run(*words, "--memory", told(refused.stderr))
    assert done.returncode == 0, done.stderr


# Bad input.


def assert_refused(done: subprocess.CompletedProcess[str], *mentions: str) -> None:
    """Asserts an exit code of failure, without a signal, and one line with the given words."""
    assert done.returncode in (1, 2), f"exit code {done.returncode}: {done.stderr}"
    (line,) = done.stderr.splitlines()
    assert line.startswith("nakshi: ") and done.stdout == ""
    for mention in mentions:
        assert mention in line, f"{mention!r} is not in {line!r}"


BAD_ORDERS = [
    ("--communities 3", "communities"),
    ("--order sideways", "sideways"),
    ("--order bondhu-parcom --communities 0", "0 communities"),
    ("--order bondhu-parcom --communities 3001", "3001 communities"),
    pytest.param("--order bondhu-parcom --communities -1", "communities"),
    pytest.param("--order bondhu-parcom --communities 4294967296", "communities"),
    ("--order norder --depth 0", "--depth"),
    ("--order gorder --window 0", "--window"),
    ("--order organ-pipe --seed 1", "seed"),
    ("--order bisection --weight price", "price"),
    ("--order degree --page-size 1000", "1000"),
    ("--order degree --stripe no-such-folder", "no-such-folder"),
    ("--order degree --memory 0", "--memory"),
    ("--order degree --threads 0", "--threads"),
]


@pytest.mark.parametrize(("words", "mention"), BAD_ORDERS)
def test_orders_that_cannot_be(
    nakshi: CommandLine, small: Path, words: str, mention: str, tmp_path: Path
) -> None:
    """Wrong input is refused in one line; no files are made and the source is unchanged."""
    assert nakshi.json("info", small)["vertices"] <= 3000
    before = contents(small)
    done = nakshi.run("layout", small, tmp_path / "new.nakshi", *words.split(), cwd=tmp_path)
    assert_refused(done, mention)
    assert list(tmp_path.iterdir()) == []
    assert contents(small) == before and leftovers(small.parent) == []


def test_destinations_that_cannot_be(nakshi: CommandLine, small: Path, tmp_path: Path) -> None:
    """Existing files stay, and folders are not made."""
    store = copy(small, tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    before, names = contents(tmp_path), sorted(tmp_path.iterdir())
    for name in (store.name, "folder", "file", "link"):
        done = nakshi.run("layout", store, tmp_path / name, "--order", "degree")
        assert_refused(done, name, "exists already")
    for name in ("missing/new.nakshi", "file/new.nakshi"):
        done = nakshi.run("layout", store, tmp_path / name, "--order", "degree")
        assert_refused(done, name.split("/")[0])
    for name in ("missing", "folder", "file"):
        done = nakshi.run("layout", tmp_path / name, tmp_path / "new", "--order", "degree")
        assert_refused(done, name)
    assert contents(tmp_path) == before and sorted(tmp_path.iterdir()) == names


def test_folders_that_cannot_be_written(
    nakshi: CommandLine, small: Path, mount: Callable[..., Path], tmp_path: Path
) -> None:
    """On a read-only mount a store is read for a new layout; a plan or a layout there is refused.

    Who is not root has a folder without write permission instead.
    """
    inner = tmp_path / "inner"
    inner.mkdir()
    folder = copy(small, inner).parent
    if os.geteuid() == 0:
        folder = mount("bind", source=str(inner))
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
    else:
        (folder / "copy.nakshi").chmod(0o555)
        folder.chmod(0o555)
    store, before = folder / "copy.nakshi", contents(folder)
    try:
        done = nakshi.run("layout", store, folder / "new.nakshi", "--order", "degree")
        assert_refused(done, "cannot write", str(folder))
        assert_refused(nakshi.run("cache-plan", store), "cache.plan")
        assert contents(folder) == before
        nakshi.json("layout", store, tmp_path / "new.nakshi", "--order", "degree")
    finally:
        if os.geteuid() != 0:
            folder.chmod(0o755)
            store.chmod(0o755)


@pytest.mark.parametrize("size", ["101%", "-5%", "nan%", "inf%", "20", "much", ""])
def test_sizes_that_cannot_be(nakshi: CommandLine, small: Path, size: str, tmp_path: Path) -> None:
    """A wrong plan is refused in one line; an older plan stays."""
    store = copy(small, tmp_path)
    (store / "cache.plan").write_bytes(b"older")
    before = contents(store)
    assert_refused(nakshi.run("cache-plan", store, "--size", size), f"'{size}'", "share")
    assert contents(store) == before


def test_no_memory_for_a_plan(nakshi: CommandLine, small: Path, tmp_path: Path) -> None:
    """The memory that the refusal names is enough."""
    store = copy(small, tmp_path)
    before = contents(store)
    refused = nakshi.run("cache-plan", store, "--memory", "4KiB")
    assert_refused(refused, "4.0 KiB")
    assert contents(store) == before
    nakshi.json("cache-plan", store, "--memory", told(refused.stderr))


def test_a_plan_of_another_store(nakshi: CommandLine, small: Path, tmp_path: Path) -> None:
    """The plan of another store is refused where a run uses it, disturbs no other run, and is replaced."""
    store, other = copy(small, tmp_path), tmp_path / "other.nakshi"
    nakshi.json("layout", store, other, "--order", "degree")
    nakshi.json("cache-plan", other)
    shutil.copy(other / "cache.plan", store / "cache.plan")
    before = contents(store)
    assert_refused(nakshi.run("run", "bfs", store, *PINNED), store.name, "another store")
    plain = nakshi.json("run", "bfs", store, *BFS)
    assert contents(store) == before
    nakshi.json("cache-plan", store)
    assert nakshi.json("run", "bfs", store, *PINNED)["result"] == plain["result"]
