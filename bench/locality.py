"""Are the random hyperbolic graphs those of the model? Beside NetworKit's generator; writes docs/results/locality.md.

    bench/locality.py
    bench/locality.py --sizes 2000:8:2.5 --seeds 1         # a small try

Both make graphs of the same number of vertices, mean degree and exponent, and Nakshi measures them.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import nakshi
from harness import Study, measure, study
from systems.packages import PROGRAMS, Environment

#: Vertices, mean degree and exponent.
SIZES = "100000:8:2.2,100000:16:2.5,1000000:16:2.5,1000000:32:3"


def main() -> None:
    parser = study.parser(__doc__, repeated=False)
    parser.add_argument("--sizes", default=SIZES, help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=3, help="graphs of each size")
    options = study.options(parser)
    peers = Environment(options.work / "peers-venv", {"networkit": "networkit"})
    conditions = [
        f"{options.threads} threads; medians of {options.seeds} graphs of different seeds",
        "clustering: mean of all vertices with two neighbours or more; exponent: as `nakshi run power-law` fits it",
        f"NetworKit {peers.version('networkit')}: HyperbolicGenerator of temperature 0",
    ]
    page = Study("locality", "Graphs with locality", options, conditions)
    rows = []
    for size in options.sizes.split(","):
        vertices, degree, exponent = size.split(":")
        given = (int(vertices), float(degree), float(exponent))
        for name, make in (("Nakshi", ours), ("NetworKit", theirs)):
            found = [make(peers, given, seed, options) for seed in range(1, options.seeds + 1)]
            told = [measure.median(list(values)) for values in zip(*found)]
            mean, largest, clustering, fitted = told
            rows.append(
                [
                    f"{given[0]:,}, degree {degree}, exponent {exponent}",
                    name,
                    f"{mean:.2f}",
                    f"{largest:,.0f}",
                    f"{clustering:.3f}",
                    f"{fitted:.2f}",
                ]
            )
    head = ["Asked for", "", "mean degree", "largest degree", "clustering", "exponent"]
    page.section("Statistics", head, rows)
    page.write()


Given = tuple[int, float, float]


def ours(_: Environment, given: Given, seed: int, options: argparse.Namespace) -> list[float]:
    """Statistics of a graph of Nakshi's."""
    edges = options.work / "hyperbolic.tsv"
    vertices, degree, exponent = given
    nakshi.generate(
        "hyperbolic",
        edges,
        vertices=vertices,
        degree=degree,
        exponent=exponent,
        seed=seed,
        threads=options.threads,
    )
    return statistics(edges, vertices)


def theirs(peers: Environment, given: Given, seed: int, options: argparse.Namespace) -> list[float]:
    """The same of NetworKit's."""
    edges = options.work / "networkit.tsv"
    words = [PROGRAMS / "hyperbolic.py", *given, seed, options.threads, edges]
    peers.ask(words, options.threads)
    return statistics(edges, given[0])


def statistics(edges: Path, vertices: int) -> list[float]:
    """Mean and largest degree, mean clustering and exponent."""
    store = edges.with_suffix(".nakshi")
    shutil.rmtree(store, ignore_errors=True)
    graph = nakshi.build(store, edges, directed=False)
    degrees = graph.degrees().to_numpy()[1]
    clustering = graph.lcc().to_numpy()[1]
    fitted = graph.power_law().summary["alpha"]
    graph.close()
    several = degrees >= 2
    return [degrees.sum() / vertices, degrees.max(), clustering[several].mean(), fitted]


if __name__ == "__main__":
    main()
