//! Standard output that a caller can stop writing to.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use crate::wait::wait_writable;
use crate::{CANCEL_POLL_INTERVAL, CancelToken};

/// Bytes that a pipe with room takes without blocking (`PIPE_BUF`).
const PIECE: usize = 4096;

/// Standard output. A write waits while the reader does not read, until the token is cancelled, and
/// fails with [`crate::Error::Cancelled`] inside an [`io::Error`] then. Writes are not buffered.
#[derive(Debug)]
pub struct StandardOutput {
    file: File,
    cancel: CancelToken,
}

impl StandardOutput {
    /// Writes to standard output, behind what was written there before.
    ///
    /// # Errors
    /// Errors of writing what is still buffered; a closed standard output.
    pub fn new(cancel: &CancelToken) -> io::Result<Self> {
        let mut buffered = io::stdout();
        buffered.flush()?;
        Ok(Self::to(File::from(buffered.as_fd().try_clone_to_owned()?), cancel))
    }

    fn to(file: File, cancel: &CancelToken) -> Self {
        StandardOutput { file, cancel: cancel.clone() }
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.cancel.check().map_err(io::Error::other)?;
            if wait_writable(&self.file, CANCEL_POLL_INTERVAL)? {
                return self.file.write(bytes.get(..PIECE).unwrap_or(bytes));
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    /// Seen red with a write that blocks.
    #[test]
    fn a_reader_that_does_not_read_can_be_left() {
        let (_reader, writer) = io::pipe().unwrap();
        let cancel = CancelToken::new();
        let mut out = StandardOutput::to(File::from(OwnedFd::from(writer)), &cancel);
        let began = Instant::now();
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            cancel.cancel();
        });
        let error = out.write_all(&vec![0; 1 << 20]).unwrap_err();
        assert!(
            matches!(error.get_ref().and_then(|e| e.downcast_ref()), Some(crate::Error::Cancelled)),
            "{error}"
        );
        assert!(began.elapsed() < Duration::from_secs(1));
        later.join().unwrap();
    }

    #[test]
    fn all_bytes_arrive() {
        let (mut reader, writer) = io::pipe().unwrap();
        let file = File::from(OwnedFd::from(writer));
        let sent: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        let copy = sent.clone();
        let writing = std::thread::spawn(move || {
            StandardOutput::to(file, &CancelToken::new()).write_all(&copy)
        });
        let mut found = Vec::new();
        io::Read::read_to_end(&mut reader, &mut found).unwrap();
        writing.join().unwrap().unwrap();
        assert!(found == sent);
    }
}
