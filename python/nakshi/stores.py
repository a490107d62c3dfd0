"""Functions that make stores (import, generators), check them, copy them and export them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, Union, get_args

from . import _core, kuzu, reorder, tables
from .declared import DECLARATIONS
from .edges import nodes_file, prepare
from .errors import InputWarning, ParameterError
from .formats import Format
from .graph import Graph
from .konect import edge_files
from .limits import check_shards
from .networks import converted
from .orders import DRAWN, Layout, Order, PropertyLayout
from .progress import ProgressArgument, reporting
from .units import parse_size

if TYPE_CHECKING:
    from .edges import Edges, Nodes
    from .tables import Columns, Tables

__all__ = [
    "algorithms",
    "backup",
    "build",
    "check",
    "estimate_import",
    "export",
    "generate",
    "open_store",
]

Path = Union[str, "os.PathLike[str]"]


def open_store(path: Path) -> Graph:
    """Open a store for analysis; exported as ``nakshi.open``.

    Args:
        path: directory that ``nakshi.build`` or ``nakshi import`` made.

    Raises:
        StoreNotFoundError: there is nothing at ``path``, or no store.
        IncompatibleError: a newer nakshi has written the store.
        CorruptError: the manifest is damaged.
    """
    return Graph(path)


def build(
    path: Path,
    edges: Edges | Tables,
    *,
    nodes: Nodes | Tables | None = None,
    properties: bool | None = None,
    directed: bool = True,
    weighted: bool = False,
    format: Format = "auto",
    columns: Columns | None = None,
    separator: str | None = None,
    header: bool | None = None,
    missing_nodes: Literal["error", "create", "skip"] | None = None,
    parallel_edges: Literal["keep", "replace", "error"] | None = None,
    id_spaces: Literal["headers", "labels"] | None = None,
    allow_empty: bool = False,
    layout: Layout | PropertyLayout = "auto",
    property_layout: PropertyLayout | None = None,
    searchable: Sequence[str] = (),
    shards: int | None = None,
    duplicates: Literal["drop", "keep", "sum"] | None = None,
    self_loops: Literal["keep", "drop"] = "keep",
    encoding: Literal["packed", "raw"] = "packed",
    page_size: int | str = 4096,
    stripes: Sequence[Path] | None = None,
    scratch: Path | None = None,
    seed: int | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: ProgressArgument = None,
) -> Graph:
    """Import edges into a new store and open it.

    Nothing appears at ``path`` before the import is complete. An import that fails or is
    interrupted leaves nothing behind.

    Args:
        path: directory to create; must not exist.
        edges: one of

            - a file's path, or a list of them: edge lists (CSV, TSV, SNAP, KONECT), adjacency
              lists, Matrix Market, METIS, WebGraph (``NAME.graph`` with ``NAME.properties`` beside
              it), Graphalytics, Parquet, Arrow, also compressed with gzip or zstd; ``"-"`` is
              standard input; archives of KONECT (``.tar.bz2``), whose headers say whether edges
              have a direction;
            - a folder that ``EXPORT DATABASE`` of Kuzu or Ladybug wrote, with CSV, Parquet or
              icebug-disk: its tables become labels, types of edges and properties; ids are its keys,
              or ``Table:key`` where there are several tables of nodes;
            - a DataFrame (polars, pandas) or any object with ``__arrow_c_stream__``;
            - a tuple of arrays ``(sources, targets)`` or ``(sources, targets, weights)``, each of
              shape ``(num_edges,)``: integers or text;
            - an array of shape ``(num_edges, 2)``, or ``(2, num_edges)``, a row of sources and one
              of targets; of two or three edges the latter looks like the former, and a tuple of arrays
              says which it is;
            - a square SciPy sparse matrix: an edge ``i -> j`` for every stored entry, vertices
              ``0`` to ``n - 1`` whether or not they have edges; what becomes of entries in the same
              place, which SciPy would add up, ``duplicates`` says;
            - a graph of NetworkX or igraph, whose own direction counts. Where edges have no attribute
              but a numeric ``weight``, and nodes none, it becomes weights; any other attribute makes a
              store with properties, in which an undirected edge is two, one each way. The node
              attribute ``labels`` and the edge attributes ``type`` and ``timestamp`` are those of
              the store. Parallel edges of a multigraph are kept.
        nodes: vertices that may have no edge: a file's path, an array of ids, or a table whose
            first column (or column ``id``) has them. A table with more columns is one of nodes with
            properties.
        properties: load tables with properties: ``edges`` and ``nodes`` are paths or objects with
            ``__arrow_c_stream__``, lists of them, or dicts of them by type of the edges and label
            of the nodes; edges may be arrays too. Columns have typed headers (``:ID``,
            ``:START_ID``, ``:END_ID``, ``:TYPE``, ``:LABEL``, ``name:type``) or well-known names
            (``id``, ``source``, ``target``, ``type``, ``timestamp``); all others are properties,
            whose types values tell. By default True where a table of nodes has properties or tables
            come by type or label, else False.
        directed: whether an edge leads from source to target only.
        weighted: read weights: the column after the target, or the third of ``columns``.
        format: format of the files; by default detected from content and name.
        columns: source, target and weight column of a table or file with columns, by name or
            by number from 1. By default columns with well-known names (``source``, ``src``,
            ``from`` ...), else the first two and, if ``weighted``, the third. Of tables with
            properties source and target, or a dict of headers by column:
            ``{"login": ":ID", "who": ":START_ID", "born": "born:date"}``; a dict of such dicts is by
            label of nodes and type of edges, ``"nodes"`` and ``"edges"``. With ``header=False`` a list
            has the headers of all columns.
        separator: character between columns of a text file; detected by default. A column may
            stand in double quotes, which are doubled inside (RFC 4180), and ends on its line. Lines
            end with LF, CRLF or CR. Tables with properties have no quotes between tabs.
        header: whether a text file begins with a line of column names; detected by default.
        missing_nodes: of tables with properties, where tables of nodes are given: ends of edges that
            none of them has are an error (``"error"``, the default), become nodes without properties
            (``"create"``), or their edges are left out (``"skip"``).
        parallel_edges: of tables with properties: rows with the same source, type and target are all
            kept (``"keep"``), replaced by the last (``"replace"``) or an error (``"error"``). By
            default all that differ in time or properties are kept, and equal rows are one edge.
        id_spaces: of tables with properties: ids are of one space unless headers name some
            (``:ID(Person)``, ``:START_ID(Person)``, LDBC's ``Person.id``); a table of nodes whose label
            is such a name is in that space. ``"labels"`` puts every table of nodes in the space of its
            label. An id of a space is ``"Person:933"`` in the graph. Of an export of Kuzu,
            ``"labels"`` puts the name of the table before all keys, ``"headers"`` before none.
        allow_empty: make a graph without edges if none is read, which is an error otherwise.
        layout: order of the vertices on disk: ``"degree"`` (hubs first), ``"original"`` (by id),
            ``"random"``. ``"auto"`` takes the one of the first two that makes the lists of a sample
            of vertices shorter; ``graph.info()`` shows the choice. The other orders of
            :meth:`Graph.relayout` need a second store beside ``path`` until they are done.
            A name of ``property_layout`` stands for that layout, with vertices in order ``"auto"``.
        property_layout: with ``properties``, the layout of their files: ``"columns"``, with the codec
            for each column that takes fewest bytes; ``"zipg"``, flat text that Succinct compresses
            and searches, as in ZipG; or ``"blocks"``, the properties of a node or an edge side by
            side and uncompressed, for data far larger than memory: a node is one read, nodes that
            ``layout`` puts close together share pages, and finding a value reads all blocks.
        searchable: names of properties of nodes, of edges or of both, of strings or bytes, that are
            stored as text which Succinct compresses, like all properties of
            ``property_layout="zipg"``. :func:`nakshi.contains` then finds rare patterns without
            reading all values, but reading a value takes ten times as long. ``memory`` must be at
            least 384 MiB then.
        shards: with ``properties``, the number of shards, 1 to 1024: parts of the store that a search
            of all nodes or edges goes through in parallel. A hash of its id says in which shard a
            node is; ``layout`` applies inside each shard. By default one for each core that the
            process may use, at most 64.
        duplicates: treatment of edges that occur more than once: ``"drop"`` all but one (the
            smallest weight stays; the default), ``"keep"`` all, or ``"sum"`` their weights. A sum
            that 64 bits or a double cannot hold is an error. Tables with properties have
            ``parallel_edges`` for that.
        self_loops: ``"keep"`` or ``"drop"`` edges from a vertex to itself.
        encoding: encoding of edge lists; ``"packed"`` is smaller, ``"raw"`` takes 4 bytes an edge.
        page_size: unit of checksums and of caching, 512 B to 1 MiB, a power of two.
        stripes: existing directories, best one on each disk, over which edge lists and weights are
            spread, a mebibyte at a time; all other files are in ``path``. The directories must not
            be moved, because the store records their absolute paths.
        scratch: existing directory for temporary files; by default they are beside ``path``. Where it
            lacks the room for them, the import ends as soon as it can tell.
        seed: seed of ``layout="random"``, ``"bondhu-..."`` and ``"bisection"``; with another layout
            a warning says that it has no effect.
        memory: memory cap for the import, 1 GiB by default and at least 64 MiB; larger data are
            sorted on disk.
        threads: worker threads; by default all cores, and at most one for 16 MiB of memory.
        progress: as for algorithms.

    Returns:
        The new store, opened. ``graph.info()["import"]`` has the counts, of duplicates and
        self-loops for example, and in ``notes`` what the import guessed or did not read. What
        options made it skip, replace or create is an :class:`InputWarning <nakshi.errors.InputWarning>`
        too.

    Raises:
        InputError: the input cannot be read or has no edge; the message names file and line.
        StoreExistsError: ``path`` exists.
        BudgetError, StorageError: not enough memory or disk; the directory is not writable.
        KeyboardInterrupt: Ctrl-C, within 0.2 seconds.
    """
    options = {
        "directed": directed,
        "weighted": weighted,
        "format": format,
        "columns": columns,
        "separator": separator,
        "header": header,
        "layout": layout,
        "property_layout": property_layout,
        "searchable": [searchable] if isinstance(searchable, str) else list(searchable),
        "shards": shards,
        "missing_nodes": missing_nodes,
        "parallel_edges": parallel_edges,
        "id_spaces": id_spaces,
        "allow_empty": allow_empty,
        "duplicates": duplicates,
        "self_loops": self_loops,
        "encoding": encoding,
        "page_size": parse_size(page_size),
        "stripes": None if stripes is None else [os.fspath(directory) for directory in stripes],
        "scratch": None if scratch is None else os.fspath(scratch),
        "seed": seed,
        "memory": parse_size(memory),
        "threads": threads,
    }
    edges, nodes, properties = converted(edges, nodes, properties, options)
    told = report(path, edges, nodes, options, progress, properties=properties)
    for warning in told.get("warnings", ()):
        warnings.warn(warning, InputWarning, stacklevel=2)
    return Graph(path)


def report(
    path: Path,
    edges: Any,
    nodes: Any,
    options: dict[str, Any],
    progress: ProgressArgument,
    *,
    properties: bool | None = None,
) -> dict[str, Any]:
    """Import with options as a dictionary and return the report, for the command line."""
    check_shards(options.get("shards"))
    told = _imported(path, edges, nodes, options, progress, properties)
    if (seed := options.get("seed")) is not None and options["layout"] not in DRAWN:
        unused = f"seed={seed} has no effect: the layout '{options['layout']}' draws nothing"
        told["warnings"] = [*told.get("warnings", ()), unused]
    return told


def _imported(
    path: Path,
    edges: Any,
    nodes: Any,
    options: dict[str, Any],
    progress: ProgressArgument,
    properties: bool | None,
) -> dict[str, Any]:
    if (export := kuzu.folder(edges)) is not None:
        if properties is False:
            raise ParameterError(
                f"{export} is an export of Kuzu, which has properties; project() gives its edges alone"
            )
        return kuzu.load(path, export, nodes, options, progress)
    if tables.are_tables(nodes, edges, options) if properties is None else properties:
        return tables.load(path, nodes, edges, options, progress)
    options = _plain(options)
    named = options.pop("property_layout", None) or options["layout"]
    if named in get_args(PropertyLayout):
        raise ParameterError(f"{named!r} is a layout of properties; give properties=True")
    if options.pop("searchable", None):
        raise ParameterError("only properties are searchable; give properties=True")
    if options["layout"] not in reorder.IMPORTED:

        def run(first: str, plain: dict[str, Any]) -> dict[str, Any]:
            return _imported(first, edges, nodes, plain, progress, False)

        return reorder.import_in_order(path, options, progress, run)
    source = prepare(edges, options)
    with (
        nodes_file(nodes) as names,
        edge_files(source.paths, options, path) as (paths, notes),
        reporting(progress, "import") as sink,
    ):
        options["nodes"] = names
        given = {name: value for name, value in options.items() if value is not None}
        text = _core.build(
            os.fspath(path),
            paths,
            json.dumps(given),
            batches=source.batches,
            csr=source.csr,
            progress=sink,
        )
    outcome: dict[str, Any] = json.loads(text)
    if notes:
        outcome["notes"] = [*notes, *outcome.get("notes", ())]
    return outcome


#: Options of tables with properties, and what takes their place without properties.
_OF_TABLES = {
    "missing_nodes": "it goes with tables of nodes",
    "parallel_edges": "of plain edges duplicates= says it",
    "id_spaces": "plain edges have one space of ids",
    "shards": "plain edges are not dealt to shards",
}


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Options of an import without properties."""
    options = dict(options)
    for name, instead in _OF_TABLES.items():
        if options.pop(name, None) is not None:
            raise ParameterError(
                f"{name} is of tables with properties (properties=True); {instead}"
            )
    columns = options.get("columns")
    if isinstance(columns, Mapping):
        raise ParameterError(
            "a dict of columns is of tables with properties; name source and target (and weight)"
        )
    options["columns"] = None if columns is None else [str(column) for column in columns]
    options["duplicates"] = options.get("duplicates") or "drop"
    return options


def estimate_import(
    *,
    properties: bool = False,
    layout: Layout | PropertyLayout = "auto",
    property_layout: PropertyLayout | None = None,
    searchable: Sequence[str] = (),
) -> dict[str, int]:
    """Memory that :func:`build` needs, whatever the size of the input: it sorts on disk.

    Args:
        properties: whether tables with properties are imported.
        layout, property_layout, searchable: as for :func:`build`.

    Returns:
        Bytes: ``minimum``, the smallest ``memory=`` that works, and ``default``.

    Raises:
        ParameterError: the memory of this layout depends on the graph: import it with
            ``layout="original"``, and see :meth:`Graph.estimate` with ``"layout"``.
    """
    named = property_layout
    if layout in get_args(PropertyLayout):
        named = named or layout  # type: ignore[assignment]
    elif layout not in reorder.IMPORTED:
        raise ParameterError(
            f"the memory for layout='{layout}' depends on the graph; import it with "
            f"layout='original', and call g.estimate('layout', order='{layout}') "
            f"(nakshi estimate layout STORE --order {layout})"
        )
    names = [searchable] if isinstance(searchable, str) else list(searchable)
    if not properties and (named or names):
        raise ParameterError(
            "property_layout and searchable are of properties; give properties=True (--properties)"
        )
    kind = (named or "columns") if properties else None
    minimum, usual = _core.import_memory(kind, searchable=names)
    return {"minimum": minimum, "default": usual}


def generate(
    kind: Literal["kronecker", "power-law", "log-normal", "hyperbolic", "path", "grid"],
    path: Path,
    *,
    scale: int | None = None,
    edge_factor: int | None = None,
    vertices: int | None = None,
    edges: int | None = None,
    degree: float | None = None,
    exponent: float | None = None,
    mu: float | None = None,
    sigma: float | None = None,
    cap: int | None = None,
    width: int | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    nodes: Path | None = None,
    unique_text: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: ProgressArgument = None,
) -> dict[str, Any]:
    """Write the edges of a random graph to a file.

    The same seed gives the same graph on any number of threads. The memory is constant, except that a
    hyperbolic graph keeps 64 bytes a vertex.

    Args:
        kind: ``"kronecker"`` (Graph500), ``"power-law"`` (chosen exponent), ``"log-normal"`` (the
            graphs of LFGraph, section 4.4), ``"hyperbolic"`` (hubs, clusters and locality, as real
            networks have them; undirected), ``"path"`` or ``"grid"`` (searches of them are deep).
        path: tab-separated file, compressed if it ends in ``.gz`` or ``.zst``, or ``"-"``.
        scale: Kronecker: logarithm to base 2 of the number of vertices.
        edge_factor: Kronecker: edges per vertex; default 16.
        vertices: all but Kronecker: number of vertices.
        edges: power law: number of edges; default 16 a vertex.
        degree: hyperbolic: mean degree, both ends of an edge counted; default 16.
        exponent: power law and hyperbolic: exponent of the density of degrees, above 2; default 2.5.
        mu: log-normal: mean of the logarithm of a degree; default 4.
        sigma: log-normal: standard deviation of that logarithm; default 1.3.
        cap: log-normal: largest in-degree; default 128.
        width: grid: vertices of a row; by default as many as there are rows.
        shuffle: path, grid, hyperbolic: shuffle the ids; by default they ascend along each row, or
            round the disk.
        seed: random seed; default 1.
        nodes: write tables with properties, for ``build(properties=True)``: the nodes that have an
            edge to this file, and the edges to ``path``. They follow ZipG's rules (section 6): nodes
            have 40 properties of 16 bytes, each one of 856 values; edges have one of 5 types, times
            in 50 days, and a unique text of 128 bytes. Takes a bit of memory for each vertex.
        unique_text: with ``nodes``: give each property a unique text in place of one of 856 values.
        memory: memory cap; fewer threads run if it is small.
        threads: worker threads; all cores by default.
        progress: as for algorithms.

    Returns:
        ``edges``: number of edges written.
    """
    parameters = {
        "scale": scale,
        "edge_factor": edge_factor,
        "vertices": vertices,
        "edges": edges,
        "degree": degree,
        "exponent": exponent,
        "mu": mu,
        "sigma": sigma,
        "cap": cap,
        "width": width,
        "shuffle": shuffle or None,
        "seed": seed,
    }
    given = {name: value for name, value in parameters.items() if value is not None}
    if unique_text and nodes is None:
        raise ParameterError("unique_text is for tables with properties; name a file of nodes")
    needed = "scale" if kind == "kronecker" else "vertices"
    if needed not in given:
        raise ParameterError(f"{kind} needs {needed}: the size of the graph")
    if exponent is not None and not exponent > 2:
        raise ParameterError(f"exponent must be above 2, not {exponent}")
    if kind == "hyperbolic" and degree is not None and not 0 < degree < given["vertices"]:
        raise ParameterError(
            f"degree must be above 0 and below the number of vertices, not {degree}"
        )
    recipe = json.dumps({"kind": kind, **given})
    with reporting(progress, "generate") as sink:
        count = _core.generate(
            os.fspath(path),
            recipe,
            nodes=None if nodes is None else os.fspath(nodes),
            unique=unique_text,
            memory=parse_size(memory),
            threads=threads,
            progress=sink,
        )
    return {"edges": count}


def algorithms() -> dict[str, str]:
    """Names of the algorithms that ``Graph.run`` takes, with a line on each."""
    return {name: declared.about for name, declared in DECLARATIONS.items()}


def backup(source: Path, destination: Path, *, progress: ProgressArgument = None) -> dict[str, Any]:
    """Copy a store, even while another process writes to it.

    Every page is compared with its checksum on the way. The copy has the state after one of the
    commits, and appears only when it is complete.

    Args:
        source: directory of the store.
        destination: directory of the copy; must not exist.
        progress: as for algorithms.

    Returns:
        ``files`` and ``bytes`` copied, and ``log_bytes`` of the log.

    Raises:
        StoreExistsError: ``destination`` exists.
        CorruptError: the source is damaged.
    """
    with reporting(progress, "backup") as sink:
        text = _core.backup(os.fspath(source), os.fspath(destination), progress=sink)
    report: dict[str, Any] = json.loads(text)
    return report


def check(
    path: Path,
    *,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: ProgressArgument = None,
) -> dict[str, Any]:
    """Read every page of a store, verify checksums and structure, and report all damage.

    Args:
        path: directory of the store.
        memory: memory cap; a cap that is too small fails at once, with the smallest that works. By
            default as much as needed: a few bytes for each vertex.
        threads: most threads; one is used, because the disk takes the time.
        progress: as for algorithms.

    Returns:
        ``ok``; the numbers of ``pages``, ``bytes``, ``lists`` and ``entries`` read; the number of
        faults as ``damage``, and ``problems``, a list of lines that name file and page.
    """
    with reporting(progress, "check") as sink:
        text = _core.check(os.fspath(path), memory=parse_size(memory), progress=sink)
    outcome: dict[str, Any] = json.loads(text)
    return outcome


def export(
    store: Path | Graph,
    path: Path,
    *,
    format: Literal[
        "auto", "tsv", "csv", "parquet", "arrow", "matrix-market", "metis", "graphalytics"
    ] = "auto",
    weight: str | None = None,
    nodes: Path | None = None,
    plain: bool = False,
    neo4j: bool = False,
    layout: Order | None = None,
    seed: int | None = None,
    like: Path | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: ProgressArgument = None,
) -> dict[str, Any]:
    """Write the edges of a store, by the user's ids, to a file. Holds all ids in memory.

    For a store with properties, CSV, TSV and Parquet files are tables of edges with all properties
    after the last commit, and ``nodes`` is such a table of nodes. ``build(properties=True)`` makes
    the same graph of them, with ``parallel_edges="keep"`` where edges are equal. Columns have typed
    headers: ``:ID``, ``:START_ID``, ``:END_ID``, ``:TYPE``, ``timestamp:int``, and ``name:type`` for
    each property. Without ``nodes``, nodes without edges and all properties of nodes are left out.
    Inverses of types (``set_inverse``) and constraints are in no table.

    In CSV an empty field is null and ``""`` an empty text. Timestamps are milliseconds, dates and
    other times are in ISO 8601, bytes are written as they are, and ``;`` separates the items of a
    list. Items that are empty or contain a semicolon can be written to Parquet only, and TSV cannot
    hold text that is empty or contains a tab or a line break.

    Args:
        store: the store, or its path.
        path: file; text formats are compressed if it ends in ``.gz`` or ``.zst``, and ``"-"`` is
            standard output.
        format: format of the file; by default that of its name.
        weight: edge column to write; by default ``weight``, if there is one. Not for a store with
            properties, all of which are written.
        nodes: also write all ids, one a line, to this file, because edges do not show isolated
            vertices. For a store with properties, the table of nodes, in the format of its name.
        plain: for a store with properties, write the edges alone, each once, as the algorithms see
            them: without the changes since the import or the last ``compact``.
        neo4j: make ``path`` a directory, which must not exist, with ``nodes.csv`` and
            ``relationships.csv`` for Neo4j's importer, with all properties and in the order of the
            store, and ``import.sh`` with the command that keeps this order. Nodes without a label
            get ``Node``, edges without a type ``edge``.
        layout: with ``neo4j``: another order, as in :meth:`Graph.relayout`, which needs a second
            store beside ``path`` until the files are written.
        seed, like: arguments of ``layout``.
        memory: memory cap; a cap that is too small fails at once, with the smallest that works. By
            default as much as needed: 12 bytes for each vertex, the texts of text ids, and the
            properties as they are on disk.
        threads: most threads; the export uses one, because lists are written in their order, and
            ``layout`` uses all.
        progress: as for algorithms.

    Returns:
        ``edges``: number of edges written; ``nodes``: number of nodes in a table; with ``neo4j``
        also ``command``, which imports the files.

    Raises:
        StoreExistsError: with ``neo4j``, ``path`` exists.
        ParameterError: the format cannot hold a value, such as a list item with a semicolon in CSV.
    """
    if neo4j and format != "auto":
        raise ParameterError("neo4j is a format of its own; leave format out")
    if layout is None and (seed is not None or like is not None):
        raise ParameterError("seed and like belong to a layout; name one")
    if layout is not None and not neo4j:
        raise ParameterError("layout goes with neo4j; write a store in that order and export it")
    limits = {"memory": parse_size(memory), "threads": threads}
    written = {
        "format": "neo4j" if neo4j else format,
        "weight": weight,
        "nodes": None if nodes is None else os.fspath(nodes),
        "plain": plain,
        "memory": limits["memory"],
    }
    if layout is None:
        source = store.path if isinstance(store, Graph) else os.fspath(store)
        return _export(source, path, written, progress)
    order = {"order": layout, "seed": seed, "like": None if like is None else os.fspath(like)}
    graph = store if isinstance(store, Graph) else Graph(store)
    with reorder.in_order(graph, FilePath(path), {**order, **limits}, progress) as ordered:
        return _export(ordered.path, path, written, progress)


def _export(
    store: str, path: Path, options: dict[str, Any], progress: ProgressArgument
) -> dict[str, Any]:
    with reporting(progress, "export") as sink:
        text = _core.export(store, os.fspath(path), **options, progress=sink)
    outcome: dict[str, Any] = json.loads(text)
    return outcome
