//! Writing that fails or is killed at every operation: a directory is there
//! whole or not at all, a replaced file is the old one or the new one.
#![allow(clippy::unwrap_used)]

use nakshi_io::write::{
    AtomicDir, FAULT_VARIABLE, FaultyFs, FileLock, PoisonFile, RealFs, SyncFile, WriteFault,
    WriteFile, WriteFs, default_fs, replace_file, write_file,
};
use nakshi_io::{CancelToken, Error, PagedFile, Result, Salt, Striping, default_backend};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const SALT: Salt = Salt { store: [9; 16], file: 1 };
/// Tells the child of `killed_at_every_operation` where to build.
const CHILD_VARIABLE: &str = "NAKSHI_TEST_BUILD";

fn contents() -> Vec<u8> {
    (0..2_500_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Builds the directory of the tests in this file: a file of three writes, and a small one with its
/// description.
fn build(fs: Arc<dyn WriteFs>, dest: &Path) -> Result<()> {
    let mut dir = AtomicDir::create(Arc::clone(&fs), dest, "tag")?;
    dir.annex(&[annex(dest)])?;
    let mut file = SyncFile::create(&*fs, Striping::single(dir.path().join("data")), 4096, SALT)?;
    for part in contents().chunks(300_000) {
        file.append(part)?;
    }
    let written = file.finish()?;
    let sums: Vec<u8> = written.checksums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    write_file(&*fs, &dir.path().join("sums"), &sums)?;
    dir.publish()
}

/// A place for the directory, in a folder of its own beside one for its annex.
fn place() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    for folder in ["here", "there"] {
        std::fs::create_dir(home.path().join(folder)).unwrap();
    }
    let dest = home.path().join("here/store");
    (home, dest)
}

fn annex(dest: &Path) -> PathBuf {
    dest.ancestors().nth(2).unwrap().join("there/part-tag")
}

fn names(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The names in both folders.
fn found(dest: &Path) -> Vec<PathBuf> {
    [dest, &annex(dest)].into_iter().flat_map(|path| names(path.parent().unwrap())).collect()
}

/// Returns true if the directory is there; if so it must be complete.
fn is_complete(dest: &Path) -> bool {
    if !dest.exists() {
        return false;
    }
    assert!(annex(dest).exists());
    let sums = std::fs::read(dest.join("sums")).unwrap();
    let sums =
        sums.chunks_exact(4).map(|sum| u32::from_le_bytes(sum.try_into().unwrap())).collect();
    let mut striping = Striping::single(dest.join("data"));
    striping.stripe = 4096;
    let len = contents().len() as u64;
    let spec = nakshi_io::FileSpec { striping, len, page_size: 4096, salt: SALT, checksums: sums };
    let file = PagedFile::open(&default_backend(), &spec).unwrap();
    assert!(*file.load(&CancelToken::new()).unwrap() == *contents());
    true
}

/// Seen red with `AtomicDir::create` making the directory under its final name
/// (half a directory), and with its `Drop` removing nothing (leftovers).
#[test]
fn failing_at_every_operation() {
    for action in ["eio", "enospc"] {
        for nth in 0.. {
            let (_home, dest) = place();
            let fault: WriteFault = format!("any:{nth}:{action}").parse().unwrap();
            let fs = Arc::new(FaultyFs::new(Arc::new(RealFs::new()), vec![fault]));
            let result = build(fs.clone(), &dest);
            if fs.operations() <= nth {
                result.unwrap();
                assert!(is_complete(&dest));
                assert!(nth >= 9, "only {nth} operations were counted");
                break;
            }
            let error = result.unwrap_err();
            match action {
                "eio" => assert!(matches!(error, Error::Io { .. }), "{error}"),
                _ => assert!(matches!(error, Error::NoSpace { needed: 1.., .. }), "{error}"),
            }
            assert!(error.path().is_some());
            if is_complete(&dest) {
                // Only the very last fsync failed.
                assert_eq!(nth + 1, fs.operations());
            } else {
                assert_eq!(found(&dest), Vec::<PathBuf>::new());
                build(default_fs(), &dest).unwrap();
                assert!(is_complete(&dest));
            }
            assert_eq!(found(&dest), [dest.clone(), annex(&dest)]);
        }
    }
}

/// Runs only as a child of the next test.
#[test]
fn child_that_builds() {
    if let Some(dest) = std::env::var_os(CHILD_VARIABLE) {
        build(default_fs(), Path::new(&dest)).unwrap();
    }
}

/// Seen red with `AtomicDir::create` making the directory under its final name,
/// and with leftovers of dead builds, or only their annexes, not removed.
#[test]
fn killed_at_every_operation() {
    for nth in 0.. {
        let (_home, dest) = place();
        let action = if nth % 2 == 0 { "kill" } else { "tear" };
        let child = |fault: &str| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child_that_builds"])
                .env(CHILD_VARIABLE, &dest)
                .env(FAULT_VARIABLE, fault)
                .output()
                .unwrap()
        };
        let output = child(&format!("any:{nth}:{action}"));
        if output.status.success() {
            assert!(is_complete(&dest));
            assert!(nth >= 9, "only {nth} operations were counted");
            break;
        }
        assert_eq!(
            output.status.code(),
            None,
            "not killed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        if !is_complete(&dest) {
            assert!(child("").status.success());
            assert!(is_complete(&dest));
            assert_eq!(found(&dest), [dest.clone(), annex(&dest)]);
        }
    }
}

/// A second fsync may report success although the data of a failed one are lost.
/// Seen red with `PoisonFile` not setting `poisoned`.
#[test]
fn a_failed_fsync_poisons() {
    let home = tempfile::tempdir().unwrap();
    let fs = FaultyFs::new(Arc::new(RealFs::new()), vec!["fsync:1:eio".parse().unwrap()]);
    let mut file = PoisonFile::new(fs.create(&home.path().join("log")).unwrap());
    file.append(b"one").unwrap();
    file.sync().unwrap();
    file.append(b"two").unwrap();
    assert!(matches!(file.sync(), Err(Error::Io { op: "fsync", .. })));
    assert!(matches!(file.sync(), Err(Error::Poisoned { .. })));
    assert!(matches!(file.append(b"three"), Err(Error::Poisoned { .. })));
}

/// Seen red with `SyncFile::write_out` not setting `poisoned`.
#[test]
fn a_failed_write_poisons_all_stripes() {
    let home = tempfile::tempdir().unwrap();
    let fs = FaultyFs::new(Arc::new(RealFs::new()), vec!["write:1:enospc".parse().unwrap()]);
    let paths = vec![home.path().join("0"), home.path().join("1")];
    let mut file = SyncFile::create(&fs, Striping { paths, stripe: 1 << 20 }, 4096, SALT).unwrap();
    assert!(matches!(file.append(&contents()), Err(Error::NoSpace { needed: 524_288, .. })));
    assert!(matches!(file.append(&[1]), Err(Error::Poisoned { .. })));
    assert!(matches!(file.finish(), Err(Error::Poisoned { .. })));
}

/// Seen red with `replace_file` writing to the file itself.
#[test]
fn a_replaced_file_is_the_old_or_the_new_one() {
    for nth in 0.. {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("MANIFEST");
        replace_file(&RealFs::new(), &path, b"old").unwrap();
        let fs =
            FaultyFs::new(Arc::new(RealFs::new()), vec![format!("any:{nth}:eio").parse().unwrap()]);
        let result = replace_file(&fs, &path, b"new");
        let found = std::fs::read(&path).unwrap();
        if fs.operations() <= nth {
            result.unwrap();
            assert_eq!(found, b"new");
            break;
        }
        result.unwrap_err();
        assert!(found == b"old" || found == b"new" && nth >= 4);
        replace_file(&RealFs::new(), &path, b"newest").unwrap();
        assert_eq!(names(home.path()), [path]);
    }
}

#[test]
fn one_builder_at_a_time_and_nothing_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let dest = home.path().join("store");
    let first = AtomicDir::create(default_fs(), &dest, "1").unwrap();
    assert!(matches!(AtomicDir::create(default_fs(), &dest, "2"), Err(Error::Locked { .. })));
    first.publish().unwrap();
    assert!(matches!(AtomicDir::create(default_fs(), &dest, "3"), Err(Error::Exists { .. })));
    let other = AtomicDir::create(default_fs(), &home.path().join("b"), "4").unwrap();
    std::fs::create_dir(other.dest()).unwrap();
    assert!(matches!(other.publish(), Err(Error::Exists { .. })));
    let missing = home.path().join("no/such");
    let error = AtomicDir::create(default_fs(), &missing, "5").unwrap_err();
    assert_eq!(error.path(), missing.parent());
}

#[test]
fn a_lock_is_free_again_when_dropped() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("LOCK");
    let lock = FileLock::acquire(&path).unwrap();
    assert!(matches!(FileLock::acquire(&path), Err(Error::Locked { .. })));
    drop(lock);
    drop(FileLock::temporary(&path).unwrap());
    assert!(!path.exists());
}

#[test]
fn faults_are_read_as_documented() {
    use nakshi_io::write::{WriteAction::*, WriteOp};
    let parse = |text: &str| text.parse::<WriteFault>();
    let fault = parse("write:17+:kill").unwrap();
    assert_eq!(
        (fault.op, fault.nth, fault.onwards, fault.action),
        (Some(WriteOp::Write), 17, true, Kill)
    );
    assert_eq!(parse("any:0:tear").unwrap().op, None);
    for bad in ["", "write", "write:x:kill", "write:1:explode", "walk:1:kill", "write:1:kill:2"] {
        assert!(matches!(parse(bad), Err(Error::Unsupported { .. })), "{bad}");
    }
}
