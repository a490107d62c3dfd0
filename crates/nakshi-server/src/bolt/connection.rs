//! A connection: one task reads messages, another answers them in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use boltr::BoltError;
use boltr::chunk::ChunkReader;
use boltr::message::ClientMessage;
use boltr::types::{BoltDict, BoltValue};
use tokio::io::{AsyncRead, AsyncWrite, BufReader, ReadHalf};
use tokio::sync::{Semaphore, mpsc};

use super::host::Bolt;
use super::interrupts::{Arrived, Interrupts};
use super::login::asks_for_utc;
use super::replies::Replies;
use super::room::decode;
use super::session::{Ended, Session};
use super::version::{Version, agree};
use crate::access::Asker;
use crate::failure::Failure;
use crate::login::From as Peer;

/// Time for a stranger to say who it is.
const LOGIN: Duration = Duration::from_secs(10);
/// Bytes of a message of a stranger.
const STRANGER_BYTES: usize = 64 << 10;
/// Bytes of memory that it may take once it is read.
const STRANGER_MEMORY: u64 = 16 * STRANGER_BYTES as u64;
/// Messages that wait for the ones before them.
const WAITING: usize = 64;
/// Unit in which the bytes of waiting messages are counted.
const KIB: u64 = 1024;
/// Bytes that are read at once, so that a frame does not take three calls of the system.
const AT_ONCE: usize = 4 << 10;

/// The messages of a client.
type Messages<S> = ChunkReader<BufReader<ReadHalf<S>>>;

/// Talks with a client until it leaves, or the server ends.
pub(crate) async fn talk<S>(
    bolt: Arc<Bolt>,
    mut stream: S,
    peer: Option<SocketAddr>,
) -> Result<(), BoltError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let late = |_| BoltError::Authentication("the client has not logged on in time".to_owned());
    let version = tokio::time::timeout(LOGIN, agree(&mut stream)).await.map_err(late)??;
    let (reader, writer) = tokio::io::split(stream);
    let mut reader = ChunkReader::new(BufReader::with_capacity(AT_ONCE, reader));
    let mut replies = Replies::new(writer, version);
    let from: Peer = (peer, "bolt", bolt.connection_id());
    let mut greeted = false;
    loop {
        reader.set_max_message_size(STRANGER_BYTES);
        let login = authenticate((&bolt, &from), version, &mut greeted, &mut reader, &mut replies);
        let asker = match tokio::time::timeout(LOGIN, login).await.map_err(late) {
            Ok(Ok(Some(asker))) => asker,
            Ok(Ok(None)) => break,
            Ok(Err(error)) | Err(error) => {
                replies.close().await;
                return Err(error);
            }
        };
        reader.set_max_message_size(bolt.served.limits.request_bytes);
        let interrupts = Arc::new(Interrupts::new(&bolt.served.cancel));
        let (line, messages) = mpsc::channel(WAITING);
        let memory = bolt.served.limits.statement_bytes;
        let listening = listen(reader, line, memory, Arc::clone(&interrupts));
        let listening = tokio::spawn(listening);
        let session = Session::new(&bolt, asker, interrupts, &mut replies);
        match session.answer(messages).await {
            Ok(Ended::LoggedOff) => match listening.await {
                Ok(Some(again)) => reader = again,
                _ => break,
            },
            ended => {
                listening.abort();
                replies.close().await;
                return ended.map(|_| ());
            }
        }
    }
    replies.close().await;
    Ok(())
}

/// Answers HELLO and LOGON; `None` if the client leaves.
async fn authenticate<S: AsyncRead, W: AsyncWrite + Unpin>(
    (bolt, from): (&Bolt, &Peer),
    version: Version,
    greeted: &mut bool,
    reader: &mut Messages<S>,
    replies: &mut Replies<W>,
) -> Result<Option<Arc<Asker>>, BoltError> {
    loop {
        let bytes = reader.read_message().await?;
        if bytes.is_empty() {
            continue;
        }
        let (credentials, told) = match decode(&bytes, STRANGER_MEMORY).map(|(message, _)| message)
        {
            Ok(ClientMessage::Hello { extra }) if !*greeted => {
                *greeted = true;
                let mut told = bolt.greeting(&from.2);
                if !version.has_element_ids() && asks_for_utc(&extra) {
                    replies.count_in_utc();
                    let patches = vec![BoltValue::from("utc")];
                    told.insert("patch_bolt".to_owned(), patches.into());
                }
                if version.has_logon() {
                    replies.success(&told).await?;
                    replies.flush().await?;
                    continue;
                }
                (extra, told)
            }
            Ok(ClientMessage::Logon { auth }) if *greeted && version.has_logon() => {
                (auth, BoltDict::new())
            }
            Ok(ClientMessage::Goodbye) => return Ok(None),
            Ok(_) | Err(_) => {
                let failure = Failure::invalid("this message is none of a client that logs on");
                replies.failure(&failure).await?;
                return Err(BoltError::Authentication(failure.message));
            }
        };
        return match bolt.log_in(credentials, from.clone()).await {
            Ok(asker) => {
                replies.success(&told).await?;
                replies.flush().await?;
                Ok(Some(asker))
            }
            Err(failure) => {
                bolt.refused(&failure).await;
                replies.failure(&failure).await?;
                Err(BoltError::Authentication(failure.message))
            }
        };
    }
}

/// Reads messages until the client leaves or logs off. Those that wait take at most `memory` bytes, and so does
/// each. Returns the reader if the client may log on again.
async fn listen<S: AsyncRead>(
    mut reader: Messages<S>,
    line: mpsc::Sender<Arrived>,
    memory: u64,
    interrupts: Arc<Interrupts>,
) -> Option<Messages<S>> {
    let most = u32::try_from(memory / KIB).unwrap_or(u32::MAX).saturating_add(1);
    let bytes = Arc::new(Semaphore::new(most as usize));
    loop {
        let read = reader.read_message().await;
        let decoded = match &read {
            Ok(bytes) if bytes.is_empty() => continue,
            Ok(bytes) => decode(bytes, memory),
            // The client has gone, or breaks the frames, after which nothing can be read.
            Err(BoltError::Io(_)) => break,
            Err(error) => Err(Failure::invalid(error.to_string())),
        };
        let size = decoded.as_ref().map_or(0, |(_, size)| *size);
        let message = decoded.map(|(message, _)| message);
        let size = u32::try_from(size / KIB).unwrap_or(u32::MAX).saturating_add(1).min(most);
        match &message {
            Ok(ClientMessage::Reset) => interrupts.reset(),
            Ok(ClientMessage::Goodbye) => interrupts.leave(),
            _ => {}
        }
        let logs_off = matches!(message, Ok(ClientMessage::Logoff));
        let Ok(room) = Arc::clone(&bytes).acquire_many_owned(size).await else { break };
        if line.send(Arrived { message, _room: room }).await.is_err() {
            break;
        }
        if logs_off {
            return Some(reader);
        }
        if read.is_err() {
            break;
        }
    }
    interrupts.leave();
    None
}
