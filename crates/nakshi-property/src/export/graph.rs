//! The graph of a store with properties after the last commit, its rows, and the progress of an
//! export.

use std::collections::HashMap;

use crate::{PropertyEntry, PropertyGraph, PropertySpec, PropertyStore, Value};
use nakshi_store::export::ExportSource;
use nakshi_store::import::{Hooks, Progress};
use nakshi_store::{Manifest, OpenOptions, Result};

/// Bytes of memory that the properties of a store and the ids of its nodes take.
pub(super) fn need(manifest: &Manifest) -> Result<u64> {
    let Some(entry) = PropertyEntry::of(manifest)? else { return Ok(0) };
    let ids = &manifest.ids;
    let ids = [&ids.keys, &ids.blocks, &ids.internal, &ids.ranks];
    let files = entry.files().chain(ids.into_iter().flatten()).map(|file| file.len);
    Ok(files.sum())
}

/// Opens the graph after the last commit.
pub(super) fn snapshot(source: &ExportSource<'_>, memory: Option<u64>) -> Result<PropertyGraph> {
    let cancel = source.hooks.cancel.clone();
    let options = OpenOptions { memory, cancel, ..OpenOptions::default() };
    Ok(PropertyStore::open(source.store.path(), &options)?.snapshot())
}

/// Columns of properties, which bring the values of a row into the order of the columns.
pub(super) struct PropertyColumns<'g> {
    specs: Vec<&'g PropertySpec>,
    places: HashMap<&'g str, usize>,
    row: Vec<Value>,
}

impl<'g> PropertyColumns<'g> {
    pub fn of(specs: impl Iterator<Item = &'g PropertySpec>) -> Self {
        let specs: Vec<&PropertySpec> = specs.collect();
        let places = specs.iter().enumerate().map(|(at, spec)| (spec.name.as_str(), at)).collect();
        PropertyColumns { specs, places, row: Vec::new() }
    }

    pub fn specs(&self) -> impl Iterator<Item = &'g PropertySpec> {
        self.specs.iter().copied()
    }

    /// The values of a row in the order of the columns, null where there is none. `values` may have
    /// any order.
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

/// Counter of rows, which checks the cancel token and reports progress at times.
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

    /// Number of rows that were counted.
    pub fn done(&self) -> u64 {
        self.done
    }
}
