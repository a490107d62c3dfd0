//! Files of the log: a header, then one frame for each commit.
//!
//! A writer never goes on with a file that another one left. It begins the next, whose header says how
//! much of the one before counts; what was torn off behind it is never read again.

use std::path::{Path, PathBuf};

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
    let sum = sum(header, out.get(from + 8..).unwrap_or_default());
    if let Some(place) = out.get_mut(from + 4..from + 8) {
        place.copy_from_slice(&sum.to_le_bytes());
    }
}

/// Salted with the file's identity, so that a frame of another file does not pass.
fn sum(header: &Header, frame: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&header.store);
    digest.update(&header.generation.to_le_bytes());
    digest.update(&header.number.to_le_bytes());
    digest.update(frame);
    // A CRC-32 fits 32 bits.
    (digest.finalize() & 0xffff_ffff) as u32
}

/// A commit in a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'b> {
    pub(super) commit: u64,
    durable: u64,
    pub(super) changes: &'b [u8],
    /// Where the next one begins.
    pub(super) end: usize,
}

fn frame<'b>(header: &Header, bytes: &'b [u8], at: usize) -> Option<Frame<'b>> {
    let rest = bytes.get(at..)?;
    let body = rest.strip_prefix(FRAME)?;
    let (stated, body) = body.split_first_chunk::<4>()?;
    let (len, numbers) = body.split_first_chunk::<4>()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok().filter(|len| *len <= MOST)?;
    let (commit, numbers) = numbers.split_first_chunk::<8>()?;
    let (durable, changes) = numbers.split_first_chunk::<8>()?;
    let changes = changes.get(..len)?;
    let checked = body.get(..FRAME_HEADER - 8 + len)?;
    (sum(header, checked) == u32::from_le_bytes(*stated)).then_some(Frame {
        commit: u64::from_le_bytes(*commit),
        durable: u64::from_le_bytes(*durable),
        changes,
        end: at + FRAME_HEADER + len,
    })
}

/// A log file in memory.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    pub(super) header: Header,
    bytes: Vec<u8>,
    page_size: u32,
}

/// Name of a log file.
pub(super) fn name(generation: u64, number: u64) -> String {
    format!("log-{generation}.{number}.wal")
}

/// The bytes of a log file; nothing if it was not begun yet.
///
/// # Errors
/// One of kind `NotFound` if a compaction has removed the log, which removes the manifest before it:
/// its commits are in other files now. Those of reading.
pub(super) fn bytes(dir: &Path, generation: u64, number: u64) -> Result<Option<Vec<u8>>> {
    let path = dir.join(name(generation, number));
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
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
    /// Reads a file; nothing if there is none, or none that was begun whole.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a log of another store; those of [`bytes()`].
    pub(super) fn read(
        dir: &Path,
        store: &Uuid,
        page_size: u32,
        generation: u64,
        number: u64,
    ) -> Result<Option<Self>> {
        let path = dir.join(name(generation, number));
        let Some(bytes) = bytes(dir, generation, number)? else { return Ok(None) };
        let Some(header) = Header::decode(&bytes) else {
            // Commits behind it were acknowledged after it was durable.
            if memchr::memmem::find(&bytes, FRAME).is_none() {
                return Ok(None);
            }
            let what = "its header does not decode".to_owned();
            return Err(Error::Corrupt { file: path, page: 0, what });
        };
        if header.store != *store {
            return Err(Error::Foreign { path, what: "the log of another store".into() });
        }
        if (header.generation, header.number) != (generation, number) {
            return Err(Error::Foreign { path, what: "its name is that of another file".into() });
        }
        Ok(Some(LogFile { path, header, bytes, page_size }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The commits from byte `at` on. `until` is what counts of the file, if a later file says so.
    /// The last whole frame ends where [`LogFile::end`] says.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if something that was durable does not decode.
    pub(super) fn frames(&self, at: usize, until: Option<u64>) -> Result<Vec<Frame<'_>>> {
        let counts = until.and_then(|until| usize::try_from(until).ok());
        let bytes = match counts {
            None => &self.bytes,
            Some(end) => self.bytes.get(..end).ok_or_else(|| Error::Truncated {
                file: self.path.clone(),
                expected: end as u64,
                found: self.bytes.len() as u64,
            })?,
        };
        let (mut at, mut found) = (at, Vec::new());
        while let Some(next) = frame(&self.header, bytes, at) {
            at = next.end;
            found.push(next);
        }
        if at < bytes.len() && (until.is_some() || self.was_durable(at)) {
            return Err(Error::Corrupt {
                file: self.path.clone(),
                page: at as u64 / u64::from(self.page_size.max(1)),
                what: format!("a commit that was durable does not decode at byte {at}"),
            });
        }
        Ok(found)
    }

    /// Whether a whole frame behind `at` says that `at` was durable: what is torn off in a crash has
    /// no such frame behind it.
    fn was_durable(&self, at: usize) -> bool {
        let rest = self.bytes.get(at..).unwrap_or_default();
        memchr::memmem::find_iter(rest, FRAME).any(|place| {
            let later = frame(&self.header, &self.bytes, at + place);
            later.is_some_and(|later| later.durable > at as u64)
        })
    }

    #[cfg(test)]
    fn of(header: Header, bytes: Vec<u8>) -> Self {
        LogFile { path: PathBuf::from("log"), header, bytes, page_size: 4096 }
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

    #[test]
    fn every_byte_of_what_was_durable_counts() {
        let (bytes, ends) = log();
        for at in HEADER..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x40;
            let file = LogFile::of(HEAD, bytes);
            let found = file.frames(HEADER, None);
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
        assert_eq!(LogFile::of(HEAD, bytes).frames(HEADER, None).unwrap(), []);
    }

    #[test]
    fn a_log_may_end_anywhere() {
        let (bytes, ends) = log();
        for end in HEADER..bytes.len() {
            let whole = ends.iter().filter(|whole| **whole <= end).count();
            let file = LogFile::of(HEAD, bytes[..end].to_vec());
            assert_eq!(file.frames(HEADER, None).unwrap().len(), whole);
            let asked = file.frames(HEADER, Some(ends[3] as u64));
            assert!(matches!(asked, Err(Error::Truncated { .. })));
        }
    }

    #[test]
    fn frames_of_other_files_do_not_pass() {
        let (bytes, _) = log();
        let other = Header { number: 1, ..HEAD };
        assert_eq!(LogFile::of(other, bytes).frames(HEADER, None).unwrap(), []);
    }

    /// Seen red with every log that is not there taken for one not begun.
    #[test]
    fn a_log_that_was_removed_is_not_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(manifest_name(3)), "").unwrap();
        assert_eq!(bytes(dir.path(), 3, 0).unwrap(), None);
        let gone = bytes(dir.path(), 2, 0).unwrap_err();
        assert!(matches!(&gone, Error::Io { source, .. }
            if source.kind() == std::io::ErrorKind::NotFound));
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
