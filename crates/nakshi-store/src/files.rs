//! Names, checksum tables and the manifest of a store's directory.
//!
//! - [`Uuid`], [`new_uuid`], [`hex`], [`parse_uuid`]: the identity of a store
//! - [`manifest_name`], [`with_newest`]: its manifest
//! - [`crc32c`]: the checksum of manifests and logs

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::FinishedFile;
use nakshi_io::{
    CancelToken, FileSpec, IoStats, PagedFile, ReaderOptions, Salt, StorageBackend, Striping,
};

pub use crate::manifest::crc32c;
use crate::{Encoding, Error, FileEntry, Manifest, Result, StripeEntry};

/// A store's identity.
pub type Uuid = [u8; 16];

const MANIFEST: &str = "MANIFEST-";
/// First bytes of a checksum table.
const SUMS_MAGIC: &[u8; 8] = b"NKSUMS01";
/// Bytes of the header: magic, store, file id, zeros.
const SUMS_HEADER: usize = 32;

/// Makes a new random identity (version 4 of RFC 9562).
pub fn new_uuid() -> Uuid {
    use std::hash::{BuildHasher, RandomState};
    let mut uuid = [0; 16];
    for (half, salt) in uuid.chunks_mut(8).zip([1u64, 2]) {
        // std seeds each RandomState from the system's random source
        half.copy_from_slice(
            &RandomState::new()
                .hash_one((salt, std::process::id(), std::time::SystemTime::now()))
                .to_le_bytes(),
        );
    }
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

/// Formats an identity as 32 hexadecimal digits.
pub fn hex(uuid: &Uuid) -> String {
    format!("{:032x}", u128::from_be_bytes(*uuid))
}

/// Parses an identity from 32 hexadecimal digits.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok()).flatten().map(u128::to_be_bytes)
}

/// Returns the name of the manifest of a generation.
pub fn manifest_name(generation: u64) -> String {
    format!("{MANIFEST}{generation}")
}

/// Returns the name of the checksum table of a file.
pub(crate) fn sums_name(name: &str) -> String {
    format!("{name}.sum")
}

/// Returns the directory for the parts of striped files.
pub(crate) fn stripe_dir(dir: &Path, uuid: &str) -> PathBuf {
    dir.join(format!("nakshi-{uuid}"))
}

impl StripeEntry {
    /// Returns the parts of a file of the store `uuid`.
    pub(crate) fn of(&self, uuid: &str, name: &str) -> Striping {
        let part = |dir: &PathBuf| stripe_dir(dir, uuid).join(name);
        Striping { paths: self.dirs.iter().map(part).collect(), stripe: self.unit }
    }
}

/// Returns the physical paths of a file.
pub(crate) fn striping(dir: &Path, manifest: &Manifest, name: &str, striped: bool) -> Striping {
    match &manifest.stripes {
        Some(stripes) if striped => stripes.of(&manifest.uuid, name),
        _ => Striping::single(dir.join(name)),
    }
}

/// Reads the manifest with the highest number.
pub(crate) fn read_manifest(dir: &Path) -> Result<Manifest> {
    let not = |what: &str| Error::NotAStore { path: dir.to_path_buf(), what: what.to_string() };
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(not("it is a file, a store is a directory"));
        }
        Err(e) => return Err(Error::io("open", dir, e)),
    };
    let mut newest = None;
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("list", dir, e))?;
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|n| n.strip_prefix(MANIFEST))
            .and_then(|n| n.parse::<u64>().ok());
        newest = newest.max(number);
    }
    let path = dir.join(manifest_name(newest.ok_or_else(|| not("it has no MANIFEST file"))?));
    let bytes = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
    let manifest = Manifest::parse(&path, &bytes)?;
    if Some(manifest.generation) != newest {
        return Err(Error::Corrupt {
            file: path,
            page: 0,
            what: "its name and its generation differ".into(),
        });
    }
    Ok(manifest)
}

/// Attempts to read files that a compaction may replace in the meantime.
const TRIES: usize = 4;

/// Calls `f` with the newest manifest, and again if a file was missing because a compaction has
/// replaced it.
///
/// # Errors
/// The errors of reading the manifest, and those of `f`.
pub fn with_newest<T>(dir: &Path, mut f: impl FnMut(Manifest) -> Result<T>) -> Result<T> {
    for _ in 1..TRIES {
        let manifest = read_manifest(dir)?;
        let generation = manifest.generation;
        match f(manifest) {
            Err(Error::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound
                    && read_manifest(dir)?.generation != generation => {}
            done => return done,
        }
    }
    f(read_manifest(dir)?)
}

/// Checks the claims of a manifest before any of them determines an allocation; returns the
/// identity.
pub(crate) fn validate(dir: &Path, manifest: &Manifest) -> Result<Uuid> {
    let path = dir.join(manifest_name(manifest.generation));
    let corrupt = |what: String| Error::Corrupt { file: path.clone(), page: 0, what };
    let uuid = parse_uuid(&manifest.uuid)
        .ok_or_else(|| corrupt("its uuid is not 32 hexadecimal digits".into()))?;
    if manifest.id_bits != 32 {
        return Err(Error::Unsupported(format!(
            "{} bits a vertex id in {}; this version reads 32",
            manifest.id_bits,
            path.display()
        )));
    }
    crate::permutation::check_count(manifest.vertices)?;
    for file in manifest.files() {
        let plain = !file.name.is_empty()
            && !file.name.starts_with('.')
            && !file.name.contains(['/', '\\', '\0']);
        if !plain {
            return Err(corrupt(format!("the file name {:?} is not plain", file.name)));
        }
        if file.len > 1 << 60 {
            return Err(Error::Unsupported(format!(
                "a file of {} bytes in {}",
                file.len,
                path.display()
            )));
        }
    }
    for a in &manifest.adjacency {
        let raw_misfit =
            manifest.encoding == Encoding::Raw && a.arcs.checked_mul(4) != Some(a.lists.len);
        if a.stored > manifest.vertices
            || a.max_list_bytes > a.lists.len
            || a.max_degree > a.arcs
            || raw_misfit
        {
            return Err(corrupt(format!(
                "the numbers of its {:?} lists contradict each other",
                a.direction
            )));
        }
    }
    for c in &manifest.columns {
        let arcs = manifest.adjacency.iter().find(|a| a.direction == c.direction).map(|a| a.arcs);
        if arcs.and_then(|a| a.checked_mul(c.ty.width() as u64)) != Some(c.file.len) {
            return Err(corrupt(format!(
                "the column {:?} has another length than its lists",
                c.name
            )));
        }
    }
    Ok(uuid)
}

/// Returns the bytes of a checksum table.
pub(crate) fn sums_bytes(uuid: &Uuid, id: u32, sums: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SUMS_HEADER + sums.len() * 4);
    bytes.extend_from_slice(SUMS_MAGIC);
    bytes.extend_from_slice(uuid);
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.resize(SUMS_HEADER, 0);
    for sum in sums {
        bytes.extend_from_slice(&sum.to_le_bytes());
    }
    bytes
}

/// Returns the manifest's entry for a finished file, and the bytes of its checksum table.
pub(crate) fn describe(name: &str, written: &FinishedFile, hash: u64) -> (FileEntry, Vec<u8>) {
    let sums = sums_bytes(&written.salt.store, written.salt.file, &written.checksums);
    let entry = FileEntry {
        name: name.to_string(),
        id: written.salt.file,
        len: written.len,
        sums: crc32c(&sums),
        hash: format!("{hash:016x}"),
    };
    (entry, sums)
}

/// Opens a file of a store with its checksum table.
pub(crate) fn open(
    dir: &Path,
    manifest: &Manifest,
    uuid: &Uuid,
    entry: &FileEntry,
    striped: bool,
    backend: &Arc<dyn StorageBackend>,
    cancel: &CancelToken,
) -> Result<Arc<PagedFile>> {
    let (checksums, sound) = read_sums(dir, manifest, uuid, entry)?;
    let spec = FileSpec {
        striping: striping(dir, manifest, &entry.name, striped),
        len: entry.len,
        page_size: manifest.page_size,
        salt: Salt { store: *uuid, file: entry.id },
        checksums,
    };
    let file = PagedFile::open(backend, &spec)?;
    if sound { Ok(file) } else { Err(damaged_sums(dir, entry, &file, cancel)?) }
}

/// Reads the checksums of a file's pages, and checks that their table is undamaged.
fn read_sums(
    dir: &Path,
    manifest: &Manifest,
    uuid: &Uuid,
    entry: &FileEntry,
) -> Result<(Arc<[u32]>, bool)> {
    let path = dir.join(sums_name(&entry.name));
    let pages = entry.len.div_ceil(u64::from(manifest.page_size.max(1)));
    let expected = SUMS_HEADER as u64 + pages * 4;
    let found = std::fs::metadata(&path).map_err(|e| Error::io("open", &path, e))?.len();
    if found != expected {
        return Err(Error::Truncated { file: path, expected, found });
    }
    let bytes = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
    let (head, sums) = bytes.split_at_checked(SUMS_HEADER).unwrap_or_default();
    let Some(rest) = head.strip_prefix(SUMS_MAGIC) else {
        let what = "it is not a checksum table".into();
        return Err(Error::Corrupt { file: path, page: 0, what });
    };
    let sound = crc32c(&bytes) == entry.sums;
    let owner = rest.strip_prefix(uuid).and_then(|rest| rest.strip_prefix(&entry.id.to_le_bytes()));
    if !sound && owner.is_none() {
        let id = entry.id.to_le_bytes();
        let own = [SUMS_MAGIC.as_slice(), uuid.as_slice(), id.as_slice()].concat();
        let mended = [&own, bytes.get(own.len()..).unwrap_or_default()].concat();
        if crc32c(&mended) == entry.sums {
            let what = "it does not say whose it is".into();
            return Err(Error::Corrupt { file: path, page: 0, what });
        }
        let what = format!("this store is {}, file {}", manifest.uuid, entry.id);
        return Err(Error::Foreign { path, what });
    }
    Ok((sums.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect(), sound))
}

/// Returns the error for a damaged checksum table. The table has one checksum as a whole, so the
/// damaged entry is found by the first page of `file` that does not match.
fn damaged_sums(
    dir: &Path,
    entry: &FileEntry,
    file: &Arc<PagedFile>,
    cancel: &CancelToken,
) -> Result<Error> {
    const PIECE: u64 = 1 << 20;
    let options =
        ReaderOptions { depth: 1, cancel: Some(cancel.clone()), ..ReaderOptions::default() };
    let mut reader = file.reader_with(&options, Arc::new(IoStats::new()))?;
    let (mut at, mut misfit) = (0, None);
    while at < file.len() && misfit.is_none() {
        let end = (at + PIECE).min(file.len());
        reader.submit(at..end, 0)?;
        match reader.next() {
            Err(nakshi_io::Error::Corrupt { page, .. }) => misfit = Some(page),
            block => drop(block?),
        }
        at = end;
    }
    let (byte, what) = match misfit {
        Some(page) => {
            let byte = SUMS_HEADER as u64 + page * 4;
            (byte, format!("the sum at byte {byte} is not that of page {page} of {}", entry.name))
        }
        None => (0, "its header is not what was written".into()),
    };
    let page = byte / u64::from(file.page_size());
    Ok(Error::Corrupt { file: dir.join(sums_name(&entry.name)), page, what })
}
