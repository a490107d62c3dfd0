//! Files of the log: a header, then one frame for each commit.
//!
//! A writer never goes on with a file that another one left. It begins the next, whose header says how
//! much of the one before counts; what was torn off behind it is never read again.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nakshi_io::CancelToken;

use super::op::{self, Change};
use nakshi_store::files::crc32c;
use nakshi_store::files::{Uuid, manifest_name};
use nakshi_store::{Error, Result};

/// First bytes of a log file.
const MAGIC: &[u8; 8] = b"NKLOG001";
/// Magic, store, generation, number, bytes of the file before that count, first commit, checksum.
pub(super) const HEADER: usize = 8 + 16 + 4 * 8 + 4;
/// First bytes of a frame: what is searched for behind damage.
const FRAME: &[u8; 4] = b"NKcm";
/// Mark, checksum, bytes of changes, commit, bytes of the file that were durable when it was written.
const FRAME_HEADER: usize = 4 + 4 + 4 + 8 + 8;
/// Bytes of changes that a commit has at most.
pub(super) const MOST: usize = 1 << 30;
/// Bytes of a log file that are in memory at once, unless a single change is larger.
const PIECE: usize = 1 << 20;

/// What a log file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) store: Uuid,
    /// The manifest whose files it changes.
    pub(super) generation: u64,
    /// Its number among the log files of that generation, from 0.
    pub(super) number: u64,
    /// Bytes of the file before it that count.
    pub(super) previous: u64,
    /// The number of its first commit.
    pub(super) first: u64,
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.store);
        for number in [self.generation, self.number, self.previous, self.first] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let sum = crc32c(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Nothing if the file was not begun whole.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.get(..HEADER)?.split_last_chunk::<4>()?;
        let rest = body.strip_prefix(MAGIC)?;
        let (store, numbers) = rest.split_first_chunk::<16>()?;
        let [generation, number, previous, first] = *numbers.as_chunks::<8>().0 else {
            return None;
        };
        let same = crc32c(body) == u32::from_le_bytes(*sum);
        same.then_some(Header {
            store: *store,
            generation: u64::from_le_bytes(generation),
            number: u64::from_le_bytes(number),
            previous: u64::from_le_bytes(previous),
            first: u64::from_le_bytes(first),
        })
    }
}

/// Appends the frame of a commit.
pub(super) fn put_frame(
    header: &Header,
    commit: u64,
    durable: u64,
    changes: &[u8],
    out: &mut Vec<u8>,
) {
    let from = out.len();
    out.extend_from_slice(FRAME);
    out.extend_from_slice(&[0; 4]);
    // Checked against MOST by whoever commits.
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

/// Salted with the file's identity, so that a frame of another file does not pass.
fn begin_sum(header: &Header) -> crc_fast::Digest {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&header.store);
    digest.update(&header.generation.to_le_bytes());
    digest.update(&header.number.to_le_bytes());
    digest
}

fn end_sum(digest: &crc_fast::Digest) -> u32 {
    // A CRC-32 fits 32 bits.
    (digest.finalize() & 0xffff_ffff) as u32
}

/// A commit in a log file, whose checksum is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) commit: u64,
    durable: u64,
    /// Where the bytes of its changes are.
    pub(super) changes: Range<u64>,
}

impl Frame {
    /// Bytes of changes.
    pub(super) fn bytes(&self) -> u64 {
        self.changes.end - self.changes.start
    }
}

/// Header of a frame: commit, bytes that were durable, bytes of changes, checksum.
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

/// A log file of which a piece is in memory.
#[derive(Debug)]
pub(super) struct LogFile {
    pub(super) header: Header,
    page_size: u32,
    window: Window,
}

/// Name of a log file.
pub(super) fn name(generation: u64, number: u64) -> String {
    format!("log-{generation}.{number}.wal")
}

/// Opens a log file; nothing if it was not begun yet.
///
/// # Errors
/// One of kind `NotFound` if a compaction has removed the log, which removes the manifest before it:
/// its commits are in other files now. Those of opening.
pub(super) fn open(dir: &Path, generation: u64, number: u64) -> Result<Option<File>> {
    let path = dir.join(name(generation, number));
    match File::open(&path) {
        Ok(file) => Ok(Some(file)),
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound
                && dir.join(manifest_name(generation)).exists() =>
        {
            Ok(None)
        }
        Err(error) => Err(Error::io("read", &path, error)),
    }
}

impl LogFile {
    /// Opens a file; nothing if there is none, or none that was begun whole.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a log of another store; those of [`open()`] and of reading.
    pub(super) fn read(
        dir: &Path,
        store: &Uuid,
        page_size: u32,
        (generation, number): (u64, u64),
        cancel: &CancelToken,
    ) -> Result<Option<Self>> {
        let path = dir.join(name(generation, number));
        let Some(file) = open(dir, generation, number)? else { return Ok(None) };
        let mut window = Window::new(file, path, cancel);
        let Some(header) = Header::decode(window.get(0, HEADER)?) else {
            // Commits behind it were acknowledged after it was durable.
            if window.marks_until(0, |_, _| Ok(true))? {
                let what = "its header does not decode".to_owned();
                return Err(Error::Corrupt { file: window.path, page: 0, what });
            }
            return Ok(None);
        };
        let path = &window.path;
        if header.store != *store {
            return Err(Error::Foreign {
                path: path.clone(),
                what: "the log of another store".into(),
            });
        }
        if (header.generation, header.number) != (generation, number) {
            let what = "its name is that of another file".into();
            return Err(Error::Foreign { path: path.clone(), what });
        }
        Ok(Some(LogFile { header, page_size, window }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.window.path
    }

    /// The commit that begins at byte `at`; nothing if the log ends there. `until` is what counts of the
    /// file, if a later file says so.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Truncated`] if something that was durable does not decode.
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
                // A writer may have completed it since it was looked at, and written more behind it.
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

    /// The changes of a commit, one by one.
    pub(super) fn changes(&mut self, frame: &Frame) -> Result<Changes<'_>> {
        Changes::begin(self, frame.changes.clone())
    }

    fn corrupt(&self, at: u64, what: String) -> Error {
        let page = at / u64::from(self.page_size.max(1));
        Error::Corrupt { file: self.path().to_path_buf(), page, what }
    }

    /// Whether a whole frame behind `at` says that `at` was durable: what is torn off in a crash has
    /// no such frame behind it.
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
    /// Bytes that were not decoded yet.
    rest: Range<u64>,
    all: Range<u64>,
    left: u64,
}

impl<'f> Changes<'f> {
    fn begin(file: &'f mut LogFile, all: Range<u64>) -> Result<Self> {
        let mut changes = Changes { file, rest: all.clone(), all, left: 0 };
        changes.left = changes.decode(op::count)?;
        Ok(changes)
    }

    /// The next change; nothing behind the last one.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are no change; those of reading; `Cancelled`.
    pub(in super::super) fn next(&mut self) -> Result<Option<Change>> {
        if self.left == 0 {
            let whole = self.rest.is_empty();
            return if whole { Ok(None) } else { Err(self.bad()) };
        }
        self.left -= 1;
        self.decode(op::change).map(Some)
    }

    /// All changes as they were encoded, whichever were read.
    ///
    /// # Errors
    /// Those of reading.
    pub(in super::super) fn encoded(&mut self) -> Result<Vec<u8>> {
        // A commit is far smaller than memory: MOST.
        let len = (self.all.end - self.all.start) as usize;
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let part = self.file.window.get(self.all.start + bytes.len() as u64, 1)?;
            let part = part.get(..part.len().min(len - bytes.len())).unwrap_or_default();
            if part.is_empty() {
                return Err(self.bad());
            }
            bytes.extend_from_slice(part);
        }
        Ok(bytes)
    }

    /// Result of `read` on the next bytes, and how many of them it took.
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

/// A piece of a file, which moves over it.
#[derive(Debug)]
struct Window {
    file: File,
    path: PathBuf,
    cancel: CancelToken,
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn new(file: File, path: PathBuf, cancel: &CancelToken) -> Self {
        Window { file, path, cancel: cancel.clone(), at: 0, bytes: Vec::new() }
    }

    fn len(&self) -> Result<u64> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|error| Error::io("read", &self.path, error))?.len())
    }

    /// Bytes from `at` on: at least so many, but fewer at the end of the file.
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

    /// Reads anew what is asked for next.
    fn forget(&mut self) {
        self.bytes.clear();
    }

    /// The frame at a byte, if one is there whole and its checksum is right.
    fn frame(&mut self, header: &Header, at: u64) -> Result<Option<Frame>> {
        let Some((commit, durable, len, stated)) = frame_header(self.get(at, FRAME_HEADER)?) else {
            return Ok(None);
        };
        let begin = at + FRAME_HEADER as u64;
        let changes = begin..begin + len as u64;
        if FRAME_HEADER + len <= PIECE {
            // In one piece, so that its changes are not read again.
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

    /// Hands the places from `at` on that look like the beginning of a frame to `found`, until that says
    /// true; whether it did.
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

    const HEAD: Header = Header { store: [7; 16], generation: 1, number: 0, previous: 0, first: 1 };

    /// Three groups: of two, one and one commits.
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

    fn of(header: Header, bytes: &[u8]) -> LogFile {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(bytes, 0).unwrap();
        let window = Window::new(file, PathBuf::from("log"), &CancelToken::new());
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
            // The last group: nobody can tell damage from a torn write.
            match at < ends[2] {
                true => assert!(matches!(found, Err(Error::Corrupt { .. })), "byte {at}"),
                false => assert_eq!(found.unwrap().len(), 3, "byte {at}"),
            }
        }
    }

    /// Seen red with `was_durable` asking only whether a later frame is whole.
    #[test]
    fn a_torn_group_is_no_damage() {
        let (mut bytes, ends) = log();
        // Power fails while the first group is written: its second frame arrives, its first does not.
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
        let other = Header { number: 1, ..HEAD };
        assert_eq!(frames(of(other, &bytes), None).unwrap(), []);
    }

    /// Seen red with every log that is not there taken for one not begun.
    #[test]
    fn a_log_that_was_removed_is_not_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(manifest_name(3)), "").unwrap();
        assert!(open(dir.path(), 3, 0).unwrap().is_none());
        let gone = open(dir.path(), 2, 0).unwrap_err();
        assert!(matches!(&gone, Error::Io { source, .. }
            if source.kind() == std::io::ErrorKind::NotFound));
    }

    fn update(id: u64, len: usize) -> Change {
        let name = super::super::super::value::Value::String("x".repeat(len));
        let properties = vec![("name".to_owned(), name)];
        Change::UpdateNode { id: nakshi_store::ExternalId::U64(id), properties, merge: true }
    }

    /// A log far larger than a piece, with changes across the ends of pieces and one that is larger than
    /// two. Seen red with whole files in memory.
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
            let (mut encoded, durable) = (Vec::new(), bytes.len() as u64);
            op::encode(&changes, &mut encoded);
            put_frame(&HEAD, commit, durable, &encoded, &mut bytes);
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

    /// Seen red without a look at the token where a piece is read.
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
        assert_eq!(Header::decode(&HEAD.encode()), Some(HEAD));
        for at in 0..HEADER {
            let mut bytes = HEAD.encode();
            bytes[at] ^= 1;
            assert_eq!(Header::decode(&bytes), None);
        }
    }
}
