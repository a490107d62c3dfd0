"""What a store holds: labels, types of edges and properties, with counts."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .errors import ParameterError
from .progress import ProgressArgument, reporting
from .units import readable

if TYPE_CHECKING:
    from ._core import Properties, Remote

__all__ = ["EdgeEnds", "EdgeType", "PropertyColumn", "Schema", "SchemaTable"]

#: Values of a property that are read to count the distinct ones; above it they are estimated.
EXACT = 250_000
#: Ends of a type of edges that a table shows.
_ENDS = 3


@dataclass(frozen=True)
class EdgeEnds:
    """Labels at both ends of edges of one type.

    Attributes:
        source: labels of the sources; empty for nodes without a label.
        target: labels of the targets.
        edges: number of edges, which is an estimate where the type's ``ends_estimated`` is true.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    edges: int


@dataclass(frozen=True)
class EdgeType:
    """A type of edges.

    Attributes:
        name: its name.
        edges: number of edges.
        inverse: type of the edges that lead back (``set_inverse``), or ``None``.
        ends: labels of the ends, the most frequent first; empty in a graph without labels.
        ends_estimated: true if ``ends`` comes from a sample.
    """

    name: str
    edges: int
    inverse: str | None
    ends: tuple[EdgeEnds, ...]
    ends_estimated: bool


@dataclass(frozen=True)
class PropertyColumn:
    """A property of nodes or of edges.

    Attributes:
        name: its name.
        type: its type, such as ``"int"`` or ``"string[]"``.
        values: number of nodes, or edges, that have a value.
        distinct: number of distinct values; ``None`` where nothing counts them (weights of a store
            without properties).
        estimated: true if ``values`` and ``distinct`` are estimates from a sample.
        codec: how the values are encoded in the files; empty if only the log has values.
        index: the structure that finds a value without reading all of them, or ``None``.
        searchable: true if a part of a value is found without reading all of them.
    """

    name: str
    type: str
    values: int
    distinct: int | None
    estimated: bool
    codec: tuple[str, ...]
    index: str | None
    searchable: bool


@dataclass(frozen=True)
class SchemaTable:
    """A part of a schema as text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, repr=False)
class Schema:
    """What a graph holds after its last commit. ``print`` and notebooks show it as tables.

    Attributes:
        directed: whether edges have a direction.
        nodes: number of nodes.
        edges: number of edges.
        commit: number of the last commit; ``None`` for a store without properties.
        labels: number of nodes by label, the most frequent first; a node with two labels counts
            for both.
        unlabelled: number of nodes without a label.
        edge_types: types of edges, the most frequent first.
        node_properties: properties of nodes.
        edge_properties: properties of edges; in a store without properties its weights.
    """

    directed: bool
    nodes: int
    edges: int
    commit: int | None
    labels: dict[str, int]
    unlabelled: int
    edge_types: tuple[EdgeType, ...]
    node_properties: tuple[PropertyColumn, ...]
    edge_properties: tuple[PropertyColumn, ...]

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain dicts, lists and numbers, as ``nakshi info --json`` prints it."""
        found = asdict(self)
        for name in ("edge_types", "node_properties", "edge_properties"):
            found[name] = list(found[name])
        for one in found["edge_types"]:
            one["ends"] = [
                {**ends, "source": list(ends["source"]), "target": list(ends["target"])}
                for ends in one["ends"]
            ]
        for one in [*found["node_properties"], *found["edge_properties"]]:
            one["codec"] = list(one["codec"])
        return found

    def tables(self) -> list[SchemaTable]:
        """Labels, types of edges and properties as tables of text; those without a row are left out."""
        labels = [(name, readable(count)) for name, count in self.labels.items()]
        if labels and self.unlabelled:
            labels.append(("(none)", readable(self.unlabelled)))
        types = [(one.name, readable(one.edges), _ends(one)) for one in self.edge_types]
        head = ("property", "type", "values", "distinct", "codec", "index", "searchable")
        tables = [
            SchemaTable("labels", ("label", "nodes"), tuple(labels)),
            SchemaTable("edge types", ("type", "edges", "from -> to"), tuple(types)),
            SchemaTable("properties of nodes", head, tuple(map(_row, self.node_properties))),
            SchemaTable("properties of edges", head, tuple(map(_row, self.edge_properties))),
        ]
        return [table for table in tables if table.rows]

    def __repr__(self) -> str:
        parts = [f"{self.nodes:,} nodes", f"{self.edges:,} edges"]
        if self.labels:
            parts.append("labels " + _some(list(self.labels)))
        if self.edge_types:
            parts.append("edge types " + _some([one.name for one in self.edge_types]))
        count = len(self.node_properties) + len(self.edge_properties)
        parts.append(f"{count} {'property' if count == 1 else 'properties'}")
        return f"<nakshi.Schema {'; '.join(parts)}>".replace("\n", " ")

    def __str__(self) -> str:
        lines = [f"{self.nodes:,} nodes, {self.edges:,} edges, {self._kind()}"]
        for table in self.tables():
            lines += ["", *aligned(table)]
        return "\n".join(lines)

    def _kind(self) -> str:
        return "directed" if self.directed else "undirected"

    def _repr_html_(self) -> str:
        text = f"<p>{self.nodes:,} nodes, {self.edges:,} edges, {self._kind()}</p>"
        for table in self.tables():
            rows = "".join(_html("td", row) for row in table.rows)
            text += (
                f"<table><caption>{html.escape(table.title)}</caption>"
                f"<thead>{_html('th', table.head)}</thead><tbody>{rows}</tbody></table>"
            )
        return f"<div>{text}</div>"


def aligned(table: SchemaTable) -> list[str]:
    """A table as lines of text, its columns below each other."""
    rows = [[table.title, *table.head[1:]], *map(list, table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.head))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows
    ]


def of_properties(
    core: Properties | Remote, directed: bool, exact: int, progress: ProgressArgument
) -> Schema:
    """The schema of a graph with properties."""
    if isinstance(exact, bool) or not isinstance(exact, int) or not 0 <= exact < 1 << 40:
        raise ParameterError(f"exact={exact!r} cannot work; give a number of values from 0 on")
    with reporting(progress, "schema") as sink:
        found = json.loads(core.catalog(exact, progress=sink))
    return Schema(
        directed=directed,
        nodes=found["nodes"],
        edges=found["edges"],
        commit=found["commit"],
        labels={one["label"]: one["nodes"] for one in found["labels"]},
        unlabelled=found["unlabelled"],
        edge_types=tuple(map(_edge_type, found["edge_types"])),
        node_properties=tuple(map(_property, found["node_properties"])),
        edge_properties=tuple(map(_property, found["edge_properties"])),
    )


def of_topology(info: dict[str, Any]) -> Schema:
    """The schema of a store without properties, from the summary of the store."""
    edges = info["edges"]
    weights = [
        PropertyColumn(name, kind, edges, None, False, (), None, False)
        for name, kind in info["column_types"].items()
    ]
    return Schema(
        directed=info["directed"],
        nodes=info["vertices"],
        edges=edges,
        commit=None,
        labels={},
        unlabelled=info["vertices"],
        edge_types=(),
        node_properties=(),
        edge_properties=tuple(weights),
    )


def _edge_type(found: dict[str, Any]) -> EdgeType:
    ends = (EdgeEnds(tuple(e["from"]), tuple(e["to"]), e["edges"]) for e in found["ends"])
    return EdgeType(
        found["type"], found["edges"], found["inverse"], tuple(ends), found["ends_estimated"]
    )


def _property(found: dict[str, Any]) -> PropertyColumn:
    return PropertyColumn(**{**found, "codec": tuple(found["codec"])})


def _row(one: PropertyColumn) -> tuple[str, ...]:
    about = "about " if one.estimated else ""
    distinct = "-" if one.distinct is None else about + readable(one.distinct)
    index = "-" if one.index is None else one.index
    codec = ", ".join(one.codec) or "-"
    values = about + readable(one.values)
    return (one.name, one.type, values, distinct, codec, index, "yes" if one.searchable else "no")


def _ends(one: EdgeType) -> str:
    def label(names: tuple[str, ...]) -> str:
        return ":".join(names) or "(none)"

    about = "about " if one.ends_estimated else ""
    shown = [
        f"{label(ends.source)} -> {label(ends.target)} ({about}{ends.edges:,})"
        for ends in one.ends[:_ENDS]
    ]
    if len(one.ends) == 1 and not one.ends_estimated:
        shown = [f"{label(one.ends[0].source)} -> {label(one.ends[0].target)}"]
    more = len(one.ends) - _ENDS
    return ", ".join(shown) + (f", {more} more" if more > 0 else "") or "-"


def _some(names: list[str]) -> str:
    more = len(names) - 4
    return ", ".join(names[:4]) + (f" and {more} more" if more > 0 else "")


def _html(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
