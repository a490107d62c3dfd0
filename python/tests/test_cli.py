"""The command line, as a process of its own."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import nakshi
import numpy as np
import pytest
from click.testing import CliRunner
from nakshi import cli
from nakshi.cli.algorithms import run as commands

from .conftest import ALGORITHMS, IO_FIELDS, run_cli

EDGES = "1 2\n2 3\n3 1\n3 4\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "edges.txt").write_text(EDGES)
    done = run_cli("import", tmp_path / "edges.txt", tmp_path / "graph.nakshi")
    assert done.code == 0, done.err
    return tmp_path / "graph.nakshi"


def test_version_and_help() -> None:
    assert run_cli("--version").out.startswith("nakshi 0.")
    text = run_cli("--help").out
    for command in ("import", "info", "run", "estimate", "export", "check", "generate"):
        assert f"\n  {command} " in text
        assert run_cli(command, "--help").code == 0
    # In this process, since so many would take a minute.
    for name in commands.commands:
        assert CliRunner().invoke(cli.nakshi, ["run", name, "--help"]).exit_code == 0
    for name in nakshi.algorithms():
        assert CliRunner().invoke(cli.nakshi, ["estimate", name, "--help"]).exit_code == 0


def test_import_reports(tmp_path: Path) -> None:
    (tmp_path / "edges.txt").write_text("1 2\n1 2\n2 2\n")
    done = run_cli("import", tmp_path / "edges.txt", tmp_path / "s", "--json")
    assert done.code == 0 and done.err == ""
    report = done.json
    assert (report["vertices"], report["edges"]) == (2, 2)
    assert (report["duplicates"], report["self_loops"]) == (1, 1)


def test_import_from_standard_input(tmp_path: Path) -> None:
    for number, data in enumerate([EDGES.encode(), gzip.compress(EDGES.encode())]):
        store = tmp_path / f"s{number}"
        assert run_cli("import", "-", store, stdin=data).code == 0
        assert nakshi.open(store).num_edges == 4


def test_import_several_files_and_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("when,w,to,from\n0,2.5,b,a\n")
    (tmp_path / "b.csv").write_text("when,w,to,from\n0,1.5,c,b\n")
    done = run_cli(
        "import", tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "s",
        "--weighted", "--columns", "from,to,w", "--undirected",
    )  # fmt: skip
    assert done.code == 0, done.err
    graph = nakshi.open(tmp_path / "s")
    assert graph.sssp(source="c").to_dict() == {"a": 4.0, "b": 1.5, "c": 0.0}


def test_stripes(tmp_path: Path) -> None:
    """Lists of more than a mebibyte lie in both directories, and a damaged one is found.

    Seen red with an option that the import is not told.
    """
    source = np.random.default_rng(11)
    ends = source.integers(0, 1000, (500_000, 2))
    np.savetxt(tmp_path / "e.txt", ends, fmt="%d")
    disks = [tmp_path / "a", tmp_path / "b"]
    words = ["import", tmp_path / "e.txt", tmp_path / "s", "--encoding", "raw"]
    given = [word for disk in disks for word in ("--stripe", disk)]
    done = run_cli(*words, *given)
    assert done.code == 1 and os.fspath(disks[0]) in done.err
    assert not (tmp_path / "s").exists()
    for disk in disks:
        disk.mkdir()
    done = run_cli(*words, *given, "--stripe", disks[0] / ".." / "a")
    assert done.code == 1 and "named twice" in done.err and not (tmp_path / "s").exists()
    done = run_cli(*words, *given)
    assert done.code == 0, done.err
    parts = [path for disk in disks for path in disk.rglob("*.adj")]
    assert len(parts) == 4 and all(part.stat().st_size >= 1 << 19 for part in parts)
    assert not list((tmp_path / "s").glob("*.adj"))

    plain = nakshi.build(tmp_path / "plain", tmp_path / "e.txt", encoding="raw")
    levels = run_cli("run", "bfs", tmp_path / "s", "--source", "7", "--engine", "ssd")
    assert levels.code == 0, levels.err
    assert nakshi.open(tmp_path / "s").bfs(source=7).to_dict() == plain.bfs(source=7).to_dict()
    assert run_cli("check", tmp_path / "s").code == 0
    with parts[-1].open("r+b") as part:
        part.seek(100_000)
        part.write(b"damage")
    assert run_cli("check", tmp_path / "s").code == 1


def test_every_long_command_takes_memory_and_threads(store: Path, tmp_path: Path) -> None:
    """Enough is enough, too little is refused at once and says what works."""
    edges = tmp_path / "generated.tsv"
    for words in (
        ["check", store],
        ["export", store, tmp_path / "e.tsv"],
        ["export", store, tmp_path / "e.parquet"],
        ["generate", "kronecker", edges, "--scale", "8"],
    ):
        done = run_cli(*words, "--memory", "128MiB", "--threads", "2")
        assert done.code == 0, done.err
        done = run_cli(*words, "--memory", "100KiB")
        assert done.code == 1 and "memory" in done.err, done.err
        assert len(done.err.splitlines()) == 1


def test_info(store: Path) -> None:
    assert "vertices" in run_cli("info", store).out
    report = run_cli("info", store, "--json").json
    assert (report["vertices"], report["edges"], report["directed"]) == (4, 4, True)
    assert report["format"] == 1 and report["content_hash"]


def test_run_prints_summary_and_top_ten(store: Path) -> None:
    done = run_cli("run", "pagerank", store, "--iterations", "20")
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert lines[0].split() == ["algorithm", "pagerank"]
    assert lines[-5].split() == ["id", "rank"]
    assert [line.split()[0] for line in lines[-4:]][0] == "3"


def test_run_json_has_the_schema(store: Path) -> None:
    done = run_cli("run", "bfs", store, "--source", "1", "--json", "--memory", "64MiB")
    report = done.json
    assert list(report) == [
        "algorithm", "engine", "threads", "vertices", "edges", "iterations", "seconds", "memory",
        "io", "result", "top",
    ]  # fmt: skip
    assert report["algorithm"] == "bfs"
    assert set(report["seconds"]) == {"open", "run"}
    assert set(report["memory"]) == {"budget", "peak_rss"}
    assert set(report["io"]) == IO_FIELDS
    assert report["result"]["reached"] == 4
    assert report["memory"]["budget"] == 64 << 20


def test_run_writes_files(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "levels.tsv"
    done = run_cli("run", "bfs", store, "--source", "4", "--out", out, "--threads", "1")
    assert done.code == 0, done.err
    assert out.read_text() == "1\tinf\n2\tinf\n3\tinf\n4\t0\n"
    assert "4 rows in" in done.out
    for ending in ("csv", "parquet"):
        out = tmp_path / f"levels.{ending}"
        assert run_cli("run", "bfs", store, "--source", "4", "--out", out).code == 0
        assert out.stat().st_size > 0


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_every_algorithm(name: str, store: Path) -> None:
    options = []
    for option, value in ALGORITHMS[name].items():
        text = "1,2" if isinstance(value, list) else "1" if option == "source" else str(value)
        options += [f"--{option}", text]
    for engine in ("memory", "ssd"):
        done = run_cli("run", name, store, "--engine", engine, "--json", *options)
        assert done.code == 0, done.err
        assert done.json["engine"] == engine
        assert run_cli("run", name, store, "--engine", engine, *options).code == 0
    minimum = run_cli("estimate", name, store, "--json", *options).json["minimum"]
    done = run_cli("run", name, store, "--memory", minimum, *options)
    assert done.code == 0, done.err


def test_estimate(store: Path) -> None:
    report = run_cli("estimate", "pagerank", store, "--json", "--iterations", "3").json
    assert 0 < report["minimum"] <= report["in_memory"]
    assert sum(report["parts"].values()) == report["minimum"]
    assert "minimum" in run_cli("estimate", "pagerank", store).out


def test_check_and_export(store: Path, tmp_path: Path) -> None:
    assert run_cli("check", store, "--json").json["ok"] is True
    out = tmp_path / "again.tsv"
    assert run_cli("export", store, out).code == 0
    pairs = sorted(tuple(line.split()) for line in out.read_text().splitlines())
    assert pairs == [("1", "2"), ("2", "3"), ("3", "1"), ("3", "4")]


def test_check_finds_damage(store: Path) -> None:
    victim = max(store.rglob("*.adj"), key=lambda path: path.stat().st_size)
    data = bytearray(victim.read_bytes())
    data[0] ^= 1
    victim.write_bytes(data)
    done = run_cli("check", store)
    assert done.code == 1
    assert victim.name in done.err


def test_generate_is_reproducible(tmp_path: Path) -> None:
    texts = []
    for number, seed in enumerate([7, 7, 8]):
        out = tmp_path / f"{number}.tsv"
        done = run_cli("generate", "kronecker", "--scale", "8", "--seed", seed, out, "--json")
        assert done.code == 0, done.err
        texts.append(out.read_text())
    assert texts[0] == texts[1] != texts[2]
    for kind in ("power-law", "log-normal", "hyperbolic"):
        done = run_cli("generate", kind, "--vertices", "500", tmp_path / f"{kind}.tsv")
        assert done.code == 0, done.err
    for wrong in (["--exponent", "2"], ["--degree", "0"], ["--degree", "500"], ["--edges", "9"]):
        words = ["generate", "hyperbolic", "--vertices", "500", *wrong, tmp_path / "wrong.tsv"]
        done = run_cli(*words)
        assert done.code == 1 and wrong[0].removeprefix("--") in done.err, done
        assert not (tmp_path / "wrong.tsv").exists()
    small = [
        "generate",
        "hyperbolic",
        "--vertices",
        "100000",
        tmp_path / "x.tsv",
        "--memory",
        "1MiB",
    ]
    assert "memory" in run_cli(*small).err
    for kind, edges in (("path", 499), ("grid", 955)):
        out = tmp_path / f"{kind}.tsv"
        done = run_cli("generate", kind, "--vertices", "500", "--shuffle", out, "--json")
        assert done.code == 0 and done.json["edges"] == edges, done.err
    nodes = tmp_path / "nodes.tsv"
    tables = ["generate", "kronecker", "--scale", "10", tmp_path / "edges.tsv", "--unique-text"]
    done = run_cli(*tables, "--nodes", nodes)
    assert done.code == 0, done.err
    values = [line.split("\t")[1] for line in nodes.read_text().splitlines()[1:]]
    assert len(set(values)) == len(values)
    assert "a file of nodes" in run_cli(*tables).err


def test_usage_errors_are_one_line_and_2(store: Path) -> None:
    for words in (
        ["run"],
        ["run", "pagerank"],
        ["run", "pagerankk", store],
        ["run", "bfs", store],
        ["run", "wcc", store, "--threads", "0"],
        ["run", "wcc", store, "--memory", "much"],
        ["run", "wcc", store, "--engine", "gpu"],
        ["run", "wcc", store, "--bogus"],
        ["run", "wcc", store, "--out", "x.xlsx"],
        ["import", "only-one"],
        ["frobnicate"],
    ):
        done = run_cli(*words)
        assert done.code == 2, words
        assert done.out == ""
        assert done.err.count("\n") == 1, (words, done.err)
        assert done.err.startswith("nakshi: ")


def test_a_closed_pipe_is_no_traceback(store: Path) -> None:
    words = f"{sys.executable} -m nakshi info {store} | head -c 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.parametrize("module", ["click", "nakshi.cli.walks"])
def test_ctrl_c_while_modules_are_loaded(module: str) -> None:
    """Before the command is known, and for the command. Seen red with the default handler, which shows where
    the import was.
    """
    program = (
        "import os, signal, sys\n"
        "from nakshi.start import main\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "main()\n"
    )
    call = [sys.executable, "-c", program, "run"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "nakshi: interrupted\n")


def test_the_interpreters_share_of_memory(store: Path) -> None:
    """`nakshi run` leaves numpy, rich and asyncio alone: a cap is spent on the graph."""
    program = (
        "import sys\n"
        "from nakshi.cli import nakshi\n"
        f"nakshi.main(['run', 'wcc', {os.fspath(store)!r}, '--json'], standalone_mode=False)\n"
        "heavy = {'numpy', 'rich', 'pandas', 'polars', 'pyarrow', 'asyncio', 'ssl'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["memory"]["peak_rss"] < 45 << 20
