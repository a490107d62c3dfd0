//! Readers over hostile bytes: no panic, memory in proportion to the input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use nakshi_store::import::{Format, Hooks, ImportOptions, Input, import, read_bytes};
use proptest::prelude::*;

/// Reads bytes in one format, with and without weights.
fn target(format: Format, bytes: &[u8]) {
    for weighted in [false, true] {
        let options =
            ImportOptions { format, weighted, memory: 64 << 20, ..ImportOptions::default() };
        // Any result is fine, as long as there is one.
        let _ = read_bytes(bytes, &options);
    }
}

fn all_targets(bytes: &[u8]) {
    for format in [
        Format::EdgeList,
        Format::Adjacency,
        Format::InAdjacency,
        Format::MatrixMarket,
        Format::Metis,
        Format::Parquet,
        Format::Arrow,
    ] {
        target(format, bytes);
    }
    for magic in [&[0x1f, 0x8b][..], &[0x28, 0xb5, 0x2f, 0xfd]] {
        target(Format::EdgeList, &[magic, bytes].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        all_targets(&bytes);
    }

    /// Bytes that look like numbers, separators and headers reach further.
    #[test]
    fn likely_bytes(words in proptest::collection::vec(
        prop_oneof![
            Just("%%MatrixMarket matrix coordinate real symmetric\n"), Just("3 3 2\n"), Just("\n"), Just(" "), Just(","),
            Just("\t"), Just("\""), Just("1"), Just("2"), Just("-1"), Just("007"), Just("18446744073709551615"), Just("99999999999999999999"),
            Just("4294967296 4294967296 1\n"), Just("NaN"), Just("1e400"), Just("%"), Just("#"), Just(":START_ID"), Just(":END_ID"),
            Just("\r\n"), Just("\u{feff}"), Just("a"), Just("2 1 111 65536\n"), Just("\0"),
        ], 0..40)) {
        let bytes = words.concat().into_bytes();
        all_targets(&bytes);
    }
}

/// Valid files with one byte changed.
#[test]
fn damaged_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("s");
    let edges = (0..500_u64).map(|i| (i % 37, i % 91));
    import(
        vec![Input::Edges(Box::new(edges))],
        &store,
        &ImportOptions::default(),
        &Hooks::default(),
    )
    .unwrap();
    let store = nakshi_store::Store::open(&store, &nakshi_store::OpenOptions::default()).unwrap();
    for (name, format) in [
        ("o.parquet", Format::Parquet),
        ("o.arrow", Format::Arrow),
        ("o.mtx", Format::MatrixMarket),
    ] {
        let path = dir.path().join(name);
        nakshi_store::export::export(&store, &path, &Default::default(), &Hooks::default())
            .unwrap();
        let bytes = std::fs::read(path).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 300 + 1) {
            for value in [0, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                target(format, &damaged);
            }
            target(format, &bytes[..at]);
        }
    }
}

/// Counts what is allocated at most at a time, in this thread's test only.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)]
// SAFETY: every call goes to the system allocator unchanged; the counters are plain atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Headers that promise much, and compressed zeros. Other tests may run beside this one, so a
/// bound that a bomb would break by far is enough. Not yet seen red; to be planted: `Vec::with_capacity(entries)`
/// in the Matrix Market reader.
#[test]
fn bombs() {
    let zeros = vec![b'\n'; 16 << 20];
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, &zeros).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = zstd::encode_all(zeros.as_slice(), 3).unwrap();
    drop(zeros);
    let cases: [(&[u8], Format); 4] = [
        (&gzip, Format::EdgeList),
        (&zstd, Format::EdgeList),
        (b"%%MatrixMarket matrix coordinate real general\n4294967296 4294967296 9999999999999999\n1 1 1\n", Format::MatrixMarket),
        (b"4294967296 9999999999999999 111 65536\n1 1 1\n", Format::Metis),
    ];
    for (bytes, format) in cases {
        MOST.store(NOW.load(Ordering::Relaxed), Ordering::Relaxed);
        let before = NOW.load(Ordering::Relaxed);
        target(format, bytes);
        let used = MOST.load(Ordering::Relaxed).saturating_sub(before);
        assert!(used < 512 << 20, "{used} bytes for an input of {}", bytes.len());
    }
}

/// Ids that collide in a table without a secret: equal low bits, and multiples of a large power
/// of two. Compared with random ids of the same length. Not yet seen red; to be planted: the key's length as its
/// hash.
#[test]
fn crafted_ids_cost_what_random_ones_do() {
    let count = 200_000_u64;
    let time = |id: &dyn Fn(u64) -> u64| {
        let dir = tempfile::tempdir().unwrap();
        let edges: Vec<(u64, u64)> = (0..count).map(|i| (id(i), id((i + 1) % count))).collect();
        let started = Instant::now();
        let report = import(
            vec![Input::Edges(Box::new(edges.into_iter()))],
            &dir.path().join("s"),
            &ImportOptions::default(),
            &Hooks::default(),
        );
        assert_eq!(report.unwrap().vertices, count);
        started.elapsed()
    };
    let random = time(&|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63);
    let crafted = time(&|i| (i << 40) | 1 << 63);
    // A quadratic table would take a hundred times as long; a busy machine may double a time.
    assert!(
        crafted < random * 10 + std::time::Duration::from_secs(2),
        "{crafted:?} against {random:?}"
    );
}
