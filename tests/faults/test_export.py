"""Export for Neo4j under kills and a disk that fails, on real processes.

Whatever ends it, the directory is absent or complete, and the next export gives the same files.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from rig import CommandLine

FILES = ("nodes.csv", "relationships.csv", "import.sh")


@pytest.fixture(scope="module")
def store(nakshi: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Kronecker graph of scale 10."""
    folder = tmp_path_factory.mktemp("store")
    nakshi.json("generate", "kronecker", folder / "edges.tsv", "--scale", 10)
    nakshi.json("import", folder / "edges.tsv", folder / "g.nakshi", "--no-progress")
    return folder / "g.nakshi"


def words(store: Path, out: Path, layout: bool) -> list[object]:
    order = ["--layout", "random"] if layout else []
    return ["export", store, out, "--neo4j", *order, "--no-progress"]


def content(out: Path) -> list[bytes]:
    assert sorted(file.name for file in out.iterdir()) == sorted(FILES)
    return [(out / name).read_bytes() for name in FILES]


@pytest.mark.parametrize("layout", [False, True])
@pytest.mark.parametrize("operation", ["create", "write", "fsync", "rename"])
def test_an_export_killed_or_failing_at_the_nth_operation(
    nakshi: CommandLine, store: Path, operation: str, layout: bool, tmp_path: Path
) -> None:
    """Kills the export at every kind of operation on files, by its number."""
    nakshi.json(*words(store, tmp_path / "whole", layout))
    expected = content(tmp_path / "whole")
    ends = 0
    for action in ("kill", "eio"):
        for nth in (0, 1, 2, 4, 8, 16):
            out = tmp_path / f"{action}-{nth}"
            fault = {"NAKSHI_FAULT": f"{operation}:{nth}:{action}"}
            done = nakshi.run(*words(store, out, layout), env=fault)
            if done.returncode != 0:
                ends += 1
                assert done.returncode == (-signal.SIGKILL if action == "kill" else 1)
            if action == "eio" and done.returncode == 1:
                assert done.stderr.startswith("nakshi: ")
            if not out.exists():
                nakshi.json(*words(store, out, layout))
                assert [entry.name for entry in tmp_path.glob(f".{out.name}.*")] == []
            assert content(out) == expected
    assert ends > 0, f"the fault never came: does {operation} pass through the seam?"
