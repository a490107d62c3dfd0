//! Triangles of a directed graph with the arcs of their sides: each corner gets 1 if the
//! opposite side has one direction, 2 if it has both.

use super::oriented::{LOW, OrientedPart};
use crate::context::Context;
use crate::error::Result;
use crate::parallel::map_ranges;
use crate::vertex_set::Bitmap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ranks per ticket.
const CHUNK: usize = 128;
/// Edges between two looks at the cancel token.
const CHECK_INTERVAL: usize = 1024;

/// The marked list of one vertex: a byte per rank below [`LOW`] (0: no edge, else a number up to 3) and a
/// set for each bit of that number for the rest.
pub(crate) struct Marks {
    low: Vec<u8>,
    high: [Bitmap; 2],
}

impl Marks {
    pub(crate) fn new(n: usize) -> Self {
        Marks { low: vec![0; LOW as usize], high: [Bitmap::new(n), Bitmap::new(n)] }
    }

    /// Marks ranks with numbers.
    pub(crate) fn set(&mut self, list: impl Iterator<Item = (u32, u8)>) {
        let [first, second] = &mut self.high;
        for (w, number) in list {
            match self.low.get_mut(w as usize) {
                Some(byte) => *byte = number,
                None => {
                    if number & 1 > 0 {
                        first.set(w as usize);
                    }
                    if number & 2 > 0 {
                        second.set(w as usize);
                    }
                }
            }
        }
    }

    /// Clears the marks of the list of `v`.
    pub(crate) fn clear(&mut self, top: &OrientedPart, v: u32) {
        let (low, high) = top.lists(v);
        for &w in low {
            if let Some(byte) = self.low.get_mut(usize::from(w)) {
                *byte = 0;
            }
        }
        for &w in high {
            self.high.iter_mut().for_each(|bits| bits.clear(w as usize));
        }
    }

    /// The number of a rank; 0 without an edge.
    #[inline]
    pub(crate) fn get(&self, w: u32) -> u8 {
        match self.low.get(w as usize) {
            Some(&byte) => byte,
            None => {
                let [first, second] = &self.high;
                u8::from(first.get(w as usize)) | u8::from(second.get(w as usize)) << 1
            }
        }
    }
}

#[inline]
fn add(counts: &[AtomicU64], rank: u32, more: u64) {
    if more > 0
        && let Some(slot) = counts.get(rank as usize)
    {
        slot.fetch_add(more, Ordering::Relaxed);
    }
}

/// Adds to `arcs`, by rank, the arcs opposite to each corner of every triangle
/// `w < u < v` with `v` in `top` and `u` in `lists`. Both parts must have flags.
pub(crate) fn count(
    top: &OrientedPart,
    lists: &OrientedPart,
    arcs: &[AtomicU64],
    n: usize,
    cx: &Context,
) -> Result<()> {
    let first = top.ranks.start;
    map_ranges(
        cx,
        (top.ranks.len(), CHUNK),
        || Marks::new(n),
        |marks, mut range| {
            range.try_for_each(|at| vertex(top, lists, marks, first + at as u32, arcs, cx))
        },
    )?;
    Ok(())
}

fn vertex(
    top: &OrientedPart,
    lists: &OrientedPart,
    marks: &mut Marks,
    v: u32,
    arcs: &[AtomicU64],
    cx: &Context,
) -> Result<()> {
    let (low, high) = top.lists(v);
    if low.len() + high.len() < 2 {
        return Ok(());
    }
    // The number of directions of an edge.
    marks.set(top.flagged(v).map(|(w, mutual)| (w, 1 + u8::from(mutual))));
    let mut opposite_v = 0;
    for (i, (u, mutual)) in top.flagged(v).enumerate() {
        if i % CHECK_INTERVAL == CHECK_INTERVAL - 1 {
            cx.check()?;
        }
        let to_u = 1 + u64::from(mutual);
        let mut opposite_u = 0;
        for (w, mutual) in lists.flagged(u) {
            let to_w = u64::from(marks.get(w));
            if to_w > 0 {
                opposite_v += 1 + u64::from(mutual);
                opposite_u += to_w;
                add(arcs, w, to_u);
            }
        }
        add(arcs, u, opposite_u);
    }
    add(arcs, v, opposite_v);
    marks.clear(top, v);
    Ok(())
}
