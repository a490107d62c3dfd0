//! One encoded edge list and the weights beside it.

use crate::error::{Error, Result};
use std::ops::ControlFlow;

/// Internal vertex id: dense, in layout order.
pub type VertexId = u32;

/// Which edge lists of a directed graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Edges that leave the vertex.
    Out,
    /// Edges that enter the vertex. In an undirected graph the same as `Out`.
    In,
}

/// Neighbours per decoded block.
pub const BLOCK: usize = 128;

/// One encoded edge list in memory: neighbours ascending, no duplicates.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    bytes: &'a [u8],
}

impl<'a> List<'a> {
    pub(crate) fn new(bytes: &'a [u8], vertex: VertexId) -> Result<Self> {
        if bytes.len().is_multiple_of(4) {
            Ok(List { bytes })
        } else {
            Err(Error::CorruptList { vertex })
        }
    }

    /// Number of neighbours.
    pub fn degree(&self) -> u64 {
        self.bytes.len() as u64 / 4
    }

    /// Calls `f` with blocks of at most 128 neighbours, in ascending order, until it breaks.
    ///
    /// # Errors
    /// If the bytes do not decode.
    pub fn blocks(&self, mut f: impl FnMut(&[VertexId]) -> ControlFlow<()>) -> Result<()> {
        let mut block = [0u32; BLOCK];
        for chunk in self.bytes.chunks(4 * BLOCK) {
            for (slot, bytes) in block.iter_mut().zip(chunk.chunks_exact(4)) {
                *slot = bytes.try_into().map_or(0, u32::from_le_bytes);
            }
            if f(&block[..chunk.len() / 4]).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Calls `f` with each neighbour, in ascending order.
    ///
    /// # Errors
    /// If the bytes do not decode.
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(VertexId)) -> Result<()> {
        self.blocks(|block| {
            block.iter().for_each(|&u| f(u));
            ControlFlow::Continue(())
        })
    }

    /// Replaces the content of `out` by the neighbours.
    ///
    /// # Errors
    /// If the bytes do not decode.
    pub fn decode_into(&self, out: &mut Vec<VertexId>) -> Result<()> {
        out.clear();
        self.blocks(|block| {
            out.extend_from_slice(block);
            ControlFlow::Continue(())
        })
    }
}

/// How a weight is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightKind {
    /// No column: every weight is 1.
    Unit,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Floating point, 32 bits.
    F32,
    /// Floating point, 64 bits.
    F64,
}

impl WeightKind {
    /// Bytes per weight.
    pub fn width(self) -> usize {
        match self {
            WeightKind::Unit => 0,
            WeightKind::U8 => 1,
            WeightKind::U16 => 2,
            WeightKind::U32 | WeightKind::F32 => 4,
            WeightKind::I64 | WeightKind::F64 => 8,
        }
    }
}

/// The weights of one list, in the order of its neighbours.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    bytes: &'a [u8],
    kind: WeightKind,
    len: usize,
}

fn array<const N: usize>(bytes: &[u8], i: usize) -> [u8; N] {
    bytes.get(i * N..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
}

impl<'a> Weights<'a> {
    /// Weights over their little-endian bytes; with [`WeightKind::Unit`] `bytes` is ignored.
    pub fn new(kind: WeightKind, bytes: &'a [u8], len: usize) -> Self {
        Weights { bytes, kind, len }
    }

    /// Number of weights: the degree.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How the weights are stored.
    pub fn kind(&self) -> WeightKind {
        self.kind
    }

    /// The bytes themselves, little endian; for kernels that specialise on [`Self::kind`].
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The weight of the `i`-th neighbour; 0 beyond the list.
    #[inline]
    pub fn get(&self, i: usize) -> f64 {
        match self.kind {
            WeightKind::Unit => 1.0,
            WeightKind::U8 => self.bytes.get(i).copied().unwrap_or(0).into(),
            WeightKind::U16 => u16::from_le_bytes(array(self.bytes, i)).into(),
            WeightKind::U32 => u32::from_le_bytes(array(self.bytes, i)).into(),
            WeightKind::I64 => i64::from_le_bytes(array(self.bytes, i)) as f64,
            WeightKind::F32 => f32::from_le_bytes(array(self.bytes, i)).into(),
            WeightKind::F64 => f64::from_le_bytes(array(self.bytes, i)),
        }
    }
}
