"""A drawn neighbourhood: some vertices around one, placed by forces. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .conversions import exported, numbered
from .errors import ParameterError, UnknownVertexError, UnsupportedError
from .plot import figure_with_axes

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from .graph import Graph

__all__ = ["Adjacency", "draw"]

#: Most vertices of a picture: more are a blot, and the forces take quadratic time.
MOST = 2000
#: Neighbours of a vertex that are taken from one step, so that a hub does not fill the picture.
_FROM_ONE = 12
#: Vertices that have their name beside them.
_NAMED = 12
_COLORS = ["#1f5c7a", "#c8553d", "#4c956c", "#e09f3e", "#6d597a", "#5f6c7b"]
_START = "#111111"

#: Neighbours of some vertices in both directions: ``(offsets, targets)``.
Lists = Callable[[list[Any]], tuple[Any, Any]]


def draw(graph: Graph, sample: int, source: Any, seed: int, labels: bool, max_edges: int) -> Figure:
    """The picture of :meth:`nakshi.Graph.plot`."""
    import numpy as np

    if isinstance(sample, bool) or not isinstance(sample, int) or not 1 <= sample <= MOST:
        raise ParameterError(f"sample={sample!r} cannot work; give a number from 1 to {MOST}")
    figure, axes = figure_with_axes(7, 7)
    adjacency = Adjacency.of(graph, max_edges)
    if not adjacency.ids:
        raise ParameterError("the graph has no vertex; there is nothing to draw")
    if source is None:
        source = adjacency.hub()
    elif source not in adjacency.places:
        raise UnknownVertexError(f"vertex {source!r} is not in the graph")
    lists = adjacency.lists
    random = np.random.default_rng(seed)
    ids = around(lists, source, sample, random)
    edges = among(lists, ids)
    places = placed(len(ids), edges, random)
    groups = _groups(graph, ids)
    _paint(axes, ids, edges, places, groups, labels)
    axes.set_title(
        f"{len(ids):,} of {graph.num_vertices:,} vertices, around {source!r}",
        loc="left",
        fontsize="medium",
    )
    return figure


class Adjacency:
    """Neighbours of all vertices in both directions, in memory."""

    def __init__(self, ids: list[Any], sources: np.ndarray, targets: np.ndarray) -> None:
        import numpy as np

        self.ids = ids
        #: Place of each id.
        self.places = {v: i for i, v in enumerate(ids)}
        ends = np.concatenate([sources, targets])
        self._targets = np.concatenate([targets, sources])[np.argsort(ends, kind="stable")]
        counts = np.bincount(ends, minlength=len(ids))
        self._offsets = np.concatenate([[0], np.cumsum(counts)])

    @classmethod
    def of(cls, graph: Graph, max_edges: int) -> Adjacency:
        """The neighbours in a graph after its last commit."""
        with exported(graph, "plot", max_edges) as (nodes, edges):
            ids, sources, targets = numbered(nodes, edges)
            return cls(ids.to_pylist(), sources, targets)

    def hub(self) -> Any:
        """The vertex with most edges."""
        import numpy as np

        return self.ids[int(np.argmax(np.diff(self._offsets)))]

    def lists(self, ids: list[Any]) -> tuple[list[int], list[Any]]:
        """Neighbours of some vertices, as offsets and ids."""
        offsets, found = [0], []
        for v in ids:
            place = self.places[v]
            own = self._targets[self._offsets[place] : self._offsets[place + 1]]
            found += [self.ids[i] for i in own.tolist()]
            offsets.append(len(found))
        return offsets, found


def around(lists: Lists, source: Any, count: int, random: np.random.Generator) -> list[Any]:
    """Up to `count` vertices nearest to a source, at most a few from each list of neighbours."""
    found: dict[Any, None] = {source: None}
    step, skipped = [source], []
    while step and len(found) < count:
        offsets, targets = lists(step)
        following: list[Any] = []
        for i in range(len(step)):
            own = targets[int(offsets[i]) : int(offsets[i + 1])]
            fresh = [v for v in dict.fromkeys(_plain(own)) if v not in found]
            fresh = [fresh[k] for k in random.permutation(len(fresh))]
            # From the source as many as leave room for a few of each.
            most = max(_FROM_ONE, count // 4) if step == [source] else _FROM_ONE
            skipped += fresh[most:]
            for v in fresh[:most]:
                if len(found) < count:
                    found[v] = None
                    following.append(v)
        # Where nothing is farther, what was left out of the lists of hubs fills the picture.
        step = following or [v for v in dict.fromkeys(skipped) if v not in found]
        if not following:
            step, skipped = step[: count - len(found)], []
            found.update(dict.fromkeys(step))
    return list(found)


def among(lists: Lists, ids: list[Any]) -> np.ndarray:
    """Edges between vertices, each pair once, by their places in `ids`; shape ``(edges, 2)``."""
    import numpy as np

    place = {v: i for i, v in enumerate(ids)}
    offsets, targets = lists(ids)
    pairs = {
        (min(i, j), max(i, j))
        for i in range(len(ids))
        for v in _plain(targets[int(offsets[i]) : int(offsets[i + 1])])
        if (j := place.get(v)) is not None and i != j
    }
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def placed(count: int, edges: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Places by the forces of Fruchterman and Reingold, "Graph drawing by force-directed placement",
    Software: Practice and Experience 21 (1991); shape ``(count, 2)``.
    """
    import numpy as np

    places = random.normal(size=(count, 2))
    if count == 1:
        return np.zeros((1, 2))
    ideal = np.sqrt(4.0 / count)
    sources, targets = edges[:, 0], edges[:, 1]
    for heat in np.geomspace(0.5, 0.005, 250):
        apart = places[:, None, :] - places[None, :, :]
        squared = (apart**2).sum(axis=2) + 1e-6
        force = (apart * (ideal**2 / squared)[:, :, None]).sum(axis=1)
        along = places[sources] - places[targets]
        pull = along * (np.sqrt((along**2).sum(axis=1)) / ideal)[:, None]
        np.add.at(force, sources, -pull)
        np.add.at(force, targets, pull)
        # Keeps parts without an edge between them in the picture.
        force -= 0.3 * places
        length = np.sqrt((force**2).sum(axis=1, keepdims=True)) + 1e-9
        places = places + force / length * np.minimum(length, heat)
    centred: np.ndarray = places - places.mean(axis=0)
    return centred


def _plain(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _groups(graph: Graph, ids: list[Any]) -> list[str] | None:
    """The first label of each vertex; ``None`` without labels."""
    try:
        found = graph.get_node_properties(ids, ["labels"])
    except (UnsupportedError, ParameterError):
        return None
    lists = [row["labels"] for row in found]
    return [str(own[0]) if isinstance(own, (list, tuple)) and own else "" for own in lists]


def _paint(
    axes: Any,
    ids: list[Any],
    edges: np.ndarray,
    places: np.ndarray,
    groups: list[str] | None,
    labels: bool,
) -> None:
    import numpy as np
    from matplotlib.collections import LineCollection

    degrees = np.bincount(edges.ravel(), minlength=len(ids))
    # Fainter lines where there are many.
    shade = float(np.clip(40 / max(len(edges), 1) ** 0.75, 0.08, 0.5))
    axes.add_collection(
        LineCollection(places[edges], colors="0.25", linewidths=0.6, alpha=shade, zorder=1)
    )
    sizes = 14 + 60 * np.sqrt(degrees / max(degrees.max(), 1))
    names = sorted(set(groups or [""]), key=lambda name: (name == "", name))
    for number, name in enumerate(names):
        own = [i for i in range(len(ids)) if groups is None or groups[i] == name]
        axes.scatter(
            *places[own].T,
            s=sizes[own],
            color=_COLORS[min(number, len(_COLORS) - 1)],
            edgecolors="white",
            linewidths=0.5,
            label=name or "(no label)",
            zorder=2,
        )
    axes.scatter(*places[0], s=sizes[0] + 60, facecolors="none", edgecolors=_START, zorder=3)
    if labels:
        for i in [0, *np.argsort(-degrees)[:_NAMED]]:
            axes.annotate(
                str(ids[i]),
                places[i],
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                zorder=4,
                bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.7},
            )
    if groups is not None and len(names) > 1:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.06)
