//! Gorder: vertices with edges or sources in common within a window.
//!
//! H. Wei, J. X. Yu, C. Lu, X. Lin, "Speedup Graph Processing by Graph Ordering", SIGMOD 2016:
//! Algorithm 2 with the unit heap of section 4.2. As in the authors' program, sources of more than
//! the root of V edges bind nobody together.

use super::csr::{Csr, reserved};
use super::{Ordering, Source, ranks_memory};
use crate::{Direction, Error, Manifest, Permutation, Result, Store, VertexId};

/// No vertex.
const NONE: u32 = u32::MAX;

/// Vertices with edges or sources in common within a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gorder {
    /// Vertices of the window; by default as many as have lists in one page, on average.
    pub window: Option<u32>,
}

impl Ordering for Gorder {
    fn name(&self) -> &'static str {
        "gorder"
    }

    fn memory(&self, store: &Store) -> u64 {
        // Lists of both directions, the heap, order and places.
        let manifest = store.manifest();
        let index: u64 = manifest.adjacency.iter().map(Manifest::index_memory).sum();
        let lists = 4 * store.arcs() * if store.directed() { 2 } else { 1 };
        lists + 64 * store.num_vertices() + ranks_memory(store) + index
    }

    fn places(&self, source: &Source<'_>) -> Result<Permutation> {
        let window = match self.window {
            Some(0) => {
                return Err(Error::Invalid("a window of 0 vertices; choose 1 or more".into()));
            }
            Some(window) => window as usize,
            None => page_window(source.store)?,
        };
        let plain = Source { weight: None, ..source.clone() };
        let out = Csr::load(&plain, Direction::Out)?;
        let into = match source.store.directed() {
            true => Some(Csr::load(&plain, Direction::In)?),
            false => None,
        };
        let order = sequence(&out, into.as_ref().unwrap_or(&out), window, source)?;
        source.by_rank(Permutation::from_order(&order)?)
    }
}

/// Lists in a page on average.
fn page_window(store: &Store) -> Result<usize> {
    let bytes = store.entry(Direction::Out)?.lists.len;
    let pages = bytes.div_ceil(store.manifest().page_size.into()).max(1);
    Ok(usize::try_from((store.num_vertices() / pages).max(1)).unwrap_or(usize::MAX))
}

fn sequence(out: &Csr, into: &Csr, window: usize, source: &Source<'_>) -> Result<Vec<VertexId>> {
    let n = out.len();
    let mut order = reserved(n)?;
    let mut heap = UnitHeap::new(into)?;
    let huge = (n as f64).sqrt() as usize;
    let each = |v: VertexId, change: &mut dyn FnMut(VertexId)| {
        for &u in out.list(v) {
            change(u);
        }
        for &u in into.list(v) {
            if u == v {
                continue;
            }
            change(u);
            let siblings = out.list(u);
            if siblings.len() <= huge {
                siblings.iter().for_each(|&s| change(s));
            }
        }
    };
    while let Some(v) = heap.pop() {
        if order.len() % (1 << 12) == 0 {
            source.hooks.check()?;
            let (done, total) = (order.len() as u64, Some(n as u64));
            source.hooks.tell(crate::import::Progress { phase: "layout", done, total, edges: 0 });
        }
        order.push(v);
        each(v, &mut |u| heap.increase(u));
        if let Some(&gone) = order.len().checked_sub(window + 1).and_then(|at| order.get(at)) {
            each(gone, &mut |u| heap.decrease(u));
        }
    }
    Ok(order)
}

/// Vertices by a key that changes by one: a list in descending order of keys, with the first of
/// each key known. Decreases are noted and carried out when a vertex reaches the top.
struct UnitHeap {
    links: Vec<Link>,
    /// First and last vertex of each key.
    ends: Vec<(u32, u32)>,
    top: u32,
}

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
    key: u32,
    /// What is to be taken off the key.
    less: u32,
}

impl UnitHeap {
    /// All vertices with key 0, those with more in-edges first.
    fn new(into: &Csr) -> Result<Self> {
        let degrees: Vec<u32> =
            into.vertices().map(|v| u32::try_from(into.degree(v)).unwrap_or(u32::MAX)).collect();
        let order = super::simple::descending(&degrees, |degree| degree)?;
        let none = Link { before: NONE, after: NONE, key: 0, less: 0 };
        let mut links = reserved(order.len())?;
        links.resize(order.len(), none);
        for (k, &v) in order.iter().enumerate() {
            let at = |k: Option<usize>| k.and_then(|k| order.get(k)).copied().unwrap_or(NONE);
            links[v as usize].before = at(k.checked_sub(1));
            links[v as usize].after = at(k.checked_add(1));
        }
        let first = order.first().copied().unwrap_or(NONE);
        let last = order.last().copied().unwrap_or(NONE);
        Ok(UnitHeap { links, ends: vec![(first, last)], top: first })
    }

    /// A vertex that was popped has itself as its neighbour, which nothing else has.
    fn popped(&self, v: VertexId) -> bool {
        self.links[v as usize].before == v
    }

    fn unlink(&mut self, v: VertexId) {
        let Link { before, after, key, .. } = self.links[v as usize];
        if before == NONE {
            self.top = after;
        } else {
            self.links[before as usize].after = after;
        }
        if after != NONE {
            self.links[after as usize].before = before;
        }
        let ends = &mut self.ends[key as usize];
        *ends = match (ends.0 == v, ends.1 == v) {
            (true, true) => (NONE, NONE),
            (true, false) => (after, ends.1),
            (false, true) => (ends.0, before),
            (false, false) => *ends,
        };
    }

    /// Puts `v` between two neighbours, as one of `key`.
    fn link(&mut self, v: VertexId, before: u32, after: u32, key: u32) {
        let link = &mut self.links[v as usize];
        (link.before, link.after, link.key) = (before, after, key);
        if before == NONE {
            self.top = v;
        } else {
            self.links[before as usize].after = v;
        }
        if after != NONE {
            self.links[after as usize].before = v;
        }
        let ends = &mut self.ends[key as usize];
        *ends = match *ends {
            (NONE, _) => (v, v),
            (first, last) if first == after => (v, last),
            (first, _) => (first, v),
        };
    }

    fn increase(&mut self, v: VertexId) {
        if self.popped(v) {
            return;
        }
        let link = self.links[v as usize];
        if link.less > 0 {
            self.links[v as usize].less -= 1;
            return;
        }
        let key = link.key + 1;
        if self.ends.len() <= key as usize {
            self.ends.push((NONE, NONE));
        }
        // Before all of its old key, which is behind all of the new one.
        let first = self.ends[link.key as usize].0;
        let (before, after) = if first == v {
            (link.before, link.after)
        } else {
            (self.links[first as usize].before, first)
        };
        self.unlink(v);
        self.link(v, before, after, key);
    }

    fn decrease(&mut self, v: VertexId) {
        if !self.popped(v) {
            self.links[v as usize].less += 1;
        }
    }

    fn pop(&mut self) -> Option<VertexId> {
        loop {
            let v = self.top;
            if v == NONE {
                return None;
            }
            let Link { key, less, .. } = self.links[v as usize];
            self.unlink(v);
            if less == 0 {
                self.links[v as usize].before = v;
                return Some(v);
            }
            let key = key - less;
            self.links[v as usize].less = 0;
            // Behind the last of the next higher key that occurs.
            let last = (key..).zip(self.ends.iter().skip(key as usize)).find(|(_, e)| e.1 != NONE);
            match last {
                Some((_, &(_, last))) => {
                    let after = self.links[last as usize].after;
                    self.link(v, last, after, key);
                }
                None => self.link(v, NONE, self.top, key),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_heap_pops_a_largest_key(
            edges in prop::collection::vec((0u32..20, 0u32..20), 0..60),
            steps in prop::collection::vec((0u32..20, 0u8..4), 0..300),
        ) {
            let graph = Csr::of_edges(20, &edges);
            let mut heap = UnitHeap::new(&graph)?;
            let mut keys = [Some(0u32); 20];
            for (v, what) in steps {
                let key = &mut keys[v as usize];
                match (what, *key) {
                    (0 | 1, Some(now)) => {
                        heap.increase(v);
                        *key = Some(now + 1);
                    }
                    (2, Some(now)) if now > 0 => {
                        heap.decrease(v);
                        *key = Some(now - 1);
                    }
                    (3, _) => {
                        let largest = keys.iter().flatten().max().copied();
                        let popped = heap.pop();
                        prop_assert_eq!(popped.and_then(|v| keys[v as usize]), largest);
                        if let Some(v) = popped {
                            keys[v as usize] = None;
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}
