//! Where the texts of a file lie, and where in them rows begin.

use serde::{Deserialize, Serialize};

use super::super::monotone::Monotone;
use super::super::packed::Packed;
use super::form::Form;
use crate::compressed_text::Extent;

/// Where the texts of a file lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlatDirectory {
    /// In the order of their names, which is that of the lists.
    pub(super) properties: Vec<FlatProperty>,
    pub(super) groups: Vec<FlatGroup>,
}

/// A property of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FlatProperty {
    pub(super) number: u32,
    pub(super) form: Form,
}

/// Rows of one text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FlatGroup {
    pub(super) rows: u32,
    pub(super) text: Extent,
    /// Digits of a length.
    pub(super) digits: u8,
    pub(super) places: Places,
}

/// Where in a text the lists are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Places {
    /// Of a NodeFile: where the list of each row begins, and the last ends.
    Lists(Monotone),
    /// Of an EdgeFile: its edge records, each with as many lists as edges.
    Records(Parts),
}

/// Where the parts of records lie, and what every access to them needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Parts {
    /// First row of each in the group, and the number of rows.
    pub(super) rows: Monotone,
    /// Where the times of each begin.
    pub(super) times: Monotone,
    /// The digits of each, as they stand in its head: five bits each, those of times lowest.
    pub(super) digits: Packed,
}
