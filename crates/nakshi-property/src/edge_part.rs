//! The part of a graph that some buckets are, for a process that analyses it together with those of other parts.

use std::fs::File;
use std::io::{BufWriter, Write};

use nakshi_io::CancelToken;
use nakshi_store::{EdgePartWriter, Error, Result, VertexId};

use super::bucket_set::BucketSet;
use super::graph::PropertyGraph;
use super::scratch;
use super::state::GraphState;
use super::topology::{EdgeWeight, PropertyWeights, new_list};

/// Nodes that are looked at before the next look at whether to go on.
const NODES: u64 = 1 << 10;

/// Numbers of nodes and edges of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartCounts {
    /// Nodes of the buckets.
    pub nodes: u64,
    /// Edges from them.
    pub edges: u64,
    /// Edges without a weight.
    pub unweighted: u64,
}

/// The vertices whose ids are written.
struct Named(Vec<u64>);

impl Named {
    /// Adds a vertex; returns true if it is new.
    fn add(&mut self, v: VertexId) -> bool {
        let Some(word) = self.0.get_mut(v as usize / 64) else { return false };
        let new = *word >> (v % 64) & 1 == 0;
        *word |= 1 << (v % 64);
        new
    }
}

impl PropertyGraph {
    /// Writes a part, as [`PropertyGraph::write_part`], into a file without a name beside the store.
    ///
    /// # Errors
    /// As [`PropertyGraph::write_part`].
    pub fn part_in_file(
        &self,
        buckets: &BucketSet,
        weight: Option<&EdgeWeight>,
        cancel: &CancelToken,
    ) -> Result<(File, PartCounts)> {
        let path = self.state().base.path();
        let mut to = BufWriter::new(scratch::unnamed(path)?);
        let counts = self.write_part(buckets, weight, &mut to, cancel)?;
        let file = to.into_inner().map_err(|error| error.into_error());
        Ok((file.map_err(|error| Error::io("write", path, error))?, counts))
    }

    /// Writes the nodes of some buckets, and the edges from them. Without weights, edges between the same nodes
    /// are one; with weights, each has its own.
    ///
    /// # Errors
    /// [`nakshi_store::Error::Invalid`] for a weight that is no number, or missing without a default; those of
    /// reading and writing; [`nakshi_store::Error::Cancelled`].
    pub fn write_part(
        &self,
        buckets: &BucketSet,
        weight: Option<&EdgeWeight>,
        to: impl Write,
        cancel: &CancelToken,
    ) -> Result<PartCounts> {
        let state = self.state();
        let weights = weight.map(|weight| PropertyWeights::of(state, weight)).transpose()?;
        let mut part = Part {
            state,
            named: Named(vec![0; state.numbered().div_ceil(64) as usize]),
            to: EdgePartWriter::new(to, weights.is_some())?,
            counts: PartCounts::default(),
        };
        for v in 0..state.numbered() {
            if v % NODES == 0 {
                cancel.check()?;
            }
            // Numbers of nodes have 32 bits.
            let source = v as VertexId;
            if !state.is_alive(source) {
                continue;
            }
            let id = state.external(v)?;
            if !buckets.has(&id) {
                continue;
            }
            part.counts.nodes += 1;
            part.name(source)?;
            part.edges(source, weights.as_ref())?;
        }
        part.to.finish()?;
        Ok(part.counts)
    }
}

/// A part as it is written.
struct Part<'g, W> {
    state: &'g GraphState,
    named: Named,
    to: EdgePartWriter<W>,
    counts: PartCounts,
}

impl<W: Write> Part<'_, W> {
    /// Writes the id of a vertex, unless it is written.
    fn name(&mut self, v: VertexId) -> Result<()> {
        if self.named.add(v) {
            self.to.id(v, &self.state.external(v.into())?.into_bytes())?;
        }
        Ok(())
    }

    /// Writes the edges of a node.
    fn edges(&mut self, source: VertexId, weights: Option<&PropertyWeights<'_>>) -> Result<()> {
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        match weights {
            None => targets = new_list(self.state, source)?,
            Some(weights) => weights.each(source.into()..u64::from(source) + 1, |edge| {
                weights.check(&edge)?;
                self.counts.unweighted += u64::from(edge.missing);
                targets.push(edge.target);
                values.push(edge.weight.as_float());
                Ok(())
            })?,
        }
        targets.iter().try_for_each(|target| self.name(*target))?;
        self.counts.edges += targets.len() as u64;
        self.to.list(source, &targets, &values)
    }
}
