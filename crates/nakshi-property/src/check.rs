//! Deep check of a store with properties: every value decodes, edges are in order, lists of rows
//! belong to their values, fragments too, and every change in the log can be applied.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_store::{CheckReport, OpenOptions, Result, SectionCheck, Store};

use crate::{Base, PropertyEntry, PropertyGraph};

/// As [`nakshi_store::check()`], with the properties and their log if the store has them.
///
/// # Errors
/// As [`nakshi_store::check()`].
pub fn check(
    path: impl AsRef<Path>,
    options: &OpenOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<CheckReport> {
    nakshi_store::check(path, options, &[&PropertyCheck], progress)
}

/// Checks the property section.
#[derive(Clone, Copy, Debug, Default)]
pub struct PropertyCheck;

impl SectionCheck for PropertyCheck {
    fn memory(&self, store: &Arc<Store>, cancel: &CancelToken) -> u64 {
        // A section that cannot be read is reported by `verify`.
        let Ok(Some(entry)) = PropertyEntry::of(store.manifest()) else { return 0 };
        Base::least(store, &entry, cancel).unwrap_or(entry.bytes())
    }

    fn verify(
        &self,
        store: &Arc<Store>,
        memory: Option<u64>,
        cancel: &CancelToken,
        problem: &mut dyn FnMut(String),
    ) -> Result<()> {
        if PropertyEntry::of(store.manifest())?.is_none() {
            return Ok(());
        }
        let base = Base::open(store, memory, cancel)?;
        base.verify(store.num_edges(), cancel, problem)?;
        // Applies every change in the log.
        PropertyGraph::with_log(store, base, cancel)?.verify_fragments(cancel, problem)
    }
}
