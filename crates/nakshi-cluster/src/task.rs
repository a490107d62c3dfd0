//! Programs by name, and what comes out of them.

use std::path::Path;

use nakshi_engine::program::pull::programs::{
    Coloring, Communities, Components, Levels, Matching, PageRank, ShortestPaths, Triangles,
    UNMATCHED, UNREACHED,
};
use nakshi_engine::program::pull::{PullProgram, PullValue};
use nakshi_engine::{Bitmap, Column, Context, Direction, Graph, Needs, Outcome, Values, VertexId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checkpoint::{Keeper, State};
use crate::control::Input;
use crate::edge_file::Numbering;
use crate::exchange::Session;
use crate::job::{self, Superstep, Terms};
use crate::load::{Wanted, load, load_alone};
use crate::{Error, Partition, Result, Room, Shard};

/// An algorithm with its parameters; vertices are internal ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "algorithm", rename_all = "lowercase", deny_unknown_fields)]
pub enum Task {
    /// Ranks that sum to 1.
    PageRank {
        /// Probability of following an edge.
        #[serde(default = "damping")]
        damping: f64,
        /// Steps.
        #[serde(default = "steps")]
        iterations: u32,
    },
    /// Distances along out-edges.
    Sssp {
        /// From here.
        source: VertexId,
        /// The attribute that lengths are; 1 without.
        #[serde(default)]
        weight: Option<String>,
    },
    /// Levels of a breadth-first search along out-edges.
    Bfs {
        /// From here.
        source: VertexId,
    },
    /// Weakly connected components.
    Wcc {},
    /// Communities by label propagation.
    Cdlp {
        /// Rounds at most.
        #[serde(default = "rounds")]
        iterations: u32,
    },
    /// Number of triangles.
    Triangles {},
    /// A proper colouring.
    Coloring {},
    /// A maximal matching.
    Matching {},
}

fn damping() -> f64 {
    0.85
}

fn steps() -> u32 {
    20
}

fn rounds() -> u32 {
    10
}

/// Names of all tasks.
pub const NAMES: [&str; 8] =
    ["pagerank", "sssp", "bfs", "wcc", "cdlp", "triangles", "coloring", "matching"];

/// What a server keeps while a run is taken up again.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) shard: Option<Shard>,
    /// Whether the others have told it which values of the shard they want, and it has the checkpoint
    /// that it began with.
    pub(crate) ready: bool,
    /// Of a file of edges.
    pub(crate) numbered: Option<Numbered>,
    pub(crate) keeper: Keeper,
}

/// What a server knows of the ids in a file of edges.
#[derive(Debug)]
pub(crate) struct Numbered {
    /// The number of the vertex that the task begins at.
    source: VertexId,
    /// Ids of this server's vertices.
    own: Vec<u64>,
}

/// How a server begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Start {
    /// All servers load the graph together.
    Fresh,
    /// The servers that are `new` load their parts alone, unless they have them from an earlier start
    /// that was cut short; the run goes on from the checkpoint of a step, or begins anew.
    Again { new: Vec<usize>, step: Option<u32> },
}

/// What a server does of a task: what it has, who may see its steps, and where.
pub(crate) struct Part<'p> {
    pub(crate) input: &'p Input,
    /// Opens a store, for a server that has to load.
    pub(crate) open: &'p dyn Fn(&Path) -> Result<Graph>,
    pub(crate) start: &'p Start,
    pub(crate) room: &'p Room,
    pub(crate) kept: &'p mut Kept,
    pub(crate) session: &'p mut Session,
    pub(crate) terms: Terms,
    pub(crate) cx: &'p Context,
    /// Told when the run begins.
    pub(crate) loaded: &'p dyn Fn(),
    pub(crate) watch: &'p mut dyn FnMut(&Superstep, &State),
}

/// What a server's part ends with.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Results of this server's vertices, ascending; with a file of edges, their ids before them.
    pub(crate) bytes: Vec<u8>,
    /// Whether time was up before the program was finished.
    pub(crate) cut: bool,
}

impl Task {
    /// The task of a name, with parameters in which vertices are the users' ids.
    ///
    /// # Errors
    /// [`nakshi_engine::Error::UnknownAlgorithm`], [`nakshi_engine::Error::UnknownVertex`], and for
    /// parameters that it does not have or that make no sense.
    pub fn new(
        name: &str,
        parameters: &Map<String, Value>,
        graph: &Graph,
        cx: &Context,
    ) -> Result<Self> {
        Self::named(name, parameters, |source| Ok(graph.vertex_by_json(source, cx)?))
    }

    /// The same for a graph in a file of edges; with the id of the vertex that the task begins at, which
    /// servers find.
    ///
    /// # Errors
    /// As [`Task::new`].
    pub fn of_edges(name: &str, parameters: &Map<String, Value>) -> Result<(Self, Option<u64>)> {
        let mut source = None;
        let task = Self::named(name, parameters, |id| {
            let unknown = || nakshi_engine::Error::UnknownVertex { id: id.to_string() };
            source = Some(id.as_u64().ok_or_else(unknown)?);
            Ok(0)
        })?;
        match task {
            Task::Sssp { weight: Some(_), .. } => {
                let what = "lengths of edges in a file are those that it is read with";
                Err(nakshi_engine::Error::parameter("weight", what).into())
            }
            task => Ok((task, source)),
        }
    }

    fn named(
        name: &str,
        parameters: &Map<String, Value>,
        number: impl FnOnce(&Value) -> Result<VertexId>,
    ) -> Result<Self> {
        if !NAMES.contains(&name) {
            let known = NAMES.join(", ");
            return Err(nakshi_engine::Error::UnknownAlgorithm { name: name.into(), known }.into());
        }
        let mut named = parameters.clone();
        match named.get_mut("source") {
            Some(source) => *source = number(source)?.into(),
            None if matches!(name, "bfs" | "sssp") => {
                let what = format!("{name} needs the id of the vertex that it begins at");
                return Err(nakshi_engine::Error::parameter("source", what).into());
            }
            None => {}
        }
        named.insert("algorithm".into(), name.into());
        let task: Task = serde_json::from_value(named.into())
            .map_err(|error| nakshi_engine::Error::parameter(name, error.to_string()))?;
        match &task {
            Task::PageRank { damping, .. } if !(0.0..1.0).contains(damping) => {
                let what = "must be at least 0 and below 1";
                Err(nakshi_engine::Error::parameter("damping", what).into())
            }
            _ => Ok(task),
        }
    }

    /// What a server needs of a store to load its part.
    pub fn needs(&self) -> Needs {
        let column = match self {
            Task::Sssp { weight, .. } => weight.clone(),
            _ => None,
        };
        Needs { column, gathers: true, ..Needs::new(8.0, &[Direction::In, Direction::Out]) }
    }

    /// Supersteps that it takes, if that is known.
    pub fn steps(&self) -> Option<u32> {
        match self {
            Task::PageRank { iterations, .. } => Some(*iterations),
            _ => None,
        }
    }

    /// Bytes of a vertex's value; of triangles, whose values are lists, those of an empty one.
    pub fn value_bytes(&self) -> u64 {
        match self {
            Task::PageRank { .. } | Task::Sssp { .. } => 8,
            Task::Bfs { .. } | Task::Wcc {} | Task::Cdlp { .. } => 4,
            Task::Coloring {} | Task::Matching {} => 8,
            Task::Triangles {} => 32,
        }
    }

    /// The same from another vertex.
    fn from(mut self, vertex: VertexId) -> Self {
        if let Task::Sssp { source, .. } | Task::Bfs { source } = &mut self {
            *source = vertex;
        }
        self
    }

    /// Runs this server's part.
    pub(crate) fn run(&self, mut part: Part<'_>) -> Result<Found> {
        let numbers = part.numbers()?;
        let known = part.kept.numbered.as_ref();
        let task = known.map_or_else(|| self.clone(), |known| self.clone().from(known.source));
        let part = (part, numbers);
        match task {
            Task::PageRank { damping, iterations } => one(&PageRank { damping, iterations }, part),
            Task::Sssp { source, .. } => one(&ShortestPaths { source }, part),
            Task::Bfs { source } => one(&Levels { source }, part),
            Task::Wcc {} => one(&Components, part),
            Task::Cdlp { iterations } => one(&Communities { iterations }, part),
            Task::Triangles {} => one(&Triangles, part),
            Task::Coloring {} => one(&Coloring, part),
            Task::Matching {} => one(&Matching, part),
        }
    }

    /// The results of `n` vertices as columns, from those of every server's [`Task::run`]; `by_rank` are
    /// vertices in the order of the users' ids, if that is another one.
    ///
    /// # Errors
    /// [`Error::Damaged`]; those of reading ids.
    pub(crate) fn outcome(
        &self,
        results: &[&[u8]],
        n: usize,
        by_rank: &dyn Fn() -> Result<Option<Vec<VertexId>>>,
    ) -> Result<Outcome> {
        // Ranks among the users' ids are names of vertices.
        let vertices = |ranks: Vec<u32>| -> Result<Values> {
            let by_rank = by_rank()?;
            let of = |rank: u32| {
                by_rank.as_ref().map_or(rank, |v| v.get(rank as usize).copied().unwrap_or_default())
            };
            Ok(Values::Vertex(ranks.into_iter().map(of).collect()))
        };
        let mut outcome = Outcome::default();
        let column = match self {
            Task::PageRank { .. } => Column::new("rank", Values::F64(all(results, n)?)),
            Task::Sssp { .. } => {
                let found: Vec<f64> = all(results, n)?;
                let reached = valid(&found, |distance| distance.is_finite());
                Column::with_valid("distance", Values::F64(found), reached)
            }
            Task::Bfs { .. } => {
                let found: Vec<u32> = all(results, n)?;
                let reached = valid(&found, |level| *level != UNREACHED);
                outcome = outcome.with_summary("reached", reached.count() as u64);
                Column::with_valid("level", Values::U32(found), reached)
            }
            Task::Wcc {} => {
                let found: Vec<u32> = all(results, n)?;
                outcome = outcome.with_summary("components", different(&found));
                Column::new("component", vertices(found)?)
            }
            Task::Cdlp { .. } => {
                let found: Vec<u32> = all(results, n)?;
                outcome = outcome.with_summary("communities", different(&found));
                Column::new("label", vertices(found)?)
            }
            Task::Triangles {} => {
                let found: Vec<u64> = all(results, n)?;
                return Ok(outcome.with_summary("triangles", found.iter().sum::<u64>()));
            }
            Task::Coloring {} => {
                let found: Vec<u32> = all(results, n)?;
                let colors = found.iter().max().map_or(0, |most| u64::from(*most) + 1);
                outcome = outcome.with_summary("colors", colors);
                Column::new("color", Values::U32(found))
            }
            Task::Matching {} => {
                let found: Vec<u32> = all(results, n)?;
                let matched = valid(&found, |partner| *partner != UNMATCHED);
                outcome = outcome.with_summary("pairs", matched.count() as u64 / 2);
                Column::with_valid("partner", Values::Vertex(found), matched)
            }
        };
        outcome.columns.push(column);
        Ok(outcome)
    }
}

impl Part<'_> {
    /// Numbers the vertices of a file of edges, if they have to be loaded.
    fn numbers(&mut self) -> Result<Option<Numbering>> {
        let Input::Edges { file, source, bytes } = self.input else { return Ok(None) };
        if self.kept.shard.is_some() && *self.start != Start::Fresh {
            return Ok(None);
        }
        let server = self.session.server();
        let together = (*self.start == Start::Fresh).then_some(&mut *self.session);
        let numbers = file.numbered(*bytes, (server, together), self.cx)?;
        let unknown = |id: u64| nakshi_engine::Error::UnknownVertex { id: id.to_string() };
        let number = |id| numbers.number(id).ok_or_else(|| unknown(id));
        let source = source.map(number).transpose()?.unwrap_or_default();
        self.kept.numbered = Some(Numbered { source, own: Vec::new() });
        Ok(Some(numbers))
    }

    /// Loads this server's part of the graph: with all others, or alone.
    fn load<P: PullProgram>(&mut self, numbers: Option<Numbering>) -> Result<Shard> {
        let Part { input, open, start, room, session, cx, .. } = self;
        let place = (session.server(), session.servers());
        let together = (**start == Start::Fresh).then_some(&mut **session);
        match input {
            Input::Store(path) => {
                let graph = open(path)?;
                let weighted = P::WEIGHTED && graph.weighted();
                let wanted = Wanted { links: P::LINKS, weighted };
                match together {
                    Some(session) => load(&graph, wanted, room, session, cx),
                    None => load_alone(&graph, wanted, room, place, cx),
                }
            }
            Input::Edges { file, .. } => {
                let none = || Error::Failed { server: place.0, why: "it has no numbers".into() };
                let numbers = numbers.ok_or_else(none)?;
                let wanted = Wanted { links: P::LINKS, weighted: P::WEIGHTED };
                let shard = file.load(wanted, &numbers, room, place, together, cx)?;
                if let Some(known) = &mut self.kept.numbered {
                    known.own = numbers.ids(shard.vertices());
                }
                Ok(shard)
            }
        }
    }
}

/// Loads, runs and gathers.
fn one<P: PullProgram>(
    program: &P,
    (mut part, numbers): (Part<'_>, Option<Numbering>),
) -> Result<Found> {
    let fresh = *part.start == Start::Fresh;
    if part.kept.shard.is_none() || fresh {
        part.kept.shard = Some(part.load::<P>(numbers)?);
        part.kept.ready = fresh;
    }
    let Part { start, room, kept, session, terms, cx, loaded, watch, .. } = part;
    let Kept { shard, ready, keeper, numbered } = kept;
    let mut from = None;
    if let Start::Again { new, step } = start {
        for shard in shard.iter_mut() {
            shard.exchange(Some(new), session)?;
            room.check(shard)?;
        }
        match *step {
            Some(step) => from = Some(keeper.restore(step, new, session)?),
            None => keeper.forget(),
        }
        *ready = true;
    }
    loaded();
    let server = session.server();
    let none = || Error::Failed { server, why: "it has no part of the graph".into() };
    let shard = shard.as_ref().ok_or_else(none)?;
    let finished = job::run_from(shard, program, session, (keeper, from), terms, cx, watch)?;
    let mut bytes = Vec::new();
    if let Some(known) = numbered {
        bytes.extend_from_slice(&(known.own.len() as u64).to_le_bytes());
        known.own.iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
    }
    finished.values.iter().for_each(|value| value.encode(&mut bytes));
    Ok(Found { bytes, cut: finished.cut })
}

/// The ids of all vertices of a file of edges, ascending, and the results of each server.
pub(crate) fn ids(results: &[Vec<u8>]) -> Result<(Vec<u64>, Vec<&[u8]>)> {
    let (mut all, mut values) = (Vec::new(), Vec::new());
    for (server, result) in results.iter().enumerate() {
        let parts = result.split_first_chunk().and_then(|(count, rest)| {
            let bytes = usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(8)?;
            rest.split_at_checked(bytes)
        });
        let (ids, rest) = parts.ok_or_else(|| Error::damaged(server, "ids are missing"))?;
        all.extend(ids.as_chunks().0.iter().map(|id| u64::from_le_bytes(*id)));
        values.push(rest);
    }
    all.sort_unstable();
    Ok((all, values))
}

/// Values of all vertices, from those of each server's.
fn all<T: PullValue>(results: &[&[u8]], n: usize) -> Result<Vec<T>> {
    let partition = Partition::new(results.len())?;
    let mut left = results.to_vec();
    // Ids are 32 bits wide.
    let found = (0..n as VertexId).map(|v| {
        let server = partition.owner(v);
        let value = left.get_mut(server).and_then(T::decode);
        value.ok_or_else(|| Error::damaged(server, "results are missing"))
    });
    let found = found.collect::<Result<Vec<T>>>()?;
    match left.iter().position(|left| !left.is_empty()) {
        Some(server) => Err(Error::damaged(server, "it has results of no vertex")),
        None => Ok(found),
    }
}

fn valid<T>(values: &[T], is: impl Fn(&T) -> bool) -> Bitmap {
    let mut bits = Bitmap::new(values.len());
    values.iter().enumerate().filter(|(_, value)| is(value)).for_each(|(v, _)| bits.set(v));
    bits
}

/// How many different numbers below their count.
fn different(numbers: &[u32]) -> u64 {
    let mut seen = Bitmap::new(numbers.len());
    numbers.iter().for_each(|&number| seen.set(number as usize));
    seen.count() as u64
}
