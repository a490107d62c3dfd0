//! Counting triangles, with lists of neighbours as values (section 2.2.4).
//!
//! The first vertex of each triangle counts it, so that vertices send only neighbours that
//! come after them, and nothing is counted twice; by degrees, those lists are short (M. Latapy,
//! *Main-memory triangle computations for very large graphs*, Theor. Comput. Sci. 407, 2008).

use crate::VertexId;
use crate::error::Result;
use crate::program::pull::{Links, Origin, PullProgram, PullVertex, Totals};

/// Triangles of the graph without directions, self-loops and parallel edges. The sum of
/// [`PullProgram::Output`] is their number; each is counted at its vertex of the fewest edges.
#[derive(Clone, Copy, Debug)]
pub struct PullTriangles;

fn order(degree: u32, vertex: VertexId) -> (u32, VertexId) {
    (degree, vertex)
}

impl PullProgram for PullTriangles {
    types!(
        /// Edges, then triangles; neighbours that come after it.
        Value = (u64, Vec<u32>),
        Output = u64
    );
    const LINKS: Links = Links::Both;

    fn init(&self, origin: &Origin, _: &mut Totals) -> (u64, Vec<u32>) {
        (origin.degree.into(), Vec::new())
    }

    fn step<V: PullVertex<(u64, Vec<u32>)>>(&self, me: &mut V) -> Result<()> {
        let vertex = me.origin().vertex;
        match me.step() {
            1 => {
                let degree = me.value().0;
                let mine = order(degree as u32, vertex);
                let mut later = Vec::new();
                me.links(|u, (degree, _), _| {
                    if order(*degree as u32, u) > mine {
                        later.push(u);
                    }
                })?;
                later.sort_unstable();
                later.dedup();
                me.put((degree, later));
            }
            2 => {
                let mine = me.value().1.clone();
                let mut count = 0;
                let mut seen = vec![false; mine.len()];
                me.links(|u, (_, theirs), _| {
                    // A neighbour that is joined both ways comes twice.
                    if let Ok(at) = mine.binary_search(&u)
                        && let Some(seen) = seen.get_mut(at)
                        && !std::mem::replace(seen, true)
                    {
                        count += common(&mine, theirs);
                    }
                })?;
                me.add(count as f64);
                me.put((count, Vec::new()));
            }
            _ => {}
        }
        Ok(())
    }

    fn finished(&self, step: u32, _: &Totals, updated: u64) -> bool {
        step >= 2 || updated == 0
    }

    fn output(&self, _: &Origin, value: &(u64, Vec<u32>)) -> u64 {
        value.0
    }
}

/// The number of common entries of two ascending lists.
fn common(mut a: &[u32], mut b: &[u32]) -> u64 {
    let mut count = 0;
    while let (Some((x, more_a)), Some((y, more_b))) = (a.split_first(), b.split_first()) {
        if x <= y {
            a = more_a;
        }
        if y <= x {
            b = more_b;
        }
        count += u64::from(x == y);
    }
    count
}
