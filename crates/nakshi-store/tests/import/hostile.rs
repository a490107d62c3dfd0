//! Readers over hostile bytes: no panic, memory in proportion to the input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use nakshi_store::import::{Format, Hooks, ImportOptions, Input, import, read_bytes};
use proptest::prelude::*;

/// Reads bytes in one format, with and without weights.
fn target(format: Format, bytes: &[u8]) {
    for weighted in [false, true] {
        let options =
            ImportOptions { format, weighted, memory: 64 << 20, ..ImportOptions::default() };
        // Any result is fine.
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

    /// Seen red with a panic of the Matrix Market reader at a short first line.
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        all_targets(&bytes);
    }

    /// Bytes that look like numbers, separators and headers reach further. Seen red like the one
    /// above.
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

/// A file with 500 edges as `export` writes it.
fn exported(name: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let (store, path) = (dir.path().join("s"), dir.path().join(name));
    let edges = Input::Edges(Box::new((0..500_u64).map(|i| (i % 37, i % 91))));
    import(vec![edges], &store, &ImportOptions::default(), &Hooks::default()).unwrap();
    let store = nakshi_store::Store::open(&store, &nakshi_store::OpenOptions::default()).unwrap();
    nakshi_store::export::export_edges(&store, &path, &Default::default(), &Hooks::default())
        .unwrap();
    std::fs::read(path).unwrap()
}

/// Returns the memory allowed for a damaged file: in proportion to its size, plus twice the buffers
/// of the undamaged file.
fn allowance(format: Format, bytes: &[u8]) -> usize {
    2 * peak(|| target(format, bytes)) + 16 * bytes.len() + (1 << 20)
}

/// Valid files with one byte changed cause no panic, and take no more memory than is allowed.
///
/// Seen red with a panic of the Matrix Market reader at a short first line.
#[test]
fn damaged_files() {
    for (name, format) in [
        ("o.parquet", Format::Parquet),
        ("o.arrow", Format::Arrow),
        ("o.mtx", Format::MatrixMarket),
    ] {
        let bytes = exported(name);
        let allowed = allowance(format, &bytes);
        for at in (0..bytes.len()).step_by(bytes.len() / 300 + 1) {
            for value in [0, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let used = peak(|| target(format, &damaged));
                assert!(used <= allowed, "{name}: {used} bytes with byte {at} set to {value}");
            }
            target(format, &bytes[..at]);
        }
    }
}

/// The header of a Parquet page that promises more than there is.
///
/// Seen red with `check_page` left out.
#[test]
fn a_page_that_promises_too_much() {
    let bytes = exported("o.parquet");
    let allowed = allowance(Format::Parquet, &bytes);
    // Behind the magic are the kind of the page and its size, as numbers of 7 bits a byte.
    let (kind, rest) = bytes[4..].split_first_chunk::<2>().unwrap();
    assert_eq!((kind[0], rest[0]), (0x15, 0x15));
    let end = 2 + rest[1..].iter().position(|byte| byte & 0x80 == 0).unwrap();
    // 2^29 bytes. The bytes after the first page are misplaced then, and not needed.
    let size = [0x15, 0x80, 0x80, 0x80, 0x80, 0x04];
    let damaged = [&bytes[..6], &size, &rest[end..]].concat();
    let options = ImportOptions { format: Format::Parquet, ..ImportOptions::default() };
    let used = peak(|| {
        let error = read_bytes(&damaged, &options).unwrap_err().to_string();
        assert!(error.contains("claims to hold 536870912 bytes"), "{error}");
    });
    assert!(used <= allowed, "{used} bytes");
}

/// Returns the positions in an Arrow file of the blocks of its batches.
fn blocks(bytes: &[u8]) -> Vec<usize> {
    let end = bytes.len() - 10;
    let size = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    let footer = arrow_ipc::root_as_footer(&bytes[end - size..end]).unwrap();
    let place = |block: &arrow_ipc::Block| {
        bytes.windows(block.0.len()).rposition(|window| window == block.0).unwrap()
    };
    footer.recordBatches().unwrap().iter().map(place).collect()
}

/// Blocks of an Arrow file whose lengths and offsets promise more than there is.
///
/// Seen red with `check_blocks` and the comparison in `Seekable::bytes` left out: the error is
/// the same, but it is a caught panic.
#[test]
fn blocks_outside_an_arrow_file() {
    let bytes = exported("o.arrow");
    let options = ImportOptions { format: Format::Arrow, ..ImportOptions::default() };
    assert_eq!(read_bytes(&bytes, &options).unwrap(), 500);
    let at = blocks(&bytes)[0];
    let allowed = allowance(Format::Arrow, &bytes);
    // A block: offset, bytes of metadata and padding, bytes of its body.
    for (field, width) in [(0, 8), (8, 4), (16, 8)] {
        for value in [-1_i64, 0, 1 << 20, i64::from(i32::MAX), 1 << 40, i64::MAX] {
            let mut damaged = bytes.clone();
            let place = at + field..at + field + width;
            damaged[place].copy_from_slice(&value.to_le_bytes()[..width]);
            let used = peak(|| {
                let read = read_bytes(&damaged, &options);
                assert!(read.is_err() || damaged == bytes, "{field} {value}");
            });
            assert!(used <= allowed, "{used} bytes for field {field} set to {value}");
            assert_eq!(CAUGHT.get(), 0, "panics with field {field} set to {value}");
        }
    }
}

/// A long block that many entries name would expand to much more than the file.
///
/// Seen red with `check_blocks` left out.
#[test]
fn blocks_that_overlap() {
    let ends: arrow_array::ArrayRef = Arc::new(arrow_array::UInt64Array::from(vec![1; 5000]));
    let batch = RecordBatch::try_from_iter([("source", ends.clone()), ("target", ends)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.write(&batch.slice(0, 1)).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let options = ImportOptions { format: Format::Arrow, ..ImportOptions::default() };
    assert_eq!(read_bytes(&bytes, &options).unwrap(), 5001);
    let places = blocks(&bytes);
    bytes.copy_within(places[0]..places[0] + 24, places[1]);
    let error = read_bytes(&bytes, &options).unwrap_err().to_string();
    assert!(error.contains("blocks overlap"), "{error}");
}

/// An allocator that counts the bytes that each thread has allocated, and their maximum.
struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
    /// Panics of libraries.
    static CAUGHT: Cell<u32> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends has no counters any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        MOST.try_with(|most| most.set(most.get().max(now.get())))
    });
}

/// Returns the most bytes that this thread had allocated while `run` ran, beyond those before.
pub(crate) fn peak(run: impl FnOnce()) -> usize {
    // A panic of a library is caught; printing its backtrace would take more memory than its data.
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let caught = panic.location().is_some_and(|place| place.file().contains(".cargo"));
            if caught {
                CAUGHT.set(CAUGHT.get() + 1);
            } else {
                loud(panic);
            }
        }));
    });
    let before = NOW.get();
    MOST.set(before);
    run();
    usize::try_from(MOST.get() - before).unwrap_or(0)
}

#[allow(unsafe_code)]
// SAFETY: every call goes to the system allocator unchanged; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Headers that promise much, and compressed zeros. Seen red with `Vec::with_capacity(entries)` in
/// the Matrix Market reader, and with compressed input undone as a whole before it is read.
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
        let used = peak(|| target(format, bytes));
        assert!(used <= 16 * bytes.len() + (1 << 20), "{used} bytes for {} of input", bytes.len());
    }
}

/// Ids that collide in a table without a secret: equal low bits, and multiples of a large power
/// of two. Compared with random ids of the same length. Seen red with an integer's value as its
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
    // A quadratic table takes a hundred times as long; the second is a margin for a busy machine.
    assert!(
        crafted < random * 3 + std::time::Duration::from_secs(1),
        "{crafted:?} against {random:?}"
    );
}
