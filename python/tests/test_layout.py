"""Orders, what they cost, and cache plans, from Python and from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import get_args

import nakshi
import numpy as np
import pytest
from nakshi.errors import (
    BudgetError,
    CorruptError,
    NakshiError,
    ParameterError,
    StoreExistsError,
)
from nakshi.orders import Layout

from .conftest import run_cli

ORDERS = [order for order in get_args(Layout) if order != "auto"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Communities whose members have ids far apart, with a few edges between them."""
    source = np.random.default_rng(3)
    path: Path = tmp_path_factory.mktemp("layout") / "s"
    group = source.integers(0, 20, 20_000)
    ends = np.stack([group + 20 * source.integers(0, 100, 20_000) for _ in range(2)], axis=1)
    far = source.integers(0, 2000, (500, 2))
    nakshi.build(path, np.concatenate([ends, far]), directed=False, layout="original")
    return path


def test_every_order(store: Path, tmp_path: Path) -> None:
    """Results do not depend on the order. Seen red with ids left in the order of the source."""
    graph = nakshi.open(store)
    levels = graph.bfs(source=7).to_dict()
    costs = {}
    for order in ORDERS:
        done = run_cli("layout", store, tmp_path / order, "--order", order, "--json")
        assert done.code == 0, done.err
        report = json.loads(done.out)
        assert report["layout"] == order and report["vertices"] == graph.num_vertices
        again = nakshi.open(tmp_path / order)
        assert again.bfs(source=7).to_dict() == levels
        costs[order] = again.layout_cost()["linear_arrangement"]
    # Twenty communities of a hundred: those who look for them find them.
    for order in ("bondhu-parcom", "bondhu-modcom", "bisection"):
        assert costs[order] < costs["random"] / 2, costs
    assert graph.layout_cost(threads=1) == graph.layout_cost(threads=3)
    shown = run_cli("cost", store)
    assert shown.code == 0 and "linear arrangement" in shown.out


def test_auto_takes_the_order_in_which_searches_read_fewest_pages(
    store: Path, tmp_path: Path
) -> None:
    """Seen red with the last of the candidates taken."""
    told = ["layout", store, tmp_path / "new", "--seed", "3", "--json"]
    report = json.loads(run_cli(*told).out)
    pages = {entry["order"]: entry["pages"] for entry in report["considered"]}
    assert list(pages) == ["original", "degree", "norder", "bisection"]
    assert pages[report["layout"]] == min(pages.values())
    assert nakshi.open(tmp_path / "new").info()["layout"] == report["layout"]
    new = nakshi.open(tmp_path / "new").relayout(tmp_path / "again")
    assert new.num_edges == report["edges"]
    with pytest.raises(BudgetError):
        new.relayout(tmp_path / "never", memory="4KiB")


def test_relayout_from_python(store: Path, tmp_path: Path) -> None:
    graph = nakshi.open(store)
    new = graph.relayout(tmp_path / "new", "norder", depth=1, page_size=512, encoding="raw")
    assert new.info()["layout"] == "norder" and new.info()["page_size"] == 512
    back = new.relayout(tmp_path / "back", "original", page_size=4096, encoding="packed")
    assert back.info()["content_hash"] == graph.info()["content_hash"]
    for error, order, more in (
        (ParameterError, "sideways", {}),
        (ParameterError, "degree", {"communities": 3}),
        (ParameterError, "bondhu-parcom", {"communities": 0}),
        (ParameterError, "bondhu-parcom", {"communities": 3000}),
        (BudgetError, "gorder", {"memory": "4KiB"}),
        (NakshiError, "bisection", {"weight": "price"}),
    ):
        with pytest.raises(error):
            graph.relayout(tmp_path / "never", order, **more)  # type: ignore[arg-type]
        assert not (tmp_path / "never").exists()
    with pytest.raises(StoreExistsError):
        graph.relayout(tmp_path / "new", "degree")


def test_cache_plan(store: Path, tmp_path: Path) -> None:
    """Lists of the plan are not read. Seen red with a plan that is made and never loaded."""
    home = tmp_path / "s"
    shutil.copytree(store, home)
    graph = nakshi.open(home)
    how = {"engine": "ssd", "selective": True}
    plain = graph.bfs(source=7, **how)
    with pytest.raises(ParameterError, match="nakshi cache-plan"):
        graph.bfs(source=7, static_cache=True, **how)
    done = run_cli("cache-plan", home, "--size", "100%", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["select"] == "levels" and report["bytes"] <= report["budget"]
    pinned = graph.bfs(source=7, static_cache=True, **how)
    assert pinned.to_dict() == plain.to_dict()
    assert pinned.stats["io"]["bytes_read"] < plain.stats["io"]["bytes_read"] / 10
    assert pinned.stats["io"]["pinned_hits"] > 0 == plain.stats["io"]["pinned_hits"]
    # Pages are read for single lists, of which a page has many.
    assert 0 < plain.stats["io"]["page_utilisation"] <= 1
    assert pinned.stats["io"]["page_utilisation"] is None
    mode = {"source": 7, "selective": True}
    least = graph.estimate("bfs", **mode)
    with_lists = graph.estimate("bfs", static_cache=True, **mode)
    assert with_lists["minimum"] == least["minimum"] + with_lists["parts"]["static cache"]
    assert report["bytes"] <= with_lists["parts"]["static cache"] < 1.1 * report["bytes"] + 4096
    graph.bfs(source=7, static_cache=True, memory=with_lists["minimum"], **how)
    with pytest.raises(BudgetError):
        graph.bfs(source=7, static_cache=True, memory=with_lists["minimum"] - 1, **how)
    for select in ("gvs", "highd", "lowd", "random"):
        chosen = graph.cache_plan("10%", select=select)  # type: ignore[arg-type]
        assert 0 < chosen["bytes"] <= chosen["budget"]
        assert graph.bfs(source=7, static_cache=True, **how).to_dict() == plain.to_dict()


@pytest.mark.parametrize("order", ["norder", "bisection"])
def test_import_in_order(store: Path, tmp_path: Path, order: str) -> None:
    """At once what import and layout give one after the other; nothing else is left."""
    edges = tmp_path / "edges.tsv"
    nakshi.export(store, edges)
    words = ["import", edges, tmp_path / "new", "--undirected", "--layout", order]
    (tmp_path / ".new.unordered").mkdir()
    done = run_cli(*words, "--page-size", "512", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    new = nakshi.open(tmp_path / "new")
    expected = nakshi.open(store).relayout(tmp_path / "expected", order, page_size=512)
    assert new.info()["layout"] == order and new.info()["page_size"] == 512
    assert new.info()["content_hash"] == expected.info()["content_hash"]
    assert report["layout"] == order and report["edges"] == expected.num_edges
    again = run_cli(*words)
    assert again.code != 0 and "exists already" in again.err
    assert {entry.name for entry in tmp_path.iterdir()} == {"edges.tsv", "new", "expected"}


def test_extend(tmp_path: Path) -> None:
    """Old vertices keep their order, new ones lie beside their neighbours."""
    edges = np.array([(v, v + 10) for v in range(0, 2000, 10)])
    old = nakshi.build(tmp_path / "old", edges, directed=False, layout="random")
    more = np.concatenate([edges, [(v, v + 1) for v in range(5, 2000, 10)], [(5, 10), (105, 110)]])
    grown = nakshi.build(tmp_path / "grown", more, directed=False)
    nodes = {}
    for name, graph in (
        ("old", old),
        ("new", grown.relayout(tmp_path / "new", "extend", like=old.path)),
    ):
        nakshi.export(graph.path, tmp_path / "e.tsv", nodes=tmp_path / "n.tsv")
        nodes[name] = [int(line) for line in (tmp_path / "n.tsv").read_text().split()]
    assert [v for v in nodes["new"] if v % 10 == 0] == nodes["old"]
    at = nodes["new"].index
    assert at(5) == at(10) + 1 and at(6) == at(10) + 2
    with pytest.raises(ParameterError, match="needs 'like'"):
        grown.relayout(tmp_path / "never", "extend")


@pytest.mark.parametrize("step", [1, 1009])
def test_a_plan_is_carried_over(tmp_path: Path, step: int) -> None:
    """To a later store of the graph, in another order: the same ids, as far as they are there."""
    edges = step * np.array([(u, (u * 7 + k) % 500) for u in range(500) for k in range(1, 9)])
    first = nakshi.build(tmp_path / "first", edges)
    with pytest.raises(ParameterError, match="no cache plan"):
        first.cache_plan(like=first.path)
    made = first.cache_plan("30%", select="random")
    later = edges[(edges // step % 50 != 0).all(axis=1)]
    second = nakshi.build(tmp_path / "second", later, layout="random")
    taken = second.cache_plan(like=first.path)
    assert taken["select"] == "random" and taken["store"] != made["store"]
    assert 0.9 * made["lists"] < taken["lists"] < made["lists"]
    plain, pinned = (
        second.bfs(source=7 * step, engine="ssd", selective=True, static_cache=static)
        for static in (False, True)
    )
    assert pinned.to_dict() == plain.to_dict()
    assert pinned.stats["io"]["pinned_hits"] > 0


def test_plans_that_do_not_fit(store: Path, tmp_path: Path) -> None:
    """Plans of another store, of another layout, damaged; sizes that cannot be."""
    home = tmp_path / "s"
    shutil.copytree(store, home)
    graph = nakshi.open(home)
    for size in ("0%", "101%", "20", "x", 0, -0.1, 1.5):
        with pytest.raises(ParameterError, match="share"):
            graph.cache_plan(size)
    assert run_cli("cache-plan", home, "--size", "0%").code == 1
    assert not (home / "cache.plan").exists()
    graph.cache_plan("20%")
    other = graph.relayout(tmp_path / "other", "degree")
    shutil.copy(home / "cache.plan", tmp_path / "other" / "cache.plan")
    with pytest.raises(ParameterError, match="another store"):
        other.bfs(source=7, engine="ssd", static_cache=True)
    whole = (home / "cache.plan").read_bytes()
    for damaged in (b"", whole[:30], whole[:-1], whole[:40] + b"?" + whole[41:]):
        (home / "cache.plan").write_bytes(damaged)
        with pytest.raises(CorruptError, match=r"cache\.plan"):
            graph.bfs(source=7, engine="ssd", static_cache=True)
    assert graph.bfs(source=7, engine="ssd").summary["reached"] > 0
    assert run_cli("check", store).code == 0
    checked = run_cli("check", home)
    assert checked.code == 1 and "cache.plan" in checked.out + checked.err


def test_plots(store: Path, tmp_path: Path) -> None:
    """Every read is a dot; the matrix has every list entry once."""
    graph = nakshi.open(store)
    squares = np.asarray(graph._core.matrix(64)).reshape(64, 64)
    assert squares.sum() == 2 * graph.num_edges - graph.info()["self_loops"]
    assert (squares == squares.T).all()
    from nakshi import plot

    figure = plot.access(graph, "bfs", source=7)
    requests = graph.bfs(source=7, engine="ssd", selective=True).stats["io"]["requests"]
    dots = sum(len(drawn.get_offsets()) for drawn in figure.axes[0].collections)
    assert 0 < dots <= requests
    for words in (("matrix", store, "--bins", 32), ("access", store, "--source", 7)):
        out = tmp_path / "picture.png"
        done = run_cli("plot", *words, "--out", out)
        assert done.code == 0, done.err
        assert out.read_bytes().startswith(b"\x89PNG")
        out.unlink()
    assert run_cli("plot", "matrix", store, "--bins", 0).code == 1
    with pytest.raises(ParameterError):
        plot.matrix(store, bins=5000)
