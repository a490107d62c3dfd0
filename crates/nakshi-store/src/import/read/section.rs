//! Sections: the lines that begin in a part of a plain text file.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::blocks::Blocks;
use super::edge_list::EdgeList;
use super::open::Opened;
use super::task::{Feed, ParseTask};
use super::{adjacency_lists, header, parsed};
use crate::import::{Format, ImportOptions};
use crate::{Error, Result};

/// Bytes read at a time in search of a line end.
const PIECE: usize = 64 << 10;

/// One of several equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the part, from 0.
    pub number: usize,
    /// Number of parts.
    pub of: usize,
}

impl Share {
    /// Returns the beginning and the end of this part of `range`.
    pub(crate) fn within(self, range: std::ops::Range<u64>) -> std::ops::Range<u64> {
        let len = u128::from(range.end.saturating_sub(range.start));
        // Lossless: at most the length of the range.
        let at = |k: usize| range.start + (len * k as u128 / self.of.max(1) as u128) as u64;
        at(self.number)..at(self.number + 1)
    }
}

/// Sets up the reader of a share of a file's lines. The columns detected from the file's first
/// lines hold for all shares.
pub(crate) fn section<'a>(
    path: &Path,
    (opened, file): (Opened<'_>, File),
    format: Format,
    options: &ImportOptions,
    share: Share,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let failed = |source| Error::io("read", path, source);
    let lists = matches!(format, Format::Adjacency | Format::InAdjacency);
    let file = Arc::new(file);
    let mut begin = if opened.head.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut parser = None;
    if !lists {
        let mut first = Blocks::new(path, opened.reader).next()?;
        let length = |block: &Option<_>| block.as_ref().map_or(0, text_length);
        let before = length(&first);
        let graphalytics = ImportOptions { header: Some(false), columns: None, ..options.clone() };
        let options = if format == Format::Graphalytics { &graphalytics } else { options };
        parser = Some(header::edge_list(path, options, first.as_mut())?.0);
        begin += before - length(&first);
    }
    let len = file.metadata().map_err(failed)?.len();
    let part = share.within(begin..len.max(begin));
    let start = line_start(&file, part.start, begin).map_err(failed)?;
    let end = line_start(&file, part.end, begin).map_err(failed)?;
    let lines = Box::new(SectionLines { file: Arc::clone(&file), at: start, end });
    let mut feed = match parser {
        Some(parser) => parsed(None, Blocks::new(path, lines), parser, EdgeList::parse),
        None => adjacency_lists(path, lines, format, options)?,
    };
    Ok(Box::new(move || {
        let next = feed.next().map_err(|error| located(error, &file, start))?;
        let file = Arc::clone(&file);
        let task = |task: ParseTask<'a>| -> ParseTask<'a> {
            Box::new(move |batch| task(batch).map_err(|error| located(error, &file, start)))
        };
        Ok(next.map(task))
    }))
}

fn text_length(block: &super::TextBlock) -> u64 {
    block.text.len() as u64
}

/// Returns the beginning of the first line that begins at `at` or later; the first line of all
/// begins at `begin`.
fn line_start(file: &File, at: u64, begin: u64) -> io::Result<u64> {
    if at <= begin {
        return Ok(begin);
    }
    let mut from = at - 1;
    let mut piece = vec![0; PIECE];
    loop {
        let read = read_at(file, &mut piece, from)?;
        let read = piece.get(..read).unwrap_or_default();
        match memchr::memchr(b'\n', read) {
            Some(end) => return Ok(from + end as u64 + 1),
            None if read.is_empty() => return Ok(from),
            None => from += read.len() as u64,
        }
    }
}

fn read_at(file: &File, piece: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(piece, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Changes the line number in an error from one within the section to one within the file.
fn located(error: Error, file: &File, start: u64) -> Error {
    let Error::Input { file: path, line, what } = error else { return error };
    let (mut at, mut before, mut last, mut piece) = (0, 0, 0, vec![0; PIECE]);
    while at < start {
        let most = (start - at).min(PIECE as u64) as usize;
        let Ok(read @ 1..) = read_at(file, piece.get_mut(..most).unwrap_or_default(), at) else {
            break;
        };
        for &byte in piece.get(..read).unwrap_or_default() {
            // Line ends as in blocks of text: LF, CRLF or CR alone.
            before += u64::from(byte == b'\r' || byte == b'\n' && last != b'\r');
            last = byte;
        }
        at += read as u64;
    }
    Error::Input { file: path, line: before + line, what }
}

/// The bytes of a file from one line to another.
struct SectionLines {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for SectionLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.end.saturating_sub(self.at).min(buffer.len() as u64) as usize;
        let read = self.file.read_at(buffer.get_mut(..most).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
