//! Opens files and standard input, and decompresses gzip and zstd, which it detects by magic bytes.

use std::fs::File;
use std::io::{Cursor, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nakshi_io::CancelToken;

use super::pipe::Pipe;
use crate::{Error, Result};

/// Bytes that are read before a format is chosen.
const PEEK: usize = 4096;

/// An opened input.
pub struct Opened<'a> {
    /// Decompressed bytes.
    pub reader: Box<dyn Read + Send + 'a>,
    /// The first decompressed bytes, at most 4 KiB, which `reader` yields again.
    pub head: Vec<u8>,
    /// The file itself, if it is a plain, uncompressed one.
    pub file: Option<File>,
}

/// Counters of the bytes read, for progress.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes read from files, still compressed.
    pub raw: AtomicU64,
    /// Bytes after decompression.
    pub text: AtomicU64,
}

/// Opens `path`; `-` is standard input. `cancel` ends a wait for a pipe.
///
/// `memory` bounds the window that a zstd frame may ask for.
///
/// # Errors
/// [`Error::NoInput`] if there is no such file; [`Error::Invalid`] for a directory; [`Error::Input`]
/// for an unsupported compression; read errors.
pub fn open<'a>(
    path: &Path,
    memory: u64,
    counters: &Arc<Counters>,
    cancel: &CancelToken,
) -> Result<Opened<'a>> {
    let failed = |source| Error::io("open", path, source);
    let piped = |pipe| decode(path, Box::new(pipe), None, memory, counters);
    if path.as_os_str() == "-" {
        // A copy, so that the end of this import does not close the standard input of the process.
        let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
        return piped(Pipe::new(input.into(), cancel.clone()));
    }
    // Checked before it is opened: opening a named pipe waits for its other end.
    let meta = std::fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::NoInput(path.into()),
        _ => failed(source),
    })?;
    if meta.is_dir() {
        return Err(Error::Invalid(format!("{} is a directory; name a file", path.display())));
    }
    if !meta.is_file() {
        return piped(Pipe::open(path, cancel.clone()).map_err(failed)?);
    }
    let file = File::open(path).map_err(failed)?;
    let plain = file.try_clone().ok();
    decode(path, Box::new(file), plain, memory, counters)
}

/// Sets up decompression in front of a reader.
pub(crate) fn decode<'a>(
    path: &Path,
    reader: Box<dyn Read + Send + 'a>,
    plain: Option<File>,
    memory: u64,
    counters: &Arc<Counters>,
) -> Result<Opened<'a>> {
    let failed = |source| Error::io("read", path, source);
    let mut reader: Box<dyn Read + Send + 'a> =
        Box::new(Counted { inner: reader, counters: Arc::clone(counters), raw: true });
    let magic = peek(&mut reader, 6).map_err(failed)?;
    let gzip = magic.starts_with(&[0x1f, 0x8b]);
    let zstd = magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || is_skippable(&magic);
    if magic.starts_with(b"BZh")
        || magic.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0])
        || magic.starts_with(b"PK\x03\x04")
    {
        return Err(Error::Input {
            file: path.into(),
            line: 1,
            what:
                "bzip2, xz and zip are not read; decompress it and pipe it in, with - as the input"
                    .into(),
        });
    }
    let joined: Box<dyn Read + Send + 'a> = Box::new(Cursor::new(magic).chain(reader));
    let mut reader: Box<dyn Read + Send + 'a> = if gzip {
        Box::new(flate2::read::MultiGzDecoder::new(joined))
    } else if zstd {
        let mut decoder = zstd::stream::read::Decoder::new(joined).map_err(failed)?;
        // The input determines the memory of a frame's window: 8 MiB at least, 128 MiB at most.
        let window = (memory / 4).max(1).ilog2().clamp(23, 27);
        decoder.window_log_max(window).map_err(failed)?;
        Box::new(decoder)
    } else {
        joined
    };
    let head = peek(&mut reader, PEEK).map_err(failed)?;
    let file = if gzip || zstd { None } else { plain };
    let reader = Box::new(Cursor::new(head.clone()).chain(reader));
    let reader = Box::new(Counted { inner: reader, counters: Arc::clone(counters), raw: false });
    Ok(Opened { reader, head, file })
}

fn is_skippable(magic: &[u8]) -> bool {
    matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

fn peek(reader: &mut dyn Read, bytes: usize) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(bytes);
    reader.take(bytes as u64).read_to_end(&mut head)?;
    Ok(head)
}

struct Counted<R> {
    inner: R,
    counters: Arc<Counters>,
    raw: bool,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let counter = if self.raw { &self.counters.raw } else { &self.counters.text };
        counter.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
