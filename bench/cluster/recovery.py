"""A worker that is killed in the middle of PageRank: the time of its replacement, and the cost of
checkpoints in a run that loses no worker."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cluster import servers
from cluster.servers import Input
from harness import Study, measure, tables

PROCESSES = 4
ITERATIONS = 60
EVERY = 10


@dataclass
class Loss:
    """One run that lost a worker."""

    #: Seconds from the front-end's notice of the loss until all workers were told to continue.
    replaced: float
    #: Seconds from the notice until a superstep ended that had not ended before the loss.
    beyond: float
    #: Supersteps that were run again.
    again: int


def section(study: Study) -> None:
    """Recovery times, and the cost of checkpoints."""
    chosen = study.options
    given = servers.prepared(chosen, chosen.scale)
    draw = random.Random(1)
    rows = []
    with tempfile.TemporaryDirectory(dir=chosen.work) as folder:
        places = {
            "none": [],
            "next server's memory": ["--checkpoint-every", EVERY],
            "folder": ["--checkpoint-every", EVERY, "--checkpoints", folder],
        }
        plain = None
        for name, words in places.items():
            spent = [_undisturbed(given, words) for _ in range(chosen.runs)]
            plain = plain or measure.median(spent)
            losses = [
                _lost(given, words, draw.randrange(EVERY, ITERATIONS - 5), signal.SIGKILL)
                for _ in range(chosen.runs)
            ]
            rows.append(
                [
                    name,
                    tables.seconds(measure.median(spent)),
                    tables.ratio(measure.median(spent) / plain),
                    tables.seconds(measure.median([loss.replaced for loss in losses])),
                    tables.seconds(measure.median([loss.beyond for loss in losses])),
                    tables.seconds(max(loss.beyond for loss in losses)),
                    max(loss.again for loss in losses),
                ]
            )
    head = ["Checkpoints", "undisturbed, s", "to none", "replaced, s", "beyond, s", "at most, s"]
    head += ["supersteps again, at most"]
    notes = [
        f"PageRank, {ITERATIONS} iterations, {PROCESSES} processes, checkpoints every {EVERY}; a worker is "
        "killed (SIGKILL) after a superstep drawn at random",
        "replaced: from the notice of the loss until another process has started; beyond: until a "
        "superstep ends that had not ended before the loss, which includes loading the lost part of the graph",
    ]
    study.section("A lost worker", head, rows, *notes)


def _undisturbed(given: Input, words: list[Any]) -> float:
    call = servers.call("pagerank", given, PROCESSES, iterations=ITERATIONS)
    return servers.said([*call, *map(str, words)], PROCESSES)[0].seconds


def _lost(given: Input, words: list[Any], at: int, number: signal.Signals) -> Loss:
    """Sends a signal to a worker after superstep `at`."""
    call = servers.call("pagerank", given, PROCESSES, iterations=ITERATIONS)
    command = [*call, *map(str, words), "--steps", "/dev/stderr"]
    front = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    recovered: dict[str, Any] = {}
    noticed = ended = 0.0
    for told in _told(front):
        if told.get("step") == at and not noticed:
            os.kill(_worker(front.pid), number)
            noticed = time.monotonic()
        elif "recovered" in told:
            recovered = told["recovered"]
            noticed = time.monotonic() - recovered["seconds"]
        elif recovered and not ended and told["step"] > (recovered["reached"] or 0):
            ended = time.monotonic()
    if front.wait() != 0 or not recovered:
        raise SystemExit(f"no worker was replaced: {' '.join(command)}")
    again = (recovered["reached"] or 0) - (recovered["from"] or 0) + 1
    return Loss(recovered["seconds"], ended - noticed, again)


def _told(front: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """Supersteps and losses as the front-end reports them in JSON; its other lines are skipped."""
    for line in front.stderr or []:
        if line.startswith("{"):
            yield json.loads(line)


def _worker(front: int) -> int:
    """One of the workers of a front-end."""
    listed = subprocess.run(["ps", "--ppid", str(front), "-o", "pid=,args="], capture_output=True)
    workers = [line.split()[0] for line in listed.stdout.decode().splitlines() if "worker" in line]
    return int(random.choice(workers))
