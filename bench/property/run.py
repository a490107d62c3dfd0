"""Property graphs: what a store of ZipG's data set takes, and how fast it answers.

    bench/property/run.py                                 # scale 17: 85,089 nodes, 1.5 million edges
    bench/property/run.py --scale 12 --runs 1             # a small try
    bench/property/run.py --neo4j                         # and Neo4j; needs Java 17 and Maven

Generates tables by the rules of ZipG (section 6), loads them, and runs the queries of TAO (Table 2,
without its 0.1 % of writes) and of Graph Search (Table 4) in process, then LinkBench and durable
appends on copies. Writes docs/results/property.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import against  # noqa: E402
import measure  # noqa: E402
import product  # noqa: E402
import tables  # noqa: E402

#: Threads of LinkBench, most of which wait for the disk.
WRITERS = 16
HEAD = ["Query, alone on one thread", "ops/s", "p50, us", "p99, us", "p99.9, us", "results"]
WORKLOADS = {"tao": "TAO", "graph-search": "Graph Search"}
#: Layouts of the property files, and what is added to the titles of their tables.
LAYOUTS = {"columns": "", "zipg": ", layout zipg"}


def options() -> argparse.Namespace:
    """What the command line says."""
    root = HERE.parent.parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=int, default=17, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=5, help="medians of so many; default: 5")
    parser.add_argument("--queries", type=int, default=20_000, help="of each kind")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--neo4j", action="store_true", help="the same on Neo4j in the same run")
    parser.add_argument("--work", type=Path, default=root / "target" / "bench")
    parser.add_argument("--out", type=Path, default=root / "docs" / "results")
    chosen = parser.parse_args()
    for folder in (chosen.work, chosen.out):
        folder.mkdir(parents=True, exist_ok=True)
    return chosen


def nakshi(*words: object) -> dict[str, Any]:
    """A command's JSON."""
    call = [*product.NAKSHI, *map(str, words), "--json"]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def bench(name: str, store: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """A run of one workload."""
    words = ["--queries", chosen.queries, "--threads", chosen.threads, "--no-progress"]
    return nakshi("bench", name, store, *words)


def load(
    page: tables.Page, chosen: argparse.Namespace, command: str, layout: str
) -> tuple[Path, tuple[float, int]]:
    """Generates and loads the tables; says what they take in a layout. The store, its seconds and
    bytes."""
    files = [chosen.work / f"property-{chosen.scale}-{part}.tsv" for part in ("edges", "nodes")]
    edges, nodes = files
    if not all(file.exists() for file in files):
        words = ["--scale", chosen.scale, "--edge-factor", 12, "--nodes", nodes]
        nakshi("generate", "kronecker", edges, *words)
    suffix = "" if layout == "columns" else f"-{layout}"
    store = chosen.work / f"property-{chosen.scale}{suffix}.nakshi"
    seconds, peak, report = [], 0, {}
    for _ in range(chosen.runs):
        shutil.rmtree(store, ignore_errors=True)
        call = [*product.NAKSHI, "import", edges, store, "--nodes", nodes, "--properties"]
        call += ["--layout", layout]
        ran = measure.run(
            [*call, "--json", "--no-progress", "--threads", str(chosen.threads)],
            threads=chosen.threads,
        )
        report = json.loads(ran.stdout)
        seconds.append(report["seconds"])
        peak = max(peak, ran.peak_rss)
    raw = sum(file.stat().st_size for file in files)
    taken = sum(file.stat().st_size for file in store.iterdir())
    rows = [
        ["nodes, edges", f"{report['nodes']:,}, {report['edges']:,}"],
        ["tables as text", tables.size(raw)],
        ["store", tables.size(taken)],
        ["store / text, finding by any value included", f"{taken / raw:.3f}"],
        ["import, s", tables.seconds(measure.median(seconds))],
        ["import, peak RSS", tables.size(peak)],
    ]
    page.section(f"Size and import{LAYOUTS[layout]}", command, tables.table(["", ""], rows), [])
    return store, (measure.median(seconds), taken)


def workload(
    page: tables.Page, chosen: argparse.Namespace, command: str, store: Path, name: str, title: str
) -> None:
    """One workload: each kind of query alone, then the mix."""
    runs = [bench(name, store, chosen) for _ in range(chosen.runs)]
    rows = kinds_of(runs)
    rows.append([f"mix on {chosen.threads} threads", f"{rate_of(runs):,.0f}", "", "", "", ""])
    page.section(title, command, tables.table(HEAD, rows), [])


def rate_of(runs: list[dict[str, Any]]) -> float:
    """The median of the mixes."""
    return measure.median([run["rate"] for run in runs])


def kinds_of(runs: list[dict[str, Any]]) -> list[list[str]]:
    """A row of medians for each kind of query."""
    rows = []
    for kinds in zip(*(run["classes"] for run in runs), strict=True):
        middle = {
            key: measure.median([kind[key] for kind in kinds])
            for key in ("rate", "p50", "p99", "p999", "results")
        }
        times = [f"{middle[key]:.2f}" for key in ("p50", "p99", "p999")]
        label = kinds[0]["name"]
        rows.append([label, f"{middle['rate']:,.0f}", *times, f"{middle['results']:.1f}"])
    return rows


def changes(page: tables.Page, chosen: argparse.Namespace, command: str, store: Path) -> None:
    """Durable changes, on copies of the store."""
    copy = chosen.work / f"property-{chosen.scale}-changed.nakshi"
    mixes, appends = [], []
    for _ in range(chosen.runs):
        shutil.rmtree(copy, ignore_errors=True)
        nakshi("backup", store, copy, "--no-progress")
        words = ["--queries", 5 * chosen.queries, "--threads", WRITERS, "--no-progress"]
        mixes.append(nakshi("bench", "linkbench", copy, *words))
        appends.append(nakshi("bench", "append", copy, "--no-progress")["appends"])
    shutil.rmtree(copy, ignore_errors=True)
    rows = kinds_of(mixes)
    rows.append([f"mix on {WRITERS} threads", f"{rate_of(mixes):,.0f}", "", "", "", ""])
    notes = ["every change is durable before it is acknowledged; each kind within the mix"]
    page.section("LinkBench", command, tables.table(HEAD, rows), notes)
    rows = []
    for runs in zip(*appends, strict=True):
        rate, syncs = (measure.median([run[key] for run in runs]) for key in ("rate", "syncs"))
        part = rate / (syncs * runs[0]["writers"])
        who = f"{runs[0]['writers']}, {runs[0]['in_flight']}"
        rows.append([who, f"{rate:,.0f}", f"{syncs:,.0f}", f"{part:.2f}"])
    head = ["Writers, commits in flight of each", "durable appends/s"]
    head += ["fdatasync/s of the disk", "appends / (writers x fdatasync)"]
    page.section("Durable appends", command, tables.table(head, rows), [])


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
    for layout, suffix in LAYOUTS.items():
        store, loaded = load(page, chosen, command, layout)
        for name, title in WORKLOADS.items():
            workload(page, chosen, command, store, name, title + suffix)
        if layout == "columns":
            changes(page, chosen, command, store)
        if chosen.neo4j and layout == "columns":

            def run(name: str, store: Path) -> dict[str, Any]:
                return bench(name, store, chosen)

            against.sections(page, chosen, command, store, loaded, WORKLOADS, run)
    page.write(chosen.out / "property.md")


if __name__ == "__main__":
    main()
