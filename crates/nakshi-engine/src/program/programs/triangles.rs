//! Triangle counting (FlashGraph section 4, reference 28).

use crate::error::Result;
use crate::program::{
    EdgeList, Facts, ListKind, ProgramNeeds, RunContext, Signals, Vertex, VertexProgram,
};
use crate::{Direction, VertexId};
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// Triangles of every vertex of an undirected graph; self-loops do not count.
///
/// A triangle is found by its largest vertex, which asks for the lists of its smaller
/// neighbours and tells the other two corners. In a graph ordered by degree the smaller
/// neighbours are hubs: their lists are asked for by many vertices and stay in the cache, and
/// only their short beginnings are decoded.
#[derive(Clone, Copy, Debug)]
pub struct Triangles {
    /// Vertices of a larger degree are split into parts of about this many neighbours.
    pub split_degree: u32,
}

impl Default for Triangles {
    fn default() -> Self {
        Triangles { split_degree: 1 << 15 }
    }
}

/// Scratch data of a running vertex while its lists arrive.
#[derive(Debug, Default)]
pub struct Corner {
    /// The smaller neighbours, ascending.
    smaller: Vec<VertexId>,
    /// Triangles found with each of them as the smallest corner.
    found: Vec<u64>,
    /// Lists that have not come yet.
    waiting: usize,
}

impl Triangles {
    /// The number of triangles of the graph: each has three corners.
    pub fn total(states: &[u64]) -> u64 {
        states.iter().sum::<u64>() / 3
    }

    fn own_list(
        me: &mut Vertex<Self>,
        list: &EdgeList<'_>,
        cx: &mut RunContext<'_, Self>,
    ) -> Result<()> {
        let (id, range) = (me.id(), me.part_range(cx.facts()));
        let corner = &mut me.scratch;
        list.blocks(|block| {
            let below = block.partition_point(|&u| u < id);
            corner.smaller.extend(block.iter().take(below));
            if below < block.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        // A store may keep duplicates.
        corner.smaller.dedup();
        // The smallest neighbour cannot be the middle corner.
        for &u in corner.smaller.iter().skip(1).filter(|&&u| range.contains(&u.into())) {
            cx.request(u, ListKind::OUT);
            corner.waiting += 1;
        }
        corner.found.resize(corner.smaller.len(), 0);
        Ok(())
    }
}

impl VertexProgram for Triangles {
    types!(State = u64, Message = u64, Scratch = Corner);
    const COMBINES: bool = true;

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds { degrees: vec![Direction::Out], ..ProgramNeeds::lists(&[Direction::Out]) }
    }

    fn init(&self, _vertex: VertexId, _facts: &Facts) -> u64 {
        0
    }

    fn parts(&self, vertex: VertexId, facts: &Facts) -> u32 {
        let degree = facts.degree(vertex, Direction::Out).unwrap_or(0);
        degree.div_ceil(self.split_degree.max(1)).clamp(1, 64)
    }

    fn run(&self, _me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        cx.request_own(ListKind::OUT);
    }

    on_list!(self, me, list, cx => {
        if list.vertex() == me.id() {
            return Self::own_list(me, list, cx);
        }
        let middle = list.vertex();
        let corner = &mut me.scratch;
        let mut mine = corner.smaller.iter().zip(&mut corner.found).peekable();
        let mut count = 0;
        list.blocks(|block| {
            for &w in block.iter().take_while(|&&w| w < middle) {
                while let Some((candidate, found)) = mine.peek_mut() {
                    match w.cmp(candidate) {
                        Ordering::Less => break,
                        Ordering::Equal => {
                            **found += 1;
                            count += 1;
                            mine.next();
                            break;
                        }
                        Ordering::Greater => mine.next(),
                    };
                }
            }
            let done = mine.peek().is_none() || block.last().is_none_or(|&w| w >= middle);
            if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        corner.waiting -= 1;
        if count > 0 {
            cx.send(middle, count);
        }
        if corner.waiting == 0 {
            let mut total = 0;
            for (&w, &found) in corner.smaller.iter().zip(&corner.found).filter(|(_, f)| **f > 0) {
                cx.send(w, found);
                total += found;
            }
            cx.send(me.id(), total);
        }
        Ok(())
    });

    fn run_on_message(&self, state: &mut u64, message: &u64, _cx: &mut Signals<'_, Self>) {
        *state += message;
    }

    fn combine(&self, message: &mut u64, later: &u64) {
        *message += later;
    }
}
