//! What all steps of a load share.

use std::sync::Arc;

use nakshi_io::write::WriteFs;

use super::options::LoadOptions;
use super::reload::Kept;
use nakshi_store::import::Hooks;

/// A load of tables: where it writes, and how.
pub(super) struct Load<'l> {
    pub(super) fs: &'l Arc<dyn WriteFs>,
    pub(super) options: &'l LoadOptions,
    pub(super) hooks: &'l Hooks,
    pub(super) kept: &'l Kept,
    /// Number of shards of the new store.
    pub(super) shards: u32,
}
