//! Property graphs written once more as a whole, as tables and as stores in another order: what an import
//! of the tables, and the new store, answer is what the old one does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod reorder;
mod sample;
mod tables;
