//! Export of any store, with its properties if the format has room for them.
//!
//! - [`export`] writes the files, as [`ExportOptions`] say
//! - `tables` writes nodes and edges with all properties for Nakshi's import, `neo4j` for Neo4j's
//! - `graph` has the rows of both
//!
//! [`nakshi_store::export`] writes all other files.

mod graph;
mod neo4j;
mod tables;

use std::path::Path;

pub use nakshi_store::export::{ExportFormat, ExportOptions, Exported};

use crate::PropertyEntry;
use crate::topology::{EdgeWeight, Topology};
use nakshi_store::export::{ExportSource, choose};
use nakshi_store::import::Hooks;
use nakshi_store::{AmendOptions, Error, Result, Store};

/// Exports as [`nakshi_store::export::export_edges`], and a store with properties as tables of nodes
/// and edges with all of them. For Neo4j `path` is a directory, which must not exist. The
/// properties are those after the last commit; they are read into memory, as they are on disk.
///
/// # Errors
/// As [`nakshi_store::export::export_edges`]; [`Error::Invalid`] for a file of nodes beside files for
/// Neo4j.
pub fn export(
    store: &Store,
    path: &Path,
    options: &ExportOptions,
    hooks: &Hooks,
) -> Result<Exported> {
    match own_form(store, path, options)? {
        None if PropertyEntry::of(store.manifest())?.is_some() => {
            lists(store, path, options, hooks)
        }
        None => nakshi_store::export::export_edges(store, path, options, hooks),
        Some(OwnForm::Tables) => {
            let manifest = store.manifest();
            let needed = manifest.reading_memory().saturating_add(tables::need(manifest)?);
            Error::afford(needed, options.memory)?;
            let source = ExportSource { store, weight: None, hooks };
            tables::write(&source, path, options)
                .map_err(|error| hooks.check().err().unwrap_or(error))
        }
        Some(OwnForm::Neo4j) => {
            if options.memory.is_some() {
                let lists = nakshi_store::export::need(store, ExportFormat::Neo4j)?;
                let needed = lists.saturating_add(graph::need(store.manifest())?);
                Error::afford(needed, options.memory)?;
            }
            let source = ExportSource::new(store, options.weight.as_deref(), hooks)?;
            if options.nodes.is_some() {
                return Err(Error::Invalid(
                    "files for Neo4j have all nodes already; leave the file of nodes out".into(),
                ));
            }
            neo4j::neo4j(&source, path)
        }
    }
}

/// Writes the edge lists of a store with properties as they are after the last commit, with the property
/// that the options name as weight.
fn lists(store: &Store, path: &Path, options: &ExportOptions, hooks: &Hooks) -> Result<Exported> {
    let source = ExportSource { store, weight: None, hooks };
    let graph = graph::snapshot(&source, options.memory)?;
    let weight = options.weight.clone();
    let weight = weight.map(|property| EdgeWeight { property, missing: None });
    let amend = AmendOptions { memory: options.memory, threads: 1 };
    let store = graph.state().base.store()?;
    let topology = Topology::bring_up_to_date(&graph, &store, weight.as_ref(), amend, hooks)?;
    drop(graph);
    nakshi_store::export::export_edges(topology.store(), path, options, hooks)
}

/// The forms of files that this crate writes itself.
enum OwnForm {
    Tables,
    Neo4j,
}

/// The form of an export; `None` for edges alone.
fn own_form(store: &Store, path: &Path, options: &ExportOptions) -> Result<Option<OwnForm>> {
    let format = choose(options.format, path);
    if format == ExportFormat::Neo4j {
        return Ok(Some(OwnForm::Neo4j));
    }
    let has_properties = PropertyEntry::of(store.manifest())?.is_some();
    let tables = has_properties && !options.plain && tables::takes(format);
    Ok(tables.then_some(OwnForm::Tables))
}
