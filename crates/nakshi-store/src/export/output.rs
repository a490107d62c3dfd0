//! Output files: compressed by their name, and absent unless complete.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use nakshi_io::{CancelToken, StandardOutput};

use crate::{Error, Result};

enum Compressor {
    Plain(Box<dyn Write + Send>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

/// A file that is written but not yet renamed, and the number of its edges.
pub(super) type FinishedOutput = (OutputFile, u64);

/// An output file that appears under its name once it is finished.
pub struct OutputFile {
    encoder: Option<Compressor>,
    path: PathBuf,
    partial: Option<PathBuf>,
}

impl OutputFile {
    /// Opens `path` for writing; `-` is standard output, whose reader may be slow until `cancel` is
    /// cancelled.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a path that names no file; the errors of creating it.
    pub fn create(path: &Path, cancel: &CancelToken) -> Result<Self> {
        if path.as_os_str() == "-" {
            let output =
                StandardOutput::new(cancel).map_err(|source| Error::io("write", path, source))?;
            let encoder = Compressor::Plain(Box::new(BufWriter::with_capacity(1 << 18, output)));
            return Ok(Self { encoder: Some(encoder), path: path.into(), partial: None });
        }
        let name = path
            .file_name()
            .ok_or_else(|| Error::Invalid(format!("{} names no file", path.display())))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".partial");
        let partial = path.with_file_name(hidden);
        let failed = |source| Error::io("create", &partial, source);
        let file = BufWriter::with_capacity(1 << 20, File::create(&partial).map_err(failed)?);
        let encoder = match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => {
                Compressor::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::fast()))
            }
            Some("zst") => {
                Compressor::Zstd(zstd::stream::write::Encoder::new(file, 3).map_err(failed)?)
            }
            _ => Compressor::Plain(Box::new(file)),
        };
        Ok(Self { encoder: Some(encoder), path: path.into(), partial: Some(partial) })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Write errors.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|source| Error::io("write", &self.path, source))
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// Write errors.
    pub fn finish(mut self) -> Result<()> {
        let failed = |source| Error::io("write", &self.path, source);
        match self.encoder.take() {
            Some(Compressor::Plain(mut file)) => file.flush().map_err(failed)?,
            Some(Compressor::Gzip(encoder)) => {
                encoder.finish().and_then(|mut file| file.flush()).map_err(failed)?
            }
            Some(Compressor::Zstd(encoder)) => {
                encoder.finish().and_then(|mut file| file.flush()).map_err(failed)?
            }
            None => {}
        }
        if let Some(partial) = self.partial.take() {
            std::fs::rename(&partial, &self.path)
                .map_err(|source| Error::io("rename", &self.path, source))?;
        }
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.encoder {
            Some(Compressor::Plain(file)) => file.write(bytes),
            Some(Compressor::Gzip(encoder)) => encoder.write(bytes),
            Some(Compressor::Zstd(encoder)) => encoder.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.encoder {
            Some(Compressor::Plain(file)) => file.flush(),
            Some(Compressor::Gzip(encoder)) => encoder.flush(),
            Some(Compressor::Zstd(encoder)) => encoder.flush(),
            None => Ok(()),
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            self.encoder = None;
            // The caller gets the earlier error.
            let _ = std::fs::remove_file(partial);
        }
    }
}
