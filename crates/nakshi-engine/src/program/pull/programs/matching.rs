//! A maximal matching.
//!
//! J. Hoepman, *Simple distributed weighted matchings*, arXiv:cs/0410047, 2004, with weights by chance:
//! every vertex proposes to the neighbour along its heaviest edge to one that is free; two that propose
//! to each other are a pair. The heaviest edge among the free ones is always taken, so that it ends.

use crate::VertexId;
use crate::error::Result;
use crate::program::pull::{Links, Origin, PullProgram, PullVertex, Totals, mixed};

/// The partner of a vertex that has none.
pub const UNMATCHED: u32 = u32::MAX;

/// The value of a vertex: to whom it proposes or with whom it is matched, and which of the two.
#[derive(Clone, Copy, Debug)]
pub struct PullMatching;

const FREE: u8 = 0;
const MATCHED: u8 = 1;

fn weight(u: VertexId, v: VertexId) -> (u64, VertexId, VertexId) {
    let (low, high) = (u.min(v), u.max(v));
    (mixed(u64::from(low) << 32 | u64::from(high)), low, high)
}

impl PullProgram for PullMatching {
    types!(Value = (u32, u8), Output = u32);
    const LINKS: Links = Links::Both;

    fn init(&self, _: &Origin, _: &mut Totals) -> (u32, u8) {
        (UNMATCHED, FREE)
    }

    fn step<V: PullVertex<(u32, u8)>>(&self, me: &mut V) -> Result<()> {
        let (partner, state) = *me.value();
        if state == MATCHED {
            return Ok(());
        }
        let vertex = me.origin().vertex;
        let (mut accepted, mut heaviest) = (false, None);
        me.links(|u, &(its, state), _| {
            accepted |= u == partner && its == vertex;
            if state == FREE && u != vertex {
                heaviest = heaviest.max(Some((weight(u, vertex), u)));
            }
        })?;
        if accepted {
            me.put((partner, MATCHED));
            return Ok(());
        }
        let proposal = heaviest.map_or(UNMATCHED, |(_, u)| u);
        if proposal != partner {
            me.put((proposal, FREE));
        }
        Ok(())
    }

    /// The vertex it is matched with, or [`UNMATCHED`].
    fn output(&self, _: &Origin, &(partner, state): &(u32, u8)) -> u32 {
        if state == MATCHED { partner } else { UNMATCHED }
    }
}
