"""Runs a command cold, under a memory cap, on chosen threads, and measures it.

Standard library only: the peak memory of a child starts at that of the process that forks it, so
the program that measures stays small.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import platform
import resource
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
MIB = 1 << 20
CGROUP_V1 = Path("/sys/fs/cgroup/memory")
CGROUP_V2 = Path("/sys/fs/cgroup")
CGROUP_BLKIO = Path("/sys/fs/cgroup/blkio")


class Skipped(Exception):
    """A measurement that this machine cannot make; the message is the reason."""


@dataclasses.dataclass
class Ran:
    """Output, time and memory of one command."""

    stdout: str
    stderr: str
    status: int
    seconds: float
    user_seconds: float
    system_seconds: float
    peak_rss: int
    """Peak resident set in bytes, from the kernel's own count at exit."""
    charged: int | None
    """Peak of the cgroup in bytes, page cache included; None without a cap."""


def portable(words: Sequence[object]) -> str:
    """A command line without the folders of this machine: only the last part of absolute paths."""
    parts = (Path(word).name if word.startswith("/") else word for word in map(str, words))
    return " ".join(parts)


class Cap:
    """A memory cgroup (version 1 or 2) that lives as long as the ``with`` block."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        name = f"nakshi-bench-{os.getpid()}-{time.monotonic_ns()}"
        if (CGROUP_V1 / "memory.limit_in_bytes").exists():
            self.path, self._limit, self._peak = (
                CGROUP_V1 / name,
                "memory.limit_in_bytes",
                "memory.max_usage_in_bytes",
            )
        else:
            self.path, self._limit, self._peak = CGROUP_V2 / name, "memory.max", "memory.peak"

    def __enter__(self) -> Cap:
        try:
            self.path.mkdir()
            (self.path / self._limit).write_text(str(self.limit))
        except OSError as error:
            self.__exit__()
            raise Skipped(f"no memory cgroup can be made here ({error.strerror})") from error
        return self

    def __exit__(self, *_: object) -> None:
        for _attempt in range(50):
            try:
                self.path.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.02)

    def enter(self) -> None:
        """Moves the calling process into the group; the child calls it before it executes its program."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self) -> int | None:
        """Most bytes that the group was charged, page cache included."""
        try:
            return int((self.path / self._peak).read_text())
        except OSError:
            return None


class SlowDisk:
    """A blkio cgroup (version 1) that reads at most so many bytes a second from the disk of `path`."""

    def __init__(self, path: Path, rate: int) -> None:
        self.device, self.rate = os.stat(path).st_dev, rate
        self.path = CGROUP_BLKIO / f"nakshi-bench-{os.getpid()}-{time.monotonic_ns()}"

    def __enter__(self) -> SlowDisk:
        try:
            self.path.mkdir()
            # The throttle takes whole disks, not partitions.
            major, minor = os.major(self.device), os.minor(self.device)
            whole = Path(f"/sys/dev/block/{major}:{minor}")
            if (whole / "partition").exists():
                whole = whole.resolve().parent
            device = (whole / "dev").read_text().strip()
            throttle = self.path / "blkio.throttle.read_bps_device"
            throttle.write_text(f"{device} {self.rate}")
        except OSError as error:
            self.__exit__()
            raise Skipped(f"no disk can be slowed here ({error.strerror})") from error
        return self

    __exit__ = Cap.__exit__
    enter = Cap.enter


def drop_caches() -> bool:
    """Empties the page cache, so that the next read comes from the disk; False if not allowed."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        return False
    return True


def _raise_priority() -> None:
    """Raises the priority of the new session above other sessions, where root may."""
    try:
        Path("/proc/self/autogroup").write_text("-20")
    except OSError:
        pass


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    threads: int,
    cap: int | None = None,
    cold: bool = False,
    timeout: float | None = None,
    env: dict[str, str] | None = None,
    check: bool = True,
    disk: int | None = None,
) -> Ran:
    """Runs a command to its end in its own session; `disk` slows the disk of the working directory
    to so many bytes a second."""
    environment = {**os.environ, **(env or {})}
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "NAKSHI_THREADS"):
        environment[name] = str(threads)
    if cold:
        drop_caches()
    if disk is not None:
        with SlowDisk(Path.cwd(), disk) as slow:

            def slow_down() -> None:
                slow.enter()
                _raise_priority()

            return _run(command, environment, timeout, check, slow_down, None)
    if cap is None:
        return _run(command, environment, timeout, check, _raise_priority, None)
    with Cap(cap) as group:

        def prepare() -> None:
            group.enter()
            _raise_priority()

        return _run(command, environment, timeout, check, prepare, group)


def _run(
    command: Sequence[str | os.PathLike[str]],
    environment: dict[str, str],
    timeout: float | None,
    check: bool,
    prepare: Callable[[], None],
    group: Cap | None,
) -> Ran:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.perf_counter()
        child = subprocess.Popen(
            [os.fspath(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
            start_new_session=True,
            preexec_fn=prepare,
        )
        status, usage = _wait(child, timeout)
        seconds = time.perf_counter() - began
        out.seek(0)
        err.seek(0)
        ran = Ran(
            out.read(),
            err.read(),
            status,
            seconds,
            usage.ru_utime,
            usage.ru_stime,
            usage.ru_maxrss * 1024,
            group.peak() if group else None,
        )
    if check and ran.status != 0:
        words = portable(command)
        last = (ran.stderr or ran.stdout).strip().splitlines()[-1:] or [""]
        raise Skipped(f"`{words}` ended with status {ran.status}: {last[0][:300]}")
    return ran


def _wait(
    child: subprocess.Popen[bytes], timeout: float | None
) -> tuple[int, resource.struct_rusage]:
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        pid, status, usage = os.wait4(child.pid, 0 if deadline is None else os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage
        if deadline is not None and time.monotonic() > deadline:
            child.kill()
            deadline = None
        time.sleep(0.002)


@dataclasses.dataclass
class Served:
    """A server that answers: its process, what it said when it was ready, and the cap of its memory."""

    pid: int
    words: list[str]
    group: Cap | None

    def processor(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(
    command: Sequence[str],
    *,
    end: Callable[[subprocess.Popen[str]], None] = subprocess.Popen.terminate,
    cap: int | None = None,
    longest: float | None = None,
) -> Iterator[Served]:
    """Runs a server, from the line of its output that has "ready" to the end of the block.

    Args:
        end: asks the server to end.
        cap: bytes of memory, page cache included.
        longest: seconds after which the server is killed, if the block has not ended.

    Raises:
        Skipped: the server ended before it was ready, or there is no cgroup for the cap.
    """
    with contextlib.ExitStack() as stack:
        group = None if cap is None else stack.enter_context(Cap(cap))
        pipe = subprocess.PIPE
        enter = group.enter if group else None
        server = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, preexec_fn=enter)
        if longest is not None:
            killer = threading.Timer(longest, server.kill)
            killer.daemon = True
            killer.start()
            stack.callback(killer.cancel)
        assert server.stdout is not None
        try:
            lines = iter(server.stdout.readline, "")
            ready = next((line for line in lines if "ready" in line), None)
            if ready is None:
                raise Skipped(f"`{portable(command)[:100]}` did not start")
            yield Served(server.pid, ready.split()[1:], group)
        finally:
            end(server)
            server.wait()


def median(values: Sequence[float]) -> float:
    """The median; tables show no means of times."""
    return statistics.median(values)


@dataclasses.dataclass
class Runs:
    """All runs of one command under one condition."""

    seconds: list[float] = dataclasses.field(default_factory=list)
    peak: int = 0

    @property
    def median(self) -> float:
        """Median of the seconds."""
        return median(self.seconds)


def repeats(first_seconds: float, wanted: int | None) -> int:
    """Number of runs: five, three where a run takes over 20 s, one where it takes over 200 s."""
    if wanted:
        return wanted
    return 5 if first_seconds <= 20 else 3 if first_seconds <= 200 else 1


def repeat(once: Callable[[], T], seconds: Callable[[T], float], wanted: int | None) -> list[T]:
    """Results of ``once``, called as often as :func:`repeats` asks for by the seconds of the first call."""
    results = [once()]
    while len(results) < repeats(seconds(results[0]), wanted):
        results.append(once())
    return results


def machine() -> str:
    """Processor, cores, memory and kernel in one line."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{model}, {cores} cores, {memory:.0f} GiB, Linux {platform.release()}"
