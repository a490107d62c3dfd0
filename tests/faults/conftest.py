"""Test graphs and mounts of the whole-process fault tests."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rig import CommandLine


@pytest.fixture(scope="session")
def nakshi() -> CommandLine:
    return CommandLine()


@pytest.fixture(scope="session")
def edge_list(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes seeded edge lists with a few hubs: `edge_list(vertices, edges, hub=0.0)`."""
    folder = tmp_path_factory.mktemp("edges")

    def make(vertices: int, edges: int, hub: float = 0.0, seed: int = 1) -> Path:
        path = folder / f"{vertices}-{edges}-{hub}-{seed}.tsv"
        if not path.exists():
            source = random.Random(seed)
            with open(path, "w") as file:
                for _ in range(edges):
                    # A product of two uniform numbers favours small ids: a heavy tail.
                    u = 0 if source.random() < hub else int(vertices * source.random() ** 3)
                    file.write(f"{u}\t{int(vertices * source.random())}\n")
        return path

    return make


@pytest.fixture(scope="session")
def small_edges(edge_list: Callable[..., Path]) -> Path:
    """20,000 edges: an import of it takes a moment and some hundred file operations."""
    return edge_list(3_000, 20_000)


@pytest.fixture(scope="session")
def kronecker(nakshi: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a Kronecker graph of scale 15, undirected, that reads a few MB in each pass."""
    folder = tmp_path_factory.mktemp("kronecker")
    nakshi.json("generate", "kronecker", "--scale", 15, folder / "edges.tsv")
    nakshi.json("import", folder / "edges.tsv", folder / "graph.nakshi", "--undirected")
    return folder / "graph.nakshi"


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mounts for one test: `mount("tmpfs", "-o", "size=8m")`; skips where root is refused."""
    mounted: list[Path] = []

    def make(kind: str, *options: str, source: str = "nakshi-test") -> Path:
        if os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("mounting needs root")
        point = tmp_path / f"mount-{len(mounted)}"
        point.mkdir()
        words = ["mount", *(["-t", kind] if kind != "bind" else ["--bind"]), *options]
        done = subprocess.run([*words, source, str(point)], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"mounting is refused here: {done.stderr.strip()}")
        mounted.append(point)
        return point

    yield make
    for point in reversed(mounted):
        subprocess.run(["umount", "--lazy", str(point)], check=False)


@pytest.fixture
def ext4(tmp_path: Path, mount: Callable[..., Path]) -> Callable[..., Path]:
    """A loop-mounted ext4 of so many MiB: `ext4(64, "data=journal")`."""

    def make(mib: int, *options: str) -> Path:
        if shutil.which("mkfs.ext4") is None:
            pytest.skip("mkfs.ext4 is not installed (e2fsprogs)")
        image = tmp_path / f"ext4-{mib}.img"
        with open(image, "wb") as file:
            file.truncate(mib << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
        return mount("ext4", "-o", ",".join(["loop", *options]), source=str(image))

    return make
