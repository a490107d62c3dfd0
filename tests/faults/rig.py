"""The command line, driven from outside.

The tests drive `nakshi` as users do, from outside, because a fault such as a kill, a full disk or a
memory limit hits a process. What needs root is skipped with its reason where root is refused.
`NAKSHI_TEST_SCALE` (default 1) multiplies repetitions and sizes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nakshi.units import parse_size

# The cgroup caps and cold runs of the benchmarks serve here as well.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from harness import measure  # noqa: E402

NAKSHI = [sys.executable, "-m", "nakshi"]
SCALE = max(1, int(os.environ.get("NAKSHI_TEST_SCALE", "1")))
TIMEOUT = 120 * SCALE
MIB = measure.MIB


class CommandLine:
    """Runs `nakshi` and keeps what it printed."""

    def start(self, *words: object, **options: Any) -> subprocess.Popen[str]:
        """A running process with pipes for its outputs."""
        environment = {**os.environ, **options.pop("env", {})}
        return subprocess.Popen(
            [*options.pop("wrap", []), *NAKSHI, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            **options,
        )

    def run(self, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """A finished process, whatever its exit code."""
        process = self.start(*words, **options)
        out, err = process.communicate(timeout=TIMEOUT)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *words: object, **options: Any) -> dict[str, Any]:
        """The JSON object of a command that must succeed."""
        done = self.run(*words, "--json", **options)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return json.loads(done.stdout)

    def capped(self, cap: int, *words: object) -> tuple[measure.Ran, dict[str, Any]]:
        """A successful run in a memory cgroup of `cap` bytes, and its JSON object."""
        call = [*NAKSHI, *map(str, words), "--json"]
        try:
            ran = measure.run(call, threads=2, cap=cap, timeout=TIMEOUT, check=False)
        except measure.Skipped as reason:
            pytest.skip(str(reason))
        assert ran.status == 0, f"{words} under {cap} bytes: status {ran.status}: {ran.stderr}"
        return ran, json.loads(ran.stdout)

    def content_hash(self, store: Path) -> str:
        """Hash of the store's content, without its UUID and its checksums."""
        return self.json("info", store)["content_hash"]

    def assert_sound(self, store: Path) -> None:
        """Asserts that `check` reads every page and finds no problem."""
        done = self.run("check", store)
        assert done.returncode == 0, done.stderr

    def assert_clean_error(
        self, done: subprocess.CompletedProcess[str], *mentions: str, code: int = 1
    ) -> None:
        """The exit code, and one line on standard error that names what it must."""
        assert done.returncode == code, f"exit code {done.returncode}: {done.stderr}"
        lines = [line for line in done.stderr.splitlines() if line.startswith("nakshi:")]
        assert len(lines) == 1, done.stderr
        assert "Traceback" not in done.stderr and "panicked" not in done.stderr, done.stderr
        for mention in mentions:
            assert mention in lines[0], f"{mention!r} is not in {lines[0]!r}"


def leftovers(folder: Path) -> list[str]:
    """Names of temporary files of an import in a folder."""
    return sorted(entry.name for entry in folder.iterdir() if ".importing" in entry.name)


def kill_at_every_operation(
    operation: str,
    run: Callable[[int, dict[str, str]], subprocess.CompletedProcess[str]],
    wider: Callable[[int], int],
) -> None:
    """Kills a command at its first operation of a kind, its second and so on, until it ends unharmed.

    `run` gets the number of the operation and the environment that sets the fault; it verifies what
    the command has left. The fast tests skip more and more operations: `wider` returns the next step.
    """
    kills = 0
    nth, step = 0, 1
    while True:
        done = run(nth, {"NAKSHI_FAULT": f"{operation}:{nth}:kill"})
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        kills += 1
        # Larger scales test every operation.
        step = 1 if SCALE >= 10 else wider(step)
        nth += step
    assert kills > 0, f"the fault never came: does {operation} pass through the seam?"


def told(message: str) -> int:
    """The bytes of the cap that an error of the budget names."""
    found = re.search(r"try --memory (\d+[KM]iB)", message)
    assert found, message
    return parse_size(found[1])


def wait_until(happened: Callable[[], bool], what: str) -> None:
    """Polls until a condition holds, since a busy machine may be slow; fails after half a minute."""
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.01)


def reads_lists(process: subprocess.Popen[str]) -> bool:
    """Returns true once a run has opened its edge lists or started its workers; asserts that it still runs."""
    assert process.poll() is None, process.communicate()
    proc = Path(f"/proc/{process.pid}")
    try:
        links = [os.readlink(link) for link in (proc / "fd").iterdir()]
        return any(".adj" in link for link in links) or len(list((proc / "task").iterdir())) > 2
    except OSError:
        return False
