//! Damage, truncation, dying devices, refused system calls: an error that
//! names the place, never wrong bytes, never a crash, never a hang.
#![allow(clippy::unwrap_used)]

use nakshi_io::write::{FinishedFile, SyncFile, default_fs};
use nakshi_io::{
    AutoBackend, CachedReader, CancelToken, Error, FaultPlan, FaultyBackend, GatherOptions,
    IoStats, MemoryBackend, PageCache, PagedFile, PreadBackend, Request, Salt, StorageBackend,
    Striping,
};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SALT: Salt = Salt { store: *b"a store's uuid..", file: 3 };
/// Tells a child process what to do.
const CHILD_VARIABLE: &str = "NAKSHI_TEST_CHILD";

fn contents(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as u8).collect()
}

fn write(path: &Path, bytes: &[u8], page_size: u32) -> FinishedFile {
    let mut file =
        SyncFile::create(&*default_fs(), Striping::single(path), page_size, SALT).unwrap();
    file.append(bytes).unwrap();
    file.finish().unwrap()
}

fn load(backend: &Arc<dyn StorageBackend>, written: &FinishedFile) -> Result<Vec<u8>, Error> {
    Ok(PagedFile::open(backend, &written.spec())?.load(&CancelToken::new())?.to_vec())
}

/// Reads the whole file by selected reads.
fn gather(backend: &Arc<dyn StorageBackend>, written: &FinishedFile) -> Result<Vec<u8>, Error> {
    let file = PagedFile::open(backend, &written.spec())?;
    let cache = PageCache::new(64 << 10, written.page_size)?;
    let mut reader =
        CachedReader::new(&cache, &file, &GatherOptions::default(), Arc::new(IoStats::new()))?;
    let mut bytes = vec![0; written.len as usize];
    let starts = (0..written.len).step_by(1000);
    let requests: Vec<_> =
        starts.map(|at| Request { range: at..(at + 1000).min(written.len), token: at }).collect();
    reader.gather(&requests, &mut |token, slice| {
        let part: Vec<u8> = slice.segments().flatten().copied().collect();
        bytes[token as usize..token as usize + part.len()].copy_from_slice(&part);
        Ok(())
    })?;
    Ok(bytes)
}

/// S1: for every kind of damage, the error names the page.
/// Seen red with `PagedFile::verify` skipping the last page.
#[test]
fn all_damage_is_detected_with_its_page() {
    let home = tempfile::tempdir().unwrap();
    let bytes = contents(40 * 512 + 100);
    let written = write(&home.path().join("file"), &bytes, 512);
    let memory = MemoryBackend::new();
    let backend: Arc<dyn StorageBackend> = Arc::new(memory.clone());
    let damaged = |bytes: Vec<u8>, page: u64| {
        memory.insert(home.path().join("file"), bytes);
        for result in [load(&backend, &written), gather(&backend, &written)] {
            match result {
                Err(Error::Corrupt { file, page: found }) => {
                    assert_eq!((file, found), (home.path().join("file"), page));
                }
                other => panic!("page {page}: {other:?}"),
            }
        }
    };
    for at in (0..bytes.len()).step_by(64).chain([bytes.len() - 1]) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at / 64 % 8);
        damaged(bytes, at as u64 / 512);
    }
    for page in 0..40 {
        let mut zeroed = bytes.clone();
        zeroed[page * 512..(page + 1) * 512].fill(0);
        damaged(zeroed, page as u64);
        let mut swapped = bytes.clone();
        let other = (page + 7) % 40;
        swapped[page * 512..(page + 1) * 512]
            .copy_from_slice(&bytes[other * 512..(other + 1) * 512]);
        swapped[other * 512..(other + 1) * 512]
            .copy_from_slice(&bytes[page * 512..(page + 1) * 512]);
        damaged(swapped, page.min(other) as u64);
    }
    for len in [0, 1, 511, 512, 20_000, bytes.len() - 1] {
        memory.insert(home.path().join("file"), bytes[..len].to_vec());
        match load(&backend, &written) {
            Err(Error::Truncated { expected, found, .. }) => {
                assert_eq!((expected, found), (bytes.len() as u64, len as u64));
            }
            other => panic!("{len} bytes: {other:?}"),
        }
    }
    // Bytes behind the end of the file are not its own, and do no harm.
    memory.insert(home.path().join("file"), [&bytes[..], &[7; 2000]].concat());
    assert!(load(&backend, &written).unwrap() == bytes);
}

fn backends() -> Vec<Arc<dyn StorageBackend>> {
    vec![
        Arc::new(AutoBackend::new()),
        Arc::new(PreadBackend::new()),
        Arc::new(PreadBackend::buffered()),
    ]
}

/// S2: the file shrinks between two reads of a job.
/// Seen red (endless, then an error without sizes) with `may_repeat` not
/// looking at the file's length.
#[test]
fn truncation_while_reading_is_an_error() {
    for (number, backend) in backends().into_iter().enumerate() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(number.to_string());
        let bytes = contents(4 << 20);
        let written = write(&path, &bytes, 4096);
        let file = PagedFile::open(&backend, &written.spec()).unwrap();
        let mut reader = file.reader(2, Arc::new(IoStats::new())).unwrap();
        let cache = PageCache::new(1 << 20, 4096).unwrap();
        let mut cached =
            CachedReader::new(&cache, &file, &GatherOptions::default(), Arc::new(IoStats::new()))
                .unwrap();
        reader.submit(0..100_000, 0).unwrap();
        assert_eq!(reader.next().unwrap().unwrap().bytes(), &bytes[..100_000]);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(3_000_001).unwrap();
        let start = Instant::now();
        reader.submit(2_900_000..3_100_000, 1).unwrap();
        let truncated = |error: Error| match error {
            Error::Truncated { file, expected, found } => {
                assert_eq!((file, expected, found), (path.clone(), 4 << 20, 3_000_001));
            }
            other => panic!("{backend:?}: {other}"),
        };
        truncated(reader.next().unwrap_err());
        let far = Request { range: 4_000_000..4_000_001, token: 0 };
        truncated(cached.gather(&[far], &mut |_, _| Ok(())).unwrap_err());
        assert!(start.elapsed() < Duration::from_secs(1));
        // The pages that are still there are still served.
        let near = Request { range: 1_000..2_000, token: 0 };
        cached
            .gather::<Error>(&[near], &mut |_, slice| {
                assert_eq!(slice.contiguous(&mut Vec::new()), &bytes[1_000..2_000]);
                Ok(())
            })
            .unwrap();
    }
}

/// S2, E2: a device that goes away, at every read. Readers wait for slow devices.
#[test]
fn a_dying_device_is_an_error_at_once() {
    let home = tempfile::tempdir().unwrap();
    let bytes = contents(3 << 20);
    let written = write(&home.path().join("file"), &bytes, 4096);
    for from in 0.. {
        let plan = FaultPlan { gone_from: Some(from), ..FaultPlan::default() };
        let backend: Arc<dyn StorageBackend> =
            Arc::new(FaultyBackend::new(Arc::new(AutoBackend::new()), plan));
        let start = Instant::now();
        match load(&backend, &written) {
            Ok(found) => {
                assert!(found == bytes && from == 3);
                break;
            }
            Err(Error::Io { op: "read", path, source }) => {
                assert_eq!(
                    (path, source.raw_os_error()),
                    (home.path().join("file"), Some(libc::EIO))
                );
            }
            Err(other) => panic!("{other}"),
        }
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}

/// E2 over the real backend: short reads are repeated, readers wait for delays and at most 500
/// reads per second, errors and torn pages are errors. Seen red with short reads not repeated in
/// `Fetcher::arrived`.
#[test]
fn bad_devices_give_right_bytes_or_errors() {
    let home = tempfile::tempdir().unwrap();
    let bytes = contents(1 << 20);
    let written = write(&home.path().join("file"), &bytes, 4096);
    let scale: u64 =
        std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    let (mut good, mut bad) = (0, 0);
    for seed in 0..20 * scale {
        let sound = seed % 2 == 0;
        let plan = FaultPlan {
            seed,
            short: 0.2,
            delays: 0.05,
            delay: Duration::from_millis(20),
            iops: (seed % 5 == 0).then_some(500),
            errors: if sound { 0.0 } else { 0.01 },
            torn: if sound { 0.0 } else { 0.01 },
            ..FaultPlan::default()
        };
        let backend: Arc<dyn StorageBackend> =
            Arc::new(FaultyBackend::new(Arc::new(AutoBackend::new()), plan));
        match gather(&backend, &written) {
            Ok(found) => {
                assert!(found == bytes);
                good += 1;
            }
            Err(Error::Io { op: "read", .. } | Error::Corrupt { .. }) if !sound => bad += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(good >= 10 * scale && bad > 0, "{good} {bad}");
}

/// Runs only as a child of the tests below: prints the choice, reads a file.
#[test]
fn child_that_reads() {
    let Some(path) = std::env::var_os(CHILD_VARIABLE) else { return };
    let bytes = contents(2 << 20);
    let written = write(Path::new(&path), &bytes, 4096);
    let backend = nakshi_io::default_backend();
    assert!(load(&backend, &written).unwrap() == bytes);
    assert!(gather(&backend, &written).unwrap() == bytes);
    let found = nakshi_io::detect();
    println!("backend={} notes={:?}", found.backend, found.notes);
}

/// Runs a child that reads under `wrapper` (a command and its arguments) and returns its output;
/// `None` if there is no such command or it may not trace.
fn child(wrapper: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    let home = tempfile::tempdir().unwrap();
    let test = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(Path::new).chain([test.as_path()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["--exact", "child_that_reads", "--nocapture"]);
    command
        .env(CHILD_VARIABLE, home.path().join("file"))
        .env_remove("NAKSHI_IO")
        .env_remove("NAKSHI_DIRECT");
    let output = match command.envs(variables.iter().copied()).output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("PTRACE") || errors.contains("ptrace") {
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A container that refuses io_uring: the thread pool reads, and the notes say so.
/// Seen red with `AutoBackend::queue` returning the ring's error.
#[test]
#[cfg(target_os = "linux")]
fn refused_rings_are_replaced() {
    let normal = child(&["env"], &[]).unwrap();
    let pread = child(&["env"], &[("NAKSHI_IO", "pread")]).unwrap();
    assert!(pread.contains("backend=pread") && pread.contains("NAKSHI_IO"), "{pread}");
    if !normal.contains("backend=io_uring") {
        return;
    }
    let strace = |inject: &str| {
        let inject = format!("inject={inject}");
        child(&["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject], &[])
    };
    let Some(refused) = strace("io_uring_setup:error=EPERM") else { return };
    assert!(refused.contains("backend=pread") && refused.contains("not permitted"), "{refused}");
    // The first ring is a trial; the later ones find no memory.
    let later = strace("io_uring_setup:error=ENOMEM:when=2+").unwrap();
    assert!(later.contains("backend=pread") && later.contains("was refused"), "{later}");
    // The trial asks for the kernel's operations; then no buffers can be locked.
    let unlocked = strace("io_uring_register:error=ENOMEM:when=2+").unwrap();
    assert!(unlocked.contains("backend=io_uring"), "{unlocked}");
    let forbidden = strace("io_uring_enter:error=EPERM").unwrap();
    assert!(forbidden.contains("backend=pread"), "{forbidden}");
}

/// A file system without direct reads: reads are buffered, and a note says so once.
#[test]
fn refused_direct_reads_are_replaced() {
    let output = child(&["env"], &[("NAKSHI_DIRECT", "0")]).unwrap();
    assert_eq!(output.matches("are buffered").count(), 1, "{output}");
}
