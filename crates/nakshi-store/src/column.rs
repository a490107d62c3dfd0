//! Attribute columns: one fixed-width value for each list entry, in the order of the lists.

use std::ops::Range;
use std::sync::Arc;

use nakshi_io::PagedFile;
use serde::{Deserialize, Serialize};

use crate::list_index::ListIndex;
use crate::{Error, Result, VertexId};

/// Type of an attribute column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// 8 bits, unsigned.
    U8,
    /// 16 bits, unsigned.
    U16,
    /// 32 bits, unsigned.
    U32,
    /// 64 bits, signed.
    I64,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
}

impl ColumnType {
    /// Returns the bytes of a value.
    #[inline]
    pub fn width(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Returns true if the values are integers.
    pub fn is_integer(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }

    /// Returns the narrowest type that holds every integer from `least` to `most`.
    pub fn for_integers(least: i64, most: i64) -> Self {
        match (least, most) {
            (0.., ..=0xff) => Self::U8,
            (0.., ..=0xffff) => Self::U16,
            (0.., ..=0xffff_ffff) => Self::U32,
            _ => Self::I64,
        }
    }

    /// Returns the narrowest float type; `fit_f32` tells if every value survives a conversion to 32
    /// bits.
    pub fn for_floats(fit_f32: bool) -> Self {
        if fit_f32 { Self::F32 } else { Self::F64 }
    }

    /// Appends `value`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the type cannot hold it exactly.
    pub(crate) fn put(self, value: Number, out: &mut Vec<u8>) -> Result<()> {
        let misfit =
            || Error::Invalid(format!("the value {value:?} does not fit a column of {self:?}"));
        let integer = || match value {
            Number::Int(v) => Ok(v),
            Number::Float(_) => Err(misfit()),
        };
        let float = || match value {
            // integers of at most 53 bits convert exactly
            Number::Int(v) if v.unsigned_abs() <= 1 << 53 => Ok(v as f64),
            Number::Int(_) => Err(misfit()),
            Number::Float(v) => Ok(v),
        };
        match self {
            Self::U8 => out.push(u8::try_from(integer()?).map_err(|_| misfit())?),
            Self::U16 => out.extend(u16::try_from(integer()?).map_err(|_| misfit())?.to_le_bytes()),
            Self::U32 => out.extend(u32::try_from(integer()?).map_err(|_| misfit())?.to_le_bytes()),
            Self::I64 => out.extend(integer()?.to_le_bytes()),
            Self::F32 => {
                let wide = float()?;
                let narrow = wide as f32;
                if f64::from(narrow).to_bits() != wide.to_bits() {
                    return Err(misfit());
                }
                out.extend(narrow.to_le_bytes());
            }
            Self::F64 => out.extend(float()?.to_le_bytes()),
        }
        Ok(())
    }
}

/// One attribute value to be written to a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
}

/// The values of one column for the list entries of one vertex, or a part of them, to be written to
/// a store.
#[derive(Clone, Copy, Debug)]
pub enum NumberSlice<'a> {
    /// Integers.
    Int(&'a [i64]),
    /// Floats.
    Float(&'a [f64]),
}

impl NumberSlice<'_> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(v) => v.len(),
            Self::Float(v) => v.len(),
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn encode(&self, ty: ColumnType, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Int(v) => v.iter().try_for_each(|v| ty.put(Number::Int(*v), out)),
            Self::Float(v) => v.iter().try_for_each(|v| ty.put(Number::Float(*v), out)),
        }
    }
}

/// One attribute column of one direction.
#[derive(Debug)]
pub struct AttributeColumn {
    pub(crate) name: String,
    pub(crate) ty: ColumnType,
    pub(crate) file: Arc<PagedFile>,
    /// Index over the cumulative degrees.
    pub(crate) index: Arc<ListIndex>,
}

impl AttributeColumn {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of the values.
    pub fn ty(&self) -> ColumnType {
        self.ty
    }

    /// Returns the file of values.
    pub fn file(&self) -> &Arc<PagedFile> {
        &self.file
    }

    /// Returns the index of the entries of each vertex, counted over all lists; readers may share
    /// it.
    pub fn index(&self) -> &Arc<ListIndex> {
        &self.index
    }

    /// Returns the entries of `v`, counted over all lists.
    #[inline]
    pub fn entries(&self, v: VertexId) -> Range<u64> {
        self.index.extent(u64::from(v))
    }

    /// Returns the extent of the values of `v` in the file.
    #[inline]
    pub fn extent(&self, v: VertexId) -> Range<u64> {
        let width = self.ty.width() as u64;
        let entries = self.entries(v);
        entries.start * width..entries.end * width
    }

    /// Returns the extents of consecutive vertices, faster than one by one.
    pub fn extents(&self, vertices: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let width = self.ty.width() as u64;
        self.index.extents(vertices).map(move |e| e.start * width..e.end * width)
    }

    /// Wraps `bytes` that were read from [`AttributeColumn::extent`].
    #[inline]
    pub fn slice<'a>(&self, bytes: &'a [u8]) -> ColumnSlice<'a> {
        ColumnSlice { ty: self.ty, bytes }
    }

    /// Returns the heap bytes of the index.
    pub fn memory(&self) -> u64 {
        self.index.memory()
    }
}

/// Encoded values of consecutive list entries.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSlice<'a> {
    ty: ColumnType,
    bytes: &'a [u8],
}

macro_rules! decode {
    ($bytes:expr, $from:expr, $out:expr, $source:ty, $convert:expr) => {{
        const WIDTH: usize = size_of::<$source>();
        let values = $bytes.as_chunks::<WIDTH>().0.get($from..).unwrap_or_default();
        let mut count = 0;
        for (to, from) in $out.iter_mut().zip(values) {
            *to = $convert(<$source>::from_le_bytes(*from));
            count += 1;
        }
        count
    }};
}

impl<'a> ColumnSlice<'a> {
    /// Wraps values of type `ty` in `bytes`.
    pub fn new(ty: ColumnType, bytes: &'a [u8]) -> Self {
        Self { ty, bytes }
    }

    /// Returns the number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.ty.width()
    }

    /// Returns true if there are no values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Decodes values from number `from` on into `out` as floats; returns their number.
    #[inline]
    pub fn decode_f64(&self, from: usize, out: &mut [f64]) -> usize {
        match self.ty {
            ColumnType::U8 | ColumnType::U16 | ColumnType::U32 => self.decode_unsigned(from, out),
            // beyond 2^53, the nearest float is good enough for a float algorithm
            ColumnType::I64 => decode!(self.bytes, from, out, i64, |v| v as f64),
            ColumnType::F32 => decode!(self.bytes, from, out, f32, f64::from),
            ColumnType::F64 => decode!(self.bytes, from, out, f64, |v| v),
        }
    }

    /// Decodes values from number `from` on into `out` as integers; returns their number, 0 if the
    /// column holds floats.
    #[inline]
    pub fn decode_i64(&self, from: usize, out: &mut [i64]) -> usize {
        match self.ty {
            ColumnType::I64 => decode!(self.bytes, from, out, i64, |v| v),
            _ => self.decode_unsigned(from, out),
        }
    }

    /// Decodes values from number `from` on into `out` as 32-bit unsigned integers; returns their
    /// number, 0 if the column is not of an unsigned type.
    #[inline]
    pub fn decode_u32(&self, from: usize, out: &mut [u32]) -> usize {
        self.decode_unsigned(from, out)
    }

    /// Decodes values of an unsigned type; returns 0 if the column is of another.
    #[inline]
    fn decode_unsigned<T>(&self, from: usize, out: &mut [T]) -> usize
    where
        T: From<u8> + From<u16> + From<u32>,
    {
        match self.ty {
            ColumnType::U8 => decode!(self.bytes, from, out, u8, T::from),
            ColumnType::U16 => decode!(self.bytes, from, out, u16, T::from),
            ColumnType::U32 => decode!(self.bytes, from, out, u32, T::from),
            ColumnType::I64 | ColumnType::F32 | ColumnType::F64 => 0,
        }
    }

    /// Returns value number `i` as the bits of an `i64`, or of an `f64` if the column holds floats;
    /// 0 beyond the end.
    #[inline]
    pub fn bits(&self, i: usize) -> u64 {
        if self.ty.is_integer() {
            let mut out = [0];
            self.decode_i64(i, &mut out);
            out[0].cast_unsigned()
        } else {
            self.get_f64(i).unwrap_or_default().to_bits()
        }
    }

    /// Returns value number `i` as a float.
    #[inline]
    pub fn get_f64(&self, i: usize) -> Option<f64> {
        let mut out = [0.0];
        (self.decode_f64(i, &mut out) == 1).then_some(out[0])
    }
}
