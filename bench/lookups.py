"""Look-ups on Kron22: neighbours of many ids, samples of them, paths; writes docs/results/lookups.md.

    bench/lookups.py                             # Kron22, which it generates and imports once
    bench/lookups.py --scale 14 --runs 1         # a small try

Ids are drawn evenly from all vertices, with repetition. Answers are compared before a time is taken: lists of
a thousand ids with the lines of the edge file, all lists with degrees and with those from the SSD, samples with
lists, lengths of paths with the levels of a search. A cold call runs in a process of its own after the page
cache of the system was dropped, and its time includes opening the store.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
from harness import Study, measure, product, study
from harness.product import NAKSHI

CAP = "128MiB"
#: Ids whose lists are compared with the edge file.
COMPARED = 1000
#: Neighbours of each vertex in a sample.
SAMPLE = 10
MIB = 1 << 20


def main() -> None:
    parser = study.parser(__doc__, runs=7)
    parser.add_argument("--scale", type=int, default=22, help="of the graph; default: 22")
    parser.add_argument("--ids", type=int, default=100_000, help="of a call; default: 100000")
    parser.add_argument("--pairs", type=int, default=50, help="for paths; default: 50")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cold", nargs=2, help=argparse.SUPPRESS)
    options = study.options(parser)
    if options.cold:
        print(json.dumps(cold_call(options)))
        return
    edges, store = options.work / f"kron{options.scale}.tsv", kron(options)
    if not store.exists():
        generate = ["generate", "kronecker", str(edges), "--scale", str(options.scale)]
        measure.run([*NAKSHI, *generate], threads=options.threads)
        product.import_store(edges, store, threads=options.threads)
    found = in_memory(edges, store, options) | from_ssd(options)
    write(found, options)


def kron(options: argparse.Namespace) -> Path:
    """The store."""
    return Path(options.work / f"kron{options.scale}.nakshi")


def limits(options: argparse.Namespace, engine: str) -> dict[str, Any]:
    capped = {"memory": CAP} if engine == "ssd" else {}
    return {"engine": engine, "threads": options.threads, **capped}


def ids_file(options: argparse.Namespace) -> Path:
    return Path(options.work / f"lookups-{options.scale}-{options.ids}-{options.seed}.npy")


def in_memory(edges: Path, store: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Compares answers, and times calls on lists in memory."""
    graph = nakshi.open(store)
    names, _ = graph.wcc(threads=options.threads).to_numpy()
    ids = draw(names, options.ids, options.seed)
    np.save(ids_file(options), ids)
    memory, runs = limits(options, "memory"), options.runs
    offsets, targets = graph.neighbors(ids, **memory)
    check_lists(edges, ids, offsets, targets)
    assert np.array_equal(np.diff(offsets), graph.degree(ids, **memory))
    drawn = graph.sample_neighbors(ids, SAMPLE, **memory)
    check_sample(offsets, targets, *drawn)
    one = ids[:COMPARED].tolist()
    found = {
        "vertices": graph.num_vertices,
        "edges": graph.num_edges,
        "neighbours": int(offsets[-1]),
        "sampled": int(drawn.offsets[-1]),
        "neighbors": timed(lambda: graph.neighbors(ids, **memory), runs),
        "sample": timed(lambda: graph.sample_neighbors(ids, SAMPLE, **memory), runs),
        "degree": timed(lambda: graph.degree(ids, **memory), runs),
        "has_edge": timed(lambda: graph.has_edge(ids, ids[::-1], **memory), runs),
        "single": timed(lambda: [graph.neighbors(id, **memory) for id in one], runs) / len(one),
        "paths": paths(graph, names, options),
    }
    ssd = limits(options, "ssd")
    others = graph.neighbors(ids, **ssd)
    assert np.array_equal(offsets, others.offsets) and np.array_equal(targets, others.targets)
    found["later"] = timed(lambda: graph.neighbors(ids, **ssd), runs)
    same = graph.sample_neighbors(ids, SAMPLE, **ssd)
    assert np.array_equal(drawn.targets, same.targets)
    graph.close()
    return found


def from_ssd(options: argparse.Namespace) -> dict[str, Any]:
    """Medians of cold calls, and the memory that they take."""
    found: dict[str, Any] = {}
    for call in ("neighbors", "sample"):
        runs = [cold(options, call) for _ in range(options.runs)]
        found[f"{call}_cold"] = measure.median([run["seconds"] for run in runs])
        found[f"{call}_memory"] = max(run["peak"] - run["before"] for run in runs)
    return found


def draw(names: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Ids of vertices, drawn evenly with repetition."""
    return names[np.random.default_rng(seed).integers(0, len(names), count)]


def check_lists(edges: Path, ids: np.ndarray, offsets: np.ndarray, targets: np.ndarray) -> None:
    """The lists of the first ids are those of the edge file."""
    import polars as pl

    some = pl.Series(np.unique(ids[:COMPARED]))
    lines = pl.scan_csv(
        edges, separator="\t", has_header=False, comment_prefix="#", new_columns=["u", "v"]
    ).select("u", "v")
    ahead = lines.filter(pl.col("u").is_in(some.implode()))
    back = lines.filter(pl.col("v").is_in(some.implode())).select(
        pl.col("v").alias("u"), pl.col("u").alias("v")
    )
    pairs = pl.concat([ahead, back]).unique().collect()
    known = {u: set(v) for (u,), v in ((key, part["v"]) for key, part in pairs.group_by(["u"]))}
    for i, id in enumerate(ids[:COMPARED].tolist()):
        found = targets[offsets[i] : offsets[i + 1]].tolist()
        assert len(found) == len(set(found)) and set(found) == known[id], id


def check_sample(
    offsets: np.ndarray, targets: np.ndarray, places: np.ndarray, drawn: np.ndarray
) -> None:
    """Samples have the right sizes, and the first of them come from the lists."""
    assert np.array_equal(np.diff(places), np.minimum(np.diff(offsets), SAMPLE))
    for i in range(min(COMPARED, len(places) - 1)):
        some, every = drawn[places[i] : places[i + 1]], targets[offsets[i] : offsets[i + 1]]
        assert len(set(some.tolist())) == len(some) and np.isin(some, every).all()


def timed(call: Callable[[], object], runs: int) -> float:
    """Median seconds of a call, after one that warms up."""
    call()
    return measure.median([elapsed(call)[0] for _ in range(runs)])


def elapsed(call: Callable[[], object]) -> tuple[float, Any]:
    """Seconds and answer of a call."""
    began = time.perf_counter()
    answer = call()
    return time.perf_counter() - began, answer


def paths(graph: nakshi.Graph, names: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    """Paths between random vertices, against whole searches from some of the same ones."""
    memory = limits(options, "memory")
    ids = draw(names, 2 * options.pairs, options.seed + 1)
    pairs = list(zip(ids[::2].tolist(), ids[1::2].tolist()))
    graph.shortest_path(*pairs[0], **memory)
    found = [elapsed(lambda p=pair: graph.shortest_path(*p, **memory)) for pair in pairs]
    searches = []
    for (source, target), (_, path) in list(zip(pairs, found))[: options.runs]:
        search = graph.bfs(source=source, **memory)
        searches.append(search.stats["seconds"]["run"])
        reached, levels = search.to_numpy("level")
        level = levels[np.searchsorted(reached, target)]
        length = np.inf if path is None else len(path) - 1
        assert length == level, (source, target)
    return {
        "seconds": measure.median([seconds for seconds, _ in found]),
        "longest": max(seconds for seconds, _ in found),
        "search": measure.median(searches),
    }


def cold(options: argparse.Namespace, call: str) -> dict[str, Any]:
    """One cold call in a process of its own."""
    words = ["--cold", call, str(ids_file(options)), "--scale", str(options.scale)]
    words += ["--threads", str(options.threads), "--work", str(options.work)]
    ran = measure.run(
        [sys.executable, __file__, *words], threads=options.threads, cold=True, timeout=600.0
    )
    return dict(json.loads(ran.stdout))


def cold_call(options: argparse.Namespace) -> dict[str, Any]:
    """Opens the store and answers once; seconds, and bytes of memory before and at the most."""
    call, file = options.cold
    ids, capped = np.load(file), limits(options, "ssd")
    before = peak()

    def once() -> object:
        graph = nakshi.open(kron(options))
        if call == "sample":
            return graph.sample_neighbors(ids, SAMPLE, **capped)
        return graph.neighbors(ids, **capped)

    seconds, _ = elapsed(once)
    return {"seconds": seconds, "before": before, "peak": peak()}


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def write(found: dict[str, Any], options: argparse.Namespace) -> None:
    """The page."""
    ids, path = options.ids, found["paths"]
    conditions = [
        f"Kron{options.scale}: {found['vertices']:,} vertices, {found['edges']:,} undirected edges; "
        f"{options.threads} threads",
        f"{ids:,} ids drawn evenly from all vertices, with {found['neighbours']:,} neighbours; a "
        f"sample of {SAMPLE} of each has {found['sampled']:,}",
        f"calls on the SSD have `memory={CAP}`; a cold one is the first of its process, after the "
        "page cache of the system was dropped, and opens the store",
        f"answers compared first: lists of {COMPARED:,} ids with the edge file, all lists with "
        "degrees and between memory and SSD, samples with lists, paths with searches",
    ]
    page = Study("lookups", "Look-ups", options, conditions)

    def rate(name: str) -> list[str]:
        return [f"{found[name] * 1e3:.1f}", f"{ids / found[name]:,.0f}"]

    rows = [
        ["`neighbors`, in memory", *rate("neighbors")],
        [f"`sample_neighbors`, {SAMPLE} of each, in memory", *rate("sample")],
        ["`degree`, in memory", *rate("degree")],
        ["`has_edge`, in memory", *rate("has_edge")],
        ["`neighbors` of one id a call, in memory", f"{found['single'] * 1e3:.4f}"]
        + [f"{1 / found['single']:,.0f}"],
        ["`neighbors`, SSD, cold", *rate("neighbors_cold")],
        ["`neighbors`, SSD, later calls", *rate("later")],
        [f"`sample_neighbors`, {SAMPLE} of each, SSD, cold", *rate("sample_cold")],
    ]
    page.section(
        "Lists and samples",
        ["Call", "ms", "ids/s"],
        rows,
        f"A sample in memory takes {found['sample'] / found['neighbors']:.2f} of the time of all "
        f"neighbours, a cold one from the SSD {found['sample_cold'] / found['neighbors_cold']:.2f}.",
        f"A cold call adds {found['neighbors_memory'] / MIB:.0f} MiB (`neighbors`) and "
        f"{found['sample_memory'] / MIB:.0f} MiB (`sample_neighbors`) to its process.",
    )
    rows = [
        [f"`shortest_path`, median of {options.pairs} pairs", f"{path['seconds'] * 1e3:.3f}"]
        + [f"{path['seconds'] / path['search']:.4f}"],
        ["`shortest_path`, the longest", f"{path['longest'] * 1e3:.3f}"]
        + [f"{path['longest'] / path['search']:.4f}"],
        ["`bfs`, the whole graph", f"{path['search'] * 1e3:.1f}", "1"],
    ]
    page.section("Paths between random vertices", ["Call", "ms", "of a search"], rows)
    page.write()


if __name__ == "__main__":
    main()
