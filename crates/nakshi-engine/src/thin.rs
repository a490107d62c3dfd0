//! *Thin* frontiers: steps that read too few lists for a second thread, or for sets over all
//! vertices.
//!
//! A step that shares its frontier as a bitmap costs a pass over the words of that bitmap, whatever
//! the frontier has. On a path, a road network or a chain of calls that pass is nearly the whole
//! time. So searches keep a thin frontier as a list, and one thread goes on with it from level to
//! level. The bound grows with the graph: a step that is not thin reads so much that the words of
//! its sets cost little beside, and so all steps of a search together cost what the lists cost.

use crate::context::Context;
use crate::error::Result;
use crate::gather::{INLINE_BYTES, ListReader};
use crate::graph::Graph;
use crate::source::weights::Weights;
use crate::vertex_set::VertexSet;
use nakshi_store::{Direction, List, VertexId};

/// Vertices whose sets cost, in a shared step, about what a byte of lists costs one thread.
const VERTICES_PER_BYTE: u64 = 128;
/// Vertices between two looks at whether the call shall stop.
const CHECK: usize = 1 << 14;

/// Bytes of a reader beside those of the workers, of the lists of a frontier, and of what else a search that
/// takes thin steps holds: measured by `tests/memory.rs`.
pub(crate) const STATE_BYTES: u64 = 2 << 20;

/// Steps along the lists of `directions`, by one thread.
pub(crate) struct Thin<'g> {
    graph: &'g Graph,
    cx: &'g Context,
    directions: &'g [Direction],
    /// Readers of out- and of in-lists.
    readers: [Option<ListReader<'g>>; 2],
    /// Bytes of lists above which a frontier is not thin.
    most: u64,
    requests: Vec<(VertexId, u64)>,
    /// Visits since the last look at whether to stop.
    visits: usize,
    decoded: Decoded,
}

/// Lists of a frontier, one behind the other.
#[derive(Default)]
struct Decoded {
    neighbors: Vec<VertexId>,
    /// The list of each member in `neighbors`.
    spans: Vec<(usize, usize)>,
    scratch: Vec<VertexId>,
}

/// The outcome of steps from a thin frontier.
#[derive(Default)]
pub(crate) struct Taken {
    /// The frontier that is no longer thin, or none.
    pub(crate) frontier: Vec<VertexId>,
    /// The frontier of the last step.
    pub(crate) before: Vec<VertexId>,
    /// Steps taken.
    pub(crate) steps: u64,
    /// Members of their frontiers together.
    pub(crate) members: u64,
}

impl<'g> Thin<'g> {
    /// Steps from frontiers whose lists in `directions` are few together.
    pub(crate) fn new(graph: &'g Graph, directions: &'g [Direction], cx: &'g Context) -> Self {
        let most = INLINE_BYTES.max(graph.num_vertices() as u64 / VERTICES_PER_BYTE);
        #[cfg(test)]
        let most = graph.thin.unwrap_or(most);
        let (readers, requests, decoded) = ([None, None], Vec::new(), Decoded::default());
        Thin { graph, cx, directions, readers, most, requests, visits: 0, decoded }
    }

    /// Most members of a thin frontier.
    pub(crate) fn most_members(&self) -> usize {
        // Lossless: an eighth of a small number, or of a number of vertices.
        (self.most / 4) as usize
    }

    /// Returns true if one thread shall read the lists of these vertices.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] if a direction is not open.
    pub(crate) fn takes(&self, members: &[VertexId]) -> Result<bool> {
        if members.len() > self.most_members() {
            return Ok(false);
        }
        let mut bytes = 0;
        for &direction in self.directions {
            let side = self.graph.side(direction)?;
            for &v in members {
                bytes += side.length(v);
            }
        }
        Ok(bytes <= self.most)
    }

    /// The members of a set in ascending order, if one thread shall read their lists.
    ///
    /// # Errors
    /// As [`Thin::takes`].
    pub(crate) fn members(&self, set: &VertexSet) -> Result<Option<Vec<VertexId>>> {
        if set.count() > self.most_members() {
            return Ok(None);
        }
        let members: Vec<VertexId> = set.iter().collect();
        Ok(self.takes(&members)?.then_some(members))
    }

    /// Takes steps from `members`, each from what the last one reached, until there are none or too
    /// many. A step adds what it reaches to its second list, each vertex once.
    ///
    /// # Errors
    /// Those of `step`; as [`Thin::takes`].
    pub(crate) fn steps(
        &mut self,
        members: Vec<VertexId>,
        mut step: impl FnMut(&mut Self, &[VertexId], &mut Vec<VertexId>) -> Result<()>,
    ) -> Result<Taken> {
        let mut taken = Taken { frontier: members, ..Taken::default() };
        while !taken.frontier.is_empty() && self.takes(&taken.frontier)? {
            taken.before.clear();
            step(self, &taken.frontier, &mut taken.before)?;
            taken.steps += 1;
            taken.members += taken.frontier.len() as u64;
            std::mem::swap(&mut taken.frontier, &mut taken.before);
            taken.frontier.sort_unstable();
        }
        // The workers of a shared step have readers of their own.
        self.readers = [None, None];
        Ok(taken)
    }

    /// Visits the list of each member, in the order in which reads complete.
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub(crate) fn visit(
        &mut self,
        direction: Direction,
        members: &[VertexId],
        mut visit: impl FnMut(VertexId, &List<'_>) -> Result<()>,
    ) -> Result<()> {
        self.request(members)?;
        let reader = reader(&mut self.readers, self.graph, direction, self.cx)?;
        reader.read(&self.requests, &mut |_, v, list| visit(v, list))
    }

    /// As [`Thin::visit`], with the weights of each list.
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub(crate) fn visit_weighted(
        &mut self,
        direction: Direction,
        members: &[VertexId],
        mut visit: impl FnMut(VertexId, &List<'_>, &Weights<'_>) -> Result<()>,
    ) -> Result<()> {
        self.request(members)?;
        let reader = reader(&mut self.readers, self.graph, direction, self.cx)?;
        reader.read_weighted(&self.requests, &mut |_, v, list, weights| visit(v, list, weights))
    }

    /// Visits the neighbours of each member, in the order of the members.
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub(crate) fn visit_in_order(
        &mut self,
        direction: Direction,
        members: &[VertexId],
        mut visit: impl FnMut(VertexId, &[VertexId]),
    ) -> Result<()> {
        self.request(members)?;
        let Decoded { neighbors, spans, scratch } = &mut self.decoded;
        neighbors.clear();
        spans.clear();
        spans.resize(members.len(), (0, 0));
        let reader = reader(&mut self.readers, self.graph, direction, self.cx)?;
        reader.read(&self.requests, &mut |k, _, list| {
            list.decode_into(scratch)?;
            let from = neighbors.len();
            neighbors.extend_from_slice(scratch);
            // Lossless: the position of a member.
            if let Some(span) = spans.get_mut(k as usize) {
                *span = (from, neighbors.len());
            }
            Ok(())
        })?;
        for (&v, &(from, to)) in members.iter().zip(spans.iter()) {
            visit(v, neighbors.get(from..to).unwrap_or_default());
        }
        Ok(())
    }

    /// Makes requests of the lists of `members`, and stops if the call shall.
    fn request(&mut self, members: &[VertexId]) -> Result<()> {
        #[cfg(test)]
        crate::work::add(members.len());
        self.visits += members.len() + 1;
        if self.visits > CHECK {
            self.visits = 0;
            self.cx.check()?;
        }
        self.requests.clear();
        self.requests.extend(members.iter().copied().zip(0..));
        Ok(())
    }
}

/// The reader of a direction, made when it is first needed.
fn reader<'r, 'g>(
    readers: &'r mut [Option<ListReader<'g>>; 2],
    graph: &'g Graph,
    direction: Direction,
    cx: &Context,
) -> Result<&'r mut ListReader<'g>> {
    let [out, incoming] = readers;
    let slot = if graph.directed() && direction == Direction::In { incoming } else { out };
    match slot {
        Some(reader) => Ok(reader),
        None => Ok(slot.insert(graph.reader(direction, cx)?)),
    }
}
