"""The six kernels by which systems are compared, and the comparison of two answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KERNELS = ("bfs", "pagerank", "wcc", "sssp", "bc", "triangles")
TITLES = {
    "bfs": "BFS",
    "pagerank": "PageRank, 20 it.",
    "wcc": "WCC",
    "sssp": "SSSP",
    "bc": "BC, 1 source",
    "triangles": "TC",
}
#: Short names of algorithms in papers.
SHORT = {
    "apsp": "APSP",
    "bc": "BC",
    "bfs": "BFS",
    "diameter": "DIAM",
    "pagerank": "PR",
    "scan-statistics": "SS",
    "sssp": "SP",
    "triangles": "TC",
    "wcc": "WCC",
}
ITERATIONS = 20

Digest = dict[str, Any]
"""Summary of a system's answer: counts (exact) and ``top`` (five vertices with their scores)."""


@dataclass
class Timing:
    """One system's runs of one kernel: seconds of each run, peak memory in bytes, the answer."""

    seconds: list[float]
    peak: int
    digest: Digest
    command: str


def short(*names: str) -> dict[str, str]:
    """Algorithms with their short names in papers, in the order that is given."""
    return {name: SHORT[name] for name in names}


def disagreement(ours: Digest, theirs: Digest) -> str | None:
    """Returns a reason why two digests cannot come from one graph; None if their common parts agree."""
    for name in sorted(set(ours) & set(theirs) - {"top"}):
        if ours[name] != theirs[name]:
            return f"{name} is {ours[name]} here and {theirs[name]} there"
    if "top" in ours and "top" in theirs:
        return _tops_differ(ours["top"], theirs["top"])
    return None


def _tops_differ(ours: list[list[float]], theirs: list[list[float]]) -> str | None:
    """Compares scores relative to the best one, because systems scale scores differently.

    Systems stop PageRank at different points of its convergence, so scores may differ by 2 %, and
    vertices that are closer than that may come in any order.
    """
    if not ours or not theirs or ours[0][1] <= 0 or theirs[0][1] <= 0:
        return "no scores"
    known = {int(vertex): score / theirs[0][1] for vertex, score in theirs}
    shared = 0
    for vertex, score in ours:
        if int(vertex) in known:
            shared += 1
            relative = score / ours[0][1]
            if abs(relative - known[int(vertex)]) > 0.02 * max(relative, 1e-12):
                return f"vertex {int(vertex)} scores {relative:.4f} of the best here, {known[int(vertex)]:.4f} there"
    return None if shared >= 3 else "less than three of the five best vertices are the same"
