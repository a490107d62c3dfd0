//! Replays the stored corpus of the fuzz targets, and mutations of it, as an ordinary test.
//!
//! Seen red with the bound on a packed list's degree taken out (`list`), and with a failed import
//! that kept its directory (`edge_list`).

use std::path::PathBuf;

use nakshi_store::fuzzing;

/// A target by name, as in `fuzz/fuzz_targets`.
type Target = fn(&[u8]);

const TARGETS: [(&str, Target, usize); 11] = [
    ("list", fuzzing::list, 2000),
    ("manifest", fuzzing::manifest, 500),
    ("edge_list", fuzzing::edge_list, 6),
    ("adjacency", fuzzing::adjacency, 4),
    ("matrix_market", fuzzing::matrix_market, 4),
    ("metis", fuzzing::metis, 4),
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

/// A small generator, so that a failure can be repeated (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Flips, cuts, repeats and overwrites, as a fuzzer would.
fn mutate(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            2 => bytes.insert(at.min(bytes.len()), random.below(256) as u8),
            _ if bytes.is_empty() => bytes.push(random.below(256) as u8),
            3 => bytes[at] ^= 1 << random.below(8),
            _ => bytes[at] = [0, 0x7f, 0x80, 0xff, b'\n', b'-', b'9'][random.below(7)],
        }
    }
    bytes
}

#[test]
fn corpus_and_its_mutations_are_survived() {
    for (name, target, mutations) in TARGETS {
        let mut random = Random(name.len() as u64);
        for bytes in corpus(name) {
            target(&bytes);
            for _ in 0..mutations * scale() {
                let mutated = mutate(&bytes, &mut random);
                target(&mutated);
            }
        }
    }
}
