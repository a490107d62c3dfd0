"""Servers of a graph on hosts of their own, whose lines are cut and lose packets: no client is told anything
that is not so, and nothing is lost."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import combinations
from pathlib import Path

import nakshi
import neo4j
from network import FRONT, Network, left_over

from .conftest import SCALE
from .groups import log_of
from .histories import Clients
from .servers import CypherWriters, Server, Writers, driver_of
from .test_server import build, certificate

HOSTS = (1, 2, 3)
PORT = 7480
BOLT = 7687
TOKEN = "0123456789abcdef"


class Hosts:
    """Three servers, each on a host of its own; the test is a fourth host."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.network = network
        self.listen = {host: f"{network.address(host)}:{PORT}" for host in HOSTS}
        self._ca, cert, key = certificate(
            folder, "ours", hosts=[network.address(host) for host in HOSTS]
        )
        hosts, tokens = folder / "hosts", folder / "tokens"
        hosts.write_text("\n".join(self.listen.values()))
        tokens.write_text(f"writer {TOKEN}\nserver fedcba9876543210\n")
        tokens.chmod(0o600)
        files = {"--hosts": hosts, "--tokens": tokens, "--certificate": cert, "--key": key}
        self._options = [part for file in files.items() for part in file] + ["--ca", self._ca]
        self.stores = {host: folder / f"{host}.nakshi" for host in HOSTS}
        build(self.stores[1])
        for host in HOSTS[1:]:
            nakshi.backup(self.stores[1], self.stores[host])
        self.servers: dict[int, Server] = {}

    def start(self, host: int) -> None:
        self.servers[host] = Server(
            self.stores[host],
            *self._options,
            "--bolt",
            f"{self.network.address(host)}:{BOLT}",
            listen=self.listen[host],
            wrap=self.network.wrap(host),
        )

    def connect(self, first: int = 0, *, linearizable: bool = False) -> nakshi.RemoteGraph:
        """A client that knows all servers, and asks one of them first."""
        known = [*self.listen.values()]
        known = known[first % 3 :] + known[: first % 3]
        return nakshi.connect(
            ",".join(known), token=TOKEN, ca=self._ca, timeout=20, linearizable=linearizable
        )

    def driver(self) -> neo4j.Driver:
        """A client of Neo4j's that learns which servers there are."""
        url = f"neo4j+ssc://{self.network.address(HOSTS[0])}:{BOLT}"
        return driver_of(url, auth=("anybody", TOKEN))

    def role(self, host: int) -> str:
        try:
            with nakshi.connect(self.listen[host], token=TOKEN, ca=self._ca, timeout=2) as one:
                return str(one.status()["role"])
        except nakshi.NakshiError:
            return "away"

    def leader(self) -> int:
        """The host of the server that leads, once one does that the others know of."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            leads = [host for host in HOSTS if self.role(host) == "leader"]
            if len(leads) == 1:
                return leads[0]
        raise AssertionError("no server leads")


@contextmanager
def hosts(folder: Path) -> Iterator[Hosts]:
    """Three servers that run, have the same commits at the end, and end in order."""
    with Network(len(HOSTS)) as network, ExitStack() as ends:
        made = Hosts(network, folder)
        for host in HOSTS:
            made.start(host)
            ends.callback(lambda host=host: made.servers[host].process.kill())
        yield made
        commits = set()
        until = time.monotonic() + 20
        while len(commits) != 1 and time.monotonic() < until:
            with ExitStack() as open_:
                known = [open_.enter_context(made.connect(host - 1)) for host in HOSTS]
                commits = {one.status()["commit"] for one in known}
        for server in made.servers.values():
            assert server.end() == 0, server.log
        logs = [log_of(store) for store in made.stores.values()]
        assert logs[0] and logs.count(logs[0]) == 3
        for store in made.stores.values():
            nakshi.check(store)
    assert left_over() == []


def cut_off(network: Network, host: int, *, clients: bool) -> None:
    """A host reaches no other server any more, and with `clients` no client."""
    network.cut |= {frozenset((host, other)) for other in HOSTS if other != host}
    if clients:
        network.cut.add(frozenset((host, FRONT)))


def leader_between_clients(hosts: Hosts) -> None:
    """Clients reach the leader, which reaches no other server, and the others."""
    cut_off(hosts.network, hosts.leader(), clients=False)


def leader_alone(hosts: Hosts) -> None:
    cut_off(hosts.network, hosts.leader(), clients=True)


def follower_alone(hosts: Hosts) -> None:
    leader = hosts.leader()
    cut_off(hosts.network, next(host for host in HOSTS if host != leader), clients=True)


def all_apart(hosts: Hosts) -> None:
    hosts.network.cut |= {frozenset(pair) for pair in combinations(HOSTS, 2)}


def leader_deaf(hosts: Hosts) -> None:
    """The others hear the leader, and it does not hear them."""
    leader = hosts.leader()
    hosts.network.unheard |= {(other, leader) for other in HOSTS if other != leader}


def leader_unheard(hosts: Hosts) -> None:
    leader = hosts.leader()
    hosts.network.unheard |= {(leader, other) for other in HOSTS if other != leader}


def one_line(hosts: Hosts) -> None:
    """Each server reaches one other one that reaches both."""
    leader = hosts.leader()
    hosts.network.cut.add(frozenset((leader, next(host for host in HOSTS if host != leader))))


def lossy(hosts: Hosts) -> None:
    hosts.network.loss = 0.1


def leader_killed(hosts: Hosts) -> None:
    leader = hosts.leader()
    hosts.servers[leader].end(signal.SIGKILL)
    hosts.start(leader)


def follower_lost(hosts: Hosts) -> None:
    """A server loses its disk, and begins again with a copy of another one's store."""
    leader = hosts.leader()
    lost = next(host for host in HOSTS if host != leader)
    hosts.servers[lost].end(signal.SIGKILL)
    shutil.rmtree(hosts.stores[lost])
    nakshi.backup(hosts.stores[leader], hosts.stores[lost])
    hosts.start(lost)


FAULTS: list[Callable[[Hosts], None]] = [
    leader_between_clients,
    leader_alone,
    leader_deaf,
    follower_alone,
    all_apart,
    leader_unheard,
    one_line,
    lossy,
    leader_killed,
    follower_lost,
]


def test_what_clients_are_told_is_so_while_lines_are_cut(tmp_path: Path) -> None:
    draw = random.Random(1)
    with hosts(tmp_path) as group, ExitStack() as ends:
        counting = CypherWriters(ends.enter_context(group.driver()))
        with group.connect() as graph, Writers(graph) as writers, counting:
            linearizable = Clients(lambda n: group.connect(n, linearizable=True))
            with linearizable:
                faults = FAULTS if SCALE == 1 else draw.choices(FAULTS, k=len(FAULTS) * SCALE)
                for fault in faults:
                    fault(group)
                    time.sleep(draw.uniform(0.5, 3))
                    group.network.heal()
                    writers.wait_for(5)
        # Another server may lag behind what the writers were told.
        with group.connect(linearizable=True) as graph:
            writers.graph = graph
            writers.check(len(counting.told))
            linearizable.check(graph)
        counting.check()


def test_a_transaction_at_a_leader_that_was_cut_off_reads_nothing_old(tmp_path: Path) -> None:
    """Seen red with a transaction that changes nothing and asks no other server at its end."""
    with hosts(tmp_path) as group, group.connect() as graph:
        for age in range(3):
            leader = group.leader()
            with group.connect(leader - 1) as cut:
                cut.update_node(1, {"age": age})
                cut_off(group.network, leader, clients=False)
                # The others elect another leader, a second before the old one gives up.
                others = [host for host in HOSTS if host != leader]
                while "leader" not in (roles := [group.role(host) for host in others]):
                    time.sleep(0.01)
                with group.connect(others[roles.index("leader")] - 1) as other:
                    other.update_node(1, {"age": 100 + age})
                with suppress(nakshi.ConflictError), cut.transaction() as t:
                    found = t.get_node_property(1, "age")
                if t.commit is not None:
                    assert found == 100 + age
            group.network.heal()
            graph.update_node(2, {"age": age})
