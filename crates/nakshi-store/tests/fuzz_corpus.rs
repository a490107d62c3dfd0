//! Replays the stored corpus of the fuzz targets, and mutations of it, as an ordinary test.
//!
//! Seen red with the bound on a packed list's degree taken out (`list`), and with a failed import
//! that kept its directory (`edge_list`).

use std::path::PathBuf;

use nakshi_store::fuzzing::{self, Mutations};

/// A target by name, as in `fuzz/fuzz_targets`.
type Target = fn(&[u8]);

const TARGETS: [(&str, Target, usize); 12] = [
    ("list", fuzzing::list, 2000),
    ("manifest", fuzzing::manifest, 500),
    ("edge_list", fuzzing::edge_list, 6),
    ("adjacency", fuzzing::adjacency, 4),
    ("matrix_market", fuzzing::matrix_market, 4),
    ("metis", fuzzing::metis, 4),
    ("webgraph", fuzzing::webgraph, 12),
    ("graphalytics", fuzzing::graphalytics, 4),
    ("parquet", fuzzing::parquet, 12),
    ("arrow", fuzzing::arrow, 12),
    ("gzip", fuzzing::gzip, 4),
    ("zstd", fuzzing::zstd, 4),
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("the corpus can be listed").path())
        .collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("the corpus can be read")).collect()
}

fn scale() -> usize {
    std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Bytes that texts and headers are sensitive to.
const SENSITIVE: [u8; 7] = [0, 0x7f, 0x80, 0xff, b'\n', b'-', b'9'];

#[test]
fn corpus_and_its_mutations_are_survived() {
    for (name, target, mutations) in TARGETS {
        let mut changed = Mutations::new(name.len() as u64);
        for bytes in corpus(name) {
            target(&bytes);
            for _ in 0..mutations * scale() {
                target(&changed.of(&bytes, &SENSITIVE));
            }
        }
    }
}
