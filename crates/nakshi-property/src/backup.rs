//! Backup of a store with properties, while others read and write it: its files and its log.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_io::write::WriteFs;
use nakshi_store::import::Hooks;
use nakshi_store::{BackupReport, BegunBackup, Result};

use crate::log::logs;

/// As [`nakshi_store::backup()`], with the log of the properties if the store has them. The copy is
/// in the state after one of the commits.
///
/// # Errors
/// As [`nakshi_store::backup()`].
pub fn backup(
    fs: &Arc<dyn WriteFs>,
    source: &Path,
    destination: &Path,
    hooks: &Hooks,
) -> Result<BackupReport> {
    nakshi_store::backup(fs, source, destination, hooks, &|path, manifest| {
        logs(path, manifest, &hooks.cancel)
    })
}

/// As [`BegunBackup::open`], with the log of the properties if the store has them.
///
/// # Errors
/// As [`BegunBackup::open`].
pub fn begin_backup(source: &Path, cancel: &CancelToken) -> Result<BegunBackup> {
    BegunBackup::open(source, cancel, &|path, manifest| logs(path, manifest, cancel))
}
