"""Nakshi in one table: a graph is imported once and analysed in memory and from the SSD.

make demo                                        # a Kronecker graph of scale 20
make demo DEMO="--graph edges.tsv --undirected"  # your own edge list
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NAKSHI = [sys.executable, "-m", "nakshi"]
ALGORITHMS = {
    "bfs": ["--source"],
    "pagerank": ["--iterations", "20"],
    "wcc": [],
    "bc": ["--sources"],
}


def nakshi(*words: object) -> dict[str, Any]:
    """Runs the command line and reads its JSON object; an error ends the demo with its line."""
    call = [*NAKSHI, *map(str, words), "--json"]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def size(count: float) -> str:
    """Bytes with a unit."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20, help="of the Kronecker graph (2^scale)")
    parser.add_argument("--graph", type=Path, help="an edge list to take instead")
    parser.add_argument("--undirected", action="store_true", help="edges of --graph lead both ways")
    parser.add_argument("--work", type=Path, default=ROOT / "target" / "demo")
    return parser.parse_args()


def prepare(options: argparse.Namespace) -> tuple[Path, bool]:
    """The edge list and whether it is undirected; a generated one is kept for the next time."""
    if options.graph:
        return options.graph, options.undirected
    edges = options.work / f"kron{options.scale}.tsv"
    if not edges.exists():
        began = time.perf_counter()
        print(f"generating a Kronecker graph of scale {options.scale} ...")
        # Generated aside and renamed, so that an interrupted demo leaves no half graph behind.
        part = edges.with_suffix(".part.tsv")
        nakshi("generate", "kronecker", "--scale", options.scale, part)
        part.rename(edges)
        print(
            f"generated {edges.name}: {size(edges.stat().st_size)} of text in {time.perf_counter() - began:.1f} s"
        )
    return edges, True


def build(edges: Path, undirected: bool, work: Path) -> Path:
    """Imports into a new store and prints its time and memory."""
    store = work / "demo.nakshi"
    shutil.rmtree(store, ignore_errors=True)
    print(f"importing {edges.name} ...")
    began = time.perf_counter()
    direction = "--undirected" if undirected else "--directed"
    nakshi("import", edges, store, direction, "--memory", "512MiB", "--no-progress")
    info = nakshi("info", store)
    on_disk = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    print(
        f"imported  {info['vertices']:,} vertices, {info['edges']:,} edges into "
        f"{size(on_disk)} in {time.perf_counter() - began:.1f} s under 512 MiB"
    )
    return store


def hub(store: Path, work: Path) -> str:
    """The vertex with the highest rank, where traversals start."""
    out = work / "ranks.tsv"
    nakshi("run", "pagerank", store, "--iterations", "3", "--out", out, "--no-progress")
    with open(out) as lines:
        return max(lines, key=lambda line: float(line.split("\t")[1])).split("\t")[0]


def analyse(algorithm: str, store: Path, source: str, engine: str, work: Path) -> dict[str, Any]:
    """One run in a process of its own, with a digest of its answer."""
    extra = list(ALGORITHMS[algorithm])
    if extra and extra[0].startswith("--source"):
        extra.append(source)
    out = work / f"{algorithm}-{engine}.tsv"
    words = ["run", algorithm, store, "--engine", engine, *extra, "--out", out, "--no-progress"]
    if engine == "ssd":
        found = nakshi("estimate", algorithm, store)
        words += ["--memory", found["minimum"]]
    report = nakshi(*words)
    report["digest"] = hashlib.sha256(out.read_bytes()).hexdigest()
    return report


def main() -> None:
    options = arguments()
    # Each line appears at once, on a terminal or in a log.
    sys.stdout.reconfigure(line_buffering=True)
    options.work.mkdir(parents=True, exist_ok=True)
    edges, undirected = prepare(options)
    store = build(edges, undirected, options.work)
    source = hub(store, options.work)
    print(
        f"running {len(ALGORITHMS)} algorithms in memory and from the SSD, each in its own process\n"
    )
    head = f"{'':10} {'in memory':>20}   {'on SSD, smallest memory':>34}   {'answers':>9}"
    print(head)
    print(
        f"{'':10} {'seconds':>9} {'peak':>10}   {'seconds':>9} {'peak':>10} {'read':>13}   {'':>9}"
    )
    differ = False
    for algorithm in ALGORITHMS:
        memory = analyse(algorithm, store, source, "memory", options.work)
        ssd = analyse(algorithm, store, source, "ssd", options.work)
        same = memory["digest"] == ssd["digest"]
        differ |= not same
        print(
            f"{algorithm:10} {memory['seconds']['run']:9.3f} {size(memory['memory']['peak_rss']):>10}"
            f"   {ssd['seconds']['run']:9.3f} {size(ssd['memory']['peak_rss']):>10}"
            f" {size(ssd['io']['bytes_read']):>13}   {'same' if same else 'DIFFERENT':>9}"
        )
    print(f"\nThe store stays in {store}: try `.venv/bin/nakshi run pagerank {store}`.")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
