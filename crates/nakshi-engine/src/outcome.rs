//! Results as Python and the command line take them: columns in internal order, a summary, statistics.

use crate::stats::RunStats;
use crate::vertex_set::Bitmap;
use nakshi_store::VertexId;
use serde_json::{Map, Value};

/// The values of a column, one per vertex in internal order.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Unsigned, 32 bits.
    U32(Vec<u32>),
    /// Unsigned, 64 bits.
    U64(Vec<u64>),
    /// Signed, 64 bits.
    I64(Vec<i64>),
    /// Floating point, 64 bits.
    F64(Vec<f64>),
    /// True or false: the members of a set.
    Bool(Bitmap),
    /// Internal ids, which the faces turn into the users' ids.
    Vertex(Vec<VertexId>),
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::U32(v) | Values::Vertex(v) => v.len(),
            Values::U64(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bool(v) => v.len(),
        }
    }

    /// Returns true if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One per-vertex result.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name as users see it.
    pub name: String,
    /// One value per vertex in internal order.
    pub values: Values,
    /// Which vertices have a value; `None` if all have. A vertex without one (for example
    /// unreachable) is null in tables and `inf` in distance files.
    pub valid: Option<Bitmap>,
}

impl Column {
    /// A column in which every vertex has a value.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Column { name: name.into(), values, valid: None }
    }

    /// A column in which the vertices outside `valid` have no value.
    pub fn with_valid(name: impl Into<String>, values: Values, valid: Bitmap) -> Self {
        Column { name: name.into(), values, valid: Some(valid) }
    }
}

/// The result of a run as the faces take it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Per-vertex results; empty for algorithms with one number for the whole graph.
    pub columns: Vec<Column>,
    /// Results for the graph as a whole.
    pub summary: Map<String, Value>,
    /// Results that are vertices, by name, as internal ids; the faces translate them.
    pub summary_vertices: Vec<(String, VertexId)>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl Outcome {
    /// An outcome of columns alone.
    pub(crate) fn of(columns: Vec<Column>, stats: RunStats) -> Self {
        Outcome { columns, stats, ..Outcome::default() }
    }

    /// Adds a result for the graph as a whole.
    pub fn with_summary(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.summary.insert(name.to_owned(), value.into());
        self
    }
}
