//! A directory of CSV for Neo4j's importer, in the order of the layout.
//!
//! - `nodes.csv`, `relationships.csv`: with Neo4j's typed headers
//! - `import.sh`: the command that keeps the order, because records get their numbers in the order in
//!   which one thread reads them
//! - `folder`: their names; `csv`: files of quoted fields, and values as Neo4j writes them
//! - `plain`, `tables`: stores without and with properties

mod csv;
mod folder;
mod plain;
mod tables;

use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::{AtomicDir, default_fs, write_file};

use crate::PropertyEntry;
use folder::{Folder, NODES, RELATIONSHIPS, SCRIPT, Written};
use nakshi_store::export::{ExportSource, Exported, Names};
use nakshi_store::files::{hex, new_uuid};
use nakshi_store::{Error, IdKind, Key, Result, Store};

/// Ids below this number are integers to Neo4j's importer, which packs their length above them; it
/// takes all others as text.
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
    let folder = Folder { fs: &fs, path: dir.path() };
    let done = match PropertyEntry::of(source.store.manifest())? {
        Some(_) => tables::write(source, &folder),
        None => plain::write(source, &Names::load(source.store, source.hooks)?, &folder),
    };
    // Whatever a cancelled job stumbled over, it is its caller who ended it.
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

/// The command that imports the files in their order.
fn command(database: &str, options: &str, nodes: &str, edges: &str) -> String {
    format!(
        "neo4j-admin database import full {database} --threads=1{options} --nodes={nodes} \
         --relationships={edges}"
    )
}

/// Its options beside the files.
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

/// A path as a word of a shell.
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
