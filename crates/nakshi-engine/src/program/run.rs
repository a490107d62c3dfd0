//! A run of a program: the states at the start, the workers, their steps.

use super::config::ProgramConfig;
use super::engine::{Engine, TeamStep, facts};
use super::model::{Facts, VertexProgram};
use super::team::caught;
use super::worker::ProgramWorker;
use crate::VertexId;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::stats::{IterationLog, RunStats};
use std::sync::PoisonError;

/// Runs `program` on `graph` until no vertex is active, and returns the state of every vertex
/// and what happened in each iteration.
///
/// Works on lists in memory and on the SSD alike: open the graph with
/// [`ProgramConfig::needs`]`(&program)`.
///
/// # Errors
/// [`Error::Panicked`] if a callback panics, [`Error::UnknownVertex`] if one names a vertex
/// that there is not, [`Error::Unsupported`] if the graph was opened without what the program
/// needs, [`Error::Budget`] and [`Error::OutOfMemory`] if the states do not fit,
/// [`Error::Cancelled`], [`Error::Deadline`], and errors of reading. In each case all threads
/// have ended, and the graph can be used again.
pub fn run_program<P: VertexProgram>(
    graph: &Graph,
    program: &P,
    config: &ProgramConfig,
    cx: &Context,
) -> Result<(Vec<P::State>, RunStats)> {
    caught(|| {
        let log = IterationLog::new(graph);
        let facts = facts(graph, &program.needs(), cx)?;
        let mut states = initial_states(&facts, program, config, cx)?;
        let engine = Engine::new(graph, program, config, cx, facts, &mut states, log)?;
        let stats = engine.run()?;
        drop(engine);
        Ok((states, stats))
    })
}

fn initial_states<P: VertexProgram>(
    facts: &Facts,
    program: &P,
    config: &ProgramConfig,
    cx: &Context,
) -> Result<Vec<P::State>> {
    let n = facts.vertices;
    let needs = config.needs(program);
    let needed = (needs.state_bytes_per_vertex * n as f64) as u64;
    if let Some(given) = cx.memory().filter(|&given| given < needed) {
        return Err(Error::Budget { what: "vertex state".into(), needed, given });
    }
    let mut states = Vec::new();
    let bytes = needed;
    states.try_reserve_exact(n).map_err(|_| Error::OutOfMemory { what: "vertex state", bytes })?;
    for from in (0..n).step_by(1 << 16) {
        cx.check()?;
        // Ids are 32 bits wide: the graph is no larger.
        states.extend((from..n.min(from + (1 << 16))).map(|v| program.init(v as VertexId, facts)));
    }
    Ok(states)
}

impl<P: VertexProgram> Engine<'_, P> {
    fn run(&self) -> Result<RunStats> {
        self.team.run(|index| self.work(index))?;
        let mut plan = self.plan.write().unwrap_or_else(PoisonError::into_inner);
        Ok(plan.log.take().map(IterationLog::finish).unwrap_or_default())
    }

    /// Runs worker `index` from the start to the end of the run.
    fn work(&self, index: usize) -> Result<()> {
        let read = || self.plan.read().unwrap_or_else(PoisonError::into_inner);
        let mut worker = ProgramWorker::new(self, index);
        loop {
            let plan = read();
            let alone = plan.alone;
            if alone && index != 0 {
                drop(plan);
                self.team.sync(|| self.settle())?;
                continue;
            }
            if plan.step == TeamStep::Done {
                return Ok(());
            }
            worker.step(&plan)?;
            drop(plan);
            if alone {
                self.advance()?;
                if !read().solo {
                    self.team.sync(|| self.settle())?;
                }
            } else {
                self.team.sync(|| self.advance().and_then(|()| self.settle()))?;
            }
        }
    }
}
