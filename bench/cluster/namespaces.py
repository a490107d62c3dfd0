"""Servers in network namespaces of their own, whose links have a rate and a delay."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from harness import measure
from nakshi import Result, cluster

#: Port of a server in its namespace.
PORT = 7077
#: Seconds after a run until a server that has not ended is killed.
GRACE = 5.0


@dataclasses.dataclass(frozen=True)
class Link:
    """Limits of a namespace's link, which `tc` sets: bits a second, such as ``1gbit``, and a delay each
    way, such as ``0.1ms``; empty for none."""

    rate: str = ""
    delay: str = ""

    def __str__(self) -> str:
        return " and ".join(part for part in (self.rate, self.delay) if part) or "as fast as it is"


def run(store: Path, algorithm: str, servers: int, link: Link, **parameters: Any) -> Result:
    """One run on servers that have a network namespace each, joined by a bridge.

    Raises:
        measure.Skipped: namespaces or such links cannot be made here.
    """
    token = secrets.token_hex(32)
    with network(servers, link) as hosts, _listening(hosts, token, store) as addresses:
        known = {"hosts": addresses, "token": token}
        return cluster.run(store, algorithm, progress=False, **known, **parameters)


@contextmanager
def network(servers: int, link: Link) -> Iterator[dict[str, str]]:
    """Namespaces by name, with the address of each; they are gone afterwards.

    Raises:
        measure.Skipped: who runs this is not root, or the kernel refuses.
    """
    if os.geteuid() != 0:
        raise measure.Skipped("network namespaces need root")
    for tool in ("ip", *(["tc"] if link != Link() else [])):
        if shutil.which(tool) is None:
            raise measure.Skipped(f"there is no program `{tool}`; install iproute2")
    # Interfaces have names of at most 15 characters.
    own = f"nk{os.getpid() % 100_000}"
    subnet, bridge = f"10.213.{os.getpid() % 256}", f"{own}b"
    hosts = {f"{own}-{server}": f"{subnet}.{server + 2}" for server in range(servers)}
    with ExitStack() as made:
        _ip("link", "add", bridge, "type", "bridge")
        made.callback(_remove, "link", "del", bridge)
        _ip("addr", "add", f"{subnet}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for server, (name, address) in enumerate(hosts.items()):
            outside = f"{own}v{server}"
            _ip("netns", "add", name)
            # Deleting a namespace deletes its end of the link, and with it the other end.
            made.callback(_remove, "netns", "del", name)
            _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
            made.callback(_remove, "link", "del", outside)
            _ip("link", "set", outside, "master", bridge, "up")
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", name, "link", "set", device, "up")
            # `tc` limits what a device sends: the namespace's device the way out, the bridge's the way in.
            _shape(["tc", "-n", name], "eth0", link)
            _shape(["tc"], outside, Link(link.rate))
        yield hosts


def _ip(*words: str) -> None:
    _call(["ip", *words], "a network of namespaces")


def _call(words: Sequence[str], what: str) -> None:
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        why = ran.stderr.strip().rstrip(".") or f"status {ran.returncode}"
        raise measure.Skipped(f"`{words[0]}` cannot make {what} ({why})")


def _remove(*words: str) -> None:
    # A device that was deleted with another one is gone already.
    subprocess.run(["ip", *words], capture_output=True, check=False)


def _shape(tc: Sequence[str], device: str, link: Link) -> None:
    """Limits a device by netem where there is a delay, else by a token bucket, which more kernels have."""
    if link.delay:
        rate = ["rate", link.rate] if link.rate else []
        _call(
            [*tc, "qdisc", "add", "dev", device, "root", "netem", "delay", link.delay, *rate],
            f"a link of {link}",
        )
    elif link.rate:
        bucket = ["rate", link.rate, "burst", "256kb", "latency", "50ms"]
        _call([*tc, "qdisc", "add", "dev", device, "root", "tbf", *bucket], f"a link of {link}")


@contextmanager
def _listening(hosts: dict[str, str], token: str, store: Path) -> Iterator[list[str]]:
    """Starts a server in each namespace for one run, and leaves none running."""
    started = []
    try:
        for name, address in hosts.items():
            call = ["ip", "netns", "exec", name, sys.executable, "-m", "nakshi", "worker"]
            call += ["--listen", f"{address}:{PORT}", "--once", "--json"]
            call += ["--token-file", "-", "--allow", str(store)]
            pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            worker = subprocess.Popen(call, text=True, start_new_session=True, **pipes)
            started.append(worker)
            worker.stdin.write(token + "\n")
            worker.stdin.flush()
        addresses = []
        for worker in started:
            line = worker.stdout.readline()
            if not line:
                raise RuntimeError(f"a worker ended before it listened: {worker.stderr.read()}")
            addresses.append(json.loads(line)["address"])
        yield addresses
    finally:
        for worker in started:
            try:
                worker.communicate(timeout=GRACE)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.communicate()
