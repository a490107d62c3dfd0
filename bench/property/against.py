"""The same workloads on another system in the same run; runs of Nakshi and of that system alternate."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nakshi
from harness import Study, measure, product, tables
from property import ours
from property.rivals import TYPES, Rival

#: Number of nodes whose answers are compared, and of changes after which they are compared again.
COMPARED = 500
CHANGES = 300


def answer(graph: nakshi.Graph, id: int) -> dict[str, Any] | None:
    """Nakshi's answer for a node, with which a rival's is compared; lists may have any order."""
    found = graph.tao.obj_get(id)
    if found is None:
        return None
    two = {name: found[name] for name in sorted(found)[:2]}
    lists = {name: graph.search.friends_data(id, name) for name in TYPES}
    return {
        "object": found,
        "found": sorted(graph.search.find(two)) if len(two) == 2 else [],
        "friends": sorted(graph.search.friends(id)),
        "lists": {name: sorted(map(list, edges), key=str) for name, edges in lists.items()},
    }


def compare(rival: Rival, store: Path, ids: list[int]) -> None:
    """Ends the program if a rival's answers differ."""
    graph = nakshi.open(store)
    for id, given in zip(ids, rival.answers(ids), strict=True):
        if given is not None:
            given["found"], given["friends"] = sorted(given["found"]), sorted(given["friends"])
            lists = {name: given["lists"].get(name, []) for name in TYPES}
            given["lists"] = {name: sorted(edges, key=str) for name, edges in lists.items()}
        wanted = answer(graph, id)
        if given != wanted:
            parts = [name for name in wanted or {} if (given or {}).get(name) != wanted[name]]
            raise SystemExit(f"{rival.title} answers otherwise for node {id}: {parts or given}")
    graph.close()


def changes(store: Path, ids: list[int]) -> Iterator[list[object]]:
    """Draws changes of some nodes and their edges."""
    draw, graph = random.Random(2), nakshi.open(store)
    added = [2**61 + number for number in range(10)]
    yield from (["append_node", id, f"added {id}"] for id in added)
    for number in range(CHANGES):
        id, type, other = draw.choice(ids), draw.choice(TYPES), draw.choice(ids + added)
        old = [edge.destination for edge in graph.search.friends_data(id, type)]
        match draw.randrange(6):
            case 0:
                yield ["update_node", id, f"changed {number}"]
            case 1 if number % 5 == 0:
                yield ["delete_node", id]
            case 2 if old:
                yield ["delete_edge", id, type, draw.choice(old)]
            case 3 if old:
                yield ["append_edge", id, type, draw.choice(old), number, f"again {number}"]
            case _:
                yield ["append_edge", id, type, other, number, f"edge {number}"]
    graph.close()


def apply(store: Path, made: list[list[object]]) -> None:
    """Makes the changes in a store. A change of a deleted node is skipped."""
    graph = nakshi.open(store)
    for name, id, *rest in made:
        data: dict[str, Any] = {}
        if name in ("append_node", "update_node", "append_edge"):
            data = {"data": rest.pop()}
        try:
            getattr(graph, str(name))(id, *rest, *([data] if data else []))
        except nakshi.UnknownVertexError:
            pass
    graph.close()


def sections(study: Study, loaded: ours.Loaded, rival: Rival) -> None:
    """The tables of a rival beside Nakshi."""
    chosen = study.options
    graph = nakshi.open(loaded.store)
    all = [int(id) for id in graph.get_node_ids()]
    graph.close()
    ids = random.Random(1).sample(all, min(COMPARED, len(all)))
    compare(rival, loaded.store, ids)
    title = f"Against {rival.title} in the same run"
    _size(study, loaded, rival, title)
    notes = [
        f"answers for {len(ids)} random nodes were compared first: properties, friends, all edges with "
        "theirs, and the nodes with two values of each; both return external ids, edges newest first",
        "each system draws its own queries, by the same rules",
        *rival.query_notes,
    ]
    for name, label in ours.WORKLOADS.items():
        pairs = []
        for run in range(chosen.runs):
            print(f"{rival.name}, {label} {run}", file=sys.stderr, flush=True)
            pairs.append((ours.bench(name, loaded.store, chosen), rival.workload(name, run + 1)))
        rows = compared_rows(pairs, f"mix on {chosen.threads} threads")
        head = _head("Query, alone on one thread", rival)
        study.section(f"{title}: {label}", head, rows, *notes)
    _linkbench(study, loaded.store, rival, ids)


def _head(first: str, rival: Rival) -> list[str]:
    name = rival.name
    return [
        *[first, "Nakshi, ops/s", f"{name}, ops/s", f"Nakshi / {name}"],
        *["p99, us, Nakshi", f"p99, us, {name}", "results, Nakshi", f"results, {name}"],
    ]


def _size(study: Study, loaded: ours.Loaded, rival: Rival, title: str) -> None:
    seconds, size = loaded.seconds, loaded.size
    rows = [
        [
            "import and indexes, s",
            *map(tables.seconds, (seconds, rival.seconds)),
            tables.ratio(rival.seconds / seconds),
        ],
        ["store", *map(tables.size, (size, rival.size)), tables.ratio(rival.size / size)],
        ["store / text", *(f"{one / loaded.raw:.3f}" for one in (size, rival.size)), ""],
    ]
    if rival.import_seconds is not None:
        rows.insert(1, ["of them the import, s", "", tables.seconds(rival.import_seconds), ""])
    head = ["", "Nakshi", rival.name, f"{rival.name} / Nakshi"]
    study.section(f"{title}: import and size", head, rows, *rival.notes)


def _linkbench(study: Study, store: Path, rival: Rival, ids: list[int]) -> None:
    """LinkBench on 2 and 16 threads, after the same changes have led to the same answers."""
    chosen = study.options
    copy, file = ours.copied(store, "against"), chosen.work / "changes.tsv"
    made = list(changes(store, ids))
    file.write_text("".join("\t".join(map(str, change)) + "\n" for change in made))
    apply(copy, made)
    rival.change(file)
    added = [int(str(change[1])) for change in made if change[0] == "append_node"]
    compare(rival, copy, ids + added)
    for threads in sorted({chosen.threads, ours.WRITERS}):
        pairs = []
        for run in range(chosen.runs):
            seed = 100 * threads + run
            print(f"{rival.name}, LinkBench on {threads}: {run}", file=sys.stderr, flush=True)
            told = ["--queries", 5 * chosen.queries, "--threads", threads, "--seed", seed]
            mine = product.nakshi("bench", "linkbench", copy, *told, threads=chosen.threads)
            pairs.append((mine, rival.linkbench(threads, seed)))
        rows = compared_rows(pairs, f"mix on {threads} threads")
        notes = [
            f"the same {len(made)} changes were made in both first, and answers for {len(ids + added)} nodes "
            "compared",
            "every change is durable before it is acknowledged; each kind within the mix",
            *rival.query_notes,
        ]
        title = f"Against {rival.title} in the same run: LinkBench, {threads} threads"
        study.section(title, _head("Request", rival), rows, *notes)
    shutil.rmtree(copy)


def compared_rows(pairs: list[tuple[dict[str, Any], dict[str, Any]]], mix: str) -> list[list[str]]:
    """Medians of both systems, and the ratio."""
    rows = []
    for at, first in enumerate(pairs[0][0]["classes"]):
        both = [[side["classes"][at] for side in pair] for pair in pairs]
        middle = {
            key: [measure.median([pair[side][key] for pair in both]) for side in (0, 1)]
            for key in ("rate", "p99", "results")
        }
        shown = [f"{value:.1f}" for value in [*middle["p99"], *middle["results"]]]
        rows.append([first["name"], *_rates(middle["rate"]), *shown])
    rates = [measure.median([pair[side]["rate"] for pair in pairs]) for side in (0, 1)]
    rows.append([mix, *_rates(rates), "", "", "", ""])
    return rows


def _rates(rates: list[float]) -> list[str]:
    return [*(f"{rate:,.0f}" for rate in rates), tables.ratio(rates[0] / max(rates[1], 1e-9))]
