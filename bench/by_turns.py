"""Two builds of Nakshi by turns: the Kron22 kernels, TAO, Graph Search and LinkBench.

    bench/by_turns.py --before DIR                       # DIR holds another build's package `nakshi`
    bench/by_turns.py --before DIR --scale 18 --runs 3   # a small try
    bench/by_turns.py --before DIR --scale 16 --instructions   # what noise does not reach
    bench/by_turns.py --before DIR --own-stores --kernels ""   # files differ, too

DIR is the folder `python` of a checkout in which `make build` has run. A pair is one run of a workload on each
build; which of them goes first alternates. The table shows medians and the median of the ratios of such pairs.
Answers of both builds are compared before a time is printed. Prints a table; writes nothing but its data.

`--instructions` counts the instructions of one thread under valgrind instead of taking times: those of a
kernel in memory, less those of opening the store; those of 3,000 queries of a mix, less those of 100. The
counts tell which code a build runs, not what waits for memory.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import measure, product, tables
from harness.kernels import KERNELS, TITLES
from harness.product import NAKSHI

HERE = Path(__file__).resolve().parent
#: Seconds after which a call is ended.
TIMEOUT = 1800.0
ENGINES = ("memory", "ssd")


def options() -> argparse.Namespace:
    """Options of the command line."""
    root = HERE.parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, required=True, help="folder of the other package")
    parser.add_argument("--after", type=Path, default=root / "python", help="default: this one")
    parser.add_argument("--scale", type=int, default=22, help="of the kernels' graph; default: 22")
    parser.add_argument("--property-scale", type=int, default=17, help="default: 17")
    parser.add_argument("--source", type=int, help="of searches; default: of the first edge")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="default: all")
    parser.add_argument("--mixes", default="tao,graph-search,linkbench", help="default: all")
    parser.add_argument("--runs", type=int, default=5, help="pairs of each workload; default: 5")
    parser.add_argument("--queries", type=int, default=100_000, help="of a mix; default: 100000")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--own-stores", action="store_true", help="of properties: each build loads its own"
    )
    parser.add_argument("--instructions", action="store_true", help="count them; needs valgrind")
    parser.add_argument("--work", type=Path, default=root / "target" / "bench")
    chosen = parser.parse_args()
    chosen.work = chosen.work.resolve()
    chosen.work.mkdir(parents=True, exist_ok=True)
    return chosen


def said(build: Path, *words: object, cold: bool = False) -> dict[str, Any]:
    """The object that a command of one build prints with ``--json``."""
    call = [*NAKSHI, *map(str, words), "--json"]
    env = {"PYTHONPATH": str(build.resolve())}
    ran = measure.run(call, threads=2, cold=cold, env=env, timeout=TIMEOUT)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def kernel_store(chosen: argparse.Namespace) -> Path:
    """An undirected Kronecker graph, generated and imported once by the build before."""
    store: Path = chosen.work / f"turns-kron{chosen.scale}.nakshi"
    edges = store.with_suffix(".tsv")
    if not store.exists():
        said(chosen.before, "generate", "kronecker", edges, "--scale", chosen.scale)
        said(chosen.before, "import", edges, store, "--undirected")
    if chosen.source is None:
        with open(edges) as lines:
            chosen.source = int(lines.readline().split()[0])
    return store


def own_store(chosen: argparse.Namespace) -> Path:
    """The property store that this build loads with ``--own-stores``."""
    return Path(chosen.work / f"turns-property{chosen.property_scale}-after.nakshi")


def property_store(chosen: argparse.Namespace, build: Path) -> Path:
    """Tables of ZipG's rules, loaded once by the build before, or by each build itself."""
    own = chosen.own_stores and build == chosen.after
    store = (
        own_store(chosen) if own else chosen.work / f"turns-property{chosen.property_scale}.nakshi"
    )
    if not store.exists():
        loader = chosen.after if own else chosen.before
        edges, nodes = (store.with_suffix(f".{part}.tsv") for part in ("edges", "nodes"))
        words = ["--scale", chosen.property_scale, "--edge-factor", 12, "--nodes", nodes]
        said(loader, "generate", "kronecker", edges, *words)
        said(loader, "import", edges, store, "--nodes", nodes, "--properties")
        for file in (edges, nodes):
            file.unlink()
    return store


def kernel(build: Path, chosen: argparse.Namespace, name: str, engine: str, store: Path) -> float:
    """Seconds of one run of a kernel; the graph's index and lists are opened before."""
    told = product.options(name, chosen)
    call = ["run", name, store, "--threads", chosen.threads, "--engine", engine, *told]
    return float(said(build, *call, cold=engine == "ssd")["seconds"]["run"])


def answers_agree(chosen: argparse.Namespace, name: str, store: Path) -> None:
    """Compares the answers of both builds, byte by byte; counts where there is no value a vertex."""
    told = product.options(name, chosen)
    call = ["run", name, store, "--threads", chosen.threads, *told]
    found = []
    for build in (chosen.before, chosen.after):
        if name == "triangles":
            found.append(str(said(build, *call)["result"]["triangles"]).encode())
            continue
        with tempfile.TemporaryDirectory(dir=chosen.work) as folder:
            out = Path(folder) / "answer.tsv"
            said(build, *call, "--out", out)
            found.append(out.read_bytes())
    if found[0] != found[1]:
        raise SystemExit(f"{name}: the two builds give different answers")


def mix(build: Path, chosen: argparse.Namespace, name: str) -> float:
    """Requests a second of a mix; LinkBench changes a copy of the store."""
    store = property_store(chosen, build)
    words: list[object] = ["--queries", chosen.queries, "--threads"]
    if name != "linkbench":
        return float(said(build, "bench", name, store, *words, chosen.threads)["rate"])
    copy = store.with_name("turns-changed.nakshi")
    shutil.rmtree(copy, ignore_errors=True)
    said(build, "backup", store, copy)
    rate = float(said(build, "bench", name, copy, *words, 16)["rate"])
    shutil.rmtree(copy)
    return rate


def counted(build: Path, *words: object) -> int:
    """Instructions that a command of one build runs, on one thread."""
    with tempfile.NamedTemporaryFile("r") as log:
        tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={log.name}"]
        call = ["valgrind", *tool, *NAKSHI, *map(str, words), "--threads", "1", "--json"]
        env = {"PYTHONPATH": str(build.resolve()), "PYTHONHASHSEED": "0"}
        measure.run(call, threads=1, env=env, timeout=TIMEOUT)
        found = re.search(r"Collected : (\d+)", log.read())
    if found is None:
        raise SystemExit("valgrind counted nothing")
    return int(found[1])


def instructions(
    chosen: argparse.Namespace, title: str, calls: Callable[[Path], tuple[list[Any], list[Any]]]
) -> None:
    """Prints what both builds run for the first of two calls and do not run for the second."""
    old, new = (
        counted(build, *most) - counted(build, *least)
        for build in (chosen.before, chosen.after)
        for most, least in [calls(build)]
    )
    print(f"{title} | {old:,} | {new:,} | {old / new:.3f}", flush=True)


def count(chosen: argparse.Namespace, kernels: list[str], mixes: list[str]) -> None:
    """Counts the instructions of kernels in memory, and of mixes that only read."""
    print("Workload | instructions before | after | before / after")
    for name in kernels:
        store = kernel_store(chosen)
        call = ["run", name, store, "--engine", "memory", *product.options(name, chosen)]
        least = ["estimate", name, store]
        instructions(chosen, TITLES[name], lambda _, calls=(call, least): calls)
    for name in [name for name in mixes if name != "linkbench"]:

        def calls(build: Path, name: str = name) -> tuple[list[Any], list[Any]]:
            call = ["bench", name, property_store(chosen, build), "--queries"]
            return [*call, 3000], [*call, 100]

        instructions(chosen, name, calls)


def pairs(chosen: argparse.Namespace, once: Any) -> list[tuple[float, float]]:
    """Figures of both builds, by turns and each first in turn; a first run of each is not counted."""
    builds = (chosen.before, chosen.after)
    for build in builds:
        once(build)
    found = []
    for turn in range(chosen.runs):
        order = builds if turn % 2 == 0 else builds[::-1]
        figures = {build: once(build) for build in order}
        found.append((figures[chosen.before], figures[chosen.after]))
    return found


def row(label: str, found: list[tuple[float, float]], higher_is_better: bool) -> list[str]:
    """Medians, and the median of the ratios: the speed of this build as a part of the other's."""
    before, after = zip(*found, strict=True)
    speed = [new / old if higher_is_better else old / new for old, new in found]
    show = (lambda value: f"{value:,.0f}/s") if higher_is_better else tables.seconds
    middle = [measure.median(values) for values in (before, after)]
    return [label, show(middle[0]), show(middle[1]), f"{measure.median(speed):.3f}"]


def main() -> None:
    """Measures and prints."""
    chosen = options()
    # What the build before last wrote, with another format maybe.
    shutil.rmtree(own_store(chosen), ignore_errors=True)
    kernels, mixes = (
        [name for name in names.split(",") if name] for names in (chosen.kernels, chosen.mixes)
    )
    if chosen.instructions:
        return count(chosen, kernels, mixes)
    rows = []
    for name in kernels:
        store = kernel_store(chosen)
        answers_agree(chosen, name, store)
        for engine in ENGINES:
            found = pairs(
                chosen, lambda build, n=name, e=engine: kernel(build, chosen, n, e, store)
            )
            rows.append(row(f"{TITLES[name]}, {engine}", found, higher_is_better=False))
            print(" | ".join(rows[-1]), flush=True)
    for name in mixes:
        found = pairs(chosen, lambda build, n=name: mix(build, chosen, n))
        rows.append(row(name, found, higher_is_better=True))
        print(" | ".join(rows[-1]), flush=True)
    print(f"\n{measure.machine()}; {chosen.threads} threads; medians of {chosen.runs} pairs")
    print(tables.table(["Workload", "before", "after", "speed, after / before"], rows))


if __name__ == "__main__":
    main()
