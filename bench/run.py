"""Compares Nakshi with other systems on the same graphs and threads; writes docs/benchmarks.md.

    make bench                                  # Kronecker graph of scale 22, all pip peers
    make bench BENCH="--scale 16 --runs 1"      # a small try
    make bench BENCH="--gapbs DIR --data DIR"   # with the in-memory anchor and real graphs

Every answer is checked against the others before a time is written. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import imports
import sections
from harness import graphs, measure, product, study
from harness.graphs import Graph
from harness.kernels import KERNELS, Timing
from sections import Measured
from systems import flashgraph, gapbs, packages

SHARE = 0.25


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = study.parser(__doc__)
    parser.add_argument("--scale", type=int, default=22, help="of the Kronecker graph")
    parser.add_argument("--source", type=int, help="default: the vertex of the largest degree")
    parser.add_argument("--gapbs", type=Path, help="folder of gapbs's programs")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="default: %(default)s")
    parser.add_argument("--peers", default=",".join(packages.PACKAGES), help="default: %(default)s")
    parser.add_argument(
        "--peer-graphs", help="graphs for the peers, such as facebook100; default: all"
    )
    parser.add_argument("--flashgraph", type=Path, help="folder of FlashGraph's test_algs")
    parser.add_argument("--data", type=Path, help="folder with facebook100 and cnr-2000")
    parser.add_argument("--no-import", action="store_true", help="leave out the import tables")
    parser.add_argument("--peer-timeout", type=float, default=300, help="seconds a kernel")
    parser.set_defaults(out=study.ROOT / "docs")
    return study.options(parser)


class Bench:
    """One comparison: the systems that run, and the graphs."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.work: Path = options.work
        self.peers: list[str] = [peer for peer in options.peers.split(",") if peer]
        self.environment = packages.Environment(self.work / "peers-venv") if self.peers else None

    def compare(self, graph: Graph) -> Measured:
        """Every system on every kernel of one graph."""
        measured = Measured(graph)
        extra = ["--weighted", "--nodes", str(graph.nodes)]
        store = self.work / f"{graph.folder.name}.nakshi"
        product.ensure(store, graph.weighted, graph.directed, extra, self.options.threads)
        measured.store = store
        for kernel in self.options.kernels.split(","):
            self._kernel(measured, kernel, store)
        return measured

    def _kernel(self, measured: Measured, kernel: str, store: Path) -> None:
        options, graph = self.options, measured.graph
        print(f"{graph.name} {kernel}", file=sys.stderr, flush=True)
        if options.gapbs:
            measured.attempt(
                "gapbs",
                kernel,
                lambda: gapbs.run(options.gapbs, kernel, graph, options.threads, options.runs),
            )
        for engine in ("memory", "ssd"):
            cap = self._cap(measured, kernel, store) if engine == "ssd" else None
            measured.attempt(
                engine,
                kernel,
                lambda cap=cap, engine=engine: product.run(
                    kernel, store, graph, engine, options.threads, cap=cap, wanted=options.runs
                ),
            )
        if options.flashgraph:
            self._flashgraph(measured, kernel)
        chosen = options.peer_graphs
        for peer in self.peers if chosen is None or graph.name in chosen.split(",") else []:
            measured.attempt(peer, kernel, lambda peer=peer: self._peer(peer, kernel, graph))

    def _cap(self, measured: Measured, kernel: str, store: Path) -> int:
        """The memory cap: a quarter of gapbs's peak, or of Nakshi's peak in memory where gapbs is missing.

        On a small graph that is less than a Python process with any graph takes: there the cap is
        the smallest with which, after `nakshi estimate`, the run works.
        """
        anchor = measured.results.get(("gapbs", kernel)) or measured.results[("memory", kernel)]
        arguments = product.arguments(kernel, store, measured.graph, self.options.threads)
        return max(int(SHARE * anchor.peak), product.minimum(arguments) + product.INTERPRETER)

    def _flashgraph(self, measured: Measured, kernel: str) -> None:
        options = self.options
        measured.attempt(
            "flashgraph",
            kernel,
            lambda: flashgraph.run(
                options.flashgraph,
                kernel,
                measured.graph,
                options.threads,
                128 * measure.MIB,
                options.runs,
            ),
        )

    def _peer(self, peer: str, kernel: str, graph: Graph) -> Timing:
        assert self.environment is not None
        runs = self.options.runs or 3
        return self.environment.run(
            peer, kernel, graph, self.options.threads, runs, self.options.peer_timeout
        )

    def inputs(self) -> list[Graph]:
        """The Kronecker graph, then the real ones."""
        options = self.options
        found = [
            graphs.kronecker(
                options.scale, self.work, options.gapbs, product.NAKSHI, options.source
            )
        ]
        if options.data:
            facebook = options.data / "facebook100.edges.parquet"
            cnr = options.data / "cnr-2000.edges.tsv.zst"
            for name, file, directed in (("facebook100", facebook, False), ("cnr-2000", cnr, True)):
                if file.exists():
                    made = graphs.from_edges(name, file, self.work, options.gapbs, directed)
                    found.append(made)
        return found


def main() -> None:
    options = arguments()
    bench = Bench(options)
    inputs = bench.inputs()
    measured = [bench.compare(graph) for graph in inputs]
    ingested = None if options.no_import else imports.compare(bench.work, inputs[0], options)
    sections.write(options, measured, ingested)
    disagreements = [line for one in measured for line in one.disagreements()]
    for line in disagreements:
        print(f"answers differ: {line}", file=sys.stderr)
    sys.exit(1 if disagreements else 0)


if __name__ == "__main__":
    main()
