"""GraphML and GEXF files, which Gephi, yEd and Cytoscape read, written by NetworkX."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .errors import ParameterError, StorageError
from .result import optional_module

__all__ = ["ENDINGS", "write"]

#: Name endings of the formats, and NetworkX's functions that write them.
ENDINGS = {".graphml": "write_graphml_xml", ".gexf": "write_gexf"}
#: Characters that no XML file can have.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
#: Attributes of edges that have another meaning in GEXF.
_RESERVED = {"type": "edge_type", "id": "edge_id", "start": "begin", "end": "finish"}


def write(graph: Any, path: str | os.PathLike[str]) -> None:
    """Write a graph of NetworkX to a file, which appears when it is complete.

    Raises:
        ParameterError: another ending, or text with a character that XML does not have.
        StorageError: the file cannot be written.
    """
    nx = optional_module("networkx", "write_graph")
    file = Path(path)
    writer = ENDINGS.get(file.suffix)
    if writer is None:
        raise ParameterError(f"{file.name} ends in neither {' nor '.join(ENDINGS)}; rename it")
    rows = [(f"node {node!r}", values) for node, values in graph.nodes(data=True)]
    rows += [(f"edge {ends!r}", values) for *ends, values in graph.edges(data=True)]
    for place, values in rows:
        named = {name: _plain(place, value) for name, value in values.items()}
        if file.suffix == ".gexf" and place.startswith("edge"):
            named = {_RESERVED.get(name, name): value for name, value in named.items()}
        values.clear()
        values.update(named)
    for node in graph:
        _checked(f"node {node!r}", str(node))
    partial = file.with_name(f".{file.name}.partial")
    try:
        getattr(nx, writer)(graph, partial)
        os.replace(partial, file)
    except OSError as error:
        raise StorageError(error.errno, error.strerror, os.fspath(file)) from None
    finally:
        partial.unlink(missing_ok=True)


def _plain(place: str, value: Any) -> Any:
    """A value of a type that both formats have; items of a list are joined by semicolons."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, list):
        return ";".join(str(_plain(place, item)) for item in value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return _checked(place, str(value))


def _checked(place: str, text: str) -> str:
    found = _FORBIDDEN.search(text)
    if found is not None:
        raise ParameterError(
            f"{place} has the character {found.group()!r}, which XML does not have"
        )
    return text
