"""Runs scenarios with drivers of Neo4j's protocol, and writes a table of what passes with which driver.

    tests/drivers/run.py                                   # every driver whose tools are there
    tests/drivers/run.py --drivers python,javascript       # these
    tests/drivers/run.py --out docs/results/drivers.md     # writes the page

It starts a server for each driver, on this machine alone. `README.md` beside it says how scenarios
are written.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))

import nakshi  # noqa: E402
import pyarrow as pa  # noqa: E402
import servers  # noqa: E402

#: Seconds after which a scenario without an answer is given up.
PATIENCE = 90
PASSWORDS = {"writer": "correct horse battery", "reader": "another long password"}
TOKENS = {"reader": "0123456789abcdef"}


class Unavailable(Exception):
    """A driver cannot be run on this machine."""


@dataclass
class Outcome:
    """The answers of a driver by the names of the scenarios; an empty text is a pass."""

    driver: str
    version: str = ""
    #: Why it was not run.
    absent: str = ""
    faults: dict[str, str] = field(default_factory=dict)


# Scenarios.


def expand(value: Any) -> Any:
    """A value of the file, as runners read and write it."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return {"int": str(value)}
        case float():
            return {"float": repr(value)}
        case list():
            return [expand(item) for item in value]
        case {"$repeat": [text, times]}:
            return text * times
        case {"$range": [first, end]}:
            return [expand(i) for i in range(first, end)]
        case {"$bytes": inner}:
            return {"bytes": expand(inner)}
        case {"$node": inner}:
            properties = expand(inner["properties"])["map"]
            return {"node": {"labels": inner["labels"], "properties": properties}}
        case {"$relationship": inner} | {"$forward": inner} | {"$backward": inner}:
            (kind,) = value
            edge = {"type": inner["type"], "properties": expand(inner["properties"])["map"]}
            return {kind[1:]: edge}
        case {"$path": items}:
            return {"path": expand(items)}
        case dict() if len(value) == 1 and next(iter(value)).startswith("$"):
            ((kind, inner),) = value.items()
            return {kind[1:]: inner}
        case dict():
            return {"map": {key: expand(item) for key, item in value.items()}}
    raise TypeError(f"{value!r} is no value of a scenario")


def scenarios() -> list[dict[str, Any]]:
    """The scenarios of the file, with their names, parameters and rows as runners read them."""
    found = []
    for name, scenario in json.loads((HERE / "scenarios.json").read_text()).items():
        values = scenario.pop("there and back", None)
        if values is not None:
            one = [{"cypher": "RETURN $x", "parameters": {"x": x}, "rows": [[x]]} for x in values]
            scenario["steps"] = one
        for step in scenario.get("steps", ()):
            for key in ("parameters", "metadata"):
                if key in step:
                    step[key] = expand(step[key])
            if "rows" in step:
                step["rows"] = [[expand(value) for value in row] for row in step["rows"]]
        found.append({"name": name, **scenario})
    return found


def normal(value: Any) -> Any:
    """A value in one form: floats as Python writes them, durations with one number below a day."""
    if isinstance(value, list):
        return [normal(item) for item in value]
    match value:
        case {"float": text}:
            return {"float": repr(float(text))}
        case {"point": numbers}:
            return {"point": [float(number) for number in numbers]}
        case {"duration": [months, days, seconds, nanoseconds]}:
            return {"duration": [months, days, seconds * 1_000_000_000 + nanoseconds]}
        case dict():
            return {key: normal(item) for key, item in value.items()}
    return value


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else f"{text[:200]} ..."


def judge(scenario: dict[str, Any], answer: dict[str, Any]) -> str:
    """The first fault of an answer; an empty text if there is none."""
    if "failed" in answer:
        return f"got {answer['failed']}"
    if "behaviour" in scenario:
        expected, got = scenario["value"], answer["value"]
        return "" if expected == got else f"expected {short(expected)}, got {short(got)}"
    for step, got in zip(scenario["steps"], answer["steps"]):
        statement = step.get("cypher") or " ".join(f"{k} {v}" for k, v in step.items())
        if fault := judge_step(step, got):
            shown = f" with {short(step['parameters']['map'])}" if "parameters" in step else ""
            return f"{statement}{shown}: {fault}"
    return ""


def judge_step(step: dict[str, Any], got: dict[str, Any]) -> str:
    codes = step.get("error")
    if codes or "error" in got:
        codes = [codes] if isinstance(codes, str) else codes
        if codes and got.get("error") in codes:
            return ""
        return f"expected {codes or 'no error'}, got {got.get('error', 'no error')}"
    for key in ("rows", "columns", "counters", "type", "database", "plan"):
        if key in step and normal(step[key]) != normal(got[key]):
            return f"expected {key} {short(step[key])}, got {short(got[key])}"
    return ""


# Drivers.


@dataclass
class Driver:
    """A driver: `prepare` installs it into a folder, and returns its runner's command and its version."""

    name: str
    prepare: Callable[[Path], tuple[list[str], str]]


def need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            raise Unavailable(f"no {program} on this machine")


def install(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "rror" in line]
        raise Unavailable(f"{command[0]} failed: {' '.join(said)[:300]}")
    return done.stdout


def copied(source: str, folder: Path) -> Path:
    """A copy of a runner's folder, into which its tools may write."""
    to = folder / source
    shutil.copytree(HERE / source, to, dirs_exist_ok=True)
    return to


def python(folder: Path) -> tuple[list[str], str]:
    try:
        import neo4j
    except ImportError as error:
        raise Unavailable(f"{error}; pip install neo4j") from None
    return [sys.executable, str(HERE / "python" / "runner.py")], neo4j.__version__


def javascript(folder: Path) -> tuple[list[str], str]:
    need("node", "npm")
    at = copied("javascript", folder)
    install(["npm", "install", "--no-audit", "--no-fund", "--prefer-offline"], at)
    package = json.loads((at / "node_modules" / "neo4j-driver" / "package.json").read_text())
    return ["node", str(at / "runner.mjs")], package["version"]


def java(folder: Path) -> tuple[list[str], str]:
    need("java", "mvn")
    at = copied("java", folder)
    path = at / "classpath.txt"
    build = ["dependency:build-classpath", f"-Dmdep.outputFile={path}"]
    install(["mvn", "-q", "-B", "-Dstyle.color=never", "compile", *build], at)
    jars = path.read_text().strip()
    name = next(Path(jar).stem for jar in jars.split(":") if "neo4j-java-driver" in jar)
    command = ["java", "-cp", f"{at / 'target' / 'classes'}:{jars}", "drivers.Runner"]
    return command, name.removeprefix("neo4j-java-driver-")


def go(folder: Path) -> tuple[list[str], str]:
    need("go")
    at = copied("go", folder)
    install(["go", "build", "-o", "runner", "."], at)
    module = "github.com/neo4j/neo4j-go-driver/v5"
    version = install(["go", "list", "-m", "-f", "{{.Version}}", module], at)
    return [str(at / "runner")], version.strip().removeprefix("v")


DRIVERS = [
    Driver("Python", python),
    Driver("JavaScript", javascript),
    Driver("Java", java),
    Driver("Go", go),
]


class Runner:
    """A process that answers scenarios one after another, a line for each."""

    def __init__(self, command: list[str], config: dict[str, Any], folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(config))
        self.said = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*command, str(file)], stdout=subprocess.PIPE, stderr=self.said, text=True
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def next(self) -> dict[str, Any] | None:
        """The next answer; ``None`` if there is none in time."""
        try:
            line = self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            return None
        return json.loads(line) if line else None

    def end(self) -> str:
        """Ends the process, and returns the last line of its errors."""
        self.process.kill()
        self.process.wait()
        self.said.seek(0)
        lines = self.said.read().strip().splitlines()
        self.said.close()
        return lines[-1] if lines else ""


def ask(
    command: list[str],
    config: dict[str, Any],
    folder: Path,
    began: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Iterator[tuple[Any, str]]:
    """Each scenario with its fault. A process that hangs or dies is started again after the scenario. `began` is called
    when a scenario begins."""
    left = config["scenarios"]
    while left:
        runner = Runner(command, {**config, "scenarios": left}, folder)
        while left:
            began(left[0])
            answer = runner.next()
            scenario, left = left[0], left[1:]
            if answer is None:
                break
            assert answer["name"] == scenario["name"], answer
            yield scenario, judge(scenario, answer)
        else:
            runner.end()
            return
        error = runner.end()
        yield scenario, f"no answer in {PATIENCE} seconds; {error}".rstrip("; ")


# Servers.


def certificate(folder: Path) -> tuple[Path, Path, Path]:
    """An authority, a certificate of it for this machine, and its key."""
    ca, ca_key, cert, key, request, more = (
        folder / name for name in ("ca.pem", "ca.key", "cert.pem", "cert.key", "csr", "extensions")
    )
    more.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    new = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split()
    sign = ["openssl", "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key]
    for command in (
        [*new, "-x509", "-subj", "/CN=authority", "-keyout", ca_key, "-out", ca, "-days", "2"],
        [*new, "-subj", "/CN=server", "-keyout", key, "-out", request],
        [*sign, "-CAcreateserial", "-out", cert, "-extfile", more, "-days", "2"],
    ):
        subprocess.run(command, check=True, capture_output=True)
    return ca, cert, key


def small(store: Path) -> Path:
    """A store of two nodes and an edge."""
    edges = pa.table({"source": ["first"], "target": ["second"], "type": ["BEFORE"]})
    nodes = pa.table({"id": ["first", "second"], "label": ["First", "Second"]})
    nakshi.build(store, edges=edges, nodes=nodes, progress=False).close()
    return store


def leader(bolt: str) -> str:
    """The address of the server that takes changes, of several of which one is at `bolt`."""
    import neo4j

    with neo4j.GraphDatabase.driver(bolt.replace("bolt://", "neo4j://")) as driver:
        found = driver.execute_query("RETURN 1", routing_=neo4j.RoutingControl.WRITE)
        host, port = found.summary.server.address[:2]
    return f"bolt://{host}:{port}"


@contextmanager
def running(folder: Path, count: int) -> Iterator[tuple[dict[str, Any], servers.Server]]:
    """A plain server, or several of one graph, and a server with users and TLS; what a runner is told of them."""
    ca, cert, key = certificate(folder)
    users, tokens = folder / "users", folder / "tokens"
    for user, password in PASSWORDS.items():
        add = [sys.executable, "-m", "nakshi", "add-user", users, user, "--role", user]
        subprocess.run([*add, "--password-file", "-"], input=password, text=True, check=True)
    tokens.write_text("".join(f"{role} {token}\n" for role, token in TOKENS.items()))
    tokens.chmod(0o600)
    secured = ["--users", users, "--tokens", tokens, "--certificate", cert, "--key", key]
    with ExitStack() as stack:
        started = []
        several = ["--local", count] if count > 1 else []
        for name, options in (("plain", several), ("secure", secured)):
            store = small(folder / f"{name}.nakshi")
            started.append(
                stack.enter_context(servers.serving(store, "--bolt", "127.0.0.1:0", *options))
            )
        addresses = [server.bolt for server in started]
        if several:
            addresses[0] = leader(addresses[0])
        plain, secure = (address.removeprefix("bolt://") for address in addresses)
        config = {"plain": plain, "secure": secure, "authority": str(ca)}
        yield {**config, "passwords": PASSWORDS, "tokens": TOKENS}, started[0]


def status(address: str) -> list[dict[str, Any]]:
    """The servers of a graph, as ``nakshi status`` shows them."""
    command = [sys.executable, "-m", "nakshi", "status", address, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout)["servers"])


def followers(bolt: str, leader: str) -> list[str]:
    """The addresses of the other two of three servers, by the reads that a driver sends to them."""
    import neo4j

    found: dict[str, None] = {}
    with neo4j.GraphDatabase.driver(bolt.replace("bolt://", "neo4j://")) as driver:
        until = time.monotonic() + 30
        while len(found) < 2 and time.monotonic() < until:
            read = driver.execute_query("RETURN 1", routing_=neo4j.RoutingControl.READ)
            host, port = read.summary.server.address[:2]
            if f"{host}:{port}" != leader:
                found[f"{host}:{port}"] = None
    return list(found)


@contextmanager
def three(folder: Path) -> Iterator[tuple[dict[str, Any], servers.Server]]:
    """Three servers of one graph, and what a runner is told of them."""
    store = small(folder / "three.nakshi")
    with servers.serving(store, "--local", 3, "--bolt", "127.0.0.1:0") as server:
        until = time.monotonic() + 30
        while any(one["role"] == "starting" for one in status(server.address)):
            assert time.monotonic() < until, status(server.address)
        leads = leader(server.bolt).removeprefix("bolt://")
        others = followers(server.bolt, leads)
        assert len(others) == 2, others
        yield {"leader": leads, "follower": others[0], "servers": [leads, *others]}, server


class Killing(threading.Thread):
    """Kills the server that has a role, in some seconds each time."""

    def __init__(self, address: str, role: str, seconds: list[float]) -> None:
        super().__init__()
        self.address, self.role, self.seconds = address, role, seconds
        #: Processes that were killed.
        self.killed: list[int] = []

    def run(self) -> None:
        began = time.monotonic()
        for seconds in self.seconds:
            time.sleep(max(0, began + seconds - time.monotonic()))
            for one in status(self.address):
                if one["role"] == self.role:
                    os.kill(one["pid"], signal.SIGKILL)
                    self.killed.append(one["pid"])


def ask_three(command: list[str], chosen: list[dict[str, Any]]) -> Iterator[tuple[Any, str]]:
    """Scenarios on three servers, some of which are killed meanwhile."""
    started: list[Killing] = []

    with tempfile.TemporaryDirectory() as name, three(Path(name)) as (config, server):

        def began(scenario: dict[str, Any]) -> None:
            for role, seconds in scenario.get("kill", {}).items():
                started.append(Killing(server.address, role, seconds))
                started[-1].start()

        for scenario, fault in ask(command, {**config, "scenarios": chosen}, Path(name), began):
            while started:
                killing = started.pop()
                killing.join()
                if len(set(killing.killed)) < len(killing.seconds):
                    fault = fault or f"of the servers only {killing.killed} were killed"
            yield scenario, fault


def empty(address: str) -> None:
    import neo4j

    with neo4j.GraphDatabase.driver(f"bolt://{address}") as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")


def run(driver: Driver, work: Path, only: str = "", address: str = "", count: int = 1) -> Outcome:
    """Runs the scenarios with a driver, on so many servers; those of a plain server alone, if there is an
    `address`."""
    outcome = Outcome(driver.name)
    try:
        command, outcome.version = driver.prepare(work)
    except Unavailable as why:
        outcome.absent = str(why)
        return outcome
    wanted = [scenario for scenario in scenarios() if only in scenario["name"]]
    chosen = [scenario for scenario in wanted if "servers" not in scenario]
    on_three = [scenario for scenario in wanted if "servers" in scenario]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        if address:
            config: dict[str, Any] = {"plain": address}
            empty(address)
            chosen = [
                s for s in chosen if "neo4j" not in s and "server" not in s.get("connect", {})
            ]
        else:
            config, _ = stack.enter_context(running(folder, count))
        config["scenarios"] = chosen
        asked = ask(command, config, folder)
        if on_three and not address:
            asked = itertools.chain(asked, ask_three(command, on_three))
        for scenario, fault in asked:
            outcome.faults[scenario["name"]] = fault
            if fault:
                print(f"{driver.name}: {scenario['name']}: {fault}", file=sys.stderr, flush=True)
    return outcome


# The page.


def page(outcomes: list[Outcome]) -> str:
    ran = [outcome for outcome in outcomes if not outcome.absent]
    names = list(dict.fromkeys(name for outcome in ran for name in outcome.faults))
    heads = [f"{outcome.driver} {outcome.version}" for outcome in ran]
    lines = ["# Drivers", ""]
    lines += [
        "`make drivers` runs the scenarios of `tests/drivers/scenarios.json` with Neo4j's own"
    ]
    lines += ["drivers against `nakshi serve --bolt`, and writes this page. The scenarios of three"]
    lines += ["servers are run with `neo4j://` and the address of a server that follows, on three"]
    lines += ["servers that agree on the graph (`--local 3`).", ""]
    lines += [f"| Scenario | {' | '.join(heads)} |", f"| --- |{' :-: |' * len(heads)}"]
    marks = {None: "-", "": "green"}
    for name in names:
        cells = [marks.get(outcome.faults.get(name), "**red**") for outcome in ran]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    green = [sum(not fault for fault in outcome.faults.values()) for outcome in ran]
    counts = [f"{count} of {len(outcome.faults)}" for count, outcome in zip(green, ran)]
    lines += [f"| **green** | {' | '.join(counts)} |"]
    for outcome in outcomes:
        if outcome.absent:
            lines += ["", f"{outcome.driver} was not run: {outcome.absent}."]
    faults: dict[str, list[str]] = {}
    for outcome in ran:
        for name, fault in outcome.faults.items():
            if fault:
                faults.setdefault(name, []).append(f"  {outcome.driver}: {fault}")
    if faults:
        lines += ["", "## Red", "", "```text"]
        for name, each in faults.items():
            lines += [name, *each]
        lines += ["```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = [driver.name.lower() for driver in DRIVERS]
    parser.add_argument("--drivers", default=",".join(names), help="names, by commas")
    parser.add_argument("--only", default="", help="scenarios with this text in their names")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "target" / "drivers", help="folder for drivers"
    )
    parser.add_argument(
        "--bolt",
        default="",
        help="HOST:PORT of a server that runs, instead of Nakshi's; its graph is emptied",
    )
    parser.add_argument(
        "--servers",
        type=int,
        default=1,
        help="servers that agree on the graph; its leader is asked",
    )
    parser.add_argument("--out", type=Path, help="file of the page")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    wanted = given.drivers.split(",")
    chosen = [driver for driver in DRIVERS if driver.name.lower() in wanted]
    outcomes = [run(one, given.work, given.only, given.bolt, given.servers) for one in chosen]
    text = page(outcomes)
    print(text)
    if given.out:
        given.out.write_text(text)
    return int(any(fault for outcome in outcomes for fault in outcome.faults.values()))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
