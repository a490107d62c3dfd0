"""PageRank, WCC and BFS on 1, 2 and 4 processes, turn by turn with systems of the same kind."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cluster import servers
from cluster.servers import Input, Sample
from harness import Study, kernels, measure, product, tables
from systems import mpi

#: The runs of the first kernel measure loading.
KERNELS = ("pagerank", "wcc", "bfs")
PROCESSES = (1, 2, 4)
#: Other systems' times on another machine of two cores, for Kron20. They stand in a note, not in a column.
ANCHORS = (
    "for orientation, not of this run: on another machine with 2 cores libgrape-lite took 0.12, 0.17 "
    "and 0.19 s an iteration of PageRank on Kron20 with 1, 2 and 4 processes, PowerGraph 0.64, 0.67 and 1.1"
)
Rivals = list[mpi.Grape | mpi.Gemini]
Place = tuple[int, int]
"""Processes, and threads of each."""


def section(study: Study) -> None:
    """A table for each algorithm, and one of loading and memory."""
    chosen = study.options
    given = servers.prepared(chosen, chosen.scale)
    rivals, notes = _rivals(chosen, given)
    places = [(count, 1) for count in PROCESSES]
    if chosen.threads > 1:
        places.insert(1, (1, chosen.threads))
    loads: dict[str, dict[Place, Sample]] = {}
    for kernel in chosen.kernels:
        samples = measured(chosen, given, kernel, places, rivals, notes)
        if kernel == "pagerank":
            loads = samples
        _kernel(study, kernel, samples, notes)
    if not loads:
        return
    texts = from_text(chosen, given, places)
    _loading(study, {"Nakshi, from text": texts, **loads}, imported(given, chosen))


def _rivals(chosen: argparse.Namespace, given: Input) -> tuple[Rivals, list[str]]:
    """Systems whose folders were given and that can run, and the reasons why others cannot."""
    found: Rivals = []
    notes: list[str] = []
    makers: list[Callable[[], mpi.Grape | mpi.Gemini]] = []
    if chosen.grape:
        for optimised in (False, True):
            makers.append(partial(mpi.Grape, chosen.grape, given.graph, optimised))
    if chosen.gemini:
        makers.append(partial(mpi.Gemini, chosen.gemini, given.graph))
        notes.append(
            "Gemini takes all cores in each process; it starts on one with all threads only"
        )
    for make in makers:
        try:
            found.append(make())
        except measure.Skipped as skipped:
            notes.append(f"left out: {skipped}")
    if not found:
        notes.append(ANCHORS)
    return found, notes


def measured(
    chosen: argparse.Namespace,
    given: Input,
    kernel: str,
    places: list[Place],
    rivals: Rivals,
    notes: list[str],
) -> dict[str, dict[Place, Sample]]:
    """Runs all systems at all places, turn by turn, and compares the answers of the first round."""
    answer = chosen.work / f"cluster-{kernel}.tsv"
    servers.run(kernel, given, 2, out=answer)
    samples: dict[str, dict[Place, Sample]] = {}
    failed: set[str] = set()
    for place in places:
        for turn in range(chosen.runs):
            run = servers.run(kernel, given, *place)
            sample = samples.setdefault("Nakshi", {}).setdefault(place, Sample())
            sample.add(run.seconds, run.load, max(run.peaks))
            for rival in rivals:
                if rival.name in failed:
                    continue
                try:
                    ran = rival.run(kernel, *place, answer=None if turn else answer)
                except measure.Skipped as skipped:
                    failed.add(rival.name)
                    notes.append(f"{rival.name}, {kernel}: {skipped}")
                    continue
                if ran is not None:
                    sample = samples.setdefault(rival.name, {}).setdefault(place, Sample())
                    sample.add(ran.seconds, ran.load, ran.peak)
    return samples


def from_text(chosen: argparse.Namespace, given: Input, places: list[Place]) -> dict[Place, Sample]:
    """Runs on the edge list itself, which servers load by shares."""
    samples: dict[Place, Sample] = {place: Sample() for place in places}
    for place in places:
        for _ in range(chosen.runs):
            run = servers.run("pagerank", given, *place, iterations=1, text=True)
            samples[place].add(run.seconds, run.load, max(run.peaks))
    return samples


def _kernel(
    study: Study,
    kernel: str,
    samples: dict[str, dict[Place, Sample]],
    notes: list[str],
) -> None:
    """Adds seconds, and their ratio to those of the same system at its first place."""
    parts = kernels.ITERATIONS if kernel == "pagerank" else 1
    unit = "s an iteration" if parts > 1 else "s"
    head = ["Processes and threads of each"]
    rows = [[_named(place)] for place in samples["Nakshi"]]
    ours = samples["Nakshi"]
    for name, of in samples.items():
        head += [f"{name}, {unit}", "of 1 process"]
        if name != "Nakshi":
            head.append("Nakshi against it")
        first = next(iter(of.values()))
        for row, place in zip(rows, ours):
            sample = of.get(place)
            cells = [""] * (2 if name == "Nakshi" else 3)
            if sample is not None:
                cells[:2] = [
                    tables.seconds(sample.median / parts),
                    tables.ratio(sample.median / first.median),
                ]
                cells[2:] = [tables.ratio(ours[place].median / sample.median)] * (len(cells) - 2)
            row += cells
    title = {"pagerank": "PageRank", "wcc": "WCC", "bfs": "BFS"}[kernel]
    told = [
        "all supersteps, without loading and without collecting results; new processes each time, turn by turn",
        "of 1 process: time / that of the system's first row; against it: Nakshi's time / the system's",
        *notes,
    ]
    study.section(f"{title} by processes", head, rows, *told)


def _loading(
    study: Study,
    samples: dict[str, dict[Place, Sample]],
    seconds: float,
) -> None:
    """Adds the time before the first superstep in the runs of PageRank, and the largest process."""
    head = ["Processes and threads of each"]
    rows = [[_named(place)] for place in samples["Nakshi"]]
    for name, of in samples.items():
        head += [f"{name}, load s", "peak memory of a process"]
        for row, place in zip(rows, samples["Nakshi"]):
            sample = of.get(place, Sample())
            row.append(tables.seconds(measure.median(sample.load)) if sample.load else "")
            row.append(tables.size(sample.peak or None))
    notes = [
        f"Nakshi loads from a store, which `nakshi import` made of the text in {seconds:.3g} s, or from "
        "the text; libgrape-lite loads the text each time; Gemini loads binary edges and reports no time",
    ]
    study.section("Loading by processes", head, rows, *notes)


def _named(place: Place) -> str:
    return f"{place[0]} x {place[1]}"


def imported(given: Input, chosen: argparse.Namespace) -> float:
    """Seconds of an import of the graph's text."""
    store: Path = chosen.work / "cluster-import.nakshi"
    shutil.rmtree(store, ignore_errors=True)
    seconds = product.import_store(given.graph.edges, store, threads=chosen.threads).seconds
    shutil.rmtree(store)
    return seconds
