"""Rows of results on standard output and in files, and what ends a command: pipes, Ctrl-C, budgets."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nakshi
import pyarrow as pa
import pytest

from .conftest import run_cli

NAKSHI = [sys.executable, "-m", "nakshi"]


def stdout(*words: object) -> bytes:
    done = subprocess.run([*NAKSHI, *map(str, words)], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout


def read(text: bytes, format: str) -> list[dict[str, Any]]:
    if format == "csv":
        return list(csv.DictReader(io.StringIO(text.decode())))
    if format == "jsonl":
        return [json.loads(line) for line in text.splitlines()]
    if format == "arrow":
        return pa.ipc.open_stream(text).read_all().to_pylist()
    from pyarrow import parquet

    return parquet.read_table(io.BytesIO(text)).to_pylist()


@pytest.mark.parametrize("format", ["csv", "jsonl", "arrow", "parquet"])
def test_rows_on_standard_output(diamond: nakshi.Graph, format: str) -> None:
    words = ["run", "bfs", diamond.path, "--source", "a", "--parents"]
    rows = read(stdout(*words, "--out", "-", "--format", format), format)
    expected = diamond.bfs("a", parents=True).to_arrow().to_pylist()
    if format == "csv":
        expected = [{k: "" if v is None else str(v) for k, v in row.items()} for row in expected]
    assert rows == expected
    # A format alone means standard output.
    assert read(stdout(*words, "--format", format), format) == expected


def test_tsv_on_standard_output(diamond: nakshi.Graph, tmp_path: Path) -> None:
    words = ["run", "bfs", diamond.path, "--source", "a"]
    piped = stdout(*words, "--out", "-")
    stdout(*words, "--out", tmp_path / "levels.tsv")
    assert (
        piped
        == (tmp_path / "levels.tsv").read_bytes()
        == b"a\t0\nb\t1\nc\t1\nd\t2\ne\tinf\nf\tinf\n"
    )


@pytest.mark.parametrize("ending", ["jsonl", "arrow", "parquet", "csv"])
def test_files_by_ending_and_by_format(diamond: nakshi.Graph, tmp_path: Path, ending: str) -> None:
    result = diamond.wcc()
    result.write(tmp_path / f"a.{ending}")
    result.write(tmp_path / "b.dat", format=ending)  # type: ignore[arg-type]
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / "b.dat").read_bytes()
    if ending == "arrow":
        found = pa.ipc.open_file(tmp_path / "a.arrow").read_all()
        assert found.to_pylist() == result.to_arrow().to_pylist()


def test_json_lines_of_any_id(tmp_path: Path) -> None:
    (tmp_path / "e.tsv").write_bytes(b'quo"te\t\xff\x01\n')
    graph = nakshi.build(tmp_path / "g", tmp_path / "e.tsv")
    graph.pagerank().write(tmp_path / "r.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert sorted(row["id"] for row in rows) == ["\\xff\x01", 'quo"te']


def test_what_cannot_be_written(diamond: nakshi.Graph, tmp_path: Path) -> None:
    words = ["run", "bfs", diamond.path, "--source", "a"]
    for more, message in (
        (["--out", tmp_path / "x.dat"], "--format"),
        (["--out", "-", "--json"], "--json and rows"),
        (["--format", "xml"], "xml"),
    ):
        done = run_cli(*words, *more)
        assert done.code == 2 and message in done.err, done
    with pytest.raises(nakshi.ParameterError, match="xml"):
        diamond.wcc().write(tmp_path / "x", format="xml")  # type: ignore[arg-type]


def test_json_has_the_top_rows(diamond: nakshi.Graph) -> None:
    found = run_cli("run", "bfs", diamond.path, "--source", "a", "--json").json
    assert found["top"][0] == {"id": "d", "level": 2} and len(found["top"]) == 4
    assert "top" not in run_cli("run", "diameter", diamond.path, "--json").json


@pytest.mark.parametrize("format", ["tsv", "csv", "jsonl", "arrow", "parquet"])
def test_a_closed_pipe_is_the_end(tmp_path: Path, format: str) -> None:
    """Seen red: exit code 1."""
    n = 60_000
    graph = nakshi.build(tmp_path / "g", (list(range(n)), list(range(1, n + 1))))
    words = ["run", "wcc", graph.path, "--format", format, "--no-progress"]
    process = subprocess.Popen([*NAKSHI, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.read(100)
    process.stdout.close()
    assert (process.wait(timeout=60), process.stderr.read()) == (0, b"")


def test_a_closed_pipe_ends_an_export(tmp_path: Path) -> None:
    n = 60_000
    graph = nakshi.build(tmp_path / "g", (list(range(n)), list(range(1, n + 1))))
    done = subprocess.run(
        f"set -o pipefail; {' '.join(NAKSHI)} export {graph.path} - --no-progress | head -1",
        shell=True,
        capture_output=True,
        executable="/bin/bash",
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_memory_is_told_apart(karate: nakshi.Graph) -> None:
    done = run_cli("run", "wcc", karate.path, "--memory", "64MiB").out
    lines = dict(line.split("  ", 1) for line in done.splitlines() if "  " in line)
    assert lines["memory cap"].strip() == "64.0 MiB"
    assert lines["peak rss"].strip().endswith("of the whole process")


def test_a_lock_of_this_process_says_so(tmp_path: Path) -> None:
    """Seen red with "another process", which nobody can find."""
    table = pa.table({"source": ["a"], "target": ["b"]})
    graph = nakshi.build(tmp_path / "g", table, properties=True)
    graph.append_node("c")
    second = nakshi.open(graph.path)
    with pytest.raises(nakshi.StoreLockedError, match="another handle of this process"):
        second.append_node("d")
    other = f"import nakshi; nakshi.open({graph.path!r}).append_node('d')"
    done = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
    assert "StoreLockedError" in done.stderr and "by another process" in done.stderr


def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    """Seen red: exit code 1."""
    process = subprocess.Popen(
        [*NAKSHI, "import", "-", str(tmp_path / "g")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"1\t2\n" * 1000)
    process.stdin.flush()
    end = time.monotonic() + 30
    while not os.listdir(tmp_path) and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    script = run_cli("completion", shell).out
    assert "_NAKSHI_COMPLETE" in script
    asked = {
        "COMP_WORDS": "nakshi run page",
        "COMP_CWORD": "2",
        "_NAKSHI_COMPLETE": f"{shell}_complete",
    }
    if shell == "fish":
        asked["COMP_CWORD"] = "page"
    environment = {**os.environ, **asked}
    done = subprocess.run(NAKSHI, env=environment, capture_output=True, text=True)
    assert "pagerank" in done.stdout and done.returncode == 0
    assert run_cli("completion", "tcsh").code == 2
