"""The least memory that serves a load at nine tenths of full speed: limits from large to small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cypher import asking
from cypher.asking import Query
from cypher.stores import System
from harness import measure, study

#: Part of the full speed that counts as kept.
KEPT = 0.9
#: Rungs that keep less, after which the search ends.
FAILED = 2
#: Each limit is the one above it, divided by this: three of them halve it.
STEP = 2 ** (1 / 3)
#: The largest and the smallest limit.
MOST, LEAST = 8 << 30, 48 << 20
#: Clients that ask at once.
CLIENTS = 2


def rungs() -> list[int]:
    """All limits, from large to small; the same for every system."""
    found = [float(MOST)]
    while found[-1] / STEP >= LEAST:
        found.append(found[-1] / STEP)
    return [int(limit) for limit in found]


@dataclass
class Climbed:
    """Rates of a system, in queries a second.

    Attributes:
        free: the rate without a limit.
        peak: bytes that the server was charged then, page cache included.
        rates: the rate at each limit, or None where the server does not run.
        reasons: why it does not.
    """

    free: float
    peak: int
    rates: dict[int, float | None] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def kept(self, limit: int) -> bool:
        """Returns True if the limit keeps the speed."""
        return (self.rates.get(limit) or 0.0) >= KEPT * self.free

    def least(self) -> int | None:
        """The least limit that keeps the speed, as all tried limits above it do."""
        found = None
        for limit in sorted(self.rates, reverse=True):
            if not self.kept(limit):
                break
            found = limit
        return found


@dataclass
class Load:
    """Queries of clients, and for how many seconds they ask them, warmed up before."""

    queries: Sequence[Query]
    seconds: float
    warm: float

    def rate(self, system: System, cap: int, split: object = None) -> tuple[float, int]:
        """Queries a second on a new server that starts cold, and the bytes it was charged."""
        measure.drop_caches()
        longest = 20 * (self.seconds + self.warm) + 300
        with system.serving(cap=cap, split=split, longest=longest) as server:
            ask = (server.address, server.server, self.queries, CLIENTS)
            asking.rate(*ask, self.warm, whole=True)
            found = asking.rate(*ask, self.seconds, whole=True)
            return found.each_second, server.peak()


def climb(study: study.Study, system: System, load: Load) -> Climbed:
    """Goes down from the first limit that holds what the server takes by itself."""
    tell = study.options.tell
    limits = rungs()
    # A limit that is no limit: the group counts.
    runs = [load.rate(system, 1 << 40) for _ in range(study.options.runs)]
    found = Climbed(measure.median([rate for rate, _ in runs]), max(peak for _, peak in runs))
    tell(f"{system.name} without a limit: {found.free:.1f}/s, {found.peak / 2**20:.0f} MiB")
    below = [limit for limit in limits if limit < found.peak]
    started = limits[max(0, len(limits) - len(below) - 1) :]
    failed = 0
    for limit in started:
        found.rates[limit] = best(system, load, limit, found)
        rate = found.rates[limit]
        said = "does not run" if rate is None else f"{rate:.1f}/s"
        tell(f"{system.name} with {limit / 2**20:.0f} MiB: {said}")
        failed = 0 if found.kept(limit) else failed + 1
        if failed == FAILED:
            break
    return found


def best(system: System, load: Load, limit: int, found: Climbed) -> float | None:
    """The best rate of the splits of a limit, up to the first that keeps the speed."""
    rates = []
    for split in system.splits:
        try:
            rates.append(load.rate(system, limit, split)[0])
        except measure.Skipped as reason:
            found.reasons.append(f"{system.name}, {limit / 2**20:.0f} MiB: {str(reason)[:200]}")
            continue
        if rates[-1] >= KEPT * found.free:
            break
    return max(rates, default=None)
