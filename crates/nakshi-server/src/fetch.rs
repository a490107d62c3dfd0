//! A client that copies the store of a server, and a server that begins with the store of another one.

use std::future::Future;
use std::path::{Component, Path};
use std::sync::Arc;
use std::time::Instant;

use nakshi_io::CancelToken;
use nakshi_io::write::{AtomicDir, PoisonFile, WriteFile, WriteFs, default_fs};
use nakshi_property::BucketSet;
use nakshi_store::files::{self, crc32c};
use nakshi_store::import::{Hooks, Progress};
use nakshi_store::{BackupReport, Error as StoreError};
use tokio::sync::mpsc;
use tonic::Status;

use crate::client::{Client, ConnectOptions, HEARTBEAT};
use crate::connection::Connection;
use crate::copies::{PIECES, joined};
use crate::error::{Error, ErrorKind, Result};
use crate::replication::{LOOK, WORD};
use crate::serve::ServeOptions;
use crate::v1::backup_reply::Reply;
use crate::v1::{BackupEnd, BackupRequest};

/// Error for a copy that is not what a server sends.
fn garbled(what: &str) -> Error {
    let what = format!("the copy did not arrive as it was sent ({what}); make it again");
    Error::new(ErrorKind::Storage, what)
}

/// Makes the file durable that was written last, if there is one.
fn end(file: &mut Option<PoisonFile>) -> nakshi_store::Result<()> {
    Ok(file.take().map_or(Ok(()), |mut file| file.sync())?)
}

/// Writes what arrives as a new store, which appears when all of it is there.
fn receive(
    fs: Arc<dyn WriteFs>,
    destination: &Path,
    mut replies: mpsc::Receiver<Reply>,
    hooks: &Hooks,
) -> Result<BackupReport> {
    let io = StoreError::from;
    let tag = files::hex(&files::new_uuid());
    let dir = AtomicDir::create(Arc::clone(&fs), destination, &tag).map_err(io)?;
    let (mut file, mut done, mut total) = (None::<PoisonFile>, 0, None);
    while let Some(reply) = replies.blocking_recv() {
        hooks.check()?;
        match reply {
            Reply::Begin(begin) => total = Some(begin.bytes),
            Reply::Progress(now) => {
                let (phase, done, total) = ("write", now.done, now.total);
                hooks.tell(Progress { phase, done, total, edges: 0 });
            }
            Reply::File(name) => {
                let mut parts = Path::new(&name).components();
                if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
                    return Err(garbled(&format!("a file named {name:?}")));
                }
                end(&mut file)?;
                let new = fs.create(&dir.path().join(name)).map_err(io)?;
                file = Some(PoisonFile::new(new));
            }
            Reply::Piece(piece) => {
                if crc32c(&piece.bytes) != piece.crc32c {
                    return Err(garbled("a checksum differs"));
                }
                let file = file.as_mut().ok_or_else(|| garbled("bytes of no file"))?;
                file.append(&piece.bytes).map_err(io)?;
                done += piece.bytes.len() as u64;
                let phase = "copy";
                hooks.tell(Progress { phase, done, total, edges: 0 });
            }
            Reply::End(BackupEnd { files, bytes, log_bytes }) => {
                end(&mut file)?;
                dir.publish().map_err(io)?;
                return Ok(BackupReport { files, bytes, log_bytes });
            }
        }
    }
    Err(garbled("its end is missing"))
}

/// Waits for an answer, or until the user cancels.
pub(crate) async fn unless_cancelled<T>(
    cancel: &CancelToken,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let cancelled = async {
        while !cancel.is_cancelled() {
            tokio::time::sleep(HEARTBEAT).await;
        }
    };
    tokio::select! {
        answer = answer => answer,
        () = cancelled => Err(Status::cancelled("cancelled")),
    }
}

impl Client {
    /// Copies the store of the server to the new store `destination` of this machine, in the state after one
    /// of its commits, while queries and changes go on. Every page is compared with its checksum by the server,
    /// and what arrives with another one.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] for a token that is neither an admin's nor a server's; [`ErrorKind::Overloaded`] if
    /// another client gets a copy; errors of the disks; as [`Client::status`]. Nothing is left then.
    pub fn backup(&self, destination: &Path, hooks: &Hooks) -> Result<BackupReport> {
        let whole = || BackupRequest { at_least: self.seen(), buckets: Vec::new() };
        self.repeated(|connection| self.copy_by(connection, whole(), destination, hooks))
    }

    /// As [`Client::backup`], of some buckets only, in a state after the commit `at_least` or a later one.
    pub(crate) fn copy_buckets(
        &self,
        buckets: &BucketSet,
        at_least: u64,
        destination: &Path,
        hooks: &Hooks,
    ) -> Result<BackupReport> {
        let some = || BackupRequest { at_least, buckets: buckets.to_bytes() };
        self.repeated(|connection| self.copy_by(connection, some(), destination, hooks))
    }

    fn copy_by(
        &self,
        connection: &Connection,
        request: BackupRequest,
        destination: &Path,
        hooks: &Hooks,
    ) -> Result<BackupReport> {
        let mut stub = connection.stub.clone();
        // The time limit is for each word of the server.
        let call = async move { Ok(stub.backup(request).await?.into_inner()) };
        let mut replies = self.wait(connection, unless_cancelled(&hooks.cancel, call))?;
        std::thread::scope(|scope| {
            let (send, arrived) = mpsc::channel(PIECES);
            let write = move || receive(default_fs(), destination, arrived, hooks);
            let writer = std::thread::Builder::new().name("nakshi-copy".into());
            let writer = writer.spawn_scoped(scope, write).map_err(Error::no_thread)?;
            // The disk has a thread of its own: a server drops a client that answers nothing for a while.
            let mut forward = || {
                let next = unless_cancelled(&hooks.cancel, replies.message());
                let Some(reply) = self.wait(connection, next)?.and_then(|reply| reply.reply) else {
                    return Ok(false);
                };
                let taken = async { Ok(send.send(reply).await.is_ok()) };
                self.wait(connection, unless_cancelled(&hooks.cancel, taken))
            };
            let forwarded = loop {
                match forward() {
                    Ok(true) => {}
                    ended => break ended,
                }
            };
            drop(send);
            // What the connection has lost explains what the disk lacks.
            let written = joined(writer);
            forwarded.and(written)
        })
    }
}

/// Copies the store that a server of several is to serve from another one of them. Waits for one that runs.
///
/// # Errors
/// [`ErrorKind::Parameter`] without other servers; [`ErrorKind::Cancelled`]; as [`Client::backup`].
pub fn fetch(
    destination: &Path,
    options: &ServeOptions,
    cancel: &CancelToken,
) -> Result<BackupReport> {
    let group = options.group.as_ref();
    let group =
        group.ok_or_else(|| Error::parameter("a server that stands alone has no others"))?;
    let others = group.servers.iter().enumerate();
    let others = others.filter(|(at, address)| *at != group.own && !address.is_empty());
    let others = others.map(|(_, address)| address.as_str()).collect::<Vec<_>>().join(",");
    let token = options.tokens.as_ref().map(|tokens| tokens.of_servers()).transpose()?;
    let connect = ConnectOptions { token, ca: group.ca.clone(), ..ConnectOptions::default() };
    let hooks = Hooks { cancel: cancel.clone(), ..Hooks::default() };
    let mut told = None::<Instant>;
    loop {
        let copied = Client::connect(&others, connect.clone()).and_then(|client| {
            if told.is_none() {
                let (store, from) = (destination.display(), client.address());
                tracing::info!(%store, from, "copies the graph");
            }
            client.backup(destination, &hooks)
        });
        match copied {
            // None runs yet, or the one that was asked sends a copy to another server.
            Err(error) if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Overloaded) => {
                if told.is_none_or(|told| told.elapsed() > WORD * 5) {
                    tracing::info!(
                        why = error.message.as_str(),
                        "waits for a server with the graph"
                    );
                    told = Some(Instant::now());
                }
            }
            copied => return copied,
        }
        cancel.check().map_err(StoreError::from)?;
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::BackupPiece;

    fn piece(bytes: &[u8]) -> Reply {
        Reply::Piece(BackupPiece { bytes: bytes.to_vec(), crc32c: crc32c(bytes) })
    }

    /// Receives some replies; returns the report, and the names that are in the folder afterwards.
    fn received(replies: Vec<Reply>) -> (Result<BackupReport>, Vec<String>) {
        let home = tempfile::tempdir().unwrap();
        let (send, arrived) = mpsc::channel(replies.len().max(1));
        replies.into_iter().for_each(|reply| send.try_send(reply).unwrap());
        drop(send);
        let copy = home.path().join("copy");
        let report = receive(default_fs(), &copy, arrived, &Hooks::default());
        let mut names = Vec::new();
        for dir in [home.path(), &copy] {
            let entries = std::fs::read_dir(dir).into_iter().flatten();
            names.extend(entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
        }
        (report, names)
    }

    #[test]
    fn a_copy_that_is_not_whole_leaves_nothing() {
        let file = |name: &str| Reply::File(name.into());
        let end = || Reply::End(BackupEnd { files: 1, bytes: 3, log_bytes: 0 });
        let (report, names) = received(vec![file("a"), piece(b"abc"), end()]);
        assert_eq!((report.unwrap().bytes, names), (3, vec!["copy".to_owned(), "a".to_owned()]));
        let mut torn = BackupPiece { bytes: b"abc".to_vec(), crc32c: crc32c(b"abc") };
        torn.bytes[1] ^= 1;
        for (replies, why) in [
            (vec![file("a"), piece(b"abc")], "its end is missing"),
            (vec![file("a"), Reply::Piece(torn), end()], "a checksum differs"),
            (vec![piece(b"abc"), end()], "bytes of no file"),
            (vec![file("../a"), end()], "a file named"),
            (vec![file("/tmp/a"), end()], "a file named"),
            (vec![file(""), end()], "a file named"),
        ] {
            let (report, names) = received(replies);
            assert!(report.unwrap_err().message.contains(why), "{why}");
            assert_eq!(names, Vec::<String>::new(), "{why}");
        }
    }
}
