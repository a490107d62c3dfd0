//! The list of scenarios that fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::judge::Failure;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tck/failing.txt")
}

/// Keys of the list, without its comments.
fn listed() -> BTreeSet<String> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Fails if the list names a scenario that passes, or does not name one that fails.
pub fn compare(failures: &BTreeMap<String, Failure>) {
    let listed = listed();
    let mut text = String::new();
    for (key, failure) in failures.iter().filter(|(key, _)| !listed.contains(*key)) {
        let _ = writeln!(text, "fails, and is not in the list: {key}\n    {}", failure.what);
    }
    for key in listed.iter().filter(|key| !failures.contains_key(*key)) {
        let _ = writeln!(text, "passes, and is in the list: {key}");
    }
    assert!(text.is_empty(), "\n{text}");
}
