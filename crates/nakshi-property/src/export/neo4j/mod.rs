//! A directory of CSV files for Neo4j's importer, in the vertex order of the store.
//!
//! - `nodes.csv` and `relationships.csv` have Neo4j's typed headers
//! - `import.sh` has the import command, which keeps the order: one thread reads the files, and
//!   Neo4j numbers records in the order in which they are read
//! - `folder` has the names of the files, `csv` writes quoted fields and Neo4j's values
//! - `plain` and `tables` write stores without and with properties

mod csv;
mod folder;
mod plain;
mod tables;

use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::{AtomicDir, default_fs, write_file};

use crate::PropertyEntry;
use folder::{NODES, OutputFolder, RELATIONSHIPS, SCRIPT, Written};
use nakshi_store::export::{ExportSource, Exported, Names};
use nakshi_store::files::{hex, new_uuid};
use nakshi_store::{Error, IdKind, Key, Result, Store};

/// Neo4j's importer stores ids below this number as integers, with their length in the bits above,
/// and all other ids as text.
const INTEGERS: u64 = 1 << 57;

/// Writes the directory `path`, which must not exist.
pub(super) fn neo4j(source: &ExportSource<'_>, path: &Path) -> Result<Exported> {
    if path.as_os_str() == "-" {
        return Err(Error::Invalid(
            "files for Neo4j go into a directory, not to standard output; name one".into(),
        ));
    }
    let fs = default_fs();
    let dir = AtomicDir::create(Arc::clone(&fs), path, &hex(&new_uuid()))?;
    let folder = OutputFolder { fs: &fs, path: dir.path() };
    let done = match PropertyEntry::of(source.store.manifest())? {
        Some(_) => tables::write(source, &folder),
        None => plain::write(source, &Names::load(source.store, source.hooks)?, &folder),
    };
    // Any error of a cancelled job becomes its cancellation.
    let written = done.map_err(|error| source.hooks.check().err().unwrap_or(error))?;
    let options = options(source.store, &written)?;
    let script = format!(
        "#!/bin/sh\n# Imports these files into Neo4j: $1 is the name of a new database.\n\
         # --threads=1 gives nodes and relationships their places in the order of the files.\n\
         cd \"$(dirname \"$0\")\" || exit\nexec {}\n",
        command("\"${1:-neo4j}\"", &options, NODES, RELATIONSHIPS)
    );
    write_file(fs.as_ref(), &dir.path().join(SCRIPT), script.as_bytes())?;
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let [nodes, edges] = [NODES, RELATIONSHIPS].map(|name| quoted(&whole.join(name)));
    let command = command("neo4j", &options, &nodes, &edges);
    source.hooks.check()?;
    dir.publish()?;
    Ok(Exported { edges: written.edges, nodes: None, command: Some(command) })
}

/// The shell command that imports the files in their order.
fn command(database: &str, options: &str, nodes: &str, edges: &str) -> String {
    format!(
        "neo4j-admin database import full {database} --threads=1{options} --nodes={nodes} \
         --relationships={edges}"
    )
}

/// Options of the import command.
fn options(store: &Store, done: &Written) -> Result<String> {
    let ids = store.ids()?;
    let small = |id: i64| u64::try_from(id).is_ok_and(|id| id < INTEGERS);
    let mut integers = matches!(ids.kind(), IdKind::Dense | IdKind::U64 | IdKind::I64);
    if integers {
        ids.for_each(|_, key| {
            integers &= match key {
                Key::I64(id) => small(id),
                Key::U64(id) => id < INTEGERS,
                Key::Bytes(_) => false,
            };
            Ok(())
        })?;
    }
    let ids = if integers { " --id-type=integer" } else { "" };
    let lines = if done.multiline { " --multiline-fields=true" } else { "" };
    Ok(format!("{ids}{lines}"))
}

/// Quotes a path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_of_a_shell() {
        assert_eq!(quoted(Path::new("/a/b-c.csv")), "/a/b-c.csv");
        assert_eq!(quoted(Path::new("/my $HOME/it's")), "'/my $HOME/it'\\''s'");
    }
}
