//! Temporary files of an import.

use std::path::Path;

use nakshi_io::write::{FaultyFs, RealFs, WriteFs};
use nakshi_store::Error;
use nakshi_store::generate::Kronecker;
use nakshi_store::import::{Hooks, ImportOptions, Input, Report, import, import_with};

const SCALE: u32 = 15;

fn options(scratch: Option<&Path>) -> ImportOptions {
    ImportOptions {
        directed: false,
        memory: 64 << 20,
        threads: 2,
        scratch: scratch.map(Path::to_path_buf),
        ..ImportOptions::default()
    }
}

fn kronecker(fs: Option<FaultyFs>, store: &Path, scratch: Option<&Path>) -> Result<Report, Error> {
    let graph = Kronecker::new(SCALE);
    let inputs = vec![Input::Generated(&graph)];
    match fs {
        Some(fs) => {
            let fs: std::sync::Arc<dyn WriteFs> = std::sync::Arc::new(fs);
            import_with(&fs, inputs, store, &options(scratch), &Hooks::default())
        }
        None => import(inputs, store, &options(scratch), &Hooks::default()),
    }
}

/// The directory of an import that fails at any operation is gone, too.
#[test]
fn another_directory_gives_the_same_store() {
    let home = tempfile::tempdir().unwrap();
    let (here, there) = (home.path().join("here"), home.path().join("there"));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&there).unwrap();
    let expected = kronecker(None, &here.join("a"), None).unwrap();
    let report = kronecker(None, &here.join("b"), Some(&there)).unwrap();
    assert_eq!(report.content_hash, expected.content_hash);
    assert_eq!(std::fs::read_dir(&there).unwrap().count(), 0);
    let missing = kronecker(None, &here.join("c"), Some(&home.path().join("nowhere")));
    assert!(missing.unwrap_err().to_string().contains("nowhere"));
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 2);
    // Every operation of the import fails once, those in the other directory too.
    let fs = FaultyFs::new(std::sync::Arc::new(RealFs::new()), Vec::new());
    kronecker(Some(fs.clone()), &here.join("d"), Some(&there)).unwrap();
    let step = fs.operations() / 20 + 1;
    for nth in (0..fs.operations()).step_by(step as usize) {
        let fault = format!("any:{nth}:enospc").parse().unwrap();
        let fs = FaultyFs::new(std::sync::Arc::new(RealFs::new()), vec![fault]);
        let store = here.join(format!("e{nth}"));
        let failed = kronecker(Some(fs), &store, Some(&there)).is_err();
        assert!(store.exists() || failed, "operation {nth}");
        assert_eq!(std::fs::read_dir(&there).unwrap().count(), 0, "operation {nth}");
    }
}

/// An edge is spooled once, and so is each of its two arcs, for which the space of the edges is given
/// back.
#[test]
fn an_edge_takes_few_bytes() {
    let home = tempfile::tempdir().unwrap();
    let report = kronecker(None, &home.path().join("s"), None).unwrap();
    assert!(report.scratch_written > report.edges_read);
    assert!(report.scratch_written < 10 * report.edges_read, "{report:?}");
    assert!(report.scratch_peak < report.scratch_written * 3 / 4, "{report:?}");
}
