//! The weights beside one edge list.

/// The number format in which weights are stored.
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

impl From<nakshi_store::ColumnType> for WeightKind {
    fn from(kind: nakshi_store::ColumnType) -> Self {
        use nakshi_store::ColumnType;
        match kind {
            ColumnType::U8 => WeightKind::U8,
            ColumnType::U16 => WeightKind::U16,
            ColumnType::U32 => WeightKind::U32,
            ColumnType::I64 => WeightKind::I64,
            ColumnType::F32 => WeightKind::F32,
            ColumnType::F64 => WeightKind::F64,
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

    /// Returns true if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number format of the weights.
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
            // Beyond 2^53 the nearest double: weights are lengths, not keys.
            WeightKind::I64 => i64::from_le_bytes(array(self.bytes, i)) as f64,
            WeightKind::F32 => f32::from_le_bytes(array(self.bytes, i)).into(),
            WeightKind::F64 => f64::from_le_bytes(array(self.bytes, i)),
        }
    }
}
