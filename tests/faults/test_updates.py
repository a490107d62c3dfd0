"""Q1: changes of a property graph under kills and power cuts, with the log of acknowledged commits
outside the store.

Four threads commit pairs of nodes with an edge each way and say so on a pipe; all the time the log is
compacted, or frozen and its fragments merged. Whatever ends the process, no acknowledged commit is
lost, none is there by half, and those of each thread are a prefix. `NAKSHI_TEST_SCALE=80` makes
about 500 of each.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nakshi as package
import pytest
from rig import SCALE, CommandLine

THREADS = 4
FIRST = 1_000_000
#: EXT4_IOC_SHUTDOWN, and its argument that flushes nothing, not even the journal.
SHUTDOWN, NO_FLUSH = 0x8004587D, 2

WRITER = f"""
import os, sys, threading, nakshi
graph = nakshi.open(sys.argv[1])
graph.load_properties(progress=False)
def write(thread):
    i = 0
    while graph.search.find({{"key": {FIRST} * (thread + 1) + 2 * i}}):
        i += 1
    while True:
        key = {FIRST} * (thread + 1) + 2 * i
        with graph.batch() as batch:
            batch.append_node(key, {{"key": key}})
            batch.append_node(key + 1, {{"key": key + 1}})
            batch.append_edge(key, "pair", key + 1, i)
            batch.append_edge(key + 1, "pair", key, i)
        os.write(1, b"%d %d\\n" % (thread, i))
        i += 1
for thread in range({THREADS}):
    threading.Thread(target=write, args=(thread,), daemon=True).start()
while True:
    if sys.argv[2] == "compact":
        graph.compact(memory="130MiB", threads=1, progress=False)
    else:
        graph.freeze()
"""


def start(store: Path) -> None:
    """An empty graph."""
    nodes = store.parent.parent / "nodes.csv"
    nodes.write_text("id:ID,key:int\n0,0\n")
    package.build(store, [], nodes=nodes, properties=True, progress=False)


class Writer:
    """A process that commits until it is ended."""

    def __init__(self, store: Path, upkeep: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store), upkeep], stdout=subprocess.PIPE
        )

    def first_commit(self) -> bytes:
        """Waits for the process; returns the output that was read of the pipe."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self, read: bytes) -> list[int]:
        """Kills the process; returns the number of acknowledged commits of each thread, as read so far."""
        self.process.kill()
        assert self.process.stdout is not None
        read += self.process.stdout.read()
        self.process.wait()
        acknowledged = [0] * THREADS
        for line in read.decode().splitlines(keepends=True):
            if line.endswith("\n"):
                thread, i = map(int, line.split())
                acknowledged[thread] = i + 1
        return acknowledged


def verify(nakshi: CommandLine, store: Path, acknowledged: list[int]) -> list[int]:
    """Asserts that every acknowledged commit is there and every commit is whole; returns their number."""
    counts = []
    with package.open(store) as graph:
        snapshot = graph.snapshot()
        for thread in range(THREADS):
            known = {id for id in snapshot.get_node_ids() if id // FIRST == thread + 1}
            count = len(known) // 2
            first = FIRST * (thread + 1)
            assert known == set(range(first, first + 2 * count))
            assert acknowledged[thread] <= count <= acknowledged[thread] + 1
            for key in known:
                assert snapshot.get_neighbor_ids(key) == [key ^ 1]
            counts.append(count)
        assert snapshot.num_nodes == 1 + 2 * sum(counts)
        assert snapshot.num_edges == 2 * sum(counts)
    nakshi.assert_sound(store)
    return counts


def cycle(
    nakshi: CommandLine, store: Path, last: list[int], moment: float, *, upkeep: str, cut: bool
) -> list[int]:
    """Writes on until `moment` seconds after the first commit, then kills or cuts the power."""
    writer = Writer(store, upkeep)
    read = writer.first_commit()
    time.sleep(moment)
    if cut:
        os.kill(writer.process.pid, signal.SIGSTOP)
        time.sleep(0.01)
        power_cut(store.parent)
    found = writer.end(read)
    acknowledged = [max(pair) for pair in zip(last, found, strict=True)]
    if cut:
        remount(store.parent)
    counts = verify(nakshi, store, acknowledged)
    # A second recovery finds the same state.
    assert verify(nakshi, store, acknowledged) == counts
    return counts


@pytest.mark.parametrize("upkeep", ["compact", "freeze"])
def test_kills(nakshi: CommandLine, tmp_path: Path, upkeep: str) -> None:
    """Seen red with a commit acknowledged before its group is written."""
    store, counts = tmp_path / "graph.nakshi", [0] * THREADS
    start(store)
    moments = random.Random(3)
    for _ in range(6 * SCALE):
        counts = cycle(nakshi, store, counts, moments.uniform(0, 0.4), upkeep=upkeep, cut=False)
    assert sum(counts) > 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """An ext4 file system in a file, mounted."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("mounting a file system takes root and mkfs.ext4")
    image, mount = tmp_path / "disk.img", tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    mount.mkdir()
    if subprocess.run(["mount", "-o", "loop", image, mount], capture_output=True).returncode:
        pytest.skip("mounting a file system is refused here")
    yield mount
    unmount(mount)


def unmount(mount: Path) -> None:
    """Unmounts, and waits while the mount is busy: the kernel closes the files that a killed
    process read through io_uring a moment after the process has gone."""
    deadline = time.monotonic() + 20
    while (done := subprocess.run(["umount", mount], capture_output=True, text=True)).returncode:
        assert "busy" in done.stderr and time.monotonic() < deadline, done.stderr
        time.sleep(0.05)


def power_cut(mount: Path) -> None:
    folder = os.open(mount, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", NO_FLUSH))
    except OSError as error:
        pytest.skip(f"no EXT4_IOC_SHUTDOWN here: {error}")
    finally:
        os.close(folder)


def remount(mount: Path) -> None:
    """Mounts the file system again, which replays its journal."""
    image = mount.with_suffix(".img")
    unmount(mount)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)


@pytest.mark.parametrize("upkeep", ["compact", "freeze"])
def test_power_cuts(nakshi: CommandLine, disk: Path, upkeep: str) -> None:
    """Seen red with fsync left out of the log, and out of the new manifest of a compaction."""
    store, counts = disk / "graph.nakshi", [0] * THREADS
    start(store)
    os.sync()
    moments = random.Random(5)
    for _ in range(6 * SCALE):
        counts = cycle(nakshi, store, counts, moments.uniform(0, 0.4), upkeep=upkeep, cut=True)
    assert sum(counts) > 0


def test_a_power_cut_while_a_graph_is_loaded(nakshi: CommandLine, disk: Path) -> None:
    """The store is absent or complete. Seen red with its files not synced."""
    tables = disk.parent
    words = ["--scale", 11, "--nodes", tables / "nodes.tsv"]
    nakshi.json("generate", "kronecker", tables / "edges.tsv", *words)
    call = ["import", tables / "edges.tsv", disk / "g", "--nodes", tables / "nodes.tsv"]
    call += ["--properties", "--no-progress"]
    began = time.monotonic()
    nakshi.json(*call)
    lasts = time.monotonic() - began
    nakshi.assert_sound(disk / "g")
    shutil.rmtree(disk / "g")
    moments = random.Random(7)
    there = 0
    for attempt in range(5 * SCALE):
        process = nakshi.start(*call)
        # The first power cut comes right after the command has ended: a reported store is durable.
        if attempt == 0:
            process.communicate()
        else:
            time.sleep(lasts * moments.uniform(0.4, 1.1))
            os.kill(process.pid, signal.SIGSTOP)
        done = process.poll() == 0
        power_cut(disk)
        process.kill()
        process.communicate()
        remount(disk)
        assert (disk / "g").exists() or not done
        if (disk / "g").exists():
            nakshi.assert_sound(disk / "g")
            there += 1
            shutil.rmtree(disk / "g")
    assert there > 0
