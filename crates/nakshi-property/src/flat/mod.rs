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
//!   `list`: a list of properties; `nodes`, `edges`: what a row is

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
pub(super) use rows::Rows;
pub(super) use writer::Writer;
