//! Nodes that are reached over several edges.

use std::collections::HashSet;

use nakshi_io::CancelToken;

use super::condition::Condition;
use super::graph::PropertyGraph;
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// A step of a search over several edges, from some nodes to those that their edges lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Those of the nodes that meet all conditions, in their order.
    pub matching: Vec<ExternalId>,
    /// Where the edges lead to, each once.
    pub reached: Vec<ExternalId>,
}

impl PropertyGraph {
    /// The nodes at a distance of 1 to `hops` edges of a type, or of any, from some nodes, that meet all
    /// conditions; each with its distance, the nearest first, at most `limit`. The given nodes are not among
    /// them.
    ///
    /// # Errors
    /// [`Error::NoNode`]; as [`PropertyGraph::get_node_ids`]; [`Error::Cancelled`].
    pub fn expand(
        &self,
        ids: &[ExternalId],
        edge_type: Option<&str>,
        hops: u32,
        properties: &[(&str, Condition)],
        limit: Option<usize>,
        cancel: &CancelToken,
    ) -> Result<Vec<(ExternalId, u32)>> {
        let state = self.state();
        let wanted = state.schema.nodes.wanted(properties)?;
        let ty = edge_type.map(|name| state.schema.known_type(name)).transpose()?;
        let mut frontier = ids.iter().map(|id| state.node(id)).collect::<Result<Vec<_>>>()?;
        let mut seen: HashSet<VertexId> = frontier.iter().copied().collect();
        let (mut found, most) = (Vec::new(), limit.unwrap_or(usize::MAX));
        for distance in 1..=hops {
            let mut next = Vec::new();
            for v in frontier {
                cancel.check()?;
                self.each_end(v, ty, |end| {
                    if seen.insert(end) {
                        next.push(end);
                    }
                })?;
            }
            for v in &next {
                if found.len() >= most {
                    return Ok(found);
                }
                if self.has(*v, &wanted)? {
                    found.push((state.external((*v).into())?, distance));
                }
            }
            if next.is_empty() {
                break;
            }
            frontier = next;
        }
        if found.is_empty() {
            self.refuse_unknown_labels(properties)?;
        }
        Ok(found)
    }

    /// One step of [`PropertyGraph::expand`]: which of some nodes meet all conditions, and, with `reach`, where
    /// their edges lead to.
    ///
    /// # Errors
    /// As [`PropertyGraph::expand`].
    pub fn frontier(
        &self,
        ids: &[ExternalId],
        edge_type: Option<&str>,
        properties: &[(&str, Condition)],
        reach: bool,
    ) -> Result<Frontier> {
        let state = self.state();
        let wanted = state.schema.nodes.wanted(properties)?;
        let ty = edge_type.map(|name| state.schema.known_type(name)).transpose()?;
        let (mut frontier, mut ends) = (Frontier::default(), Vec::new());
        for id in ids {
            let v = state.node(id)?;
            if self.has(v, &wanted)? {
                frontier.matching.push(state.external(v.into())?);
            }
            if reach {
                self.each_end(v, ty, |end| ends.push(end))?;
            }
        }
        ends.sort_unstable();
        ends.dedup();
        let reached = ends.into_iter().map(|end| state.external(end.into()));
        frontier.reached = reached.collect::<Result<_>>()?;
        Ok(frontier)
    }

    /// Hands the destination of each edge of a type, or of any, from a node to `f`.
    fn each_end(&self, v: VertexId, ty: Option<u64>, mut f: impl FnMut(VertexId)) -> Result<()> {
        let records = match ty {
            Some(ty) => vec![self.edge_record(v, ty, self.state().record(v, ty)?)],
            None => self.records_of(v)?,
        };
        for record in records {
            for end in record.ends(0..record.len())? {
                let wide = |_| Error::BadList("a vertex id does not fit 32 bits");
                f(u32::try_from(end).map_err(wide)?);
            }
        }
        Ok(())
    }
}
