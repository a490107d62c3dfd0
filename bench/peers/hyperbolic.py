"""NetworKit's random hyperbolic graphs: `hyperbolic.py VERTICES DEGREE EXPONENT SEED THREADS OUT`.

Prints the seconds of the generator as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import networkit


def main() -> None:
    vertices, degree, exponent, seed, threads = sys.argv[1:6]
    networkit.setNumberOfThreads(int(threads))
    networkit.setSeed(int(seed), False)
    generator = networkit.generators.HyperbolicGenerator(
        int(vertices), float(degree), float(exponent), 0.0
    )
    began = time.perf_counter()
    graph = generator.generate()
    seconds = time.perf_counter() - began
    networkit.writeGraph(graph, sys.argv[6], networkit.Format.EdgeListTabZero)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
