"""The graph of the strong components of a graph."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import UnsupportedError
from .lookups import _Engine
from .walks import Walks

if TYPE_CHECKING:
    import numpy as np

    from .graph import Graph

__all__ = ["Condensations"]

#: List entries of one look-up.
_EDGES = 1 << 22


class Condensations(Walks):
    """Methods that make a smaller graph of a whole one."""

    def condensation(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        engine: _Engine = "auto",
        memory: int | str | None = None,
        threads: int | None = None,
        timeout: float | None = None,
    ) -> Graph:
        """The graph of the strong components, as a new store: a graph without cycles.

        A vertex of the new graph is a component, named by the smallest id in it, as in :meth:`scc`. An
        edge leads from one component to another if an edge leads between vertices of the two. While
        edges are read, those of the new graph are in memory, 8 bytes each, beside the limit.

        Args:
            path: directory of the new store; by default a temporary one, which goes with the graph
                that is returned.
            engine, memory, threads, timeout: as for every algorithm; ``timeout`` is for each pass.

        Returns:
            The new graph, opened. It has neither weights nor properties.

        Raises:
            UnsupportedError: an undirected graph.
            StoreExistsError: ``path`` exists.
        """
        from .stores import build

        graph: Any = self
        if not graph.directed:
            message = (
                "condensation needs a directed graph; wcc has the components of an undirected one"
            )
            raise UnsupportedError(message)
        limits: dict[str, Any] = {"engine": engine, "memory": memory, "threads": threads}
        limits["timeout"] = timeout
        ids, names = graph.scc(progress=False, **limits).to_numpy()
        rows = _Rows(ids)
        sources, targets = self._between(ids, rows, rows.of(names), limits)
        folder = None
        if path is None:
            folder = tempfile.TemporaryDirectory(prefix="nakshi-", dir=Path(graph.path).parent)
            path = Path(folder.name) / "condensation.nakshi"
        found = build(
            path,
            (ids[sources], ids[targets]),
            nodes=ids[rows.of(names) == rows.all],
            allow_empty=True,
            memory=memory,
            threads=threads,
            progress=False,
        )
        found._folder = folder
        return found

    def _between(
        self, ids: np.ndarray, rows: _Rows, labels: np.ndarray, limits: dict[str, Any]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The edges between components, by the rows of their names."""
        import numpy as np

        ends = np.cumsum(self.degree(ids, "out", **limits))
        pairs, start = [np.zeros(0, dtype=np.int64)], 0
        while start < len(ids):
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _EDGES, side="right")))
            offsets, targets = self.neighbors(ids[start:stop], "out", **limits)
            sources = np.repeat(labels[start:stop], np.diff(offsets))
            others = labels[rows.of(targets)]
            apart = sources != others
            pairs.append(np.unique(sources[apart] * len(ids) + others[apart]))
            start = stop
        found = np.unique(np.concatenate(pairs))
        return found // len(ids), found % len(ids)


class _Rows:
    """Places of ids in ascending order."""

    def __init__(self, ids: np.ndarray) -> None:
        import numpy as np

        self.ids = ids
        self.all = np.arange(len(ids))
        self.places = dict(zip(ids, range(len(ids)))) if ids.dtype == object else None

    def of(self, ids: np.ndarray) -> np.ndarray:
        import numpy as np

        if self.places is None:
            return np.searchsorted(self.ids, ids)
        return np.fromiter((self.places[id] for id in ids), dtype=np.int64, count=len(ids))
