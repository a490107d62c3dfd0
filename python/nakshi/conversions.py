"""A graph as one of NetworkX, igraph or SciPy, and the distribution of its degrees."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .errors import ParameterError, UnsupportedError
from .result import optional_module

if TYPE_CHECKING:
    import networkx
    import numpy as np
    from matplotlib.figure import Figure
    from scipy.sparse import csr_array

    from .queries import Id
    from .result import Result

__all__ = ["Conversions"]

#: Columns of exported tables that are no properties, and their names as attributes.
_ENDS = (":START_ID", ":END_ID")
_NAMES = {":TYPE": "type", ":LABEL": "labels"}


class Conversions:
    """Methods of :class:`nakshi.Graph` that return what other packages work with."""

    def to_networkx(
        self, *, max_edges: int = 1_000_000, multigraph: bool | None = None
    ) -> networkx.Graph:
        """The graph after its last commit as a NetworkX graph, with all properties as attributes.

        NetworkX takes about a kilobyte an edge; algorithms here run without a conversion. Labels
        become the node attribute ``labels``, types and times of edges ``type`` and ``timestamp``,
        weights ``weight``.

        Args:
            max_edges: edges above which the conversion is refused.
            multigraph: whether parallel edges are kept apart (``MultiGraph``, ``MultiDiGraph``);
                ``None`` does so where there are any.

        Returns:
            A ``Graph`` or ``DiGraph`` by :attr:`directed`, or the multigraph of it.

        Raises:
            ParameterError: more than ``max_edges`` edges; the message has their number.
            UnsupportedError: networkx or pyarrow is not installed.
        """
        nx = optional_module("networkx", "to_networkx")
        with exported(self, "to_networkx", max_edges) as (nodes, edges):
            ids, node_attributes = _rows(nodes, (":ID",))
            ends, edge_attributes = _rows(edges, _ENDS)
        several = len(set(ends)) < len(ends)
        if multigraph is None:
            multigraph = several
        kind = ("Multi" if multigraph else "") + ("DiGraph" if self.directed else "Graph")  # type: ignore[attr-defined]
        graph = getattr(nx, kind)()
        graph.add_nodes_from((id[0], values) for id, values in zip(ids, node_attributes))
        graph.add_edges_from((*end, values) for end, values in zip(ends, edge_attributes))
        return graph

    def write_graph(self, path: str | os.PathLike[str], *, max_edges: int = 1_000_000) -> None:
        """Write the graph after its last commit as GraphML or GEXF, for Gephi, yEd and Cytoscape.

        The graph becomes one of NetworkX first, so cut a part out with :meth:`nakshi.Graph.subgraph`
        or :meth:`nakshi.Graph.ego` where the whole is too large. Lists become text with semicolons,
        and times text in ISO 8601; in GEXF the type of an edge is the attribute ``edge_type``.

        Args:
            path: file, whose name ends in ``.graphml`` or ``.gexf``.
            max_edges: edges above which the graph is refused.

        Raises:
            ParameterError: another ending; more than ``max_edges`` edges; text that XML cannot hold.
            UnsupportedError: networkx or pyarrow is not installed.
            StorageError: the file cannot be written.
        """
        from .xml_files import write

        write(self.to_networkx(max_edges=max_edges), path)

    def to_igraph(self, *, max_edges: int = 10_000_000) -> Any:
        """The graph after its last commit as an igraph graph, with all properties as attributes.

        Ids become the vertex attribute ``name``. igraph is not installed with nakshi: it is under
        the GPL.

        Args:
            max_edges: edges above which the conversion is refused.

        Raises:
            ParameterError: more than ``max_edges`` edges; the message has their number.
            UnsupportedError: igraph or pyarrow is not installed.
        """
        igraph = optional_module("igraph", "to_igraph")
        with exported(self, "to_igraph", max_edges) as (nodes, edges):
            ids, sources, targets = numbered(nodes, edges)
            graph = igraph.Graph(
                n=len(ids),
                edges=list(zip(sources.tolist(), targets.tolist())),
                directed=self.directed,  # type: ignore[attr-defined]
            )
            graph.vs["name"] = ids.to_pylist()
            for of, table, skipped in ((graph.vs, nodes, (":ID",)), (graph.es, edges, _ENDS)):
                for column in table.column_names:
                    if column not in skipped:
                        of[_attribute(column)] = table[column].to_pylist()
        return graph

    def to_scipy_sparse(
        self, *, weight: str | None = None, max_edges: int = 100_000_000
    ) -> tuple[csr_array, np.ndarray]:
        """The adjacency matrix of the graph after its last commit, and the ids of its rows.

        Args:
            weight: edge column or property whose values the matrix has; 1 for every edge by default.
                An edge without a value has none in the matrix either.
            max_edges: edges above which the conversion is refused.

        Returns:
            ``(matrix, ids)``: a ``csr_array`` of shape ``(num_vertices, num_vertices)`` with an
            entry in row ``i`` and column ``j`` for an edge from ``ids[i]`` to ``ids[j]``, and the
            ids, ascending, as :meth:`Result.to_numpy` has them. Parallel edges add up. Undirected
            graphs have a symmetric matrix.

        Raises:
            ParameterError: more than ``max_edges`` edges; no such column.
            UnsupportedError: scipy or pyarrow is not installed.
        """
        import numpy as np

        sparse = optional_module("scipy.sparse", "to_scipy_sparse")
        with exported(self, "to_scipy_sparse", max_edges, weight) as (nodes, edges):
            ids, rows, columns = numbered(nodes, edges)
            values = np.ones(len(rows), dtype=np.int64)
            if weight is not None:
                values = _numbers(edges, weight)
            names = ids.to_numpy(zero_copy_only=False)
        if weight is not None:
            there = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
            rows, columns, values = rows[there], columns[there], values[there]
        if not self.directed:  # type: ignore[attr-defined]
            apart = rows != columns
            rows, columns = (
                np.concatenate([rows, columns[apart]]),
                np.concatenate([columns, rows[apart]]),
            )
            values = np.concatenate([values, values[apart]])
        shape = (len(names), len(names))
        return sparse.coo_array((values, (rows, columns)), shape=shape).tocsr(), names

    def plot(
        self,
        sample: int = 200,
        *,
        source: Id | None = None,
        seed: int = 1,
        labels: bool = True,
        max_edges: int = 10_000_000,
    ) -> Figure:
        """Draw a neighbourhood: vertices around one, placed by forces; colours are labels.

        Args:
            sample: vertices of the picture, at most 2,000. Of the neighbours of a hub some are drawn
                at random.
            source: the vertex in the middle, which has a ring; by default the one of most edges.
            seed: seed of the draw and of the places.
            labels: write the ids of the vertices with most edges beside them.
            max_edges: edges above which the graph is refused, because all of them are read.

        Returns:
            A matplotlib figure; notebooks show it, and its ``savefig`` writes it to a file.

        Raises:
            UnknownVertexError: there is no such vertex.
            ParameterError: an empty graph, a sample that cannot be, or more than ``max_edges`` edges.
            UnsupportedError: matplotlib or pyarrow is not installed.
        """
        from .neighborhood import draw

        return draw(self, sample, source, seed, labels, max_edges)  # type: ignore[arg-type]

    def degree_distribution(
        self,
        direction: Literal["both", "out", "in"] = "both",
        *,
        memory: int | str | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """How many vertices have each degree; ``g.degrees(direction=...)`` has that of each vertex.

        Args:
            direction: edges that count: ``"both"``, ``"out"`` or ``"in"``; of no meaning in an
                undirected graph.
            memory: cap, as for algorithms.

        Returns:
            ``(degrees, counts)``: the degrees that occur, ascending, and the number of vertices of
            each; arrays of integers of the same shape.

        Raises:
            As an algorithm.
        """
        import numpy as np

        found: Result = self.degrees(direction=direction, memory=memory)  # type: ignore[attr-defined]
        degrees, counts = np.unique(found.to_numpy("degree")[1], return_counts=True)
        return degrees, counts


@contextmanager
def exported(
    graph: Any, method: str, max_edges: int, weight: str | None = None
) -> Iterator[tuple[Any, Any]]:
    """Tables of nodes and edges as Arrow has them, from a temporary export beside the store."""
    from .stores import export

    optional_module("pyarrow", method)
    from pyarrow import parquet  # type: ignore[import-untyped]

    try:
        edges, properties = graph._queries.counts()[1], True
    except UnsupportedError:
        edges, properties = graph.num_edges, False
    if edges > max_edges:
        raise ParameterError(
            f"the graph has {edges:,} edges, more than max_edges={max_edges:,}; raise it, or take "
            "a part of the graph"
        )
    if not properties and weight is not None and weight not in graph.weights:
        known = ", ".join(graph.weights) or "none"
        raise ParameterError(f"there is no weight {weight!r} (there are: {known})")
    with tempfile.TemporaryDirectory(prefix="nakshi-", dir=Path(graph.path).parent) as folder:
        files = Path(folder, "edges.parquet"), Path(folder, "nodes.parquet")
        if properties:
            export(graph, files[0], nodes=files[1], progress=False)
            yield parquet.read_table(files[1]), parquet.read_table(files[0])
            return
        export(graph, files[0], weight=weight, progress=False)
        table = parquet.read_table(files[0])
        named = dict(zip(table.column_names[:2], _ENDS))
        table = table.rename_columns([named.get(name, name) for name in table.column_names])
        # Ids of vertices without an edge are in no table of edges.
        ids = graph.degrees(progress=False).to_arrow().select(["id"]).rename_columns([":ID"])
        yield ids, table


def _attribute(column: str) -> str:
    """Name of an attribute: that of a column without its type."""
    return _NAMES.get(column) or column.rpartition(":")[0] or column


def _rows(table: Any, ids: tuple[str, ...]) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """Ids of the rows, and their values that are there, by name."""
    keys = list(zip(*(table[name].to_pylist() for name in ids)))
    columns = [
        (_attribute(name), table[name].to_pylist())
        for name in table.column_names
        if name not in ids
    ]
    values = [
        {name: column[row] for name, column in columns if column[row] is not None}
        for row in range(table.num_rows)
    ]
    return keys, values


def numbered(nodes: Any, edges: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Ids in ascending order, and the places of the ends of edges among them."""
    import pyarrow.compute as compute  # type: ignore[import-untyped]

    ids = nodes[":ID"].combine_chunks()
    ids = ids.take(compute.sort_indices(ids))
    ends = (compute.index_in(edges[name], value_set=ids) for name in _ENDS)
    sources, targets = (found.to_numpy() for found in ends)
    return ids, sources, targets


def _numbers(edges: Any, weight: str) -> np.ndarray:
    """Values of a column as numbers; NaN where one is missing."""
    names = [name for name in edges.column_names if _attribute(name) == weight]
    if not names:
        known = [_attribute(name) for name in edges.column_names if name not in _ENDS]
        raise ParameterError(f"there is no weight {weight!r} (there are: {', '.join(known)})")
    values: np.ndarray = edges[names[0]].to_numpy()
    if values.dtype.kind not in "iuf":
        raise ParameterError(f"{weight!r} is no column of numbers, and so no weight")
    return values
