//! FlashGraph's programming model and the engine that runs it.
//!
//! A [`VertexProgram`] says what one vertex does; [`run_program`] executes it on all of them,
//! with edge lists in memory or on the SSD. Sections are those of the paper: D. Zheng et al.,
//! *FlashGraph: Processing Billion-Node Graphs on an Array of Commodity SSDs*, FAST 2015.
//!
//! * [`model`]: the trait (3.3, 3.4), and what callbacks can do: request, activate, send, multicast;
//! * [`lists`]: requests of running vertices, sorted and merged (3.6);
//! * [`schedule`], [`grid`]: order of vertices, partitions, stealing (3.7, 3.8);
//! * [`outbox`]: messages in bundles (3.4.1);
//! * [`engine`], [`worker`], [`run`]: the iterations;
//! * [`block`]: the same subset, a block of vertices at a time;
//! * [`pull`]: the subset in which a value is a function of the in-neighbours' values;
//! * [`programs`]: breadth-first search, PageRank, components, triangles and scan statistics in
//!   program form.

/// Writes [`VertexProgram::run_on_vertex`] of a program of this crate:
/// `on_list!(self, me, list, cx => { ... })`.
macro_rules! on_list {
    ($self:ident, $me:pat, $list:pat, $cx:pat => $body:block) => {
        fn run_on_vertex(
            &$self,
            $me: &mut Vertex<Self>,
            $list: &EdgeList<'_>,
            $cx: &mut RunContext<'_, Self>,
        ) -> Result<()> {
            $body
        }
    };
}

/// Writes the types of a program: `types!(State = u32, Message = (), Scratch = ());`.
macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $type:ty),*) => {
        $($(#[$doc])* type $name = $type;)*
    };
}

pub mod block;
mod config;
mod engine;
mod frontier;
mod grid;
mod lists;
mod model;
mod outbox;
pub mod programs;
pub mod pull;
mod run;
mod schedule;
mod states;
mod team;
mod worker;

pub use config::ProgramConfig;
/// The name under which users' programs know [`ProgramConfig`].
pub use config::ProgramConfig as Config;
pub use grid::Grid;
pub use lists::{EdgeList, ListKind};
pub use model::{Facts, Order, ProgramNeeds, RunContext, Signals, Start, Vertex, VertexProgram};
pub use run::run_program;

#[cfg(test)]
mod tests;
