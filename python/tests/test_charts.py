"""Charts of results: what they show, and what cannot be drawn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nakshi
import pytest

pytest.importorskip("matplotlib")


def axes(figure: Any) -> Any:
    return figure.axes[0]


@pytest.mark.parametrize(
    "algorithm, arguments, kind",
    [
        ("degrees", {}, "distribution"),
        ("pagerank", {}, "rank"),
        ("bc", {}, "rank"),
        ("wcc", {}, "sizes"),
        ("cdlp", {"iterations": 3}, "sizes"),
        ("bfs", {"source": 0}, "hops"),
        ("apsp", {"sources": [0]}, "hops"),
        ("lcc", {}, "distribution"),
        ("triangles", {"per_vertex": True}, "distribution"),
    ],
)
def test_every_column_has_a_chart(
    karate: nakshi.Graph, tmp_path: Path, algorithm: str, arguments: dict[str, Any], kind: Any
) -> None:
    result = karate.run(algorithm, **arguments)
    default, named = result.plot(), result.plot(kind, column=result.columns[0])
    assert axes(default).get_xlabel() == axes(named).get_xlabel() != ""
    assert axes(default).get_ylabel() and "34 vertices" in axes(default).get_title(loc="left")
    default.savefig(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 5000


def test_the_distribution_of_degrees(tmp_path: Path) -> None:
    """A star and two vertices apart: half of them have degree 0 ... as the curve says."""
    graph = nakshi.build(tmp_path / "g", ([0, 0, 0], [1, 2, 3]), nodes=[8, 9], directed=False)
    chart = axes(graph.degrees().plot())
    (points,) = chart.lines
    assert points.get_xdata().tolist() == [1, 3]
    assert points.get_ydata().tolist() == pytest.approx([4 / 6, 1 / 6])
    assert "2 vertices have 0" in chart.texts[0].get_text()


def test_sizes_and_hops(diamond: nakshi.Graph) -> None:
    chart = axes(diamond.wcc().plot())
    assert sorted(chart.lines[0].get_xdata().tolist()) == [2, 4]
    assert "2 in all, the largest has 4 vertices (67%)" in chart.texts[0].get_text()
    bars = axes(diamond.bfs("a").plot()).patches
    assert [bar.get_height() for bar in bars] == [1, 2, 1]


def test_what_cannot_be_drawn(diamond: nakshi.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = diamond.bfs("a", parents=True)
    for arguments, message in (
        ({"kind": "pie"}, "'pie' is not known; choose distribution"),
        ({"column": "nothing"}, "no column 'nothing'"),
        ({"column": "parent"}, "kind='sizes'"),
    ):
        with pytest.raises(nakshi.ParameterError, match=message):
            levels.plot(**arguments)
    with pytest.raises(nakshi.ParameterError, match="read its .summary"):
        diamond.diameter().plot()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(nakshi.UnsupportedError, match="pip install matplotlib"):
        levels.plot()


def test_a_drawn_neighborhood(tmp_path: Path) -> None:
    """A star of 300 leaves and a path: the hub is in the middle, and leaves of it are drawn by lot."""
    hub = [0] * 300
    graph = nakshi.build(
        tmp_path / "g", (hub + [300, 301], [*range(1, 301), 301, 302]), directed=False
    )
    figure = graph.plot(sample=50)
    title = axes(figure).get_title(loc="left")
    assert title == "50 of 303 vertices, around 0"
    lines = axes(figure).collections[0]
    assert len(lines.get_segments()) == 49
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    near = graph.plot(sample=3, source=302)
    assert len(axes(near).collections[0].get_segments()) == 2
    assert {text.get_text() for text in axes(near).texts} == {"300", "301", "302"}
    # The same seed draws the same picture.
    assert repr(axes(graph.plot(20)).collections[0].get_segments()) == repr(
        axes(graph.plot(20)).collections[0].get_segments()
    )


def test_colors_are_labels(tmp_path: Path) -> None:
    import networkx as nx

    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    nx.set_node_attributes(graph, {"a": ["X"], "b": ["Y"], "c": []}, "labels")
    picture = axes(nakshi.build(tmp_path / "g", graph).plot())
    assert [text.get_text() for text in picture.get_legend().texts] == ["X", "Y", "(no label)"]


def test_what_no_neighborhood_has(karate: nakshi.Graph) -> None:
    with pytest.raises(nakshi.UnknownVertexError, match="'nobody'"):
        karate.plot(source="nobody")
    with pytest.raises(nakshi.ParameterError, match="sample=0"):
        karate.plot(sample=0)
    with pytest.raises(nakshi.ParameterError, match="78 edges"):
        karate.plot(max_edges=5)
