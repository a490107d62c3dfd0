//! Standard input and other pipes, which may stay silent for any time.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nakshi_io::{CANCEL_POLL_INTERVAL, CancelToken, wait_readable};

/// A pipe that is read only when it has bytes, so that an import can be cancelled while the other
/// end is silent or not even there.
pub(super) struct Pipe {
    source: File,
    cancel: CancelToken,
}

impl Pipe {
    pub(super) fn new(source: File, cancel: CancelToken) -> Self {
        Self { source, cancel }
    }

    /// Opens a named pipe without waiting for a writer.
    pub(super) fn open(path: &Path, cancel: CancelToken) -> Result<Self> {
        let source = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        Ok(Self::new(source, cancel))
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::other("cancelled while it waited for input"));
            }
            // A named pipe that no process has opened for writing yet would seem to be at its end.
            if wait_readable(&self.source, CANCEL_POLL_INTERVAL)? {
                match self.source.read(buffer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    read => return read,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    fn pipe(cancel: &CancelToken) -> (Pipe, std::io::PipeWriter) {
        let (reader, writer) = std::io::pipe().unwrap();
        (Pipe::new(File::from(OwnedFd::from(reader)), cancel.clone()), writer)
    }

    #[test]
    fn all_bytes_come_through() {
        let text: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
        let (mut pipe, mut writer) = pipe(&CancelToken::new());
        let mut found = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                writer.write_all(&text).unwrap();
                drop(writer);
            });
            pipe.read_to_end(&mut found).unwrap();
        });
        assert!(found == text);
    }

    /// Seen red (it hangs) with a pipe that waits again and again without checking the token.
    #[test]
    fn silence_can_be_cancelled() {
        let cancel = CancelToken::new();
        let (mut pipe, mut writer) = pipe(&cancel);
        writer.write_all(b"1 2\n3 4\n").unwrap();
        let mut found = [0; 8];
        pipe.read_exact(&mut found).unwrap();
        assert_eq!(&found, b"1 2\n3 4\n");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                cancel.cancel();
            });
            let began = Instant::now();
            assert!(pipe.read(&mut found).is_err());
            assert!(began.elapsed() < Duration::from_millis(400));
        });
    }
}
