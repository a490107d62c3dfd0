//! Property graphs that are exported as tables or rewritten in another order: an import of the
//! tables, and the new store, give the answers of the old store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod reorder;
mod sample;
mod tables;
