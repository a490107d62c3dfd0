//! Messages to a client, which leave together.

use std::time::Duration;

use boltr::BoltError;
use boltr::message::sig;
use boltr::packstream::encode::{encode_dict, encode_struct_header};
use boltr::types::{BoltDict, BoltValue};
use bytes::{BufMut, BytesMut};
use nakshi_query::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::version::Version;
use crate::failure::Failure;
use crate::packstream::Encoder;

/// Bytes of waiting messages that are written without waiting for more.
const FULL: usize = 64 << 10;
/// Time for a client to take what was written; one that takes longer has hung.
const PATIENCE: Duration = Duration::from_secs(30);

/// The way to a client.
pub(super) struct Replies<W> {
    writer: W,
    encoder: Encoder,
    /// A message without its frame.
    message: BytesMut,
    /// Messages that wait.
    waiting: BytesMut,
}

impl<W: AsyncWrite + Unpin> Replies<W> {
    pub(super) fn new(writer: W, version: Version) -> Self {
        let (message, waiting) = (BytesMut::new(), BytesMut::new());
        Replies {
            writer,
            encoder: Encoder::for_drivers(version.has_element_ids()),
            message,
            waiting,
        }
    }

    /// Has points in time counted in UTC, as a client of an old version may ask.
    pub(super) fn count_in_utc(&mut self) {
        self.encoder.utc = true;
    }

    /// Says that a request succeeded.
    pub(super) async fn success(&mut self, metadata: &BoltDict) -> Result<(), BoltError> {
        encode_struct_header(&mut self.message, sig::SUCCESS, 1);
        encode_dict(&mut self.message, metadata);
        self.end_message().await
    }

    /// Says that a request failed.
    pub(super) async fn failure(&mut self, failure: &Failure) -> Result<(), BoltError> {
        encode_struct_header(&mut self.message, sig::FAILURE, 1);
        let of = |text: &str| BoltValue::String(text.to_owned());
        let entries = [("code", of(failure.code)), ("message", of(&failure.message))];
        encode_dict(
            &mut self.message,
            &entries.map(|(name, value)| (name.to_owned(), value)).into(),
        );
        self.end_message().await
    }

    /// Says that a request was ignored.
    pub(super) async fn ignored(&mut self) -> Result<(), BoltError> {
        encode_struct_header(&mut self.message, sig::IGNORED, 0);
        self.end_message().await
    }

    /// Sends a row.
    pub(super) async fn record(&mut self, row: &[Value]) -> Result<(), BoltError> {
        encode_struct_header(&mut self.message, sig::RECORD, 1);
        self.encoder.list(&mut self.message, row);
        self.end_message().await
    }

    /// Sends a sign of life.
    pub(super) async fn alive(&mut self) -> Result<(), BoltError> {
        self.waiting.put_u16(0);
        self.flush().await
    }

    /// Puts the frame around the message, which waits then.
    async fn end_message(&mut self) -> Result<(), BoltError> {
        for chunk in self.message.chunks(usize::from(u16::MAX)) {
            // Lossless: chunks are no longer.
            self.waiting.put_u16(chunk.len() as u16);
            self.waiting.put_slice(chunk);
        }
        self.waiting.put_u16(0);
        self.message.clear();
        if self.waiting.len() < FULL { Ok(()) } else { self.flush().await }
    }

    /// Writes all that waits.
    pub(super) async fn flush(&mut self) -> Result<(), BoltError> {
        let write = async {
            self.writer.write_all(&self.waiting).await?;
            self.writer.flush().await
        };
        let written = tokio::time::timeout(PATIENCE, write).await;
        self.waiting.clear();
        Ok(written.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))?)
    }

    /// Ends the connection, after what waits was written.
    pub(super) async fn close(mut self) {
        // The client is gone if this fails.
        let _ = self.flush().await;
        let _ = self.writer.shutdown().await;
    }
}
