//! An amended store whose lists are all written anew, with a column of weights.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nakshi_io::run_workers;
use nakshi_io::write::WriteFs;

use super::job::{AmendJob, AmendOptions};
use super::places::{Amendment, NewNumbers};
use crate::budget::Budget;
use crate::emit::{Duplicates, EmitScratch, ListRules, emit};
use crate::hooks::{Hooks, Progress};
use crate::rewrite::RewriteOptions;
use crate::sort::pairs::sortable;
use crate::sort::partition::{ArcCells, Bucket, Ranges, Scatter, join};
use crate::sort::radix::Weighted;
use crate::sort::spill::Spill;
use crate::{
    BYTES_PER_VERTEX, ColumnSpec, Direction, Error, Manifest, Result, Store, StoreBuilder, VertexId,
};

/// Number of vertices whose edges a thread requests at once.
const BLOCK: u64 = 1 << 12;

/// Receiver of edges: source, target, and the weight as bits of an `i64` or `f64`.
type Tell<'t> = dyn FnMut(VertexId, VertexId, u64) -> Result<()> + 't;

/// Source of the edges of a range of vertices, in any order, by the numbers before removal.
pub type Arcs<'a> = dyn Fn(Range<u64>, &mut Tell<'_>) -> Result<()> + Sync + 'a;

/// Writes a graph to the new store `destination`: with the vertices of `source` and `changes`, which
/// keep their order, and with `arcs` as its edges. Each of these is a list entry of its own and has a
/// weight in `column`, whose type says whether the bits are those of an integer or of a float.
///
/// # Errors
/// As [`crate::amend()`]; those of `arcs`; [`Error::Invalid`] for a weight that the column cannot hold.
#[expect(clippy::too_many_arguments, reason = "each is of its own kind")]
pub fn amend_weighted(
    fs: &Arc<dyn WriteFs>,
    source: &Store,
    destination: &Path,
    changes: Amendment<'_>,
    column: ColumnSpec,
    arcs: &Arcs<'_>,
    options: AmendOptions,
    hooks: &Hooks,
) -> Result<Manifest> {
    if !source.directed() {
        return Err(Error::Unsupported("changes of an undirected graph".into()));
    }
    let places = NewNumbers::new(source.num_vertices(), changes)?;
    let memory = options.memory.unwrap_or(RewriteOptions::default().memory);
    let budget = Budget::new(memory, BYTES_PER_VERTEX * places.count(), options.threads)?;
    let job = AmendJob { source, changes, places, hooks, threads: budget.threads, room: 0 };
    let float = !column.ty.is_integer();
    let mut builder = StoreBuilder::create(
        Arc::clone(fs),
        destination,
        job.build_options(vec![column], options),
    )?;
    let done = job.write_ids(&mut builder).and_then(|()| {
        [Direction::Out, Direction::In].into_iter().try_for_each(|direction| {
            job.sorted(fs.as_ref(), &mut builder, direction, arcs, float, budget)
        })
    });
    done.map_err(|error| hooks.check().err().unwrap_or(error))?;
    builder.commit()
}

impl AmendJob<'_> {
    /// Sorts the edges into the lists of one direction.
    fn sorted(
        &self,
        fs: &dyn WriteFs,
        builder: &mut StoreBuilder,
        direction: Direction,
        arcs: &Arcs<'_>,
        float: bool,
        budget: Budget,
    ) -> Result<()> {
        self.hooks.check()?;
        nakshi_io::release_freed_memory();
        let scratch = builder.scratch_dir()?;
        let spill = |name: &str| Spill::create(fs, &scratch, name);
        let ranges = self.ranges(direction, budget)?;
        let spilled = spill("arcs")?;
        let buckets = self.scatter(direction, arcs, float, &ranges, &spilled, budget)?;
        let (runs, lists) = (spill("runs")?, spill("lists")?);
        let place = EmitScratch {
            arcs: &spilled,
            runs: &runs,
            lists: &lists,
            limit: usize::try_from(budget.bucket::<Weighted>()).unwrap_or(usize::MAX),
            sorters: budget.threads,
        };
        let rules = ListRules { duplicates: Duplicates::Keep, valued: true, float };
        builder.begin_adjacency(direction)?;
        emit::<Weighted>(&buckets, place, rules, self.hooks, builder)?;
        builder.finish_adjacency()
    }

    /// Ranges of new places whose lists are sorted at once, by the degrees in the source.
    fn ranges(&self, direction: Direction, budget: Budget) -> Result<Ranges> {
        let degrees = self.source.degrees(direction, &self.hooks.cancel)?;
        let mut cells = ArcCells::new(self.places.count());
        for (v, &degree) in (0..).zip(&degrees) {
            if let Some(place) = self.places.of(v) {
                cells.add(place, degree.into());
            }
        }
        Ok(cells.ranges::<Weighted>(budget.bucket::<Weighted>() / 10 * 9, budget.buffers(1)))
    }

    /// Moves all edges to the buckets of their new places.
    fn scatter(
        &self,
        direction: Direction,
        arcs: &Arcs<'_>,
        float: bool,
        ranges: &Ranges,
        spill: &Spill,
        budget: Budget,
    ) -> Result<Vec<Bucket>> {
        let vertices = self.source.num_vertices() + self.changes.added.len() as u64;
        let (next, told) = (AtomicU64::new(0), AtomicU64::new(0));
        let workers = run_workers(budget.threads, |_| {
            let mut out = Scatter::<Weighted>::new(spill, ranges);
            loop {
                self.hooks.check()?;
                let from = next.fetch_add(BLOCK, Relaxed);
                if from >= vertices {
                    return out.finish();
                }
                let mut count = 0;
                arcs(from..vertices.min(from + BLOCK), &mut |source, target, bits| {
                    count += 1;
                    let places = self.places.of(source).zip(self.places.of(target));
                    let Some((source, target)) = places else { return Ok(()) };
                    let (v, other) = match direction {
                        Direction::Out => (source, target),
                        Direction::In => (target, source),
                    };
                    out.push(v, other, sortable(bits, float))
                })?;
                let done = told.fetch_add(count, Relaxed) + count;
                self.hooks.tell(Progress { phase: "sort", done, total: None, edges: done });
            }
        })?;
        Ok(join(workers))
    }
}
