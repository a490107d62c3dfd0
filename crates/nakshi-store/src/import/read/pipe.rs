//! Standard input and other pipes, which may stay silent for as long as they like.

use std::io::{Cursor, Error, Read, Result};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use nakshi_io::CancelToken;

/// Bytes that are handed over together, at most.
const BLOCK: usize = 256 << 10;
/// Blocks that may wait.
const WAITING: usize = 4;
/// How often a cancelled import is noticed while nothing comes.
const PATIENCE: Duration = Duration::from_millis(20);

/// A pipe that is read on a thread of its own, so that an import can be cancelled while the other
/// end is silent. That thread outlives the reader until the pipe says something or is closed.
pub(super) struct Pipe {
    blocks: Receiver<Result<Vec<u8>>>,
    block: Cursor<Vec<u8>>,
    cancel: CancelToken,
}

impl Pipe {
    pub(super) fn new(mut source: impl Read + Send + 'static, cancel: CancelToken) -> Self {
        let (sender, blocks) = sync_channel(WAITING);
        std::thread::spawn(move || {
            loop {
                let mut block = vec![0; BLOCK];
                let read = source.read(&mut block).map(|len| {
                    block.truncate(len);
                    block
                });
                let last = !matches!(&read, Ok(block) if !block.is_empty());
                // The receiver goes when the import ends early.
                if sender.send(read).is_err() || last {
                    return;
                }
            }
        });
        Self { blocks, block: Cursor::default(), cancel }
    }
}

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        loop {
            let len = self.block.read(buf)?;
            if len > 0 || buf.is_empty() {
                return Ok(len);
            }
            match self.blocks.recv_timeout(PATIENCE) {
                Ok(Ok(block)) => self.block = Cursor::new(block),
                Ok(Err(error)) => return Err(error),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if self.cancel.is_cancelled() => {
                    return Err(Error::other("cancelled while it waited for input"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe that yields its text in small pieces and is then silent for ever.
    struct Silent(&'static [u8]);

    impl Read for Silent {
        fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
            if self.0.is_empty() {
                std::thread::park();
            }
            let len = self.0.len().min(buf.len()).min(3);
            let (now, later) = self.0.split_at(len);
            buf[..len].copy_from_slice(now);
            self.0 = later;
            Ok(len)
        }
    }

    #[test]
    fn all_bytes_come_through() {
        let text: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
        let mut found = Vec::new();
        let mut pipe = Pipe::new(Cursor::new(text.clone()), CancelToken::new());
        pipe.read_to_end(&mut found).unwrap();
        assert!(found == text);
    }

    /// To be seen red with a plain read of the source.
    #[test]
    fn silence_can_be_cancelled() {
        let cancel = CancelToken::new();
        let mut pipe = Pipe::new(Silent(b"1 2\n3 4\n"), cancel.clone());
        let mut found = [0; 8];
        pipe.read_exact(&mut found).unwrap();
        assert_eq!(&found, b"1 2\n3 4\n");
        cancel.cancel();
        assert!(pipe.read(&mut found).is_err());
    }
}
