"""The functions and settings that NetworkX reads when it is imported; no engine is loaded."""

from __future__ import annotations

from typing import Any

__all__ = ["DEFAULTS", "NOTES", "get_info"]

#: ``nx.config.backends.nakshi``.
DEFAULTS: dict[str, Any] = {
    # Edges below which a graph of NetworkX is not converted unless backend="nakshi" asks for it.
    "min_edges": 10_000,
    # Edges above which a store is not turned into a graph of NetworkX.
    "max_edges": 1_000_000,
    # Cap and threads of each run, as for algorithms.
    "memory": None,
    "threads": None,
    # Folder of temporary stores; the system's by default, and memory for small ones.
    "directory": None,
}

_ORDER = "Neighbours of a store are in ascending order of ids."
_UNIT = "Edges must weigh 1."
_OTHER = "Of several shortest paths it may be another."
_ONE = "Without both ends, stores are refused: the paths take more memory than the graph."

_ESTIMATED = f"{_UNIT} Stores of more than 4,096 vertices are estimated by HyperBall."
_UNDIRECTED = "The graph must be undirected; the communities are those of another search."
_EQUAL = "personalization gives equal parts."
_PAIRS = "Of a store, the pairs must be given."

#: Functions that run on stores, and where they differ from NetworkX.
NOTES: dict[str, str] = {
    "adamic_adar_index": _PAIRS,
    "all_pairs_dijkstra_path": _ONE,
    "all_pairs_dijkstra_path_length": "",
    "all_pairs_shortest_path": _ONE,
    "all_pairs_shortest_path_length": "",
    "ancestors": "",
    "average_clustering": _UNIT,
    "average_neighbor_degree": _UNIT,
    "average_shortest_path_length": "",
    "bellman_ford_path": _OTHER,
    "bellman_ford_path_length": "",
    "betweenness_centrality": f"{_UNIT} Endpoints count in undirected graphs, without k.",
    "bfs_edges": _ORDER,
    "bfs_layers": _ORDER,
    "bfs_predecessors": _ORDER,
    "bfs_successors": _ORDER,
    "bfs_tree": f"{_ORDER} The tree of a store is a new store.",
    "bidirectional_dijkstra": _OTHER,
    "bidirectional_shortest_path": _OTHER,
    "center": "By weight, a search from every vertex.",
    "closeness_centrality": _ESTIMATED,
    "clustering": f"{_UNIT} The graph must be undirected.",
    "connected_components": "",
    "core_number": "",
    "dag_longest_path": "Of several longest paths it may be another.",
    "dag_longest_path_length": "",
    "degree_assortativity_coefficient": _UNIT,
    "degree_centrality": "",
    "descendants": "",
    "descendants_at_distance": "",
    "diameter": "By weight, a search from every vertex.",
    "dijkstra_path": _OTHER,
    "dijkstra_path_length": "",
    "eccentricity": "By weight, a search from every vertex.",
    "ego_graph": "The distance is in edges. That of a store is a new store.",
    "eigenvector_centrality": "",
    "fast_label_propagation_communities": "The labels are those of another order.",
    "from_pandas_edgelist": "Returns a store; edge_attr may be 'weight'.",
    "harmonic_centrality": _ESTIMATED,
    "has_path": "",
    "hits": "Up to ten times max_iter iterations, of power iteration.",
    "in_degree_centrality": "",
    "is_connected": "",
    "is_directed_acyclic_graph": "",
    "is_isolate": "",
    "is_strongly_connected": "",
    "is_weakly_connected": "",
    "isolates": "",
    "jaccard_coefficient": _PAIRS,
    "k_core": "That of a store is a new store.",
    "k_crust": "That of a store is a new store.",
    "k_shell": "That of a store is a new store.",
    "katz_centrality": "beta must be one number.",
    "leiden_communities": _UNDIRECTED,
    "louvain_communities": _UNDIRECTED,
    "modularity": _UNIT,
    "node_connected_component": "",
    "number_connected_components": "",
    "number_of_isolates": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "out_degree_centrality": "",
    "overall_reciprocity": "",
    "pagerank": f"{_UNIT} The change is below tol in sum, not a vertex. {_EQUAL}",
    "periphery": "By weight, a search from every vertex.",
    "preferential_attachment": _PAIRS,
    "radius": "By weight, a search from every vertex.",
    "read_edgelist": "Returns a store; nodetype must be int where ids are integers.",
    "reciprocity": "",
    "rich_club_coefficient": "With normalized=False.",
    "resource_allocation_index": _PAIRS,
    "shortest_path": f"{_OTHER} {_ONE}",
    "shortest_path_length": "",
    "single_source_bellman_ford_path_length": "",
    "single_source_dijkstra": f"{_OTHER} {_ONE}",
    "single_source_dijkstra_path": f"{_OTHER} {_ONE}",
    "single_source_dijkstra_path_length": "",
    "single_source_shortest_path": _ONE,
    "single_source_shortest_path_length": "",
    "single_target_shortest_path": _ONE,
    "single_target_shortest_path_length": "",
    "strongly_connected_components": "",
    "topological_generations": "A generation of a store is in ascending order of ids.",
    "topological_sort": "A generation of a store is in ascending order of ids.",
    "transitivity": "",
    "triadic_census": "Without nodelist; numbers beyond 64 bits are rounded.",
    "triangles": "",
    "weakly_connected_components": "",
}


def get_info() -> dict[str, Any]:
    """The entry point ``networkx.backend_info``."""
    functions = {name: {"additional_docs": note} if note else {} for name, note in NOTES.items()}
    return {
        "backend_name": "nakshi",
        "project": "nakshi",
        "package": "nakshi",
        "short_summary": "Graphs larger than memory, in a store on disk.",
        "description": "Functions of NetworkX on stores of nakshi, without a conversion.",
        "functions": functions,
        "default_config": dict(DEFAULTS),
    }
