"""Twenty-two tasks of a new user, each one call: twelve kinds of input, ten questions on real graphs.

The answers are compared with those of polars and NetworkX.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nakshi
import networkx as nx
import numpy as np
import polars as pl
import pytest

from .conftest import data, ldbc

PAIRS = [(1, 2), (2, 3), (3, 1), (4, 1), (5, 4), (1, 5)]
FRAME = pl.DataFrame(PAIRS, schema=["source", "target"], orient="row")


def csv(home: Path) -> Path:
    FRAME.write_csv(home / "edges.csv")
    return home / "edges.csv"


def gzipped(home: Path) -> Path:
    path = home / "edges.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{a}\t{b}\n" for a, b in PAIRS).encode()))
    return path


def parquet(home: Path) -> Path:
    FRAME.write_parquet(home / "edges.parquet")
    return home / "edges.parquet"


def matrix_market(home: Path) -> Path:
    scipy_io = pytest.importorskip("scipy.io")
    scipy_io.mmwrite(home / "edges.mtx", coo(home))
    return home / "edges.mtx"


def coo(_: Path) -> Any:
    sparse = pytest.importorskip("scipy.sparse")
    rows, columns = np.array(PAIRS).T
    return sparse.coo_array((np.ones(len(PAIRS)), (rows, columns)), shape=(6, 6))


def relation(_: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(FRAME.to_arrow())


def igraph(_: Path) -> Any:
    library = pytest.importorskip("igraph")
    return library.Graph.TupleList(PAIRS, directed=True)


#: Twelve kinds of input.
INPUTS: dict[str, Callable[[Path], Any]] = {
    "CSV": csv,
    "TSV with gzip": gzipped,
    "Parquet": parquet,
    "Matrix Market": matrix_market,
    "Arrow": lambda _: FRAME.to_arrow(),
    "pandas": lambda _: FRAME.to_pandas(),
    "polars": lambda _: FRAME,
    "DuckDB": relation,
    "NetworkX": lambda _: nx.DiGraph(PAIRS),
    "igraph": igraph,
    "SciPy": coo,
    "NumPy edge index": lambda _: np.array(PAIRS).T,
}


@pytest.mark.parametrize("kind", INPUTS)
def test_input(kind: str, tmp_path: Path) -> None:
    edges = INPUTS[kind](tmp_path)
    graph = nakshi.build(tmp_path / "g.nakshi", edges)
    sources, targets = graph.edges()
    # Text without a header may be either; Matrix Market counts from one.
    ids = {str(id): int(id) for id in [*sources, *targets]}
    found = {(ids[str(a)], ids[str(b)]) for a, b in zip(sources, targets, strict=True)}
    shift = 1 if kind == "Matrix Market" else 0
    assert found == {(a + shift, b + shift) for a, b in PAIRS}


class Snb:
    """LDBC's graph: its files as tables, and a store of all of them."""

    def __init__(self, home: Path) -> None:
        edges, nodes = ldbc(home)
        files = [*nodes.values(), *(path for paths in edges.values() for path in paths)]
        self.tables = {
            path.name.removesuffix("_0_0.csv"): pl.read_csv(path, separator="|", quote_char=None)
            for path in files
        }
        self.graph = nakshi.build(home / "snb.nakshi", edges, nodes=nodes)
        knows = self.tables["person_knows_person"]
        self.knows = nx.DiGraph((f"Person:{a}", f"Person:{b}") for a, b, *_ in knows.iter_rows())
        self.hub = max(self.knows, key=lambda id: (self.knows.degree(id), id))


@pytest.fixture(scope="module")
def snb(tmp_path_factory: pytest.TempPathFactory) -> Snb:
    return Snb(tmp_path_factory.mktemp("snb"))


def test_files_of_ldbc(snb: Snb) -> None:
    assert len(snb.graph) == sum(
        len(snb.tables[name])
        for name in "person forum post comment tag tagclass place organisation".split()
    )


def test_who_does_this_person_know(snb: Snb) -> None:
    assert sorted(snb.graph.get_neighbor_ids(snb.hub, "knows")) == sorted(snb.knows[snb.hub])


def test_how_are_two_persons_connected(snb: Snb) -> None:
    graph = snb.graph
    far = nx.single_source_shortest_path_length(snb.knows, snb.hub)
    target = max(far, key=lambda id: (far[id], id))
    path = graph.shortest_path(snb.hub, target)
    assert path is not None
    # The path may lead over messages and places, too.
    assert path[0] == snb.hub and path[-1] == target and len(path) <= far[target] + 1


def test_who_has_this_name(snb: Snb) -> None:
    persons = snb.tables["person"]
    name = persons["firstName"].mode().sort()[0]
    ids = persons.filter(pl.col("firstName") == name)["id"]
    assert sorted(snb.graph.get_node_ids({"firstName": name})) == sorted(
        f"Person:{id}" for id in ids
    )


def test_which_messages_are_newer(snb: Snb) -> None:
    posts = snb.tables["post"]
    day = int(posts["creationDate"].median() or 0)
    newer = posts.filter(pl.col("creationDate") > day)
    found = snb.graph.count({"labels": "Post", "creationDate": nakshi.gt(day)})
    assert found == len(newer)


def test_how_many_of_each_kind(snb: Snb) -> None:
    schema = snb.graph.schema()
    types = {found.name: found.edges for found in schema.edge_types}
    assert types["knows"] == len(snb.tables["person_knows_person"])
    assert schema.labels["Person"] == len(snb.tables["person"])


def test_how_many_by_browser(snb: Snb) -> None:
    expected = dict(snb.tables["person"].group_by("browserUsed").len().iter_rows())
    assert snb.graph.count({"labels": "Person"}, by="browserUsed") == expected


class Debian:
    """Packages and what they depend on: tables with a header of their own, and a store."""

    def __init__(self, home: Path) -> None:
        nodes, edges = data("debian.nodes.tsv.zst"), data("debian.edges.tsv.zst")
        text: dict[str, Any] = {"separator": "\t", "quote_char": None}
        self.nodes = pl.read_csv(nodes, **text, infer_schema_length=None)
        self.edges = pl.read_csv(edges, **text, infer_schema_length=None)
        self.graph = nakshi.build(home / "debian.nakshi", edges, nodes=nodes)


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Debian:
    return Debian(tmp_path_factory.mktemp("debian"))


def test_what_depends_on_it(debian: Debian) -> None:
    hub = debian.edges["target"].mode().sort()[0]
    sources = debian.edges.filter(pl.col("target") == hub)["source"].unique()
    _, found = debian.graph.neighbors(hub, "in")
    assert sorted(found) == sorted(sources)


def test_which_are_the_largest(debian: Debian) -> None:
    found = debian.graph.get_node_ids(order_by="installed_size", descending=True, limit=10)
    sizes = debian.nodes["installed_size"].drop_nulls().sort(descending=True)[:10]
    size = dict(debian.nodes.select("id", "installed_size").iter_rows())
    assert [size[id] for id in found] == sizes.to_list()


def test_which_are_about(debian: Debian) -> None:
    about = debian.nodes.filter(pl.col("description").str.contains("strategy", literal=True))
    found = debian.graph.get_node_ids({"description": nakshi.contains("strategy")})
    assert sorted(found) == sorted(about["id"])


def test_which_matter_most(debian: Debian) -> None:
    found = debian.graph.pagerank(tolerance=1e-9).top(10)
    graph = nx.DiGraph()
    graph.add_nodes_from(debian.nodes["id"])
    graph.add_edges_from(debian.edges.select("source", "target").iter_rows())
    ranks = nx.pagerank(graph, tol=1e-9)
    expected = sorted(ranks, key=lambda id: -ranks[id])[:10]
    assert [row[0] for row in found] == expected
