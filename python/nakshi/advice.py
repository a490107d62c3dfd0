"""Recommendation of a number of servers: the counts of :func:`nakshi.cluster.plan`, as time of a superstep.

An estimate: the slowest server computes all of its in-edges, then every value that is sent to it comes
over its own link, then all wait for each other. Values to compare numbers of servers by, not to
promise seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .errors import ParameterError
from .units import format_size, parse_size

#: In-edges that a server with one thread computes in a second: PageRank on an undirected Kronecker
#: graph of scale 18, whose values lie partly in the processor's caches.
EDGE_RATE = 250e6
#: Bytes a second into a server. 1 GB/s is a link of 10 Gbit/s that has other things to do as well.
BANDWIDTH = 1e9
#: Seconds that a superstep takes without a value: four processes of one machine.
OVERHEAD = 1e-3
#: Bytes of a process before it has a part of the graph.
PROCESS = 32 << 20
#: A doubling of servers is worth it if it takes this share off the time.
GAIN = 0.2


@dataclass(frozen=True)
class Advice:
    """The number of servers to take, and why."""

    servers: int | None
    """None if no number of them fits."""
    why: str
    """In a sentence."""
    seconds: Mapping[int, float]
    """Estimated seconds of a superstep in which all values change, by number of servers."""

    def to_dict(self) -> dict[str, Any]:
        """The advice as ``--json`` prints it."""
        return asdict(self)


def recommend(
    rows: Sequence[Mapping[str, Any]],
    *,
    memory_per_server: int | str | None = None,
    value_bytes: int = 8,
    edge_rate: float = EDGE_RATE,
    bandwidth: float = BANDWIDTH,
    overhead: float = OVERHEAD,
) -> Advice:
    """Recommend one of the numbers of servers that a plan looked at.

    Of those that fit it is the one after which more servers do not pay: no larger number takes 20 %
    off the time for each doubling. The communication of a server grows at first (section 4.2.3 of
    LFGraph's thesis), so a number is compared with all larger ones, not with the next.

    Args:
        rows: what :func:`nakshi.cluster.plan` returned.
        memory_per_server: what a server has, for its process and its part of the graph.
        value_bytes: as the plan was made with.
        edge_rate: in-edges that a server computes in a second, with all of its threads.
        bandwidth: bytes a second into a server.
        overhead: seconds that a superstep takes whatever is in it.

    Raises:
        ParameterError: no rows, or a rate that is not above zero.
    """
    if not rows:
        raise ParameterError("a plan of no numbers of servers recommends none; give some")
    if not (edge_rate > 0 and bandwidth > 0 and overhead >= 0):
        raise ParameterError(
            f"edge_rate={edge_rate!r}, bandwidth={bandwidth!r}, overhead={overhead!r} cannot work; "
            "rates are above zero, seconds not below"
        )
    rows = sorted(rows, key=lambda row: int(row["servers"]))
    seconds = {
        row["servers"]: row["computation"]["greatest"] / edge_rate
        + row["received"]["greatest"] * value_bytes / bandwidth
        + (overhead if row["servers"] > 1 else 0.0)
        for row in rows
    }
    limit = parse_size(memory_per_server)
    needs = {row["servers"]: int(row["memory"]["greatest"]) + PROCESS for row in rows}
    fitting = [count for count in seconds if limit is None or needs[count] <= limit]
    if not fitting:
        count = min(needs, key=lambda count: needs[count])
        why = (
            f"none fits {format_size(limit or 0)} a server: even {count} need "
            f"{format_size(needs[count])} each; give more servers or memory"
        )
        return Advice(None, why, seconds)
    # No larger number gains enough for each doubling exactly if this product is least.
    cost = math.log2(1 / (1 - GAIN))
    best = min(fitting, key=lambda count: seconds[count] * count**cost)
    return Advice(best, _reason(best, fitting, seconds, needs, limit), seconds)


def _reason(
    best: int,
    fitting: Sequence[int],
    seconds: Mapping[int, float],
    needs: Mapping[int, int],
    limit: int | None,
) -> str:
    said = [f"about {1000 * seconds[best]:.3g} ms a superstep, {format_size(needs[best])} a server"]
    if limit is not None and best == fitting[0] and any(count < best for count in needs):
        said.append(f"fewer do not fit {format_size(limit)}")
    more = [count for count in fitting if count > best]
    if more:
        share = seconds[more[0]] / seconds[best]
        said.append(f"with {more[0]} it is {share:.2f} of the time")
        said.append(f"no larger number takes {GAIN:.0%} off for each doubling")
    else:
        said.append("the most that were looked at")
    return "; ".join(said)
