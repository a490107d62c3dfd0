"""Durable commits on three servers against one, and what clients see while servers are killed.

    bench/property/replicated.py                            # scale 12
    bench/property/replicated.py --runs 1 --seconds 3 --kills 5

All servers and clients are processes of this machine, and share its cores and its disk. Each commit gives one node
a new value; 4 processes of 16 threads each have one commit in flight. Servers are killed with SIGKILL, and
started again at once by `nakshi serve --local`. At the end, the graph is compared with what was acknowledged.
Writes docs/results/replicated.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import nakshi
from harness import measure, study
from harness.product import NAKSHI
from property import ours

#: Processes of clients, and threads of each.
CLIENTS, THREADS = 4, 16
#: Program of a client: commits for some seconds, and prints the seconds of each commit.
CLIENT = """
import json, random, sys, threading, time
import nakshi

address, seconds, threads, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
graph = nakshi.connect(address)
ids = graph.get_node_ids(limit=1000)
name = next(iter(graph.get_node_property(ids[0])))
times = []

def write(thread):
    draw, own = random.Random(seed * threads + thread), []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        graph.update_node(draw.choice(ids), {name: f"{draw.random():.16f}"})
        own.append(time.perf_counter() - began)
    times.extend(own)

workers = [threading.Thread(target=write, args=(i,)) for i in range(threads)]
for worker in workers: worker.start()
for worker in workers: worker.join()
print(json.dumps(times))
"""


@contextmanager
def serving(store: Path, servers: int) -> Iterator[str]:
    """The addresses of servers of the store."""
    options = [] if servers == 1 else ["--local", str(servers)]
    with ours.serving(store, *options) as first:
        yield ",".join(one["address"] for one in all_of(first))


def all_of(address: str) -> list[dict[str, Any]]:
    """The servers at an address, when one of them answers."""
    while True:
        told = subprocess.run(
            [*NAKSHI, "status", address, "--json"], capture_output=True, text=True, check=False
        )
        if told.returncode == 0:
            return list(json.loads(told.stdout)["servers"])


def one_with(address: str, role: str) -> dict[str, Any]:
    """A server with a role, when all servers run and none lags behind."""
    while True:
        found = all_of(address)
        with_role = [one for one in found if one["role"] == role]
        if with_role and all(one["pid"] is not None for one in found):
            return with_role[0]


class Study(harness.Study):
    """The page, and the store of its parts."""

    def __init__(self, options: argparse.Namespace) -> None:
        conditions = [
            f"tables by ZipG's rules, scale {options.scale}; in memory, warm",
            "servers and clients are processes of one machine, over loopback, with one disk",
        ]
        super().__init__("replicated", "Several servers", options, conditions)
        self.loaded = ours.imported(options, ours.generated(options.work, options.scale))

    def copy(self, name: str) -> Path:
        """A copy of the store, which may be changed."""
        copy = Path(self.options.work) / f"{name}.nakshi"
        if copy.exists():
            subprocess.run(["rm", "-r", str(copy)], check=True)
        nakshi.backup(self.loaded.store, copy)
        return copy


def commits(study: Study) -> None:
    """Adds the rates of durable commits."""
    chosen = study.options
    rates: dict[int, list[float]] = {1: [], 3: []}
    times: dict[int, list[float]] = {1: [], 3: []}
    for _ in range(chosen.runs):
        for servers in rates:
            with serving(study.copy("commits"), servers) as address:
                arguments = [address, str(chosen.seconds), str(THREADS)]
                clients = [
                    subprocess.Popen(
                        [sys.executable, "-c", CLIENT, *arguments, str(seed)],
                        stdout=subprocess.PIPE,
                        text=True,
                    )
                    for seed in range(CLIENTS)
                ]
                found = [json.loads(client.communicate()[0]) for client in clients]
                own = sorted(1e3 * second for one in found for second in one)
            rates[servers].append(len(own) / chosen.seconds)
            times[servers] += own
    rows = []
    for servers, some in times.items():
        some.sort()
        rate = measure.median(rates[servers])
        quantiles = (some[int(len(some) * part)] for part in (0.5, 0.99))
        ratio = f"{rate / measure.median(rates[1]):.2f}x"
        rows.append(
            [
                "one server" if servers == 1 else "three servers",
                f"{rate:,.0f}",
                ratio,
                *(f"{quantile:.1f}" for quantile in quantiles),
            ]
        )
    head = ["64 commits in flight", "commits/s", "of one", "p50, ms", "p99, ms"]
    study.section("Durable commits", head, rows)


class Client:
    """A thread that makes one call after the other, and notes the longest time without an answer."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._stop = False
        self.calls = 0
        self.last = time.monotonic()
        self.longest = 0.0
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop:
            self._call()
            now = time.monotonic()
            self.longest = max(self.longest, now - self.last)
            self.last = now
            self.calls += 1

    def __enter__(self) -> Client:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._thread.join()


def gaps(address: str, kills: int, role: str, client: Client) -> list[float]:
    """The longest time without an answer, after each kill of a server with a role."""
    found = []
    for _ in range(kills):
        pid = one_with(address, role)["pid"]
        client.longest = 0.0
        os.kill(pid, signal.SIGKILL)
        before = client.calls
        time.sleep(1.5)
        while client.calls < before + 10:
            time.sleep(0.01)
        found.append(client.longest)
    return sorted(found)


def failover(study: Study) -> None:
    """Adds what clients see while servers are killed."""
    kills, rows = study.options.kills, []
    with serving(study.copy("failover"), 3) as address:
        graph = nakshi.connect(address)
        node = graph.get_node_ids(limit=1)[0]
        graph.update_node(node, {"counted": 0})

        def count() -> None:
            graph.transact(
                lambda t: t.update_node(node, {"counted": t.get_node_property(node, "counted") + 1})
            )

        with Client(count) as writer:
            found = gaps(address, kills, "leader", writer)
        assert graph.get_node_property(node, "counted") == writer.calls
        rows.append(("leader killed: a transaction", found))
        follower = nakshi.connect(one_with(address, "follower")["address"])
        with Client(lambda: follower.get_node_property(node)) as reader:
            found = gaps(address, kills, "follower", reader)
        rows.append(("follower killed: a read of its client", found))
    table = [
        [name, *(f"{some[int(len(some) * part)]:.2f}" for part in (0.5, 0.99)), f"{some[-1]:.2f}"]
        for name, some in rows
    ]
    head = [f"Longest wait, {kills} kills each", "p50, s", "p99, s", "longest, s"]
    study.section(
        "Servers killed",
        head,
        table,
        "every transaction that was acknowledged counted exactly once",
    )


PARTS: dict[str, Callable[[Study], None]] = {"commits": commits, "failover": failover}


def main() -> None:
    parser = ours.parser(__doc__, runs=3, parts=PARTS)
    parser.set_defaults(scale=12)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run of commits [10]")
    parser.add_argument("--kills", type=int, default=100, help="of each role [100]")
    Study(study.options(parser)).measure(PARTS)


if __name__ == "__main__":
    main()
