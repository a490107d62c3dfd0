//! Deep check of a store: every page, every list, every id. The door of this layer:
//!
//! - [`check`], [`CheckReport`]: check a store, and its result;
//! - `pages`: every page against its checksum, every file against its content hash;
//! - `lists`: every list decodes, is ascending and in range; degrees, heads and totals agree; the
//!   two directions hold the same edges;
//! - `ids`: external ids are ascending and distinct, both orders are inverse to each other;
//! - [`SectionCheck`]: the part of a check that the owner of a section of the manifest makes.

mod ids;
mod lists;
mod pages;

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;
use serde::Serialize;

use crate::{CachePlan, Error, Manifest, OpenOptions, Result, Store};

/// Number of problems that are kept; further ones are only counted.
const KEPT: usize = 1000;

/// The counts and findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// True if no problem was found.
    pub ok: bool,
    /// Pages read and compared with their checksums.
    pub pages: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Lists decoded.
    pub lists: u64,
    /// List entries decoded.
    pub entries: u64,
    /// Number of problems.
    pub damage: u64,
    /// One line for each of the first thousand problems, with file and page.
    pub problems: Vec<String>,
}

/// Progress of a check: bytes done of bytes to read. Errors of files become problems.
struct Checker<'a> {
    store: &'a Arc<Store>,
    options: &'a OpenOptions,
    /// Memory for the sections of the manifest; without a limit if not given.
    for_sections: Option<u64>,
    report: CheckReport,
    done: u64,
    total: u64,
    progress: &'a mut dyn FnMut(u64, u64),
}

/// The part of a check that belongs to the owner of a section of the manifest. The pages of the
/// section's files are compared with their checksums without it.
pub trait SectionCheck {
    /// Returns the least bytes of memory for [`SectionCheck::verify`]; 0 for a store without the
    /// section.
    fn memory(&self, store: &Arc<Store>, cancel: &CancelToken) -> u64;

    /// Reads all of the section of `store` within `memory` bytes, or without a limit if not given;
    /// `problem` gets a line for each problem. Does nothing for a store without the section.
    ///
    /// # Errors
    /// Damage that prevents reading on, which becomes a problem as well; [`Error::Cancelled`],
    /// [`Error::Budget`], which end the check.
    fn verify(
        &self,
        store: &Arc<Store>,
        memory: Option<u64>,
        cancel: &CancelToken,
        problem: &mut dyn FnMut(String),
    ) -> Result<()>;
}

/// Reads all of the store at `path` and reports every problem in it. `progress` gets bytes done and
/// bytes to read. Writes nothing. Uses one thread, since the disk takes most of the time. Memory:
/// about a byte a vertex and direction, degrees and heads as they are on disk, and eight bytes a
/// vertex while ids are checked if the layout moved them.
/// `sections` check the sections of the manifest.
///
/// # Errors
/// Only errors that prevent the check: no store, no readable manifest, [`Error::Budget`] at once if
/// the memory of `options` is too little, [`Error::Cancelled`]. Damage is in the report.
pub fn check(
    path: impl AsRef<Path>,
    options: &OpenOptions,
    sections: &[&dyn SectionCheck],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<CheckReport> {
    let store = Store::open(path, options)?;
    let manifest = store.manifest();
    let memory = sections.iter().map(|section| section.memory(&store, &options.cancel));
    let needed = need(manifest);
    Error::afford(memory.fold(needed, u64::saturating_add), options.memory)?;
    let total =
        manifest.files().chain(manifest.adjacency.iter().map(|a| &a.lists)).map(|f| f.len).sum();
    let mut checker = Checker {
        store: &store,
        options,
        for_sections: options.memory.map(|given| given.saturating_sub(needed)),
        report: CheckReport::default(),
        done: 0,
        total,
        progress,
    };
    checker.pages()?;
    // damaged pages would make everything that is built from them wrong too
    if checker.report.damage == 0 {
        checker.lists()?;
        checker.ids()?;
        checker.sections(sections)?;
    }
    // The manifest does not name the plan.
    if let Err(error) = CachePlan::load(&store) {
        checker.note(error)?;
    }
    let mut report = checker.report;
    report.ok = report.damage == 0;
    Ok(report)
}

/// Returns the most bytes of memory that a check takes, apart from sections.
fn need(manifest: &Manifest) -> u64 {
    let lists = manifest.adjacency.iter().flat_map(|a| {
        let list = a.max_list_bytes.saturating_mul(2);
        [Manifest::index_memory(a), a.degrees.len, a.heads.len, list]
    });
    let ids = &manifest.ids;
    let orders = if ids.internal.is_some() { 8 * manifest.vertices } else { 0 };
    let blocks = ids.blocks.as_ref().map_or(0, |file| file.len);
    lists.chain([orders, blocks]).fold(manifest.reading_memory(), u64::saturating_add)
}

impl Checker<'_> {
    fn problem(&mut self, what: impl Into<String>) {
        self.report.damage += 1;
        if self.report.problems.len() < KEPT {
            self.report.problems.push(what.into());
        }
    }

    fn sections(&mut self, sections: &[&dyn SectionCheck]) -> Result<()> {
        let (store, memory, options) = (self.store, self.for_sections, self.options);
        for section in sections {
            let told = &mut |what| self.problem(what);
            let done = section.verify(store, memory, &options.cancel, told);
            done.or_else(|error| self.note(error))?;
        }
        Ok(())
    }

    /// Turns an error into a problem, unless it ends the check.
    fn note(&mut self, error: Error) -> Result<()> {
        match error {
            Error::Cancelled | Error::Budget { .. } => Err(error),
            other => {
                self.problem(other.to_string());
                Ok(())
            }
        }
    }

    fn advance(&mut self, bytes: u64) -> Result<()> {
        self.done += bytes;
        (self.progress)(self.done, self.total);
        Ok(self.options.cancel.check()?)
    }
}
