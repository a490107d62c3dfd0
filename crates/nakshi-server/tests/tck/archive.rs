//! The files of the archive.

use std::collections::BTreeMap;

#[path = "../../../nakshi-engine/tests/archive/mod.rs"]
mod shared;

/// Texts by their path in the archive.
pub type Files = BTreeMap<String, String>;

/// The archive's files, or `None` with a reason on standard error.
pub fn files() -> Option<Files> {
    let found = shared::files("opencypher-tck.tar.zst")?;
    let text =
        |(name, bytes): (String, Vec<u8>)| (name, String::from_utf8_lossy(&bytes).into_owned());
    Some(found.into_iter().map(text).collect())
}

/// The queries that make the named graphs.
pub fn graphs(files: &Files) -> BTreeMap<String, String> {
    let queries = files.iter().filter(|(path, _)| path.ends_with(".cypher"));
    let named = queries.map(|(path, text)| {
        let name = path.rsplit('/').next().unwrap().trim_end_matches(".cypher");
        (name.to_owned(), text.clone())
    });
    named.collect()
}
