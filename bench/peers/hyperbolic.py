"""NetworKit's random hyperbolic graphs: `hyperbolic.py VERTICES DEGREE EXPONENT SEED THREADS OUT`.

Prints the number of edges as JSON.
"""

from __future__ import annotations

import json
import sys

import networkit


def main() -> None:
    vertices, degree, exponent, seed, threads = sys.argv[1:6]
    networkit.setNumberOfThreads(int(threads))
    networkit.setSeed(int(seed), False)
    generator = networkit.generators.HyperbolicGenerator(
        int(vertices), float(degree), float(exponent), 0.0
    )
    graph = generator.generate()
    networkit.writeGraph(graph, sys.argv[6], networkit.Format.EdgeListTabZero)
    print(json.dumps({"edges": graph.numberOfEdges()}))


if __name__ == "__main__":
    main()
