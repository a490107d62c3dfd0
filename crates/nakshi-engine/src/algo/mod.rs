//! The built-in algorithms, one file each, and their registry.
//!
//! Each file holds the citation, the encoding of the state, the config struct with
//! its defaults, and the kernel; `oracle/` verifies each by another method.
//! [`REGISTRY`] is the one table from which Python and the command line take names.

pub mod apsp;
pub mod bc;
pub mod bfs;
pub(crate) mod both;
pub mod cdlp;
pub mod diameter;
pub mod lcc;
pub mod oracle;
pub mod pagerank;
mod pagerank_delta;
pub(crate) mod reach;
pub mod scan_statistics;
mod sources;
pub mod sssp;
pub mod triangles;
pub mod wcc;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::Outcome;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An algorithm: its fields are its parameters, as Rust, Python and the command line
/// know them (all with defaults, `#[serde(default, deny_unknown_fields)]`).
pub trait Algorithm: DeserializeOwned {
    /// What a run returns to Rust.
    type Output: Into<Outcome>;
    /// Name as users write it.
    const NAME: &'static str;
    /// One line on what it computes.
    const ABOUT: &'static str;
    /// Parameters that are vertices, or lists of vertices: users give their own ids, which
    /// the registry turns into internal ids before the config is read.
    const VERTEX_PARAMETERS: &'static [&'static str] = &[];

    /// What a run needs of the engine.
    fn needs(&self, summary: &Summary) -> Needs;

    /// Runs on `graph`.
    ///
    /// # Errors
    /// [`Error::Parameter`], of reading, [`Error::Cancelled`], [`Error::Panicked`].
    fn run(&self, graph: &Graph, cx: &Context) -> Result<Self::Output>;
}

/// Which layer of the engine runs an algorithm that two of them can run; the results are
/// the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Scans and gathers, with what is known about the algorithm.
    #[default]
    Direct,
    /// FlashGraph's vertex program of [`crate::program::programs`].
    Vertex,
}

/// One line of the registry.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name as users write it.
    pub name: &'static str,
    /// One line on what it computes.
    pub about: &'static str,
    /// What a run with these parameters (users' ids) needs.
    pub needs: fn(&Value, &Summary) -> Result<Needs>,
    /// Runs with these parameters (users' ids).
    pub run: fn(&Value, &Graph, &Context) -> Result<Outcome>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

fn parse<A: Algorithm>(parameters: Value) -> Result<A> {
    let parameters =
        if parameters.is_null() { Value::Object(Default::default()) } else { parameters };
    serde_json::from_value(parameters).map_err(|e| Error::parameter(A::NAME, e.to_string()))
}

/// `parameters` with every vertex parameter replaced by what `translate` makes of it.
fn with_vertices<A: Algorithm>(
    parameters: &Value,
    translate: impl Fn(&Value) -> Result<Value>,
) -> Result<Value> {
    let mut parameters = parameters.clone();
    for name in A::VERTEX_PARAMETERS {
        match parameters.get_mut(*name) {
            None | Some(Value::Null) => {}
            Some(Value::Array(ids)) => {
                for id in ids {
                    *id = translate(id)?;
                }
            }
            Some(id) => *id = translate(id)?,
        }
    }
    Ok(parameters)
}

const fn entry<A: Algorithm>() -> Entry {
    Entry {
        name: A::NAME,
        about: A::ABOUT,
        needs: |parameters, summary| {
            // An estimate needs no graph: any vertex stands for any other.
            let parameters = with_vertices::<A>(parameters, |_| Ok(Value::from(0u32)))?;
            Ok(parse::<A>(parameters)?.needs(summary))
        },
        run: |parameters, graph, cx| {
            let parameters =
                with_vertices::<A>(parameters, |id| graph.vertex_by_json(id, cx).map(Value::from))?;
            Ok(parse::<A>(parameters)?.run(graph, cx)?.into())
        },
    }
}

/// All algorithms by name.
pub const REGISTRY: &[Entry] = &[
    entry::<apsp::Apsp>(),
    entry::<bc::Bc>(),
    entry::<bfs::Bfs>(),
    entry::<cdlp::Cdlp>(),
    entry::<diameter::Diameter>(),
    entry::<lcc::Lcc>(),
    entry::<pagerank::PageRank>(),
    entry::<scan_statistics::ScanStatistics>(),
    entry::<sssp::Sssp>(),
    entry::<triangles::Triangles>(),
    entry::<wcc::Wcc>(),
];

/// The registry's entry for `name`.
///
/// # Errors
/// [`Error::UnknownAlgorithm`].
pub fn find(name: &str) -> Result<&'static Entry> {
    REGISTRY.iter().find(|e| e.name == name).ok_or_else(|| Error::UnknownAlgorithm {
        name: name.to_owned(),
        known: REGISTRY.iter().map(|e| e.name).collect::<Vec<_>>().join(", "),
    })
}

/// Runs the algorithm `name` with JSON `parameters`, in which vertices are users' ids.
///
/// # Errors
/// [`Error::UnknownAlgorithm`], [`Error::Parameter`], [`Error::UnknownVertex`], and
/// those of the run.
pub fn run_named(name: &str, parameters: &Value, graph: &Graph, cx: &Context) -> Result<Outcome> {
    (find(name)?.run)(parameters, graph, cx)
}
