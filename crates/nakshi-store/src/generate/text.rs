//! The writer of generated graphs as edge lists in text.

use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

use nakshi_io::run_beside;

use super::Generator;
use crate::export::OutputFile;
use crate::hooks::{Hooks, Progress};
use crate::{Error, Result};

/// Writes `source<TAB>target` lines to `path`, compressed if it ends in `.gz` or `.zst`; `-` is
/// standard output. Returns the number of edges. A failed write leaves no file.
///
/// # Errors
/// [`Error::Io`], [`Error::Cancelled`].
pub fn write(generator: &dyn Generator, path: &Path, threads: usize, hooks: &Hooks) -> Result<u64> {
    let mut output = OutputFile::create(path, &hooks.cancel)?;
    let edges = write_pieces(generator, &mut output, threads, hooks)?;
    output.finish()?;
    Ok(edges)
}

/// Returns the number of threads, at most `threads`, that [`write()`] may use with a memory of the
/// given size; all if none is given.
///
/// # Errors
/// [`Error::Budget`] if not even one may run.
pub fn affordable_threads(
    generator: &dyn Generator,
    threads: usize,
    memory: Option<u64>,
) -> Result<usize> {
    let Some(memory) = memory else { return Ok(threads) };
    // An edge takes 16 bytes, and up to 42 in each of the texts that are being made, wait, or are
    // being written; vectors grow by doubling.
    let piece = generator.expected_edges().div_ceil(generator.pieces().max(1));
    let worker = piece.saturating_mul(2 * (16 + 3 * 42)).saturating_add(1 << 20);
    let room = memory.saturating_sub(generator.memory());
    match usize::try_from(room / worker).unwrap_or(usize::MAX) {
        0 => {
            Err(Error::Budget { needed: worker.saturating_add(generator.memory()), given: memory })
        }
        affordable => Ok(threads.min(affordable)),
    }
}

/// Computes and formats pieces in parallel, and writes them in order.
fn write_pieces(
    generator: &dyn Generator,
    output: &mut OutputFile,
    threads: usize,
    hooks: &Hooks,
) -> Result<u64> {
    let threads = threads.max(1);
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..threads)
        .map(|_| sync_channel(1))
        .map(|(sender, receiver)| (Mutex::new(Some(sender)), receiver))
        .unzip();
    let generate = |first: usize| -> Result<()> {
        let sender = senders.get(first);
        // A generating thread owns its sender, so the writer notices when the thread ends.
        let sender = sender.and_then(|s| s.lock().unwrap_or_else(PoisonError::into_inner).take());
        let sender = sender.ok_or(Error::Abandoned)?;
        let mut edges = Vec::new();
        for number in (first as u64..generator.pieces()).step_by(threads) {
            edges.clear();
            generator.piece(number, &mut edges);
            if sender.send((edges.len() as u64, format(&edges))).is_err() {
                break;
            }
        }
        Ok(())
    };
    let write = || {
        let receivers = receivers;
        let (mut edges, total) = (0, Some(generator.expected_edges()));
        for (_, receiver) in (0..generator.pieces()).zip(receivers.iter().cycle()) {
            hooks.check()?;
            // A generating thread ends early only by a panic, which is reported.
            let (count, text) = receiver.recv().map_err(|_| Error::Abandoned)?;
            output.put(&text)?;
            edges += count;
            hooks.tell(Progress { phase: "generate", done: edges, total, edges });
        }
        Ok(edges)
    };
    run_beside(threads, write, generate).map(|(edges, _)| edges)
}

fn format(edges: &[[u64; 2]]) -> Vec<u8> {
    let mut text = Vec::with_capacity(edges.len() * 16);
    let mut digits = [0; 20];
    for [source, target] in edges {
        text.extend_from_slice(crate::decimal::decimal(*source, &mut digits));
        text.push(b'\t');
        text.extend_from_slice(crate::decimal::decimal(*target, &mut digits));
        text.push(b'\n');
    }
    text
}
