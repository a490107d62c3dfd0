"""Input graphs in every system's format: text, gapbs's binary form, arrays.

A graph is a folder of files that are made once: ``edges.tsv`` (`u v`, each undirected edge once),
``weighted.tsv`` (`u v w`), ``graph.sg`` and ``graph.wsg`` where gapbs is there, ``u.npy``,
``v.npy``, ``w.npy`` for the peers. Conversions run as programs of their own
(``python graphs.py COMMAND ...``), so that the measuring process stays small.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


def _file(name: str) -> property:
    """A property of a graph: the file of this name in its folder."""
    return property(lambda graph: graph.folder / name)


@dataclass(frozen=True)
class Graph:
    """One input graph. Traversals start at ``source``.

    An edge list does not name isolated vertices; ``nodes`` is the file with all vertices.
    """

    name: str
    folder: Path
    source: int
    directed: bool = False

    edges = _file("edges.tsv")
    weighted = _file("weighted.tsv")
    nodes = _file("nodes.txt")
    sg = _file("graph.sg")
    wsg = _file("graph.wsg")

    def facts(self) -> dict[str, int]:
        """Numbers of vertices and edges, which the conversion counted."""
        return json.loads((self.folder / "facts.json").read_text())


def convert(*arguments: object) -> None:
    """Runs one of this file's commands in a process of its own."""
    subprocess.run([sys.executable, __file__, *map(str, arguments)], check=True)


def kronecker(
    scale: int, work: Path, gapbs: Path | None, nakshi: list[str], source: int | None
) -> Graph:
    """Graph500's Kronecker graph, by gapbs's generator where its folder is given, else by Nakshi's."""
    maker = "gapbs" if gapbs else "nakshi"
    folder = work / f"kron{scale}-{maker}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "facts.json").exists():
        if gapbs:
            for flag, file in ((["-b"], "graph.sg"), (["-wb"], "graph.wsg")):
                if not (folder / file).exists():
                    convertor = [gapbs / "converter", "-g", str(scale), *flag, folder / file]
                    subprocess.run(convertor, check=True, stdout=subprocess.DEVNULL)
            convert("unpack", folder)
        else:
            raw = folder / "generated.tsv"
            generate = ["generate", "kronecker", "--scale", str(scale), str(raw)]
            subprocess.run([*nakshi, *generate], check=True, stdout=subprocess.DEVNULL)
            convert("clean", folder, raw)
            raw.unlink()
    return Graph(f"Kron{scale}", folder, start(folder, source))


def from_edges(name: str, edges: Path, work: Path, gapbs: Path | None, directed: bool) -> Graph:
    """A real graph from a Parquet or (compressed) tab-separated edge list."""
    folder = work / name
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "facts.json").exists():
        convert("clean", folder, edges, *(["directed"] if directed else []))
    graph = Graph(name, folder, start(folder, None), directed)
    if gapbs:
        binaries(graph, gapbs)
    return graph


def binaries(graph: Graph, gapbs: Path) -> None:
    """Converts a graph's text to gapbs's binary form, once."""
    symmetrize = [] if graph.directed else ["-s"]
    for text, ending, binary, flag in (
        (graph.edges, "el", graph.sg, "-b"),
        (graph.weighted, "wel", graph.wsg, "-wb"),
    ):
        if not binary.exists():
            link = graph.folder / f"graph.{ending}"
            if not link.exists():
                link.symlink_to(text.name)
            command = [gapbs / "converter", "-f", link, *symmetrize, flag, binary]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def start(folder: Path, wanted: int | None) -> int:
    """The wanted source if it has an edge, else the first vertex of the largest degree class."""
    facts = json.loads((folder / "facts.json").read_text())
    return facts["hub"] if wanted is None else wanted


def _save(folder: Path, u, v, w, vertices: int, directed: bool) -> None:  # type: ignore[no-untyped-def]
    """Writes text and arrays of one edge list, and its facts."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, delimiter="\t")
    csv.write_csv(pa.table({"u": u, "v": v}), folder / "edges.tsv", options)
    csv.write_csv(pa.table({"u": u, "v": v, "w": w}), folder / "weighted.tsv", options)
    csv.write_csv(pa.table({"v": np.arange(vertices)}), folder / "nodes.txt", options)
    for name, array in (("u", u), ("v", v), ("w", w)):
        np.save(folder / f"{name}.npy", array)
    degree = np.bincount(u, minlength=vertices)
    if not directed:
        degree = degree + np.bincount(v, minlength=vertices)
    facts = {"vertices": int(vertices), "edges": len(u), "hub": int(degree.argmax())}
    (folder / "facts.json").write_text(json.dumps(facts))


def _unpack(folder: Path) -> None:
    """Writes gapbs's weighted binary graph as text and arrays, each undirected edge once."""
    import numpy as np

    with open(folder / "graph.wsg", "rb") as file:
        directed = bool(np.fromfile(file, np.bool_, 1)[0])
        arcs, vertices = (int(x) for x in np.fromfile(file, np.int64, 2))
        offsets = np.fromfile(file, np.int64, vertices + 1)
        entries = np.fromfile(file, np.int32, 2 * int(offsets[-1])).reshape(-1, 2)
    u = np.repeat(np.arange(vertices, dtype=np.int32), np.diff(offsets))
    v, w = entries[:, 0], entries[:, 1]
    if not directed:
        once = u < v
        u, v, w = u[once], v[once], w[once]
    _save(folder, u, np.ascontiguousarray(v), np.ascontiguousarray(w), vertices, directed)


def _clean(folder: Path, edges: Path, directed: bool) -> None:
    """Writes a graph with dense ids, without loops, each edge once; weights of 1 to 255 are a hash of the edge."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    if edges.suffix == ".parquet":
        table = parquet.read_table(edges)
    else:
        stream = pa.input_stream(str(edges), compression="zstd" if edges.suffix == ".zst" else None)
        read = csv.ReadOptions(autogenerate_column_names=True)
        table = csv.read_csv(stream, read, csv.ParseOptions(delimiter="\t"))
    ends = np.stack([table.column(i).to_numpy() for i in (0, 1)])
    names, dense = np.unique(ends, return_inverse=True)
    u, v = dense.reshape(2, -1).astype(np.int32)
    if not directed:
        u, v = np.minimum(u, v), np.maximum(u, v)
    keys = np.unique((u.astype(np.int64) << 32 | v)[u != v])
    u, v = (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    w = ((mixed >> np.uint64(40)) % np.uint64(255) + np.uint64(1)).astype(np.int32)
    _save(folder, u, v, w, len(names), directed)


if __name__ == "__main__":
    os.umask(0o022)
    if sys.argv[1] == "unpack":
        _unpack(Path(sys.argv[2]))
    else:
        _clean(Path(sys.argv[2]), Path(sys.argv[3]), "directed" in sys.argv[4:])
