//! Edge lists for running vertices: requests, their order, and what arrives.

use crate::context::{Context, EngineMode};
use crate::error::Result;
use crate::graph::Graph;
use crate::{Direction, List, ListReader, VertexId, Weights};
use std::ops::ControlFlow;

/// Which list of a vertex, and whether with the attribute column beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListKind {
    direction: Direction,
    column: bool,
}

impl ListKind {
    /// The targets of the edges that leave a vertex.
    pub const OUT: ListKind = ListKind { direction: Direction::Out, column: false };
    /// The sources of the edges that enter a vertex; in an undirected graph the same as `OUT`.
    pub const IN: ListKind = ListKind { direction: Direction::In, column: false };

    /// The same list with the column that [`super::ProgramNeeds::column`] names. Without this
    /// the column is not read.
    pub const fn with_column(self) -> ListKind {
        ListKind { column: true, ..self }
    }

    /// The direction.
    pub fn direction(self) -> Direction {
        self.direction
    }

    /// True if the attribute column comes with the list.
    pub fn has_column(self) -> bool {
        self.column
    }

    fn rank(self) -> u64 {
        u64::from(self.direction == Direction::In) << 1 | u64::from(self.column)
    }
}

/// An edge list that has arrived, of the vertex [`EdgeList::vertex`]; valid during the callback.
#[derive(Clone, Copy, Debug)]
pub struct EdgeList<'a> {
    vertex: VertexId,
    kind: ListKind,
    list: &'a List<'a>,
    weights: Option<&'a Weights<'a>>,
}

impl<'a> EdgeList<'a> {
    /// The vertex whose list this is.
    pub fn vertex(&self) -> VertexId {
        self.vertex
    }

    /// The kind of list that was requested.
    pub fn kind(&self) -> ListKind {
        self.kind
    }

    /// Number of neighbours.
    #[inline]
    pub fn degree(&self) -> u64 {
        self.list.degree()
    }

    /// Calls `f` with each neighbour, ascending.
    ///
    /// # Errors
    /// An error if the bytes do not decode.
    #[inline]
    pub fn for_each(&self, f: impl FnMut(VertexId)) -> Result<()> {
        Ok(self.list.for_each(f)?)
    }

    /// Calls `f` with blocks of neighbours, ascending, until it breaks.
    ///
    /// # Errors
    /// An error if the bytes do not decode.
    #[inline]
    pub fn blocks(&self, f: impl FnMut(&[VertexId]) -> ControlFlow<()>) -> Result<()> {
        Ok(self.list.blocks(f)?)
    }

    /// Replaces the content of `out` by the neighbours.
    ///
    /// # Errors
    /// An error if the bytes do not decode.
    pub fn decode_into(&self, out: &mut Vec<VertexId>) -> Result<()> {
        out.clear();
        Ok(self.list.decode_into(out)?)
    }

    /// Calls `f` with each neighbour and the weight of the edge; 1 if the list was requested
    /// without the column, or the graph has none.
    ///
    /// # Errors
    /// An error if the bytes do not decode.
    #[inline]
    pub fn for_each_weighted(&self, mut f: impl FnMut(VertexId, f64)) -> Result<()> {
        let Some(weights) = self.weights else { return self.for_each(|u| f(u, 1.0)) };
        let mut i = 0;
        self.for_each(|u| {
            f(u, weights.get(i));
            i += 1;
        })
    }

    /// The attributes, in the order of the neighbours, if they were requested.
    pub fn weights(&self) -> Option<&'a Weights<'a>> {
        self.weights
    }
}

/// A request of a running vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) vertex: VertexId,
    /// Which of the running vertices asked.
    pub(super) slot: u32,
    pub(super) kind: ListKind,
}

impl Pending {
    fn place(&self) -> u64 {
        self.kind.rank() << 32 | u64::from(self.vertex)
    }

    fn same_list(&self, other: &Pending) -> bool {
        self.place() == other.place()
    }
}

/// Requests of running vertices, served as often as new ones come.
///
/// A *wave* is what was asked for since the last one. Waves are sorted by file and offset, so
/// that requests for one list, one page or adjacent pages become one read (section 3.6), and
/// they form a stack: the latest is served first, which bounds the memory for requests when
/// lists lead to further requests.
#[derive(Debug, Default)]
pub(super) struct Waves {
    stack: Vec<(Vec<Pending>, usize)>,
    spare: Vec<Vec<Pending>>,
    sort: bool,
}

/// Requests that wait before a new wave goes first.
const WAVE: usize = 1 << 17;
/// Requests that are served by one call of the reader.
const PER_READ: usize = 1 << 14;
/// The same in bytes of lists, when lists have led to further requests.
const BYTES_PER_READ: u64 = 256 << 10;

impl Waves {
    /// Empty waves; for lists on the SSD they are sorted, in memory there is nothing to merge.
    pub(super) fn new(mode: EngineMode) -> Self {
        Waves { sort: mode != EngineMode::Memory, ..Self::default() }
    }

    /// Moves `requests` on the stack if it is their turn, and hands out the wave to serve next
    /// with how far it is served; `None` when there is nothing left.
    fn top(&mut self, requests: &mut Vec<Pending>) -> Option<&mut (Vec<Pending>, usize)> {
        while let Some((wave, _)) = self.stack.pop_if(|(wave, next)| *next >= wave.len()) {
            self.spare.push(wave);
        }
        if requests.len() >= WAVE || (self.stack.is_empty() && !requests.is_empty()) {
            let mut wave = self.spare.pop().unwrap_or_default();
            wave.clear();
            std::mem::swap(&mut wave, requests);
            if self.sort && !wave.is_sorted_by_key(Pending::place) {
                wave.sort_unstable_by_key(|p| (p.place(), p.slot));
            }
            self.stack.push((wave, 0));
        }
        self.stack.last_mut()
    }
}

/// Takes a list for the vertex in a slot; further requests go to the vector.
pub(super) type Visit<'v> = dyn FnMut(&mut Vec<Pending>, u32, &EdgeList<'_>) -> Result<()> + 'v;

/// Serves requests of one worker.
#[derive(Debug)]
pub(super) struct Fetcher<'g> {
    graph: &'g Graph,
    readers: [Option<ListReader<'g>>; 2],
    asked: Vec<(VertexId, u64)>,
    /// True once lists have led to further requests.
    expands: bool,
}

impl<'g> Fetcher<'g> {
    /// A fetcher without readers; they come with the first request.
    pub(super) fn new(graph: &'g Graph) -> Self {
        Fetcher { graph, readers: [None, None], asked: Vec::new(), expands: false }
    }

    /// Encoded bytes of the lists of `vertices`, in one direction.
    pub(super) fn bytes(&self, direction: Direction, vertices: std::ops::Range<usize>) -> u64 {
        let Some(last) = vertices.end.min(self.graph.num_vertices()).checked_sub(1) else {
            return 0;
        };
        let first = self.graph.extent(direction, vertices.start).start;
        self.graph.extent(direction, last).end.saturating_sub(first)
    }

    /// The number of requests of `wave` that are served next: of one kind, and within the limits.
    fn portion(&self, wave: &[Pending]) -> usize {
        let Some(first) = wave.first() else { return 0 };
        let mut bytes = 0;
        let mut len = 0;
        for request in wave.iter().take(PER_READ).take_while(|p| p.kind == first.kind) {
            len += 1;
            if self.expands {
                let v = request.vertex as usize;
                bytes += self.bytes(first.kind.direction, v..v + 1);
                if bytes >= BYTES_PER_READ {
                    break;
                }
            }
        }
        len
    }

    /// Serves the next portion of the waves and of `requests`; `false` when all is served.
    pub(super) fn serve(
        &mut self,
        waves: &mut Waves,
        requests: &mut Vec<Pending>,
        cx: &Context,
        visit: &mut Visit<'_>,
    ) -> Result<bool> {
        let Some((wave, next)) = waves.top(requests) else { return Ok(false) };
        let rest = wave.get(*next..).unwrap_or(&[]);
        let portion = rest.get(..self.portion(rest)).unwrap_or(rest);
        *next += portion.len();
        let Some(kind) = portion.first().map(|p| p.kind) else { return Ok(true) };
        self.asked.clear();
        let mut previous: Option<&Pending> = None;
        for (i, request) in portion.iter().enumerate() {
            if previous.is_none_or(|p| !p.same_list(request)) {
                self.asked.push((request.vertex, i as u64));
            }
            previous = Some(request);
        }
        let waiting = requests.len();
        let side = usize::from(kind.direction == Direction::In);
        let Some(place) = self.readers.get_mut(side) else { return Ok(true) };
        let reader = match place {
            Some(reader) => reader,
            None => place.insert(self.graph.reader(kind.direction, cx)?),
        };
        let mut served = 0u32;
        let mut one = |token: u64, vertex, list: &List<'_>, weights: Option<&Weights<'_>>| {
            served = served.wrapping_add(1);
            if served.is_multiple_of(64) {
                cx.check()?;
            }
            let from = usize::try_from(token).unwrap_or(usize::MAX);
            let list = EdgeList { vertex, kind, list, weights };
            let same = portion.get(from..).unwrap_or(&[]).iter();
            for request in same.take_while(|p| p.vertex == vertex) {
                visit(requests, request.slot, &list)?;
            }
            Ok(())
        };
        if kind.column {
            reader.read_weighted(&self.asked, &mut |t, v, l, w| one(t, v, l, Some(w)))?;
        } else {
            reader.read(&self.asked, &mut |t, v, l| one(t, v, l, None))?;
        }
        self.expands |= requests.len() > waiting;
        Ok(true)
    }
}
