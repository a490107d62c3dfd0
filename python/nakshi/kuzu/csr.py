"""Edges in CSR (compressed sparse rows), as icebug-disk keeps them in Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from .files import ParquetFile
from .schema import damaged

__all__ = ["Csr"]


@dataclass
class Csr:
    """Edges by their source: files of targets and of row pointers.

    A vertex is the number of its row in the table of nodes. The ids of both tables and the row
    pointers are in memory while edges are read.

    Attributes:
        indices: file whose column ``target`` has a row for each edge.
        indptr: file with the first edge of each source, and the number of edges.
        keys: files of the tables of nodes, and the places of their keys.
    """

    indices: ParquetFile
    indptr: ParquetFile
    keys: tuple[tuple[ParquetFile, int], tuple[ParquetFile, int]]

    def batches(
        self, columns: Sequence[int], ids: tuple[Callable[[pa.Array], pa.Array], ...]
    ) -> Iterator[list[pa.Array]]:
        """Batches of the ids of both ends, and of other columns of the edges.

        Args:
            columns: places of the other columns.
            ids: functions that make ids of the keys of both tables.

        Raises:
            InputError: the files do not fit together.
        """
        sources, targets = (
            pa.concat_arrays([make(batch[0]) for batch in file.batches([place])] or [make(_NONE)])
            for (file, place), make in zip(self.keys, ids)
        )
        starts = self._starts(len(sources))
        names = self.indices.names()
        if "target" not in names:
            raise damaged(f"{self.indices.path}: no column target; write the folder again")
        place, at = names.index("target"), 0
        for target, *others in self.indices.batches([place, *columns]):
            edges = np.arange(at, at + len(target))
            at += len(target)
            last = pc.max(target).as_py()
            if target.null_count or last >= len(targets) or pc.min(target).as_py() < 0:
                raise damaged(
                    f"{self.indices.path}: a target is no row of the {len(targets)} rows of "
                    f"{self.keys[1][0].path.name}; write the folder again"
                )
            rows = np.searchsorted(starts, edges, side="right") - 1
            yield [sources.take(pa.array(rows)), targets.take(target), *others]

    def _starts(self, sources: int) -> Any:
        """The row pointers."""
        pieces = [batch[0] for batch in self.indptr.batches([0])]
        pointers = pa.concat_arrays(pieces) if pieces else pa.array([], pa.int64())
        starts = pointers.drop_null().to_numpy().astype(np.int64)
        edges = self.indices.rows()
        sound = len(starts) == sources + 1 and starts[0] == 0 and starts[-1] == edges
        if not sound or (np.diff(starts) < 0).any():
            raise damaged(
                f"{self.indptr.path}: not the row pointers of {sources} sources and {edges} edges; "
                "write the folder again"
            )
        return starts


_NONE = pa.array([], pa.string())
