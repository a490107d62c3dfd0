//! Rows of nodes and edges, as writers take them and readers return them.

use std::ops::Deref;
use std::sync::Arc;

use nakshi_store::varint;

/// The two kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    Nodes,
    Edges,
}

/// Most rows of a group.
pub(super) const GROUP: u32 = 1 << 20;

/// Marks the number of a property that a change of a node takes away. It has an empty value.
pub(super) const REMOVED: u32 = 1 << 31;

/// The properties of a row, encoded: number, length and bytes of each value, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowValues<'b>(pub(super) &'b [u8]);

impl<'b> RowValues<'b> {
    /// Appends a property.
    pub(super) fn put(property: u32, value: &[u8], out: &mut Vec<u8>) {
        varint::put(out, property.into());
        varint::put(out, value.len() as u64);
        out.extend_from_slice(value);
    }

    /// A row with `values`, which ascend by their numbers, and with those of the properties of this row
    /// that are not `replaced`.
    pub(super) fn merged(
        self,
        values: &[(u32, impl Deref<Target = [u8]>)],
        replaced: impl Fn(u32) -> bool,
    ) -> Vec<u8> {
        let (mut row, mut new) = (Vec::with_capacity(self.0.len() + 32), values.iter().peekable());
        for (property, value) in self.filter(|(property, _)| !replaced(*property)) {
            while let Some((number, bytes)) = new.next_if(|(number, _)| *number < property) {
                RowValues::put(*number, bytes, &mut row);
            }
            RowValues::put(property, value, &mut row);
        }
        new.for_each(|(number, bytes)| RowValues::put(*number, bytes, &mut row));
        row
    }
}

/// Most bytes that [`SharedBytes`] have beside themselves.
const SHORT: usize = 22;

/// Bytes of which a copy costs little. A value or two lie in place; more are on the heap, shared.
#[derive(Clone, Debug)]
pub(super) enum SharedBytes {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Arc<[u8]>),
}

impl From<&[u8]> for SharedBytes {
    fn from(from: &[u8]) -> Self {
        let mut bytes = [0; SHORT];
        match (bytes.get_mut(..from.len()), u8::try_from(from.len())) {
            (Some(place), Ok(len)) => {
                place.copy_from_slice(from);
                SharedBytes::Short { len, bytes }
            }
            _ => SharedBytes::Long(from.into()),
        }
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            SharedBytes::Short { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or(bytes),
            SharedBytes::Long(bytes) => bytes,
        }
    }
}

impl<'b> Iterator for RowValues<'b> {
    type Item = (u32, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut at = 0;
        let property = u32::try_from(varint::get(self.0, &mut at)?).ok()?;
        let len = usize::try_from(varint::get(self.0, &mut at)?).ok()?;
        let end = at.checked_add(len)?;
        let value = self.0.get(at..end)?;
        self.0 = self.0.get(end..)?;
        Some((property, value))
    }
}

/// An edge that is given to a writer of a shard.
#[derive(Clone, Copy, Debug)]
pub(super) struct EncodedEdge<'b> {
    /// Number of the source in its shard.
    pub(super) node: u64,
    pub(super) ty: u64,
    /// The bytes of a timestamp, as [`super::Value`] encodes it.
    pub(super) time: [u8; 8],
    /// Internal id of the destination.
    pub(super) end: u64,
    pub(super) values: RowValues<'b>,
}

/// An edge that was read with all its properties.
#[derive(Clone, Debug)]
pub(super) struct EdgeRow {
    pub(super) time: i64,
    pub(super) end: u64,
    /// The properties, encoded as [`RowValues`].
    pub(super) values: Vec<u8>,
}

/// The intersection of two ascending lists.
pub(super) fn common(a: &[u64], b: &[u64]) -> Vec<u64> {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut long = long;
    let mut both = Vec::new();
    for row in short {
        let skip = long.partition_point(|other| other < row);
        long = long.get(skip..).unwrap_or_default();
        if long.first() == Some(row) {
            both.push(*row);
        }
    }
    both
}
