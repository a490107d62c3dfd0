"""Archives of KONECT."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import nakshi
import pytest

from .conftest import Outcome


def archive(path: Path, text: bytes, name: str = "toy/out.toy") -> Path:
    with tarfile.open(path, "w:bz2") as file:
        for member, content in (("toy/README.toy", b"a network"), (name, text)):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


def edges(graph: nakshi.Graph) -> set[tuple[object, object]]:
    return set(zip(*(ends.tolist() for ends in graph.edges())))


def test_headers_tell_the_direction(tmp_path: Path, cli: Callable[..., Outcome]) -> None:
    lines = b"\n1 2 3 1082008561\n2 3 0.5 1082008562\n"
    one = archive(tmp_path / "asym.tar.bz2", b"% asym positive" + lines)
    graph = nakshi.build(tmp_path / "asym", one, directed=False, weighted=True)
    assert graph.directed and edges(graph) == {(1, 2), (2, 3)}
    assert graph.sssp(1).to_dict() == {1: 0.0, 2: 3.0, 3: 3.5}
    two = archive(tmp_path / "sym.tar.bz2", b"% sym positive\n% 2 3 3" + lines)
    told = cli("import", two, tmp_path / "sym")
    assert told.code == 0 and "undirected, as its header says" in told.out + told.err
    assert not nakshi.open(tmp_path / "sym").directed
    # Nothing is left beside the store.
    assert not list(tmp_path.glob("*.tsv"))


def test_sides_of_a_bipartite_network(tmp_path: Path) -> None:
    one = archive(tmp_path / "bip.tbz2", b"% bip weighted\n% 3 2 2\n1 1 4\n1\t2\t5\n2 1\n")
    graph = nakshi.build(tmp_path / "bip", [one], weighted=False)
    assert edges(graph) == {("u1", "v1"), ("u1", "v2"), ("u2", "v1")}


def test_other_archives_are_refused(tmp_path: Path) -> None:
    def refused(path: Path, message: str) -> None:
        with pytest.raises(nakshi.InputError, match=message):
            nakshi.build(tmp_path / "store", path)
        assert not (tmp_path / "store").exists() and not list(tmp_path.glob("*.tsv"))

    refused(archive(tmp_path / "a.tar.bz2", b"1 2\n"), "no header of KONECT")
    refused(archive(tmp_path / "b.tar.bz2", b""), "no header of KONECT")
    refused(archive(tmp_path / "c.tar.bz2", b"1 2\n", "toy/edges"), "no file out")
    refused(tmp_path / "d.tar.bz2", "no such file")
    whole = archive(tmp_path / "e.tar.bz2", b"% sym\n" + b"1 2\n" * 100_000).read_bytes()
    (tmp_path / "f.tar.bz2").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / "f.tar.bz2", "damaged")
    (tmp_path / "g.tar.bz2").write_bytes(b"no archive" * 99)
    refused(tmp_path / "g.tar.bz2", "damaged")
