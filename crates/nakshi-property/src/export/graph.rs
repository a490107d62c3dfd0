//! Stores with properties: the graph after the last commit, its rows, and how far it is.

use std::collections::HashMap;

use crate::{PropertyEntry, PropertyGraph, PropertySpec, PropertyStore, Value};
use nakshi_store::export::ExportSource;
use nakshi_store::import::{Hooks, Progress};
use nakshi_store::{Manifest, OpenOptions, Result};

/// Bytes of memory that the properties of a store take, with the ids of its nodes.
pub(super) fn need(manifest: &Manifest) -> Result<u64> {
    let Some(entry) = PropertyEntry::of(manifest)? else { return Ok(0) };
    let ids = &manifest.ids;
    let ids = [&ids.keys, &ids.blocks, &ids.internal, &ids.ranks];
    let files = entry.files().chain(ids.into_iter().flatten()).map(|file| file.len);
    Ok(files.sum())
}

/// The graph after the last commit.
pub(super) fn snapshot(source: &ExportSource<'_>, memory: Option<u64>) -> Result<PropertyGraph> {
    let cancel = source.hooks.cancel.clone();
    let options = OpenOptions { memory, cancel, ..OpenOptions::default() };
    Ok(PropertyStore::open(source.store.path(), &options)?.snapshot())
}

/// Columns of properties, and the values of a row in their order.
pub(super) struct Columns<'g> {
    specs: Vec<&'g PropertySpec>,
    places: HashMap<&'g str, usize>,
    row: Vec<Value>,
}

impl<'g> Columns<'g> {
    pub fn of(specs: impl Iterator<Item = &'g PropertySpec>) -> Self {
        let specs: Vec<&PropertySpec> = specs.collect();
        let places = specs.iter().enumerate().map(|(at, spec)| (spec.name.as_str(), at)).collect();
        Columns { specs, places, row: Vec::new() }
    }

    pub fn specs(&self) -> impl Iterator<Item = &'g PropertySpec> {
        self.specs.iter().copied()
    }

    /// A row of these values, which may come in any order: null where there is none.
    pub fn row(
        &mut self,
        values: Vec<(&str, Value)>,
    ) -> impl Iterator<Item = (&'g PropertySpec, &Value)> {
        self.row.clear();
        self.row.resize(self.specs.len(), Value::Null);
        for (name, value) in values {
            let at = self.places.get(name).and_then(|&at| self.row.get_mut(at));
            if let Some(slot) = at {
                *slot = value;
            }
        }
        self.specs.iter().copied().zip(&self.row)
    }
}

/// Looks at the cancel token and tells how far it is, every now and then.
pub(super) struct Steps<'h> {
    hooks: &'h Hooks,
    phase: &'static str,
    done: u64,
    total: u64,
}

impl<'h> Steps<'h> {
    pub fn new(hooks: &'h Hooks, phase: &'static str, total: u64) -> Self {
        Steps { hooks, phase, done: 0, total }
    }

    /// Counts a row.
    pub fn next(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(1024) {
            self.hooks.check()?;
            let edges = if self.phase == "edges" { self.done } else { 0 };
            let (phase, done, total) = (self.phase, self.done, Some(self.total));
            self.hooks.tell(Progress { phase, done, total, edges });
        }
        Ok(())
    }

    /// Rows that were counted.
    pub fn done(&self) -> u64 {
        self.done
    }
}
