//! Components as forests and as labels: joining trees, sizes, and the names that users see.
//!
//! A component is labelled by one of its vertices, its *root*, which is its own label. Weak and
//! strong components are named alike: by the vertex whose user id is smallest.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::parallel::{map_blocks, parallel_for};
use crate::shared::{share_u32, zeroed};
use crate::stats::IterationLog;
use crate::vertex_set::{AtomicBitmap, Bitmap};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Vertices looked at to find the largest component so far.
const SAMPLES: usize = 1024;

/// Counts the components of `labels` and replaces each root by the name of its component; returns
/// the number of components and of vertices in the largest. Where the internal order is that of the
/// users' ids, a root must be the smallest vertex of its component.
///
/// # Errors
/// Errors of reading the ids; [`crate::Error::Cancelled`].
pub(super) fn finish(
    graph: &Graph,
    cx: &Context,
    labels: &[AtomicU32],
    log: &mut IterationLog<'_>,
) -> Result<(usize, usize)> {
    let giant = largest_in_sample(labels);
    let found = measure(cx, labels, giant)?;
    log.end("sizes", found.0 as u64);
    if let Some(ranks) = graph.id_ranks(cx)? {
        rename(cx, labels, giant, &ranks)?;
    }
    log.end("names", graph.num_vertices() as u64);
    Ok(found)
}

#[inline]
fn parent(parents: &[AtomicU32], v: u32) -> u32 {
    parents.get(v as usize).map_or(v, |p| p.load(Relaxed))
}

/// Joins the trees of `u` and `v` by hooking the larger root under the smaller.
#[inline]
pub(super) fn link(parents: &[AtomicU32], u: u32, v: u32) {
    let mut p = parent(parents, u);
    let mut q = parent(parents, v);
    while p != q {
        let (low, high) = if p < q { (p, q) } else { (q, p) };
        let above = parent(parents, high);
        if above == low {
            return;
        }
        if above == high
            && let Some(slot) = parents.get(high as usize)
            && slot.compare_exchange(high, low, Relaxed, Relaxed).is_ok()
        {
            return;
        }
        p = parent(parents, parent(parents, high));
        q = parent(parents, low);
    }
}

/// Makes every vertex a child of its root.
pub(super) fn compress(cx: &Context, parents: &[AtomicU32]) -> Result<()> {
    parallel_for(cx, parents.len(), |range| {
        for slot in parents.get(range).unwrap_or_default() {
            let mut p = slot.load(Relaxed);
            let mut above = parent(parents, p);
            if above == p {
                continue;
            }
            while above != p {
                p = above;
                above = parent(parents, p);
            }
            slot.store(p, Relaxed);
        }
        Ok(())
    })
}

/// The root that occurs most often among evenly spread vertices; the smallest of these.
pub(super) fn largest_in_sample(parents: &[AtomicU32]) -> u32 {
    let step = (parents.len() / SAMPLES).max(1);
    let mut roots: Vec<u32> = parents.iter().step_by(step).map(|p| p.load(Relaxed)).collect();
    roots.sort_unstable();
    let most = roots.chunk_by(|a, b| a == b).rev().max_by_key(|same| same.len());
    most.and_then(|same| same.first()).copied().unwrap_or(0)
}

/// Number of components and of vertices in the largest.
fn measure(cx: &Context, parents: &[AtomicU32], giant: u32) -> Result<(usize, usize)> {
    let n = parents.len();
    let blocks = map_blocks(cx, n, |range| {
        let (mut roots, mut in_giant) = (0usize, 0usize);
        let start = range.start as u32;
        for (v, slot) in (start..).zip(parents.get(range).unwrap_or_default()) {
            let root = slot.load(Relaxed);
            roots += usize::from(root == v);
            in_giant += usize::from(root == giant);
        }
        Ok((roots, in_giant))
    })?;
    let (count, in_giant) = blocks.iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    // Each other component has a vertex at least, which bounds the largest of them.
    if (n - in_giant).saturating_sub(count.saturating_sub(2)) <= in_giant {
        return Ok((count, in_giant));
    }
    let mut sizes = zeroed::<u32>(n, "sizes of components")?;
    let sizes = share_u32(&mut sizes);
    parallel_for(cx, n, |range| {
        for slot in parents.get(range).unwrap_or_default() {
            if let Some(size) = sizes.get(slot.load(Relaxed) as usize) {
                size.fetch_add(1, Relaxed);
            }
        }
        Ok(())
    })?;
    let largest = sizes.iter().map(|s| s.load(Relaxed)).max().unwrap_or(0);
    Ok((count, largest as usize))
}

/// Replaces each root by the vertex of its component with the smallest of `ranks`.
///
/// `best` holds complements, so that untouched memory stands for "none yet": a vertex that is
/// alone keeps its name and touches nothing.
fn rename(cx: &Context, parents: &[AtomicU32], giant: u32, ranks: &[u32]) -> Result<()> {
    let n = parents.len();
    let mut best = zeroed::<u32>(n, "names of components")?;
    let best = share_u32(&mut best);
    let alone = singles(cx, parents)?;
    let known = |v: usize| {
        let root = parents.get(v).map_or(0, |p| p.load(Relaxed));
        (root, ranks.get(v).copied().unwrap_or(u32::MAX))
    };
    parallel_for(cx, n, |range| {
        let mut in_giant = 0;
        for v in range {
            let (root, rank) = known(v);
            if root == giant {
                in_giant = in_giant.max(!rank);
            } else if !alone.get(v)
                && let Some(slot) = best.get(root as usize)
            {
                slot.fetch_max(!rank, Relaxed);
            }
        }
        if let Some(slot) = best.get(giant as usize) {
            slot.fetch_max(in_giant, Relaxed);
        }
        Ok(())
    })?;
    let winners = AtomicBitmap::new(n);
    parallel_for(cx, n, |range| {
        for v in range.filter(|&v| !alone.get(v)) {
            let (root, rank) = known(v);
            if parent(best, root) == !rank {
                winners.set(v);
            }
        }
        Ok(())
    })?;
    let winners = winners.into_bitmap();
    parallel_for(cx, n, |range| {
        for v in winners.iter_in(range.start, range.end) {
            if let Some(slot) = best.get(known(v).0 as usize) {
                slot.store(v as u32, Relaxed);
            }
        }
        Ok(())
    })?;
    parallel_for(cx, n, |range| {
        for v in range.filter(|&v| !alone.get(v)) {
            if let Some(slot) = parents.get(v) {
                slot.store(parent(best, slot.load(Relaxed)), Relaxed);
            }
        }
        Ok(())
    })
}

/// Roots without children.
fn singles(cx: &Context, parents: &[AtomicU32]) -> Result<Bitmap> {
    let shared = AtomicBitmap::new(parents.len());
    parallel_for(cx, parents.len(), |range| {
        let start = range.start as u32;
        for (v, slot) in (start..).zip(parents.get(range).unwrap_or_default()) {
            let root = slot.load(Relaxed);
            if root != v {
                shared.set(root as usize);
            }
        }
        Ok(())
    })?;
    let mut alone = Bitmap::new(parents.len());
    let words = alone.words_mut().iter_mut().enumerate();
    words.for_each(|(k, word)| {
        let members = parents.get(k * 64..parents.len().min(k * 64 + 64)).unwrap_or_default();
        let roots = members.iter().zip(k as u32 * 64..).enumerate();
        let roots =
            roots.fold(0u64, |bits, (i, (p, v))| bits | u64::from(p.load(Relaxed) == v) << i);
        *word = roots & !shared.word(k);
    });
    Ok(alone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, wcc as oracle};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(100)))]
        #[test]
        fn names_are_the_smallest_by_rank(sample in sample::graphs(40, 30), seed: u64) {
            let mut ranks: Vec<u32> = (0..sample.n as u32).collect();
            ranks.sort_by_key(|&v| u64::from(v).wrapping_mul(seed | 1));
            let internal = oracle::components(&sample.adjacency());
            let mut named = internal.clone();
            let giant = internal[0];
            rename(&Context::new().with_threads(2), share_u32(&mut named), giant, &ranks).unwrap();
            for v in 0..sample.n {
                let same = (0..sample.n).filter(|&u| internal[u] == internal[v]);
                let best = same.min_by_key(|&u| ranks[u]).unwrap();
                prop_assert_eq!(named[v] as usize, best);
            }
        }
    }
}
