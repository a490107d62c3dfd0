"""Recommendation of a number of servers, from the estimated time of a superstep.

The estimate takes the counts of :func:`nakshi.cluster.plan`: the slowest server computes all of its
in-edges, then receives every value over its own link, then all servers wait for each other. It serves
to compare numbers of servers, and does not predict seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .errors import ParameterError
from .units import format_size, parse_size

#: In-edges that a server with one thread computes in a second, for PageRank on an undirected
#: Kronecker graph of scale 18, whose values are partly in the processor's caches.
EDGE_RATE = 250e6
#: Bytes a second into a server: 1 GB/s is a link of 10 Gbit/s with some other traffic.
BANDWIDTH = 1e9
#: Seconds of a superstep without values, for four processes on one machine.
OVERHEAD = 1e-3
#: Bytes of a process before it has a part of the graph.
PROCESS = 32 << 20
#: Least share of the time that a doubling of the servers has to save.
GAIN = 0.2


@dataclass(frozen=True)
class Advice:
    """A recommended number of servers, and the reason."""

    servers: int | None
    """Number of servers; None if none of them has enough memory."""
    why: str
    """Reason, in a sentence."""
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
    """Recommend one of the numbers of servers of a plan.

    Of those whose memory fits, this is the one after which more servers do not pay: no larger number
    saves 20 % of the time for each doubling. The communication of a server grows at first (section
    4.2.3 of LFGraph's thesis), so a number is compared with all larger ones and not only with the next.

    Args:
        rows: plan that :func:`nakshi.cluster.plan` returned.
        memory_per_server: memory of a server, for its process and its part of the graph.
        value_bytes: bytes of a value, as in the plan.
        edge_rate: in-edges that a server computes in a second, with all of its threads.
        bandwidth: bytes a second into a server.
        overhead: constant seconds of a superstep.

    Raises:
        ParameterError: there are no rows, or a rate is not above zero.
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
    # The product is least exactly where no larger number saves enough for each doubling.
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
