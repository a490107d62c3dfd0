//! The trait of all algorithms, and the variants that several of them have.

use super::declaration::{Declared, choices};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::Outcome;
use serde_json::Value;

/// An algorithm: its fields are its parameters, as its [`Declaration`](super::Declaration) describes them to Rust, Python and
/// the command line.
pub trait Algorithm: Declared {
    /// The result that a run returns to Rust.
    type Output: Into<Outcome>;
    /// Name as users write it.
    const NAME: &'static str = Self::DECLARATION.name;

    /// The memory and lists that a run needs of the engine.
    fn needs(&self, summary: &Summary) -> Needs;

    /// Runs on `graph`.
    ///
    /// # Errors
    /// [`Error::Parameter`], of reading, [`Error::Cancelled`], [`Error::Panicked`].
    fn run(&self, graph: &Graph, cx: &Context) -> Result<Self::Output>;
}

choices! {
    /// Layer of the engine that runs an algorithm; the results are the same.
    pub enum Variant {
        /// scans and gathers, with what is known about the algorithm
        Direct = "direct",
        /// FlashGraph's vertex program
        Vertex = "vertex",
        /// a program on blocks of vertices
        Block = "block",
        /// LFGraph's pull program, which also runs on several servers
        PullProgram = "pull-program",
    }
}

choices! {
    /// Layer of the engine that runs an algorithm without a vertex program; the results are the same.
    pub enum DirectOrPull {
        /// scans and gathers, with what is known about the algorithm
        Direct = "direct",
        /// LFGraph's pull program, which also runs on several servers
        PullProgram = "pull-program",
    }
}

/// Reads the parameters of an algorithm; those that are missing have their defaults.
pub(super) fn parse<A: Algorithm>(parameters: Value) -> Result<A> {
    let parameters =
        if parameters.is_null() { Value::Object(Default::default()) } else { parameters };
    if let Value::Object(given) = &parameters {
        A::DECLARATION.check(given, &defaults::<A>())?;
    }
    serde_json::from_value(parameters).map_err(|e| Error::parameter(A::NAME, e.to_string()))
}

/// The defaults of an algorithm as JSON.
pub(super) fn defaults<A: Declared>() -> Value {
    serde_json::to_value(A::default()).unwrap_or_default()
}
