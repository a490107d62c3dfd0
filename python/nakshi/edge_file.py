"""Files of edges that the servers of a cluster load without an import."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from .declared import with_implied
from .errors import ParameterError

if TYPE_CHECKING:
    from .formats import Format
    from .stores import Path


@dataclass(frozen=True)
class EdgeFile:
    """A file of edges between whole numbers, of which each server loads a part, without an import.

    Every server reads its part of the file (of a compressed file, its share of the blocks) twice:
    to number the vertices, and to send edges to the owners of their ends. An edge that occurs twice
    counts once, with its smallest weight. An import pays from the second run on; it also takes ids
    of any kind, and its lists may stay on disk.

    Args:
        path: path of the file, the same for all servers.
        directed: whether an edge leads from source to target only.
        weighted: whether edges have lengths, for ``sssp``.
        format, columns, separator, header: as for :func:`nakshi.build`.
        nodes: a file of vertices, including those without edges.
        self_loops: ``"keep"`` or ``"drop"`` edges from a vertex to itself.
    """

    path: Path
    directed: bool = True
    weighted: bool = False
    format: Format = "auto"
    columns: Sequence[str | int] | None = None
    separator: str | None = None
    header: bool | None = None
    nodes: Path | None = None
    self_loops: Literal["keep", "drop"] = "keep"

    def given(self, algorithm: str, parameters: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The file as JSON, and the parameters of an algorithm on it."""
        given = with_implied(algorithm, parameters)
        file = self
        if algorithm == "sssp" and given.pop("unit", False):
            file = replace(self, weighted=False)
        if "source" in given:
            try:
                given["source"] = int(given["source"])
            except ValueError:
                what = f"source={given['source']!r}: ids in a file of edges are whole numbers"
                raise ParameterError(what) from None
        return file._json(), given

    def _json(self) -> str:
        fields = asdict(self) | {"path": os.path.abspath(self.path)}
        if self.nodes is not None:
            fields["nodes"] = os.path.abspath(self.nodes)
        if self.columns is not None:
            fields["columns"] = [str(column) for column in self.columns]
        if self.separator is not None:
            if len(self.separator) != 1 or not self.separator.isascii():
                raise ParameterError("separator: give one ASCII character, such as , or ;")
            fields["separator"] = ord(self.separator)
        return json.dumps(fields)
