//! Writes generated graphs as edge lists in text.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::sync_channel;

use super::Generator;
use crate::import::{Hooks, Progress};
use crate::{Error, Result};

/// Writes `source<TAB>target` lines to `path`, compressed if it ends in `.gz` or `.zst`; `-` is
/// standard output. Returns the number of edges. A failed write leaves no file.
///
/// # Errors
/// [`Error::Io`], [`Error::Cancelled`].
pub fn write(generator: &dyn Generator, path: &Path, threads: usize, hooks: &Hooks) -> Result<u64> {
    if path.as_os_str() == "-" {
        return write_pieces(generator, path, &mut std::io::stdout().lock(), threads, hooks);
    }
    let failed = |op, source| Error::io(op, path, source);
    let file = File::create(path).map_err(|source| failed("create", source))?;
    let written =
        write_file(generator, path, BufWriter::with_capacity(1 << 20, file), threads, hooks);
    if written.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(path);
    }
    written
}

fn write_file(
    generator: &dyn Generator,
    path: &Path,
    file: BufWriter<File>,
    threads: usize,
    hooks: &Hooks,
) -> Result<u64> {
    let failed = |source| Error::io("write", path, source);
    let (edges, mut file) = match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => {
            let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            (
                write_pieces(generator, path, &mut encoder, threads, hooks)?,
                encoder.finish().map_err(failed)?,
            )
        }
        Some("zst") => {
            let mut encoder = zstd::stream::write::Encoder::new(file, 3).map_err(failed)?;
            (
                write_pieces(generator, path, &mut encoder, threads, hooks)?,
                encoder.finish().map_err(failed)?,
            )
        }
        _ => {
            let mut file = file;
            (write_pieces(generator, path, &mut file, threads, hooks)?, file)
        }
    };
    file.flush().map_err(failed)?;
    Ok(edges)
}

/// Computes and formats pieces side by side, and writes them in order.
fn write_pieces(
    generator: &dyn Generator,
    path: &Path,
    out: &mut dyn Write,
    threads: usize,
    hooks: &Hooks,
) -> Result<u64> {
    let threads = threads.max(1) as u64;
    std::thread::scope(|scope| {
        let mut receivers = Vec::new();
        for first in 0..threads {
            let (sender, receiver) = sync_channel(1);
            receivers.push(receiver);
            scope.spawn(move || {
                let mut edges = Vec::new();
                for number in
                    (first..generator.pieces()).step_by(usize::try_from(threads).unwrap_or(1))
                {
                    edges.clear();
                    generator.piece(number, &mut edges);
                    if sender.send((edges.len() as u64, format(&edges))).is_err() {
                        return;
                    }
                }
            });
        }
        let receivers = receivers;
        let (mut edges, total) = (0, Some(generator.expected_edges()));
        for (_, receiver) in (0..generator.pieces()).zip(receivers.iter().cycle()) {
            hooks.check()?;
            let piece = receiver.recv();
            let (count, text) = piece.map_err(|_| {
                Error::Invalid("a generating thread panicked; please report it".into())
            })?;
            out.write_all(&text).map_err(|source| Error::io("write", path, source))?;
            edges += count;
            hooks.tell(Progress { phase: "generate", done: edges, total, edges });
        }
        Ok(edges)
    })
}

fn format(edges: &[[u64; 2]]) -> Vec<u8> {
    let mut text = Vec::with_capacity(edges.len() * 16);
    let mut digits = [0; 20];
    for [source, target] in edges {
        text.extend_from_slice(crate::import::decimal(*source, &mut digits));
        text.push(b'\t');
        text.extend_from_slice(crate::import::decimal(*target, &mut digits));
        text.push(b'\n');
    }
    text
}
