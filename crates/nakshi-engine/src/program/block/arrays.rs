//! Arrays of values whose type a program in another language chooses.

use super::state::{Change, Number, State, values};
use crate::VertexId;
use crate::error::Result;
use crate::outcome::Values;
use serde::{Deserialize, Serialize};

/// Type of an array of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Unsigned, 8 bits.
    #[serde(rename = "u1")]
    U8,
    /// Unsigned, 32 bits.
    #[serde(rename = "u4")]
    U32,
    /// Unsigned, 64 bits.
    #[serde(rename = "u8")]
    U64,
    /// Signed, 64 bits.
    #[serde(rename = "i8")]
    I64,
    /// Floating point, 32 bits.
    #[serde(rename = "f4")]
    F32,
    /// Floating point, 64 bits.
    #[serde(rename = "f8")]
    F64,
}

/// An array of values.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Array {
    U8(Vec<u8>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// A part of an array.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum ArrayPart<'a> {
    U8(&'a mut [u8]),
    U32(&'a mut [u32]),
    U64(&'a mut [u64]),
    I64(&'a mut [i64]),
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
}

/// Does the same with the values of any type.
macro_rules! any {
    ($enum:ident, $array:expr, $values:ident => $work:expr) => {
        match $array {
            $enum::U8($values) => $work,
            $enum::U32($values) => $work,
            $enum::U64($values) => $work,
            $enum::I64($values) => $work,
            $enum::F32($values) => $work,
            $enum::F64($values) => $work,
        }
    };
}

/// Makes an enum of the same kind of the values of another one.
macro_rules! same {
    ($from:ident => $to:ident, $array:expr, $values:ident => $work:expr) => {
        match $array {
            $from::U8($values) => $to::U8($work),
            $from::U32($values) => $to::U32($work),
            $from::U64($values) => $to::U64($work),
            $from::I64($values) => $to::I64($work),
            $from::F32($values) => $to::F32($work),
            $from::F64($values) => $to::F64($work),
        }
    };
}

/// Does something with an array and a part of the same kind. Parts are cut from arrays, so there are no others.
macro_rules! both {
    ($array:expr, $part:expr, $values:ident, $places:ident => $work:expr) => {
        match ($array, $part) {
            (Array::U8($values), ArrayPart::U8($places)) => $work,
            (Array::U32($values), ArrayPart::U32($places)) => $work,
            (Array::U64($values), ArrayPart::U64($places)) => $work,
            (Array::I64($values), ArrayPart::I64($places)) => $work,
            (Array::F32($values), ArrayPart::F32($places)) => $work,
            (Array::F64($values), ArrayPart::F64($places)) => $work,
            _ => Default::default(),
        }
    };
}

/// The values of some vertices, of those from `first` on.
fn picked<T: Copy + Default>(values: &[T], first: VertexId, vertices: &[VertexId]) -> Vec<T> {
    let at = |v: &VertexId| values.get((v - first) as usize).copied();
    vertices.iter().map(|v| at(v).unwrap_or_default()).collect()
}

impl Kind {
    fn array(self, n: usize) -> Result<Array> {
        Ok(match self {
            Kind::U8 => Array::U8(values(n)?),
            Kind::U32 => Array::U32(values(n)?),
            Kind::U64 => Array::U64(values(n)?),
            Kind::I64 => Array::I64(values(n)?),
            Kind::F32 => Array::F32(values(n)?),
            Kind::F64 => Array::F64(values(n)?),
        })
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Kind::U8 => 1,
            Kind::U32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 => 8,
        }
    }
}

impl Array {
    fn whole(&mut self) -> ArrayPart<'_> {
        same!(Array => ArrayPart, self, values => values)
    }

    pub(super) fn address(&self) -> i64 {
        any!(Array, self, values => values.as_ptr() as i64)
    }

    /// The values as bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        any!(Array, self, values => values.iter().for_each(|value| value.write(&mut bytes)));
        bytes
    }

    fn change(&self, first: usize, part: &ArrayPart<'_>) -> Change {
        both!(self, part, old, new => old.change(first, new))
    }
}

impl From<Array> for Values {
    fn from(array: Array) -> Values {
        match array {
            Array::U8(values) => Values::U32(values.into_iter().map(u32::from).collect()),
            Array::U32(values) => Values::U32(values),
            Array::U64(values) => Values::U64(values),
            Array::I64(values) => Values::I64(values),
            Array::F32(values) => Values::F64(values.into_iter().map(f64::from).collect()),
            Array::F64(values) => Values::F64(values),
        }
    }
}

impl<'a> ArrayPart<'a> {
    /// The values at some places of a part that begins at `first`.
    pub(super) fn pick(&self, first: VertexId, vertices: &[VertexId]) -> Array {
        same!(ArrayPart => Array, self, values => picked(values, first, vertices))
    }

    /// Writes values to some places of a part that begins at `first`, and sets `changed` to 1 where they
    /// differ.
    pub(super) fn put(
        &mut self,
        first: VertexId,
        vertices: &[VertexId],
        new: &Array,
        changed: &mut [u8],
    ) {
        both!(new, self, new, values => {
            for ((v, new), changed) in vertices.iter().zip(new).zip(changed) {
                if let Some(value) = values.get_mut((v - first) as usize)
                    && *value != *new
                {
                    (*value, *changed) = (*new, 1);
                }
            }
        });
    }

    fn split(self, at: usize) -> (Self, Self) {
        macro_rules! halves {
            ($($kind:ident),*) => {
                match self {
                    $(ArrayPart::$kind(values) => {
                        let (first, rest) = values.split_at_mut(at.min(values.len()));
                        (ArrayPart::$kind(first), ArrayPart::$kind(rest))
                    })*
                }
            };
        }
        halves!(U8, U32, U64, I64, F32, F64)
    }

    pub(super) fn len(&self) -> usize {
        any!(ArrayPart, self, values => values.len())
    }

    pub(super) fn address(&mut self) -> i64 {
        any!(ArrayPart, self, values => values.as_mut_ptr() as i64)
    }
}

/// Several arrays of values.
#[derive(Debug)]
pub struct Arrays(pub Vec<Array>);

impl Arrays {
    /// Arrays of these kinds for the values of `n` vertices, all 0.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`].
    pub fn new(kinds: impl Iterator<Item = Kind>, n: usize) -> Result<Self> {
        kinds.map(|kind| kind.array(n)).collect::<Result<_>>().map(Arrays)
    }

    /// The values of some vertices.
    pub fn pick(&self, vertices: &[VertexId]) -> Arrays {
        let pick =
            |array: &Array| same!(Array => Array, array, values => picked(values, 0, vertices));
        Arrays(self.0.iter().map(pick).collect())
    }

    /// Appends the bytes of the values at a place.
    pub fn write(&self, at: usize, bytes: &mut Vec<u8>) {
        for array in &self.0 {
            any!(Array, array, values => if let Some(value) = values.get(at) { value.write(bytes) });
        }
    }

    /// Sets the values at some places to those of [`Arrays::write`], which `rows` gives once for each array.
    pub fn put<'r, R: Iterator<Item = (usize, &'r [u8])>>(&mut self, rows: impl Fn() -> R) {
        let mut skip = 0;
        for array in &mut self.0 {
            skip += any!(Array, array, values => {
                for (at, row) in rows() {
                    let mut bytes = row.get(skip..).unwrap_or_default();
                    if let (Some(place), Some(value)) = (values.get_mut(at), Number::read(&mut bytes)) {
                        *place = value;
                    }
                }
                values.first().map_or(0, size_of_val)
            });
        }
    }

    /// The sum of the absolute differences of the first values from those of others.
    pub fn distance(&self, others: &Arrays) -> f64 {
        let (Some(one), Some(other)) = (self.0.first(), others.0.first()) else { return 0.0 };
        let floats = |array: &Array| -> Vec<f64> {
            any!(Array, array, values => values.iter().map(|value| value.float()).collect())
        };
        let pairs = floats(one).into_iter().zip(floats(other));
        pairs.map(|(one, other)| (one - other).abs()).sum()
    }
}

impl State for Arrays {
    type Part<'a> = Vec<ArrayPart<'a>>;

    fn whole(&mut self) -> Vec<ArrayPart<'_>> {
        self.0.iter_mut().map(Array::whole).collect()
    }

    fn split<'a>(
        part: Vec<ArrayPart<'a>>,
        vertices: usize,
    ) -> (Vec<ArrayPart<'a>>, Vec<ArrayPart<'a>>)
    where
        Self: 'a,
    {
        part.into_iter().map(|array| array.split(vertices)).unzip()
    }

    fn change(&self, first: usize, part: &Vec<ArrayPart<'_>>) -> Change {
        let mut all = self.0.iter().zip(part).map(|(old, new)| old.change(first, new));
        let mut change = all.next().unwrap_or_default();
        change.vertices += all.map(|change| change.vertices).sum::<u64>();
        change
    }
}
