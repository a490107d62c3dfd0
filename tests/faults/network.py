"""A network of this machine only, with faults: namespaces whose packets pass through the test.

Each host is a network namespace with a TUN device; the test's own end is one in its namespace. A thread
carries packets between them, and loses them as it is told to: what `tc netem` and a firewall do, where
the kernel has them.
"""

from __future__ import annotations

import fcntl
import os
import random
import selectors
import shutil
import struct
import subprocess
import threading
from pathlib import Path

import pytest

# From linux/if_tun.h.
TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
#: Addresses of RFC 2544, which are for tests: no real network has them. Each process takes its own.
ADDRESS = f"198.18.{os.getpid() % 256}.{{}}"
#: Number of the test itself; hosts count from 1.
FRONT = 0


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Network:
    """A number of hosts. As a context it skips the test where namespaces or TUN devices are refused."""

    def __init__(self, hosts: int, seed: int = 1) -> None:
        self._name = f"nakshi{os.getpid()}"
        self._hosts = range(1, hosts + 1)
        self._made: list[str] = []
        self._ends: dict[int, int] = {}
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        #: Share of packets that are lost.
        self.loss = 0.0
        #: Packets that were lost.
        self.lost = 0
        #: Pairs of hosts that do not reach each other.
        self.cut: set[frozenset[int]] = set()
        #: Pairs of hosts of which the second does not hear the first.
        self.unheard: set[tuple[int, int]] = set()

    def address(self, host: int) -> str:
        return ADDRESS.format(host + 1)

    def wrap(self, host: int) -> list[str]:
        """Prefix of a command that runs on a host."""
        return ["ip", "netns", "exec", self._namespace(host)]

    def link(self, host: int, state: str) -> None:
        """Sets a host's only device `up` or `down`."""
        _ip("-n", self._namespace(host), "link", "set", self._device(host), state)

    def heal(self) -> None:
        """Carries all packets again."""
        self.cut.clear()
        self.unheard.clear()
        self.loss = 0.0

    def __enter__(self) -> Network:
        if os.geteuid() != 0 or shutil.which("ip") is None:
            pytest.skip("network namespaces need root and `ip` (iproute2)")
        try:
            for host in [FRONT, *self._hosts]:
                self._plug(host)
        except OSError as refused:
            self._remove()
            pytest.skip(f"a network of its own is refused here: {refused}")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._remove()

    def _namespace(self, host: int) -> str:
        return f"{self._name}-{host}"

    def _device(self, host: int) -> str:
        # At most 15 letters.
        return f"nk{os.getpid()}.{host}"

    def _plug(self, host: int) -> None:
        """Makes a host and its device."""
        device, here = self._device(host), []
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        self._ends[host] = end
        fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
        if host != FRONT:
            _ip("netns", "add", self._namespace(host))
            self._made.append(self._namespace(host))
            _ip("link", "set", device, "netns", self._namespace(host))
            here = ["-n", self._namespace(host)]
        _ip(*here, "address", "add", f"{self.address(host)}/24", "dev", device)
        _ip(*here, "link", "set", device, "up")

    def _remove(self) -> None:
        # Closing the file of a device removes the device.
        for end in self._ends.values():
            os.close(end)
        for namespace in self._made:
            subprocess.run(["ip", "netns", "del", namespace], check=False)

    def _carry(self) -> None:
        """Carries packets by their addresses until the network is removed."""
        known = selectors.DefaultSelector()
        numbers = {bytes(map(int, self.address(host).split("."))): host for host in self._ends}
        for host, end in self._ends.items():
            known.register(end, selectors.EVENT_READ, host)
        while not self._stop.is_set():
            for key, _ in known.select(timeout=0.05):
                try:
                    packet = os.read(key.fd, 1 << 16)
                except OSError:
                    # The host's link was set down.
                    continue
                to = numbers.get(packet[16:20])
                way = (key.data, to)
                if to is None or frozenset(way) in self.cut or way in self.unheard:
                    continue
                if self._random.random() < self.loss:
                    self.lost += 1
                    continue
                try:
                    os.write(self._ends[to], packet)
                except OSError:
                    # A link that is down loses its packets.
                    self.lost += 1
        known.close()


def left_over() -> list[str]:
    """Namespaces of this process that were not removed."""
    there = Path("/run/netns")
    names = [entry.name for entry in there.iterdir()] if there.is_dir() else []
    return [name for name in names if name.startswith(f"nakshi{os.getpid()}-")]
