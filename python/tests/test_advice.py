"""Which number of servers a plan recommends, and its picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from nakshi import ParameterError
from nakshi.advice import PROCESS, recommend

MIB = 1 << 20


def row(servers: int, edges: float, pair: float, memory: int = MIB) -> dict[str, Any]:
    """A plan's row for a number of servers, all of which are alike."""
    names = ("pregel", "graphlab", "powergraph", "lfgraph", "exact")
    alike = {"computation": edges, "pairs": pair, "memory": float(memory)}
    alike |= {"received": pair * (servers - 1)}
    spreads = {
        name: {"least": value, "mean": value, "greatest": value} for name, value in alike.items()
    }
    return {"servers": servers, "communication": dict.fromkeys(names, 1.0), **spreads}


def test_the_estimate_by_hand() -> None:
    """Four servers compute 100 edges each at 50 a second and get 3 times 5 values of 2 bytes at 10."""
    told = recommend(
        [row(4, 100, 5)], value_bytes=2, edge_rate=50, bandwidth=10, overhead=0.5
    ).seconds
    assert told == {4: 2 + 3 + 0.5}
    # One server sends nothing and waits for nobody.
    assert recommend([row(1, 100, 0)], edge_rate=50).seconds == {1: 2}


def test_servers_are_added_while_doubling_them_pays() -> None:
    """Seen red with numbers compared by seconds alone: 32 servers."""
    edges = {2: 100e6, 4: 50e6, 8: 30e6, 16: 28e6, 32: 27e6}
    advice = recommend([row(n, e, 0) for n, e in edges.items()], edge_rate=1e6, overhead=0)
    assert advice.servers == 8
    assert "no larger number takes 20% off for each doubling" in advice.why
    assert "with 16 it is 0.93 of the time" in advice.why


def test_a_rise_at_first_is_looked_beyond() -> None:
    """The values that a server receives grow up to four servers. Seen red with a search that ends at the first
    number after which one step does not pay: 1 server."""
    seconds = {1: 10e6, 2: 9e6, 4: 8e6, 8: 4e6, 16: 2e6, 32: 2e6}
    rows = [row(n, e, 0) for n, e in reversed(seconds.items())]
    assert recommend(rows, edge_rate=1e6, overhead=0).servers == 16


def test_memory_bounds_it_from_below() -> None:
    """Seen red with the memory of the process left out: 2 servers."""
    rows = [row(n, 1e6, 0, memory=80 * MIB // n) for n in (2, 4, 8)]
    free = recommend(rows, overhead=1)
    assert free.servers == 2
    bound = recommend(rows, overhead=1, memory_per_server=20 * MIB + PROCESS)
    assert bound.servers == 4
    assert "fewer do not fit 52.0 MiB" in bound.why
    none = recommend(rows, memory_per_server="16MiB")
    assert none.servers is None
    assert "even 8 need 42.0 MiB each" in none.why


def test_what_cannot_be_recommended() -> None:
    with pytest.raises(ParameterError, match="give some"):
        recommend([])
    with pytest.raises(ParameterError, match="edge_rate=0"):
        recommend([row(2, 1, 1)], edge_rate=0)


def test_the_picture_has_every_system_and_number(tmp_path: Path) -> None:
    """One server, which has no pairs, is drawn too."""
    from nakshi import plot

    alone = row(1, 10, 0)
    alone["pairs"] = {"least": 0.0, "mean": 0.0, "greatest": 0.0}
    figure = plot.servers([alone, row(2, 5, 2), row(256, 1, 1)])
    sent, edges, pairs, uneven = figure.axes
    assert [line.get_label() for line in sent.lines][-2:] == ["LFGraph", "LFGraph, counted"]
    assert len(sent.lines) == 5 and len(uneven.lines) == 2
    assert list(edges.lines[0].get_xdata()) == [1, 2, 256]
    assert list(pairs.lines[0].get_xdata()) == [2, 256]
    assert [label.get_text() for label in sent.get_xticklabels()] == ["1", "2", "256"]
    figure.savefig(tmp_path / "plan.svg")
