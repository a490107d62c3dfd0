//! The programming model: what a user writes (section 2.2).

use super::totals::{Seen, Totals};
use super::value::PullValue;
use crate::VertexId;
use crate::error::Result;

/// Which edges values come along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// In-edges.
    In,
    /// Edges of both directions, each treated as two ("LFGraph is extendible to undirected graphs by
    /// treating each edge as two directed edges"): a neighbour that is joined both ways comes twice.
    Both,
}

/// Constant properties of a vertex, which its first value is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The vertex.
    pub vertex: VertexId,
    /// Position of its id in the ascending order of the users' ids.
    pub rank: u32,
    /// Number of out-neighbours (`getOutLinkCount`), or of edges in both directions with
    /// [`Links::Both`].
    pub degree: u32,
    /// Vertices of the graph.
    pub vertices: u64,
}

/// A vertex in a step.
pub trait PullVertex<T> {
    /// The constant properties of the vertex.
    fn origin(&self) -> Origin;

    /// The number of the step (`getStep`), from 1: values of step 0 are [`PullProgram::init`]'s.
    fn step(&self) -> u32;

    /// The value of the vertex after the step before.
    fn value(&self) -> &T;

    /// Gives the vertex a value (`putValue`), which others see in the next step; an equal value counts
    /// as an
    /// update too.
    fn put(&mut self, value: T);

    /// Calls `f(neighbour, value, weight)` for every link (`getInLinks`), in the order of the list.
    ///
    /// # Errors
    /// Errors of reading the list.
    fn links(&mut self, f: impl FnMut(VertexId, &T, f64)) -> Result<()>;

    /// Calls `f(neighbour, value, weight)` for the links from vertices that were given a value in the
    /// step before
    /// (`getUpdatedInLinks`).
    ///
    /// # Errors
    /// Errors of reading the list.
    fn updated_links(&mut self, f: impl FnMut(VertexId, &T, f64)) -> Result<()>;

    /// Returns true if `f(neighbour, value, weight)` is true of an updated link; later links are not
    /// read.
    ///
    /// # Errors
    /// Errors of reading the list.
    fn any_updated_link(&mut self, f: impl FnMut(VertexId, &T, f64) -> bool) -> Result<bool>;

    /// Totals of the step before.
    fn totals(&self) -> &Seen;

    /// Adds a number to the totals that all vertices see in the next step.
    fn add(&mut self, number: f64);

    /// Adds a number to a second sum, by which the program knows when it is finished.
    fn add_apart(&mut self, number: f64);
}

/// A vertex's next value from its present one and those of its in-neighbours (Abstraction 2.1).
///
/// In each step every vertex runs. There are two versions of each value: the *real* one that others
/// read and the *shadow* that is written. A run ends after a step in which no vertex was given a value,
/// or when the program is [finished](Self::finished). Links are visited in the order of the list, so
/// that values, floats too, are the same for any number of threads and servers, as far as they do not
/// depend on the sums of [`Totals`].
pub trait PullProgram: Sync {
    /// The value of a vertex.
    type Value: PullValue;
    /// The result of a vertex.
    type Output: PullValue;

    /// Which edges values come along.
    const LINKS: Links = Links::In;
    /// True if links have the weights of the edges; otherwise all weights are 1.
    const WEIGHTED: bool = false;
    /// True if the weights are lengths: weights below zero are refused.
    const LENGTHS: bool = false;

    /// The value before the first step, and what it adds to the totals.
    fn init(&self, origin: &Origin, totals: &mut Totals) -> Self::Value;

    /// A vertex's part of a step.
    ///
    /// # Errors
    /// Errors of reading its links.
    fn step<V: PullVertex<Self::Value>>(&self, me: &mut V) -> Result<()>;

    /// Returns true if `step` was the last one, by its totals. Called once a step; `updated` is how
    /// many vertices were given a value.
    fn finished(&self, step: u32, totals: &Totals, updated: u64) -> bool {
        let _ = (step, totals);
        updated == 0
    }

    /// Converts the last value of a vertex into its result.
    fn output(&self, origin: &Origin, value: &Self::Value) -> Self::Output;
}

/// Mixes the bits of a number: what looks like chance and is the same everywhere (D. Stafford's thirteenth variant of MurmurHash3's finaliser).
pub fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
