"""Bad input: each its own error in one line that says what to do; nothing half is left."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import nakshi
import numpy as np
import pytest

from .conftest import run_cli


def fails(error: type[Exception], text: str, *words: object) -> None:
    """The command fails with one line that contains `text` and exit code 1."""
    done = run_cli(*words)
    assert done.code == 1, (words, done)
    assert done.out == ""
    assert done.err.startswith("nakshi: ") and done.err.count("\n") == 1, done.err
    assert text in done.err, done.err


def test_the_tree() -> None:
    for name in nakshi.errors.__all__:
        kind = getattr(nakshi, name)
        assert issubclass(kind, (nakshi.NakshiError, nakshi.InputWarning))
        assert kind.__doc__
        copy = pickle.loads(pickle.dumps(kind("what to do")))
        assert type(copy) is kind and str(copy) == "what to do"
    assert issubclass(nakshi.BudgetError, MemoryError)
    assert issubclass(nakshi.StoreNotFoundError, FileNotFoundError)


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(nakshi.StoreNotFoundError, match="nothing"):
        nakshi.open(tmp_path / "nothing")
    with pytest.raises(nakshi.StoreNotFoundError, match="not a nakshi store"):
        nakshi.open(tmp_path)
    file = tmp_path / "file"
    file.write_text("hello")
    with pytest.raises(nakshi.NakshiError, match="file"):
        nakshi.open(file)
    fails(nakshi.StoreNotFoundError, "nothing", "run", "wcc", tmp_path / "nothing")
    fails(nakshi.StoreNotFoundError, "nothing", "info", tmp_path / "nothing")


def test_no_edges(tmp_path: Path) -> None:
    with pytest.raises(nakshi.InputError, match="missing.tsv"):
        nakshi.build(tmp_path / "s", tmp_path / "missing.tsv")
    assert not (tmp_path / "s").exists()
    fails(nakshi.InputError, "missing", "import", tmp_path / "missing", tmp_path / "s")


@pytest.mark.parametrize(
    ("text", "where"),
    [("1 2\n3\n", ":2"), ("1 2 0.5\n1 3 heavy\n", ":2"), ("1 2 nan\n", ":1")],
)
def test_a_wrong_line(text: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "edges.tsv"
    path.write_text(text)
    with pytest.raises(nakshi.InputError, match=f"edges.tsv{where}") as caught:
        nakshi.build(tmp_path / "s", path, weighted=" 0.5" in text or "nan" in text)
    assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["edges.tsv"]


def test_a_file_that_is_no_edge_list(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    with pytest.raises(nakshi.NakshiError, match="picture.png"):
        nakshi.build(tmp_path / "s", path)
    assert os.listdir(tmp_path) == ["picture.png"]


def test_the_store_exists(karate: nakshi.Graph) -> None:
    with pytest.raises(nakshi.StoreExistsError, match="exists"):
        nakshi.build(karate.path, ([1], [2]))
    with pytest.raises(FileExistsError):
        nakshi.build(karate.path, ([1], [2]))
    assert karate.num_edges == 78


@pytest.mark.parametrize("source", [34, -1, 10**30, "nobody", b"\xff", 1 << 63])
def test_unknown_source(source: object, karate: nakshi.Graph) -> None:
    for call in (karate.bfs, karate.sssp):
        with pytest.raises(nakshi.UnknownVertexError, match="vertex"):
            call(source=source)  # type: ignore[arg-type]
    with pytest.raises(LookupError):
        karate.betweenness(sources=[0, source])  # type: ignore[list-item]


def test_unknown_source_on_the_command_line(karate: nakshi.Graph) -> None:
    fails(nakshi.UnknownVertexError, "99", "run", "bfs", karate.path, "--source", "99")
    fails(nakshi.UnknownVertexError, "x", "run", "bc", karate.path, "--sources", "1,x")


def test_negative_weights(tmp_path: Path) -> None:
    graph = nakshi.build(tmp_path / "s", ([1, 2], [2, 3], [1.0, -2.0]), weighted=True)
    with pytest.raises(nakshi.ParameterError, match="negative"):
        graph.sssp(source=1)
    assert graph.bfs(source=1).summary["reached"] == 3
    fails(nakshi.ParameterError, "negative", "run", "sssp", graph.path, "--source", "1")


def test_unweighted_store(karate: nakshi.Graph) -> None:
    with pytest.raises(nakshi.ParameterError, match="column"):
        karate.sssp(source=0, weight="cost")
    words = ["run", "sssp", karate.path, "--source", "0"]
    fails(nakshi.ParameterError, "--weighted", *words, "--weighted")
    assert run_cli(*words).code == 0


def test_too_little_memory(karate: nakshi.Graph) -> None:
    with pytest.raises(nakshi.BudgetError, match="needs") as caught:
        karate.pagerank(memory="4KiB")
    assert isinstance(caught.value, MemoryError)
    karate.pagerank(memory=karate.estimate("pagerank")["minimum"])
    # The remedy as it stands works, in Python and on the command line.
    told = re.search(
        r'needs [0-9.]+ MiB of memory, 4.0 KiB were given; try memory="(.+)"$', str(caught.value)
    )
    assert told, caught.value
    karate.pagerank(memory=told[1])
    words = ["run", "wcc", karate.path, "--memory"]
    fails(nakshi.BudgetError, "; try --memory ", *words, "1KiB")
    assert run_cli(*words, run_cli(*words, "1KiB").err.split()[-1]).code == 0


def test_too_little_memory_for_an_import(tmp_path: Path) -> None:
    with pytest.raises(nakshi.BudgetError):
        nakshi.build(tmp_path / "s", ([1], [2]), memory="1KiB")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root, no setpriv"
)
def test_read_only_directory(tmp_path: Path) -> None:
    """Reading needs no writing; an import names the directory. As nobody: root may write all."""
    folder = tmp_path / "folder"
    folder.mkdir()
    store = nakshi.build(folder / "s", ([1, 2], [2, 3])).path
    edges = tmp_path / "edges.tsv"
    edges.write_text("1 2\n")
    for place in (folder, *Path(store).rglob("*"), Path(store)):
        place.chmod(place.stat().st_mode & ~0o222 | 0o444)
    for parent in [tmp_path, *tmp_path.parents]:
        if parent.stat().st_uid == os.geteuid():
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    prefix = nobody if os.geteuid() == 0 else []

    def as_nobody(*words: object) -> subprocess.CompletedProcess[str]:
        command = [*prefix, sys.executable, "-m", "nakshi", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True)

    try:
        done = as_nobody("import", edges, folder / "new")
        if "Permission denied" in done.stderr and "python" in done.stderr:
            pytest.skip("nobody may not run this interpreter")
        assert done.returncode == 1
        assert str(folder) in done.stderr and done.stderr.count("\n") == 1
        for words in (["run", "wcc", store], ["info", store], ["check", store]):
            done = as_nobody(*words)
            assert done.returncode == 0, done.stderr
    finally:
        for place in (folder, Path(store)):
            place.chmod(0o755)


def test_newer_format(karate: nakshi.Graph) -> None:
    manifest = next(Path(karate.path).glob("MANIFEST-*"))
    data = manifest.read_bytes()
    manifest.write_bytes(data.replace(b"nakshi manifest 1\n", b"nakshi manifest 999\n"))
    with pytest.raises(nakshi.IncompatibleError, match="999.*newer"):
        nakshi.open(karate.path)
    fails(nakshi.IncompatibleError, "999", "run", "wcc", karate.path)


def test_damage(karate: nakshi.Graph) -> None:
    for path in Path(karate.path).rglob("*.adj"):
        path.write_bytes(bytes(path.stat().st_size))
    for engine in ("memory", "ssd"):
        with pytest.raises(nakshi.CorruptError, match="adj"):
            nakshi.open(karate.path).pagerank(engine=engine)  # type: ignore[arg-type]


def test_wrong_arguments(karate: nakshi.Graph) -> None:
    for call in (
        lambda: karate.pagerank(engine="gpu"),  # type: ignore[arg-type]
        lambda: karate.pagerank(threads=0),
        lambda: karate.pagerank(timeout=-1),
        lambda: karate.pagerank(memory="plenty"),
        lambda: karate.pagerank(damping=2.0),
        lambda: karate.pagerank(iterations=-3),
        lambda: karate.betweenness(sources="0"),
        lambda: karate.run("pagerank", dampling=0.5),
        lambda: karate.run("pagerink"),
        lambda: karate.bfs(source=object()),  # type: ignore[arg-type]
    ):
        with pytest.raises(nakshi.ParameterError) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_a_closed_graph(karate: nakshi.Graph) -> None:
    with karate:
        assert karate.num_vertices == 34
    with pytest.raises(nakshi.StoreError, match="closed"):
        karate.wcc()


@pytest.mark.parametrize(
    "edges",
    [
        42,
        [],
        None,
        ([1], [2, 3]),
        (np.zeros((2, 2)), np.zeros(2)),
        (np.array([True]), np.array([False])),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), np.array([1])),
        ([1.5], [2.0]),
        np.zeros((3, 5), dtype=int),
        ([object()], [1]),
    ],
)
def test_what_is_no_edges(edges: object, tmp_path: Path) -> None:
    with pytest.raises(nakshi.NakshiError) as caught:
        nakshi.build(tmp_path / "s", edges)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []
