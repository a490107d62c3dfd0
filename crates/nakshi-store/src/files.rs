//! Names, checksum tables and the manifest of a store's directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::Written;
use nakshi_io::{FileSpec, PagedFile, Salt, StorageBackend, Striping};

use crate::manifest::crc32c;
use crate::{Encoding, Error, FileEntry, Manifest, Result};

/// A store's identity.
pub(crate) type Uuid = [u8; 16];

const MANIFEST: &str = "MANIFEST-";
/// First bytes of a checksum table.
const SUMS_MAGIC: &[u8; 8] = b"NKSUMS01";
/// Magic, store, file id, zeros.
const SUMS_HEADER: usize = 32;

/// A new random identity (version 4 of RFC 9562).
pub(crate) fn new_uuid() -> Uuid {
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

pub(crate) fn hex(uuid: &Uuid) -> String {
    format!("{:032x}", u128::from_be_bytes(*uuid))
}

pub(crate) fn parse_uuid(text: &str) -> Option<Uuid> {
    (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok()).flatten().map(u128::to_be_bytes)
}

/// Name of the manifest of a generation.
pub(crate) fn manifest_name(generation: u64) -> String {
    format!("{MANIFEST}{generation}")
}

/// Name of the checksum table of a file.
pub(crate) fn sums_name(name: &str) -> String {
    format!("{name}.sum")
}

/// Where a striped file's parts lie.
pub(crate) fn stripe_dir(dir: &Path, uuid: &str) -> PathBuf {
    dir.join(format!("nakshi-{uuid}"))
}

/// The physical paths of a file.
pub(crate) fn striping(dir: &Path, manifest: &Manifest, name: &str, striped: bool) -> Striping {
    match &manifest.stripes {
        Some(stripes) if striped => Striping {
            paths: stripes.dirs.iter().map(|d| stripe_dir(d, &manifest.uuid).join(name)).collect(),
            stripe: stripes.unit,
        },
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

/// Checks what a manifest claims before anything is sized by it; returns the identity.
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

/// The bytes of a checksum table.
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

/// The manifest's entry for a finished file, and the bytes of its checksum table.
pub(crate) fn describe(name: &str, written: &Written, hash: u64) -> (FileEntry, Vec<u8>) {
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
) -> Result<Arc<PagedFile>> {
    let spec = FileSpec {
        striping: striping(dir, manifest, &entry.name, striped),
        len: entry.len,
        page_size: manifest.page_size,
        salt: Salt { store: *uuid, file: entry.id },
        checksums: read_sums(dir, manifest, uuid, entry)?,
    };
    Ok(PagedFile::open(backend, &spec)?)
}

fn read_sums(
    dir: &Path,
    manifest: &Manifest,
    uuid: &Uuid,
    entry: &FileEntry,
) -> Result<Arc<[u32]>> {
    let path = dir.join(sums_name(&entry.name));
    let pages = entry.len.div_ceil(u64::from(manifest.page_size.max(1)));
    let expected = SUMS_HEADER as u64 + pages * 4;
    let found = std::fs::metadata(&path).map_err(|e| Error::io("open", &path, e))?.len();
    if found != expected {
        return Err(Error::Truncated { file: path, expected, found });
    }
    let bytes = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
    let corrupt =
        |what: &str| Error::Corrupt { file: path.clone(), page: 0, what: what.to_string() };
    let (head, sums) =
        bytes.split_at_checked(SUMS_HEADER).ok_or_else(|| corrupt("it has no header"))?;
    let (magic, rest) = head.split_at(SUMS_MAGIC.len());
    if magic != SUMS_MAGIC {
        return Err(corrupt("it is not a checksum table"));
    }
    let (store, rest) = rest.split_at(uuid.len());
    if crc32c(&bytes) != entry.sums {
        if store != uuid || !rest.starts_with(&entry.id.to_le_bytes()) {
            return Err(Error::Foreign {
                path,
                what: format!("this store is {}, file {}", manifest.uuid, entry.id),
            });
        }
        return Err(corrupt("its checksum is wrong"));
    }
    Ok(sums.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
}
