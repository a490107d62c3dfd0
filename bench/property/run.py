"""Property graphs: the size of a store of ZipG's data set, and the rates of queries and changes.

    bench/property/run.py                                 # scale 17: 85,089 nodes, 1.5 million edges
    bench/property/run.py --scale 12 --runs 1             # a small try
    bench/property/run.py --neo4j --duckdb --ladybug      # and others; Neo4j needs Java 17 and Maven
    bench/property/run.py --parts limited --neo4j         # with half of 1.8 GB of text as memory

Generates tables by the rules of ZipG (section 6), loads them, and runs the queries of TAO (Table 2,
without its 0.1 % of writes) and of Graph Search (Table 4) in process, then LinkBench, durable appends
and reads while a compaction runs on copies. Writes docs/results/property.md, of which parts that are
left out stay as they are.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
from harness import measure, study
from property import against, limited, ours, rivals

EXPONENT = 0.99


class Study(harness.Study):
    """The page, and the stores that its parts share."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            "Kronecker graph, 12 edges a vertex; 40 properties of 16 bytes a node, each one of 856 "
            "values; 5 types, times and 128 bytes of distinct text an edge",
            f"queries in process, warm, {options.queries:,} of each kind; nodes and types uniform, "
            "drawn again until the list has an edge; at most 1,000 edges a list",
        ]
        super().__init__("property", "Property graphs", options, conditions)

    @functools.cached_property
    def files(self) -> list[Path]:
        """Tables of edges and nodes."""
        return ours.generated(self.options.work, self.options.scale)

    @functools.cached_property
    def columns(self) -> ours.Loaded:
        """The store in columns."""
        return ours.imported(self.options, self.files, runs=self.options.runs)

    def mixes(self, loaded: ours.Loaded, suffix: str, *words: object) -> None:
        """TAO and Graph Search on a store."""
        for name, title in ours.WORKLOADS.items():
            ours.workload(self, loaded.store, name, title + suffix, *words)


def columns(study: Study) -> None:
    """Size, TAO and Graph Search of the store in columns."""
    ours.size(study, study.columns, "Size and import")
    study.mixes(study.columns, "")


def zipf(study: Study) -> None:
    """TAO and Graph Search where some nodes are asked for more often than others."""
    suffix = f", nodes by Zipf's law, exponent {EXPONENT}"
    study.mixes(study.columns, suffix, "--access", "zipf", "--exponent", EXPONENT)


def unique(study: Study) -> None:
    """Size, TAO and Graph Search where no two nodes share a text."""
    files = ours.generated(study.options.work, study.options.scale, unique=True)
    loaded = ours.imported(study.options, files, runs=study.options.runs)
    ours.size(study, loaded, "Size and import, unique texts")
    study.mixes(loaded, ", unique texts")


def zipg(study: Study) -> None:
    """Size, TAO and Graph Search in the layout of ZipG's paper."""
    loaded = ours.imported(study.options, study.files, "zipg", runs=study.options.runs)
    ours.size(study, loaded, "Size and import, layout zipg")
    study.mixes(loaded, ", layout zipg")


def beside_rivals(study: Study) -> None:
    """The other systems that the options name. A system that cannot run is left out with its reason."""
    options = study.options
    for name in [name for name in ("neo4j", "duckdb", "ladybug") if getattr(options, name)]:
        try:
            rival = rivals.wanted(options, name, study.columns.store)
            against.sections(study, study.columns, rival)
        except measure.Skipped as skipped:
            print(f"{name} is left out: {skipped}", file=sys.stderr)


#: Parts of the page, in their order. Rivals come last: this process opens stores to compare answers,
#: and the peak memory of a child would begin at that.
PARTS: dict[str, Callable[[Study], None]] = {
    "columns": columns,
    "zipf": zipf,
    "changes": lambda study: ours.changes(study, study.columns.store),
    "merged": lambda study: ours.merged(study, study.columns.store),
    "compaction": lambda study: ours.compaction(study, study.columns.store),
    "unique": unique,
    "zipg": zipg,
    "limited": limited.section,
    "rivals": beside_rivals,
}
#: A part that takes long, and runs only where it is named.
LONG = "limited"


def main() -> None:
    parser = ours.parser(__doc__, runs=5, parts=PARTS)
    usual = ",".join(name for name in PARTS if name != LONG)
    parser.set_defaults(only=usual)
    parser.add_argument("--neo4j", action="store_true", help="the same on Neo4j in the same run")
    parser.add_argument("--duckdb", action="store_true", help="and on DuckDB")
    parser.add_argument("--ladybug", action="store_true", help="and on LadybugDB")
    parser.add_argument("--limited-scale", type=int, default=19, help="of limited; default: 19")
    parser.add_argument("--limited-edge-factor", type=int, default=18, help="default: 18")
    parser.add_argument("--limited-zipg", action="store_true", help="and in the layout zipg")
    parser.add_argument("--fractions", default="0.5", help="of the text, as memory; default: 0.5")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
