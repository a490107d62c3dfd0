//! The weights beside one edge list.

use nakshi_store::ColumnType;

/// The weights of one list, in the order of its neighbours.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    bytes: &'a [u8],
    kind: Option<ColumnType>,
    len: usize,
}

fn array<const N: usize>(bytes: &[u8], i: usize) -> [u8; N] {
    bytes.get(i * N..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
}

impl<'a> Weights<'a> {
    /// Weights over their little-endian bytes; without a `kind` every weight is 1, and `bytes` is
    /// ignored.
    pub fn new(kind: Option<ColumnType>, bytes: &'a [u8], len: usize) -> Self {
        Weights { bytes, kind, len }
    }

    /// Number of weights: the degree.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number format of the weights; `None` if every weight is 1.
    pub fn kind(&self) -> Option<ColumnType> {
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
            None => 1.0,
            Some(ColumnType::U8) => self.bytes.get(i).copied().unwrap_or(0).into(),
            Some(ColumnType::U16) => u16::from_le_bytes(array(self.bytes, i)).into(),
            Some(ColumnType::U32) => u32::from_le_bytes(array(self.bytes, i)).into(),
            // Beyond 2^53 the nearest double: weights are lengths, not keys.
            Some(ColumnType::I64) => i64::from_le_bytes(array(self.bytes, i)) as f64,
            Some(ColumnType::F32) => f32::from_le_bytes(array(self.bytes, i)).into(),
            Some(ColumnType::F64) => f64::from_le_bytes(array(self.bytes, i)),
        }
    }
}
