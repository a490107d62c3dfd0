//! Every backend returns the same bytes for all ways of asking.
#![allow(clippy::unwrap_used)]

use nakshi_io::write::{FinishedFile, SyncFile, default_fs};
use nakshi_io::{
    AutoBackend, BlockReader, CancelToken, IoStats, MemoryBackend, PagedFile, PreadBackend,
    ReaderOptions, Salt, StorageBackend, Striping,
};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

const SALT: Salt = Salt { store: *b"a store's uuid..", file: 3 };

/// Bytes in which no two 64-byte units are equal.
fn contents(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn write(dir: &Path, bytes: &[u8], page_size: u32, files: usize) -> FinishedFile {
    let paths = (0..files).map(|number| dir.join(format!("data.{number}"))).collect();
    let stripe = u64::from(page_size).max(4096);
    let mut file =
        SyncFile::create(&*default_fs(), Striping { paths, stripe }, page_size, SALT).unwrap();
    for part in bytes.chunks(10_007) {
        file.append(part).unwrap();
    }
    file.finish().unwrap()
}

fn backends() -> Vec<Arc<dyn StorageBackend>> {
    let mut all: Vec<Arc<dyn StorageBackend>> = vec![
        Arc::new(AutoBackend::new()),
        Arc::new(PreadBackend::new()),
        Arc::new(PreadBackend::buffered()),
    ];
    #[cfg(target_os = "linux")]
    if let Ok(uring) = nakshi_io::backend::UringBackend::new() {
        all.push(Arc::new(uring));
    }
    all
}

fn read_ranges(reader: &mut BlockReader, bytes: &[u8], ranges: &[std::ops::Range<u64>]) {
    for (token, range) in ranges.iter().enumerate() {
        reader.submit(range.clone(), token as u64).unwrap();
    }
    let mut seen = vec![false; ranges.len()];
    while let Some(block) = reader.next().unwrap() {
        let range = &ranges[block.token as usize];
        assert_eq!(&block.range, range);
        assert_eq!(block.bytes(), &bytes[range.start as usize..range.end as usize]);
        assert!(block.slack().len() >= block.bytes().len() + nakshi_io::SLACK);
        assert!(!std::mem::replace(&mut seen[block.token as usize], true));
    }
    assert!(seen.iter().all(|seen| *seen));
}

#[test]
fn every_backend_reads_what_was_written() {
    for base in [std::env::temp_dir(), "/dev/shm".into()] {
        let Ok(dir) = tempfile::tempdir_in(base) else { continue };
        for (number, (page, files, len)) in [
            (4096, 1, 3_000_001),
            (512, 1, 70_000),
            (4096, 3, 2_500_000),
            (1 << 20, 2, 5_000_000),
            (4096, 1, 0),
        ]
        .into_iter()
        .enumerate()
        {
            let dir = dir.path().join(number.to_string());
            std::fs::create_dir(&dir).unwrap();
            let bytes = contents(len);
            let written = write(&dir, &bytes, page, files);
            assert_eq!(written.len, len as u64);
            for backend in backends() {
                let file = PagedFile::open(&backend, &written.spec()).unwrap();
                let resident = file.load(&CancelToken::new()).unwrap();
                assert!(*resident == *bytes, "{backend:?}");
                assert!(resident.with_slack().len() >= len + nakshi_io::SLACK);
                let end = len as u64;
                let ranges = [
                    0..end.min(1),
                    end / 3..end,
                    0..end,
                    end / 2..end / 2,
                    end..end,
                    end / 7..end / 5,
                ];
                let mut reader = file.reader(3, Arc::new(IoStats::new())).unwrap();
                read_ranges(&mut reader, &bytes, &ranges);
                read_ranges(&mut reader, &bytes, &ranges);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Any ranges, any page size, any number of stripes.
    #[test]
    fn any_ranges_over_stripes(
        shift in 9u32..14,
        files in 1usize..4,
        len in 1usize..200_000,
        cuts in proptest::collection::vec((0.0f64..1.0, 0.0f64..1.0), 1..12),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let bytes = contents(len);
        let written = write(dir.path(), &bytes, 1 << shift, files);
        let at = |share: f64| (share * len as f64) as u64;
        let ranges: Vec<_> = cuts.iter().map(|&(a, b)| at(a.min(b))..at(a.max(b))).collect();
        let backend: Arc<dyn StorageBackend> = Arc::new(AutoBackend::new());
        let file = PagedFile::open(&backend, &written.spec()).unwrap();
        let options = ReaderOptions { depth: 2, block: 8192, cancel: None };
        let mut reader = file.reader_with(&options, Arc::new(IoStats::new())).unwrap();
        read_ranges(&mut reader, &bytes, &ranges);
    }
}

#[test]
fn memory_files_are_files() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = contents(50_000);
    let written = write(dir.path(), &bytes, 4096, 1);
    let memory = MemoryBackend::new();
    memory.insert(&written.striping.paths[0], bytes.clone());
    let backend: Arc<dyn StorageBackend> = Arc::new(memory);
    let file = PagedFile::open(&backend, &written.spec()).unwrap();
    assert!(*file.load(&CancelToken::new()).unwrap() == *bytes);
}
