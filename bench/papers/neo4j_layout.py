"""Friend lists in Neo4j, by the order of its records (I. Hoque's thesis on Bondhu, chapter 5).

    bench/papers/neo4j_layout.py --data DIR                       # ego-twitter
    bench/papers/neo4j_layout.py --data DIR --orders random,bondhu-parcom --queries 500

`nakshi export --neo4j --layout ORDER` writes the graph in each order, Neo4j's own importer keeps it,
and random users list their friends, each with a text, from a page cache that holds a fraction of the graph.
Needs Java 17 and Maven. Writes docs/results/neo4j-layout.md.
"""

from __future__ import annotations

import argparse
import csv
import random
import shutil
import string
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from harness import Study, measure, product, study, tables
from systems.neo4j import Neo4j

#: Title and parameters of each order.
ORDERS: dict[str, tuple[str, list[str]]] = {
    "random": ("random", ["--layout", "random"]),
    "original": ("default: ascending by id", []),
    "bondhu-parcom": ("Bondhu, ParCom", ["--layout", "bondhu-parcom"]),
    "bondhu-modcom": ("Bondhu, ModCom", ["--layout", "bondhu-modcom"]),
    "bisection": ("bisection", ["--layout", "bisection"]),
}
CACHE = 16 * measure.MIB
TILE = 32
#: An order whose relationships lie in squares of the adjacency matrix, TILE nodes wide.
TILED = "-tiles"


def options() -> argparse.Namespace:
    """Reads the command line."""
    parser = study.parser(__doc__, threads=None, runs=5)
    parser.add_argument("--data", type=Path, required=True, help="folder of the graph")
    parser.add_argument("--graph", default="ego-twitter-dir.edges.tsv.zst")
    orders = ",".join([*ORDERS, f"bondhu-parcom{TILED}", f"bisection{TILED}"])
    parser.add_argument("--orders", default=orders, help="default: %(default)s")
    parser.add_argument("--text", type=int, default=240, help="letters of a user; default: 240")
    parser.add_argument("--queries", type=int, default=10_000, help="friend lists a run")
    return study.options(parser)


def exported(store: Path, folder: Path, parameters: list[str]) -> None:
    """Writes the store for Neo4j."""
    shutil.rmtree(folder, ignore_errors=True)
    product.nakshi("export", store, folder, "--neo4j", *parameters)


def add_texts(folder: Path, letters: int) -> None:
    """Gives every node a text, such as a user's profile. A node has the same text in every order."""
    draw = random.Random(1)
    with (folder / "nodes.csv").open() as lines:
        head, *nodes = csv.reader(lines)
    texts = {}
    for id, *_ in sorted(nodes, key=lambda row: int(row[0])):
        texts[id] = "".join(draw.choices(string.ascii_letters + "  .;-", k=letters - 1)) + "."
    with (folder / "nodes.csv").open("w") as out:
        out.write(",".join([*head, "text:string"]) + "\n")
        out.writelines(",".join([*row, texts[row[0]]]) + "\n" for row in nodes)


def tile(folder: Path) -> None:
    """Orders relationships by the squares in which both of their ends lie, the later end first, so
    that relationships to a node lie beside those from it."""
    ids = np.loadtxt(folder / "nodes.csv", delimiter=",", skiprows=1, usecols=0, dtype=np.int64)
    place = np.empty(ids.max() + 1, dtype=np.int64)
    place[ids] = np.arange(len(ids))
    with (folder / "relationships.csv").open() as lines:
        head, *edges = lines
    ends = place[np.array([line.split(",")[:2] for line in edges], dtype=np.int64)]
    low, high = ends.min(axis=1), ends.max(axis=1)
    order = np.lexsort((low, high, low // TILE, high // TILE))
    with (folder / "relationships.csv").open("w") as out:
        out.write(head)
        out.writelines(edges[at] for at in order.tolist())


def measured(neo4j: Neo4j, home: Path, chosen: argparse.Namespace) -> dict[str, float]:
    """Medians of the reads and times of a friend list."""
    runs = []
    for seed in range(chosen.runs):
        told = [f"queries={chosen.queries}", f"seed={seed + 1}", f"cache={CACHE}", "direct=true"]
        runs.append(neo4j.ask("friends", home, 1, *told, cold=True))
    return {name: measure.median([run[name] for run in runs]) for name in runs[0]}


def main() -> None:
    chosen = options()
    neo4j = Neo4j(chosen.work / "neo4j")
    store = chosen.work / "neo4j-layout.nakshi"
    shutil.rmtree(store, ignore_errors=True)
    extra = ["--layout", "original"]
    product.import_store(chosen.data / chosen.graph, store, directed=True, extra=extra)
    facts = product.info(store)
    rows, chance = [], None
    folder, home = chosen.work / "neo4j-csv", chosen.work / "neo4j-home"
    size = 0
    for order in chosen.orders.split(","):
        print(order, file=sys.stderr, flush=True)
        title, parameters = ORDERS[order.removesuffix(TILED)]
        exported(store, folder, parameters)
        if order.endswith(TILED):
            title += ", relationships in tiles"
            tile(folder)
        add_texts(folder, chosen.text)
        neo4j.load(home, folder, 1)
        size = neo4j.size(home)
        found = measured(neo4j, home, chosen)
        chance = chance or found
        rows.append(
            [
                title,
                f"{found['faults']:.1f}",
                f"{found['faults'] / chance['faults']:.2f}",
                f"{found['microseconds']:.0f}",
                f"{found['microseconds'] / chance['microseconds']:.2f}",
                f"{found['friends']:.1f}",
            ]
        )
    conditions = [
        f"Neo4j {neo4j.version()}, community, embedded; page cache of {tables.size(CACHE)} in pages "
        f"of 8 KiB, direct I/O; database of {tables.size(size)}",
        f"graph: {chosen.graph.split('.')[0]}, {facts['vertices']:,} vertices, {facts['edges']:,} edges",
        f"{chosen.queries:,} friend lists of uniform users a run, after as many to warm up, one thread: "
        f"all relationships of a user, both ways, and id and text ({chosen.text} letters) of the node at "
        "the other end of each",
    ]
    page = Study("neo4j-layout", "Neo4j in the order of a layout", chosen, conditions)
    first = chosen.orders.split(",")[0]
    head = [
        "Order",
        "reads a friend list",
        f"/ {first}",
        "us a friend list",
        f"/ {first}",
        "friends",
    ]
    notes = [
        "reads: faults of Neo4j's page cache, each a page from the disk",
        "files of `nakshi export --neo4j --layout ORDER`, imported by the command that the export prints; "
        "relationships lie in the order of their sources",
        f"in tiles: the same relationships, sorted by this program into squares of {TILE} by {TILE} nodes",
    ]
    page.section("Reads of a friend list", head, rows, *notes)
    page.write()


if __name__ == "__main__":
    main()
