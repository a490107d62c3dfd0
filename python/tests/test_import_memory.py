"""The memory of an import: what is asked for is what the process takes at its peak."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nakshi
import numpy as np
import polars as pl
import pytest

from .conftest import SCALE, run_cli

MIB = 1 << 20

# The kernel's high-water mark of this process alone, before and after.
PROGRAM = """
import json, sys
import nakshi

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))

store, edges, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
before = peak()
nakshi.build(store, edges, progress=False, **options)
print(peak() - before)
"""


def taken(store: Path, edges: Path, **options: Any) -> int:
    """Bytes that an import takes beside those of the interpreter."""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("needs /proc")
    words = [sys.executable, "-c", PROGRAM, store, edges, json.dumps(options)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return int(done.stdout)


def text(path: Path, size: int, kind: str) -> Path:
    """A file of edges of `size` bytes or more: a quarter as many vertices as edges have ends."""
    source = np.random.default_rng(7)
    edges = size // (14 if kind == "dense" else 34)
    ends = [source.integers(0, edges // 2, edges, dtype=np.uint64) for _ in range(2)]
    if kind == "hash":
        ends = [end * np.uint64(0x9E3779B97F4A7C15) for end in ends]
    table = pl.DataFrame({"source": ends[0], "target": ends[1]})
    table.write_csv(path, include_header=False)
    assert path.stat().st_size >= size
    return path


@pytest.mark.parametrize("layout", ["plain", "columns", "zipg", "blocks", "searchable"])
def test_the_estimate_is_the_least_that_works(layout: str, tmp_path: Path) -> None:
    """Seen red with the estimate of another layout."""
    edges = pl.DataFrame({"source": [1, 2], "target": [2, 3], "note": ["a", "b"]})
    given: dict[str, Any] = {"properties": layout != "plain"}
    if layout == "searchable":
        given["searchable"] = ["note"]
    elif layout != "plain":
        given["property_layout"] = layout
    minimum = nakshi.estimate_import(**given)["minimum"]
    with pytest.raises(nakshi.BudgetError):
        nakshi.build(tmp_path / "less", edges, memory=minimum - 1, **given)
    nakshi.build(tmp_path / "g", edges, memory=minimum, **given)
    words = ["estimate", "import", "--json", "--memory", str(minimum - 1)]
    words += ["--properties"] if given["properties"] else []
    for option in ("property_layout", "searchable"):
        for value in (
            [given[option]] if isinstance(given.get(option), str) else given.get(option, ())
        ):
            words += [f"--{option.replace('_', '-')}", value]
    assert run_cli(*words).json["fits"] is False
    with pytest.raises(nakshi.ParameterError, match="estimate"):
        nakshi.estimate_import(layout="norder")


CAPS = [64] if SCALE == 1 else [64, 128, 256]


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("kind", ["dense", "hash"])
def test_a_cap_holds(kind: str, cap: int, tmp_path: Path) -> None:
    """Text larger than the cap, with a quarter as many vertices as edges have ends.

    Seen red (115 MiB of 64) with buckets that are as large as if memory did not matter.
    """
    edges = text(tmp_path / "e.csv", (cap + 4) * MIB, kind)
    peak = taken(tmp_path / "s", edges, memory=cap * MIB)
    assert peak <= cap * MIB, f"{peak / MIB:.1f} MiB"


def test_too_little_is_refused_with_what_works(tmp_path: Path) -> None:
    edges = tmp_path / "e.csv"
    edges.write_text("1,2\n")
    with pytest.raises(nakshi.BudgetError, match="memory") as refused:
        nakshi.build(tmp_path / "s", edges, memory=64 * MIB - 1)
    least = re.findall(r"[0-9.]+ ?[KMG]iB|[0-9]{6,}", str(refused.value))[0]
    assert nakshi.build(tmp_path / "s", edges, memory=least).num_edges == 1
