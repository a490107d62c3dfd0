"""One face for stores and for converted graphs: vertices are rows, nodes are what a user names."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from ..graph import Graph
from .mapping import VertexMapping, row_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..lookups import Direction
    from ..result import Result

__all__ = ["ConvertedGraph", "StoreView", "View", "view", "new_directory", "owned"]

#: Edges of one answer of a look-up, in a search along the edges of a store.
_EDGES = 1 << 22
#: Edges up to which a converted graph lies in memory, where the system has a folder for that.
_SMALL = 1 << 20
_MEMORY = Path("/dev/shm")


class View:
    """A graph as the functions of the backend see it.

    Rows are numbers from 0 to ``count - 1``, in the order of the ids in the store.

    Attributes:
        directed: whether edges have a direction.
        count: number of vertices.
    """

    directed: bool
    count: int

    @property
    def store(self) -> Graph:
        """The store that the algorithms run on."""
        raise NotImplementedError

    def row(self, node: Any) -> int:
        """Row of a node, or -1."""
        raise NotImplementedError

    def id(self, node: Any) -> Any:
        """Id of a node in the store; the graph has the node."""
        raise NotImplementedError

    def ids(self, rows: np.ndarray) -> Any:
        """Ids of rows in the store."""
        raise NotImplementedError

    def nodes(self, rows: np.ndarray | None = None) -> Iterator[Any]:
        """Nodes of rows, by default of all."""
        raise NotImplementedError

    def mapping(self, values: np.ndarray, rows: np.ndarray | None = None) -> Mapping[Any, Any]:
        """Values by node, of ascending rows; by default of all."""
        raise NotImplementedError

    def is_unit(self, attribute: str | None) -> bool:
        """True if every edge counts as 1 by an attribute."""
        raise NotImplementedError

    def column(self, attribute: str) -> str:
        """The column of the store that has an edge attribute."""
        return attribute

    def weighing(self, attribute: str | None) -> dict[str, Any]:
        """Arguments of an algorithm that make it weigh edges by an attribute."""
        if attribute is None or self.is_unit(attribute):
            return {"unit": True}
        return {"weight": self.column(attribute)}

    def lists(
        self, rows: np.ndarray, reverse: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows, numbers of neighbours, and rows of all neighbours, in pieces that fit memory."""
        raise NotImplementedError

    def number(self, value: float) -> Any:
        """A length as NetworkX has it."""
        return value

    def __contains__(self, node: object) -> bool:
        return self.row(node) >= 0

    def run(self, algorithm: str, **parameters: Any) -> Result:
        """Run an algorithm within the limits of NetworkX's configuration."""
        limits = nx.config.backends.nakshi
        return self.store.run(
            algorithm, memory=limits.memory, threads=limits.threads, progress=False, **parameters
        )

    def limits(self) -> dict[str, Any]:
        """Limits of NetworkX's configuration, for look-ups."""
        limits = nx.config.backends.nakshi
        return {"memory": limits.memory, "threads": limits.threads}

    def required(self, node: Any, error: type[Exception], message: str) -> Any:
        """Id of a node in the store; a node that the graph lacks is NetworkX's error."""
        if node not in self:
            raise error(message.format(node))
        return self.id(node)

    def some(self, nodes: Iterable[Any]) -> np.ndarray:
        """Ascending rows of the nodes that the graph has; others are left out, as in NetworkX."""
        if not isinstance(nodes, Iterable):
            raise nx.NetworkXError(f"{nodes!r} is not a node of the graph or a sequence of nodes.")
        rows = {row for node in nodes if (row := self.row(node)) >= 0}
        return np.array(sorted(rows), dtype=np.int64)


class StoreView(View):
    """A store of the user's; nodes are its ids."""

    def __init__(self, store: Graph) -> None:
        self._store = store
        self.directed = store.directed
        self.count = store.num_vertices
        self._known: np.ndarray | None = None
        self._rows: dict[Any, int] | None = None

    @property
    def store(self) -> Graph:
        return self._store

    @property
    def known(self) -> np.ndarray:
        """All ids, ascending."""
        if self._known is None:
            self._known = self.run("degrees").to_numpy()[0]
        return self._known

    def row(self, node: Any) -> int:
        ids = self.known
        if ids.dtype != object:
            return row_of(ids, node)
        try:
            return self._by_text.get(node, -1)
        except TypeError:
            return -1

    @property
    def _by_text(self) -> dict[Any, int]:
        if self._rows is None:
            self._rows = {id: row for row, id in enumerate(self.known.tolist())}
        return self._rows

    def __contains__(self, node: object) -> bool:
        if isinstance(node, (bool, float)) or not isinstance(node, (str, bytes, int, np.integer)):
            return False
        return node in self._store

    def id(self, node: Any) -> Any:
        return node

    def ids(self, rows: np.ndarray) -> Any:
        return self.known[rows]

    def nodes(self, rows: np.ndarray | None = None) -> Iterator[Any]:
        ids = self.known if rows is None else self.known[rows]
        return iter(VertexMapping(ids, ids))

    def mapping(self, values: np.ndarray, rows: np.ndarray | None = None) -> Mapping[Any, Any]:
        return VertexMapping(self.known if rows is None else self.known[rows], values)

    def run(self, algorithm: str, **parameters: Any) -> Result:
        found = super().run(algorithm, **parameters)
        if self._known is None and found.columns:
            self._known = found._values("id")[0]
        return found

    def is_unit(self, attribute: str | None) -> bool:
        return attribute is None or attribute not in self._store.weights

    def lists(
        self, rows: np.ndarray, reverse: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        direction: Direction = "in" if reverse else "out"
        limits = self.limits()
        degrees = self._store.degree(self.known[rows], direction, **limits)
        ends = np.cumsum(degrees)
        start = 0
        while start < len(rows):
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + _EDGES, side="right")))
            some = rows[start:stop]
            offsets, targets = self._store.neighbors(self.known[some], direction, **limits)
            counts = np.diff(offsets)
            # A look-up has the neighbours in the order of the store's layout.
            first = np.repeat(np.arange(len(some)) * self.count, counts)
            keys = first + self._rows_of(targets)
            keys.sort()
            yield some, counts, keys - first
            start = stop

    def _rows_of(self, ids: np.ndarray) -> np.ndarray:
        if self.known.dtype != object:
            return np.searchsorted(self.known, ids)
        rows = self._by_text
        return np.fromiter((rows[id] for id in ids), dtype=np.int64, count=len(ids))


class ConvertedGraph(View):
    """A graph of NetworkX in a temporary store, in which a node's id is its place among the nodes.

    Attributes:
        original: the graph, for its attributes.
    """

    __networkx_backend__ = "nakshi"

    def __init__(self, graph: nx.Graph, edge_attrs: dict[str, Any] | None) -> None:
        self.original = graph
        self.directed = bool(graph.is_directed())
        self.parallel = bool(graph.is_multigraph())
        self._names = list(graph)
        self._places = {node: place for place, node in enumerate(self._names)}
        self.count = len(self._names)
        self._starts, self._targets = self._adjacency(graph._adj)
        self._reversed: tuple[np.ndarray, np.ndarray] | None = None
        self.attribute: str | None = None
        self.weights: np.ndarray | None = None
        self._whole = True
        if edge_attrs:
            [(self.attribute, default)] = edge_attrs.items()
            self._read_weights(default)
        self._opened: Graph | None = None

    def is_directed(self) -> bool:
        """True if edges have a direction, for NetworkX."""
        return self.directed

    def is_multigraph(self) -> bool:
        """True if the graph was a multigraph, for NetworkX."""
        return self.parallel

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Any]:
        return iter(self._names)

    @property
    def store(self) -> Graph:
        if self._opened is None:
            self._opened = self._built()
        return self._opened

    def row(self, node: Any) -> int:
        try:
            return self._places.get(node, -1)
        except TypeError:
            return -1

    def id(self, node: Any) -> int:
        return self._places[node]

    def ids(self, rows: np.ndarray) -> Any:
        return rows

    def nodes(self, rows: np.ndarray | None = None) -> Iterator[Any]:
        if rows is None:
            return iter(self._names)
        return map(self._names.__getitem__, rows.tolist())

    def mapping(self, values: np.ndarray, rows: np.ndarray | None = None) -> Mapping[Any, Any]:
        return dict(zip(self.nodes(rows), values.tolist()))

    def is_unit(self, attribute: str | None) -> bool:
        return attribute is None or self.weights is None

    def column(self, attribute: str) -> str:
        return "weight"

    def number(self, value: float) -> Any:
        return int(value) if self._whole else value

    def lists(
        self, rows: np.ndarray, reverse: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        starts, targets = self._starts, self._targets
        if reverse and self.directed:
            if self._reversed is None:
                self._reversed = self._adjacency(self.original._pred)
            starts, targets = self._reversed
        first = starts[rows]
        counts = starts[rows + 1] - first
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(first - before, counts)
        yield rows, counts, targets[places]

    def _adjacency(self, adjacency: Any) -> tuple[np.ndarray, np.ndarray]:
        """Starts of the lists, and rows of the neighbours in NetworkX's order; parallels repeat."""
        lists = list(adjacency.values())
        targets: Iterable[Any] = itertools.chain.from_iterable(lists)
        counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        rows = np.fromiter(
            map(self._places.__getitem__, targets), dtype=np.int64, count=int(counts.sum())
        )
        if self.parallel:
            times = np.fromiter(
                (len(keys) for found in lists for keys in found.values()), dtype=np.int64
            )
            owners = np.repeat(np.arange(len(lists)), counts)
            rows = np.repeat(rows, times)
            counts = np.bincount(np.repeat(owners, times), minlength=len(lists))
        return np.concatenate(([0], np.cumsum(counts))), rows

    def _read_weights(self, default: Any) -> None:
        """Read the edge attribute; it stays ``None`` where all edges count as 1."""
        links: Iterable[Any] = (
            data for found in self.original._adj.values() for data in found.values()
        )
        if self.parallel:
            links = itertools.chain.from_iterable(keys.values() for keys in links)
        values = [data.get(self.attribute, default) for data in links]
        if not all(isinstance(value, (int, float, np.integer, np.floating)) for value in values):
            raise NotImplementedError(f"the edge attribute {self.attribute!r} is no number")
        weights = np.array(values, dtype=np.float64)
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise NotImplementedError(
                f"the edge attribute {self.attribute!r} is negative or infinite somewhere"
            )
        if (weights != 1).any():
            self.weights = weights
            self._whole = all(isinstance(value, (int, np.integer)) for value in values)

    def _built(self) -> Graph:
        from scipy.sparse import csr_array

        from ..stores import build

        starts, targets, weights = self._starts, self._targets, self.weights
        if not self.directed:
            owners = np.repeat(np.arange(self.count), np.diff(starts))
            once = owners <= targets
            counts = np.bincount(owners[once], minlength=self.count)
            starts, targets = np.concatenate(([0], np.cumsum(counts))), targets[once]
            weights = None if weights is None else weights[once]
        data = np.ones(len(targets)) if weights is None else weights
        matrix = csr_array((data, targets, starts), shape=(self.count, self.count))
        folder = new_directory(small=len(targets) <= _SMALL)
        graph = build(
            folder / "graph.nakshi",
            matrix,
            directed=self.directed,
            weighted=weights is not None,
            duplicates="keep" if self.parallel else "drop",
            allow_empty=True,
            threads=nx.config.backends.nakshi.threads,
            progress=False,
        )
        return owned(graph, folder, self)


def view(graph: Any) -> View:
    """The face of a store or of a converted graph."""
    return graph if isinstance(graph, View) else StoreView(graph)


def new_directory(*, small: bool = False) -> Path:
    """A new directory for a store, in memory if it is small."""
    chosen = nx.config.backends.nakshi.directory
    if chosen is None and small and os.access(_MEMORY, os.W_OK):
        chosen = _MEMORY
    return Path(tempfile.mkdtemp(prefix="nakshi-", dir=chosen))


def owned(graph: Graph, folder: Path, owner: Any = None) -> Graph:
    """The graph of a store whose directory goes with its owner, by default the graph itself."""
    weakref.finalize(graph if owner is None else owner, _removed, folder, os.getpid())
    return graph


def _removed(folder: Path, process: int) -> None:
    # A child after a fork has the owner, too.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
