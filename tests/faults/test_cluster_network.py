"""D2: runs on several servers over a network that loses packets and falls apart.

What comes out is exact, or an error that comes in bounded time. Frames that come twice or late are in the
tests of the crate: TCP keeps them from what runs here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nakshi as package
import pytest
from disturbed import EVERY, Listening, Strikes, assert_same, assert_taken_up, banded
from nakshi import ClusterError, cluster
from network import Network, left_over
from rig import SCALE, CommandLine, wait_until

#: Seconds after which a silent worker, or a host that does not answer, is lost.
SILENCE = 2.0
#: Seconds for which a lost worker is called again, and for which workers call each other.
CALLING = 20.0
#: Seconds that a busy machine may add.
SLACK = 10.0
STEPS = 400

long = pytest.mark.skipif(SCALE == 1, reason="waits for long; NAKSHI_TEST_SCALE=2 runs it")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return banded(tmp_path_factory.mktemp("cluster") / "g.nakshi", 300)


@pytest.fixture
def network() -> Iterator[Network]:
    with Network(3) as made:
        yield made
    assert left_over() == []


@pytest.fixture
def workers(nakshi: CommandLine, network: Network) -> Iterator[Listening]:
    """A worker on each host; server 0 is on host 1."""
    with Listening(nakshi) as started:
        for host in (1, 2, 3):
            started.start(f"{network.address(host)}:7077", wrap=network.wrap(host))
        yield started


def ranks(store: Path, iterations: int, **options: object) -> package.Result:
    return cluster.run(store, "pagerank", iterations=iterations, progress=False, **options)


def exact_or_lost(
    run: Callable[[], package.Result], wanted: package.Result, seconds: float
) -> package.Result | None:
    """Result of a run, or `None` if it ended with a loss; fails after so many seconds."""
    began, found = time.monotonic(), None
    try:
        found = run()
        assert_same(found, wanted)
    except ClusterError as error:
        assert "was lost" in str(error)
    assert time.monotonic() - began < seconds
    return found


@pytest.mark.parametrize(
    ("loss", "silence"),
    [(0.1, 20.0), pytest.param(0.3, 3.0, marks=long), pytest.param(0.3, 60.0, marks=long)],
)
def test_packets_are_lost(
    store: Path, network: Network, workers: Listening, loss: float, silence: float
) -> None:
    """Runs that lose packets end with the right result, or with a lost worker; TCP may be silent for long."""
    wanted = ranks(store, 10, local=3)
    network.loss = loss
    options = {**workers.known, "silence": silence, "restarts": 0}
    found = exact_or_lost(
        lambda: ranks(store, 10, **options), wanted, 2 * silence + CALLING + SLACK
    )
    assert network.lost > 10
    assert found is not None or silence == 3.0


def test_a_host_that_is_cut_off_for_a_while(
    store: Path, network: Network, workers: Listening, tmp_path: Path
) -> None:
    """The host is lost, and called again until it answers; the run continues from a checkpoint."""
    wanted = ranks(store, STEPS, local=3)
    back = threading.Timer(SILENCE + 3, network.link, [2, "up"])

    def strike() -> None:
        network.link(2, "down")
        back.start()

    options = {**workers.known, "silence": SILENCE}
    options |= {"checkpoint_every": EVERY, "checkpoints": tmp_path}
    found = ranks(store, STEPS, watch=Strikes([(45, strike)]), **options)
    back.join()
    assert_same(found, wanted)
    assert_taken_up(found, {1}, every=EVERY, replaced=CALLING)
    wait_until(lambda: list(tmp_path.iterdir()) == [], "workers that remove their checkpoints")


@long
def test_a_host_that_is_cut_off_for_good(store: Path, network: Network, workers: Listening) -> None:
    began: list[float] = []

    def strike() -> None:
        network.link(2, "down")
        began.append(time.monotonic())

    options = {**workers.known, "silence": SILENCE}
    with pytest.raises(ClusterError, match=f"server 1 was lost: {workers.addresses[1]}"):
        ranks(store, STEPS, watch=Strikes([(45, strike)]), **options)
    assert time.monotonic() - began[0] < 2 * SILENCE + CALLING + SLACK
    # The other workers know of the loss.
    rest = [workers.addresses[0], workers.addresses[2]]
    known = {**workers.known, "hosts": rest}
    assert_same(ranks(store, 10, **known), ranks(store, 10, local=2))


@pytest.mark.parametrize("back", [3.0, pytest.param(None, marks=long)])
def test_two_hosts_that_do_not_reach_each_other(
    store: Path, network: Network, workers: Listening, back: float | None
) -> None:
    """The front-end reaches both hosts. No barrier passes without the frames from one to the other.

    Seen red with `silence` not passed on: the hosts reach each other again before anybody is lost.
    """
    wanted = ranks(store, STEPS, local=3)
    pair = frozenset((2, 3))

    def strike() -> None:
        network.cut.add(pair)
        if back is not None:
            threading.Timer(back, network.cut.discard, [pair]).start()

    options = {**workers.known, "silence": SILENCE}
    strikes = Strikes([(45, strike)])
    # Each waits for the other's call; a busy worker then waits for the end of its run.
    bound = 3 * CALLING + SLACK
    found = exact_or_lost(lambda: ranks(store, STEPS, watch=strikes, **options), wanted, bound)
    assert (found is not None) == (back is not None)
    if found is not None:
        assert found.stats["servers"]["recoveries"] != []
