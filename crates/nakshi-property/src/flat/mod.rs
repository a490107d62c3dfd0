//! The flat layout of ZipG (section 3): properties as text with delimiters, compressed by Succinct.
//!
//! A group of rows is one text. In it, the properties of a node or an edge are a *list* (section
//! 3.3, Figure 1): the length of every value in decimal digits, then each value behind the
//! delimiter of its property, in the order of the property names, and a delimiter that ends the
//! list. A null value has length zero.
//!
//! - [`FlatWriter`] turns rows into the texts of a NodeFile or an EdgeFile; [`FlatRows`] has the
//!   queries
//! - [`FlatDirectory`] locates the texts, and the rows in them
//! - `form` writes values as text without delimiters; `delimiter` assigns delimiters to properties;
//!   `list` has the lists of properties; `nodes` and `edges` have the forms of the two files

mod delimiter;
mod directory;
mod edges;
mod form;
mod list;
mod nodes;
mod rows;
mod writer;

#[cfg(test)]
mod tests;

pub(super) use directory::FlatDirectory;
pub(super) use rows::FlatRows;
pub(super) use writer::FlatWriter;
