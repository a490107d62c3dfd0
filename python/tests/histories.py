"""Clients that write down what they asked and were told, and checks of what they wrote down."""

from __future__ import annotations

import itertools
import math
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import nakshi
import networkx as nx

from .servers import Threads

#: Errors after which a change may have been made or not.
UNKNOWN = (nakshi.UnavailableError, nakshi.DeadlineError)


@dataclass
class Operation:
    """A write of a value to a register, or a read of one; it ended at infinity if its outcome is unknown."""

    register: int
    writes: bool
    value: int
    began: float
    ended: float = math.inf


def linearizable(operations: Iterable[Operation]) -> bool:
    """True if there is an order of all operations on a register, which begins with a value that nobody
    wrote, in which each takes effect at a point between its beginning and its end.

    Every value must be written once at most. Then the writes and reads of a value can be taken as one
    zone, and it is enough to compare zones (Gibbons and Korach, "Testing Shared Memories", SIAM J.
    Comput. 26(4), 1997, theorem 4.5).
    """
    values = defaultdict(list)
    for operation in operations:
        values[operation.value].append(operation)
    forward, backward = [], []
    for found in values.values():
        writes = [one for one in found if one.writes]
        reads = [one for one in found if not one.writes]
        if not reads and writes[0].ended == math.inf:
            # It may never have been made.
            continue
        # The first value was written before all operations.
        write = writes[0] if writes else Operation(0, True, 0, -math.inf, -math.inf)
        if any(read.ended < write.began for read in reads):
            return False
        first = min(one.ended for one in [write, *reads])
        last = max(one.began for one in [write, *reads])
        (forward if first < last else backward).append((min(first, last), max(first, last)))
    forward.sort()
    apart = all(a[1] < b[0] for a, b in itertools.pairwise(forward))
    inside = any(f[0] < b[0] and b[1] < f[1] for f in forward for b in backward)
    return apart and not inside


@dataclass
class Appends:
    """A transaction: the lists that it read, before its own appends, and what it appended to each."""

    read: dict[int, list[int]] = field(default_factory=dict)
    appended: dict[int, int] = field(default_factory=dict)
    began: float = 0.0
    #: Infinity if its outcome is unknown.
    ended: float = math.inf


def strictly_serializable(transactions: list[Appends], last: dict[int, list[int]]) -> bool:
    """True if the transactions on lists have an order that explains what each has read, and in which one
    that ended before another one began comes first; `last` are the lists at the end.

    Each value is appended once, so the lists tell the order of the writes. A cycle of dependencies is an
    anomaly (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations",
    VLDB 2020, section 4).
    """
    writer = {
        (key, value): number
        for number, one in enumerate(transactions)
        for key, value in one.appended.items()
    }
    order = nx.DiGraph()
    for number, one in enumerate(transactions):
        for key, value in one.appended.items():
            if value not in last[key] and one.ended < math.inf:
                return False
        for key, found in one.read.items():
            whole = last[key]
            if found != whole[: len(found)]:
                return False
            if found:
                order.add_edge(writer[key, found[-1]], number)
            if len(found) < len(whole):
                order.add_edge(number, writer[key, whole[len(found)]])
    for key, whole in last.items():
        if len(set(whole)) < len(whole):
            return False
        order.add_edges_from(itertools.pairwise(writer[key, value] for value in whole))
    # Real time: each instant is a node, after those that ended before it and before those that began later.
    moments = [(one.began, 1, number) for number, one in enumerate(transactions)]
    moments += [(one.ended, 0, number) for number, one in enumerate(transactions)]
    for (_, begins, number), (before, after) in zip(
        sorted(moments), itertools.pairwise(itertools.count()), strict=False
    ):
        order.add_edge(("at", before), ("at", after))
        if begins:
            order.add_edge(("at", after), number)
        elif transactions[number].ended < math.inf:
            order.add_edge(number, ("at", after))
    order.remove_edges_from(list(nx.selfloop_edges(order)))
    return nx.is_directed_acyclic_graph(order)


class Clients(Threads):
    """Threads that use some nodes as registers and as lists until the block ends. Each has a client that
    reads, and another one that changes: that one moves to the server that leads. Every second thread only
    reads, so that it does not wait for commits while its server is cut off.

    Args:
        connect: returns a client of the n-th server first.
        count: number of threads.
    """

    REGISTERS = (11, 12, 13)

    def __init__(self, connect: Callable[[int], nakshi.RemoteGraph], count: int = 4) -> None:
        super().__init__(count)
        self._connect = connect
        self._lock = threading.Lock()
        self._values = itertools.count(1)
        self.operations: list[Operation] = []
        self.transactions: list[Appends] = []
        with connect(0) as graph:
            for register in self.REGISTERS:
                graph.update_node(register, {"age": 0, "name": ""})

    def _work(self, number: int) -> None:
        draw, only_reads = random.Random(number), number % 2 == 1
        with self._connect(number) as reader, self._connect(number) as writer:
            while not self._stop.is_set():
                self._use_register(reader, writer, draw, only_reads=only_reads)
                self._use_lists(writer, draw, only_reads=only_reads)

    def _use_register(
        self,
        reader: nakshi.RemoteGraph,
        writer: nakshi.RemoteGraph,
        draw: random.Random,
        *,
        only_reads: bool,
    ) -> None:
        with self._lock:
            value = next(self._values)
        register = draw.choice(self.REGISTERS)
        writes = not only_reads and draw.random() < 0.5
        one = Operation(register, writes, value if writes else -1, time.monotonic())
        try:
            if writes:
                writer.update_node(register, {"age": value})
            else:
                one.value = reader.get_node_property(register, "age")
            one.ended = time.monotonic()
        except UNKNOWN:
            if not writes:
                return
        with self._lock:
            self.operations.append(one)

    def _use_lists(
        self, graph: nakshi.RemoteGraph, draw: random.Random, *, only_reads: bool
    ) -> None:
        keys = draw.sample(self.REGISTERS, 2)
        appends = {key for key in keys if not only_reads and draw.random() < 0.5}
        with self._lock:
            numbers = {key: next(self._values) for key in appends}
        one = Appends()

        def use(t: nakshi.property.Transaction) -> None:
            one.read, one.appended = {}, {}
            for key in keys:
                text = t.get_node_property(key, "name")
                one.read[key] = [int(part) for part in text.split()]
                if key in appends:
                    one.appended[key] = numbers[key]
                    t.update_node(key, {"name": f"{text} {numbers[key]}"})

        one.began = time.monotonic()
        try:
            graph.transact(use)
            one.ended = time.monotonic()
        except UNKNOWN:
            pass
        except nakshi.ConflictError:
            # A hundred times: nothing was made.
            return
        with self._lock:
            self.transactions.append(one)

    def check(self, graph: nakshi.RemoteGraph) -> None:
        """Check all that the clients were told, when they have ended."""
        assert not self._failed, self._failed
        assert len(self.operations) > 10 and len(self.transactions) > 10
        for register in self.REGISTERS:
            assert linearizable(one for one in self.operations if one.register == register)
        last = {
            register: [int(part) for part in graph.get_node_property(register, "name").split()]
            for register in self.REGISTERS
        }
        assert strictly_serializable(self.transactions, last)
