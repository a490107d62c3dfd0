//! The flat layout of ZipG (section 3): properties as text with delimiters, compressed by Succinct.
//!
//! A group of rows is one text. Both kinds of rows have their properties as a *list* (section 3.3,
//! Figure 1): the length of every value in decimal digits, then each value behind the delimiter of
//! its property, properties in the order of their names, and a delimiter that ends the list. A value
//! that is null has length zero.
//!
//! - [`Writer`]: rows become texts, a NodeFile or an EdgeFile; [`Rows`]: the queries
//! - [`FlatDirectory`]: where texts lie, and where in them rows begin
//! - `form`: values as text, free of delimiters; `delimiter`: properties and their delimiters;
//!   `list`: a list of properties; `nodes`, `edges`: what a row is; `text`: a text in a file

mod delimiter;
mod edges;
mod form;
mod list;
mod nodes;
mod rows;
mod text;
mod writer;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::monotone::Monotone;
use edges::Parts;
use form::Form;
pub(super) use rows::Rows;
pub(super) use text::{Extent, compress, wrong};
pub(super) use writer::Writer;

/// Where the texts of a file lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FlatDirectory {
    /// In the order of their names, which is that of the lists.
    properties: Vec<FlatProperty>,
    groups: Vec<FlatGroup>,
}

/// A property of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FlatProperty {
    number: u32,
    form: Form,
}

/// Rows of one text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FlatGroup {
    rows: u32,
    text: Extent,
    /// Digits of a length.
    digits: u8,
    places: Places,
}

/// Where in a text the lists are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Places {
    /// Of a NodeFile: where the list of each row begins, and the last ends.
    Lists(Monotone),
    /// Of an EdgeFile: its edge records, each with as many lists as edges.
    Records(Parts),
}
