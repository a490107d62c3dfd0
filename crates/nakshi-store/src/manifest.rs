//! The manifest: the one file that says which files make up a store.
//!
//! One header line, `nakshi manifest <version>`, a JSON object, and a last line with the CRC-32C
//! of all before it. The version is read first, so that a newer format is refused, not misread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::section::{FileEntry, Section};
use crate::{ColumnType, Direction, Encoding, Error, IdKind, Result};

/// The format that this version writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The files and sizes of one direction's edge lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdjacencyEntry {
    /// Which lists.
    pub direction: Direction,
    /// The encoded lists, in vertex order.
    pub lists: FileEntry,
    /// LEB128 length of each list.
    pub lengths: FileEntry,
    /// LEB128 degree of each vertex.
    pub degrees: FileEntry,
    /// First two neighbours of each vertex.
    pub heads: FileEntry,
    /// List entries.
    pub arcs: u64,
    /// Vertices up to and including the last with a neighbour; the rest have none and are not
    /// written to the side files.
    pub stored: u64,
    /// Largest degree.
    pub max_degree: u64,
    /// Longest encoded list in bytes.
    pub max_list_bytes: u64,
}

/// One attribute column in the order of one direction's list entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnEntry {
    /// The user's name.
    pub name: String,
    /// Whose order the values are in.
    pub direction: Direction,
    /// Width and meaning of a value.
    #[serde(rename = "type")]
    pub ty: ColumnType,
    /// The values, little endian.
    pub file: FileEntry,
}

/// How external ids are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdsEntry {
    /// Their kind.
    pub kind: IdKind,
    /// The first id of [`IdKind::Dense`].
    pub first: i64,
    /// The ids in rank order, in blocks; absent for dense ids.
    pub keys: Option<FileEntry>,
    /// Where each block of `keys` begins.
    pub blocks: Option<FileEntry>,
    /// Internal id of each rank, `u32` little endian; absent if they are equal.
    pub internal: Option<FileEntry>,
    /// Rank of each internal id; absent if they are equal.
    pub ranks: Option<FileEntry>,
}

/// How files are spread over several directories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeEntry {
    /// Bytes that lie together.
    pub unit: u64,
    /// The directories, absolute.
    pub dirs: Vec<PathBuf>,
}

/// All that a store knows about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Identity of this store, as 32 hexadecimal digits; salts every checksum.
    pub uuid: String,
    /// Counts commits.
    pub generation: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Number of vertices, isolated ones too.
    pub vertices: u64,
    /// Number of edges; an undirected edge counts once.
    pub edges: u64,
    /// Number of self-loops among them.
    pub self_loops: u64,
    /// Bits of a vertex id inside a list.
    pub id_bits: u32,
    /// How lists are written.
    pub encoding: Encoding,
    /// Page size in bytes.
    pub page_size: u32,
    /// Name of the layout that gave the vertices their order.
    pub layout: String,
    /// Where `.adj` and column files lie, if not in the store's directory alone.
    pub stripes: Option<StripeEntry>,
    /// Edge lists by direction.
    pub adjacency: Vec<AdjacencyEntry>,
    /// Attribute columns.
    pub columns: Vec<ColumnEntry>,
    /// External ids.
    pub ids: IdsEntry,
    /// What crates above this one keep in the store, by name. Read one with [`Manifest::section`].
    #[serde(flatten)]
    pub sections: BTreeMap<String, Section>,
    /// What the import counted.
    pub report: serde_json::Map<String, serde_json::Value>,
}

impl Manifest {
    /// Every file that it names.
    pub fn files(&self) -> impl Iterator<Item = &FileEntry> {
        let lists =
            self.adjacency.iter().flat_map(|a| [&a.lists, &a.lengths, &a.degrees, &a.heads]);
        let ids = &self.ids;
        let ids = [&ids.keys, &ids.blocks, &ids.internal, &ids.ranks].into_iter().flatten();
        let sections = self.sections.values().flat_map(Section::files);
        lists.chain(self.columns.iter().map(|c| &c.file)).chain(ids).chain(sections)
    }

    /// The section `name`, as its owner reads it; nothing if the store has none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a section that holds something else.
    pub fn section<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let section = self.sections.get(name).filter(|section| !section.is_null());
        section.map(Section::read).transpose().map_err(|error| Error::Corrupt {
            file: format!("MANIFEST-{}", self.generation).into(),
            page: 0,
            what: format!("its section '{name}' does not parse: {error}"),
        })
    }

    /// Bytes that reading takes whatever is read: buffers, and the checksums of all pages.
    pub fn reading_memory(&self) -> u64 {
        let sums = |file: &FileEntry| file.len / u64::from(self.page_size.max(1)) * 8;
        self.files().map(sums).fold(16 << 20, u64::saturating_add)
    }

    /// Bytes that the index of a direction's lists takes at most, and what it is made from.
    pub(crate) fn index_memory(entry: &AdjacencyEntry) -> u64 {
        (2 * entry.stored).saturating_add(entry.lengths.len.max(entry.degrees.len))
    }

    /// A hash of all that makes two stores equal to a reader: not the identity, the pages, the
    /// places or the report. 16 hexadecimal digits.
    pub fn content_hash(&self) -> String {
        let mut text = format!(
            "{} {} {} {} {:?} {} {:?} {}",
            self.directed,
            self.vertices,
            self.edges,
            self.self_loops,
            self.encoding,
            self.layout,
            self.ids.kind,
            self.ids.first
        );
        for c in &self.columns {
            text.push_str(&format!("|{:?} {:?} {:?}", c.name, c.direction, c.ty));
        }
        for f in self.files() {
            text.push_str(&format!("|{} {} {}", f.name, f.len, f.hash));
        }
        format!("{:016x}", crc64(text.as_bytes()))
    }

    /// The bytes of a manifest file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the report does not serialise.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = format!("nakshi manifest {FORMAT_VERSION}\n").into_bytes();
        serde_json::to_writer_pretty(&mut bytes, self)
            .map_err(|e| Error::Invalid(format!("the manifest does not serialise: {e}")))?;
        bytes.push(b'\n');
        let sum = crc32c(&bytes);
        bytes.extend_from_slice(format!("crc32c {sum:08x}\n").as_bytes());
        Ok(bytes)
    }

    /// Reads a manifest file's bytes; `path` is for messages.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a newer format, [`Error::Corrupt`] for anything else.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let corrupt = |what: &str| Error::Corrupt {
            file: path.to_path_buf(),
            page: 0,
            what: what.to_string(),
        };
        let eol = memchr::memchr(b'\n', bytes).ok_or_else(|| corrupt("no header line"))?;
        let (head, rest) = bytes.split_at(eol);
        let version =
            std::str::from_utf8(head).ok().and_then(|h| h.strip_prefix("nakshi manifest "));
        let version: u32 = version
            .and_then(|v| v.parse().ok())
            .filter(|v| *v > 0)
            .ok_or_else(|| corrupt("its first line is not 'nakshi manifest <version>'"))?;
        if version > FORMAT_VERSION {
            return Err(Error::Incompatible {
                path: path.to_path_buf(),
                found: version,
                supported: FORMAT_VERSION,
            });
        }
        let (body, sum) = rest
            .strip_suffix(b"\n")
            .and_then(|r| Some(r.split_at(memchr::memrchr(b'\n', r)? + 1)))
            .ok_or_else(|| corrupt("it has no checksum line"))?;
        let sum = std::str::from_utf8(sum)
            .ok()
            .and_then(|s| u32::from_str_radix(s.strip_prefix("crc32c ")?, 16).ok());
        if sum != bytes.get(..eol + body.len()).map(crc32c) {
            return Err(corrupt("its checksum is wrong"));
        }
        serde_json::from_slice(body).map_err(|e| corrupt(&format!("it does not parse: {e}")))
    }
}

/// CRC-32C (Castagnoli), with which manifests, checksum tables and logs end.
pub fn crc32c(bytes: &[u8]) -> u32 {
    // a CRC-32 fits 32 bits
    (crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) & 0xffff_ffff) as u32
}

/// CRC-64/NVME.
pub(crate) fn crc64(bytes: &[u8]) -> u64 {
    crc_fast::checksum(CONTENT_CRC, bytes)
}

/// The CRC that content hashes are made of.
pub(crate) const CONTENT_CRC: crc_fast::CrcAlgorithm = crc_fast::CrcAlgorithm::Crc64Nvme;
