"""Friends of friends of friends: a Kronecker graph of persons who know each other, and its queries."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
from cypher.asking import Query
from harness import product

LABEL, TYPE = "Person", "KNOWS"
AGES = range(18, 91)
NAMES, CITIES = 5000, 500
#: Properties that queries may look up.
PROPERTIES = ["id", "age", "name", "city"]
#: Walks of three edges from a start, from so many to so many: what a query has to visit.
SIZES = {
    "3,000 to 30,000": (3_000, 30_000),
    "30,000 to 300,000": (30_000, 300_000),
    "300,000 to 1 million": (300_000, 1_000_000),
}
WALK = f"MATCH (a:Person {{id: $id}})-[:{TYPE}]->()-[:{TYPE}]->()-[:{TYPE}]->(c)"
#: Texts; the second column orders the rows of the second.
TEXTS = {
    "count": f"{WALK} WHERE c.age = $age RETURN count(DISTINCT c)",
    "first 20": f"{WALK} WHERE c.age = $age RETURN DISTINCT c.id AS id, c.name AS name, c.city AS city "
    "ORDER BY name, id LIMIT 20",
}


def tables(work: Path, scale: int) -> tuple[str, str]:
    """Tables of edges and nodes, as the importer takes them, made once."""
    edges, nodes = (work / f"hops-{scale}-{part}.tsv" for part in ("edges", "nodes"))
    if not nodes.exists():
        bare = work / f"hops-{scale}-bare.tsv"
        product.nakshi("generate", "kronecker", bare, "--scale", scale)
        with open(bare, "rb") as lines, open(edges, "wb") as file:
            file.write(b":START_ID\t:END_ID\n")
            shutil.copyfileobj(lines, file)
        bare.unlink()
        draw = random.Random(1)
        with open(nodes, "w") as file:
            file.write(":ID\tid:long\tage:int\tname:string\tcity:string\n")
            for id in range(1 << scale):
                age, name, city = draw.choice(AGES), draw.randrange(NAMES), draw.randrange(CITIES)
                file.write(f"{id}\t{id}\t{age}\tname {name}\tcity {city}\n")
    return f"{TYPE}={edges}", f"{LABEL}={nodes}"


def walks(edges: Path, scale: int) -> npt.NDArray[np.float64]:
    """The number of walks of three edges from each node."""
    table = pa.csv.read_csv(edges, parse_options=pa.csv.ParseOptions(delimiter="\t"))
    source, target = (column.to_numpy() for column in table.columns)
    # The importer leaves out edges that occur again.
    pairs = np.unique((source << scale) | target)
    source, target = pairs >> scale, pairs & ((1 << scale) - 1)
    found = np.ones(1 << scale)
    for _ in range(3):
        found = np.bincount(source, weights=found[target], minlength=1 << scale)
    return found


def drawn(edges: Path, scale: int, count: int) -> dict[str, list[Query]]:
    """So many starts of each size with an age; a query of each kind for each of them, by size."""
    draw, found = random.Random(1), walks(edges, scale)
    queries: dict[str, list[Query]] = {}
    for size, (low, high) in SIZES.items():
        starts = np.flatnonzero((low <= found) & (found < high)).tolist()
        for id in draw.sample(starts, min(count, len(starts))):
            parameters = {"id": id, "age": draw.choice(AGES)}
            for kind, text in TEXTS.items():
                order = 1 if "ORDER BY" in text else None
                queries.setdefault(size, []).append(Query(kind, text, parameters, order))
    return queries
