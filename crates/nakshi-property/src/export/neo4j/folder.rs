//! The directory of files, and the words in it.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::WriteFs;

/// The files of the directory.
pub(super) const NODES: &str = "nodes.csv";
pub(super) const RELATIONSHIPS: &str = "relationships.csv";
pub(super) const SCRIPT: &str = "import.sh";

/// The label of nodes that have none, and the type of edges that have none: an index needs a label,
/// and a relationship a type.
pub(super) const LABEL: &str = "Node";
pub(super) const TYPE: &str = "edge";
/// The column with the time of an edge.
pub(super) const TIME: &str = "timestamp";

/// Where files are made.
pub(super) struct Folder<'f> {
    pub(super) fs: &'f Arc<dyn WriteFs>,
    pub(super) path: &'f Path,
}

/// What the command that imports the files depends on.
pub(super) struct Written {
    pub(super) edges: u64,
    /// Whether a field has a line break.
    pub(super) multiline: bool,
}
