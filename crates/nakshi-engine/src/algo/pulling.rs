//! Algorithms by pull programs: on one machine as a variant, on several servers the only way.

use super::algorithm::{Algorithm, parse};
use crate::both;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::program::pull::{Links, PullProgram, Totals, pull_needs, run_pull};
use crate::stats::RunStats;
use nakshi_store::VertexId;
use serde_json::Value;

/// An algorithm that a pull program computes, too.
pub trait Pulls: Algorithm {
    /// The program.
    type Program: PullProgram;

    /// The program with these parameters.
    fn program(&self) -> Self::Program;

    /// The weight column that the program reads.
    fn column(&self) -> Option<&str> {
        None
    }

    /// Steps at most, if the parameters say so.
    fn steps(&self) -> Option<u32> {
        None
    }

    /// The result, from what the program found.
    ///
    /// # Errors
    /// Errors of reading ids.
    fn assemble(&self, found: PulledResult<'_, PulledValue<Self>>) -> Result<Self::Output>;
}

/// The value that the program of an algorithm finds for a vertex.
pub type PulledValue<A> = <<A as Pulls>::Program as PullProgram>::Output;

/// The results of a pull program, on one machine or on several.
pub struct PulledResult<'a, T> {
    /// One value a vertex, in internal order.
    pub values: Vec<T>,
    /// Steps that were run.
    pub steps: u32,
    /// Totals of the last step; `None` on several servers, which keep them.
    pub totals: Option<Totals>,
    /// Vertices in the order of the users' ids; `None` if that is the internal order.
    pub by_rank: &'a dyn Fn() -> Result<Option<Vec<VertexId>>>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl<T> std::fmt::Debug for PulledResult<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Found").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl<T> PulledResult<'_, T> {
    /// The vertices that have these ranks among the users' ids.
    pub(super) fn vertices(&self, ranks: Vec<u32>) -> Result<Vec<VertexId>> {
        let Some(by_rank) = (self.by_rank)()? else { return Ok(ranks) };
        let of = |rank: u32| by_rank.get(rank as usize).copied().unwrap_or_default();
        Ok(ranks.into_iter().map(of).collect())
    }
}

/// Runs the program of an algorithm on one machine.
pub(super) fn run<A: Pulls>(algorithm: &A, graph: &Graph, cx: &Context) -> Result<A::Output> {
    refuse_others(algorithm)?;
    let pulled = run_pull(graph, &algorithm.program(), None, cx)?;
    algorithm.assemble(PulledResult {
        values: pulled.values,
        steps: pulled.steps,
        totals: Some(pulled.totals),
        by_rank: &|| graph.vertices_by_id(cx),
        stats: pulled.stats,
    })
}

/// Fails for a parameter that the program does not know and that is not at its default.
fn refuse_others<A: Pulls>(algorithm: &A) -> Result<()> {
    let as_json = |config: &A| serde_json::to_value(config).unwrap_or_default();
    let (given, defaults) = (as_json(algorithm), as_json(&A::default()));
    for parameter in A::DECLARATION.parameters {
        let name = parameter.name;
        if name != "variant" && !parameter.pulls && given.get(name) != defaults.get(name) {
            return Err(Error::parameter(name, "the variant pull-program does not know it"));
        }
    }
    Ok(())
}

/// Memory that [`run`] needs; `result` is the bytes a vertex of the result made from the program's
/// values.
pub(super) fn needs<A: Pulls>(algorithm: &A, summary: &Summary, result: f64) -> Needs {
    let mut needs = pull_needs(&algorithm.program(), algorithm.column());
    needs.state_bytes_per_vertex += size_of::<PulledValue<A>>() as f64 + result;
    if A::Program::LINKS == Links::Both {
        // A program may keep something for each link of the vertex that runs.
        needs.state_bytes_fixed += 64 * summary.longest_list;
        if summary.directed {
            needs.state_bytes_fixed += both::state_bytes(summary.longest_list);
        }
    }
    needs
}

/// An action on an algorithm whose type only the list of algorithms knows.
pub trait PullVisitor {
    /// The result.
    type Result;

    /// Called with the algorithm.
    fn visit<A: Pulls>(self, algorithm: &A) -> Self::Result;
}

/// Calls the visitor with parameters that have been read.
pub(super) fn pulls<A: Pulls, V: PullVisitor>(parameters: &Value, visitor: V) -> Result<V::Result> {
    let known: Vec<_> = A::DECLARATION.pulled_parameters().collect();
    let given = parameters.as_object().into_iter().flatten();
    if let Some((name, _)) = given.into_iter().find(|(name, _)| !known.contains(&name.as_str())) {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!("{} has no such parameter here; it has: {known}", A::NAME);
        return Err(Error::parameter(name, message));
    }
    Ok(visitor.visit(&parse::<A>(parameters.clone())?))
}
