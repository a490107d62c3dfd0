"""Property graphs: what a store of ZipG's data set takes, and how fast it answers.

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
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "neo4j")]

import against  # noqa: E402
import limited  # noqa: E402
import measure  # noqa: E402
import ours  # noqa: E402
import tables  # noqa: E402
from on_neo4j import OnNeo4j  # noqa: E402
from on_peers import OnPeer  # noqa: E402

#: Parts of the page, in their order; limited is another, which takes long. The systems of rivals have
#: options of their own.
PARTS = ["columns", "zipf", "changes", "compaction", "unique", "zipg", "rivals"]
EXPONENT = 0.99


def options() -> argparse.Namespace:
    """What the command line says."""
    root = HERE.parent.parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=int, default=17, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=5, help="medians of so many; default: 5")
    parser.add_argument("--queries", type=int, default=20_000, help="of each kind")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--neo4j", action="store_true", help="the same on Neo4j in the same run")
    parser.add_argument("--duckdb", action="store_true", help="and on DuckDB")
    parser.add_argument("--ladybug", action="store_true", help="and on LadybugDB")
    parts = ",".join(PARTS)
    parser.add_argument(
        "--parts", default=parts, help=f"of {parts},limited; default: all but the last"
    )
    parser.add_argument("--limited-scale", type=int, default=19, help="of limited; default: 19")
    parser.add_argument("--limited-edge-factor", type=int, default=18, help="default: 18")
    parser.add_argument("--fractions", default="0.5", help="of the text, as memory; default: 0.5")
    parser.add_argument("--work", type=Path, default=root / "target" / "bench")
    parser.add_argument("--out", type=Path, default=root / "docs" / "results")
    chosen = parser.parse_args()
    chosen.parts = chosen.parts.split(",")
    unknown = set(chosen.parts) - {*PARTS, "limited"}
    if unknown:
        parser.error(f"no part is called {', '.join(unknown)}")
    chosen.work = chosen.work.resolve()
    for folder in (chosen.work, chosen.out):
        folder.mkdir(parents=True, exist_ok=True)
    return chosen


def own(page: tables.Page, chosen: argparse.Namespace, command: str, loaded: ours.Loaded) -> None:
    """The parts that need the store in columns."""
    if "columns" in chosen.parts:
        ours.size(page, command, loaded, "Size and import")
        for name, title in ours.WORKLOADS.items():
            ours.workload(page, chosen, command, loaded.store, name, title)
    if "zipf" in chosen.parts:
        words = ["--access", "zipf", "--exponent", EXPONENT]
        for name, title in ours.WORKLOADS.items():
            title += f", nodes by Zipf's law, exponent {EXPONENT}"
            ours.workload(page, chosen, command, loaded.store, name, title, *words)
    if "changes" in chosen.parts:
        ours.changes(page, chosen, command, loaded.store)
    if "compaction" in chosen.parts:
        ours.compaction(page, chosen, command, loaded.store)


def rivals(
    page: tables.Page, chosen: argparse.Namespace, command: str, loaded: ours.Loaded
) -> None:
    """The other systems that were asked for; one that cannot run is left out with its reason."""
    wanted = [name for name in ("neo4j", "duckdb", "ladybug") if getattr(chosen, name)]
    for name in wanted:
        try:
            rival: against.Rival
            if name == "neo4j":
                rival = OnNeo4j(chosen, loaded.store)
            else:
                rival = OnPeer(name, chosen, loaded.store)
            against.sections(page, chosen, command, loaded, rival)
        except measure.Skipped as skipped:
            print(f"{name} is left out: {skipped}", file=sys.stderr)


def main() -> None:
    chosen = options()
    command = tables.invocation("bench/property/run.py")
    conditions = [
        "Kronecker graph, 12 edges a vertex; 40 properties of 16 bytes a node, each one of 856 "
        "values; 5 types, times and 128 bytes of distinct text an edge",
        f"queries in process, warm, {chosen.queries:,} of each kind; nodes and types uniform, "
        "drawn again until the list has an edge; at most 1,000 edges a list",
        f"medians of {chosen.runs} run(s)",
    ]
    page = tables.Page("Property graphs", command, conditions)
    path = chosen.out / "property.md"
    keep = path.read_text() if path.exists() and not set(PARTS) <= set(chosen.parts) else ""
    try:
        measured(page, chosen, command)
    finally:
        # What was measured before a failure is not lost.
        page.write(path, keep=keep)


def measured(page: tables.Page, chosen: argparse.Namespace, command: str) -> None:
    """All parts that were asked for. Rivals come last: stores are opened here to compare answers, and the
    peak memory of a child would begin at that."""
    files = ours.generated(chosen.work, chosen.scale)
    loaded = None
    if set(chosen.parts) - {"unique", "zipg", "limited"}:
        loaded = ours.imported(chosen, files, runs=chosen.runs)
        own(page, chosen, command, loaded)
    if "unique" in chosen.parts:
        unique = ours.generated(chosen.work, chosen.scale, unique=True)
        other = ours.imported(chosen, unique, runs=chosen.runs)
        titled(page, chosen, command, other, ", unique texts")
    if "zipg" in chosen.parts:
        other = ours.imported(chosen, files, "zipg", runs=chosen.runs)
        titled(page, chosen, command, other, ", layout zipg")
    if "limited" in chosen.parts:
        limited.section(page, chosen, command)
    if loaded is not None and "rivals" in chosen.parts:
        rivals(page, chosen, command, loaded)


def titled(
    page: tables.Page, chosen: argparse.Namespace, command: str, loaded: ours.Loaded, suffix: str
) -> None:
    """Size, TAO and Graph Search of another store."""
    ours.size(page, command, loaded, f"Size and import{suffix}")
    for name, title in ours.WORKLOADS.items():
        ours.workload(page, chosen, command, loaded.store, name, title + suffix)


if __name__ == "__main__":
    main()
