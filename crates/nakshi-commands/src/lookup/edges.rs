//! Edges as pairs of ids: those of vertices, of all vertices, and between vertices.

use std::collections::HashSet;
use std::path::Path as FilePath;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use super::ids::{IdBatch, IdValues};
use super::{Latest, VertexLookup, range};
use crate::Result;
use nakshi_engine::lookup::NeighborLists;
use nakshi_engine::{self as engine, Bitmap, Context, Direction, VertexId};
use nakshi_property::Along;
use nakshi_store::ColumnType;
use nakshi_store::import::{Hooks, ImportOptions, Input, Report, import};

/// Edges, by the numbers of their ends.
#[derive(Debug, Clone, Default)]
struct Pairs {
    sources: Vec<VertexId>,
    targets: Vec<VertexId>,
    weights: Option<Vec<f64>>,
}

impl Pairs {
    fn append(&mut self, mut more: Pairs) {
        self.sources.append(&mut more.sources);
        self.targets.append(&mut more.targets);
        if let Some(mut weights) = more.weights {
            self.weights.get_or_insert_default().append(&mut weights);
        }
    }
}

/// Edges in the users' ids.
#[derive(Debug, Clone)]
pub struct EdgeTable {
    /// Where each edge begins.
    pub sources: IdValues,
    /// Where each edge leads.
    pub targets: IdValues,
    /// A weight for each edge, if a column was asked for.
    pub weights: Option<Vec<f64>>,
    /// True if the weights are integers in the store.
    pub whole: bool,
}

impl EdgeTable {
    /// The edges as a record batch: `source`, `target`, and `weight` if there are weights.
    ///
    /// # Errors
    /// Columns of different lengths.
    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let mut fields = vec![self.sources.field("source"), self.targets.field("target")];
        let mut columns = vec![self.sources.array(), self.targets.array()];
        if let Some(weights) = &self.weights {
            // Integers are exact up to 53 bits, as weights are everywhere.
            let array: ArrayRef = if self.whole {
                Arc::new(Int64Array::from_iter_values(weights.iter().map(|&w| w as i64)))
            } else {
                Arc::new(Float64Array::from(weights.clone()))
            };
            fields.push(Field::new("weight", array.data_type().clone(), false));
            columns.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }
}

impl VertexLookup {
    /// The edges of the vertices of a request, or of all vertices: then an undirected edge comes once.
    ///
    /// # Errors
    /// As [`VertexLookup::neighbors`]; weights after commits that the files do not have.
    pub fn edges(
        &self,
        ids: Option<&IdBatch>,
        along: Along,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<EdgeTable> {
        let Some(ids) = ids else {
            let all = self.all(latest)?;
            self.check_weights(latest)?;
            let lists = self.lists_of(&all, Along::Out, latest, cx)?;
            let once = !self.store.directed();
            let pairs = pairs(&all, &lists, |u, v| !once || u <= v, cx)?;
            return self.table(pairs, latest);
        };
        let vertices = self.vertices(ids, latest, cx)?;
        let mut table = Pairs::default();
        let directions: &[Direction] = match along {
            Along::Both if self.store.directed() => &[Direction::Out, Direction::In],
            Along::In if self.store.directed() => &[Direction::In],
            _ => &[Direction::Out],
        };
        for &direction in directions {
            let along = if direction == Direction::In { Along::In } else { Along::Out };
            self.check_weights(latest)?;
            let lists = self.lists_of(&vertices, along, latest, cx)?;
            let mut found = pairs(&vertices, &lists, |_, _| true, cx)?;
            if direction == Direction::In {
                std::mem::swap(&mut found.sources, &mut found.targets);
            }
            table.append(found);
        }
        self.table(table, latest)
    }

    /// Vertices within `radius` edges of one, nearest first, at most `limit` of them.
    ///
    /// # Errors
    /// As [`VertexLookup::neighbors`].
    pub fn ego(
        &self,
        center: &IdBatch,
        (radius, limit): (u64, usize),
        along: Along,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<VertexId>> {
        let mut found = self.vertices(center, latest, cx)?;
        let mut seen: HashSet<VertexId> = found.iter().copied().collect();
        let mut level = 0;
        for _ in 0..radius {
            let frontier = found.get(level..).unwrap_or_default().to_vec();
            if frontier.is_empty() || found.len() >= limit {
                break;
            }
            level = found.len();
            let lists = self.lists_of(&frontier, along, latest, cx)?;
            for &v in &lists.targets {
                if found.len() >= limit {
                    break;
                }
                if seen.insert(v) {
                    found.push(v);
                }
            }
        }
        Ok(found)
    }

    /// Writes the graph of `vertices` and the edges between them to a new store.
    ///
    /// # Errors
    /// As [`VertexLookup::edges`]; those of importing.
    pub fn subgraph(
        &self,
        vertices: &[VertexId],
        destination: &FilePath,
        options: &ImportOptions,
        latest: Latest<'_>,
        (cx, hooks): (&Context, &Hooks),
    ) -> Result<Report> {
        let mut members = vertices.to_vec();
        members.sort_unstable();
        members.dedup();
        let table = self.between(&members, latest, cx)?;
        let names = self.values(&members, latest)?;
        let schema: SchemaRef = Arc::new(Schema::new(vec![names.field("id")]));
        let nodes = RecordBatch::try_new(Arc::clone(&schema), vec![names.array()])?;
        let options = ImportOptions {
            directed: self.store.directed(),
            weighted: table.weights.is_some(),
            columns: None,
            nodes: None,
            // Vertices without an edge between them are a graph, too.
            allow_empty: true,
            ..options.clone()
        };
        let edges = table.batch()?;
        let edge = edges.schema();
        let inputs = vec![
            Input::Batches(Box::new(RecordBatchIterator::new([Ok(edges)], edge))),
            Input::Vertices(Box::new(RecordBatchIterator::new([Ok(nodes)], schema))),
        ];
        Ok(import(inputs, destination, &options, hooks)?)
    }

    /// The edges between vertices, which ascend; an undirected one once.
    fn between(&self, members: &[VertexId], latest: Latest<'_>, cx: &Context) -> Result<EdgeTable> {
        let last = members.last().map_or(0, |&last| last as usize);
        let mut inside = Bitmap::new(last + 1);
        members.iter().for_each(|&v| inside.set(v as usize));
        let once = !self.store.directed();
        let has = |v: VertexId| v as usize <= last && inside.get(v as usize);
        let mut table = Pairs::default();
        // The lists of a batch are in memory at one time, and what they have inside.
        for batch in members.chunks(super::BATCH) {
            self.check_weights(latest)?;
            let lists = self.lists_of(batch, Along::Out, latest, cx)?;
            let found = pairs(batch, &lists, |u, v| has(v) && (!once || u <= v), cx)?;
            table.append(found);
        }
        if self.lists.needs().column.is_some() {
            table.weights.get_or_insert_default();
        }
        self.table(table, latest)
    }

    /// All vertices, ascending by id.
    pub(super) fn all(&self, latest: Latest<'_>) -> Result<Vec<VertexId>> {
        let mut all = self.store.ids()?.internal_by_rank()?;
        if let Some(graph) = latest {
            all.retain(|&v| graph.is_alive(v));
            let new = graph.num_filed()..graph.num_numbered();
            let new = new.filter_map(|v| VertexId::try_from(v).ok());
            all.extend(new.filter(|&v| graph.is_alive(v)));
        }
        Ok(all)
    }

    /// Refuses weights after commits that the files do not have.
    fn check_weights(&self, latest: Latest<'_>) -> Result<()> {
        match latest {
            Some(_) if self.lists.needs().column.is_some() => Err(super::no_weights()),
            _ => Ok(()),
        }
    }

    fn table(&self, pairs: Pairs, latest: Latest<'_>) -> Result<EdgeTable> {
        let kind = self.lists.graph().weight_kind();
        Ok(EdgeTable {
            sources: self.values(&pairs.sources, latest)?,
            targets: self.values(&pairs.targets, latest)?,
            weights: pairs.weights,
            whole: !matches!(kind, Some(ColumnType::F32 | ColumnType::F64)),
        })
    }
}

/// The pairs of vertices and those of their neighbours that are wanted.
fn pairs(
    vertices: &[VertexId],
    lists: &NeighborLists<VertexId>,
    wanted: impl Fn(VertexId, VertexId) -> bool,
    cx: &Context,
) -> engine::Result<Pairs> {
    let mut found =
        Pairs { weights: lists.weights.as_ref().map(|_| Vec::new()), ..Pairs::default() };
    for (at, &u) in vertices.iter().enumerate() {
        if at.is_multiple_of(super::BATCH) {
            cx.check()?;
        }
        let range = range(&lists.offsets, at);
        let weights = lists.weights.as_ref().and_then(|weights| weights.get(range.clone()));
        let list = lists.targets.get(range).unwrap_or_default();
        for (i, &v) in list.iter().enumerate().filter(|(_, v)| wanted(u, **v)) {
            found.sources.push(u);
            found.targets.push(v);
            if let (Some(all), Some(&weight)) =
                (&mut found.weights, weights.and_then(|weights| weights.get(i)))
            {
                all.push(weight);
            }
        }
    }
    Ok(found)
}
