"""A3 and E1: imports and runs stay below a memory limit that the kernel enforces.

In a cgroup the page cache is charged as well, so buffered reads cannot hide; a process that needs
more than its limit is killed, which the tests see as a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from rig import MIB, SCALE, CommandLine

BASE = 24 * MIB
"""Interpreter and program text, beside the budget that --memory gives."""


def test_import_of_a_hub_under_a_limit(
    nakshi: CommandLine, edge_list: Callable[..., Path], tmp_path: Path
) -> None:
    """A3: 30 % of all edges at one vertex. By hand with NAKSHI_TEST_SCALE=20 for 2 GiB of text.

    Seen red (the kernel ends the import) with its memory budget ignored.
    """
    edges = edge_list(400_000, 6_000_000 * SCALE, hub=0.3)
    limit = 256 * MIB if SCALE > 1 else 64 * MIB + BASE
    nakshi.json("import", edges, tmp_path / "free.nakshi")
    nakshi.capped(limit, "import", edges, tmp_path / "capped.nakshi", "--memory", limit - BASE)
    hashes = {nakshi.content_hash(tmp_path / f"{name}.nakshi") for name in ("free", "capped")}
    assert len(hashes) == 1


SUMMARY_ONLY = ("triangles", "scan-statistics", "diameter", "apsp")
"""These have no column of values, so their summaries are compared alone."""
ALGORITHMS = {
    "bfs": ["--source", "1"],
    "pagerank": ["--iterations", "5"],
    "wcc": [],
    "sssp": ["--source", "1"],
    "bc": ["--sources", "1"],
    "triangles": [],
    "scan-statistics": [],
    "diameter": [],
    "apsp": ["--sample", "8"],
    "cdlp": ["--iterations", "5"],
    "lcc": [],
    "k-core": [],
    "articulation-points": [],
}


@pytest.fixture(scope="module")
def large(nakshi: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw lists of more bytes than any limit below: 4 bytes an edge, both directions.

    A mild tail and many vertices, so that triangles are few and even counting them is quick.
    """
    random = np.random.default_rng(5)
    vertices, edges = 300_000, 17_500_000
    folder = tmp_path_factory.mktemp("large")
    source = (vertices * random.random(edges) ** 1.5).astype(np.uint32)
    target = random.integers(0, vertices, edges, dtype=np.uint32)
    table = pa.table({"source": source, "target": target})
    parquet.write_table(table, folder / "edges.parquet")
    store = folder / "graph.nakshi"
    nakshi.json("import", folder / "edges.parquet", store, "--undirected", "--encoding", "raw")
    (folder / "edges.parquet").unlink()
    return store


def large_file(store: Path) -> int:
    """Bytes of edge lists."""
    return sum(file.stat().st_size for file in store.glob("*.adj"))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_algorithm_below_a_limit(
    nakshi: CommandLine, large: Path, algorithm: str, tmp_path: Path
) -> None:
    """E1: limit = what the run needs at least + 64 MiB; same answer as in memory.

    Seen red (the kernel ends the run) with the lists loaded into memory all the same.
    """
    words = ["run", algorithm, large, *ALGORITHMS[algorithm], "--no-progress"]
    minimum = nakshi.json("estimate", algorithm, large)["minimum"]
    limit = minimum + 64 * MIB
    free, capped = tmp_path / "memory.tsv", tmp_path / "capped.tsv"
    column = algorithm not in SUMMARY_ONLY
    in_memory = nakshi.json(*words, "--engine", "memory", *(["--out", free] if column else []))
    words += ["--engine", "ssd", "--memory", minimum, *(["--out", capped] if column else [])]
    ran, report = nakshi.capped(limit, *words)
    # What the kernel charged, page cache included, and what the process says of itself; the
    # kernel's count at exit starts at the memory of the process that forks, this one.
    assert ran.charged is not None and ran.charged <= limit < large_file(large)
    assert report["memory"]["peak_rss"] <= limit
    assert report["engine"] == "ssd"
    # Components may be settled by the heads, which are read when the graph is opened.
    assert report["io"]["bytes_read"] > 0 or algorithm == "wcc"
    assert report["result"] == in_memory["result"]
    if column:
        assert capped.read_bytes() == free.read_bytes()
