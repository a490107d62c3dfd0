//! Inputs of an import.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatchReader;

use crate::generate::Generator;

/// One input of an import. All inputs of an import make one graph.
pub enum Input<'a> {
    /// A file, compressed or not; `-` is standard input.
    Path(PathBuf),
    /// Arrow record batches: the first two columns are source and target unless the options name
    /// others.
    Batches(Box<dyn RecordBatchReader + Send + 'a>),
    /// Vertices that may have no edge: their ids are the first column of record batches.
    Vertices(Box<dyn RecordBatchReader + Send + 'a>),
    /// Parallel arrays.
    Arrays {
        /// Source of each edge.
        source: Ints<'a>,
        /// Target of each edge; as long as `source`.
        target: Ints<'a>,
        /// Weight of each edge, or nothing; as long as `source`.
        weight: Option<Numbers<'a>>,
    },
    /// Compressed sparse rows, as in SciPy: row `i` has the columns `indices[indptr[i]..indptr[i +
    /// 1]]`. All rows are vertices.
    Csr {
        /// Beginning of each row; one longer than the number of rows.
        indptr: Ints<'a>,
        /// Target of each edge.
        indices: Ints<'a>,
        /// Weight of each edge, or nothing; as long as `indices`.
        weight: Option<Numbers<'a>>,
    },
    /// Edges from an iterator.
    Edges(Box<dyn Iterator<Item = (u64, u64)> + Send + 'a>),
    /// A generated graph, computed by the workers.
    Generated(&'a dyn Generator),
}

impl std::fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Batches(_) => f.write_str("Batches"),
            Self::Vertices(_) => f.write_str("Vertices"),
            Self::Arrays { .. } => f.write_str("Arrays"),
            Self::Csr { .. } => f.write_str("Csr"),
            Self::Edges(_) => f.write_str("Edges"),
            Self::Generated(_) => f.write_str("Generated"),
        }
    }
}

impl From<&Path> for Input<'_> {
    fn from(path: &Path) -> Self {
        Self::Path(path.into())
    }
}

/// Integers in memory.
#[derive(Clone, Copy, Debug)]
pub enum Ints<'a> {
    /// 32 bits, unsigned.
    U32(&'a [u32]),
    /// 32 bits, signed.
    I32(&'a [i32]),
    /// 64 bits, unsigned.
    U64(&'a [u64]),
    /// 64 bits, signed.
    I64(&'a [i64]),
}

/// Numbers in memory.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// Integers.
    Ints(Ints<'a>),
    /// 32-bit floats.
    F32(&'a [f32]),
    /// 64-bit floats.
    F64(&'a [f64]),
}
