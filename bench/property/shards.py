"""Searches of all nodes and edges in several shards, against one shard; and what else shards cost.

    bench/property/shards.py                       # two shards against one, on two cores
    bench/property/shards.py --scale 14 --runs 3   # a small try

Loads ZipG's tables, of which no two texts are equal, in one shard and in several. Each search counts what
it finds, in this process, by turns on both stores: the table has medians and the median of the ratios.
Answers are compared before a time is taken. The mixes of TAO, Graph Search and LinkBench run by turns too,
on tables whose values repeat. Writes docs/results/shards.md.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import nakshi
from harness import measure, product, study, tables
from property import ours

LAYOUTS = ("columns", "zipg", "blocks")
MIXES = {"tao": "TAO", "graph-search": "Graph Search", "linkbench": "LinkBench"}
#: Most seconds that one search is repeated for in a turn.
TURN = 0.5

Search = Callable[[nakshi.Graph], Any]


def searches(graph: nakshi.Graph) -> dict[str, Search]:
    """Searches that no index answers, and one that an index does; values are those of a node."""
    properties = graph.schema().to_dict()
    first, second, third = [one["name"] for one in properties["node_properties"]][:3]
    edges = [one["name"] for one in properties["edge_properties"] if one["type"] == "string"]
    node = graph.get_node_ids({}, limit=1)[0]
    values = graph.get_node_property(node, [first, second])
    parts = {name: nakshi.contains(value[2:6]) for name, value in values.items()}
    value, kind = values[first], properties["edge_types"][0]["name"]
    three = {**parts, third: nakshi.contains("a")}
    return {
        "nodes, part of a text": lambda g: g.count({first: parts[first]}),
        "nodes, parts of three texts": lambda g: g.count(three),
        "nodes, all but those with a text": lambda g: g.count({first: ~nakshi.contains(value[:3])}),
        "nodes, a value (by the index)": lambda g: g.count({first: value}),
        "edges, part of a text": lambda g: g.count_edges({edges[0]: nakshi.contains("abc")}),
        "edges of a type": lambda g: g.count_edges(edge_type=kind),
    }


def timed(search: Search, graph: nakshi.Graph) -> float:
    """Seconds of a search: the mean of as many as a turn has time for."""
    began, runs = time.perf_counter(), 0
    while not runs or (runs < 1000 and time.perf_counter() - began < TURN):
        search(graph)
        runs += 1
    return (time.perf_counter() - began) / runs


def turns(stores: list[Any], once: Callable[[Any], float], runs: int) -> list[tuple[float, float]]:
    """Figures of two stores by turns, each first in turn; a first run of each is not counted."""
    for store in stores:
        once(store)
    found = []
    for turn in range(runs):
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        figures = {at: once(stores[at]) for at in order}
        found.append((figures[0], figures[1]))
    return found


class Study(harness.Study):
    """The page, and the stores of its parts."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"tables by ZipG's rules, scale {options.scale}: 40 texts of 16 bytes a node, 128 bytes of "
            "text an edge; in memory, warm",
            f"{options.shards} shards against one, by turns; speed is the median of the ratios",
        ]
        super().__init__("shards", "Shards", options, conditions)

    def stores(self, layout: str, unique: bool) -> list[Path]:
        """A store in one shard and one in several, loaded once."""
        chosen = self.options
        files = ours.generated(chosen.work, chosen.scale, unique=unique)
        edges, nodes = files
        found = []
        for shards in (1, chosen.shards):
            name = edges.name.replace("-edges.tsv", f"-{layout}-{shards}.nakshi")
            store = edges.with_name(name)
            extra = ["--nodes", nodes, "--properties", "--property-layout", layout]
            words = [*map(str, extra), "--shards", str(shards)]
            shutil.rmtree(store, ignore_errors=True)
            product.import_store(edges, store, directed=True, extra=words, threads=chosen.threads)
            found.append(store)
        return found


def searched(study: Study, layout: str) -> None:
    """Adds the searches in a layout of files."""
    graphs = [nakshi.open(store) for store in study.stores(layout, unique=True)]
    rows = []
    for name, search in searches(graphs[0]).items():
        answers = [search(graph) for graph in graphs]
        if answers[0] != answers[1]:
            raise SystemExit(
                f"{layout}, {name}: {answers[0]} found in one shard, else {answers[1]}"
            )
        found = turns(graphs, functools.partial(timed, search), study.options.runs)
        one, many = (measure.median(list(times)) for times in zip(*found, strict=True))
        speed = measure.median([before / after for before, after in found])
        rows.append([name, f"{answers[0]:,}", *map(tables.seconds, (one, many)), f"{speed:.2f}x"])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    head = ["Search", "found", "one shard, s", f"{study.options.shards} shards, s", "speed"]
    study.section(f"Searches, layout {layout}", head, rows)
    for graph in graphs:
        graph.close()


def mixed(study: Study) -> None:
    """Adds the rates of mixes, and the sizes of the stores."""
    stores = study.stores("columns", unique=False)
    rows = []
    for name, title in MIXES.items():
        once = functools.partial(rate, study.options, name)
        found = turns(stores, once, study.options.runs)
        one, many = (measure.median(list(rates)) for rates in zip(*found, strict=True))
        speed = measure.median([after / before for before, after in found])
        rows.append([title, f"{one:,.0f}/s", f"{many:,.0f}/s", f"{speed:.3f}x"])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    sizes = [sum(file.stat().st_size for file in store.iterdir()) for store in stores]
    memory = [product.nakshi("estimate", "properties", store)["in_memory"] for store in stores]
    for title, (one, many) in (("store", sizes), ("memory of the properties", memory)):
        rows.append([title, tables.size(one), tables.size(many), f"{many / one:.3f}x"])
    head = ["Mix", "one shard", f"{study.options.shards} shards", "several / one"]
    study.section("Mixes and sizes, layout columns", head, rows)


def rate(chosen: argparse.Namespace, name: str, store: Path) -> float:
    """Requests a second of a mix; LinkBench changes a copy of the store."""
    if name != "linkbench":
        return float(ours.bench(name, store, chosen)["rate"])
    copy = ours.copied(store, "changed")
    words = ["--queries", 5 * chosen.queries, "--threads", ours.WRITERS]
    found = float(product.nakshi("bench", name, copy, *words)["rate"])
    shutil.rmtree(copy)
    return found


PARTS: dict[str, Callable[[Study], None]] = {
    **{layout: functools.partial(searched, layout=layout) for layout in LAYOUTS},
    "mixes": mixed,
}


def main() -> None:
    parser = ours.parser(__doc__, runs=7, parts=PARTS)
    parser.add_argument("--shards", type=int, default=2, help="default: %(default)s")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
