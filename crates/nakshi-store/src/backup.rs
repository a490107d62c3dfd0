//! Backups: copies of a store that is in use.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::{AtomicDir, PoisonFile, WriteFile, WriteFs};
use nakshi_io::{CancelToken, IoStats, PagedFile, Salt, Striping};

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
    let begun = BegunBackup::open(source, &hooks.cancel, logs)?;
    let tag = files::hex(&files::new_uuid());
    let dir = AtomicDir::create(Arc::clone(fs), destination, &tag)?;
    let report = begun.write(fs.as_ref(), dir.path(), hooks)?;
    dir.publish()?;
    Ok(report)
}

/// The files of a store after one of its commits, held open, so that a compaction may remove them.
#[derive(Debug)]
pub struct BegunBackup {
    manifest: Manifest,
    uuid: [u8; 16],
    files: Vec<(FileEntry, Arc<PagedFile>)>,
    logs: Vec<OpenLog>,
    /// Name and bytes of the cache plan, if there is one.
    plan: Option<(String, Vec<u8>)>,
}

impl BegunBackup {
    /// Opens the files of the store at `source`; `logs` as for [`backup`].
    ///
    /// # Errors
    /// Damage; read errors; errors of `logs`; [`Error::Cancelled`].
    pub fn open(
        source: &Path,
        cancel: &CancelToken,
        logs: &dyn Fn(&Path, &Manifest) -> Result<Vec<OpenLog>>,
    ) -> Result<Self> {
        files::with_newest(source, |manifest| {
            let options = OpenOptions { cancel: cancel.clone(), ..OpenOptions::default() };
            let store = Store::open_as(source, manifest.clone(), &options)?;
            let uuid = parse_uuid(&manifest.uuid)
                .ok_or_else(|| Error::Invalid(format!("{} has no identity", source.display())))?;
            let mut open = Vec::new();
            for entry in manifest.files() {
                let striped = manifest.stripes.is_some() && is_striped(&manifest, entry);
                let file = if striped { store.striped_file(entry)? } else { store.file(entry)? };
                open.push((entry.clone(), file));
            }
            let (logs, plan) = (logs(source, &manifest)?, CachePlan::bytes(source)?);
            Ok(BegunBackup { manifest, uuid, files: open, logs, plan })
        })
    }

    /// Bytes of all files but the manifest.
    pub fn bytes(&self) -> u64 {
        let files = self.files.iter().map(|(entry, _)| entry.len);
        files.chain(self.logs.iter().map(|log| log.len)).sum()
    }

    /// Writes the files to a directory of a file system, the manifest last.
    ///
    /// # Errors
    /// Damage; read and write errors; [`Error::Cancelled`].
    pub fn write(self, fs: &dyn WriteFs, dir: &Path, hooks: &Hooks) -> Result<BackupReport> {
        let mut report = BackupReport { files: 0, bytes: 0, log_bytes: 0 };
        let page_size = self.manifest.page_size;
        let total = self.files.iter().map(|(entry, _)| entry.len).sum();
        for (entry, file) in self.files {
            let to = Striping::single(dir.join(&entry.name));
            let salt = Salt { store: self.uuid, file: entry.id };
            let mut sink = Sink::create(fs, entry.name.clone(), to, page_size, salt)?;
            pour(&file, &mut sink, hooks, &mut report, total)?;
            if sink.finish(fs, dir)? != entry {
                return Err(Error::Corrupt {
                    file: file.path().to_path_buf(),
                    page: 0,
                    what: "its pages are right, but not those that the manifest means".into(),
                });
            }
            report.files += 1;
        }
        for log in self.logs {
            report.log_bytes += copy_log(fs, &log, dir, hooks)?;
        }
        if let Some((name, bytes)) = self.plan {
            write_small(fs, &dir.join(name), &bytes)?;
        }
        let manifest = Manifest { stripes: None, ..self.manifest };
        let name = manifest_name(manifest.generation);
        write_small(fs, &dir.join(name), &manifest.to_bytes()?)?;
        Ok(report)
    }
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
