//! Targets of the fuzz tests; ordinary tests replay the stored corpus on them.
//!
//! Each function takes any bytes and returns. An error of the library is a good result; a panic is
//! a bug. So is a wrong answer, where it can be recognised: two decoders that disagree, or a store
//! that `check` finds damaged.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::import::{Format, Hooks, ImportOptions, Input, MINIMUM_MEMORY, import};
use crate::random::mix;
use crate::{Encoding, List, Manifest, OpenOptions, Store, check};

/// Decodes bytes as an edge list, with slack behind it (the vector decoder) and without (its scalar
/// twin); both must accept the same lists and read the same ids.
pub fn list(bytes: &[u8]) {
    for encoding in [Encoding::Raw, Encoding::Packed] {
        let mut slack = bytes.to_vec();
        slack.resize(bytes.len() + 64, 0xa5);
        let scalar = decode(encoding, bytes, bytes.len());
        let vector = decode(encoding, &slack, bytes.len());
        assert_eq!(scalar, vector, "the two decoders of {encoding:?} disagree");
    }
}

/// Returns all neighbours, or `None` if the bytes are no list.
fn decode(encoding: Encoding, bytes: &[u8], end: usize) -> Option<Vec<u32>> {
    let list = List::new(encoding, bytes, 0..end).ok()?.bounded(1 << 31);
    assert!(list.degree() <= 1 + 8 * end as u64, "a degree that its bytes cannot hold");
    let mut out = Vec::new();
    let read = list.blocks(|block| {
        out.extend_from_slice(block);
        // A header may promise any number of neighbours; some blocks are enough.
        if out.len() < 1 << 16 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    read.ok().map(|()| out)
}

/// Parses bytes as a manifest; an accepted manifest must survive being written and read again.
pub fn manifest(bytes: &[u8]) {
    let path = Path::new("MANIFEST-1");
    if let Ok(first) = Manifest::parse(path, bytes) {
        let written = first.to_bytes().expect("a manifest that was read can be written");
        let second = Manifest::parse(path, &written).expect("what was written can be read");
        assert_eq!(first.content_hash(), second.content_hash());
    }
}

macro_rules! imports {
    ($($(#[$about:meta])* $target:ident: $name:literal, $format:ident;)*) => {
        $($(#[$about])* pub fn $target(bytes: &[u8]) {
            through_import(&[($name, bytes)], Format::$format);
        })*
    };
}

imports! {
    /// Imports bytes as an edge list in text.
    edge_list: "edges.tsv", EdgeList;
    /// Imports bytes as adjacency lists in text.
    adjacency: "lists.adj", Adjacency;
    /// Imports bytes as a Matrix Market file.
    matrix_market: "matrix.mtx", MatrixMarket;
    /// Imports bytes as a METIS file.
    metis: "graph.metis", Metis;
    /// Imports bytes as the edge file of a Graphalytics graph without a vertex file.
    graphalytics: "graph.e", Graphalytics;
    /// Imports bytes as a Parquet file.
    parquet: "edges.parquet", Parquet;
    /// Imports bytes as an Arrow file or stream.
    arrow: "edges.arrow", Arrow;
}

/// Imports bytes as a gzip member that holds an edge list.
pub fn gzip(bytes: &[u8]) {
    through_import(&[("edges.tsv.gz", &[&[0x1f, 0x8b], bytes].concat())], Format::Auto);
}

/// Imports bytes as a zstd frame that holds an edge list.
pub fn zstd(bytes: &[u8]) {
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd], bytes].concat();
    through_import(&[("edges.tsv.zst", &frame)], Format::Auto);
}

/// Imports bytes as a graph of WebGraph's, whose file of properties they have up to the first zero.
pub fn webgraph(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (properties, graph) = (&bytes[..end], &bytes[(end + 1).min(bytes.len())..]);
    through_import(&[("g.graph", graph), ("g.properties", properties)], Format::WebGraph);
}

/// Writes files, imports the first with the smallest memory, and reads the whole result. The parity of its
/// first byte decides if edges have a direction.
fn through_import(files: &[(&str, &[u8])], format: Format) {
    let folder = ScratchFolder::new();
    let written =
        |(name, bytes): &(&str, &[u8])| std::fs::write(folder.0.join(name), bytes).is_ok();
    let Some((name, bytes)) = files.first().filter(|_| files.iter().all(written)) else { return };
    let (input, store) = (folder.0.join(name), folder.0.join("graph.nakshi"));
    let options = ImportOptions {
        directed: bytes.first().is_none_or(|byte| byte % 2 == 0),
        format,
        memory: MINIMUM_MEMORY,
        threads: 1,
        allow_empty: true,
        ..ImportOptions::default()
    };
    let report = import(vec![Input::Path(input)], &store, &options, &Hooks::default());
    let Ok(report) = report else {
        let left = std::fs::read_dir(&folder.0).map_or(0, Iterator::count);
        assert_eq!(left, files.len(), "a failed import leaves its input and nothing else");
        return;
    };
    let opened = Store::open(&store, &OpenOptions::default()).expect("what was imported opens");
    assert_eq!(opened.num_vertices(), report.vertices);
    assert_eq!(opened.num_edges(), report.edges);
    let checked = check(&store, &OpenOptions::default(), &[], &mut |_, _| {});
    let checked = checked.expect("what was imported can be checked");
    assert!(checked.ok, "{:?}", checked.problems);
}

/// A directory that is removed when it is dropped.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("nakshi-fuzz-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the directory for temporary files can be written");
        Self(path)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // A failure does no harm: the name of the directory is not used again.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Changes of inputs as a fuzzer makes them, drawn by splitmix64, so that a failure can be repeated.
#[derive(Debug)]
pub struct Mutations(u64);

impl Mutations {
    /// Draws that depend on the seed alone.
    pub fn new(seed: u64) -> Self {
        Mutations(seed)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) % bound.max(1) as u64) as usize
    }

    /// Flips, cuts, repeats and overwrites a copy of the bytes, with some bytes that inputs of a kind are
    /// sensitive to.
    pub fn of(&mut self, bytes: &[u8], sensitive: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.extend_from_within(at..),
                2 => bytes.insert(at.min(bytes.len()), self.below(256) as u8),
                _ if bytes.is_empty() => bytes.push(self.below(256) as u8),
                3 => bytes[at] ^= 1 << self.below(8),
                _ => bytes[at] = sensitive[self.below(sensitive.len())],
            }
        }
        bytes
    }
}
