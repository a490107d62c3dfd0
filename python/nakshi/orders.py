"""Names of the vertex orders and layouts."""

from __future__ import annotations

from typing import Literal

__all__ = ["Layout", "Order", "PropertyLayout"]

Layout = Literal[
    "auto",
    "original",
    "random",
    "degree",
    "pagerank",
    "norder",
    "gorder",
    "organ-pipe",
    "bondhu-parcom",
    "bondhu-modcom",
    "bisection",
]
"""Layouts of an import."""
DRAWN = ("random", "bondhu-parcom", "bondhu-modcom", "bisection")
"""Layouts of an import whose draws a seed begins."""
Order = Literal[Layout, "extend"]
"""Orders of :meth:`nakshi.Graph.relayout`."""
PropertyLayout = Literal["columns", "zipg", "blocks"]
"""Layouts of property files."""
