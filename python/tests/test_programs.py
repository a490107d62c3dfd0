"""Programs of users, on all engines, against the algorithms, and what goes wrong in them."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
import pytest
from nakshi.errors import (
    BudgetError,
    ClusterError,
    DeadlineError,
    ParameterError,
    ProgramError,
    UnknownVertexError,
    UnsupportedError,
)

pytest.importorskip(
    "numba", reason="programs are compiled by Numba: pip install 'nakshi[programs]'"
)

FAR = 4_294_967_295


@nakshi.program(value="f8", init=lambda v, n: 1 / n)
def rank(v: Any, neighbors: Any, values: Any, out_degree: Any, n: Any, damping: Any = 0.85) -> Any:
    total = 0.0
    for u in neighbors:
        total += values[u] / out_degree[u]
    return (1 - damping) / n + damping * total


@nakshi.program(
    value="u4",
    init=lambda source: 0 if source else FAR,
    send=lambda value: value + 1,
    combine="any",
    wants=lambda value: value == FAR,
)
def level(message: Any) -> Any:
    return message


@nakshi.program(
    value="f8",
    init=lambda source: 0.0 if source else math.inf,
    send=lambda value, weight: value + weight,
    combine="min",
)
def distance(value: Any, message: Any) -> Any:
    return min(value, message)


@nakshi.program(
    value="u4",
    init=lambda v: v,
    send=lambda value: value,
    combine="min",
    links="both",
    wants=lambda value: value > 0,
    eager=True,
)
def component(value: Any, message: Any) -> Any:
    return min(value, message)


@nakshi.program(value={"best": "i8", "heard": "u1"}, init=lambda v: (v % 97, 0), adds=True)
def loudest(v: Any, neighbors: Any, best: Any, heard: Any, totals: Any, step: Any) -> Any:
    found = best[v]
    for u in neighbors:
        found = max(found, best[u])
    return found, min(step, 200), float(found)


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def either(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> nakshi.Graph:
    """A graph with hubs, isolated vertices, loops and weights."""
    return made(tmp_path_factory, request.param)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> nakshi.Graph:
    """The directed one."""
    return made(tmp_path_factory, True)


def made(tmp_path_factory: pytest.TempPathFactory, directed: bool) -> nakshi.Graph:
    draw = np.random.default_rng(5)
    sources, targets = (draw.random((2, 6_000)) ** 3 * 1000).astype(int)
    weights = draw.integers(1, 20, 6_000)
    folder = tmp_path_factory.mktemp("programs")
    lines = [f"{a}\t{b}\t{w}\n" for a, b, w in zip(sources, targets, weights, strict=True)]
    (folder / "edges.tsv").write_text("".join(lines))
    return nakshi.build(
        folder / "graph.nakshi",
        edges=folder / "edges.tsv",
        directed=directed,
        weighted=True,
        layout="degree",
        progress=False,
    )


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Two workers that serve one run after the other, and their token."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "token").write_text("a token of these tests")
    call = [sys.executable, "-m", "nakshi", "worker", "--json", "--until-eof"]
    call += ["--listen", "127.0.0.1:0", "--token-file", str(folder / "token"), "--allow", "/"]
    pipe = subprocess.PIPE
    workers = [subprocess.Popen(call, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    addresses = []
    for worker in workers:
        assert worker.stdout is not None
        addresses.append(json.loads(worker.stdout.readline())["address"])
    yield {"hosts": addresses, "token_file": folder / "token", "progress": False}
    for worker in workers:
        worker.communicate(timeout=20)


def runs(
    graph: nakshi.Graph, hosts: dict[str, Any], program: nakshi.programs.Program, **given: Any
) -> list[np.ndarray]:
    """The values of a program by each engine, compiled and not, and on the workers."""
    found = [
        graph.run(program, engine="memory", threads=1, **given),
        graph.run(program, engine="ssd", memory="64MiB", threads=2, **given),
        graph.run(program, jit=False, **given),
    ]
    if graph.directed and program is not component:
        # Each worker compiles it, which takes seconds.
        found.append(nakshi.cluster.run(program, graph, **hosts, **given))
    return [result.to_numpy()[1] for result in found]


def test_ranks_are_those_of_pagerank(graph: nakshi.Graph) -> None:
    @nakshi.program(value="f8", init=lambda n: 1 / n, adds=True)
    def spread(
        v: Any, neighbors: Any, values: Any, out_degree: Any, n: Any, totals: Any, step: Any
    ) -> Any:
        total = 0.0
        for u in neighbors:
            total += values[u] / out_degree[u]
        lost = totals[1]
        if step == 1:
            lost = 0.0
            for u in range(n):
                if out_degree[u] == 0:
                    lost += values[u]
        rank = 0.15 / n + 0.85 * (total + lost / n)
        return rank, (rank if out_degree[v] == 0 else 0.0)

    wanted = graph.pagerank(iterations=10, tolerance=0.0).to_numpy()[1]
    np.testing.assert_allclose(graph.run(spread, iterations=10).to_numpy()[1], wanted, rtol=1e-9)


def test_all_engines_find_the_same(either: nakshi.Graph, hosts: dict[str, Any]) -> None:
    first, *others = runs(either, hosts, rank, iterations=5, damping=0.9)
    assert all(np.allclose(other, first, rtol=1e-12) for other in others)
    first, *others = runs(either, hosts, loudest)
    assert all((other == first).all() for other in others)


def test_levels_are_those_of_bfs(either: nakshi.Graph, hosts: dict[str, Any]) -> None:
    hub = int(either.degrees().top(1)[0][0])
    wanted = either.bfs(source=hub).to_numpy()[1]
    wanted = np.where(np.isfinite(wanted), wanted, FAR)
    for found in runs(either, hosts, level, sources=[hub]):
        assert (found == wanted).all()


def test_distances_are_those_of_sssp(either: nakshi.Graph, hosts: dict[str, Any]) -> None:
    wanted = either.sssp(source=3).to_numpy()[1]
    for found in runs(either, hosts, distance, sources=[3]):
        assert (found == wanted).all()


def test_components_are_those_of_wcc(either: nakshi.Graph, hosts: dict[str, Any]) -> None:
    wanted = either.wcc().to_numpy()[1]
    for found in runs(either, hosts, component):
        pairs = set(zip(found.tolist(), wanted.tolist(), strict=True))
        assert len(pairs) == len(set(found.tolist())) == len(set(wanted.tolist()))


@pytest.mark.parametrize("name", ["bfs", "sssp", "wcc", "pagerank"])
def test_our_programs_find_what_our_kernels_find(either: nakshi.Graph, name: str) -> None:
    given: dict[str, Any] = {"source": 3} if name in ("bfs", "sssp") else {}
    wanted = either.run(name, **given).to_numpy()[1]
    for engine in ("memory", "ssd"):
        found = either.run(name, variant="block", engine=engine, **given).to_numpy()[1]
        np.testing.assert_allclose(found, wanted, rtol=1e-5 if name == "pagerank" else 0)


def test_sums_of_messages(graph: nakshi.Graph) -> None:
    @nakshi.program(
        value="i8", init=lambda v: 1, send=lambda value: value, combine="sum", message="i8"
    )
    def counted(value: Any, message: Any, step: Any) -> Any:
        return message if step == 1 else value

    found = graph.run(counted).to_numpy()[1]
    wanted = np.maximum(graph.degree(graph.degrees().to_numpy()[0], direction="in"), 1)
    assert (found == wanted).all()


def test_arrays_that_are_given(graph: nakshi.Graph, tmp_path: Path) -> None:
    @nakshi.program(value="f8", given=["weight_of"], init=lambda weight_of: weight_of)
    def doubled(v: Any, values: Any, weight_of: Any, step: Any) -> Any:
        return values[v] + weight_of[v] if step == 1 else values[v]

    ranks = graph.pagerank(iterations=3)
    wanted = 2 * ranks.to_numpy()[1]
    for given in (ranks, ranks.to_numpy()[1], list(ranks.to_numpy()[1])):
        for jit in (True, False):
            found = graph.run(doubled, weight_of=given, jit=jit)
            np.testing.assert_allclose(found.to_numpy()[1], wanted)
    with pytest.raises(ParameterError, match="ascending by id"):
        graph.run(doubled, weight_of=[1.0, 2.0])
    with pytest.raises(ParameterError, match="is given weight_of; the run names none"):
        graph.run(doubled)

    (tmp_path / "nodes.csv").write_text(":ID,age:int\nann,7\nbob,9\n")
    (tmp_path / "edges.csv").write_text(":START_ID,:END_ID,:TYPE\nann,bob,knows\n")
    with nakshi.build(
        tmp_path / "p.nakshi",
        edges=tmp_path / "edges.csv",
        nodes=tmp_path / "nodes.csv",
        properties=True,
    ) as people:
        assert people.run(doubled, weight_of="age").to_dict() == {"ann": 14.0, "bob": 18.0}


def test_errors_name_the_line_and_the_vertex(graph: nakshi.Graph, hosts: dict[str, Any]) -> None:
    @nakshi.program(value="i8", init=lambda v: v)
    def divides(v: Any, values: Any, step: Any) -> Any:
        number = values[v] + 1
        return number // (3 - step)  # the line

    line = (
        Path(__file__)
        .read_text()
        .splitlines()
        .index("        return number // (3 - step)  # the line")
        + 1
    )
    told = rf"divides failed in step 3, at vertex \d+: ZeroDivisionError: .*test_programs.py\", line {line}"
    for engine in ("memory", "ssd"):
        with pytest.raises(ProgramError, match=told):
            graph.run(divides, engine=engine)
    with pytest.raises(ZeroDivisionError):
        graph.run(divides, jit=False)
    with pytest.raises(ClusterError, match=told):
        nakshi.cluster.run(divides, graph, **hosts)


def test_indices_outside_are_errors(graph: nakshi.Graph) -> None:
    @nakshi.program(value="f8")
    def outside(v: Any, values: Any, n: Any) -> Any:
        return values[v + n * 1000]

    with pytest.raises(ProgramError, match=r"IndexError.*line \d+"):
        graph.run(outside)

    @nakshi.program(value="f8")
    def writes(v: Any, values: Any) -> Any:
        values[v] = 1.0
        return 0.0

    with pytest.raises(ProgramError, match=r"Numba cannot compile it.*line \d+"):
        graph.run(writes)
    with pytest.raises(ValueError, match="read-only"):
        graph.run(writes, jit=False)


def test_what_a_value_cannot_hold_is_an_error(graph: nakshi.Graph) -> None:
    @nakshi.program(value="u1")
    def grows(v: Any, values: Any) -> Any:
        return values[v] + 100

    with pytest.raises(ProgramError, match=r"grows has returned a number in step 3.*cannot hold"):
        graph.run(grows)

    @nakshi.program(value="u4")
    def halves(v: Any, values: Any) -> Any:
        return values[v] / 2

    with pytest.raises(ProgramError, match="halves returns float64 for values, which is uint32"):
        graph.run(halves)

    @nakshi.program(value="u4")
    def nothing(v: Any) -> Any:
        return None

    with pytest.raises(ProgramError, match="nothing returns none"):
        graph.run(nothing)

    @nakshi.program(value={"a": "f8", "b": "f8"}, init=lambda v: (0.0, 0.0))
    def lacks(v: Any, a: Any) -> Any:
        return a[v]

    with pytest.raises(ProgramError, match="lacks returns float64, not a, b"):
        graph.run(lacks)


@nakshi.program(value="f8")
def forever(v: Any, values: Any) -> Any:
    x = 0.0
    while x >= 0:
        x += 1
    return x


def test_loops_that_do_not_end_are_stopped(graph: nakshi.Graph, hosts: dict[str, Any]) -> None:
    """Seen red without the look at the flag in loops: the run did not end."""
    forever.compiled  # noqa: B018
    began = time.perf_counter()
    with pytest.raises(DeadlineError):
        graph.run(forever, timeout=0.3)
    assert time.perf_counter() - began < 5
    with pytest.raises(nakshi.NakshiError):
        nakshi.cluster.run(forever, graph, **hosts, timeout=8.0)
    # The workers serve the next run.
    found = nakshi.cluster.run(level, graph, **hosts, sources=[3])
    assert found.summary["iterations"] > 0


def test_parameters_are_checked(graph: nakshi.Graph) -> None:
    with pytest.raises(ParameterError, match="no parameter 'neighbours' is known"):
        nakshi.program(value="f8")(lambda v, neighbours: 0.0)
    with pytest.raises(ParameterError, match="the type of values is 'f16'"):
        nakshi.program(value="f16")(lambda v: 0.0)
    with pytest.raises(ParameterError, match="give send, too"):
        nakshi.program(value="f8", links="both")(lambda v: 0.0)
    with pytest.raises(ParameterError, match="has no parameter 'dampin'"):
        graph.run(rank, dampin=0.5)
    with pytest.raises(ParameterError, match="asks for sources"):
        graph.run(level)
    with pytest.raises(ParameterError, match="sources is a list"):
        graph.run(level, sources="3")
    with pytest.raises(UnknownVertexError):
        graph.run(level, sources=[10**9])
    with pytest.raises(ParameterError, match="reads no weights"):
        graph.run(rank, weight="weight")
    with pytest.raises(ParameterError, match="leave out tolerance"):
        graph.run(distance, sources=[3], tolerance=0.1)
    with pytest.raises(BudgetError):
        graph.run(rank, memory="100KiB")


def test_tolerance_ends_a_run(graph: nakshi.Graph) -> None:
    steps = [
        graph.run(rank, tolerance=tolerance).summary["iterations"] for tolerance in (1e-2, 1e-6)
    ]
    assert 1 < steps[0] < steps[1]


def test_what_servers_cannot_have_is_told(graph: nakshi.Graph) -> None:
    table = {1: 2}

    @nakshi.program(value="f8")
    def uses(v: Any) -> Any:
        return float(len(table))

    with pytest.raises(ProgramError, match="uses uses table, which is of type dict"):
        nakshi.cluster.run(uses, graph, local=2)
    space: dict[str, Any] = {"nakshi": nakshi}
    exec('@nakshi.program(value="f8")\ndef hidden(v):\n    return 1.0\n', space)
    with pytest.raises(ProgramError, match="hidden has no source"):
        nakshi.cluster.run(space["hidden"], graph, local=2)
    assert graph.run(space["hidden"]).summary["changed"] == 0


def test_degrees_of_both_directions(graph: nakshi.Graph, hosts: dict[str, Any]) -> None:
    """Servers add up both degrees, so a program that reads one of them is refused there."""

    @nakshi.program(
        value="i8", init=lambda out_degree: out_degree, send=lambda value: value, links="both"
    )
    def least(value: Any, message: Any) -> Any:
        return min(value, message)

    assert graph.run(least).summary["iterations"] > 0
    with pytest.raises(ParameterError, match="run it on one machine"):
        nakshi.cluster.run(least, graph, **hosts)


def test_without_numba(graph: nakshi.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    @nakshi.program(value="f8")
    def one(v: Any) -> Any:
        return 1.0

    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'nakshi\[programs\]'"):
        graph.run(one)
    assert set(graph.run(one, jit=False).to_numpy()[1]) == {1.0}


def test_runs_in_several_threads(graph: nakshi.Graph) -> None:
    wanted = graph.run(rank, iterations=5).to_numpy()[1]
    found: list[np.ndarray] = []

    def run() -> None:
        found.append(graph.run(rank, iterations=5, progress=False).to_numpy()[1])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all((one == wanted).all() for one in found)
