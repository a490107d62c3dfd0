"""A1: an import killed at any point leaves no store or a complete one, and a rerun mends all."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest
from rig import SCALE, CommandLine, kill_at_every_operation, leftovers

OPERATIONS = ("write", "rename", "fsync")


def verify(nakshi: CommandLine, edges: Path, store: Path, expected: str) -> None:
    """Asserts that the store is absent or complete, and complete and equal after a rerun that leaves no files."""
    if store.exists():
        nakshi.assert_sound(store)
        assert nakshi.content_hash(store) == expected
    else:
        again = nakshi.run("import", edges, store, "--undirected")
        assert again.returncode == 0, again.stderr
        nakshi.assert_sound(store)
        assert nakshi.content_hash(store) == expected
        assert leftovers(store.parent) == []


def alone(folder: Path, attempt: int) -> Path:
    """A store in a folder of its own: one that was killed behind its last step may leave its lock file."""
    store = folder / str(attempt) / "graph.nakshi"
    store.parent.mkdir()
    return store


@pytest.fixture(scope="module")
def expected(
    nakshi: CommandLine, small_edges: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Hash of the undisturbed import."""
    store = tmp_path_factory.mktemp("expected") / "graph.nakshi"
    nakshi.json("import", small_edges, store, "--undirected")
    return nakshi.content_hash(store)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_the_nth_operation(
    nakshi: CommandLine, small_edges: Path, expected: str, operation: str, tmp_path: Path
) -> None:
    """Seen red with the store written under its final name, and with leftovers not removed."""

    def run(nth: int, fault: dict[str, str]) -> subprocess.CompletedProcess[str]:
        store = alone(tmp_path, nth)
        done = nakshi.run("import", small_edges, store, "--undirected", env=fault)
        verify(nakshi, small_edges, store, expected)
        return done

    kill_at_every_operation(operation, run, wider=lambda step: step + 3)


def test_killed_at_a_random_moment(
    nakshi: CommandLine, small_edges: Path, expected: str, tmp_path: Path
) -> None:
    """Seen red with the store written under its final name."""
    began = time.monotonic()
    nakshi.json("import", small_edges, tmp_path / "timed.nakshi", "--undirected")
    lasts = time.monotonic() - began
    moments = random.Random(11)
    for attempt in range(6 * SCALE):
        store = alone(tmp_path, attempt)
        process = nakshi.start("import", small_edges, store, "--undirected")
        time.sleep(lasts * moments.uniform(0.3, 1.1))
        process.kill()
        process.communicate()
        verify(nakshi, small_edges, store, expected)


@pytest.mark.parametrize("operation", ("create", "write"))
def test_killed_with_temporary_files_elsewhere(
    nakshi: CommandLine, small_edges: Path, expected: str, operation: str, tmp_path: Path
) -> None:
    """The next import removes the directory in ``--scratch`` without being told of it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def run(nth: int, fault: dict[str, str]) -> subprocess.CompletedProcess[str]:
        store = tmp_path / f"{operation}-{nth}.nakshi"
        words = ("import", small_edges, store, "--undirected", "--scratch", scratch)
        done = nakshi.run(*words, env=fault)
        verify(nakshi, small_edges, store, expected)
        assert list(scratch.iterdir()) == []
        return done

    kill_at_every_operation(operation, run, wider=lambda step: step + 3)
