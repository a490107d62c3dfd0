//! PageRank by deltas (FlashGraph section 4; Y. Zhang et al., *Maiter*, TPDS 2014).

use crate::error::Result;
use crate::program::{
    EdgeList, Facts, ListKind, ProgramNeeds, RunContext, Signals, Vertex, VertexProgram,
};
use crate::{Direction, VertexId};

/// A rank of 1 in fixed point. Sums of integers do not depend on their order, so that ranks
/// are the same for any number of threads; 62 bits leave 30 of them to the average vertex of a
/// graph of 2^32.
const ONE: f64 = (1u64 << 62) as f64;

/// A vertex sends the change of its rank to its out-neighbours, and rests when it is small.
#[derive(Clone, Copy, Debug)]
pub struct PageRank {
    damping: u64,
    base: u64,
    threshold: u64,
}

/// The rank of a vertex in fixed point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Rank that was passed on.
    rank: u64,
    /// Change that has arrived and is to be passed on.
    delta: u64,
    /// Change that has arrived during this iteration.
    incoming: u64,
}

impl PageRank {
    /// With damping factor `damping` (0 to 1), on a graph of `vertices`. Changes below
    /// `tolerance / vertices` are not passed on, so that at most `tolerance` of the mass of 1
    /// is not where it belongs.
    pub fn new(vertices: usize, damping: f64, tolerance: f64) -> Self {
        let n = vertices.max(1) as f64;
        PageRank {
            damping: (damping.clamp(0.0, 1.0) * f64::from(1u32 << 31)) as u64,
            base: ((1.0 - damping.clamp(0.0, 1.0)) / n * ONE) as u64,
            threshold: (tolerance.max(0.0) / n * ONE) as u64,
        }
    }

    /// Ranks that sum to 1.
    ///
    /// A vertex without out-edges lets its mass go; spreading it evenly instead would multiply
    /// all ranks by the same factor, which the normalisation does too.
    pub fn ranks(states: &[Rank]) -> Vec<f64> {
        let raw = |s: &Rank| s.rank as f64 + s.delta as f64 + s.incoming as f64;
        let sum: f64 = states.iter().map(raw).sum();
        states.iter().map(|s| raw(s) / sum).collect()
    }

    /// Mass that vertices hold back, as a part of all; infinite without vertices.
    pub fn left(states: &[Rank]) -> f64 {
        let (mut whole, mut left) = (0.0, 0.0);
        for state in states {
            let held = (state.delta + state.incoming) as f64;
            whole += state.rank as f64 + held;
            left += held;
        }
        if whole == 0.0 { f64::INFINITY } else { left / whole }
    }
}

impl VertexProgram for PageRank {
    types!(
        State = Rank,
        Message = u64,
        /// The change that is being passed on.
        Scratch = u64
    );
    const COMBINES: bool = true;

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, _vertex: VertexId, _facts: &Facts) -> Rank {
        Rank { delta: self.base, ..Rank::default() }
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        me.scratch = std::mem::take(&mut me.state.delta);
        me.state.rank += me.scratch;
        cx.request_own(ListKind::OUT);
    }

    on_list!(self, me, list, cx => {
        let damped = (u128::from(me.scratch) * u128::from(self.damping)) >> 31;
        let share = damped.checked_div(list.degree().into()).unwrap_or(0);
        match u64::try_from(share) {
            Ok(share) if share > 0 => cx.multicast_list(list, share),
            _ => Ok(()),
        }
    });

    fn run_on_message(&self, state: &mut Rank, message: &u64, cx: &mut Signals<'_, Self>) {
        state.incoming += message;
        cx.request_iteration_end();
    }

    fn run_on_iteration_end(&self, state: &mut Rank, cx: &mut Signals<'_, Self>) {
        state.delta += std::mem::take(&mut state.incoming);
        if state.delta > self.threshold {
            cx.activate(cx.vertex());
        }
    }

    fn combine(&self, message: &mut u64, later: &u64) {
        *message += later;
    }
}
