//! Tables, and their rows as readers return them.

use std::path::PathBuf;

use arrow_array::RecordBatchReader;

use super::super::PropertyGraph;
use super::super::bucket_set::BucketSet;

/// A table of nodes or of edges.
pub struct Table<'a> {
    /// For nodes, their label; for edges, their type.
    pub name: Option<String>,
    /// The rows.
    pub rows: TableRows<'a>,
    /// Columns that get a header in place of the one in the table.
    pub columns: Vec<ColumnHeader>,
}

impl<'a> Table<'a> {
    /// A table whose columns keep their headers.
    pub fn new(name: Option<String>, rows: TableRows<'a>) -> Self {
        Table { name, rows, columns: Vec::new() }
    }
}

/// A column of a table and the header that it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnHeader {
    /// The name of the column in the table, or its number from 1.
    pub column: String,
    /// Such as `:START_ID`, `:ID(Person)` or `born:date`.
    pub header: String,
    /// Whether this table must have the column; otherwise one of all tables must have it.
    pub required: bool,
}

/// The rows of a [`Table`].
pub enum TableRows<'a> {
    /// A file, compressed or not: text with a header, Parquet or Arrow.
    Path(PathBuf),
    /// Record batches.
    Batches(Box<dyn RecordBatchReader + Send + 'a>),
    /// Nodes, or edges, of a graph.
    Graph(Box<GraphRows>),
}

/// Nodes and edges of a graph.
#[derive(Debug)]
pub struct GraphRows {
    /// The graph.
    pub graph: PropertyGraph,
    /// The buckets whose nodes are wanted, with the edges at them; `None` for all.
    pub buckets: Option<BucketSet>,
    /// Buckets whose nodes are in another table, with the edges from them.
    pub other: BucketSet,
    /// True if other nodes are listed, too, where they are few.
    pub lists_few: bool,
}

impl std::fmt::Debug for Table<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rows = match &self.rows {
            TableRows::Path(path) => path.display().to_string(),
            TableRows::Batches(_) => "batches".to_owned(),
            TableRows::Graph(rows) => format!("{:?}", rows.graph),
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
    /// The table has a column for the time of an edge, and the row no value in it.
    pub(super) timeless: bool,
    /// The time had microseconds, of which an edge keeps the milliseconds.
    pub(super) rounded: bool,
}

impl SpooledRow {
    pub(super) fn clear(&mut self) {
        self.source.clear();
        self.target.clear();
        self.ty.clear();
        self.values.clear();
        self.time = 0;
        (self.timeless, self.rounded) = (false, false);
    }
}
