"""Names of the formats of edge files."""

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
    "webgraph",
    "graphalytics",
    "parquet",
    "arrow",
]
"""Format of an input file; ``"auto"`` detects it from content and name."""
