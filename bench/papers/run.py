"""The figures of the FlashGraph paper (FAST 2015) in kind, each a table and a picture.

    make bench-papers                                            # Kron20
    make bench-papers BENCH="--scale 14 --runs 1 --only 8,13"    # a small try

Writes docs/results/flashgraph-*.md and .svg. "In kind" means the same question on this machine's one
disk and few cores, not the same graphs or hardware.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import cache_size  # noqa: E402
import graphs  # noqa: E402
import memory_against_ssd  # noqa: E402
import page_size  # noqa: E402
import product  # noqa: E402
import runtimes  # noqa: E402
import scheduling  # noqa: E402
import tables  # noqa: E402
import utilisation  # noqa: E402
from study import Study  # noqa: E402

FIGURES = {
    "8": memory_against_ssd.measure_figure,
    "9": utilisation.measure_figure,
    "12": scheduling.measure_figure,
    "13": page_size.measure_figure,
    "14": cache_size.measure_figure,
    "table2": runtimes.measure_figure,
}


def main() -> None:
    root = HERE.parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20, help="of the Kronecker graph")
    parser.add_argument("--large-scale", type=int, help="of Table 2's graph; default: two more")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, help="default: 5, 3 where one takes over 20 s")
    parser.add_argument("--only", default=",".join(FIGURES), help="default: %(default)s")
    parser.add_argument("--work", type=Path, default=root / "target" / "bench")
    parser.add_argument("--out", type=Path, default=root / "docs" / "results")
    options = parser.parse_args()
    options.target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    options.work.mkdir(parents=True, exist_ok=True)
    options.large_scale = options.large_scale or options.scale + 2
    command = tables.invocation("bench/papers/run.py")
    graph = graphs.kronecker(options.scale, options.work, None, product.NAKSHI, None)
    study = Study(options, graph, command)
    for name in options.only.split(","):
        print(f"figure {name}", file=sys.stderr, flush=True)
        FIGURES[name](study)


if __name__ == "__main__":
    main()
