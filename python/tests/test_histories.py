"""The checks of histories find what they look for."""

from __future__ import annotations

import math

import pytest

from .histories import Appends, Operation, linearizable, strictly_serializable


def history(*lines: str) -> list[Operation]:
    """Operations such as ``w1 0-2`` and ``r1 1-3``; without an end their outcome is unknown."""
    made = []
    for line in lines:
        what, times = line.split()
        began, _, ended = times.partition("-")
        made.append(
            Operation(
                1, what[0] == "w", int(what[1:]), float(began), float(ended) if ended else math.inf
            )
        )
    return made


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["r0 0-1", "w1 2-3", "r1 4-5"], True),
        (["w1 0-4", "r0 1-2", "r1 3-5"], True),
        (["w1 0-1", "r0 2-3"], False),
        (["w1 0-9", "r1 1-2", "r0 3-4"], False),
        (["w1 0-1", "w2 2-3", "r1 4-5"], False),
        (["w1 0-9", "w2 0-9", "r1 1-2", "r2 3-4", "r1 5-6"], False),
        (["w1 0-9", "w2 0-9", "r2 1-2", "r1 3-4"], True),
        (["w1 0-1", "w2 2-", "r1 4-5", "r2 8-9"], True),
        (["w1 0-1", "w2 2-", "r2 4-5", "r1 8-9"], False),
        (["w1 0-1", "w2 2-", "r1 4-5"], True),
        (["r1 0-1", "w1 2-3"], False),
    ],
)
def test_registers(lines: list[str], wanted: bool) -> None:
    assert linearizable(history(*lines)) == wanted


def test_lists() -> None:
    x, y = 1, 2
    one = Appends({x: []}, {x: 1}, 0, 1)
    two = Appends({x: [1]}, {x: 2}, 2, 3)
    three = Appends({x: [1, 2]}, {}, 4, 5)
    assert strictly_serializable([one, two, three], {x: [1, 2]})
    # A lost append, one that is there twice, and a read of another order.
    assert not strictly_serializable([one, two, three], {x: [1]})
    assert not strictly_serializable([one, two], {x: [1, 2, 1]})
    assert not strictly_serializable([one, two, Appends({x: [2]}, {}, 4, 5)], {x: [1, 2]})
    # An append whose outcome is unknown may be there or not.
    perhaps = Appends({x: [1]}, {x: 3}, 2)
    assert strictly_serializable([one, perhaps], {x: [1]})
    assert strictly_serializable([one, perhaps], {x: [1, 3]})
    # Write skew: each has read what the other one changed.
    left = Appends({x: [], y: []}, {x: 1}, 0, 9)
    right = Appends({x: [], y: []}, {y: 2}, 0, 9)
    assert not strictly_serializable([left, right], {x: [1], y: [2]})
    # A read of an old state, which is serializable, but not in the order of time.
    stale = Appends({x: []}, {}, 4, 5)
    assert not strictly_serializable([one, stale], {x: [1]})
    stale.began = 0.5
    assert strictly_serializable([one, stale], {x: [1]})
