"""Strangers at a worker's ports: silent ones, babbling ones, and front-ends without the token.

A run among them ends with the same result, without a delay; and a worker ends at once when it is told to,
whoever is connected.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from disturbed import Listening, assert_same, banded, workers_left
from nakshi import ClusterError, cluster
from rig import CommandLine

#: Connections of strangers at a time.
STRANGERS = 1000
#: Seconds by which strangers may delay a run; the rest of a bound is for a busy machine.
DELAY = 1.0
SLACK = 4.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return banded(tmp_path_factory.mktemp("strangers") / "g.nakshi", 2000)


@pytest.fixture
def workers(nakshi: CommandLine) -> Iterator[Listening]:
    """Two workers that have not served a run yet."""
    with Listening(nakshi) as started:
        started.start()
        started.start()
        yield started


class Strangers:
    """Connections to some addresses, which are replaced when they end: a third of them sends nothing, a
    third sends a byte from time to time, and a third sends random bytes."""

    def __init__(self, addresses: list[str], count: int = STRANGERS) -> None:
        self._places = [
            (host, int(port)) for host, _, port in (a.rpartition(":") for a in addresses)
        ]
        self._count = count
        self._over = threading.Event()
        self._open: list[socket.socket | None] = [None] * count
        self._thread = threading.Thread(target=self._disturb)
        #: Connections that were made.
        self.made = 0

    def __enter__(self) -> Strangers:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < self._count + 200:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, self._count + 200), hard))
        for place in range(self._count):
            self._open[place] = self._connect(place)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for one in filter(None, self._open):
            one.close()

    def _connect(self, place: int) -> socket.socket:
        self.made += 1
        one = socket.socket()
        one.setblocking(False)
        with suppress(BlockingIOError):
            one.connect(self._places[place % len(self._places)])
        return one

    def _disturb(self) -> None:
        words = [b"", b"n", os.urandom(1 << 14)]
        while not self._over.wait(0.02):
            for place, one in enumerate(self._open):
                try:
                    if words[place % 3]:
                        one.send(words[place % 3])
                    elif one.recv(1) == b"":
                        raise ConnectionResetError
                except (BlockingIOError, InterruptedError):
                    pass
                except OSError:
                    one.close()
                    self._open[place] = self._connect(place)


def ranks(store: Path, **options: Any) -> Any:
    return cluster.run(store, "pagerank", iterations=50, progress=False, **options)


def seconds(call: Any) -> tuple[float, Any]:
    began = time.monotonic()
    found = call()
    return time.monotonic() - began, found


def test_a_run_among_strangers(store: Path, workers: Listening) -> None:
    """Seen red with workers that greet one caller at a time: the run fails after 22 s."""
    alone, wanted = min(
        (seconds(lambda: ranks(store, **workers.known)) for _ in range(3)), key=lambda one: one[0]
    )
    with Strangers(workers.addresses) as strangers:
        took = []
        for _ in range(3):
            one, found = seconds(lambda: ranks(store, **workers.known))
            assert_same(found, wanted)
            took.append(one)
        made = strangers.made
    print(f"alone {alone:.3f} s, among {made:,} strangers {sorted(took)}")
    assert min(took) < alone + DELAY and max(took) < alone + DELAY + SLACK


def test_strangers_that_come_while_it_runs(store: Path, workers: Listening) -> None:
    """Strangers that connect before a lost server is called anew do not delay the call."""
    wanted = ranks(store, local=2)
    with ExitStack() as stack:
        began = []

        def watch(told: dict[str, Any]) -> None:
            if told.get("step") == 10:
                began.append(stack.enter_context(Strangers(workers.addresses)))

        found = ranks(store, watch=watch, **workers.known)
        assert_same(found, wanted)
        again = ranks(store, **workers.known)
        assert_same(again, wanted)
    assert began


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_ends_among_strangers(workers: Listening, number: signal.Signals) -> None:
    """Seen red with a worker that reads the first caller's greeting before it looks for signals."""
    with Strangers(workers.addresses, 100):
        time.sleep(0.2)
        for process in workers.processes:
            process.send_signal(number)
        took, _ = seconds(lambda: [process.wait(10) for process in workers.processes])
    assert took < 0.5 + SLACK


def test_another_token(
    nakshi: CommandLine, store: Path, workers: Listening, tmp_path: Path
) -> None:
    """A wrong token is an error in one line, and the worker serves the next front-end. Seen red with a token
    that is not compared."""
    with pytest.raises(ClusterError, match="another token"):
        ranks(store, hosts=workers.addresses, token="another secret than theirs")
    hosts, token = tmp_path / "hosts", tmp_path / "token"
    hosts.write_text("\n".join(workers.addresses))
    token.write_text("short")
    words = ["cluster", "run", "wcc", store, "--hosts", hosts, "--token-file"]
    nakshi.assert_clean_error(nakshi.run(*words, token), "16 to 4096 bytes", "openssl rand")
    nakshi.assert_clean_error(nakshi.run(*words, tmp_path / "none"), "none", "No such file")
    token.write_text(workers.token + "\n")
    assert nakshi.json(*words, token)["result"]["components"] == 1


def test_a_worker_that_other_machines_reach(nakshi: CommandLine) -> None:
    """A worker that other machines reach needs a token. Seen red with a worker that listens anyway."""
    done = nakshi.run("worker", "--listen", "0.0.0.0:0")
    nakshi.assert_clean_error(done, "--token-file", "openssl rand")


def test_the_token_of_a_user(nakshi: CommandLine, store: Path, tmp_path: Path) -> None:
    """A worker and a front-end of one user share a token on this machine, which no other user can read."""
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    worker = nakshi.start("worker", "--listen", "127.0.0.1:0", "--allow", store, env=environment)
    try:
        assert worker.stdout is not None
        line = worker.stdout.readline()
        file = tmp_path / "config" / "nakshi" / "cluster-token"
        assert line.endswith(f"with the token in {file}\n")
        assert file.stat().st_mode & 0o777 == 0o600
        hosts = tmp_path / "hosts"
        hosts.write_text(line.split()[2].strip(","))
        words = ["cluster", "run", "wcc", store, "--hosts", hosts]
        assert nakshi.json(*words, env=environment)["result"]["components"] == 1
        done = nakshi.run(*words, env={"XDG_CONFIG_HOME": str(tmp_path / "other")})
        nakshi.assert_clean_error(done, "another token")
    finally:
        worker.kill()
        worker.communicate()


def test_the_token_is_nobodys_to_see(store: Path) -> None:
    """No command line and no environment contains the token. Seen red with a token in one of them."""
    seen = []

    def watch(_: dict[str, Any]) -> None:
        if seen:
            return
        listed = subprocess.run(
            ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="], capture_output=True, text=True
        )
        for line in listed.stdout.splitlines():
            if "nakshi worker" in line:
                pid, words = line.split(maxsplit=1)
                seen.append(words.encode() + Path(f"/proc/{pid}/environ").read_bytes())

    terms = cluster.Terms()
    ranks_of = cluster.LocalWorkers(2, terms)
    with pytest.MonkeyPatch.context() as patch:

        def place(*given: Any) -> cluster.LocalWorkers:
            terms.allow = given[-1].allow
            return ranks_of

        patch.setattr(cluster, "_placement", place)
        ranks(store, watch=watch)
    assert len(seen) == 2 and all(terms.token not in words for words in seen)
    assert workers_left() == 0


def test_files_that_are_not_allowed(
    nakshi: CommandLine, store: Path, tmp_path: Path, workers: Listening
) -> None:
    """A store, a file or a folder outside the allowed folders is an error in one line with the path
    and the allowed folders.

    Seen red with paths compared as they are named, and with checkpoints that are not compared.
    """
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "edges.tsv").write_text("1\t2\n")
    (inside / "link").symlink_to(outside)
    (inside / "store").symlink_to(store)
    (inside / "edges.tsv").write_text("1\t2\n")
    with Listening(nakshi) as strict:
        strict.start(allow=inside)
        strict.start(allow=inside)
        edges = inside / "edges.tsv"
        given: list[tuple[Path, dict[str, Any]]] = [
            (store, {}),
            (inside / "store", {}),
            (outside / "edges.tsv", {}),
            (inside / "link" / "edges.tsv", {}),
            (inside / ".." / "outside" / "edges.tsv", {}),
            (edges, {"checkpoint_every": 1, "checkpoints": outside}),
            (edges, {"checkpoint_every": 1, "checkpoints": inside / "link"}),
        ]
        for path, options in given:
            with pytest.raises(ClusterError) as caught:
                cluster.run(path, "wcc", progress=False, **strict.known, **options)
            told = str(caught.value)
            assert str(inside) in told and "--allow" in told and len(told.splitlines()) == 1, told
            assert str(options.get("checkpoints", path.name)) in told
        options = {"checkpoint_every": 1, "checkpoints": inside, "progress": False}
        found = cluster.run(edges, "wcc", **strict.known, **options)
        assert found.summary["components"] == 1
    done = nakshi.run("worker", "--listen", "127.0.0.1:0", "--allow", tmp_path / "nowhere")
    nakshi.assert_clean_error(done, "nowhere", "No such file")


def test_checkpoints_are_all_that_is_removed(store: Path, tmp_path: Path) -> None:
    """Files of other runs and of other programs stay, even with names like those of checkpoints."""
    others = ["nakshi-0123456789abcdef.10.0", "nakshi-notes.1", ".new", "mine.0"]
    for name in others:
        (tmp_path / name).write_text("mine")
    cluster.run(
        store,
        "pagerank",
        iterations=30,
        local=2,
        checkpoint_every=10,
        checkpoints=tmp_path,
        progress=False,
    )
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(others)


@pytest.mark.parametrize("files", [16, 24, 32, 64])
def test_few_files(store: Path, files: int) -> None:
    """A worker that may open few files has the right result or an error in one line, with and without strangers."""
    wanted = ranks(store, local=2)
    limit = ["prlimit", f"--nofile={files}"]
    known: dict[str, Any] = {"token": "a secret of few files"}
    call = [*limit, sys.executable, "-m", "nakshi", "worker", "--listen", "127.0.0.1:0"]
    call += ["--token-file", "-", "--allow", str(store), "--until-eof"]
    processes = []
    try:
        for _ in range(2):
            pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            process = subprocess.Popen(call, text=True, **pipes)
            processes.append(process)
            process.stdin.write(known["token"] + "\n")
            process.stdin.flush()
        lines = [process.stdout.readline() for process in processes]
        if not all(lines):
            for process in processes:
                assert len(process.communicate()[1].splitlines()) == 1
            return
        known["hosts"] = [line.split()[-1] for line in lines]
        for strangers in (0, 200):
            with Strangers(known["hosts"], strangers):
                try:
                    assert_same(ranks(store, timeout=60, **known), wanted)
                except ClusterError as error:
                    assert "open files" in str(error) and len(str(error).splitlines()) == 1
    finally:
        for process in processes:
            process.kill()
            process.communicate()
