//! Descriptions of programs in other languages, and their runs.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::arrays::{Arrays, Kind};
use super::foreign::{
    FailedBlock, Foreign, ForeignFrontier, ForeignPull, Functions, Inputs, MessageKind, Sending,
};
use super::frontier::{frontier_needs, run_frontier};
use super::frontier_model::Combine;
use super::run::{block_needs, run_blocks};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome};
use crate::program::pull::{Links, Totals};
use crate::{Needs, Summary, VertexId};
use nakshi_io::run_beside;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Interval at which a run looks whether its functions should stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A program in another language, apart from its functions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// Its name.
    pub name: String,
    /// Names and types of the values of a vertex.
    pub values: Vec<(String, Kind)>,
    /// True if it reads out-degrees.
    pub degrees: bool,
    /// True if it reads weights.
    pub weighted: bool,
    /// True if it asks whether a run names a vertex.
    pub named: bool,
    /// Messages, if vertices send any.
    pub sending: Option<SendingSpec>,
    /// Ids of the vertices that the run names, as JSON.
    pub sources: Option<Vec<Value>>,
    /// Parameters.
    pub numbers: Vec<f64>,
    /// Number of arrays that the run is given.
    pub given: usize,
    /// The column that weights are.
    pub column: Option<String>,
    /// Most steps.
    pub iterations: Option<u32>,
    /// The run of a program without messages ends when the first values of all vertices change by no more
    /// than this in sum.
    pub tolerance: Option<f64>,
}

/// The messages of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendingSpec {
    /// True if messages go along edges of both directions.
    pub both: bool,
    /// True if some vertices want no messages.
    pub selects: bool,
    /// The type of messages.
    pub message: MessageKind,
    /// The way in which messages become one.
    pub combine: Combine,
    /// True if the last values are the same in whatever order messages come.
    pub eager: bool,
}

/// A program with its functions.
pub enum ForeignProgram {
    /// Vertices read values.
    Pull(ForeignPull),
    /// Vertices send messages.
    Frontier(ForeignFrontier),
}

impl ForeignProgram {
    /// The parts that do not depend on the kind of program.
    fn foreign(&self) -> &Foreign {
        match self {
            ForeignProgram::Pull(program) => program.foreign(),
            ForeignProgram::Frontier(program) => program.foreign(),
        }
    }

    /// The call that has failed, if one has.
    pub fn failed(&self) -> Option<FailedBlock> {
        self.foreign().failed()
    }

    /// The first values of some vertices, and 0 for those that want no messages; adds to the totals.
    ///
    /// # Errors
    /// [`Error::Program`].
    pub fn first(
        &self,
        vertices: &[VertexId],
        degrees: &[u32],
        totals: &mut Totals,
    ) -> Result<(Arrays, Vec<u8>)> {
        self.foreign().first(vertices, degrees, totals)
    }

    /// Does some work, during which functions are told to stop when `cx` is cancelled or its time is up.
    ///
    /// # Errors
    /// Those of the work, or why it was stopped.
    pub fn watched<T, E: nakshi_io::WorkerError + From<Error>>(
        &self,
        cx: &Context,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let over = Over::default();
        let lead = || {
            let _guard = OverGuard(&over);
            work()
        };
        let watch = |_| {
            while !over.within(POLL_INTERVAL) {
                if cx.check().is_err() {
                    self.foreign().stop().store(1, Relaxed);
                    return Ok(());
                }
            }
            Ok(())
        };
        let (done, _) = run_beside(1, lead, watch)?;
        Ok(done)
    }
}

/// The end of some work, for which another thread waits.
#[derive(Default)]
struct Over {
    over: Mutex<bool>,
    changed: Condvar,
}

impl Over {
    /// Returns true if the work has ended, and waits for that for a time.
    fn within(&self, time: Duration) -> bool {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(over, time, |over| !*over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Guard that says that the work has ended, even by a panic.
struct OverGuard<'a>(&'a Over);

impl Drop for OverGuard<'_> {
    fn drop(&mut self) {
        *self.0.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

impl ProgramSpec {
    /// Memory and lists that a run needs.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a program that makes no sense.
    pub fn needs(&self, summary: &Summary) -> Result<Needs> {
        let named = if self.named { vec![0] } else { Vec::new() };
        let program = self.program(Functions::none(), named, None, Vec::new(), 0)?;
        let column = self.column.as_deref().filter(|_| self.weighted);
        let mut needs = match &program {
            ForeignProgram::Pull(program) => block_needs(program, column, summary),
            ForeignProgram::Frontier(program) => frontier_needs(program, column, summary),
        };
        needs.state_bytes_per_vertex += 8.0 * self.given as f64;
        Ok(needs)
    }

    /// The program with its functions, the vertices that the run names, those that send first, and arrays.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a program that makes no sense.
    pub fn program(
        &self,
        functions: Functions,
        named: Vec<u8>,
        starts: Option<Vec<VertexId>>,
        given: Vec<Vec<f64>>,
        vertices: usize,
    ) -> Result<ForeignProgram> {
        if self.values.is_empty() {
            return Err(Error::parameter("value", "a program has at least one value a vertex"));
        }
        let inputs = Inputs {
            kinds: self.values.iter().map(|(_, kind)| *kind).collect(),
            vertices,
            degrees: self.degrees,
            named,
            numbers: self.numbers.clone(),
            given,
            stop: AtomicI64::new(0),
        };
        let Some(sending) = &self.sending else {
            let program = ForeignPull::new(functions, inputs, self.weighted, self.tolerance);
            return Ok(ForeignProgram::Pull(program));
        };
        let links = if sending.both { Links::Both } else { Links::In };
        let sending = Sending {
            links,
            weighted: self.weighted,
            selects: sending.selects,
            kind: sending.message,
            combine: sending.combine,
            eager: sending.eager,
            starts,
        };
        let program = ForeignFrontier::new(functions, inputs, sending);
        let missing = || Error::parameter("send", "the functions of messages are missing");
        program.map(ForeignProgram::Frontier).ok_or_else(missing)
    }

    /// A flag for each vertex that the run names, and these vertices.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`]; errors of reading ids.
    pub fn named(&self, graph: &Graph, cx: &Context) -> Result<(Vec<u8>, Option<Vec<VertexId>>)> {
        let Some(sources) = &self.sources else { return Ok((Vec::new(), None)) };
        let vertices = sources.iter().map(|id| graph.vertex_by_json(id, cx));
        let vertices = vertices.collect::<Result<Vec<_>>>()?;
        Ok((self.flags(Some(&vertices), graph.num_vertices())?, Some(vertices)))
    }

    /// A flag for each of `n` vertices: 1 if it is one of some; none if the program does not ask.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn flags(&self, vertices: Option<&[VertexId]>, n: usize) -> Result<Vec<u8>> {
        if !self.named {
            return Ok(Vec::new());
        }
        let mut flags = crate::shared::zeroed(n, "flags of vertices")?;
        for v in vertices.unwrap_or_default() {
            if let Some(flag) = flags.get_mut(*v as usize) {
                *flag = 1;
            }
        }
        Ok(flags)
    }

    /// Arrays in the order of the users' ids, in that of vertices.
    fn in_order(&self, given: Vec<Vec<f64>>, graph: &Graph, cx: &Context) -> Result<Vec<Vec<f64>>> {
        let Some(ranks) = (!given.is_empty()).then(|| graph.id_ranks(cx)).transpose()?.flatten()
        else {
            return Ok(given);
        };
        let placed = |array: Vec<f64>| {
            let at = |rank: &u32| array.get(*rank as usize).copied().unwrap_or(f64::NAN);
            ranks.iter().map(at).collect()
        };
        Ok(given.into_iter().map(placed).collect())
    }

    /// Runs the program; `given` are arrays of all vertices in the ascending order of their ids. Returns the
    /// call that has failed beside an error of the program.
    pub fn run(
        &self,
        functions: Functions,
        given: Vec<Vec<f64>>,
        graph: &Graph,
        cx: &Context,
    ) -> (Result<Outcome>, Option<FailedBlock>) {
        let made = self.named(graph, cx).and_then(|(named, starts)| {
            let given = self.in_order(given, graph, cx)?;
            self.program(functions, named, starts, given, graph.num_vertices())
        });
        let program = match made {
            Ok(program) => program,
            Err(error) => return (Err(error), None),
        };
        let ran = program.watched(cx, || match &program {
            ForeignProgram::Pull(program) => {
                let found = run_blocks(graph, program, self.iterations, cx)?;
                let outcome = self.outcome(found.values, found.steps);
                Ok(Outcome { stats: found.stats, ..outcome }
                    .with_summary("changed", found.change.vertices))
            }
            ForeignProgram::Frontier(program) => {
                let found = run_frontier(graph, program, self.iterations, cx)?;
                let outcome = self.outcome(found.values, found.steps);
                Ok(Outcome { stats: found.stats, ..outcome }.with_summary("changed", found.active))
            }
        });
        // A function that was told to stop has not failed.
        let ran = cx.check().and(ran);
        let failed = matches!(ran, Err(Error::Program { .. })).then(|| program.failed()).flatten();
        (ran, failed)
    }

    /// Bytes of the values of a vertex.
    pub fn width(&self) -> usize {
        self.values.iter().map(|(_, kind)| kind.bytes()).sum()
    }

    /// Arrays for the values of so many vertices.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn arrays(&self, n: usize) -> Result<Arrays> {
        Arrays::new(self.values.iter().map(|(_, kind)| *kind), n)
    }

    /// Values as columns.
    pub fn outcome(&self, values: Arrays, steps: u32) -> Outcome {
        let columns = self.values.iter().zip(values.0);
        let columns = columns.map(|((name, _), array)| Column::new(name, array.into())).collect();
        Outcome { columns, ..Outcome::default() }.with_summary("iterations", steps)
    }
}
