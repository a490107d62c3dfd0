//! The list of scenarios that fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::judge::{Failure, Kind};

const KINDS: [(Kind, &str); 4] = [
    (Kind::Panic, "panics"),
    (Kind::WrongAnswer, "wrong answers"),
    (Kind::Error, "errors where there is an answer"),
    (Kind::WrongError, "no error, or another, where there is one"),
];

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tck/failing.txt")
}

/// Keys of the list, without its comments.
fn listed() -> BTreeSet<String> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Writes the list anew, by kind.
pub fn write(failures: &BTreeMap<String, Failure>) {
    let mut text = String::from("# Scenarios of openCypher's compatibility kit that fail.\n");
    for (kind, name) in KINDS {
        let keys: Vec<_> = failures.iter().filter(|(_, failure)| failure.kind == kind).collect();
        let _ = write!(text, "\n# {name}: {}\n", keys.len());
        for (key, _) in keys {
            let _ = writeln!(text, "{key}");
        }
    }
    std::fs::write(path(), text).unwrap();
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
