//! Directory of a file in the flat layout: the texts, and where the rows begin in them.

use serde::{Deserialize, Serialize};

use super::super::elias_fano::EliasFano;
use super::super::packed::Packed;
use super::form::Form;
use crate::compressed_text::{CompressedText, TextExtent};

/// Directory of a file in the flat layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlatDirectory {
    /// Properties by name, which is their order in the lists.
    pub(super) properties: Vec<FlatProperty>,
    pub(super) groups: Vec<FlatGroup>,
}

impl FlatDirectory {
    /// Bytes that stay in memory when the file is on disk.
    pub(crate) fn resident(&self) -> u64 {
        self.groups.len() as u64 * CompressedText::BYTES
    }
}

/// A property in the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FlatProperty {
    pub(super) number: u32,
    pub(super) form: Form,
}

/// A group: the rows of one text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FlatGroup {
    pub(super) rows: u32,
    pub(super) text: TextExtent,
    /// Decimal digits of a length.
    pub(super) digits: u8,
    pub(super) places: ListLocations,
}

/// Positions of the lists in a text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListLocations {
    /// NodeFile: offset of the list of each row, and the end of the last list.
    Lists(EliasFano),
    /// EdgeFile: the edge records, each with one list for each edge.
    Records(RecordParts),
}

/// Positions of the parts of records, and the digits that every access needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordParts {
    /// First row of each part in the group, and the number of rows.
    pub(super) rows: EliasFano,
    /// Offset of the times of each part.
    pub(super) times: EliasFano,
    /// Digit counts of each part, as in its head: five bits each, those of times lowest.
    pub(super) digits: Packed,
}
