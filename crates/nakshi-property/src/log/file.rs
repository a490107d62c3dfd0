//! Log files: a header, then one frame for each commit.
//!
//! A writer never appends to a file of another writer. It begins the next file, whose header says
//! how many bytes of the file before are valid. Whatever a crash has left behind those bytes is
//! never read.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nakshi_io::CancelToken;

use super::decoder;
use super::op::{self, Change, TransactionMark};
use nakshi_store::files::crc32c;
use nakshi_store::files::{Uuid, manifest_name};
use nakshi_store::{Error, Result};

/// First bytes of a log file, without its version.
const MAGIC: &[u8; 5] = b"NKLOG";
/// The version that is written: 1 has no marks of transactions.
const VERSION: u32 = 2;
/// Length of a file header: magic and version, store, generation, number, valid bytes of the file before, first
/// commit, checksum.
pub(super) const HEADER: usize = 8 + 16 + 4 * 8 + 4;
/// First bytes of a frame, for which the reader searches behind damage.
const FRAME: &[u8; 4] = b"NKcm";
/// Length of a frame header: mark, checksum, bytes of changes, commit, and the bytes of the file
/// that were durable when the frame was written.
const FRAME_HEADER: usize = 4 + 4 + 4 + 8 + 8;
/// Most bytes of changes in a commit.
pub(super) const MOST: usize = 1 << 30;
/// Bytes of a log file that are in memory at a time, unless a single change is larger.
const PIECE: usize = 1 << 20;

/// One of the log files of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogPlace {
    /// The generation of the manifest whose files the log changes.
    pub(super) generation: u64,
    /// Number of the log file in that generation, from 0.
    pub(super) number: u64,
}

impl LogPlace {
    /// Name of the file.
    pub(super) fn name(self) -> String {
        name(self.generation, self.number)
    }

    /// The file of this name; `None` for a name of other files.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let (generation, number) =
            name.strip_prefix("log-")?.strip_suffix(".wal")?.split_once('.')?;
        Some(LogPlace { generation: generation.parse().ok()?, number: number.parse().ok()? })
    }

    /// The file after this one.
    pub(super) fn next(self) -> Self {
        LogPlace { number: self.number + 1, ..self }
    }
}

/// Header of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogHeader {
    pub(super) version: u32,
    pub(super) store: Uuid,
    pub(super) place: LogPlace,
    /// Valid bytes of the log file before.
    pub(super) previous: u64,
    /// Number of the first commit in the file.
    pub(super) first: u64,
}

impl LogHeader {
    /// The header of a new log file.
    pub(super) fn new(store: Uuid, place: LogPlace, previous: u64, first: u64) -> Self {
        LogHeader { version: VERSION, store, place, previous, first }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], format!("{:03}", self.version).as_bytes()].concat();
        bytes.extend_from_slice(&self.store);
        let LogPlace { generation, number } = self.place;
        for number in [generation, number, self.previous, self.first] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let sum = crc32c(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes a header; `None` for a header that was not written whole.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.get(..HEADER)?.split_last_chunk::<4>()?;
        let (version, rest) = body.strip_prefix(MAGIC)?.split_first_chunk::<3>()?;
        let version = std::str::from_utf8(version).ok()?.parse().ok()?;
        let (store, numbers) = rest.split_first_chunk::<16>()?;
        let numbers: [[u8; 8]; 4] = numbers.as_chunks().0.try_into().ok()?;
        let [generation, number, previous, first] = numbers.map(u64::from_le_bytes);
        let same = crc32c(body) == u32::from_le_bytes(*sum);
        same.then_some(LogHeader {
            version,
            store: *store,
            place: LogPlace { generation, number },
            previous,
            first,
        })
    }
}

/// Appends the frame of a commit.
pub(super) fn put_frame(
    header: &LogHeader,
    commit: u64,
    durable: u64,
    changes: &[u8],
    out: &mut Vec<u8>,
) {
    let from = out.len();
    out.extend_from_slice(FRAME);
    out.extend_from_slice(&[0; 4]);
    // The writer has checked the length against MOST.
    out.extend_from_slice(&(changes.len() as u32).to_le_bytes());
    out.extend_from_slice(&commit.to_le_bytes());
    out.extend_from_slice(&durable.to_le_bytes());
    out.extend_from_slice(changes);
    let mut sum = begin_sum(header);
    sum.update(out.get(from + 8..).unwrap_or_default());
    let sum = end_sum(&sum);
    if let Some(place) = out.get_mut(from + 4..from + 8) {
        place.copy_from_slice(&sum.to_le_bytes());
    }
}

/// Starts a checksum with the identity of the file, so that a frame of another file has a wrong
/// one.
fn begin_sum(header: &LogHeader) -> crc_fast::Digest {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&header.store);
    digest.update(&header.place.generation.to_le_bytes());
    digest.update(&header.place.number.to_le_bytes());
    digest
}

fn end_sum(digest: &crc_fast::Digest) -> u32 {
    // A CRC-32 fits 32 bits.
    (digest.finalize() & 0xffff_ffff) as u32
}

/// A commit in a log file, with a verified checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) commit: u64,
    durable: u64,
    /// Range of the bytes of its changes.
    pub(super) changes: Range<u64>,
}

impl Frame {
    /// Number of bytes of changes.
    pub(super) fn bytes(&self) -> u64 {
        self.changes.end - self.changes.start
    }
}

/// Decodes a frame header: commit, durable bytes, bytes of changes, checksum.
fn frame_header(bytes: &[u8]) -> Option<(u64, u64, usize, u32)> {
    let body = bytes.strip_prefix(FRAME)?;
    let (stated, body) = body.split_first_chunk::<4>()?;
    let (len, numbers) = body.split_first_chunk::<4>()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok().filter(|len| *len <= MOST)?;
    let (commit, numbers) = numbers.split_first_chunk::<8>()?;
    let (durable, _) = numbers.split_first_chunk::<8>()?;
    Some((
        u64::from_le_bytes(*commit),
        u64::from_le_bytes(*durable),
        len,
        u32::from_le_bytes(*stated),
    ))
}

/// A log file, a piece of which is in memory.
#[derive(Debug)]
pub(super) struct LogFile {
    pub(super) header: LogHeader,
    page_size: u32,
    window: ReadWindow,
}

/// Generation and number of the log file of a name; `None` for a name of other files.
pub(in super::super) fn place(name: &str) -> Option<(u64, u64)> {
    LogPlace::of_name(name).map(|place| (place.generation, place.number))
}

/// Name of a log file.
pub(in super::super) fn name(generation: u64, number: u64) -> String {
    format!("log-{generation}.{number}.wal")
}

/// Opens a log file; `None` if no writer has begun it. `manifest` is the generation of the manifest.
///
/// # Errors
/// An error of kind `NotFound` if a compaction has removed the log: a compaction removes the
/// manifest before the log, so the commits are in other files by then. Errors of opening.
pub(super) fn open(dir: &Path, place: LogPlace, manifest: u64) -> Result<Option<File>> {
    let path = dir.join(place.name());
    match File::open(&path) {
        Ok(file) => Ok(Some(file)),
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound
                && dir.join(manifest_name(manifest)).exists() =>
        {
            Ok(None)
        }
        Err(error) => Err(Error::io("read", &path, error)),
    }
}

impl LogFile {
    /// Opens a log file; `None` if there is none, or if its header was not written whole.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a log of another store; errors of [`open()`] and of reading.
    pub(super) fn read(
        dir: &Path,
        store: &Uuid,
        page_size: u32,
        place: LogPlace,
        manifest: u64,
        cancel: &CancelToken,
    ) -> Result<Option<Self>> {
        let path = dir.join(place.name());
        let Some(file) = open(dir, place, manifest)? else { return Ok(None) };
        let mut window = ReadWindow::new(file, path, cancel);
        let Some(header) = LogHeader::decode(window.get(0, HEADER)?) else {
            // A commit is acknowledged only after the header before it is durable, so this is
            // damage.
            if window.marks_until(0, |_, _| Ok(true))? {
                let what = "its header does not decode".to_owned();
                return Err(Error::Corrupt { file: window.path, page: 0, what });
            }
            return Ok(None);
        };
        let path = &window.path;
        if header.version > VERSION {
            let path = window.path;
            return Err(Error::Incompatible { path, found: header.version, supported: VERSION });
        }
        if header.store != *store {
            return Err(Error::Foreign {
                path: path.clone(),
                what: "the log of another store".into(),
            });
        }
        if header.place != place {
            let what = "its name is that of another file".into();
            return Err(Error::Foreign { path: path.clone(), what });
        }
        Ok(Some(LogFile { header, page_size, window }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.window.path
    }

    /// Reads the commit that begins at byte `at`; `None` at the end of the log. `until` is the
    /// number of valid bytes, if a later file states it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Truncated`] if durable bytes do not decode.
    pub(super) fn next(&mut self, at: u64, until: Option<u64>) -> Result<Option<Frame>> {
        let frame = self.window.frame(&self.header, at)?;
        let frame = frame.filter(|frame| until.is_none_or(|until| frame.changes.end <= until));
        match (&frame, until) {
            (Some(_), _) => return Ok(frame),
            (None, Some(until)) if at < until => {
                let found = self.window.len()?;
                if found < until {
                    let file = self.path().to_path_buf();
                    return Err(Error::Truncated { file, expected: until, found });
                }
            }
            (None, None) if self.was_durable(at)? => {
                // Since the frame was read, a writer may have completed it and written more behind
                // it.
                self.window.forget();
                if let Some(frame) = self.window.frame(&self.header, at)? {
                    return Ok(Some(frame));
                }
            }
            (None, _) => return Ok(None),
        }
        let what = format!("a commit that was durable does not decode at byte {at}");
        Err(self.corrupt(at, what))
    }

    /// The bytes of a range that frames cover.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Corrupt`] if the file ends before them.
    pub(super) fn bytes(&mut self, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        let mut at = range.start;
        while at < range.end {
            let part = self.window.get(at, 1)?;
            let part = part.get(..part.len().min((range.end - at) as usize)).unwrap_or_default();
            if part.is_empty() {
                return Err(self.corrupt(range.start, op::BAD.to_owned()));
            }
            at += part.len() as u64;
            out.extend_from_slice(part);
        }
        Ok(())
    }

    /// Reads the changes of a commit one by one.
    pub(super) fn changes(&mut self, frame: &Frame) -> Result<Changes<'_>> {
        Changes::begin(self, frame.changes.clone())
    }

    fn corrupt(&self, at: u64, what: String) -> Error {
        let page = at / u64::from(self.page_size.max(1));
        Error::Corrupt { file: self.path().to_path_buf(), page, what }
    }

    /// Returns true if a whole frame behind `at` states that the bytes up to `at` were durable.
    /// Bytes that a crash has torn off have no such frame behind them.
    fn was_durable(&mut self, at: u64) -> Result<bool> {
        let header = self.header;
        self.window.marks_until(at, |window, place| {
            let later = window.frame(&header, place)?;
            Ok(later.is_some_and(|later| later.durable > at))
        })
    }
}

/// The changes of a commit, read from the log one by one.
#[derive(Debug)]
pub(in super::super) struct Changes<'f> {
    file: &'f mut LogFile,
    /// Bytes that are not decoded yet.
    rest: Range<u64>,
    all: Range<u64>,
    mark: Option<TransactionMark>,
    left: u64,
}

impl<'f> Changes<'f> {
    fn begin(file: &'f mut LogFile, all: Range<u64>) -> Result<Self> {
        let mut changes = Changes { file, rest: all.clone(), all, mark: None, left: 0 };
        if changes.file.header.version > 1 {
            changes.mark = changes.decode(decoder::mark)?;
        }
        changes.left = changes.decode(decoder::count)?;
        Ok(changes)
    }

    /// The transaction that made the commit; `None` if it was none.
    pub(in super::super) fn mark(&self) -> Option<TransactionMark> {
        self.mark
    }

    /// Bytes of the commit.
    pub(in super::super) fn bytes(&self) -> u64 {
        self.all.end - self.all.start
    }

    /// The next change; `None` behind the last.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are no change; errors of reading; [`Error::Cancelled`].
    pub(in super::super) fn next(&mut self) -> Result<Option<Change>> {
        if self.left == 0 {
            let whole = self.rest.is_empty();
            return if whole { Ok(None) } else { Err(self.bad()) };
        }
        self.left -= 1;
        self.decode(decoder::change).map(Some)
    }

    /// The commit, encoded as new logs have it, no matter how many of its changes were read.
    ///
    /// # Errors
    /// Errors of reading.
    pub(in super::super) fn encoded(&mut self) -> Result<Vec<u8>> {
        // At most MOST.
        let mut bytes = Vec::with_capacity(self.bytes() as usize + 1);
        if self.file.header.version == 1 {
            op::put_mark(None, &mut bytes);
        }
        self.file.bytes(self.all.clone(), &mut bytes)?;
        Ok(bytes)
    }

    /// Applies `read` to the next bytes; `read` returns its result and the number of bytes that it
    /// took.
    fn decode<T>(&mut self, read: impl Fn(&[u8]) -> Option<(T, usize)>) -> Result<T> {
        let mut wanted = 1;
        loop {
            let left = self.rest.end - self.rest.start;
            let there = self.file.window.get(self.rest.start, wanted)?;
            let there = there.get(..there.len().min(left as usize)).unwrap_or_default();
            if let Some((found, taken)) = read(there) {
                self.rest.start += taken as u64;
                return Ok(found);
            }
            if there.len() as u64 >= left || there.len() < wanted {
                return Err(self.bad());
            }
            wanted = (there.len() * 2).max(PIECE).min(left as usize);
        }
    }

    fn bad(&self) -> Error {
        self.file.corrupt(self.all.start, op::BAD.to_owned())
    }
}

/// A piece of a file in memory, which moves over the file.
#[derive(Debug)]
struct ReadWindow {
    file: File,
    path: PathBuf,
    cancel: CancelToken,
    at: u64,
    bytes: Vec<u8>,
}

impl ReadWindow {
    fn new(file: File, path: PathBuf, cancel: &CancelToken) -> Self {
        ReadWindow { file, path, cancel: cancel.clone(), at: 0, bytes: Vec::new() }
    }

    fn len(&self) -> Result<u64> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|error| Error::io("read", &self.path, error))?.len())
    }

    /// At least `least` bytes from `at` on; fewer only at the end of the file.
    fn get(&mut self, at: u64, least: usize) -> Result<&[u8]> {
        let end = self.at + self.bytes.len() as u64;
        if at < self.at || at.saturating_add(least as u64) > end {
            self.fill(at, least.max(PIECE))?;
        }
        Ok(self.bytes.get((at - self.at) as usize..).unwrap_or_default())
    }

    fn fill(&mut self, at: u64, len: usize) -> Result<()> {
        self.cancel.check()?;
        self.forget();
        if self.bytes.capacity() > len.max(2 * PIECE) {
            self.bytes = Vec::new();
        }
        self.at = at;
        self.bytes.resize(len, 0);
        let mut read = 0;
        while let Some(rest) = self.bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, at + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.path, error)),
            }
        }
        self.bytes.truncate(read);
        Ok(())
    }

    /// Drops the piece, so that the next bytes are read anew.
    fn forget(&mut self) {
        self.bytes.clear();
    }

    /// Reads the frame at a byte; `None` if it is not whole or its checksum is wrong.
    fn frame(&mut self, header: &LogHeader, at: u64) -> Result<Option<Frame>> {
        let Some((commit, durable, len, stated)) = frame_header(self.get(at, FRAME_HEADER)?) else {
            return Ok(None);
        };
        let begin = at + FRAME_HEADER as u64;
        let changes = begin..begin + len as u64;
        if FRAME_HEADER + len <= PIECE {
            // Read in one piece, so that the changes need no second read.
            self.get(at, FRAME_HEADER + len)?;
        }
        let (mut sum, mut from) = (begin_sum(header), at + 8);
        while from < changes.end {
            let wanted = PIECE.min((changes.end - from) as usize);
            let Some(bytes) = self.get(from, wanted)?.get(..wanted) else { return Ok(None) };
            sum.update(bytes);
            from += wanted as u64;
        }
        Ok((end_sum(&sum) == stated).then_some(Frame { commit, durable, changes }))
    }

    /// Hands every offset from `at` on with the mark of a frame to `found`, until `found` returns
    /// true. Returns whether it did.
    fn marks_until(
        &mut self,
        mut at: u64,
        mut found: impl FnMut(&mut Self, u64) -> Result<bool>,
    ) -> Result<bool> {
        loop {
            let bytes = self.get(at, PIECE)?;
            let (len, last) = (bytes.len(), bytes.len() < PIECE);
            let places: Vec<usize> = memchr::memmem::find_iter(bytes, FRAME).collect();
            for place in places {
                if found(self, at + place as u64)? {
                    return Ok(true);
                }
            }
            if last {
                return Ok(false);
            }
            // A mark may lie across the end of a piece.
            at += (len - (FRAME.len() - 1)) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: LogHeader = LogHeader {
        version: VERSION,
        store: [7; 16],
        place: LogPlace { generation: 1, number: 0 },
        previous: 0,
        first: 1,
    };

    /// A log of three groups: of two commits, one and one.
    fn log() -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (HEAD.encode(), Vec::new());
        for group in [vec![1, 2], vec![3], vec![4]] {
            let durable = bytes.len() as u64;
            for commit in group {
                put_frame(&HEAD, commit, durable, &[commit as u8; 40], &mut bytes);
                ends.push(bytes.len());
            }
        }
        (bytes, ends)
    }

    fn file(bytes: &[u8]) -> LogFile {
        of(HEAD, bytes)
    }

    fn of(header: LogHeader, bytes: &[u8]) -> LogFile {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(bytes, 0).unwrap();
        let window = ReadWindow::new(file, PathBuf::from("log"), &CancelToken::new());
        LogFile { header, page_size: 4096, window }
    }

    fn frames(mut file: LogFile, until: Option<u64>) -> Result<Vec<Frame>> {
        let (mut at, mut found) = (HEADER as u64, Vec::new());
        while let Some(frame) = file.next(at, until)? {
            at = frame.changes.end;
            found.push(frame);
        }
        Ok(found)
    }

    #[test]
    fn every_byte_of_what_was_durable_counts() {
        let (bytes, ends) = log();
        for at in HEADER..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x40;
            let found = frames(file(&bytes), None);
            // Damage of the last group cannot be told from a torn write.
            match at < ends[2] {
                true => assert!(matches!(found, Err(Error::Corrupt { .. })), "byte {at}"),
                false => assert_eq!(found.unwrap().len(), 3, "byte {at}"),
            }
        }
    }

    /// Seen red with `was_durable` that asks only whether a later frame is whole.
    #[test]
    fn a_torn_group_is_no_damage() {
        let (mut bytes, ends) = log();
        // Power fails while the first group is written: its second frame has arrived, its first has
        // not.
        bytes.truncate(ends[1]);
        bytes[HEADER + 30] ^= 1;
        assert_eq!(frames(file(&bytes), None).unwrap(), []);
    }

    #[test]
    fn a_log_may_end_anywhere() {
        let (bytes, ends) = log();
        for end in HEADER..bytes.len() {
            let whole = ends.iter().filter(|whole| **whole <= end).count();
            assert_eq!(frames(file(&bytes[..end]), None).unwrap().len(), whole);
            let asked = frames(file(&bytes[..end]), Some(ends[3] as u64));
            assert!(matches!(asked, Err(Error::Truncated { .. })));
        }
    }

    #[test]
    fn frames_of_other_files_do_not_pass() {
        let (bytes, _) = log();
        let other = LogHeader { place: HEAD.place.next(), ..HEAD };
        assert_eq!(frames(of(other, &bytes), None).unwrap(), []);
    }

    /// Seen red with every missing log taken for one that is not begun.
    #[test]
    fn a_log_that_was_removed_is_not_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(manifest_name(3)), "").unwrap();
        assert!(open(dir.path(), LogPlace { generation: 3, number: 0 }, 3).unwrap().is_none());
        let gone = open(dir.path(), LogPlace { generation: 2, number: 0 }, 2).unwrap_err();
        assert!(matches!(&gone, Error::Io { source, .. }
            if source.kind() == std::io::ErrorKind::NotFound));
    }

    fn update(id: u64, len: usize) -> Change {
        let name = super::super::super::value::Value::String("x".repeat(len));
        let properties = vec![("name".to_owned(), name)];
        Change::UpdateNode { id: nakshi_store::ExternalId::U64(id), properties, merge: true }
    }

    /// A log far longer than a piece has changes across the ends of pieces, and one change that is
    /// longer than two pieces. Seen red with pieces that reach to the end of the file.
    #[test]
    fn a_long_log_is_read_in_pieces() {
        let sizes = |commit: u64| match commit {
            3 => vec![2 * PIECE + 77],
            _ => (0..40).map(|i| 1 + i * 977 % 60_000).collect(),
        };
        let mut bytes = HEAD.encode();
        for commit in 1..=12 {
            let changes: Vec<Change> =
                sizes(commit).into_iter().map(|len| update(commit, len)).collect();
            let (mut encoded, durable) = (op::EncodedChanges::default(), bytes.len() as u64);
            changes.iter().for_each(|change| encoded.push(change));
            put_frame(&HEAD, commit, durable, &encoded.finish(None), &mut bytes);
        }
        assert!(bytes.len() > 8 * PIECE);
        let (mut log, mut at) = (file(&bytes), HEADER as u64);
        for commit in 1..=12 {
            let frame = log.next(at, None).unwrap().unwrap();
            at = frame.changes.end;
            let mut changes = log.changes(&frame).unwrap();
            for len in sizes(commit) {
                assert_eq!(changes.next().unwrap(), Some(update(commit, len)));
                let most = if commit == 3 { 5 * PIECE } else { 2 * PIECE };
                assert!(changes.file.window.bytes.capacity() <= most);
            }
            assert_eq!(changes.next().unwrap(), None);
            assert_eq!(changes.encoded().unwrap().len() as u64, frame.bytes());
        }
        assert_eq!(log.next(at, None).unwrap(), None);
        assert!(log.window.bytes.capacity() <= 2 * PIECE);
    }

    /// Seen red without a check of the token where a piece is read.
    #[test]
    fn reading_stops_when_it_is_cancelled() {
        let mut bytes = HEAD.encode();
        put_frame(&HEAD, 1, HEADER as u64, &vec![7; 3 * PIECE], &mut bytes);
        let mut file = file(&bytes);
        file.window.cancel.cancel();
        assert!(matches!(file.next(HEADER as u64, None), Err(Error::Cancelled)));
    }

    #[test]
    fn headers_survive_their_bytes() {
        assert_eq!(LogHeader::decode(&HEAD.encode()), Some(HEAD));
        for at in 0..HEADER {
            let mut bytes = HEAD.encode();
            bytes[at] ^= 1;
            assert_eq!(LogHeader::decode(&bytes), None);
        }
    }
}
