//! The manifest: the file that names all files of a store.
//!
//! It has a header line, `nakshi manifest <version>`, a JSON object, and a last line with the
//! CRC-32C of everything before it. The version is read first, so that a newer format is refused
//! instead of misread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::section::{FileEntry, Section};
use crate::{ColumnType, Direction, Encoding, Error, IdKind, Result};

/// The newest format that this version reads. It writes a store in the oldest format that holds all
/// of it, so that older versions read what they can.
pub const FORMAT_VERSION: u32 = 8;

/// The files and sizes of one direction's edge lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdjacencyEntry {
    /// Direction of the lists.
    pub direction: Direction,
    /// The encoded lists, in vertex order.
    pub lists: FileEntry,
    /// LEB128 length of each list.
    pub lengths: FileEntry,
    /// LEB128 degree of each vertex.
    pub degrees: FileEntry,
    /// First two neighbours of each vertex.
    pub heads: FileEntry,
    /// Number of list entries.
    pub arcs: u64,
    /// Number of vertices up to and including the last one with a neighbour; the others have none
    /// and are not written to the side files.
    pub stored: u64,
    /// Largest degree.
    pub max_degree: u64,
    /// Longest encoded list in bytes.
    pub max_list_bytes: u64,
}

/// One attribute column, in the order of the list entries of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnEntry {
    /// The user's name of the column.
    pub name: String,
    /// Direction whose list entries the values follow.
    pub direction: Direction,
    /// Width and meaning of a value.
    #[serde(rename = "type")]
    pub ty: ColumnType,
    /// The values, little endian.
    pub file: FileEntry,
}

/// Files of the external ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdsEntry {
    /// Kind of the ids.
    pub kind: IdKind,
    /// The first id of [`IdKind::Dense`].
    pub first: i64,
    /// The ids in rank order, in blocks; `None` for dense ids.
    pub keys: Option<FileEntry>,
    /// Offset of each block of `keys`.
    pub blocks: Option<FileEntry>,
    /// Internal id of each rank, `u32` little endian; `None` if they are equal.
    pub internal: Option<FileEntry>,
    /// Rank of each internal id; `None` if they are equal.
    pub ranks: Option<FileEntry>,
}

/// Distribution of files over several directories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeEntry {
    /// Bytes of a stripe.
    pub unit: u64,
    /// The directories, absolute.
    pub dirs: Vec<PathBuf>,
}

/// The description of a store: its properties and its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Identity of this store, as 32 hexadecimal digits; it salts every checksum.
    pub uuid: String,
    /// Number of commits.
    pub generation: u64,
    /// True if edges have a direction.
    pub directed: bool,
    /// Number of vertices, including isolated ones.
    pub vertices: u64,
    /// Number of edges; an undirected edge counts once.
    pub edges: u64,
    /// Number of self-loops among them.
    pub self_loops: u64,
    /// Bits of a vertex id inside a list.
    pub id_bits: u32,
    /// Encoding of the lists.
    pub encoding: Encoding,
    /// Page size in bytes.
    pub page_size: u32,
    /// Name of the layout, which determined the order of the vertices.
    pub layout: String,
    /// Directories of `.adj` and column files, if these are striped.
    pub stripes: Option<StripeEntry>,
    /// Edge lists by direction.
    pub adjacency: Vec<AdjacencyEntry>,
    /// Attribute columns.
    pub columns: Vec<ColumnEntry>,
    /// External ids.
    pub ids: IdsEntry,
    /// Sections of crates above this one, by name. Read one with [`Manifest::section`].
    #[serde(flatten)]
    pub sections: BTreeMap<String, Section>,
    /// Report of the import.
    pub report: serde_json::Map<String, serde_json::Value>,
}

impl Manifest {
    /// Returns every file that the manifest names.
    pub fn files(&self) -> impl Iterator<Item = &FileEntry> {
        let lists =
            self.adjacency.iter().flat_map(|a| [&a.lists, &a.lengths, &a.degrees, &a.heads]);
        let ids = &self.ids;
        let ids = [&ids.keys, &ids.blocks, &ids.internal, &ids.ranks].into_iter().flatten();
        let sections = self.sections.values().flat_map(Section::files);
        lists.chain(self.columns.iter().map(|c| &c.file)).chain(ids).chain(sections)
    }

    /// Parses the section `name` for its owner; returns `None` if the store has none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a section with another content.
    pub fn section<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let section = self.sections.get(name).filter(|section| !section.is_null());
        section.map(Section::read).transpose().map_err(|error| Error::Corrupt {
            file: format!("MANIFEST-{}", self.generation).into(),
            page: 0,
            what: format!("its section '{name}' does not parse: {error}"),
        })
    }

    /// Returns the bytes that any reading takes: buffers, and the checksums of all pages.
    pub fn reading_memory(&self) -> u64 {
        let sums = |file: &FileEntry| file.len / u64::from(self.page_size.max(1)) * 8;
        self.files().map(sums).fold(16 << 20, u64::saturating_add)
    }

    /// Returns the most bytes that the index of a direction's lists takes, including its source.
    pub(crate) fn index_memory(entry: &AdjacencyEntry) -> u64 {
        (2 * entry.stored).saturating_add(entry.lengths.len.max(entry.degrees.len))
    }

    /// Returns a hash of everything that a reader can see: not of the identity, the pages, the
    /// directories or the report. 16 hexadecimal digits.
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

    /// The format of the store: 1, or the newer one that a section asks for in its field `format`.
    pub fn format(&self) -> u32 {
        self.sections.values().filter_map(Section::format).fold(1, u32::max)
    }

    /// Returns the bytes of a manifest file.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the report does not serialise.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = format!("nakshi manifest {}\n", self.format()).into_bytes();
        serde_json::to_writer_pretty(&mut bytes, self)
            .map_err(|e| Error::Invalid(format!("the manifest does not serialise: {e}")))?;
        bytes.push(b'\n');
        let sum = crc32c(&bytes);
        bytes.extend_from_slice(format!("crc32c {sum:08x}\n").as_bytes());
        Ok(bytes)
    }

    /// Parses the bytes of a manifest file; `path` is for messages.
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

/// Computes the CRC-32C (Castagnoli) at the end of manifests, checksum tables and logs.
pub fn crc32c(bytes: &[u8]) -> u32 {
    // a CRC-32 fits 32 bits
    (crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) & 0xffff_ffff) as u32
}

/// Computes the CRC-64/NVME.
pub(crate) fn crc64(bytes: &[u8]) -> u64 {
    crc_fast::checksum(CONTENT_CRC, bytes)
}

/// The CRC of content hashes.
pub(crate) const CONTENT_CRC: crc_fast::CrcAlgorithm = crc_fast::CrcAlgorithm::Crc64Nvme;
