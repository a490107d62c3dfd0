"""Look-ups on a store: neighbours of many ids, samples of them, paths; writes docs/results/lookups.md.

    nakshi generate kronecker --scale 22 kron22.tsv
    nakshi import kron22.tsv kron22.nakshi --undirected
    python bench/lookups.py kron22.nakshi                   # --json prints the figures

Ids are drawn evenly from all vertices. Answers are checked: lists against degrees and against those
from the SSD, samples against lists, lengths of paths against the levels of a search. A cold call runs
in a process of its own after the page cache of the system was dropped, and its time includes opening
the store for look-ups. Times are medians.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nakshi
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CAP = "128MiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--ids", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the figures, write no page")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "lookups.md")
    parser.add_argument("--cold", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold:
        print(json.dumps(cold_call(options)))
        return
    found = measure(options)
    if options.json:
        print(json.dumps(found))
    else:
        options.out.write_text(page(found, options))
        print(options.out)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    graph = nakshi.open(options.store)
    names, _ = graph.wcc(threads=options.threads).to_numpy()
    ids = draw(names, options.ids, options.seed)
    memory: dict[str, Any] = {"engine": "memory", "threads": options.threads}
    offsets, targets = graph.neighbors(ids, **memory)
    assert np.array_equal(np.diff(offsets), graph.degree(ids, **memory))
    found: dict[str, Any] = {
        "store": options.store.name,
        "vertices": graph.num_vertices,
        "edges": graph.num_edges,
        "ids": len(ids),
        "neighbours": int(offsets[-1]),
        "threads": options.threads,
        "runs": options.runs,
    }
    found["neighbors_memory"] = timed(lambda: graph.neighbors(ids, **memory), options.runs)
    drawn = graph.sample_neighbors(ids, 10, **memory)
    check_sample(offsets, targets, *drawn)
    found["sampled"] = int(drawn.offsets[-1])
    found["sample_memory"] = timed(lambda: graph.sample_neighbors(ids, 10, **memory), options.runs)
    found["degree_memory"] = timed(lambda: graph.degree(ids, **memory), options.runs)
    found["has_edge_memory"] = timed(lambda: graph.has_edge(ids, ids[::-1], **memory), options.runs)
    one = ids[:1000].tolist()
    single = timed(lambda: [graph.neighbors(id, **memory) for id in one], options.runs)
    found["single_memory"] = single / len(one)
    found["paths"] = paths(graph, names, options, memory)
    ssd: dict[str, Any] = {"engine": "ssd", "threads": options.threads, "memory": CAP}
    assert np.array_equal(targets, graph.neighbors(ids, **ssd).targets)
    found["neighbors_ssd_warm"] = timed(lambda: graph.neighbors(ids, **ssd), options.runs)
    graph.close()
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, ids)
        file.flush()
        found |= cold_calls(options, file.name)
    return found


def cold_calls(options: argparse.Namespace, ids: str) -> dict[str, Any]:
    """Medians of cold calls, and the memory that they took."""
    found: dict[str, Any] = {}
    colds = [cold(options, "neighbors", ids) for _ in range(options.runs)]
    found["neighbors_ssd_cold"] = statistics.median(run["seconds"] for run in colds)
    found["peak_rss_cold"] = max(run["peak_rss"] for run in colds)
    found["rss_before"] = max(run["rss_before"] for run in colds)
    colds = [cold(options, "sample", ids) for _ in range(options.runs)]
    found["sample_ssd_cold"] = statistics.median(run["seconds"] for run in colds)
    return found


def draw(names: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Ids of vertices, drawn evenly with repetition."""
    return names[np.random.default_rng(seed).integers(0, len(names), count)]


def check_sample(
    offsets: np.ndarray, targets: np.ndarray, places: np.ndarray, drawn: np.ndarray
) -> None:
    """Samples have the right sizes, and the first of them come from the lists."""
    assert np.array_equal(np.diff(places), np.minimum(np.diff(offsets), 10))
    for i in range(min(2000, len(places) - 1)):
        some, every = drawn[places[i] : places[i + 1]], targets[offsets[i] : offsets[i + 1]]
        assert len(set(some.tolist())) == len(some) and np.isin(some, every).all()


def timed(call: Callable[[], object], runs: int) -> float:
    """Median seconds of a call, after one that warms up."""
    call()
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def paths(
    graph: nakshi.Graph, names: np.ndarray, options: argparse.Namespace, memory: dict[str, Any]
) -> dict[str, Any]:
    """Paths between random vertices that are connected, against whole searches from the same ones."""
    ids = draw(names, 40 * options.pairs, options.seed + 1)
    ids = ids[graph.degree(ids, **memory) > 0][: 2 * options.pairs]
    graph.shortest_path(ids[0], ids[1], **memory)
    seconds, searches, lengths = [], [], []
    for source, target in zip(ids[::2].tolist(), ids[1::2].tolist()):
        began = time.perf_counter()
        path = graph.shortest_path(source, target, **memory)
        seconds.append(time.perf_counter() - began)
        lengths.append(None if path is None else len(path) - 1)
    for i, (source, target) in enumerate(zip(ids[::2].tolist(), ids[1::2].tolist())):
        if i >= options.runs:
            break
        search = graph.bfs(source=source, **memory)
        searches.append(search.stats["seconds"]["run"])
        names, levels = search.to_numpy("level")
        level = levels[np.searchsorted(names, target)]
        assert lengths[i] == (None if np.isinf(level) else level), (source, target)
    return {
        "pairs": len(seconds),
        "seconds": statistics.median(seconds),
        "longest": max(seconds),
        "search": statistics.median(searches),
        "connected": sum(length is not None for length in lengths),
    }


def cold(options: argparse.Namespace, call: str, ids: str) -> dict[str, Any]:
    """One cold call in a process of its own."""
    subprocess.run(["sync"], check=True)
    Path("/proc/sys/vm/drop_caches").write_text("3")
    command = [sys.executable, __file__, str(options.store), "--cold", call, ids]
    command += ["--threads", str(options.threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def cold_call(options: argparse.Namespace) -> dict[str, Any]:
    call, file = options.cold
    ids = np.load(file)
    before = status("VmHWM")
    limits: dict[str, Any] = {"engine": "ssd", "memory": CAP, "threads": options.threads}
    began = time.perf_counter()
    graph = nakshi.open(options.store)
    if call == "sample":
        graph.sample_neighbors(ids, 10, **limits)
    else:
        graph.neighbors(ids, **limits)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_rss": status("VmHWM"), "rss_before": before}


def status(field: str) -> int:
    """A size in bytes that the kernel tells of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def page(found: dict[str, Any], options: argparse.Namespace) -> str:
    """The figures as a page of results."""
    ids, mib = found["ids"], 1 << 20
    paths = found["paths"]
    rate = {name: ids / found[name] for name in found if str(name).startswith("neighbors_")}
    rows = [
        ("`neighbors`, in memory", f"{rate['neighbors_memory'] / 1e6:.2f} M ids/s"),
        (f"`neighbors`, cold from the SSD, cap {CAP}", f"{rate['neighbors_ssd_cold']:,.0f} ids/s"),
        (f"`neighbors`, SSD, later calls, cap {CAP}", f"{rate['neighbors_ssd_warm']:,.0f} ids/s"),
        ("`neighbors` of one id at a time, in memory", f"{found['single_memory'] * 1e6:.1f} us"),
        ("`degree`, in memory", f"{ids / found['degree_memory'] / 1e6:.2f} M ids/s"),
        ("`has_edge`, in memory", f"{ids / found['has_edge_memory'] / 1e6:.2f} M pairs/s"),
        (
            "`sample_neighbors(k=10)` against `neighbors`, in memory",
            f"{found['sample_memory'] / found['neighbors_memory']:.2f} of the time",
        ),
        (
            "`sample_neighbors(k=10)` against `neighbors`, cold from the SSD",
            f"{found['sample_ssd_cold'] / found['neighbors_ssd_cold']:.2f} of the time",
        ),
        (
            "`shortest_path` between random vertices against `bfs`, in memory",
            f"{paths['seconds'] / paths['search']:.3f} of the time "
            f"({paths['seconds'] * 1e3:.2f} ms, the longest {paths['longest'] * 1e3:.1f} ms)",
        ),
    ]
    peak = (found["peak_rss_cold"] - found["rss_before"]) / mib
    body = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"""# Look-ups

`python bench/lookups.py {found["store"]}` wrote this page; `--ids {ids} --runs {found["runs"]}
--threads {found["threads"]} --pairs {paths["pairs"]}`. The store has {found["vertices"]:,} vertices and
{found["edges"]:,} undirected edges. The {ids:,} ids are drawn evenly from all vertices and have
{found["neighbours"]:,} neighbours; a sample of 10 of each has {found["sampled"]:,}. Machine:
{platform.machine()}, {found["threads"]} threads. Medians of {found["runs"]} calls. A cold call runs in a
process of its own after the system's page cache was dropped, and includes opening the store; it added
{peak:.0f} MiB to the process.

| Call | Measured |
| --- | ---: |
{body}
"""


if __name__ == "__main__":
    main()
