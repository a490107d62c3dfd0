"""Files that peers read, and comparisons of what systems found, as a program of its own.

    files.py export FOLDER               # of a graph, what peers read beside edges.tsv
    files.py compare KERNEL OURS THEIRS  # why two answers differ, or nothing
    files.py mirrors FOLDER SERVERS      # of PowerGraph, with each direction an edge
    files.py total ANSWER                # of the numbers of all vertices

numpy stays out of the program that measures, so that it stays small.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

#: Relative difference that ranks may have; systems add them up in different orders.
CLOSE = 1e-9


def export(folder: Path) -> None:
    """Writes, once, ``both.tsv`` and ``both.bin`` with each edge in both directions, ``once.bin``, and
    ``grape.v`` with the vertices that have an edge. The binary files are pairs of 32-bit ids."""
    if (folder / "grape.v").exists():
        return
    once = np.stack([np.load(folder / f"{name}.npy").astype(np.uint32) for name in "uv"], axis=1)
    both = np.concatenate([once, once[:, ::-1]])
    once.tofile(folder / "once.bin")
    both.tofile(folder / "both.bin")
    np.savetxt(folder / "both.tsv", both, fmt="%d", delimiter="\t")
    np.savetxt(folder / "grape.v", np.unique(once), fmt="%d")


def read(place: Path) -> tuple[np.ndarray, np.ndarray]:
    """Reads vertices, ascending, and their values from a file or from all files of a folder. A line has a
    pair, separated by a tab or a space, or as a tuple of Scala."""
    files = sorted(place.glob("[!._]*")) if place.is_dir() else [place]
    clean = {ord(letter): " " for letter in "(),\t"}
    words = " ".join(file.read_text().translate(clean) for file in files).split()
    # Labels are ids, which a double represents exactly.
    pairs = np.array(words, dtype=np.float64).reshape(-1, 2)
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    return pairs[:, 0].astype(np.int64), pairs[:, 1]


def difference(kernel: str, ours: Path, theirs: Path) -> str | None:
    """Returns a reason why two answers differ; None if they agree."""
    (vertices, a), (others, b) = read(ours), read(theirs)
    if not np.array_equal(vertices, others):
        return f"{len(vertices):,} vertices here and {len(others):,} there, or others"
    if kernel == "pagerank":
        # Some systems scale ranks to a sum of 1, others to the number of vertices.
        a, b = a / a.sum(), b / b.sum()
        worst = int(np.argmax(np.abs(a - b) / a))
        if abs(a[worst] - b[worst]) > CLOSE * a[worst]:
            return f"vertex {vertices[worst]} ranks {a[worst]} here and {b[worst]} there"
    elif kernel == "wcc":
        pairs = len(np.unique(np.stack([a, b], axis=1), axis=0))
        if not pairs == len(np.unique(a)) == len(np.unique(b)):
            return f"{len(np.unique(a))} components here and {len(np.unique(b))} there, or others"
    else:
        # An unreached vertex is at infinity, or at the largest number of some type.
        a, b = (np.where(levels < 2**31, levels, -1) for levels in (a, b))
        if not np.array_equal(a, b):
            worst = int(np.argmax(a != b))
            return f"vertex {vertices[worst]} is at level {a[worst]} here and {b[worst]} there"
    return None


def mirrors(folder: Path, servers: int) -> int:
    """Expected number of PowerGraph's mirrors (equation 2.5) where the two directions of an edge are two
    edges, each placed on its own, as PowerGraph reads them from an edge list of both."""
    ends = np.concatenate([np.load(folder / f"{name}.npy") for name in "uv"])
    edges = 2.0 * np.bincount(ends)
    replicas = servers * (1 - (1 - 1 / servers) ** edges)
    return round(float(np.maximum(replicas - 1, 0).sum()))


def run(*words: object) -> str:
    """Runs this program and returns its output."""
    call = [sys.executable, __file__, *map(str, words)]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


def same(kernel: str, ours: Path, theirs: Path, name: str) -> None:
    """Ends the program if the answers differ: a time of a wrong answer is never written."""
    found = run("compare", kernel, ours, theirs)
    if found:
        sys.exit(f"answers differ, {kernel} of Nakshi and {name}: {found}")


if __name__ == "__main__":
    if sys.argv[1] == "export":
        export(Path(sys.argv[2]))
    elif sys.argv[1] == "mirrors":
        print(mirrors(Path(sys.argv[2]), int(sys.argv[3])))
    elif sys.argv[1] == "total":
        print(int(read(Path(sys.argv[2]))[1].sum()))
    else:
        print(difference(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])) or "")
