//! The work of a call that amends a store.

use super::places::{Amendment, NewNumbers};
use crate::hooks::Hooks;
use crate::{BuildOptions, ColumnSpec, Store};

/// Resources of [`crate::amend()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct AmendOptions {
    /// Memory in bytes; as much as it needs if not given.
    pub memory: Option<u64>,
    /// Threads; 0 takes what the machine has. Does not change what is written.
    pub threads: usize,
}

/// The work of one call.
pub(super) struct AmendJob<'j> {
    pub(super) source: &'j Store,
    pub(super) changes: Amendment<'j>,
    pub(super) places: NewNumbers,
    pub(super) hooks: &'j Hooks,
    pub(super) threads: usize,
    /// Bytes for edges that have come or gone, on the way from out-lists to in-lists.
    pub(super) room: u64,
}

impl AmendJob<'_> {
    pub(super) fn build_options(
        &self,
        columns: Vec<ColumnSpec>,
        options: AmendOptions,
    ) -> BuildOptions {
        let from = self.source.manifest();
        BuildOptions {
            directed: from.directed,
            vertices: self.places.count(),
            encoding: from.encoding,
            page_size: from.page_size,
            layout: from.layout.clone(),
            columns,
            stripes: None,
            memory: options.memory.map_or(BuildOptions::default().memory, |given| given / 4),
        }
    }
}
