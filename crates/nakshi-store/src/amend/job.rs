//! The work of a call that amends a store.

use super::places::{Amendment, NewNumbers};
use crate::hooks::Hooks;
use crate::{BuildOptions, ColumnSpec, Store};

/// Resources of [`crate::amend()`].
#[derive(Clone, Copy, Debug, Default)]
pub struct AmendOptions {
    /// Memory in bytes; no limit if not given.
    pub memory: Option<u64>,
    /// Number of threads; 0 takes all of the machine. The result does not depend on it.
    pub threads: usize,
}

/// The work of one call.
pub(super) struct AmendJob<'j> {
    pub(super) source: &'j Store,
    pub(super) changes: Amendment<'j>,
    pub(super) places: NewNumbers,
    pub(super) hooks: &'j Hooks,
    pub(super) threads: usize,
    /// Bytes for the edges that were added or removed, between the pass over the out-lists and the
    /// pass over the in-lists.
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
            scratch: None,
            memory: options.memory.map_or(BuildOptions::default().memory, |given| given / 4),
        }
    }
}
