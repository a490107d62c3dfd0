//! Output directory for Neo4j, and the names in it.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::WriteFs;

/// Names of the files.
pub(super) const NODES: &str = "nodes.csv";
pub(super) const RELATIONSHIPS: &str = "relationships.csv";
pub(super) const SCRIPT: &str = "import.sh";

/// Label of nodes without labels, and type of edges without a type: Neo4j's index needs a label,
/// and its relationships need a type.
pub(super) const LABEL: &str = "Node";
pub(super) const TYPE: &str = "edge";
/// Name of the column with the time of an edge.
pub(super) const TIME: &str = "timestamp";

/// Directory for the files.
pub(super) struct OutputFolder<'f> {
    pub(super) fs: &'f Arc<dyn WriteFs>,
    pub(super) path: &'f Path,
}

/// Properties of the written files that the import command depends on.
pub(super) struct Written {
    pub(super) edges: u64,
    /// True if any field has a line break.
    pub(super) multiline: bool,
}
