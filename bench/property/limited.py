"""Rates with little memory: each process runs in a cgroup whose limit is a part of the text's size.

The limit covers the heap of the process and the page cache that its reads are charged for. No page of
the store is in memory when a process starts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from harness import Study, measure, product, tables
from property import ours
from property.rivals import EmbeddedNeo4j

#: Bytes that Python, the drawn queries and their results take beside the property files.
BESIDE = product.INTERPRETER + 72 * measure.MIB
#: Shares of a limit for Neo4j's heap and page cache, of which the best counts. The rest is for the JVM.
SPLITS = [(0.3, 0.4), (0.4, 0.3), (0.25, 0.25)]
#: Seconds after which a process with too little memory is stopped.
LONGEST = 1800.0
Run = Callable[[str, int | None], float]


def on_nakshi(chosen: argparse.Namespace, loaded: ours.Loaded) -> Run:
    """Rates of mixes under a limit, or none."""

    def run(name: str, cap: int | None) -> float:
        words = [] if cap is None else ["--memory", cap - BESIDE]
        told = ["--queries", chosen.queries, "--threads", chosen.threads, *words]
        found = product.nakshi(
            "bench", name, loaded.store, *told, threads=chosen.threads, cap=cap, cold=True
        )
        return float(found["rate"])

    return run


def on_neo4j(rival: EmbeddedNeo4j) -> Run:
    """Rates of mixes under a limit, or none."""

    def run(name: str, cap: int | None) -> float:
        if cap is None:
            return float(rival.workload(name, 1, f"cache={rival.size}", cold=True)["rate"])
        rates, reason = [], ""
        for heap, cache in SPLITS:
            how: dict[str, Any] = {"cap": cap, "cold": True, "timeout": LONGEST}
            how["heap"] = f"{int(cap * heap) >> 20}m"
            try:
                found = rival.workload(name, 1, f"cache={int(cap * cache)}", **how)
                rates.append(float(found["rate"]))
            except measure.Skipped as skipped:
                reason = str(skipped)
        if not rates:
            raise measure.Skipped(reason)
        return max(rates)

    return run


def section(study: Study) -> None:
    """Rates with limits, and their shares of the same system's rate without a limit."""
    chosen = study.options
    files = ours.generated(
        chosen.work, chosen.limited_scale, edge_factor=chosen.limited_edge_factor
    )
    loaded = ours.imported(chosen, files)
    systems = {"Nakshi": (on_nakshi(chosen, loaded), loaded.size)}
    if chosen.limited_zipg:
        text = ours.imported(chosen, files, "zipg")
        systems["Nakshi, layout zipg"] = (on_nakshi(chosen, text), text.size)
    if chosen.neo4j:
        rival = EmbeddedNeo4j(chosen, loaded.store)
        systems[rival.title] = (on_neo4j(rival), rival.size)
    fractions = [float(part) for part in chosen.fractions.split(",")]
    rows, failed = [], []
    for system, (run, _) in systems.items():
        for name, label in ours.WORKLOADS.items():
            free = measure.median([run(name, None) for _ in range(chosen.runs)])
            cells = [f"{system}, {label}", f"{free:,.0f}"]
            for part in fractions:
                cap = int(part * loaded.raw)
                try:
                    rate = measure.median([run(name, cap) for _ in range(chosen.runs)])
                    cells += [f"{rate:,.0f}", f"{rate / free:.2f}"]
                except measure.Skipped as skipped:
                    failed.append(f"{system}, {label}, {tables.size(cap)}: {skipped}")
                    cells += ["does not run", ""]
            rows.append(cells)
    head = ["Mix", "without a limit, ops/s"]
    for part in fractions:
        limit = f"{part:g} of the text ({tables.size(part * loaded.raw)})"
        head += [f"{limit}, ops/s", "share kept"]
    sizes = ", ".join(f"{name} {tables.size(size)}" for name, (_, size) in systems.items())
    notes = [
        f"{loaded.nodes:,} nodes, {loaded.edges:,} edges, {tables.size(loaded.raw)} of text; {sizes}",
        f"{chosen.threads} threads; cold start, heap and page cache charged; queries of each kind alone "
        "come before the mix",
    ]
    if chosen.neo4j:
        splits = (f"{heap:.0%} heap and {cache:.0%} page cache" for heap, cache in SPLITS)
        notes.append("Neo4j: the best of " + ", ".join(splits))
    notes += failed
    title = "With little memory"
    if chosen.limited_zipg:
        title += ", in both layouts"
    study.section(title, head, rows, *notes)
