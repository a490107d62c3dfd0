"""``repr`` of everything public is one line and never raises."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

import nakshi
import pytest

from .conftest import ALGORITHMS


def shown(*things: Any) -> list[str]:
    texts = [repr(thing) for thing in things]
    for text in texts:
        assert "\n" not in text and text, text
    return texts


def table(folder: Path) -> nakshi.Graph:
    """A property graph whose ids and values have line breaks wherever they may."""
    import pyarrow as pa

    nodes = pa.table({":ID": ["a\nb", "c"], "x:string": ["1\n2", None]})
    edges = pa.table({":START_ID": ["a\nb"], ":END_ID": ["c"], ":TYPE": ["t\nu"]})
    return nakshi.build(folder / "p.nakshi", edges, nodes=nodes, properties=True)


def test_property_graphs(tmp_path: Path) -> None:
    """Seen red with the summary of a run, which names its sources."""
    graph = table(tmp_path)
    record = graph.get_edge_record("a\nb", "t\nu")
    snapshot, batch = graph.snapshot(), graph.batch()
    things = [graph, snapshot, batch, record, graph.tao, graph.search, graph.schema()]
    things += [graph.get_edge_data(record, 0), nakshi.contains("a\nb"), graph._core]
    things += [graph.apsp(sources=["a\nb"]), graph.bfs("c")]
    shown(*things)
    graph.close()
    assert "closed" in shown(*things)[0]
    shutil.rmtree(tmp_path / "p.nakshi")
    shown(*things)


def test_graphs_and_results(karate: nakshi.Graph) -> None:
    """Seen red with a closed graph: StoreError."""
    results = [karate.run(name, **given) for name, given in ALGORITHMS.items()]
    texts = shown(karate, *results)
    assert "34 vertices, 78 edges" in texts[0]
    shutil.rmtree(karate.path)
    shown(karate, *results)
    karate.close()
    assert shown(karate, *results)[0] == f"<nakshi.Graph {karate.path!r}: closed>"


def test_exceptions_and_functions() -> None:
    for name in nakshi.__all__:
        one = getattr(nakshi, name)
        shown(one)
        if inspect.isclass(one) and issubclass(one, Exception):
            shown(one("what happened"))


def test_only_public_names_are_completed(karate: nakshi.Graph) -> None:
    """Seen red with TYPE_CHECKING, Any and _LAZY among the names."""
    for name in dir(nakshi):
        assert name.startswith("__") or name in nakshi.__all__, name
        getattr(nakshi, name)
    for name in dir(karate):
        assert not name.startswith("_") or hasattr(type(karate), name) or name in vars(karate)
    with pytest.raises(AttributeError, match="nothing"):
        nakshi.nothing  # noqa: B018
