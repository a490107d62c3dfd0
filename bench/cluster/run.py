"""Runs on several servers: messages, time and memory, beside the plan and other systems.

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

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cluster import beside_graphx, figures, recovery, scaling
from harness import Study, study

#: Parts of the page, in their order.
PARTS: dict[str, Callable[[Study], None]] = {
    "values": figures.values,
    "overhead": figures.overhead,
    "pagerank": figures.pagerank,
    "scaling": scaling.section,
    "memory": figures.memory,
    "recovery": recovery.section,
    "graphx": beside_graphx.section,
}


def options() -> argparse.Namespace:
    """Reads the command line."""
    parser = study.parser(__doc__, runs=5, parts=PARTS)
    parser.add_argument("--scale", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--graphx-scale", type=int, default=16, help="default: %(default)s")
    parser.add_argument("--supersteps", type=int, default=2000, help="of a run for their overhead")
    parser.add_argument("--gapbs", type=Path, help="folder of gapbs's programs")
    parser.add_argument("--grape", type=Path, help="folder of libgrape-lite's run_app")
    parser.add_argument("--gemini", type=Path, help="folder of Gemini, built")
    parser.add_argument("--heap", default="9g", help="of Spark; default: %(default)s")
    parser.add_argument("--peer-timeout", type=float, default=900, help="seconds, each of GraphX's")
    kernels = ",".join(scaling.KERNELS)
    parser.add_argument("--kernels", default=kernels, help="of scaling; default: %(default)s")
    chosen = study.options(parser)
    chosen.kernels = chosen.kernels.split(",")
    unknown = set(chosen.kernels) - set(scaling.KERNELS)
    if unknown:
        parser.error(f"no kernel is called {', '.join(sorted(unknown))}")
    return chosen


if __name__ == "__main__":
    CONDITIONS = [
        "Kronecker graphs of `nakshi generate`, loops dropped, undirected: each edge in both directions",
        "servers are processes of this machine; the store is in the page cache",
    ]
    Study("cluster", "On several servers", options(), CONDITIONS).measure(PARTS)
