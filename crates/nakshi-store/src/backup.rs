//! Backups: copies of a store that is in use.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::{AtomicDir, PoisonFile, WriteFile, WriteFs};
use nakshi_io::{IoStats, PagedFile, Salt, Striping};

use crate::build::sink::{Sink, write_small};
use crate::files::{self, manifest_name, parse_uuid};
use crate::hooks::{Hooks, Progress};
use crate::{CachePlan, Error, FileEntry, Manifest, OpenOptions, Result, Store};

/// Bytes that are copied at a time.
const PIECE: u64 = 1 << 20;

/// The result of a [`backup`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BackupReport {
    /// Number of files, without the manifest.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Bytes of the logs.
    pub log_bytes: u64,
}

/// A log file that is held open, since a compaction may remove it.
#[derive(Debug)]
pub struct OpenLog {
    /// The file's name in the directory of the store.
    pub name: String,
    /// The file's path, for messages.
    pub path: PathBuf,
    /// The file, open for reading.
    pub file: File,
    /// Number of bytes with whole commits. More may be appended during the copy, but these stay.
    pub len: u64,
}

/// Copies the store at `source` to the new store `destination`, in the state after one of its
/// commits, while another process may be writing to it. Every page is compared with its checksum
/// during the copy. Striped files are joined in the one directory of the copy.
/// `logs` gets the path and the manifest of the store, and opens the log files that its sections
/// need and the manifest does not name.
///
/// # Errors
/// Damage of the source; [`Error::Exists`]; read and write errors; errors of `logs`. Nothing is left
/// then.
pub fn backup(
    fs: &Arc<dyn WriteFs>,
    source: &Path,
    destination: &Path,
    hooks: &Hooks,
    logs: &dyn Fn(&Path, &Manifest) -> Result<Vec<OpenLog>>,
) -> Result<BackupReport> {
    files::with_newest(source, |manifest| copy(fs, source, destination, &manifest, hooks, logs))
}

fn copy(
    fs: &Arc<dyn WriteFs>,
    source: &Path,
    destination: &Path,
    manifest: &Manifest,
    hooks: &Hooks,
    logs: &dyn Fn(&Path, &Manifest) -> Result<Vec<OpenLog>>,
) -> Result<BackupReport> {
    let options = OpenOptions { cancel: hooks.cancel.clone(), ..OpenOptions::default() };
    let store = Store::open_as(source, manifest.clone(), &options)?;
    let uuid = parse_uuid(&manifest.uuid)
        .ok_or_else(|| Error::Invalid(format!("{} has no identity", source.display())))?;
    // Held open, so that a compaction may remove them in the meantime.
    let mut open = Vec::new();
    for entry in manifest.files() {
        let striped = manifest.stripes.is_some() && is_striped(manifest, entry);
        open.push((entry, if striped { store.striped_file(entry)? } else { store.file(entry)? }));
    }
    let logs = logs(source, manifest)?;
    let plan = CachePlan::bytes(source)?;
    let tag = files::hex(&files::new_uuid());
    let dir = AtomicDir::create(Arc::clone(fs), destination, &tag)?;
    let mut report = BackupReport { files: 0, bytes: 0, log_bytes: 0 };
    let total = manifest.files().map(|file| file.len).sum();
    for (entry, file) in open {
        let to = Striping::single(dir.path().join(&entry.name));
        let salt = Salt { store: uuid, file: entry.id };
        let mut sink = Sink::create(fs.as_ref(), entry.name.clone(), to, manifest.page_size, salt)?;
        pour(&file, &mut sink, hooks, &mut report, total)?;
        let written = sink.finish(fs.as_ref(), dir.path())?;
        if written != *entry {
            return Err(Error::Corrupt {
                file: file.path().to_path_buf(),
                page: 0,
                what: "its pages are right, but not those that the manifest means".into(),
            });
        }
        report.files += 1;
    }
    for log in logs {
        report.log_bytes += copy_log(fs.as_ref(), &log, dir.path(), hooks)?;
    }
    if let Some((name, bytes)) = plan {
        write_small(fs.as_ref(), &dir.path().join(name), &bytes)?;
    }
    let manifest = Manifest { stripes: None, ..manifest.clone() };
    let name = manifest_name(manifest.generation);
    write_small(fs.as_ref(), &dir.path().join(name), &manifest.to_bytes()?)?;
    dir.publish()?;
    Ok(report)
}

/// Copies a log piece by piece; returns its length in bytes.
fn copy_log(fs: &dyn WriteFs, log: &OpenLog, to: &Path, hooks: &Hooks) -> Result<u64> {
    let mut file = PoisonFile::new(fs.create(&to.join(&log.name))?);
    let mut piece = vec![0; PIECE.min(log.len) as usize];
    for at in (0..log.len).step_by(PIECE as usize) {
        hooks.check()?;
        let len = PIECE.min(log.len - at) as usize;
        let part = piece.get_mut(..len).unwrap_or_default();
        let read = log.file.read_exact_at(part, at);
        read.map_err(|error| Error::io("read", &log.path, error))?;
        file.append(part)?;
    }
    file.sync()?;
    Ok(log.len)
}

fn is_striped(manifest: &Manifest, entry: &FileEntry) -> bool {
    let lists = manifest.adjacency.iter().map(|adjacency| &adjacency.lists);
    let mut striped = lists.chain(manifest.columns.iter().map(|column| &column.file));
    striped.any(|file| file.name == entry.name)
}

fn pour(
    file: &Arc<PagedFile>,
    sink: &mut Sink,
    hooks: &Hooks,
    report: &mut BackupReport,
    total: u64,
) -> Result<()> {
    let mut reader = file.reader(1, Arc::new(IoStats::default()))?;
    for start in (0..file.len()).step_by(PIECE as usize) {
        hooks.check()?;
        hooks.tell(Progress { phase: "copy", done: report.bytes, total: Some(total), edges: 0 });
        let end = file.len().min(start + PIECE);
        reader.submit(start..end, 0)?;
        if let Some(block) = reader.next()? {
            sink.append(block.bytes())?;
        }
        report.bytes += end - start;
    }
    Ok(())
}
