//! The phases of an import, one after the other.

use std::path::Path;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use nakshi_io::run_workers;
use nakshi_io::write::WriteFs;

use super::choose::ListSample;
use super::collect::{Collected, InputTotals, collect};
use super::dictionary::{Dictionary, DictionaryBudget, IdCensus, IdKey, IdOrder};
use super::input::Input;
use super::inputs::Inputs;
use super::options::{ImportLayout, ImportOptions, Report};
use super::room::Room;
use crate::budget::{Budget, threads_of};
use crate::emit::{Duplicates, EmitScratch, Emitted, ListRules, emit};
use crate::hooks::{Hooks, Progress};
use crate::layout::StreamingOrder;
use crate::sort::pairs::{PairChunk, PairReader};
use crate::sort::partition::{ArcCells, Bucket, Ranges, Scatter, join};
use crate::sort::radix::{Record, Weighted};
use crate::sort::spill::{ScratchMeter, Spill};
use crate::{
    BuildOptions, ColumnSpec, ColumnType, Direction, Error, IdKind, Result, StoreBuilder, Stripes,
};

/// Bytes of a stripe of a striped store.
pub(crate) const STRIPE: u64 = 1 << 20;

/// Builds the store `destination`, which must not exist, from all edges of `inputs`.
///
/// # Errors
/// [`Error::Input`] names file and line of what cannot be read; [`Error::Budget`] the least
/// memory that works; [`Error::Exists`], [`Error::Cancelled`], [`Error::Io`],
/// [`Error::Unsupported`]. Nothing is left behind.
pub fn import(
    inputs: Vec<Input<'_>>,
    destination: &Path,
    options: &ImportOptions,
    hooks: &Hooks,
) -> Result<Report> {
    import_with(&nakshi_io::write::default_fs(), inputs, destination, options, hooks)
}

/// Imports like [`import`], through the given file system, such as one that fails on purpose.
///
/// # Errors
/// Same as [`import`].
pub fn import_with(
    fs: &Arc<dyn WriteFs>,
    inputs: Vec<Input<'_>>,
    destination: &Path,
    options: &ImportOptions,
    hooks: &Hooks,
) -> Result<Report> {
    let Budget { memory, threads } = Budget::new(options.memory, 0, options.threads)?;
    let options = ImportOptions { threads, memory, ..options.clone() };
    ImportJob { fs, options: &options, hooks }.import(inputs, destination)
}

/// Imports like [`import`], but without a least memory: buffers take what they need, and everything
/// whose size depends on memory is small. Shows with little data that memory does not change a
/// store.
///
/// # Errors
/// Same as [`import`].
#[doc(hidden)]
pub fn import_tightly(
    inputs: Vec<Input<'_>>,
    destination: &Path,
    options: &ImportOptions,
) -> Result<Report> {
    let (fs, hooks) = (nakshi_io::write::default_fs(), Hooks::default());
    ImportJob { fs: &fs, options, hooks: &hooks }.import(inputs, destination)
}

/// The file system, options and hooks of all phases.
struct ImportJob<'j> {
    fs: &'j Arc<dyn WriteFs>,
    options: &'j ImportOptions,
    hooks: &'j Hooks,
}

/// The arcs of the graph in buckets: by source, and by target unless the graph is undirected.
type Arcs = (Vec<Bucket>, Vec<Bucket>);

impl ImportJob<'_> {
    /// Imports with weights if the options name three columns, and with all threads if they name
    /// none.
    fn import(&self, inputs: Vec<Input<'_>>, destination: &Path) -> Result<Report> {
        let started = Instant::now();
        let mut options = self.options.clone();
        options.weighted |= options.columns.as_ref().is_some_and(|columns| columns.len() == 3);
        options.threads = threads_of(options.threads);
        let job = ImportJob { options: &options, ..*self };
        let done = if options.weighted {
            job.run::<Weighted>(inputs, destination)
        } else {
            job.run::<u64>(inputs, destination)
        };
        // Other errors of a cancelled import are consequences of the cancellation.
        let mut report = done.map_err(|e| self.hooks.check().err().unwrap_or(e))?;
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    fn run<R: Record>(&self, inputs: Vec<Input<'_>>, destination: &Path) -> Result<Report> {
        let mut builder =
            StoreBuilder::create(Arc::clone(self.fs), destination, self.build_options())?;
        let scratch = builder.scratch_dir()?;
        let meter = Arc::new(ScratchMeter::default());
        let spill = |name: &str| Spill::metered(self.fs.as_ref(), &scratch, name, &meter);
        let (pairs, keys) = (spill("edges")?, spill("ids")?);
        let room = Room::new(scratch.clone(), &meter, self.options);
        let inputs = Inputs::new(inputs, self.options, self.hooks.cancel.clone());
        let counters = Arc::clone(&inputs.counters);
        let mut collected = self.collect(inputs, &pairs, &keys, &room)?;
        let totals = collected.totals;
        let rules = self.rules(&totals);
        let mut dictionary = Dictionary::new(
            &keys,
            std::mem::take(&mut collected.direct),
            std::mem::take(&mut collected.runs),
            std::mem::take(&mut collected.sizes),
            totals.canonical,
            DictionaryBudget { memory: self.options.memory / 4, threads: self.options.threads },
            self.hooks,
        )?;
        let (census, layout) = self.survey(&collected, &pairs, &dictionary)?;
        builder.set_layout(layout.name());
        builder.set_shape(census.vertices, self.columns(&totals, rules))?;
        let cells = self.assign(layout, &mut dictionary, &census, &totals, &mut builder)?;
        self.phase()?;
        let budget = Budget { memory: self.options.memory, threads: self.options.threads };
        let limit = budget.bucket::<R>();
        let directions = if self.options.directed { 2 } else { 1 };
        let ranges = cells.ranges::<R>(directions * limit / 10 * 9, budget.buffers(directions));
        drop(cells);
        let (out, into) = (spill("arcs")?, spill("in-arcs")?);
        let (from_source, from_target) = self.scatter::<R>(
            &collected,
            &dictionary,
            &ranges,
            &pairs,
            (&out, &into),
            totals.weights.float,
        )?;
        drop(dictionary);
        drop((pairs, keys));
        self.phase()?;
        let (runs, lists) = (spill("runs")?, spill("lists")?);
        let place = self.place(&out, (&runs, &lists), limit);
        builder.begin_adjacency(Direction::Out)?;
        let emitted = emit::<R>(&from_source, place, rules, self.hooks, &mut builder)?;
        builder.finish_adjacency()?;
        drop((from_source, out));
        if self.options.directed {
            self.phase()?;
            builder.begin_adjacency(Direction::In)?;
            let place = self.place(&into, (&runs, &lists), limit);
            emit::<R>(&from_target, place, rules, self.hooks, &mut builder)?;
            builder.finish_adjacency()?;
        }
        self.hooks.check()?;
        let mut report = Report { layout: layout.name(), ..self.report(&census, &totals, emitted) };
        report.notes = std::mem::take(&mut collected.notes);
        report.scratch_written = meter.written();
        report.scratch_peak = meter.peak();
        report.bytes_read = counters.text.load(std::sync::atomic::Ordering::Relaxed);
        builder.set_report(summary(&report)?);
        let manifest = builder.commit()?;
        report.edges = manifest.edges;
        report.content_hash = manifest.content_hash();
        Ok(report)
    }

    fn place<'s>(
        &self,
        arcs: &'s Spill,
        (runs, lists): (&'s Spill, &'s Spill),
        limit: u64,
    ) -> EmitScratch<'s> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        EmitScratch { arcs, runs, lists, limit, sorters: self.options.threads }
    }

    /// Reads all inputs.
    fn collect(
        &self,
        inputs: Inputs<'_>,
        pairs: &Spill,
        keys: &Spill,
        room: &Room,
    ) -> Result<Collected> {
        let from = inputs.names();
        let collected = collect(inputs, self.options, pairs, keys, room, self.hooks)?;
        self.phase()?;
        room.check(collected.totals.edges, None, self.hooks)?;
        if collected.totals.edges == 0 && !self.options.allow_empty {
            return Err(Error::NoEdges { from });
        }
        Ok(collected)
    }

    /// Counts the ids and chooses the layout.
    fn survey(
        &self,
        collected: &Collected,
        pairs: &Spill,
        dictionary: &Dictionary<'_>,
    ) -> Result<(IdCensus, ImportLayout)> {
        if self.options.layout != ImportLayout::Auto {
            return Ok((dictionary.census(&mut |_, _| ())?, self.options.layout));
        }
        let mut sample = ListSample::new(collected.totals.edges);
        let census = dictionary.census(&mut |rank, entry| sample.see(rank, entry))?;
        let layout =
            sample.choose(collected, pairs, dictionary, &census, self.options, self.hooks)?;
        Ok((census, layout))
    }

    /// Ends a phase: returns its freed memory to the system, and checks for cancellation.
    fn phase(&self) -> Result<()> {
        nakshi_io::release_freed_memory();
        self.hooks.check()
    }

    fn build_options(&self) -> BuildOptions {
        let options = self.options;
        let stripes = Stripes {
            dirs: options.stripes.clone(),
            unit: STRIPE.max(u64::from(options.page_size)),
        };
        BuildOptions {
            directed: options.directed,
            encoding: options.encoding,
            page_size: options.page_size,
            stripes: (!options.stripes.is_empty()).then_some(stripes),
            scratch: options.scratch.clone(),
            memory: options.memory / 4,
            ..BuildOptions::default()
        }
    }

    fn rules(&self, totals: &InputTotals) -> ListRules {
        let duplicates = self.options.duplicates;
        let valued = self.options.weighted || duplicates == Duplicates::Sum;
        ListRules { duplicates, valued, float: totals.weights.float }
    }

    /// Returns the weight column, as narrow as its values allow.
    fn columns(&self, totals: &InputTotals, rules: ListRules) -> Vec<ColumnSpec> {
        if !rules.valued {
            return Vec::new();
        }
        let weights = &totals.weights;
        let ty = if rules.float {
            // A sum of 32-bit floats may need 64 bits.
            ColumnType::for_floats(weights.fit_f32 && rules.duplicates != Duplicates::Sum)
        } else if !self.options.weighted {
            ColumnType::for_integers(0, i64::try_from(totals.edges).unwrap_or(i64::MAX))
        } else if rules.duplicates == Duplicates::Sum {
            ColumnType::for_integers(weights.sums.0, weights.sums.1)
        } else {
            ColumnType::for_integers(weights.least.min(weights.most), weights.most)
        };
        vec![ColumnSpec { name: "weight".into(), ty }]
    }

    /// Gives every vertex its position and writes the ids; returns the number of arcs by position.
    fn assign(
        &self,
        layout: ImportLayout,
        dictionary: &mut Dictionary<'_>,
        census: &IdCensus,
        totals: &InputTotals,
        builder: &mut StoreBuilder,
    ) -> Result<ArcCells> {
        let vertices = census.vertices;
        let mut placer = match layout {
            ImportLayout::Original => StreamingOrder::Original { next: 0 },
            ImportLayout::Auto | ImportLayout::Degree => StreamingOrder::degree(&census.degrees),
            ImportLayout::Random { seed } => StreamingOrder::random(vertices, seed),
        };
        let kind = id_kind(census, dictionary.order(), totals.utf8);
        if kind != IdKind::Dense {
            builder.begin_ids(kind)?;
        }
        // The original order is that of the ranks.
        let ordered = layout != ImportLayout::Original;
        if ordered {
            builder.begin_order()?;
        }
        let mut cells = ArcCells::new(vertices);
        let mut done = 0_u64;
        dictionary.assign(&mut |key, ends| {
            let place = placer.place(ends)?;
            cells.add(place, ends);
            if ordered {
                builder.push_order(place)?;
            }
            done += 1;
            if done.is_multiple_of(1 << 16) {
                self.hooks.check()?;
                self.hooks.tell(Progress {
                    phase: "sort",
                    done,
                    total: Some(vertices),
                    edges: totals.edges,
                });
            }
            if kind == IdKind::Dense { Ok(()) } else { push_id(builder, kind, key) }?;
            Ok(place)
        })?;
        if kind == IdKind::Dense {
            let first =
                census.first.as_ref().and_then(integer).and_then(|first| i64::try_from(first).ok());
            builder.set_dense_ids(first.unwrap_or(0), None)?;
        } else {
            builder.finish_ids(None)?;
        }
        Ok(cells)
    }

    fn scatter<R: Record>(
        &self,
        collected: &Collected,
        dictionary: &Dictionary<'_>,
        ranges: &Ranges,
        pairs: &Spill,
        arcs: (&Spill, &Spill),
        float: bool,
    ) -> Result<Arcs> {
        let threads = self.options.threads.max(1);
        let mut generations = collected.generations.as_slice();
        let mut direct = collected.direct_chunks.chunks(4);
        let tables = self.options.memory / 8 / threads as u64;
        let next = move || {
            let numbers = generations.iter().map(|(number, _)| *number);
            let group = generations.split_at_checked(match generations {
                [] => return direct.next().map(Work::Direct),
                _ => dictionary.fitting(numbers, tables),
            });
            let (group, rest) = group.unwrap_or((generations, &[]));
            generations = rest;
            Some(Work::Generations(group))
        };
        let work = Mutex::new(next);
        let results = run_workers(threads, |_| -> Result<(Vec<Bucket>, Vec<Bucket>)> {
            let mut chunks = ChunkScatter::<R> {
                pairs,
                float,
                reader: PairReader::default(),
                out: Scatter::new(arcs.0, ranges),
                into: self.options.directed.then(|| Scatter::new(arcs.1, ranges)),
            };
            loop {
                let next = work.lock().unwrap_or_else(PoisonError::into_inner)();
                self.hooks.check()?;
                match next {
                    None => break,
                    Some(Work::Generations(group)) => {
                        let numbers: Vec<u32> = group.iter().map(|(number, _)| *number).collect();
                        let tables = dictionary.tables(&numbers)?;
                        for ((_, own), table) in group.iter().zip(&tables) {
                            let place = |id: u32| table.get(id as usize).copied().unwrap_or(0);
                            let places = |edges: &mut [(u32, u32, u64)]| {
                                for (source, target, _) in edges {
                                    (*source, *target) = (place(*source), place(*target));
                                }
                            };
                            chunks.scatter(own, places, self.hooks)?;
                        }
                    }
                    Some(Work::Direct(own)) => {
                        let places = |edges: &mut [_]| dictionary.direct_places(edges);
                        chunks.scatter(own, places, self.hooks)?;
                    }
                }
            }
            let into = chunks.into.map_or(Ok(Vec::new()), Scatter::finish)?;
            Ok((chunks.out.finish()?, into))
        })?;
        let (out, into) = results.into_iter().unzip();
        Ok((join(out), join(into)))
    }

    fn report(&self, census: &IdCensus, totals: &InputTotals, emitted: Emitted) -> Report {
        // In an undirected graph every edge but a self-loop is two arcs.
        let ways = if self.options.directed { 1 } else { 2 };
        Report {
            vertices: census.vertices,
            edges_read: totals.edges,
            duplicates: emitted.dropped_arcs / ways + emitted.dropped_loops,
            self_loops: totals.self_loops,
            comments: totals.comments,
            isolated: census.degrees.get(&0).copied().unwrap_or(0),
            ..Report::default()
        }
    }
}

/// Edges of the input that one thread scatters.
enum Work<'c> {
    /// Generations whose tables fit in memory together.
    Generations(&'c [(u32, Vec<PairChunk>)]),
    /// Edges between small integers.
    Direct(&'c [PairChunk]),
}

/// The scatter of chunks of edges by one thread.
struct ChunkScatter<'s, R> {
    pairs: &'s Spill,
    float: bool,
    reader: PairReader,
    out: Scatter<'s, R>,
    /// Arcs by target, in a directed graph.
    into: Option<Scatter<'s, R>>,
}

impl<R: Record> ChunkScatter<'_, R> {
    /// Moves the edges of some chunks, whose space is given back, to the buckets of their positions, which
    /// `places` puts in place of their ids.
    fn scatter(
        &mut self,
        chunks: &[PairChunk],
        places: impl Fn(&mut [(u32, u32, u64)]),
        hooks: &Hooks,
    ) -> Result<()> {
        let Self { pairs, float, reader, out, into } = self;
        for &chunk in chunks {
            hooks.check()?;
            reader.blocks(pairs, chunk, *float, |edges| {
                places(edges);
                edges.iter().try_for_each(|&(source, target, weight)| {
                    out.push(source, target, weight)?;
                    match into {
                        Some(into) => into.push(target, source, weight),
                        None if source != target => out.push(target, source, weight),
                        None => Ok(()),
                    }
                })
            })?;
            pairs.free(chunk.extent)?;
        }
        Ok(())
    }
}

/// Returns the part of the report that the manifest keeps: only values that are the same in every
/// run.
fn summary(report: &Report) -> Result<serde_json::Map<String, serde_json::Value>> {
    let value = serde_json::to_value(report).map_err(|error| Error::Invalid(error.to_string()))?;
    let mut map = value.as_object().cloned().unwrap_or_default();
    for volatile in
        ["seconds", "content_hash", "edges", "layout", "scratch_written", "scratch_peak"]
    {
        map.remove(volatile);
    }
    Ok(map)
}

/// Returns the value of an integer id that fits 128 bits.
fn integer(key: &IdKey) -> Option<i128> {
    match key {
        IdKey::Int(int) => Some(*int),
        IdKey::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
    }
}

/// Returns the narrowest kind that holds all ids.
fn id_kind(census: &IdCensus, order: IdOrder, utf8: bool) -> IdKind {
    if order == IdOrder::Bytes {
        return if utf8 { IdKind::Text } else { IdKind::Bytes };
    }
    let (Some(first), Some(last)) = (&census.first, &census.last) else { return IdKind::Dense };
    let (Some(first), Some(last)) = (integer(first), integer(last)) else { return IdKind::Big };
    let fits_i64 = i64::try_from(first).is_ok() && i64::try_from(last).is_ok();
    if fits_i64 && last - first == i128::from(census.vertices) - 1 {
        IdKind::Dense
    } else if u64::try_from(first).is_ok() && u64::try_from(last).is_ok() {
        IdKind::U64
    } else if fits_i64 {
        IdKind::I64
    } else {
        IdKind::Big
    }
}

fn push_id(builder: &mut StoreBuilder, kind: IdKind, key: &IdKey) -> Result<()> {
    let wrong = || {
        Error::Invalid("an id of another kind; this is a fault of nakshi, please report it".into())
    };
    match (kind, key) {
        (IdKind::U64, key) => {
            let value =
                integer(key).and_then(|value| u64::try_from(value).ok()).ok_or_else(wrong)?;
            builder.push_id(crate::Key::U64(value))
        }
        (IdKind::I64, key) => {
            let value =
                integer(key).and_then(|value| i64::try_from(value).ok()).ok_or_else(wrong)?;
            builder.push_id(crate::Key::I64(value))
        }
        (_, IdKey::Bytes(bytes)) => builder.push_id(crate::Key::Bytes(bytes)),
        (_, key) => builder.push_id(crate::Key::Bytes(&key.to_bytes())),
    }
}
