"""Changes of a property graph while its log is frozen and its fragments are merged.

    bench/property/sustained.py                           # 10 million changes, and ten minutes of them
    bench/property/sustained.py --scale 12 --changes 200000 --seconds 20     # a small try

Loads ZipG's tables and changes copies of the store. `changes`: a number of changes under a cap of memory,
their peak, and reads before, during and after; then how long the store takes to open, and the same reads
of its fragments and after a compaction. `minutes`: changes for some minutes, and their rate against that
of the first tenth. `written-back`: values of an algorithm
that become a property of every node. Writes docs/results/sustained.md.
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
from harness import measure, product, study, tables
from property import ours

#: Opens a store in a new process; prints seconds and bytes.
OPENED = """
import json, sys, time
import nakshi
from nakshi._core import Properties
status = lambda field: int(open("/proc/self/status").read().split(field + ":")[1].split()[0]) << 10
before, began = status("VmRSS"), time.perf_counter()
graph = nakshi.open(sys.argv[1])
graph.load_properties(memory=sys.argv[2], progress=False)
seconds = time.perf_counter() - began
print(json.dumps({"seconds": seconds, "peak": status("VmHWM") - before}))
"""

#: Makes ranks a property of every node, again and again; prints values, seconds and bytes. With several
#: results the values differ from those before, so each is a new one for the index of values and the log
#: fills up and is frozen.
WRITTEN = """
import json, sys, time
import nakshi
status = lambda field: int(open("/proc/self/status").read().split(field + ":")[1].split()[0]) << 10
graph = nakshi.open(sys.argv[1])
ranks = [graph.pagerank(iterations=2 + one, progress=False) for one in range(int(sys.argv[4]))]
graph.load_properties(memory=sys.argv[2], progress=False)
open("/proc/self/clear_refs", "w").write("5")
before, began, values, turn = status("VmRSS"), time.perf_counter(), 0, 0
while values < int(sys.argv[3]):
    values += graph.write_back(ranks[turn % len(ranks)], "rank")
    turn += 1
seconds = time.perf_counter() - began
print(json.dumps({"seconds": seconds, "values": values, "peak": status("VmHWM") - before}))
graph.close()
"""


def child(program: str, *words: object) -> dict[str, Any]:
    """Run a program in a new process; return the object that it prints."""
    told = [sys.executable, "-c", program, *map(str, words)]
    found: dict[str, Any] = json.loads(subprocess.run(told, check=True, capture_output=True).stdout)
    return found


class Study(harness.Study):
    """The page, and the store that its parts change."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"tables by ZipG's rules, scale {options.scale}; {options.memory} of memory for the "
            "properties; one writer, commits of 100 durable changes: half add edges, a third give "
            "nodes a new value, the rest add nodes and delete edges; nodes drawn uniformly",
            "one reader, in the process of the writer, repeats the mix of TAO",
        ]
        super().__init__("sustained", "Changes that last", options, conditions)

    @functools.cached_property
    def store(self) -> Path:
        files = ours.generated(self.options.work, self.options.scale)
        return ours.imported(self.options, files).store

    @functools.cached_property
    def changed(self) -> Path:
        """The copy that `changes` has changed."""
        return ours.copied(self.store, "many")

    def ran(self, store: Path, **load: object) -> tuple[dict[str, Any], int]:
        """A run of the workload, and its peak of memory beyond that before."""
        chosen = self.options
        words = [f"--{name}={value}" for name, value in load.items()]
        words += [
            f"--memory={chosen.memory}",
            f"--queries={chosen.queries}",
            "--threads=1",
            "--json",
        ]
        call = [*product.NAKSHI, "bench", "sustained", str(store), *words]
        idle = measure.run([*product.NAKSHI, "info", str(store), "--json"], threads=1).peak_rss
        ran = measure.run(call, threads=1)
        found: dict[str, Any] = json.loads(ran.stdout)
        return found, ran.peak_rss - idle


def rows_of(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    before, during, after = found["phases"]
    for part in ("p50", "p99"):
        times = [one[part] for one in (before, during, after)]
        shown = ", ".join(f"{time:.1f}" for time in times)
        ratios = ", ".join(f"{time / times[0]:.2f}x" for time in times[1:])
        rows.append([f"reads, {part} before, during, after, us", shown, ratios])
    rates = found["rates"]
    shown = ", ".join(f"{rate:,.0f}" for rate in rates)
    rows.append(["changes a second, by tenths", shown, f"{rates[-1] / rates[0]:.2f}x"])
    rows.append(
        ["commits of 100: p99, longest, ms", f"{found['p99']:.1f}, {found['longest']:.0f}", ""]
    )
    written, logged = found["written"], found["log_bytes"]
    shown = f"{tables.size(written)}, {tables.size(logged)}"
    rows.append(["bytes written, bytes of changes in the log", shown, f"{written / logged:.2f}x"])
    layers = found["layers"]
    levels = ", ".join(f"{count} of level {level}" for level, count in layers["levels"].items())
    rows.append(["fragments at the end", f"{layers['fragments']}: {levels}", ""])
    return rows


def many(study: Study) -> None:
    """A number of changes under a cap."""
    found, peak = study.ran(study.changed, changes=study.options.changes, seconds=86_400)
    rows = [["changes", f"{found['changes']:,} in {found['seconds']:.0f} s", ""]]
    rows.append(["peak, beyond the process that only opens the store", tables.size(peak), ""])
    rows += rows_of(found)
    opened = child(OPENED, study.changed, study.options.memory)
    shown = f"{opened['seconds']:.2f} s, {tables.size(opened['peak'])}"
    rows.append(["opening afterwards, and its peak", shown, ""])
    rows += compacted(study)
    study.section("Many changes", ["", "", "ratio"], rows)


def compacted(study: Study) -> list[list[str]]:
    """The same reads of the changed store before and after a compaction, which leaves an empty log."""
    told = [f"--memory={study.options.memory}", f"--queries={study.options.queries}", "--threads=1"]
    before, _, after = product.nakshi("bench", "compaction", study.changed, *told)["phases"]
    return [
        [
            f"reads, {part} of this graph with its fragments, compacted, us",
            f"{before[part]:.1f}, {after[part]:.1f}",
            f"{before[part] / after[part]:.2f}x",
        ]
        for part in ("p50", "p99")
    ]


def minutes(study: Study) -> None:
    """Changes for some minutes."""
    copy = ours.copied(study.store, "minutes")
    found, peak = study.ran(copy, seconds=study.options.seconds)
    rows = [["changes", f"{found['changes']:,} in {found['seconds']:.0f} s", ""]]
    rows.append(["peak, beyond the process that only opens the store", tables.size(peak), ""])
    study.section("Changes for some minutes", ["", "", "ratio"], rows + rows_of(found))
    shutil.rmtree(copy)


def written_back(study: Study) -> None:
    """Values of an algorithm that become a property."""
    rows = []
    for what, results in (("the same each time", 1), ("others each time", 8)):
        copy = ours.copied(study.store, "written")
        told = [study.options.memory, study.options.changes, results]
        found = child(WRITTEN, copy, *told)
        rate = found["values"] / found["seconds"]
        shown = f"{found['values']:,} in {found['seconds']:.0f} s"
        rows.append([f"values, {what}", shown, f"{rate:,.0f} a second"])
        rows.append(["peak", tables.size(found["peak"]), ""])
        shutil.rmtree(copy)
    study.section("Values written back", ["", "", ""], rows)


PARTS: dict[str, Callable[[Study], None]] = {
    "changes": many,
    "minutes": minutes,
    "written-back": written_back,
}


def main() -> None:
    parser = ours.parser(__doc__, runs=1, parts=PARTS)
    parser.add_argument("--memory", default="256MiB", help="default: %(default)s")
    parser.add_argument("--changes", type=int, default=10_000_000, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=600.0, help="default: %(default)s")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
