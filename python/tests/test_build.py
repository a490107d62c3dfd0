"""Edges in every form that Python people have them; ids come back as they went in."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any, get_args

import nakshi
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from nakshi.orders import Layout

SOURCES, TARGETS, WEIGHTS = [10, 20, 30, 30], [20, 30, 10, 40], [1.0, 2.0, 3.0, 4.0]
LEVELS = {10: 0, 20: 1, 30: 2, 40: 3}
DISTANCES = {10: 0.0, 20: 1.0, 30: 3.0, 40: 7.0}


def frame() -> dict[str, Any]:
    return {"note": ["a", "b", "c", "d"], "w": WEIGHTS, "to": TARGETS, "from": SOURCES}


TABLES = {
    "polars": lambda: pl.DataFrame(frame()),
    "pandas": lambda: pd.DataFrame(frame()),
    "pyarrow": lambda: pa.table(frame()),
    "batches": lambda: pa.table(frame()).to_reader(max_chunksize=1),
    "chunked": lambda: pa.concat_tables([pa.table(frame()).slice(i, 1) for i in range(4)]),
}


@pytest.mark.parametrize("kind", list(TABLES))
def test_tables(kind: str, tmp_path: Path) -> None:
    graph = nakshi.build(tmp_path / "s", TABLES[kind](), columns=["from", "to", "w"], weighted=True)
    assert graph.bfs(source=10).to_dict() == LEVELS
    assert graph.sssp(source=10).to_dict() == DISTANCES


def test_well_known_column_names(tmp_path: Path) -> None:
    table = pa.table({"weight": WEIGHTS, "target": TARGETS, "source": SOURCES})
    assert nakshi.build(tmp_path / "s", table).bfs(source=10).to_dict() == LEVELS


@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8", "<U4", "S4", "O"]
)
def test_arrays(dtype: str, tmp_path: Path) -> None:
    sources, targets = np.array(SOURCES).astype(dtype), np.array(TARGETS).astype(dtype)
    graph = nakshi.build(tmp_path / "s", (sources, targets))
    # "10" is an integer wherever all ids are canonical integers.
    assert graph.bfs(source=10).to_dict() == LEVELS


def test_arrays_of_other_shapes(tmp_path: Path) -> None:
    pairs = np.stack([SOURCES, TARGETS], axis=1)
    graphs = [
        nakshi.build(tmp_path / "pairs", pairs),
        nakshi.build(tmp_path / "fortran", np.asfortranarray(pairs)),
        nakshi.build(tmp_path / "strided", (np.repeat(SOURCES, 2)[::2], np.array(TARGETS))),
        nakshi.build(tmp_path / "lists", (SOURCES, TARGETS)),
        nakshi.build(tmp_path / "tuples", list(zip(SOURCES, TARGETS))),
        nakshi.build(tmp_path / "series", (pd.Series(SOURCES), pl.Series(TARGETS))),
    ]
    for graph in graphs:
        assert graph.bfs(source=10).to_dict() == LEVELS


@pytest.mark.parametrize("weights", [WEIGHTS, [1, 2, 3, 4], np.array(WEIGHTS, "f4")])
def test_weights(weights: Any, tmp_path: Path) -> None:
    graph = nakshi.build(tmp_path / "s", (SOURCES, TARGETS, weights), weighted=True)
    assert graph.weighted
    by_weight, by_edges = graph.sssp(source=10), graph.sssp(source=10, unit=True)
    assert (by_weight.to_dict(), by_weight.summary["lengths"]) == (DISTANCES, graph.weights[0])
    assert (by_edges.to_dict(), by_edges.summary["lengths"]) == (LEVELS, "unit")


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse(form: str, kind: str, tmp_path: Path) -> None:
    make = sp.coo_matrix if kind == "matrix" else sp.coo_array
    matrix = make((WEIGHTS, ([0, 1, 2, 2], [1, 2, 0, 3])), shape=(6, 6)).asformat(form)
    graph = nakshi.build(tmp_path / "s", matrix, weighted=True)
    # Rows without entries are vertices without edges.
    assert graph.num_vertices == 6
    assert graph.sssp(source=0).to_dict() == {0: 0, 1: 1, 2: 3, 3: 7, 4: None, 5: None}


@pytest.mark.parametrize(("duplicates", "weight"), [(None, 2.0), ("sum", 5.0)])
def test_entries_in_the_same_place(duplicates: Any, weight: float, tmp_path: Path) -> None:
    """SciPy's conversion would add them up without a word."""
    matrix = sp.coo_matrix(([3.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    graph = nakshi.build(tmp_path / "s", matrix, weighted=True, duplicates=duplicates)
    assert graph.sssp(source=0)[1] == weight
    assert graph.info()["import"]["duplicates"] == 1


@pytest.mark.parametrize("layout", ["auto", "degree", "original"])
def test_a_seed_without_a_draw_is_told(layout: Layout, tmp_path: Path) -> None:
    with pytest.warns(nakshi.InputWarning, match=f"seed=3 has no effect.*'{layout}'"):
        nakshi.build(tmp_path / "s", ([1], [2]), layout=layout, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nakshi.build(tmp_path / "r", ([1], [2]), layout="random", seed=3)


def test_matrix_must_be_square(tmp_path: Path) -> None:
    with pytest.raises(nakshi.ParameterError, match="square"):
        nakshi.build(tmp_path / "s", sp.coo_matrix((2, 3)))


INDPTR, INDICES = [0, 1, 2, 4, 4], [1, 2, 0, 3]


@pytest.mark.parametrize(
    ("form", "indptr", "indices"),
    [
        ("csr", [0, 4, 5, 3, 4], INDICES),
        ("csr", [0, 2, 1, 3, 4], INDICES),
        ("csr", [0, -1, 2, 3, 4], INDICES),
        ("csr", [0, 1, 2, 4, 4, 4, 4], INDICES),
        ("csr", [0, 1, 4], [1, 1, 0, 0]),
        ("csr", [0, 1, 2, 3, 9], INDICES),
        ("csr", [1, 1, 2, 3, 4], INDICES),
        ("csr", [0.0, 1.0, 2.0, 4.0, 4.0], INDICES),
        ("csr", INDPTR, [1, -2, 0, 3]),
        ("csr", INDPTR, [1, 4, 0, 3]),
        ("csr", INDPTR, INDICES[:3]),
        ("csc", [0, 1, 9000, 3, 4], INDICES),
        ("csc", [0, 1, 2, 4, 4, 4, 4], INDICES),
        ("csc", INDPTR, [1, -300_000, 0, 3]),
        ("coo", [0, 1, 900_000, 2], INDICES),
        ("coo", [0, 1, -2, 2], INDICES),
        ("coo", [0, 1, 2], INDICES),
    ],
)
def test_damaged_matrices(form: str, indptr: list[Any], indices: list[int], tmp_path: Path) -> None:
    """Seen red with arrays that SciPy's conversions and the import believed: wrong graphs, and crashes."""
    matrix = sp.coo_matrix((WEIGHTS, ([0, 1, 2, 2], INDICES)), shape=(4, 4)).asformat(form)
    if form == "coo":
        matrix.row, matrix.col = np.array(indptr), np.array(indices)
    else:
        matrix.indptr, matrix.indices = np.array(indptr), np.array(indices)
    with pytest.raises((nakshi.ParameterError, nakshi.InputError)):
        nakshi.build(tmp_path / "s", matrix)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_matrices_with_indices_of_any_integer_type(form: str, kind: str, tmp_path: Path) -> None:
    matrix = sp.coo_matrix((WEIGHTS, ([0, 1, 2, 2], INDICES)), shape=(4, 4)).asformat(form)
    matrix.indptr, matrix.indices = matrix.indptr.astype(kind), matrix.indices.astype(kind)
    graph = nakshi.build(tmp_path / "s", matrix, weighted=True)
    assert graph.sssp(source=0).to_dict() == {0: 0, 1: 1, 2: 3, 3: 7}


def test_nodes_of_any_text(tmp_path: Path) -> None:
    """Seen red with ids that were written without quotes, and cut at blanks."""
    names = ['a "quoted" one', "two words", "#3", "a\tb", "x,y", "id"]
    graph = nakshi.build(tmp_path / "s", (names[:1], names[1:2]), nodes=names)
    assert sorted(graph.wcc().to_dict()) == sorted(names)
    nakshi.export(graph, tmp_path / "e.tsv", nodes=tmp_path / "nodes.txt")
    again = nakshi.build(tmp_path / "again", tmp_path / "e.tsv", nodes=tmp_path / "nodes.txt")
    assert sorted(again.wcc().to_dict()) == sorted(names)
    with pytest.raises(nakshi.ParameterError, match="line break"):
        nakshi.build(tmp_path / "b", (["a"], ["b"]), nodes=["a\nb"])


BORDER = 1 << 63


@pytest.mark.parametrize(
    "ids",
    [
        [BORDER - 1, BORDER],
        [BORDER - 2, BORDER - 1, BORDER, BORDER + 1],
        [2 * BORDER - 1, 2 * BORDER - 2],
        [0, 2 * BORDER - 1],
        [-1, 2 * BORDER - 1],
        [-BORDER, BORDER - 1],
        [-BORDER - 1, BORDER],
        [-5, 2 * BORDER],
    ],
)
@pytest.mark.parametrize("layout", ["original", "degree", "random"])
def test_ids_at_borders(ids: list[int], layout: Any, tmp_path: Path) -> None:
    """Seen red: "a vertex is not in the id dictionary", and lists that NumPy turned into floats."""
    last = ids[1:] + ids[:1]
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in zip(ids, last)))
    pairs = list(zip(ids, last))
    for name, edges in [("file", path), ("lists", (ids, last)), ("pairs", pairs)]:
        graph = nakshi.build(tmp_path / name, edges, layout=layout)
        assert graph.bfs(source=ids[0]).to_dict() == {v: hops for hops, v in enumerate(ids)}
        assert set(graph.wcc().to_dict().values()) == {min(ids)}
        missing = {min(ids) - 1, max(ids) + 1, BORDER - 3, -BORDER - 3, 2 * BORDER + 3}
        for vertex in missing:
            with pytest.raises(nakshi.UnknownVertexError):
                graph.bfs(source=vertex)


def test_the_least_memory_is_enough_for_every_layout(tmp_path: Path) -> None:
    """Seen red with two vertices: "67108880 bytes of memory are needed, 67108864 are allowed"."""
    for order in get_args(Layout):
        graph = nakshi.build(tmp_path / order, ([1], [2]), layout=order, memory="64MiB")
        assert graph.num_edges == 1
    like = graph.relayout(tmp_path / "like", "extend", like=graph.path, memory="64MiB")
    assert like.num_edges == 1
    table = pa.table({"source": [1], "target": [2]})
    graph = nakshi.build(tmp_path / "properties", table, properties=True, memory="128MiB")
    for order in get_args(Layout):
        found = graph.relayout(tmp_path / f"properties-{order}", order, memory="128MiB")
        assert found.num_edges == 1


def test_nodes(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text("10\n50\n")
    for number, nodes in enumerate(
        [
            tmp_path / "nodes.txt",
            [50],
            np.array([50, 10]),
            pl.DataFrame({"id": [50]}),
        ]
    ):
        graph = nakshi.build(tmp_path / f"s{number}", (SOURCES, TARGETS), nodes=nodes)
        assert graph.num_vertices == 5
        assert graph.bfs(source=10).to_dict() == LEVELS | {50: None}


@pytest.mark.parametrize(
    "ids",
    [
        [0, 2**31 - 1, 2**32 - 1],
        [2**32, 5, 2**40],
        [-1, 0, 1],
        [2**63 - 1, -(2**63), 0],
        [2**64 - 1, 2**63, 0],
        ["a", "ü", "日本"],
        ["007", "7", "8"],
        [" ", "x", "x y"],
    ],
)
@pytest.mark.parametrize("layout", ["original", "degree", "random"])
def test_ids_come_back(ids: list[Any], layout: Any, tmp_path: Path) -> None:
    dtype = np.uint64 if ids[0] == 2**64 - 1 else None
    edges = (np.array([ids[0], ids[1]], dtype), np.array([ids[1], ids[2]], dtype))
    graph = nakshi.build(tmp_path / "s", edges, layout=layout)
    expected = dict(zip(ids, [0, 1, 2]))
    result = graph.bfs(source=ids[0])
    assert result.to_dict() == expected
    assert list(result.to_dict()) == sorted(ids)
    found = result.to_numpy()[0]
    if isinstance(ids[0], int):
        assert found.dtype == (np.uint64 if max(ids) >= 2**63 else np.int64)
    else:
        assert found.dtype == object and isinstance(found[0], str)


def test_an_empty_id(tmp_path: Path) -> None:
    with pytest.raises(nakshi.InputError, match="empty"):
        nakshi.build(tmp_path / "s", (["", "a"], ["b", "c"]))


def test_integers_beyond_64_bits(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text(f"{10**30} {-(10**25)}\n{-(10**25)} 3\n")
    graph = nakshi.build(tmp_path / "s", tmp_path / "e.txt")
    assert graph.bfs(source=10**30).to_dict() == {-(10**25): 1, 3: 2, 10**30: 0}
    assert graph.bfs(source=np.int64(3)).summary["reached"] == 1


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_bytes(b"caf\xe9\tplain\nplain\tx\n")
    graph = nakshi.build(tmp_path / "s", tmp_path / "e.txt")
    for source in (b"caf\xe9", "caf\udce9"):
        assert graph.bfs(source=source).to_dict() == {b"caf\xe9": 0, "plain": 1, "x": 2}
    assert graph.bfs(source="plain").to_arrow()["id"].to_pylist()[0] == b"caf\xe9"


def test_files(tmp_path: Path) -> None:
    text = "".join(f"{u},{v}\n" for u, v in zip(SOURCES, TARGETS))
    (tmp_path / "e.csv").write_text(text)
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(text.encode()))
    pq.write_table(pa.table(frame()).select(["from", "to"]), tmp_path / "e.parquet")
    for name in ("e.csv", "e.csv.gz", "e.parquet"):
        graph = nakshi.build(tmp_path / f"s-{name}", tmp_path / name)
        assert graph.bfs(source=10).to_dict() == LEVELS, name
    parts = [tmp_path / "e.csv", tmp_path / "e.csv"]
    graph = nakshi.build(tmp_path / "twice", parts, duplicates="keep")
    assert graph.num_edges == 8


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("writer", ["polars", "pyarrow"])
def test_arrow_files(writer: str, compression: Any, tmp_path: Path) -> None:
    """Seen red with the file read as a stream: polars pads metadata as streams do not."""
    path = tmp_path / "e.arrow"
    if writer == "polars":
        pl.DataFrame(frame()).select("from", "to").write_ipc(path, compression=compression)
    else:
        feather.write_feather(pa.table(frame()).select(["from", "to"]), path, compression)
    assert nakshi.build(tmp_path / "s", path).bfs(source=10).to_dict() == LEVELS


def test_options(tmp_path: Path) -> None:
    edges = ([1, 1, 2, 3], [2, 2, 1, 3], [5.0, 2.0, 4.0, 1.0])

    def count(**options: Any) -> int:
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        return nakshi.build(path, edges[:2], **options).num_edges

    assert count() == 3
    assert count(duplicates="keep") == 4
    assert count(directed=False) == 2
    assert count(self_loops="drop") == 2
    assert count(encoding="raw", page_size=512) == 3
    graph = nakshi.build(tmp_path / "sum", edges, weighted=True, duplicates="sum")
    assert graph.sssp(source=1).to_dict() == {1: 0, 2: 7, 3: None}
    graph = nakshi.build(tmp_path / "drop", edges, weighted=True)
    assert graph.sssp(source=1).to_dict() == {1: 0, 2: 2, 3: None}


def test_a_stream_that_fails(tmp_path: Path) -> None:
    """An error of the producer reaches the caller, and no store is left."""

    def batches() -> Any:
        yield pa.record_batch({"source": [1], "target": [2]})
        raise RuntimeError("the well is dry")

    schema = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    with pytest.raises(nakshi.NakshiError, match="the well is dry"):
        nakshi.build(tmp_path / "s", reader)
    assert not (tmp_path / "s").exists()


def test_reopening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph = nakshi.build("relative", (SOURCES, TARGETS))
    monkeypatch.chdir("/")
    assert nakshi.open(graph.path).bfs(source=10).to_dict() == LEVELS
    assert graph.bfs(source=10).to_dict() == LEVELS
