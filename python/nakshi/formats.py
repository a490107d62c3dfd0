"""The formats of files with edges, by name."""

from __future__ import annotations

from typing import Literal

__all__ = ["Format"]

Format = Literal[
    "auto",
    "edge-list",
    "adjacency",
    "in-adjacency",
    "matrix-market",
    "metis",
    "graphalytics",
    "parquet",
    "arrow",
]
"""The format of an input file; ``"auto"`` finds it out by content and name."""
