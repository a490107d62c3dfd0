//! A table and its rows, as readers hand them on.

use std::path::PathBuf;

use arrow_array::RecordBatchReader;

use super::super::PropertyGraph;

/// A table of nodes or of edges.
pub struct Table<'a> {
    /// Of nodes: their label, and the space of their ids. Of edges: their type.
    pub name: Option<String>,
    /// The rows.
    pub rows: Rows<'a>,
}

/// The rows of a [`Table`].
pub enum Rows<'a> {
    /// A file, compressed or not: text with a header, Parquet or Arrow.
    Path(PathBuf),
    /// Record batches.
    Batches(Box<dyn RecordBatchReader + Send + 'a>),
    /// All nodes, or all edges, of a graph.
    Graph(PropertyGraph),
}

impl std::fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rows = match &self.rows {
            Rows::Path(path) => path.display().to_string(),
            Rows::Batches(_) => "batches".to_owned(),
            Rows::Graph(graph) => format!("{graph:?}"),
        };
        f.debug_struct("Table").field("name", &self.name).field("rows", &rows).finish()
    }
}

/// A row, as it is spooled.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// External id of the node or of the source.
    pub(super) source: Vec<u8>,
    pub(super) target: Vec<u8>,
    pub(super) ty: Vec<u8>,
    pub(super) time: i64,
    /// As `Properties::write` wrote them.
    pub(super) values: Vec<u8>,
}

impl Row {
    pub(super) fn clear(&mut self) {
        self.source.clear();
        self.target.clear();
        self.ty.clear();
        self.values.clear();
        self.time = 0;
    }
}
