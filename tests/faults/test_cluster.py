"""D1: runs on several servers whose processes are killed or frozen, and whose checkpoints find no room.

What comes out is compared to the bit with a run that nobody disturbs. `NAKSHI_TEST_SCALE=9` kills more
than a hundred workers.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import nakshi as package
import pytest
from disturbed import (
    ALGORITHMS,
    EVERY,
    LIMIT,
    REPLACED,
    Listening,
    Servers,
    Strikes,
    assert_same,
    assert_taken_up,
    banded,
    workers_left,
)
from nakshi import ClusterError, cluster
from rig import SCALE, CommandLine

#: Places of checkpoints.
PLACES = ("nowhere", "buddy", "folder")
#: Kills for each place and each of two algorithms.
KILLS = 1 if SCALE == 1 else 2 * SCALE
#: Seconds of silence after which a frozen worker is lost.
SILENCE = 1.5

Undisturbed = Callable[[str], package.Result]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return banded(tmp_path_factory.mktemp("cluster") / "g.nakshi", 4000)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that takes a while to load, and whose results take a while to gather."""
    return banded(tmp_path_factory.mktemp("cluster") / "large.nakshi", 200_000)


@pytest.fixture(scope="module")
def edges(large: Path) -> Path:
    """The edges of `large` as text."""
    path = large.with_name("edges.tsv")
    package.export(large, path, progress=False)
    return path


@pytest.fixture(scope="module")
def undisturbed(store: Path) -> Undisturbed:
    @cache
    def run(algorithm: str) -> package.Result:
        given = ALGORITHMS[algorithm]
        return cluster.run(store, algorithm, local=3, progress=False, **given)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for checkpoints; asserts that none is left in it."""
    made = tmp_path / "checkpoints"
    made.mkdir()
    yield made
    assert sorted(entry.name for entry in made.iterdir()) == []


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Servers]]:
    """Starts the servers of the next run: `start(3)`; asserts that no server of any run is left."""

    def servers(count: int) -> Servers:
        placed = Servers(count)

        def place(*given: Any) -> Servers:
            placed.terms = given[-1]
            return placed

        monkeypatch.setattr(cluster, "_placement", place)
        return placed

    yield servers
    assert workers_left() == 0


def disturbed(store: Path, algorithm: str, watch: Strikes | None, **options: Any) -> package.Result:
    given = {"progress": False, "timeout": LIMIT, "local": 3, **ALGORITHMS[algorithm], **options}
    return cluster.run(store, algorithm, watch=watch, **given)


def kept(place: str, folder: Path) -> dict[str, Any]:
    """Arguments of a run whose checkpoints are at a place."""
    if place == "nowhere":
        return {}
    return {"checkpoint_every": EVERY, "checkpoints": folder if place == "folder" else None}


def until_hit(
    run: Callable[[int], package.Result], hit: Callable[[package.Result], bool], times: int = 1
) -> list[package.Result]:
    """Repeats runs until a strike has hit so many in time: on a busy machine a run may end before it."""
    hits: list[package.Result] = []
    for attempt in range(10 * times):
        found = run(attempt)
        if hit(found):
            hits.append(found)
        if len(hits) == times:
            return hits
    pytest.fail(f"{len(hits)} hits in {10 * times} runs")


def lost_one(found: package.Result) -> bool:
    return found.stats["servers"]["recoveries"] != []


@pytest.mark.parametrize("algorithm", ["pagerank", "sssp"])
@pytest.mark.parametrize("place", PLACES)
def test_a_worker_killed_at_a_random_superstep(
    store: Path,
    undisturbed: Undisturbed,
    start: Callable[[int], Servers],
    folder: Path,
    place: str,
    algorithm: str,
) -> None:
    """Kills each server in turn, the first included. Seen red with checkpoints that no server is told to make."""
    wanted = undisturbed(algorithm)
    first = PLACES.index(place)

    def run(attempt: int) -> package.Result:
        draw = random.Random(f"{algorithm} {place} {attempt}")
        lost, servers = (first + attempt) % 3, start(3)
        step, pause = draw.randrange(1, wanted.stats["iterations"] // 3), draw.random() * 0.002

        def strike() -> None:
            # Some kills fall between two reports to the front-end.
            time.sleep(pause)
            servers.kill(lost)

        found = disturbed(store, algorithm, Strikes([(step, strike)]), **kept(place, folder))
        assert_same(found, wanted)
        if lost_one(found):
            assert_taken_up(found, {lost}, every=None if place == "nowhere" else EVERY)
        assert workers_left() == 0 and list(folder.iterdir()) == []
        return found

    until_hit(run, lost_one, KILLS)


@pytest.mark.parametrize(
    ("place", "killed"), [("folder", (1, 2)), ("buddy", (0, 2)), ("buddy", (1, 2))]
)
def test_two_workers_killed_at_once(
    store: Path,
    undisturbed: Undisturbed,
    start: Callable[[int], Servers],
    folder: Path,
    place: str,
    killed: tuple[int, int],
) -> None:
    """Two of four workers are killed. Checkpoints outlive them, except one in the memory of a buddy that is
    killed as well: that run begins anew."""
    wanted, neighbours = undisturbed("wcc"), killed == (1, 2) and place == "buddy"

    def run(_: int) -> package.Result:
        servers = start(4)
        strikes = Strikes([(wanted.stats["iterations"] // 3, lambda: servers.kill(*killed))])
        found = disturbed(store, "wcc", strikes, local=4, **kept(place, folder))
        assert_same(found, wanted)
        return found

    (found,) = until_hit(run, lost_one)
    every = None if neighbours else EVERY
    # The last report of a killed server may be all that is known of a checkpoint.
    assert_taken_up(found, set(killed), every=every, slack=EVERY)


@pytest.mark.parametrize(
    "place, source", [("nowhere", "large"), ("folder", "large"), ("nowhere", "edges")]
)
def test_killed_while_loading(
    request: pytest.FixtureRequest,
    start: Callable[[int], Servers],
    folder: Path,
    place: str,
    source: str,
) -> None:
    """A worker is killed before any superstep: the run begins anew, on the part of the graph that is loaded."""
    few, large = {"iterations": 11}, request.getfixturevalue(source)
    wanted = cluster.run(large, "pagerank", local=3, progress=False, **few)

    def run(attempt: int) -> package.Result:
        servers, over = start(3), threading.Event()

        def strike() -> None:
            while not over.is_set():
                if opened(servers, attempt % 3, large):
                    return servers.kill(attempt % 3)

        thread = threading.Thread(target=strike)
        thread.start()
        try:
            found = disturbed(large, "pagerank", None, **few, **kept(place, folder))
        finally:
            over.set()
            thread.join()
        assert_same(found, wanted)
        return found

    def early(found: package.Result) -> bool:
        return any(one["reached"] is None for one in found.stats["servers"]["recoveries"])

    (found,) = until_hit(run, early)
    assert_taken_up(found, set(found.stats["servers"]["recoveries"][0]["lost"]))


def opened(servers: Servers, server: int, store: Path) -> bool:
    """Returns true if a server has a file of the store, or the file of edges, open."""
    try:
        links = list(Path(f"/proc/{servers.pid(server)}/fd").iterdir())
        return any(os.readlink(link).startswith(str(store)) for link in links)
    except (OSError, IndexError):
        # The server has not started yet, or has closed the file meanwhile.
        return False


@pytest.mark.parametrize("place", PLACES[1:])
def test_killed_while_results_are_gathered(
    large: Path, start: Callable[[int], Servers], tmp_path: Path, place: str
) -> None:
    """A worker is killed after the last superstep, while values are sent.

    A worker that is killed when all is said leaves its checkpoints: see below.
    """
    few = {"iterations": 11, "local": 2}
    wanted = cluster.run(large, "pagerank", progress=False, **few)

    def run(attempt: int) -> package.Result:
        servers = start(2)
        strikes = Strikes([(11, lambda: servers.kill(attempt % 2))])
        found = disturbed(large, "pagerank", strikes, **few, **kept(place, tmp_path))
        assert_same(found, wanted)
        return found

    def hit(found: package.Result) -> bool:
        return any(one["reached"] == 11 for one in found.stats["servers"]["recoveries"])

    (found,) = until_hit(run, hit)
    lost = found.stats["servers"]["recoveries"][0]["lost"][0]
    assert_taken_up(found, {lost}, every=EVERY)


@pytest.mark.parametrize("place", PLACES[1:])
def test_killed_twice_in_one_run(
    store: Path, undisturbed: Undisturbed, start: Callable[[int], Servers], folder: Path, place: str
) -> None:
    """A worker is killed again after new checkpoints were made."""
    wanted = undisturbed("pagerank")

    def run(_: int) -> package.Result:
        servers = start(3)
        strikes = Strikes([(95, lambda: servers.kill(1)), (195, lambda: servers.kill(0))])
        found = disturbed(store, "pagerank", strikes, **kept(place, folder))
        assert_same(found, wanted)
        return found

    (found,) = until_hit(run, lambda found: len(found.stats["servers"]["recoveries"]) == 2)
    assert_taken_up(found, {1}, {0}, every=EVERY)


def test_neighbours_killed_one_after_the_other(
    store: Path, undisturbed: Undisturbed, start: Callable[[int], Servers]
) -> None:
    """Neighbours are killed within one interval: the second one after the first has been replaced."""
    wanted = undisturbed("pagerank")

    def run(_: int) -> package.Result:
        servers = start(3)
        strikes = Strikes([(150, lambda: servers.kill(1)), (0, lambda: servers.kill(0))])
        found = disturbed(store, "pagerank", strikes, checkpoint_every=100)
        assert_same(found, wanted)
        return found

    (found,) = until_hit(run, lambda found: len(found.stats["servers"]["recoveries"]) == 2)
    assert_taken_up(found, {1}, {0}, every=100)


def test_killed_after_it_has_lost_another_one(
    store: Path, undisturbed: Undisturbed, start: Callable[[int], Servers], folder: Path
) -> None:
    """Server 1 reports its checkpoint and is killed before it is told to continue. Server 2 is neither lost
    for that reason, nor waited for."""
    wanted = undisturbed("pagerank")

    def run(_: int) -> package.Result:
        servers = start(3)

        def strike() -> None:
            servers.kill(0)
            # The front-end waits for this call, and learns of these events afterwards.
            time.sleep(0.3)
            servers.kill(1)

        options = {"silence": 4.0, **kept("folder", folder)}
        found = disturbed(store, "pagerank", Strikes([(95, strike)]), **options)
        assert_same(found, wanted)
        return found

    (found,) = until_hit(run, lost_one)
    recoveries = found.stats["servers"]["recoveries"]
    assert {server for one in recoveries for server in one["lost"]} == {0, 1}, recoveries
    assert all(one["seconds"] < 4 for one in recoveries), recoveries


def test_killed_too_often(store: Path, start: Callable[[int], Servers]) -> None:
    """One loss more than `restarts` is an error that names the server. Seen red with `restarts` not passed on."""
    servers = start(3)
    strikes = Strikes([(15, lambda: servers.kill(1)), (35, lambda: servers.kill(2))])
    with pytest.raises(ClusterError, match="server 2 was lost"):
        disturbed(store, "pagerank", strikes, iterations=100_000, restarts=1)


@pytest.mark.parametrize("end", ["lost", "late", "raised"])
def test_a_run_that_fails_leaves_no_checkpoints(
    store: Path, start: Callable[[int], Servers], tmp_path: Path, end: str
) -> None:
    """Checkpoints are removed, whichever error ends the run."""
    servers = start(3)

    def strike() -> None:
        if end == "raised":
            raise KeyboardInterrupt
        if end == "lost":
            servers.kill(1)

    options = {"iterations": 100_000, "restarts": 0, **kept("folder", tmp_path)}
    with pytest.raises((ClusterError, package.DeadlineError, KeyboardInterrupt)):
        disturbed(store, "pagerank", Strikes([(45, strike)]), timeout=2, **options)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == []


def test_frozen(
    store: Path, undisturbed: Undisturbed, start: Callable[[int], Servers], folder: Path
) -> None:
    """A silent worker is ended, and replaced as a killed one is.

    Seen red with the old worker not ended.
    """
    wanted = undisturbed("pagerank")
    frozen: list[int] = []

    def run(_: int) -> package.Result:
        servers = start(3)

        def strike() -> None:
            frozen.append(servers.pid(1))
            servers.send(signal.SIGSTOP, 1)

        options = {"silence": SILENCE, **kept("folder", folder)}
        found = disturbed(store, "pagerank", Strikes([(95, strike)]), **options)
        assert_same(found, wanted)
        return found

    (found,) = until_hit(run, lost_one)
    assert_taken_up(found, {1}, every=EVERY)
    assert found.stats["servers"]["run"] < SILENCE + REPLACED
    assert "said nothing" in found.stats["servers"]["recoveries"][0]["why"]
    assert not any(Path(f"/proc/{pid}").exists() for pid in frozen)


@pytest.mark.parametrize("place", ["buddy"] if SCALE == 1 else PLACES[1:])
def test_frozen_and_woken_again(
    nakshi: CommandLine, store: Path, undisturbed: Undisturbed, folder: Path, place: str
) -> None:
    """A worker on another host continues where it was when it is called anew; its late frames are not
    counted."""
    wanted = undisturbed("pagerank")

    def run(_: int) -> package.Result:
        with Listening(nakshi) as workers:
            for _ in range(3):
                workers.start()
            frozen = workers.processes[1]
            woken = threading.Timer(SILENCE + 1, frozen.send_signal, [signal.SIGCONT])

            def strike() -> None:
                frozen.send_signal(signal.SIGSTOP)
                woken.start()

            given = {**workers.known, "local": None, "silence": SILENCE}
            given |= kept(place, folder)
            found = disturbed(store, "pagerank", Strikes([(95, strike)]), **given)
            woken.cancel()
            assert_same(found, wanted)
            # The worker knows that its run is over, and can be called again.
            again = cluster.run(store, "pagerank", iterations=400, **workers.known)
            assert_same(again, wanted)
        return found

    (found,) = until_hit(run, lost_one)
    assert_taken_up(found, {1}, every=EVERY, replaced=SILENCE + 9)


@pytest.mark.parametrize("filled", ["before", "meanwhile"])
def test_no_room_for_checkpoints(
    store: Path,
    start: Callable[[int], Servers],
    mount: Callable[..., Path],
    filled: str,
) -> None:
    """A checkpoint that cannot be written is an error at once."""
    start(3)
    full = mount("tmpfs", "-o", "size=1m")
    ballast = full / "ballast"

    def fill() -> None:
        with open(ballast, "ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))

    if filled == "before":
        fill()
    strikes = Strikes([(45, fill)])
    with pytest.raises(ClusterError, match=r"server \d: its checkpoint .*[Nn]o space") as caught:
        disturbed(store, "pagerank", strikes, iterations=100_000, **kept("folder", full))
    assert str(full) in str(caught.value) and strikes.done == (filled == "meanwhile")


def test_no_folder_for_checkpoints(
    nakshi: CommandLine, store: Path, tmp_path: Path, mount: Callable[..., Path]
) -> None:
    """A missing folder, a file and a read-only folder are errors in one line, before processes start."""
    (tmp_path / "file").touch()
    wrong = {tmp_path / "nowhere": "No such file", tmp_path / "file" / "in": "Not a directory"}
    if os.geteuid() == 0:
        wrong[mount("tmpfs", "-o", "ro")] = "Read-only"
    for folder, why in wrong.items():
        words = ["cluster", "run", "pagerank", store, "--local", 2, "--checkpoint-every", 5]
        done = nakshi.run(*words, "--checkpoints", folder, env={"NAKSHI_TEST_RUN": str(folder)})
        nakshi.assert_clean_error(done, "checkpoint", str(folder), why)
        assert with_environment(f"NAKSHI_TEST_RUN={folder}") == []


def with_environment(entry: str) -> list[str]:
    """Processes with this entry in their environment, which children of a command inherit."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if entry.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(process.name)
    return found


def test_a_port_that_is_taken(nakshi: CommandLine) -> None:
    """Seen red with a worker that does not listen."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = nakshi.run("worker", "--listen", address)
    nakshi.assert_clean_error(done, "cannot listen", address, "in use")


def test_a_store_that_workers_cannot_read(
    nakshi: CommandLine, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path that means another file on the workers is an error with that path; workers can be called again.

    Seen red with workers for which it leads to the store.
    """
    monkeypatch.chdir(store.parent)
    elsewhere = Path("/proc/self/cwd") / store.name
    with Listening(nakshi) as workers:
        for _ in range(2):
            workers.start(cwd=tmp_path)
        with pytest.raises(ClusterError, match=str(elsewhere)):
            cluster.run(elsewhere, "wcc", progress=False, **workers.known)
        found = cluster.run(store, "wcc", progress=False, **workers.known)
        assert found.summary == cluster.run(store, "wcc", local=1, progress=False).summary


def test_files_of_edges_that_differ(
    nakshi: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that see different edges under one path are an error; no result mixes two graphs."""
    path = Path("/proc/self/cwd") / "edges.tsv"
    monkeypatch.chdir(tmp_path)
    Path("edges.tsv").write_text("1\t2\n")
    with Listening(nakshi) as workers:
        for lines in ("1\t2\n", "1\t2\n2\t3\n"):
            own = tmp_path / str(len(lines))
            own.mkdir()
            (own / "edges.tsv").write_text(lines)
            workers.start(cwd=own)
        with pytest.raises(ClusterError, match="edges.tsv has 8 bytes here and 4 at the front-end"):
            cluster.run(path, "wcc", progress=False, **workers.known)
