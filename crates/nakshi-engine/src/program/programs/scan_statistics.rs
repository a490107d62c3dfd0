//! Scan statistics with a schedule of its own (FlashGraph sections 3.7 and 4, reference 27).

use crate::error::Result;
use crate::program::{
    EdgeList, Facts, ListKind, Order, ProgramConfig, ProgramNeeds, RunContext, Vertex,
    VertexProgram,
};
use crate::{Direction, VertexId};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest locality statistic of an undirected graph: the number of edges among a vertex
/// and its neighbours, self-loops not counted.
///
/// Vertices run in the order of their degrees, largest first. A vertex of degree `d` has at most
/// `d + d (d - 1) / 2` such edges; as soon as that is less than what was found, it is so
/// for all that follow, and the run stops without reading their lists.
#[derive(Debug, Default)]
pub struct ScanStatistics {
    largest: AtomicU64,
}

/// Scratch data of a running vertex while its lists arrive.
#[derive(Debug, Default)]
pub struct Locality {
    neighbours: Vec<VertexId>,
    edges: u64,
    waiting: usize,
}

impl ScanStatistics {
    /// A program for one run.
    pub fn new() -> Self {
        Self::default()
    }

    /// The statistic, after the run.
    pub fn largest(&self) -> u64 {
        self.largest.load(Ordering::Relaxed)
    }

    /// Settings with few running vertices: what running ones find comes too late for those
    /// that are running already.
    pub fn config() -> ProgramConfig {
        ProgramConfig { running: 16, ..ProgramConfig::default() }
    }

    fn bound(degree: u64) -> u64 {
        degree + degree * degree.saturating_sub(1) / 2
    }
}

impl VertexProgram for ScanStatistics {
    types!(
        /// The statistic, if it was computed.
        State = Option<u64>,
        Message = (),
        Scratch = Locality
    );

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds { degrees: vec![Direction::Out], ..ProgramNeeds::lists(&[Direction::Out]) }
    }

    fn init(&self, _vertex: VertexId, _facts: &Facts) -> Option<u64> {
        None
    }

    fn order(&self) -> Order {
        Order::Key
    }

    fn key(&self, vertex: VertexId, _iteration: u32, facts: &Facts) -> u64 {
        facts.degree(vertex, Direction::Out).unwrap_or(0).into()
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        let degree = cx.facts().degree(me.id(), Direction::Out).unwrap_or(0);
        if Self::bound(degree.into()) < self.largest() {
            cx.stop();
        } else {
            cx.request_own(ListKind::OUT);
        }
    }

    on_list!(self, me, list, cx => {
        let id = me.id();
        let local = &mut me.scratch;
        if list.vertex() == id {
            list.decode_into(&mut local.neighbours)?;
            local.neighbours.retain(|&u| u != id);
            local.neighbours.dedup();
            local.edges = local.neighbours.len() as u64;
            local.waiting = local.neighbours.len();
            cx.request_many(&local.neighbours, ListKind::OUT);
        } else {
            // Each edge between neighbours is counted at its larger end.
            let end = list.vertex();
            let mut mine = local.neighbours.iter().copied().take_while(|&u| u < end).peekable();
            list.blocks(|block| {
                for &w in block {
                    while mine.next_if(|&u| u < w).is_some() {}
                    local.edges += u64::from(mine.next_if_eq(&w).is_some());
                }
                let more = mine.peek().is_some();
                if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            local.waiting -= 1;
        }
        if local.waiting == 0 {
            me.state = Some(local.edges);
            self.largest.fetch_max(local.edges, Ordering::Relaxed);
        }
        Ok(())
    });
}
