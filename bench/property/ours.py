"""Nakshi's own figures: tables by ZipG's rules, sizes of their stores, and rates of queries and changes."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import Study, measure, product, study, tables

#: Threads of LinkBench, most of which wait for the disk.
WRITERS = 16
HEAD = ["Query, alone on one thread", "ops/s", "p50, us", "p99, us", "p99.9, us", "results"]
WORKLOADS = {"tao": "TAO", "graph-search": "Graph Search"}
LATENCIES = ("p50", "p99", "p999")
#: Edges that are drawn for each vertex.
EDGE_FACTOR = 12


@dataclasses.dataclass
class Loaded:
    """A store, and the time and memory of its import."""

    store: Path
    seconds: float
    peak: int
    nodes: int
    edges: int
    raw: int
    """Bytes of the tables as text."""

    @property
    def size(self) -> int:
        """Bytes of the store."""
        return sum(file.stat().st_size for file in self.store.iterdir())


def parser(text: str | None, *, runs: int, parts: Iterable[str]) -> argparse.ArgumentParser:
    """The options of pages on ZipG's tables; see :func:`harness.study.parser`."""
    made = study.parser(text, runs=runs, parts=parts)
    made.add_argument("--scale", type=int, default=17, help="default: %(default)s")
    made.add_argument("--queries", type=int, default=20_000, help="of each kind")
    return made


@contextmanager
def serving(store: Path, *options: str) -> Iterator[str]:
    """The address of a server of the store; of the first one, if the options start several."""
    with answering(store, *options) as (address, *_):
        yield address


@contextmanager
def answering(store: Path, *options: str) -> Iterator[list[str]]:
    """As :func:`serving`, with the address for HTTP behind it, if the options have one."""
    with product.serving(store, *options) as server:
        yield server.words


def generated(
    work: Path, scale: int, *, edge_factor: int = EDGE_FACTOR, unique: bool = False
) -> list[Path]:
    """Tables of edges and nodes, made once."""
    name = f"property-{scale}"
    name += f"-{edge_factor}" if edge_factor != EDGE_FACTOR else ""
    name += "-unique" if unique else ""
    edges, nodes = files = [work / f"{name}-{part}.tsv" for part in ("edges", "nodes")]
    if not all(file.exists() for file in files):
        words = ["--scale", scale, "--edge-factor", edge_factor, "--nodes", nodes]
        product.nakshi("generate", "kronecker", edges, *words, *["--unique-text"] * unique)
    return files


def imported(
    chosen: argparse.Namespace, files: list[Path], layout: str = "columns", *, runs: int = 1
) -> Loaded:
    """A new store of the tables; medians of some imports."""
    edges, nodes = files
    suffix = "" if layout == "columns" else f"-{layout}"
    store = edges.with_name(edges.name.replace("-edges.tsv", f"{suffix}.nakshi"))
    seconds, peak, report = [], 0, {}
    for _ in range(runs):
        shutil.rmtree(store, ignore_errors=True)
        extra = ["--nodes", str(nodes), "--properties", "--layout", layout]
        ran = product.import_store(edges, store, directed=True, extra=extra, threads=chosen.threads)
        report = json.loads(ran.stdout)
        seconds.append(report["seconds"])
        peak = max(peak, ran.peak_rss)
    raw = sum(file.stat().st_size for file in files)
    middle = measure.median(seconds)
    return Loaded(store, middle, peak, report["nodes"], report["edges"], raw)


def size(study: Study, loaded: Loaded, title: str) -> None:
    """Adds the size of a store and the cost of its import."""
    rows = [
        ["nodes, edges", f"{loaded.nodes:,}, {loaded.edges:,}"],
        ["tables as text", tables.size(loaded.raw)],
        ["store", tables.size(loaded.size)],
        ["store / text, finding by any value included", f"{loaded.size / loaded.raw:.3f}"],
        ["import, s", tables.seconds(loaded.seconds)],
        ["import, peak RSS", tables.size(loaded.peak)],
    ]
    study.section(title, ["", ""], rows)


def bench(name: str, store: Path, chosen: argparse.Namespace, *words: object) -> dict[str, Any]:
    """A run of one workload."""
    told = ["--queries", chosen.queries, "--threads", chosen.threads, *words]
    return product.nakshi("bench", name, store, *told, threads=chosen.threads)


def workload(study: Study, store: Path, name: str, title: str, *words: object) -> None:
    """One workload: each kind of query alone, then the mix."""
    chosen = study.options
    runs = [bench(name, store, chosen, *words) for _ in range(chosen.runs)]
    rows = kinds_of(runs)
    rows.append([f"mix on {chosen.threads} threads", f"{rate_of(runs):,.0f}", "", "", "", ""])
    study.section(title, HEAD, rows)


def rate_of(runs: list[dict[str, Any]]) -> float:
    """The median of the mixes."""
    return measure.median([run["rate"] for run in runs])


def kinds_of(runs: list[dict[str, Any]], part: str = "classes") -> list[list[str]]:
    """A row of medians for each kind of query."""
    rows = []
    for kinds in zip(*(run[part] for run in runs), strict=True):
        middle = {
            key: measure.median([kind[key] for kind in kinds])
            for key in ("rate", *LATENCIES, "results")
        }
        times = [f"{middle[key]:.2f}" for key in LATENCIES]
        label = kinds[0]["name"]
        rows.append([label, f"{middle['rate']:,.0f}", *times, f"{middle['results']:.1f}"])
    return rows


def copied(store: Path, name: str) -> Path:
    """Copies a store, so that the copy can be changed."""
    copy = store.with_name(f"{store.stem}-{name}.nakshi")
    shutil.rmtree(copy, ignore_errors=True)
    product.nakshi("backup", store, copy)
    return copy


def changes(study: Study, store: Path) -> None:
    """Durable changes, on copies of the store."""
    chosen = study.options
    mixes, appends, transactions = [], [], []
    for _ in range(chosen.runs):
        copy = copied(store, "changed")
        words = ["--queries", 5 * chosen.queries, "--threads", WRITERS]
        mixes.append(product.nakshi("bench", "linkbench", copy, *words))
        appends.append(product.nakshi("bench", "append", copy)["appends"])
        transactions.append(product.nakshi("bench", "transactions", copy)["transactions"])
        shutil.rmtree(copy)
    rows = kinds_of(mixes)
    rows.append([f"mix on {WRITERS} threads", f"{rate_of(mixes):,.0f}", "", "", "", ""])
    note = "every change is durable before it is acknowledged; each kind within the mix"
    study.section("LinkBench", HEAD, rows, note)
    rows = []
    for runs in zip(*appends, strict=True):
        rate, syncs = (measure.median([run[key] for run in runs]) for key in ("rate", "syncs"))
        part = rate / (syncs * runs[0]["writers"])
        who = f"{runs[0]['writers']}, {runs[0]['threads']}, {runs[0]['in_flight']}"
        rows.append([who, f"{rate:,.0f}", f"{syncs:,.0f}", f"{part:.2f}"])
    head = ["Writers, threads, commits in flight of each writer", "durable appends/s"]
    head += ["fdatasync/s of the disk", "appends / (writers x fdatasync)"]
    study.section("Durable appends", head, rows)
    rows = []
    for runs in zip(*transactions, strict=True):
        one = runs[0]
        if not one["reads"]:
            blind = [run["rate"] for run in runs]
        rate = measure.median([run["rate"] for run in runs])
        part = measure.median([run["rate"] / base for run, base in zip(runs, blind, strict=True)])
        what = "reads it, writes it" if one["reads"] else "writes it"
        fair = measure.median([run["per_thread"][0] / run["per_thread"][1] for run in runs])
        which = "the same" if one["one_node"] else "its own"
        rows.append([f"{one['threads']} threads, {which}: {what}", f"{rate:,.0f}"])
        rows[-1] += [f"{part:.2f}", f"{fair:.2f}"]
    head = ["Node of each commit", "durable commits/s", "against commits that only write"]
    study.section("Transactions", [*head, "thread with the fewest / the most"], rows)


def merged(study: Study, store: Path) -> None:
    """Reads of a store whose changes are compacted, against a fresh import of what it exports."""
    chosen = study.options
    compacted = copied(store, "merged")
    requests = 20 * chosen.queries
    product.nakshi("bench", "linkbench", compacted, "--queries", requests, "--threads", WRITERS)
    product.nakshi("compact", compacted)
    edges, nodes = (compacted.with_suffix(f".{part}.tsv") for part in ("edges", "nodes"))
    product.nakshi("export", compacted, edges, "--nodes", nodes)
    fresh = compacted.with_name(f"{store.stem}-fresh.nakshi")
    shutil.rmtree(fresh, ignore_errors=True)
    product.import_store(edges, fresh, directed=True, extra=["--nodes", str(nodes), "--properties"])
    runs: dict[Path, list[dict[str, Any]]] = {fresh: [], compacted: []}
    for turn in range(chosen.runs):
        for one in [fresh, compacted] if turn % 2 == 0 else [compacted, fresh]:
            runs[one].append(bench("tao", one, chosen))
    rows = []
    for kinds in zip(*(zip(*(run["classes"] for run in runs[one])) for one in runs)):
        row = [kinds[0][0]["name"]]
        for key in ("p50", "p99"):
            pairs = [tuple(kind[key] for kind in pair) for pair in zip(*kinds)]
            row += [f"{measure.median([pair[at] for pair in pairs]):.2f}" for at in (0, 1)]
            row.append(tables.ratio(measure.median([new / old for old, new in pairs])))
        rows.append(row)
    both = [rate_of(runs[one]) for one in runs]
    part = measure.median(
        [new["rate"] / old["rate"] for old, new in zip(runs[fresh], runs[compacted], strict=True)]
    )
    mix = (
        f"the mix on {chosen.threads} threads: {both[0]:,.0f} and {both[1]:,.0f} ops/s, {part:.2f}x"
    )
    head = ["Query", "p50, us, fresh", "compacted", "ratio", "p99, us, fresh", "compacted", "ratio"]
    what = f"compacted after {requests:,} requests of LinkBench, and imported anew; by turns"
    study.section("Reads after a compaction, against a fresh import", head, rows, mix, what)
    for one in (compacted, fresh):
        shutil.rmtree(one)


def compaction(study: Study, store: Path) -> None:
    """Reads before, during and after a compaction of a store with many changes."""
    chosen = study.options
    changed = copied(store, "changed")
    requests = 20 * chosen.queries
    product.nakshi("bench", "linkbench", changed, "--queries", requests, "--threads", WRITERS)
    rows, log, seconds = [], 0, []
    for readers in range(1, chosen.threads + 1):
        runs = []
        for _ in range(chosen.runs):
            copy = copied(changed, "compacted")
            told = ["--queries", chosen.queries, "--threads", readers]
            runs.append(product.nakshi("bench", "compaction", copy, *told))
            shutil.rmtree(copy)
        log = runs[0]["compaction"]["log_bytes"]
        seconds += [run["compaction"]["seconds"] for run in runs]
        for at, row in enumerate(kinds_of(runs, "phases")):
            shares = [run["phases"][at]["p99"] / run["phases"][0]["p99"] for run in runs]
            label = f"{readers} reading, {row[0]}"
            rows.append([label, *row[1:5], tables.ratio(measure.median(shares))])
    shutil.rmtree(changed)
    head = ["Threads, and when", *HEAD[1:5], "p99 / before"]
    notes = [
        f"TAO's mix, repeated, each query on a new snapshot; {tables.size(log)} of log from "
        f"{requests:,} requests of LinkBench; the compaction, in the same process, on as many threads as "
        f"there are cores, takes {tables.seconds(measure.median(seconds))} s",
        "a thread sends a query when it has the answer to its last one",
    ]
    study.section("Reads while a compaction runs", head, rows, *notes)
