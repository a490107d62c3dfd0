"""Results in the forms that people take them."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import nakshi
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import IO_FIELDS


def test_numpy(diamond: nakshi.Graph) -> None:
    result = diamond.sssp(source="a")
    ids, distances = result.to_numpy()
    assert ids.tolist() == list("abcdef")
    assert distances.dtype == np.float64
    assert distances.tolist() == [0, 1, 5, 6, np.inf, np.inf]
    assert len(result) == 6


def test_numpy_of_integers(karate: nakshi.Graph) -> None:
    ids, levels = karate.bfs(source=0).to_numpy("level")
    assert ids.dtype == np.int64
    assert ids.tolist() == list(range(34))
    assert levels[0] == 0 and levels.max() == 3
    parents = karate.bfs(source=0, parents=True).to_numpy("parent")[1]
    assert parents[0] is np.ma.masked and parents[33] in range(34)


def test_missing_vertices_are_masked(tmp_path: Path) -> None:
    graph = nakshi.build(tmp_path / "store", ([1, 7], [2, 8]))
    ids, parents = graph.bfs(source=1, parents=True).to_numpy("parent")
    assert ids.tolist() == [1, 2, 7, 8]
    assert isinstance(parents, np.ma.MaskedArray)
    assert parents.tolist() == [None, 1, None, None]


def test_missing_text_is_none(diamond: nakshi.Graph) -> None:
    parents = diamond.bfs(source="a", parents=True).to_numpy("parent")[1]
    assert parents.tolist() == [None, "a", "a", "b", None, None]


def test_dict(diamond: nakshi.Graph) -> None:
    assert diamond.bfs(source="a").to_dict() == {
        "a": 0, "b": 1, "c": 1, "d": 2, "e": None, "f": None,
    }  # fmt: skip
    assert diamond.wcc().to_dict() == dict.fromkeys("abcd", "a") | dict.fromkeys("ef", "e")


def test_arrow(diamond: nakshi.Graph) -> None:
    table = diamond.bfs(source="a", parents=True).to_arrow()
    assert isinstance(table, pa.Table)
    assert table.column_names == ["id", "level", "parent"]
    assert table["level"].to_pylist() == [0, 1, 1, 2, None, None]
    assert table["parent"].to_pylist() == [None, "a", "a", "b", None, None]
    assert pa.table(diamond.wcc())["component"].to_pylist() == list("aaaaee")


def test_polars(diamond: nakshi.Graph) -> None:
    frame = diamond.bfs(source="a", parents=True).to_polars()
    assert frame.schema["id"] == pl.String
    assert frame["level"].to_list() == [0, 1, 1, 2, None, None]
    assert pl.DataFrame(diamond.bfs(source="a", parents=True)).equals(frame)


def test_pandas(diamond: nakshi.Graph) -> None:
    frame = diamond.bfs(source="a", parents=True).to_pandas()
    assert list(frame.columns) == ["id", "level", "parent"]
    assert frame["level"].dtype == pd.UInt32Dtype()
    assert frame["level"].isna().tolist() == [False] * 4 + [True] * 2
    ranks = diamond.pagerank().to_pandas()
    assert ranks["rank"].dtype == np.float64
    assert ranks["rank"].sum() == pytest.approx(1)


def test_top(diamond: nakshi.Graph, karate: nakshi.Graph) -> None:
    best = karate.pagerank().top(3)
    assert [vertex for vertex, _ in best] == [33, 0, 32]
    assert diamond.wcc().top() == [("a", 4), ("e", 2)]
    assert diamond.sssp(source="a").top(2) == [("d", 6.0), ("c", 5.0)]
    # Equal values: ascending by id.
    assert [row[0] for row in karate.wcc().top(1)] == [0]


def test_unknown_column(diamond: nakshi.Graph) -> None:
    with pytest.raises(nakshi.ParameterError, match="level, parent"):
        diamond.bfs(source="a", parents=True).to_numpy("depth")


def test_summary_only(karate: nakshi.Graph) -> None:
    result = karate.diameter()
    assert result.summary["diameter"] == 5
    assert len(result) == 0 and result.columns == [] and result.top() == []
    assert "diameter" in repr(result)
    for take in (result.to_numpy, result.to_arrow, result.to_pandas, result.to_polars):
        with pytest.raises(nakshi.ParameterError, match="summary"):
            take()


def test_stats(karate: nakshi.Graph) -> None:
    stats = karate.pagerank(iterations=7, threads=2, memory="64MiB").stats
    assert stats["threads"] == 2
    assert stats["iterations"] == 7
    assert len(stats["per_iteration"]) >= 7
    assert stats["engine"] in ("memory", "ssd")
    assert stats["memory"]["budget"] == 64 << 20
    assert stats["memory"]["peak_rss"] > 1 << 20
    assert stats["seconds"]["run"] >= 0 and stats["seconds"]["open"] >= 0
    assert set(stats["io"]) == IO_FIELDS


def test_repr_and_html(diamond: nakshi.Graph) -> None:
    result = diamond.wcc()
    assert repr(result).startswith("<nakshi.Result wcc; 6 rows of id, component")
    page = result._repr_html_()
    assert "<table>" in page and "component" in page and "<td>a</td><td>4</td>" in page


def test_html_is_escaped(tmp_path: Path) -> None:
    graph = nakshi.build(tmp_path / "store", (["<b>", "x"], ["x", "<b>"]))
    page = graph.pagerank()._repr_html_()
    assert "&lt;b&gt;" in page and "<b>" not in page


def test_tsv(diamond: nakshi.Graph, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    diamond.bfs(source="a", parents=True).write(out)
    assert out.read_text() == "a\t0\nb\t1\nc\t1\nd\t2\ne\tinf\nf\tinf\n"


def test_csv(tmp_path: Path) -> None:
    graph = nakshi.build(tmp_path / "store", (['say "x"', "y"], ["y", "z, or not"]))
    graph.bfs(source="y", parents=True).write(tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        assert list(csv.reader(file)) == [
            ["id", "level", "parent"],
            ['say "x"', "", ""],
            ["y", "0", ""],
            ["z, or not", "1", "y"],
        ]


def test_parquet(diamond: nakshi.Graph, tmp_path: Path) -> None:
    diamond.bfs(source="a", parents=True).write(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pylist()[4] == {
        "id": "e",
        "level": None,
        "parent": None,
    }


def test_a_failed_write_leaves_nothing(diamond: nakshi.Graph, tmp_path: Path) -> None:
    with pytest.raises(nakshi.ParameterError, match=r"\.parquet"):
        diamond.wcc().write(tmp_path / "out.xlsx")
    with pytest.raises(nakshi.NakshiError, match="nowhere"):
        diamond.wcc().write(tmp_path / "nowhere" / "out.tsv")
    assert not list(tmp_path.glob("out*"))


def test_floats_read_back_as_they_were(karate: nakshi.Graph, tmp_path: Path) -> None:
    result = karate.pagerank()
    result.write(tmp_path / "out.tsv")
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert [float(line.split("\t")[1]) for line in lines] == result.to_numpy()[1].tolist()


def test_without_optional_packages(karate: nakshi.Graph) -> None:
    program = (
        "import sys; sys.modules.update(pyarrow=None, polars=None, pandas=None)\n"
        f"import nakshi; result = nakshi.open({karate.path!r}).wcc()\n"
        "assert len(result.to_numpy()[0]) == 34\n"
        "for take in (result.to_arrow, result.to_polars, result.to_pandas):\n"
        "    try: take()\n"
        "    except nakshi.UnsupportedError as error: assert 'pip install' in str(error)\n"
        "    else: raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_paths(diamond: nakshi.Graph, karate: nakshi.Graph, tmp_path: Path) -> None:
    found = diamond.sssp(source="a", parents=True)
    assert found.path_to("d") == ["a", "c", "d"]
    assert found.path_to("a") == ["a"]
    assert found.path_to("f") is None
    assert diamond.bfs(source="d", parents=True).path_to("c") == ["d", "a", "c"]
    found = karate.bfs(source=0, parents=True)
    for vertex, level in found.to_dict("level").items():
        path = found.path_to(vertex)
        assert path is not None and len(path) == level + 1 and path[-1] == vertex
        assert all(karate.has_edge(path[:-1], path[1:])) if level else path == [0]
    assert karate.bfs(source=0, parents=True).path_to(np.int64(33)) == [0, 8, 33]
    for wrong in (99, "x", None, -1):
        with pytest.raises(nakshi.UnknownVertexError):
            found.path_to(wrong)  # type: ignore[arg-type]
    with pytest.raises(nakshi.ParameterError, match="parents=True"):
        karate.bfs(source=0).path_to(3)
    # Edges of length 0 that lie on a circle.
    edges = ([1, 2, 3, 2], [2, 3, 2, 4], [0.0, 0.0, 0.0, 1.5])
    circle = nakshi.build(tmp_path / "circle", edges, weighted=True)
    assert circle.sssp(source=1, parents=True).path_to(4) == [1, 2, 4]
    assert circle.sssp(source=3, parents=True).path_to(4) == [3, 2, 4]


def test_values_by_id(diamond: nakshi.Graph, karate: nakshi.Graph) -> None:
    levels = diamond.bfs("a", parents=True)
    assert (levels["d"], levels["e"], levels["d", "parent"], levels["a", "level"]) == (
        2,
        None,
        "b",
        0,
    )
    assert "d" in levels and "zz" not in levels
    assert karate.bfs(0)[np.int64(33)] == karate.bfs(0)[33] == 2
    for key in ("zz", 3, None, ["a"]):
        with pytest.raises(nakshi.UnknownVertexError, match="is not in the result"):
            levels[key]
    with pytest.raises(nakshi.ParameterError, match="no column 'cost'"):
        levels["a", "cost"]


def test_ids_stay_with_an_open_graph(tmp_path: Path) -> None:
    """A later run reads no ids again, and one under a budget does."""
    edges, store = tmp_path / "edges.tsv", tmp_path / "graph.nakshi"
    edges.write_text("".join(f"v{k}\tv{k * k % 97}\n" for k in range(97)))
    graph = nakshi.build(store, edges)
    first = graph.pagerank(engine="memory")
    for file in store.glob("ids*"):
        if file.suffix != ".sum":
            file.write_bytes(bytes(file.stat().st_size))
    assert graph.pagerank(engine="memory").to_pandas().equals(first.to_pandas())
    with pytest.raises(nakshi.NakshiError, match="ids"):
        graph.pagerank(engine="memory", memory="1GiB")
