"""The same workloads on Neo4j, in the same run: each of Nakshi's is followed by one of Neo4j's."""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "neo4j")]

import measure  # noqa: E402
import nakshi  # noqa: E402
import product  # noqa: E402
import tables  # noqa: E402
from embedded import Neo4j  # noqa: E402

COMPARED = 500
Bench = Callable[..., dict[str, Any]]


class Rival:
    """Neo4j with what a store holds, imported by its own importer, and an index of every property."""

    def __init__(self, chosen: argparse.Namespace, store: Path) -> None:
        self.chosen, self.store = chosen, store
        self.neo4j = Neo4j(chosen.work / "neo4j")
        files, self.home = chosen.work / "neo4j-csv", chosen.work / "neo4j-property"
        shutil.rmtree(files, ignore_errors=True)
        call = [*product.NAKSHI, "export", store, files, "--neo4j", "--no-progress"]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        self.imported = self.neo4j.load(self.home, files, chosen.threads)
        self.indexed = self.neo4j.ask("index", self.home, chosen.threads)
        self.size = self.neo4j.size(self.home)
        self.text = sum(file.stat().st_size for file in files.glob("*.csv"))

    def compare(self) -> int:
        """Checks answers for some nodes; how many."""
        graph = nakshi.open(self.store)
        ids = random.Random(1).sample(graph.get_node_ids(), COMPARED)
        told = "ids=" + ",".join(map(str, ids))
        answers = self.neo4j.ask("answers", self.home, self.chosen.threads, told)
        for id, answer in zip(ids, answers, strict=True):
            if answer["object"] != graph.get_node_property(id):
                raise SystemExit(f"the properties of node {id} differ")
            if sorted(answer["friends"]) != sorted(graph.search.friends(id)):
                raise SystemExit(f"the friends of node {id} differ")
            for name, edges in answer["lists"].items():
                found = sorted(map(list, graph.search.friends_data(id, name)), key=str)
                if sorted(edges, key=str) != found:
                    raise SystemExit(f"the edges of type {name} of node {id} differ")
        return len(ids)

    def workload(self, name: str, seed: int) -> dict[str, Any]:
        """A run of Neo4j."""
        told = [f"mix={name}", f"queries={self.chosen.queries}", f"threads={self.chosen.threads}"]
        found: dict[str, Any] = self.neo4j.ask(
            "workload", self.home, self.chosen.threads, *told, f"seed={seed}"
        )
        return found


def sections(
    page: tables.Page,
    chosen: argparse.Namespace,
    command: str,
    store: Path,
    loaded: tuple[float, int],
    workloads: dict[str, str],
    bench: Bench,
) -> None:
    """The tables of Neo4j beside Nakshi; `loaded` are Nakshi's seconds and bytes."""
    rival = Rival(chosen, store)
    compared = rival.compare()
    title = f"Against Neo4j {rival.neo4j.version()} in the same run"
    whole = rival.imported.seconds + rival.indexed["seconds"]
    head = ["", "Nakshi", "Neo4j", "Neo4j / Nakshi"]
    rows = [
        [
            "import and indexes, s",
            tables.seconds(loaded[0]),
            tables.seconds(whole),
            tables.ratio(whole / loaded[0]),
        ],
        ["of them the import, s", "", tables.seconds(rival.imported.seconds), ""],
        [
            "store",
            tables.size(loaded[1]),
            tables.size(rival.size),
            tables.ratio(rival.size / loaded[1]),
        ],
    ]
    notes = [
        "Neo4j: community, embedded; its own importer, single-threaded in the order of the store "
        f"(from {tables.size(rival.text)} of CSV), then {rival.indexed['indexes']} indexes: ids and "
        "all properties of nodes; one run",
    ]
    page.section(f"{title}: import and size", command, tables.table(head, rows), notes)
    for name, label in workloads.items():
        pairs = []
        for run in range(chosen.runs):
            print(f"{label} {run}", file=sys.stderr, flush=True)
            pairs.append((bench(name, store), rival.workload(name, run + 1)))
        rows = compared_rows(pairs, chosen.threads)
        head = ["Query, alone on one thread", "Nakshi, ops/s", "Neo4j, ops/s", "Nakshi / Neo4j"]
        head += ["results, Nakshi", "results, Neo4j"]
        notes = [
            f"answers for {compared} random nodes were compared first: properties, friends, and all "
            "edges with theirs; both return external ids, edges newest first",
            "queries drawn by the same rules, by each system for itself; Neo4j: a transaction a query, "
            "every query once before it is timed, all of the graph in its page cache",
        ]
        page.section(f"{title}: {label}", command, tables.table(head, rows), notes)


def compared_rows(
    pairs: list[tuple[dict[str, Any], dict[str, Any]]], threads: int
) -> list[list[str]]:
    """Medians of both systems, and the ratio."""
    rows = []
    for at, first in enumerate(pairs[0][0]["classes"]):
        both = [[side["classes"][at] for side in pair] for pair in pairs]
        rates = [measure.median([pair[side]["rate"] for pair in both]) for side in (0, 1)]
        results = [measure.median([pair[side]["results"] for pair in both]) for side in (0, 1)]
        rows.append([first["name"], *_rates(rates), *(f"{value:.1f}" for value in results)])
    rates = [measure.median([pair[side]["rate"] for pair in pairs]) for side in (0, 1)]
    rows.append([f"mix on {threads} threads", *_rates(rates), "", ""])
    return rows


def _rates(rates: list[float]) -> list[str]:
    return [*(f"{rate:,.0f}" for rate in rates), tables.ratio(rates[0] / rates[1])]
