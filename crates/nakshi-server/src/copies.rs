//! Copies of a graph's store for its clients: the files of a backup, which never lie on the server's disk twice.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::ScopedJoinHandle;

use nakshi_io::write::{WriteFile, WriteFs};
use nakshi_io::{CancelToken, Error as IoError, Result as IoResult};
use nakshi_property::begin_backup;
use nakshi_store::BackupReport;
use nakshi_store::files::crc32c;
use nakshi_store::import::Hooks;

use crate::error::{Error, ErrorKind, Result};
use crate::v1::backup_reply::Reply;
use crate::v1::{BackupBegin, BackupEnd, BackupPiece, BackupReply};

/// Most bytes of a piece.
const PIECE: usize = 1 << 20;
/// Pieces that wait for the connection, or for the disk.
pub(crate) const PIECES: usize = 8;

/// A file system whose files, written one after the other, go to a client.
#[derive(Debug)]
struct Sent(SyncSender<Reply>);

/// A file on its way to a client.
#[derive(Debug)]
struct SentFile {
    path: PathBuf,
    len: u64,
    replies: SyncSender<Reply>,
}

/// An error that nobody sees: the client has gone.
fn gone<T>(_: T) -> IoError {
    IoError::Cancelled
}

impl WriteFs for Sent {
    fn create(&self, path: &Path) -> IoResult<Box<dyn WriteFile>> {
        self.0.send(Reply::File(path.display().to_string())).map_err(gone)?;
        let replies = self.0.clone();
        Ok(Box::new(SentFile { path: path.to_owned(), len: 0, replies }))
    }

    fn create_dir(&self, path: &Path) -> IoResult<()> {
        self.sync_dir(path)
    }

    fn rename(&self, from: &Path, _: &Path) -> IoResult<()> {
        self.sync_dir(from)
    }

    fn publish(&self, from: &Path, _: &Path) -> IoResult<()> {
        self.sync_dir(from)
    }

    fn remove_file(&self, path: &Path) -> IoResult<()> {
        self.sync_dir(path)
    }

    fn remove_dir_all(&self, path: &Path) -> IoResult<()> {
        self.sync_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> IoResult<()> {
        Err(IoError::unsupported(format!("{}: a copy for a client is files alone", path.display())))
    }
}

impl WriteFile for SentFile {
    fn append(&mut self, bytes: &[u8]) -> IoResult<()> {
        for bytes in bytes.chunks(PIECE) {
            let piece = BackupPiece { bytes: bytes.to_vec(), crc32c: crc32c(bytes) };
            self.replies.send(Reply::Piece(piece)).map_err(gone)?;
            self.len += bytes.len() as u64;
        }
        Ok(())
    }

    fn sync(&mut self) -> IoResult<()> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Hands a copy of the store at `path` to `takes`, until that returns false.
pub(crate) fn send(
    path: &Path,
    cancel: &CancelToken,
    takes: impl Fn(BackupReply) -> bool,
) -> Result<()> {
    let takes = |reply| takes(BackupReply { reply: Some(reply) });
    let begun = begin_backup(path, cancel)?;
    if !takes(Reply::Begin(BackupBegin { bytes: begun.bytes() })) {
        return Ok(());
    }
    let (sender, replies) = sync_channel(PIECES);
    let hooks = Hooks { cancel: cancel.clone(), ..Hooks::default() };
    let report = std::thread::scope(|scope| {
        let write = move || begun.write(&Sent(sender), Path::new(""), &hooks);
        let writer = std::thread::Builder::new().name("nakshi-copy".into());
        let writer = writer.spawn_scoped(scope, write).map_err(Error::no_thread)?;
        for reply in replies {
            if !takes(reply) {
                // The writer notices at its next piece.
                break;
            }
        }
        joined(writer)
    })?;
    let BackupReport { files, bytes, log_bytes } = report;
    takes(Reply::End(BackupEnd { files, bytes, log_bytes }));
    Ok(())
}

/// Joins a thread that writes a copy, and returns its result.
pub(crate) fn joined<T, E>(writer: ScopedJoinHandle<'_, Result<T, E>>) -> Result<T>
where
    Error: From<E>,
{
    let panicked = |_| Error::new(ErrorKind::Internal, "internal error: a thread panicked");
    Ok(writer.join().map_err(panicked)??)
}
