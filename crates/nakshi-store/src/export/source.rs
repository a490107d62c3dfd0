//! The edges that an export writes.

use crate::hooks::Hooks;
use crate::{AttributeColumn, Direction, Result, Store};

/// The inputs that all writers of an export share.
pub struct ExportSource<'s> {
    /// The store.
    pub store: &'s Store,
    /// The column that is written as weight.
    pub weight: Option<AttributeColumn>,
    /// Cancellation and progress.
    pub hooks: &'s Hooks,
}

impl<'s> ExportSource<'s> {
    /// Selects the edges of `store` with the column `weight`; without a name, with the column
    /// `weight` if there is one.
    ///
    /// # Errors
    /// [`crate::Error::NoColumn`] for an unknown weight; read errors.
    pub fn new(store: &'s Store, weight: Option<&str>, hooks: &'s Hooks) -> Result<Self> {
        let has_weight = || store.manifest().columns.iter().any(|column| column.name == "weight");
        let weight = match weight {
            Some(name) => Some(store.column(name, Direction::Out)?),
            None if has_weight() => Some(store.column("weight", Direction::Out)?),
            None => None,
        };
        Ok(ExportSource { store, weight, hooks })
    }
}
