"""Runs on several servers: what they send, take and keep, beside their plan and other systems.

    bench/cluster/run.py                                      # Kronecker graph of scale 20
    bench/cluster/run.py --scale 12 --graphx-scale 10 --runs 1 --supersteps 100
    bench/cluster/run.py --gapbs DIR --grape DIR --gemini DIR # and others
    bench/cluster/run.py --parts graphx                       # needs Java 17; installs PySpark

Servers are processes of this machine. Writes docs/results/cluster.md, of which parts that are left out
stay as they are. Answers are compared before a time is written. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import beside_graphx  # noqa: E402
import figures  # noqa: E402
import recovery  # noqa: E402
import scaling  # noqa: E402
import tables  # noqa: E402

Part = Callable[[tables.Page, argparse.Namespace, str], None]
#: Parts of the page, in their order.
PARTS: dict[str, Part] = {
    "values": figures.values,
    "overhead": figures.overhead,
    "pagerank": figures.pagerank,
    "scaling": scaling.section,
    "memory": figures.memory,
    "recovery": recovery.section,
    "graphx": beside_graphx.section,
}


def options() -> argparse.Namespace:
    """What the command line says."""
    root = HERE.parent.parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--graphx-scale", type=int, default=16, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=5, help="medians of so many; default: 5")
    parser.add_argument("--threads", type=int, default=2, help="of one process; default: 2")
    parser.add_argument("--supersteps", type=int, default=2000, help="of a run for their overhead")
    parser.add_argument("--gapbs", type=Path, help="folder of gapbs's programs")
    parser.add_argument("--grape", type=Path, help="folder of libgrape-lite's run_app")
    parser.add_argument("--gemini", type=Path, help="folder of Gemini, built")
    parser.add_argument("--heap", default="9g", help="of Spark; default: %(default)s")
    parser.add_argument("--peer-timeout", type=float, default=900, help="seconds, each of GraphX's")
    parts = ",".join(PARTS)
    kernels = ",".join(scaling.KERNELS)
    parser.add_argument("--kernels", default=kernels, help="of scaling; default: %(default)s")
    parser.add_argument("--parts", default=parts, help=f"of {parts}; default: all")
    parser.add_argument("--work", type=Path, default=root / "target" / "bench")
    parser.add_argument("--out", type=Path, default=root / "docs" / "results")
    chosen = parser.parse_args()
    chosen.parts = chosen.parts.split(",")
    chosen.kernels = chosen.kernels.split(",")
    unknown = (set(chosen.parts) - set(PARTS)) | (set(chosen.kernels) - set(scaling.KERNELS))
    if unknown:
        parser.error(f"no part is called {', '.join(unknown)}")
    for name in ("work", "gapbs", "grape", "gemini"):
        if getattr(chosen, name):
            setattr(chosen, name, getattr(chosen, name).resolve())
    for folder in (chosen.work, chosen.out):
        folder.mkdir(parents=True, exist_ok=True)
    return chosen


def main() -> None:
    chosen = options()
    command = tables.invocation("bench/cluster/run.py")
    conditions = [
        "Kronecker graphs of `nakshi generate`, loops dropped, undirected: each edge in both directions",
        "servers are processes of this machine; the store is in the page cache",
        f"medians of {chosen.runs} run(s)",
    ]
    page = tables.Page("On several servers", command, conditions)
    path = chosen.out / "cluster.md"
    keep = path.read_text() if path.exists() and set(chosen.parts) != set(PARTS) else ""
    try:
        for name, part in PARTS.items():
            if name in chosen.parts:
                print(name, file=sys.stderr, flush=True)
                part(page, chosen, command)
    finally:
        # What was measured before a failure is not lost.
        page.write(path, keep=keep)


if __name__ == "__main__":
    main()
