//! A proper colouring.
//!
//! M. Jones, P. Plassmann, *A parallel graph coloring heuristic*, SIAM J. Sci. Comput. 14, 1993, with
//! vertices of many edges first (W. Hasenplaugh et al., SPAA 2014): a vertex takes the least colour that
//! none of its neighbours has when all neighbours that go before it have theirs.

use crate::VertexId;
use crate::error::Result;
use crate::program::pull::{Links, Origin, PullProgram, PullVertex, Totals, mixed};

/// The value of a vertex: its edges, and its colour and one, or 0.
#[derive(Clone, Copy, Debug)]
pub struct PullColoring;

/// Priority of a vertex: many edges first, then chance, then the rank of the id.
pub(crate) fn color_order(degree: u32, vertex: VertexId) -> (u32, u64, VertexId) {
    (degree, mixed(vertex.into()), vertex)
}

impl PullProgram for PullColoring {
    types!(Value = (u32, u32), Output = u32);
    const LINKS: Links = Links::Both;

    fn init(&self, origin: &Origin, _: &mut Totals) -> (u32, u32) {
        (origin.degree, 0)
    }

    fn step<V: PullVertex<(u32, u32)>>(&self, me: &mut V) -> Result<()> {
        let (degree, color) = *me.value();
        if color != 0 {
            return Ok(());
        }
        let vertex = me.origin().vertex;
        let mine = color_order(degree, vertex);
        let (mut waits, mut taken) = (false, Vec::new());
        me.links(|u, &(degree, color), _| {
            if color != 0 {
                taken.push(color);
            } else if u != vertex && color_order(degree, u) > mine {
                waits = true;
            }
        })?;
        if !waits {
            taken.sort_unstable();
            taken.dedup();
            let free = (1..).zip(&taken).find(|(color, taken)| color != *taken);
            // As many colours as neighbours, of whom there are fewer than 2^32.
            let color = free.map_or(taken.len() as u32 + 1, |(color, _)| color);
            me.put((degree, color));
        }
        Ok(())
    }

    /// Colours from 0.
    fn output(&self, _: &Origin, &(_, color): &(u32, u32)) -> u32 {
        color.saturating_sub(1)
    }
}
