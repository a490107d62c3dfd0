//! Tables, and their rows as readers return them.

use std::path::PathBuf;

use arrow_array::RecordBatchReader;

use super::super::PropertyGraph;

/// A table of nodes or of edges.
pub struct Table<'a> {
    /// For nodes, their label and the space of their ids; for edges, their type.
    pub name: Option<String>,
    /// The rows.
    pub rows: TableRows<'a>,
}

/// The rows of a [`Table`].
pub enum TableRows<'a> {
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
            TableRows::Path(path) => path.display().to_string(),
            TableRows::Batches(_) => "batches".to_owned(),
            TableRows::Graph(graph) => format!("{graph:?}"),
        };
        f.debug_struct("Table").field("name", &self.name).field("rows", &rows).finish()
    }
}

/// A row of a table, as it is spooled.
#[derive(Debug, Default)]
pub(super) struct SpooledRow {
    /// External id of the node or of the source.
    pub(super) source: Vec<u8>,
    pub(super) target: Vec<u8>,
    pub(super) ty: Vec<u8>,
    pub(super) time: i64,
    /// Properties, encoded by `InferredProperties::write`.
    pub(super) values: Vec<u8>,
}

impl SpooledRow {
    pub(super) fn clear(&mut self) {
        self.source.clear();
        self.target.clear();
        self.ty.clear();
        self.values.clear();
        self.time = 0;
    }
}
