"""Graphs of NetworkX and igraph, turned into what an import reads. Neither package is imported."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ParameterError, UnsupportedError

__all__ = ["Network", "converted"]

#: Edge attribute that becomes the weight of a store without properties.
_WEIGHT = "weight"


@dataclass
class Network:
    """A graph of another package: ids, ends of edges, and columns of attributes, ``None`` where one lacks.

    Attributes:
        directed: whether edges have a direction.
        parallel: whether several edges may join the same two nodes.
        ids: nodes, isolated ones too.
        sources, targets: ends of the edges.
        node_attributes, edge_attributes: values by name, one a node or edge.
    """

    directed: bool
    parallel: bool
    ids: list[Any]
    sources: list[Any]
    targets: list[Any]
    node_attributes: dict[str, list[Any]] = field(default_factory=dict)
    edge_attributes: dict[str, list[Any]] = field(default_factory=dict)


def converted(
    edges: Any, nodes: Any, properties: bool | None, options: dict[str, Any]
) -> tuple[Any, Any, bool | None]:
    """Edges, nodes and whether they have properties; completes `options` by what a graph says itself.

    Anything but a graph of NetworkX or igraph is returned as it was given.
    """
    network = _network(edges)
    if network is None:
        return edges, nodes, properties
    if nodes is not None:
        raise ParameterError("a graph has its nodes itself; leave out nodes=")
    directed = network.directed and options.get("directed", True)
    # A graph without edges is no sign of a wrong separator.
    options["allow_empty"] = True
    ids, texts = _ids(network.ids)
    sources, targets = ([texts[end] for end in ends] for ends in (network.sources, network.targets))
    weights = network.edge_attributes.get(_WEIGHT)
    plain = not network.node_attributes and set(network.edge_attributes) <= {_WEIGHT}
    numeric = weights is not None and all(_is_number(weight) for weight in weights)
    if properties or not (plain and (weights is None or numeric)):
        options["directed"] = True
        if network.parallel:
            options["duplicates"] = "keep"
        return *_tables(network, ids, sources, targets, directed), True
    options["directed"] = directed
    if network.parallel and options.get("duplicates") in (None, "drop"):
        options["duplicates"] = "keep"
    if weights is None:
        return (sources, targets), ids, False
    options["weighted"] = True
    return (sources, targets, weights), ids, False


def _network(graph: Any) -> Network | None:
    if all(hasattr(graph, name) for name in ("is_multigraph", "is_directed", "adj", "nodes")):
        return _of_networkx(graph)
    if all(hasattr(graph, name) for name in ("get_edgelist", "is_directed", "vs", "es")):
        return _of_igraph(graph)
    return None


def _of_networkx(graph: Any) -> Network:
    ids = list(graph.nodes)
    found = list(graph.edges(data=True))
    return Network(
        directed=bool(graph.is_directed()),
        parallel=bool(graph.is_multigraph()),
        ids=ids,
        sources=[source for source, _, _ in found],
        targets=[target for _, target, _ in found],
        node_attributes=_columns([graph.nodes[id] for id in ids]),
        edge_attributes=_columns([attributes for _, _, attributes in found]),
    )


def _of_igraph(graph: Any) -> Network:
    nodes = {name: list(graph.vs[name]) for name in graph.vs.attributes()}
    edges = {name: list(graph.es[name]) for name in graph.es.attributes()}
    ids: list[Any] = list(range(graph.vcount()))
    # By igraph's convention vertices are known by their attribute `name`, where it tells them apart.
    names = nodes.get("name")
    if names is not None and None not in names and len(set(names)) == len(names):
        ids = names
        del nodes["name"]
    ends = graph.get_edgelist()
    return Network(
        directed=bool(graph.is_directed()),
        parallel=bool(graph.has_multiple()) if hasattr(graph, "has_multiple") else True,
        ids=ids,
        sources=[ids[source] for source, _ in ends],
        targets=[ids[target] for _, target in ends],
        node_attributes=nodes,
        edge_attributes=edges,
    )


def _columns(rows: list[Mapping[Any, Any]]) -> dict[str, list[Any]]:
    """Attributes by name, one value a row."""
    names: dict[Any, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    for name in names:
        if not isinstance(name, str) or not name:
            raise ParameterError(f"the attribute {name!r} has no name of text; rename it")
    return {name: [row.get(name) for row in rows] for name in names}


def _ids(nodes: list[Any]) -> tuple[list[Any], dict[Any, Any]]:
    """Ids as an import takes them, and the id of each node: all integers, or all text."""
    import numpy as np

    whole = (int, np.integer)
    for node in nodes:
        if isinstance(node, bool) or not isinstance(node, (*whole, str, bytes)):
            raise ParameterError(
                f"the node {node!r} ({type(node).__name__}) is no id; number the nodes first, with "
                "networkx.convert_node_labels_to_integers(G, label_attribute='name')"
            )
    # Keys of a dict as the edges have them; equal integers of NumPy hash alike.
    texts: dict[Any, Any]
    if all(isinstance(node, whole) for node in nodes):
        texts = {node: int(node) for node in nodes}
    else:
        texts = {node: _text(node) for node in nodes}
        if len(set(texts.values())) < len(texts):
            first: dict[str, Any] = {}
            for node, text in texts.items():
                if text in first:
                    raise ParameterError(
                        f"the nodes {first[text]!r} and {node!r} are the same id as text; give "
                        "one of them another name"
                    )
                first[text] = node
    return list(texts.values()), texts


def _text(node: Any) -> str:
    return node.decode("utf-8", "surrogateescape") if isinstance(node, bytes) else str(node)


def _is_number(value: Any) -> bool:
    return isinstance(getattr(value, "item", lambda: value)(), (int, float)) and not isinstance(
        value, bool
    )


def _tables(
    network: Network, ids: list[Any], sources: list[Any], targets: list[Any], directed: bool
) -> tuple[Any, Any]:
    """Tables of edges and nodes; an undirected edge is two, one each way."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError:
        raise UnsupportedError(
            "attributes of a graph need pyarrow; run: pip install pyarrow"
        ) from None
    nodes = {":ID": ids}
    for name, values in network.node_attributes.items():
        if name == "labels" and all(_is_labels(value) for value in values):
            nodes[":LABEL"] = [None if value is None else list(value) for value in values]
        else:
            nodes.update([_typed(name, values, "node")])
    attributes = dict(network.edge_attributes)
    edges: dict[str, list[Any]] = {":START_ID": sources, ":END_ID": targets}
    types = attributes.get("type")
    if types is not None and all(isinstance(value, str) and value for value in types):
        edges[":TYPE"] = attributes.pop("type")
    times = attributes.get("timestamp")
    if times is not None and all(isinstance(value, int) for value in times):
        edges["timestamp:long"] = attributes.pop("timestamp")
    for name, values in attributes.items():
        edges.update([_typed(name, values, "edge")])
    if not directed:
        edges = _both_ways(edges)
    return pa.table(edges), pa.table(nodes)


def _is_labels(value: Any) -> bool:
    return value is None or (
        isinstance(value, (list, tuple)) and all(isinstance(label, str) for label in value)
    )


def _both_ways(edges: dict[str, list[Any]]) -> dict[str, list[Any]]:
    sources, targets = edges[":START_ID"], edges[":END_ID"]
    # A self-loop leads back by itself.
    other = [i for i, (a, b) in enumerate(zip(sources, targets)) if a != b]
    back = {name: values + [values[i] for i in other] for name, values in edges.items()}
    back[":START_ID"] = sources + [targets[i] for i in other]
    back[":END_ID"] = targets + [sources[i] for i in other]
    return back


def _typed(name: str, values: list[Any], of: str) -> tuple[str, list[Any]]:
    """Header and values of an attribute: the one type that all values have."""
    values = [_plain(value) for value in values]
    lists = [value for value in values if isinstance(value, list)]
    scalars: Iterable[Any] = values
    if lists:
        scalars = [item for value in lists for item in value]
        if any(value is not None and not isinstance(value, list) for value in values):
            raise ParameterError(
                f"the {of} attribute {name!r} is a list here and a single value there; "
                "make all of them lists"
            )
    kinds = {type(value) for value in scalars if value is not None}
    if kinds == {int, float}:
        kinds = {float}
        values = [_as_float(value) for value in values]
    header = {
        str: "string",
        bytes: "bytes",
        int: "long",
        float: "double",
        bool: "boolean",
        datetime.datetime: "timestamp",
        datetime.date: "timestamp",
    }
    known = [header[kind] for kind in kinds if kind in header]
    if len(kinds) > 1 or len(known) < len(kinds):
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ParameterError(
            f"the {of} attribute {name!r} has values of type {names}; give it one of str, bytes, "
            "int, float, bool, datetime, or lists of one of them"
        )
    kind = known[0] if known else "string"
    return f"{name}:{kind}{'[]' if lists else ''}", values


def _as_float(value: Any) -> Any:
    if isinstance(value, list):
        return [float(item) for item in value]
    return None if value is None else float(value)


def _plain(value: Any) -> Any:
    """A value without NumPy's types; tuples, sets and arrays as lists."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return str(value)
    return value
