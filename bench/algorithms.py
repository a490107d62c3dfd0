"""Each algorithm beside NetworKit and igraph, and from the SSD; writes docs/results/algorithms.md.

    bench/algorithms.py --data DIR
    bench/algorithms.py --data DIR --graphs cnr-2000 --algorithms scc,leiden
    bench/algorithms.py --gapbs DIR --graphs kron22                 # a Kronecker graph

All systems run in memory, in a process that has opened the graph. Answers are compared before a time is
shown; where methods may answer differently, such as communities, both answers are shown.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import nakshi
from harness import Study, graphs, kernels, measure, product, study, tables, warm
from real import GRAPHS
from systems.packages import PACKAGES, TITLES, Environment

#: Peers by name; the fastest is the one that counts.
PEERS = ("networkit", "igraph")
#: Relative difference of two answers in floating point that counts as none.
NEAR = 1e-3
#: Seconds from which on the first run is the only one.
LONG = 30
#: Answers by methods that may differ; they are shown and not compared.
FREE = {"alpha", "colors", "effective diameter", "members", "modularity", "most", "weight"}


@dataclasses.dataclass(frozen=True)
class Case:
    """One algorithm: its arguments on a graph and its store, and the answer that peers give, too."""

    name: str
    title: str
    answer: Callable[[Any], dict[str, Any]]
    given: Callable[[graphs.Graph, Path], dict[str, Any]] = lambda *_: {}
    #: Of graphs with a direction only (True), or without one only (False).
    directed: bool | None = None


def told(**names: str) -> Callable[[Any], dict[str, Any]]:
    """Answers that are in the summary, by the names that peers give them."""
    return lambda result: {name: result.summary[ours] for name, ours in names.items()}


def summed(result: Any) -> dict[str, Any]:
    """Sum of the first column."""
    return {"sum": float(result.to_numpy()[1].sum())}


def cores(result: Any) -> dict[str, Any]:
    """The largest core number, and the sum of all."""
    return {"largest": result.summary["degeneracy"], **summed(result)}


def census(result: Any) -> dict[str, Any]:
    """Two of the sixteen counts."""
    return {"transitive": result.summary["030T"], "complete": result.summary["300"]}


def attenuated(store: Path) -> dict[str, Any]:
    """Arguments of Katz centrality: half of the factor up to which scores surely settle."""
    with nakshi.open(store) as opened:
        largest = opened.degrees(progress=False).to_numpy()[1].max()
    return {"alpha": 0.5 / float(largest), "tolerance": 1e-9}


UNIT = {"unit": True}
CASES = [
    Case("degrees", "degrees", summed),
    Case("power_law", "power law of the degrees", told(alpha="alpha")),
    Case("k_core", "k-core", cores),
    Case("scc", "strongly connected components", told(components="components"), directed=True),
    Case("spanning_forest", "spanning forest", told(edges="edges")),
    Case("bridges", "bridges", told(bridges="bridges"), directed=False),
    Case(
        "articulation_points",
        "articulation points",
        told(points="articulation_points", blocks="blocks"),
        directed=False,
    ),
    Case("lcc", "clustering coefficients", summed, directed=False),
    Case("triad_census", "triad census", census, directed=True),
    Case("assortativity", "assortativity", told(assortativity="assortativity")),
    Case("louvain", "Louvain", told(modularity="modularity"), lambda *_: UNIT, False),
    Case("leiden", "Leiden", told(modularity="modularity"), lambda *_: UNIT, False),
    Case("label_propagation", "label propagation", lambda _: {}, lambda *_: UNIT, False),
    Case("eigenvector", "eigenvector centrality", warm.top, lambda *_: UNIT, False),
    Case("katz", "Katz centrality", warm.top, lambda _, store: UNIT | attenuated(store), False),
    Case("hits", "HITS", warm.top, lambda *_: UNIT, True),
    Case(
        "personalized_pagerank",
        "personalised PageRank",
        warm.top,
        lambda graph, _: {"sources": [graph.source], "tolerance": 1e-6, "iterations": 100},
    ),
    Case(
        "bc",
        "betweenness within 0.01",
        told(most="max"),
        lambda *_: {"epsilon": 0.01, "delta": 0.1, "normalized": True},
    ),
    Case(
        "harmonic",
        "neighbourhood function",
        told(**{"effective diameter": "effective_diameter"}),
        lambda *_: {"log2m": 6},
    ),
    Case(
        "eccentricity",
        "eccentricity of a vertex",
        told(eccentricity="largest"),
        lambda graph, _: {"sources": [graph.source]},
    ),
    Case(
        "diameter",
        "exact diameter",
        told(diameter="diameter"),
        lambda *_: {"exact": True},
        False,
    ),
    Case("coloring", "colouring", told(colors="colors"), directed=False),
    Case("mis", "maximal independent set", told(members="members"), directed=False),
    Case("weighted_matching", "weighted matching", told(weight="weight"), directed=False),
]


@dataclasses.dataclass
class Row:
    """One algorithm on one graph."""

    case: Case
    memory: float
    ssd: float
    peers: dict[str, float]
    answers: dict[str, dict[str, Any]]

    @property
    def fastest(self) -> float | None:
        """Seconds of the faster peer."""
        return min(self.peers.values(), default=None)

    def cells(self) -> list[str]:
        """The row as it is shown."""
        shown = [tables.seconds(self.peers.get(peer)) for peer in PEERS]
        fastest = self.fastest
        return [
            self.case.title,
            tables.seconds(self.memory),
            *shown,
            tables.ratio(self.memory / fastest if fastest else None),
            tables.ratio(self.ssd / self.memory),
            "; ".join(self._said()),
        ]

    def _said(self) -> list[str]:
        """Answers that may differ, Nakshi's first."""
        names = FREE & set(self.answers["nakshi"])
        found = []
        for name in sorted(names):
            values = [
                self.answers[who].get(name) for who in ("nakshi", *PEERS) if who in self.answers
            ]
            found.append(f"{name} " + ", ".join(f"{v:.4g}" for v in values if v is not None))
        return found


def ours(
    case: Case, graph: graphs.Graph, store: Path, engine: str, options: argparse.Namespace
) -> tuple[float, dict[str, Any]]:
    """Median seconds of the runs after the first, and the answer."""
    given = case.given(graph, store)
    name = case.name.replace("_", "-")
    with nakshi.open(store) as opened:
        budget = None
        if engine == "ssd":
            budget = opened.estimate(name, threads=options.threads, **given)["minimum"]

        def once() -> Any:
            how = {"engine": engine, "threads": options.threads, "memory": budget}
            return opened.run(name, progress=False, **how, **given)

        while True:
            try:
                first = once()
                break
            except nakshi.BudgetError:
                # The memory for graphs of communities is not known before.
                budget = budget * 5 // 4
        results = [first]
        if warm.seconds(first) < LONG:
            results = measure.repeat(once, warm.seconds, options.runs)
        answer = case.answer(results[-1])
    return measure.median([warm.seconds(result) for result in results]), answer


def theirs(
    case: Case, graph: graphs.Graph, peer: str, peers: Environment, options: argparse.Namespace
) -> tuple[float, dict[str, Any]] | None:
    """The same of a peer; None where it has no such algorithm, or fails."""
    try:
        timing = peers.run(
            peer,
            case.name,
            graph,
            options.threads,
            options.runs or 3,
            options.timeout,
            program="algorithms.py",
        )
    except measure.Skipped as reason:
        print(f"{graph.name}, {case.name}, {peer}: {reason}", file=sys.stderr, flush=True)
        return None
    return measure.median(timing.seconds), timing.digest


def disagreement(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """A reason why two answers cannot be of one graph; None if those agree that have to."""
    for name in sorted((set(ours) & set(theirs)) - FREE - {"top"}):
        mine, other = ours[name], theirs[name]
        exact = isinstance(mine, int) and isinstance(other, int)
        allowed = 0 if exact else NEAR * max(abs(mine), abs(other))
        if abs(mine - other) > allowed:
            return f"{name} is {mine} here and {other} there"
    return kernels.disagreement(
        {name: ours[name] for name in ("top",) if name in ours},
        {name: theirs[name] for name in ("top",) if name in theirs},
    )


def measured(
    case: Case, graph: graphs.Graph, environment: Environment, options: argparse.Namespace
) -> Row:
    """One algorithm on one graph, by all."""
    print(graph.name, case.name, file=sys.stderr, flush=True)
    store = warm.store_of(graph, options.threads)
    memory, answer = ours(case, graph, store, "memory", options)
    ssd, again = ours(case, graph, store, "ssd", options)
    answers = {"nakshi": answer}
    peers = {}
    for peer in PEERS:
        found = theirs(case, graph, peer, environment, options)
        if found:
            peers[peer], answers[peer] = found
    for who, other in [("ssd", again), *((peer, answers[peer]) for peer in peers)]:
        reason = disagreement(answer, other)
        if reason:
            raise SystemExit(f"{graph.name}, {case.name}, {who}: {reason}")
    return Row(case, memory, ssd, peers, answers)


def write(
    rows: dict[str, list[Row]], environment: Environment, options: argparse.Namespace, keep: str
) -> None:
    """The page, with a section for each graph; those of other graphs in the page ``keep`` stay."""
    versions = (
        f"{TITLES[peer]} {environment.version(PACKAGES[peer])}"
        for peer in PEERS
        if peer not in environment.missing
    )
    conditions = [
        f"{options.threads} threads; {'; '.join(versions)}",
        f"seconds of a run after the first, or of the first if that takes over {LONG} s, without opening the "
        "store or loading the graph",
        "SSD: the smallest budget that `nakshi estimate` allows, for communities a quarter more until it "
        "suffices; the page cache of the system as the runs before left it",
        f"a peer that takes over {options.timeout:.0f} s is stopped",
    ]
    page = Study("algorithms", "Algorithms beside other systems", options, conditions)
    head = ["Algorithm", "Nakshi, s", "NetworKit, s", "igraph, s", "Nakshi / fastest"]
    head += ["SSD / memory", "answers that may differ: Nakshi, NetworKit, igraph"]
    for name, found in rows.items():
        page.section(name, head, [row.cells() for row in found], *counted(found))
    page.write(keep)


def counted(rows: list[Row]) -> list[str]:
    """Notes on how often Nakshi is as fast as the fastest peer, and twice as fast."""
    ratios = [row.memory / row.fastest for row in rows if row.fastest]
    if not ratios:
        return []
    level = sum(ratio <= 1 for ratio in ratios)
    twice = sum(ratio <= 0.5 for ratio in ratios)
    return [
        f"of {len(ratios)} algorithms that a peer has, Nakshi is as fast or faster in {level}, "
        f"and at least twice as fast in {twice}"
    ]


def inputs(options: argparse.Namespace) -> list[graphs.Graph]:
    """The graphs that were asked for."""
    found = []
    for name in options.graphs.split(","):
        if name.startswith("kron"):
            scale = int(name.removeprefix("kron"))
            nakshi_words = product.NAKSHI
            found.append(graphs.kronecker(scale, options.work, options.gapbs, nakshi_words, None))
        else:
            file, directed = GRAPHS[name]
            found.append(graphs.from_edges(name, options.data / file, options.work, None, directed))
    return found


def main() -> None:
    parser = study.parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder of the real graphs")
    usual = "facebook100,cnr-2000"
    parser.add_argument("--graphs", default=usual, help=f"of {','.join(GRAPHS)},kronN")
    parser.add_argument("--algorithms", default=",".join(case.name for case in CASES))
    parser.add_argument(
        "--gapbs", type=Path, help="folder of gapbs's programs, for its Kronecker graphs"
    )
    parser.add_argument("--timeout", type=float, default=300, help="seconds of a peer")
    options = study.options(parser)
    environment = Environment(options.work / "peers-venv", {name: PACKAGES[name] for name in PEERS})
    wanted = options.algorithms.split(",")
    path = options.out / "algorithms.md"
    keep = path.read_text() if path.exists() else ""
    rows: dict[str, list[Row]] = {}
    for graph in inputs(options):
        for case in CASES:
            if case.name in wanted and case.directed in (None, graph.directed):
                row = measured(case, graph, environment, options)
                rows.setdefault(graph.name, []).append(row)
                write(rows, environment, options, keep)


if __name__ == "__main__":
    main()
