//! Merging of neighbouring fragments into one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use nakshi_store::{Error, Result, VertexId};

use super::super::entry::FragmentEntry;
use super::super::logstore::LayerId;
use super::super::row::{REMOVED, RowValues};
use super::super::row_set::RowSet;
use super::super::segment::{RowRef, joined};
use super::Fragment;
use super::directory::Hidden;
use super::writer::{FragmentFiles, FragmentWriter};

/// A fragment that is merged with others, and its edges that are deleted when the merging begins.
#[derive(Clone, Debug)]
pub(in super::super) struct MergeInput {
    pub(in super::super) fragment: Arc<Fragment>,
    pub(in super::super) deleted: Arc<RowSet>,
}

/// Writes neighbouring fragments, oldest first, as one. Edges that are deleted are left out; deletions in
/// the layers `older` are kept. `step` is called between two nodes.
///
/// # Errors
/// Errors of reading and writing, and of `step`.
pub(in super::super) fn merge(
    inputs: &[MergeInput],
    older: &[LayerId],
    level: u32,
    files: FragmentFiles<'_>,
    step: &mut dyn FnMut() -> Result<()>,
) -> Result<(FragmentEntry, u32)> {
    let keys = inputs.iter().map(|input| {
        let entry = input.fragment.entry();
        entry.added + entry.named
    });
    let writer = FragmentWriter::new(files, keys.sum())?;
    let mut merging = Merging { inputs, writer, step };
    merging.nodes()?;
    merging.names()?;
    merging.edges()?;
    let mut hidden: BTreeMap<(LayerId, u32), Vec<u64>> = BTreeMap::new();
    let all = inputs.iter().flat_map(|input| input.fragment.hidden());
    for one in all.filter(|one| older.contains(&one.layer)) {
        hidden.entry((one.layer, one.shard)).or_default().extend(one.rows.iter());
    }
    merging.writer.finish(level, Hidden::of(hidden))
}

/// Hands each number of some ascending iterators to `f` once, ascending.
fn each_of_all<I: Iterator<Item = u64>>(
    lists: impl Iterator<Item = I>,
    mut f: impl FnMut(VertexId) -> Result<()>,
) -> Result<()> {
    let mut lists: Vec<_> = lists.map(Iterator::peekable).collect();
    while let Some(next) = lists.iter_mut().filter_map(|list| list.peek().copied()).min() {
        for list in &mut lists {
            list.next_if_eq(&next);
        }
        f(VertexId::try_from(next).map_err(|_| Error::BadList("a node number does not fit"))?)?;
    }
    Ok(())
}

/// Fragments that are being merged, oldest first, and where they go.
struct Merging<'m, 'f> {
    inputs: &'m [MergeInput],
    writer: FragmentWriter<'f>,
    step: &'m mut dyn FnMut() -> Result<()>,
}

impl Merging<'_, '_> {
    fn nodes(&mut self) -> Result<()> {
        let Merging { inputs, writer, step } = self;
        let lists = inputs.iter().map(|input| input.fragment.nodes().iter());
        let (mut values, mut rows) = (Vec::new(), Vec::new());
        each_of_all(lists, |v| {
            step()?;
            let cut = inputs.iter().any(|input| input.fragment.cuts(v));
            let mut whole = false;
            rows.clear();
            let newest = inputs.iter().rev().map(|input| &input.fragment);
            for fragment in newest {
                let Some(row) = fragment.row(v) else { continue };
                let deleted = fragment.alive(v) == Some(false);
                if deleted && rows.is_empty() {
                    return writer.node(v, None, true, cut);
                }
                whole = deleted || fragment.is_whole(v);
                if !deleted {
                    rows.push(RowRef::File(fragment.rows(), row));
                }
                if whole {
                    break;
                }
            }
            values.clear();
            for (property, value) in joined(rows.iter().rev())? {
                if !whole || property & REMOVED == 0 {
                    RowValues::put(property, &value, &mut values);
                }
            }
            writer.node(v, Some(RowValues(&values)), whole, cut)
        })
    }

    /// The new ids of neighbouring fragments have neighbouring numbers.
    fn names(&mut self) -> Result<()> {
        let named = || self.inputs.iter().filter(|input| input.fragment.named() > 0);
        let first = named().next().map_or(0, |input| input.fragment.first);
        let names = named().flat_map(|input| {
            let fragment = &input.fragment;
            // A store has less than 2^32 nodes.
            let count = fragment.named() as VertexId;
            (fragment.first..fragment.first + count).map(|v| {
                fragment.name(v)?.ok_or(Error::BadList("a new node of a fragment has no id"))
            })
        });
        self.writer.names(first, names)
    }

    fn edges(&mut self) -> Result<()> {
        let Merging { inputs, writer, step } = self;
        let lists = inputs.iter().map(|input| input.fragment.sources().iter());
        let (mut values, mut order) = (Vec::new(), Vec::new());
        each_of_all(lists, |source| {
            writer.source(source)?;
            let mut records: BTreeMap<u64, Vec<(usize, Range<u64>)>> = BTreeMap::new();
            for (i, input) in uncut(inputs, source) {
                for (ty, rows) in input.fragment.records(source)? {
                    records.entry(ty).or_default().push((i, rows));
                }
            }
            for (ty, parts) in records {
                order.clear();
                for (i, rows) in parts {
                    let Some(input) = inputs.get(i) else { continue };
                    for row in rows.filter(|row| !input.deleted.contains(*row)) {
                        order.push((edge_rows(&input.fragment)?.time(row)?, i, row));
                    }
                }
                // By time, and then as the layers and their edges follow each other.
                order.sort_unstable();
                for (time, i, row) in &order {
                    step()?;
                    let Some(input) = inputs.get(*i) else { continue };
                    let rows = edge_rows(&input.fragment)?;
                    values.clear();
                    rows.each(*row, |property, value| {
                        RowValues::put(property, value, &mut values);
                        Ok(())
                    })?;
                    let end = VertexId::try_from(rows.end(*row)?);
                    let end =
                        end.map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))?;
                    writer.edge(ty, (*time, end), RowValues(&values))?;
                }
            }
            Ok(())
        })
    }
}

fn edge_rows(fragment: &Fragment) -> Result<&super::SegmentRows> {
    fragment.edge_rows().ok_or(Error::BadList("a fragment has no edges"))
}

/// The fragments whose edges of a source no newer one of them deletes, oldest first.
fn uncut(inputs: &[MergeInput], source: VertexId) -> impl Iterator<Item = (usize, &MergeInput)> {
    let newest = inputs.iter().rposition(|input| input.fragment.cuts(source));
    inputs.iter().enumerate().skip(newest.unwrap_or(0))
}

/// The position, in the record of the merged fragment, of the edge at a position of the record of an
/// input; `None` if the merged fragment does not have it.
///
/// # Errors
/// Damage.
pub(in super::super) fn moved(
    inputs: &[MergeInput],
    layer: LayerId,
    (source, ty): (VertexId, u64),
    position: u64,
) -> Result<Option<u64>> {
    let at = inputs.iter().position(|input| input.fragment.id() == layer);
    let Some((number, input)) = at.and_then(|at| Some((at, inputs.get(at)?))) else {
        return Ok(None);
    };
    let row = input.fragment.record(source, ty)?.start + position;
    let there = uncut(inputs, source).any(|(i, _)| i == number);
    if !there || input.deleted.contains(row) {
        return Ok(None);
    }
    let time = edge_rows(&input.fragment)?.time(row)?;
    let mut before = 0;
    for (i, other) in uncut(inputs, source) {
        let rows = other.fragment.record(source, ty)?;
        if rows.is_empty() {
            continue;
        }
        // Edges of the same time come in the order of their layers.
        let end = match i.cmp(&number) {
            std::cmp::Ordering::Equal => row,
            std::cmp::Ordering::Less => first_row(&other.fragment, &rows, |t| t > time)?,
            std::cmp::Ordering::Greater => first_row(&other.fragment, &rows, |t| t >= time)?,
        };
        let deleted = other.deleted.below(end) - other.deleted.below(rows.start);
        before += end - rows.start - deleted;
    }
    Ok(Some(before))
}

/// The first row of a record whose time is late enough; its end if none is.
fn first_row(fragment: &Fragment, rows: &Range<u64>, late: impl Fn(i64) -> bool) -> Result<u64> {
    let times = edge_rows(fragment)?;
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if late(times.time(middle)?) { high = middle } else { low = middle + 1 }
    }
    Ok(low)
}
