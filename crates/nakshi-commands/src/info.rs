//! Description of a store.

use std::collections::BTreeMap;

use nakshi_property::{Dealt, FragmentEntry, PropertyEntry};
use nakshi_store::{FileEntry, Store};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Result;

/// Description of a store, which `nakshi info` prints.
#[derive(Debug, Clone, Serialize)]
pub struct Info {
    /// Directory of the store.
    pub path: String,
    /// Format version.
    pub format: u32,
    /// Identity of the store.
    pub uuid: String,
    /// Hash of the content; equal content has an equal hash whatever the identity.
    pub content_hash: String,
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges; an undirected one counts once.
    pub edges: u64,
    /// True if edges have a direction.
    pub directed: bool,
    /// Number of self-loops among the edges.
    pub self_loops: u64,
    /// Largest number of edges at a vertex, by direction.
    pub max_degree: Map<String, Value>,
    /// Kind of the vertex ids.
    pub ids: nakshi_store::IdKind,
    /// Edge columns.
    pub columns: Vec<String>,
    /// Type of the values of each edge column.
    pub column_types: BTreeMap<String, nakshi_store::ColumnType>,
    /// Order of the vertices on disk.
    pub layout: String,
    /// Shards of the properties; absent without properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<u32>,
    /// How nodes are dealt to shards: `hash` of the id, or `modulo` the number of shards by their
    /// place in the order; absent without properties, and with one shard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dealt: Option<Dealt>,
    /// Changes since the last compaction that are in files already; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragments: Option<FragmentsInfo>,
    /// Encoding of edge lists.
    pub encoding: nakshi_store::Encoding,
    /// Page size in bytes.
    pub page_size: u32,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of edge lists per list entry (an undirected edge has two).
    pub bytes_per_entry: f64,
    /// Name and bytes of each file.
    pub files: Map<String, Value>,
    /// Counts of the import.
    pub import: Map<String, Value>,
}

/// Changes that are in fragments.
#[derive(Debug, Clone, Serialize)]
pub struct FragmentsInfo {
    /// Number of fragments.
    pub count: usize,
    /// Number of fragments of each level: 0 for those that were frozen, more for merged ones.
    pub levels: BTreeMap<u32, u64>,
    /// Bytes of their files.
    pub bytes: u64,
    /// Update pointers to changed nodes: nodes, counted in each fragment.
    pub pointers: u64,
    /// Number of edges that they have.
    pub edges: u64,
    /// Rows that a compaction would move into the files.
    pub debt: u64,
    /// Number of the last commit that they have; later ones are in the log.
    pub commit: u64,
}

/// Describes the fragments of a store; `None` without any.
fn fragments(entry: &PropertyEntry) -> Option<FragmentsInfo> {
    let stored = entry.fragments.as_ref().filter(|stored| !stored.list.is_empty())?;
    let mut levels = BTreeMap::new();
    stored.list.iter().for_each(|one| *levels.entry(one.level).or_insert(0) += 1);
    let pointers = stored.list.iter().map(|one| one.changed).sum();
    let edges = stored.list.iter().map(|one| one.added).sum();
    Some(FragmentsInfo {
        count: stored.list.len(),
        levels,
        bytes: stored.list.iter().map(FragmentEntry::bytes).sum(),
        pointers,
        edges,
        debt: pointers + edges,
        commit: stored.commit,
    })
}

/// Describes a store from its manifest.
///
/// # Errors
/// Errors of reading the store.
pub fn info(store: &Store) -> Result<Info> {
    let manifest = store.manifest();
    let entries: Vec<&FileEntry> = manifest.files().collect();
    let (lists, arcs) = manifest
        .adjacency
        .iter()
        .fold((0u64, 0u64), |sum, entry| (sum.0 + entry.lists.len, sum.1 + entry.arcs));
    let direction = |entry: &nakshi_store::AdjacencyEntry| match entry.direction {
        _ if !manifest.directed => "edges",
        nakshi_store::Direction::Out => "out",
        nakshi_store::Direction::In => "in",
    };
    let properties = PropertyEntry::of(manifest)?;
    Ok(Info {
        path: store.path().display().to_string(),
        format: manifest.format(),
        uuid: manifest.uuid.clone(),
        content_hash: store.content_hash(),
        vertices: store.num_vertices(),
        edges: store.num_edges(),
        directed: store.directed(),
        self_loops: manifest.self_loops,
        max_degree: manifest
            .adjacency
            .iter()
            .map(|entry| (direction(entry).to_owned(), entry.max_degree.into()))
            .collect(),
        ids: manifest.ids.kind,
        columns: columns(store),
        column_types: manifest.columns.iter().map(|one| (one.name.clone(), one.ty)).collect(),
        layout: manifest.layout.clone(),
        shards: properties.as_ref().map(|entry| entry.shards),
        fragments: properties.as_ref().and_then(fragments),
        dealt: properties.filter(|entry| entry.shards > 1).map(|entry| entry.dealt),
        encoding: manifest.encoding,
        page_size: manifest.page_size,
        bytes: entries.iter().map(|file| file.len).sum(),
        // Sizes are far below 2^53.
        bytes_per_entry: if arcs == 0 { 0.0 } else { lists as f64 / arcs as f64 },
        files: entries.iter().map(|file| (file.name.clone(), file.len.into())).collect(),
        import: manifest.report.clone(),
    })
}

/// Names of the edge properties with numbers, in the files of a store with properties.
///
/// # Errors
/// [`nakshi_store::Error::Corrupt`] for a section that does not parse.
pub fn weights(store: &Store) -> Result<Vec<String>> {
    let entry = PropertyEntry::of(store.manifest())?.unwrap_or_default();
    let numbers = entry.edge_properties.into_iter().filter(|spec| spec.is_number());
    Ok(numbers.map(|spec| spec.name).collect())
}

/// Names of the edge columns, in the order of the manifest.
pub fn columns(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in &store.manifest().columns {
        if !names.contains(&column.name) {
            names.push(column.name.clone());
        }
    }
    names
}
