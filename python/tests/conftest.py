"""Fixtures of the tests: small graphs, and the command line as a user runs it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nakshi
import pytest

#: Loops of random tests run this many times as often; continuous integration uses 1.
SCALE = max(1, int(os.environ.get("NAKSHI_TEST_SCALE", "1")))
DATA = Path(os.environ.get("NAKSHI_DATA", Path(__file__).parents[3] / "shared" / "data"))

#: The algorithms by their names, with arguments that work on any graph that has vertices 0 and 1.
ALGORITHMS: dict[str, dict[str, Any]] = {
    "bfs": {"source": 0},
    "pagerank": {"iterations": 10},
    "wcc": {},
    "sssp": {"source": 0},
    "bc": {"sources": [0, 1]},
    "triangles": {},
    "scan-statistics": {},
    "diameter": {},
    "apsp": {"sources": [0, 1]},
    "cdlp": {"iterations": 5},
    "lcc": {},
    "coloring": {},
    "degrees": {},
    "matching": {},
    "scc": {},
    "k-core": {},
    "k-truss": {"k": 3},
    "mis": {},
    "spanning-forest": {},
    "bridges": {},
    "articulation-points": {},
    "eccentricity": {"sources": [0, 1]},
    "article-rank": {},
    "densest-subgraph": {},
    "gee": {"labeled": [0, 1], "classes": [0, 1]},
    "label-propagation": {},
    "power-law": {},
    "rich-club": {},
    "similar": {"k": 2, "hashes": 16},
    "weighted-matching": {},
}

#: Fields of a run's report about its reads.
IO_FIELDS = {"bytes_read", "requests", "hits", "misses", "pinned_hits", "page_utilisation"}


@dataclass
class Outcome:
    """Output and exit code of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_cli(*arguments: object, stdin: bytes | None = None, timeout: float = 60) -> Outcome:
    """Run `nakshi` in a process of its own, as from a shell."""
    command = [sys.executable, "-m", "nakshi", *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=timeout)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def cli() -> Callable[..., Outcome]:
    return run_cli


@pytest.fixture
def karate(tmp_path: Path) -> nakshi.Graph:
    """Zachary's karate club, undirected: 34 vertices, 78 edges, ids 0 to 33."""
    import networkx as nx
    import numpy as np

    edges = np.array(nx.karate_club_graph().edges())
    return nakshi.build(tmp_path / "karate.nakshi", (edges[:, 0], edges[:, 1]), directed=False)


@pytest.fixture
def diamond(tmp_path: Path) -> nakshi.Graph:
    """Text ids, weights, an island: a -> b -> d and a -> c -> d, d -> a, and e -> f."""
    path = tmp_path / "diamond.tsv"
    path.write_text("a\tb\t1\na\tc\t5\nb\td\t7\nc\td\t1\nd\ta\t2\ne\tf\t1\n")
    return nakshi.build(tmp_path / "diamond.nakshi", path, weighted=True)


def content(graph: nakshi.Graph) -> dict[Any, Any]:
    """Everything that a store holds, by node."""
    found = {}
    for id in graph.get_node_ids():
        edges = {
            record.edge_type: [graph.get_edge_data(record, i) for i in range(len(record))]
            for record in graph.get_edge_record(id)
        }
        found[id] = graph.get_node_property(id), edges
    return found


def data(name: str) -> Path:
    """A file of the shared data; the test is skipped where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def ldbc(home: Path) -> tuple[dict[str, list[Path]], dict[str, Path]]:
    """LDBC's files as they are, in ``home``: those of edges by type, those of nodes by label."""
    archive = data("ldbc-snb-sf0.003-v1.tar.zst")
    subprocess.run(["tar", "--zstd", "-xf", archive, "-C", home], check=True)
    folder = home / "ldbc-snb-sf0.003-v1" / "vanilla"
    names = ["Person", "Forum", "Post", "Comment", "Tag", "TagClass", "Place", "Organisation"]
    files = {path.name.removesuffix("_0_0.csv"): path for path in folder.glob("*/*.csv")}
    nodes = {name: files.pop(name.lower()) for name in names}
    edges: dict[str, list[Path]] = {}
    for name, path in files.items():
        edges.setdefault(name.split("_")[1], []).append(path)
    return edges, nodes


def random_edges(rng: random.Random, vertices: int, edges: int) -> list[tuple[int, int]]:
    """Edges with skewed degrees, self-loops and duplicates among them."""

    def pick() -> int:
        return int(vertices * rng.random() ** 2)

    return [(pick(), pick()) for _ in range(edges)]


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    """200 accounts with 100 each."""
    import pyarrow as pa

    nodes = pa.table({"id": range(200), "age": [100] * 200, "kind": ["account"] * 200})
    edges = pa.table({"source": [0], "target": [1], "type": ["moved"]})
    nakshi.build(tmp_path / "g.nakshi", edges=edges, nodes=nodes, progress=False)
    return tmp_path / "g.nakshi"
