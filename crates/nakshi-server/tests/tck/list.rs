//! The list of scenarios that fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::judge::Failure;

/// Keys of a list, without its comments.
fn listed(name: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tck").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Fails if the list of a name has a scenario that passes, or lacks one that fails.
pub fn compare(name: &str, failures: &BTreeMap<String, Failure>) {
    let listed = listed(name);
    let mut text = String::new();
    for (key, failure) in failures.iter().filter(|(key, _)| !listed.contains(*key)) {
        let _ = writeln!(text, "fails, and is not in the list: {key}\n    {}", failure.what);
    }
    for key in listed.iter().filter(|key| !failures.contains_key(*key)) {
        let _ = writeln!(text, "passes, and is in the list: {key}");
    }
    assert!(text.is_empty(), "\n{text}");
}
