"""BASC: what a static cache saves of the bytes that traversals read (USENIX ATC 2019).

    bench/papers/static_cache.py --data DIR                     # rutgers89, ego-twitter, cnr-2000
    bench/papers/static_cache.py --data DIR --graphs cnr-2000   # a small try

In kind: Figures 6 and 8 and Table 2 of the paper. Runs read selected pages only (`--selective`), from
stores in the order of their ids. The same memory is page cache alone, a quarter of the lists, or 5 % of
page cache and 20 % of chosen lists. Writes docs/results/static-cache.md and .svg.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import layouts  # noqa: E402
import measure  # noqa: E402
import product  # noqa: E402
import study  # noqa: E402
import tables  # noqa: E402

SELECTIONS = ["gvs", "lowd", "highd", "random"]
ALGORITHMS = {"bfs": "BFS", "diameter": "DIAM", "bc": "BC"}
CACHE, CHOSEN = 0.05, 0.20
ITERATIONS = [1, 10, 50, 100]


@dataclass
class Sample:
    """Medians of cold runs."""

    seconds: float
    open_seconds: float
    bytes_read: float
    hits: int


class Caches:
    """One graph, its store and its runs."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name, self.options = name, options
        self.store = layouts.Layouts(name, options.data, options.work, options.threads).store
        found = self._json("info", str(self.store))
        self.lists = sum(size for file, size in found["files"].items() if file.endswith(".adj"))

    def _json(self, *words: str) -> Any:
        call = [*product.NAKSHI, *words, "--json"]
        return json.loads(subprocess.run(call, check=True, stdout=subprocess.PIPE).stdout)

    def hub(self) -> str:
        """The id of the vertex with most out-edges, as a source that reaches much."""
        edges = self.options.work / f"{self.name}-edges.tsv"
        self._json("export", str(self.store), str(edges), "--no-progress")
        degrees: Counter[str] = Counter()
        directed = layouts.GRAPHS[self.name][1]
        with edges.open() as lines:
            for line in lines:
                source, target = line.rstrip("\n").split("\t")[:2]
                degrees[source] += 1
                degrees[target] += not directed
        edges.unlink()
        return degrees.most_common(1)[0][0]

    def plan(self, select: str, iterations: int | None = None) -> dict[str, Any]:
        """Makes a plan of the chosen share."""
        words = ["cache-plan", str(self.store), "--size", f"{CHOSEN:.0%}", "--select", select]
        words += ["--iterations", str(iterations)] if iterations else []
        made: dict[str, Any] = self._json(*words, "--no-progress")
        return made

    def run(self, algorithm: str, source: str, static: bool) -> Sample:
        """Cold runs with a quarter of the lists beyond the least memory."""
        words = {"bfs": ["--source", source], "bc": ["--sources", source]}.get(algorithm, [])
        least = product.minimum([algorithm, str(self.store), *words])
        memory = least + int((CACHE + CHOSEN) * self.lists)
        call = [*product.NAKSHI, "run", algorithm, str(self.store), *words, "--engine", "ssd"]
        call += ["--selective", "--json", "--no-progress", "--memory", str(memory)]
        call += ["--threads", str(self.options.threads)]
        call += ["--static-cache"] if static else []
        said = []
        while len(said) < self.options.runs:
            ran = measure.run(call, threads=self.options.threads, cold=True)
            said.append(json.loads(ran.stdout))
        return Sample(
            measure.median([s["seconds"]["run"] for s in said]),
            measure.median([s["seconds"]["open"] for s in said]),
            measure.median([float(s["io"]["bytes_read"]) for s in said]),
            int(said[-1]["io"]["hits"]),
        )


def compare(page: tables.Page, caches: Caches, source: str, command: str) -> list[float]:
    """Bytes and seconds of every way to use the memory; returns GVS's share of the bytes."""
    rows, shares = [], []
    plain = {name: caches.run(name, source, False) for name in ALGORITHMS}
    for algorithm, sample in plain.items():
        read = tables.size(sample.bytes_read)
        rows.append([f"{ALGORITHMS[algorithm]}, page cache", read, "", _ms(sample), ""])
    for select in SELECTIONS:
        print(f"{caches.name} {select}", file=sys.stderr, flush=True)
        caches.plan(select)
        for algorithm, title in ALGORITHMS.items():
            before, sample = plain[algorithm], caches.run(algorithm, source, True)
            share = sample.bytes_read / before.bytes_read
            if select == "gvs":
                shares.append(share)
            faster = f"{before.seconds / sample.seconds:.2f}x"
            row = [f"{title}, {select}", tables.size(sample.bytes_read)]
            rows.append([*row, f"{share - 1:+.0%}", _ms(sample), faster])
    head = ["Algorithm, memory used as", "read", "against page cache", "run, ms", "faster"]
    notes = [f"lists: {tables.size(caches.lists)}; medians of {caches.options.runs} cold runs"]
    page.section(caches.name, command, tables.table(head, rows), notes)
    return shares


def _ms(sample: Sample) -> str:
    return tables.seconds(1000 * sample.seconds)


def overheads(page: tables.Page, all_caches: list[Caches], source: dict[str, str], command: str) -> None:
    """Table 2: seconds of the choice by its iterations, and of loading."""
    rows = []
    for count in ITERATIONS:
        made = [caches.plan("gvs", count)["seconds"] for caches in all_caches]
        rows.append([f"GVS, K = {count}", *map(tables.seconds, made)])
    loads = []
    for caches in all_caches:
        caches.plan("gvs")
        with_plan = caches.run("bfs", source[caches.name], True).open_seconds
        loads.append(with_plan - caches.run("bfs", source[caches.name], False).open_seconds)
    rows.append(["loading", *map(tables.seconds, loads)])
    head = ["Seconds", *[caches.name for caches in all_caches]]
    page.section("Choosing and loading", command, tables.table(head, rows))


def main() -> None:
    root = HERE.parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the graphs")
    parser.add_argument("--graphs", default="rutgers89,ego-twitter,cnr-2000")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--work", type=Path, default=root / "target" / "bench")
    parser.add_argument("--out", type=Path, default=root / "docs" / "results")
    options = parser.parse_args()
    for folder in (options.work, options.out):
        folder.mkdir(parents=True, exist_ok=True)
    command = tables.invocation("bench/papers/static_cache.py")
    conditions = [
        f"threads: {options.threads}; cold, O_DIRECT where the file system allows",
        f"memory: the least, and {CACHE + CHOSEN:.0%} of the lists: as page cache, or "
        f"{CACHE:.0%} so and {CHOSEN:.0%} as chosen lists (loading them is in `open`, not in `run`)",
    ]
    page = tables.Page("A static cache beside the page cache", command, conditions)
    all_caches = [Caches(name, options) for name in options.graphs.split(",")]
    sources = {caches.name: caches.hub() for caches in all_caches}
    shares = {c.name: compare(page, c, sources[c.name], command) for c in all_caches}
    figure, axes = study._axes()
    for number, (name, values) in enumerate(shares.items()):
        places = [at + 0.25 * number for at in range(len(values))]
        axes.bar(places, values, 0.25, label=name)
    axes.set_xticks([at + 0.25 for at in range(len(ALGORITHMS))], list(ALGORITHMS.values()))
    axes.set_ylabel("bytes read / page cache alone")
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.legend(frameon=False)
    figure.savefig(options.out / "static-cache.svg", metadata={"Date": None})
    page.section("In one picture", command, "![bytes read](static-cache.svg)")
    overheads(page, all_caches, sources, command)
    page.write(options.out / "static-cache.md")


if __name__ == "__main__":
    main()
