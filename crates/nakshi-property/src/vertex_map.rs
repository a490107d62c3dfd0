//! A persistent map from nodes to values: a copy shares everything that has not changed since.
//!
//! A radix tree on the bits of the number of a node, whose leaves have up to 16 nodes side by side. The
//! numbers are dense, so a hash would only scatter what is looked up together: a look-up goes through
//! fewer pieces than in a trie of hashes, a bulk of changes copies a leaf once, and the nodes come in
//! their order.

use std::sync::Arc;

use nakshi_store::VertexId;

/// Bits of a number that choose a branch, and the branches. A change copies one piece of each level, with
/// a reference count for each branch.
const BITS: u32 = 3;
const BRANCHES: usize = 1 << BITS;
/// Most nodes of a leaf; a leaf of the lowest level has at most [`BRANCHES`].
const LEAF: usize = 16;
/// Nodes for which a full leaf gets room at once.
const ROOM: usize = 2;

/// A persistent map from nodes to values.
#[derive(Clone, Debug)]
pub(super) struct VertexMap<V> {
    root: Option<Arc<Piece<V>>>,
    /// The bits of a number below those that choose a branch of the root, which has one for every number
    /// in the map.
    shift: u32,
}

type Child<V> = Option<Arc<Piece<V>>>;

#[derive(Clone, Debug)]
enum Piece<V> {
    Branch([Child<V>; BRANCHES]),
    /// Nodes, ascending, with their values.
    Leaf(Vec<(VertexId, V)>),
}

impl<V> Default for VertexMap<V> {
    fn default() -> Self {
        VertexMap { root: None, shift: 0 }
    }
}

/// The branch of a number, given the bits below.
fn branch(v: VertexId, shift: u32) -> usize {
    (v >> shift) as usize % BRANCHES
}

/// Returns true if a branching of these bits has a place for a number.
fn fits(v: VertexId, shift: u32) -> bool {
    v >> shift < BRANCHES as VertexId
}

impl<V: Clone> VertexMap<V> {
    pub(super) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    #[inline]
    pub(super) fn get(&self, v: VertexId) -> Option<&V> {
        let (mut piece, mut shift) = (self.root.as_deref()?, self.shift);
        loop {
            match piece {
                // A leaf tells apart the numbers that no branching does.
                Piece::Branch(children) => {
                    piece = children.get(branch(v, shift))?.as_deref()?;
                    shift = shift.saturating_sub(BITS);
                }
                Piece::Leaf(nodes) => {
                    let at = nodes.binary_search_by_key(&v, |(v, _)| *v).ok()?;
                    return nodes.get(at).map(|(_, value)| value);
                }
            }
        }
    }

    /// Gives a node a value; returns the one that it had.
    pub(super) fn insert(&mut self, v: VertexId, value: V) -> Option<V> {
        self.make_room(v);
        let (root, mut shift) = (self.root.get_or_insert_default(), self.shift);
        let mut piece = Arc::make_mut(root);
        loop {
            if let Piece::Leaf(nodes) = piece {
                match nodes.binary_search_by_key(&v, |(v, _)| *v) {
                    Ok(at) => {
                        return nodes.get_mut(at).map(|(_, old)| std::mem::replace(old, value));
                    }
                    Err(at) if nodes.len() < LEAF => {
                        if nodes.len() == nodes.capacity() {
                            nodes.reserve_exact(ROOM);
                        }
                        nodes.insert(at, (v, value));
                        return None;
                    }
                    Err(_) => {
                        let nodes = std::mem::take(nodes);
                        *piece = split(nodes, shift);
                    }
                }
            }
            let Piece::Branch(children) = piece else { continue };
            piece = Arc::make_mut(children.get_mut(branch(v, shift))?.get_or_insert_default());
            shift = shift.saturating_sub(BITS);
        }
    }

    /// Raises the tree until its root has a branch for a number, even if the root is a leaf yet.
    fn make_room(&mut self, v: VertexId) {
        while !fits(v, self.shift) {
            if let Some(Piece::Branch(_)) = self.root.as_deref() {
                let mut children: [Child<V>; BRANCHES] = Default::default();
                if let Some(first) = children.first_mut() {
                    *first = self.root.take();
                }
                self.root = Some(Arc::new(Piece::Branch(children)));
            }
            self.shift += BITS;
        }
    }

    /// The nodes, ascending, with their values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (VertexId, &V)> {
        let mut walk = Walk { above: Vec::new(), leaf: [].iter() };
        walk.enter(self.root.as_deref());
        walk
    }
}

impl<V> Default for Piece<V> {
    fn default() -> Self {
        Piece::Leaf(Vec::new())
    }
}

/// A branching of the nodes of a leaf.
fn split<V>(nodes: Vec<(VertexId, V)>, shift: u32) -> Piece<V> {
    let mut parts: [Vec<(VertexId, V)>; BRANCHES] = Default::default();
    for (v, value) in nodes {
        if let Some(part) = parts.get_mut(branch(v, shift)) {
            if part.len() == part.capacity() {
                part.reserve_exact(ROOM);
            }
            part.push((v, value));
        }
    }
    Piece::Branch(parts.map(|part| (!part.is_empty()).then(|| Arc::new(Piece::Leaf(part)))))
}

/// A walk through the leaves of a map.
struct Walk<'m, V> {
    /// The branches above the leaf that are still to be entered.
    above: Vec<std::slice::Iter<'m, Child<V>>>,
    leaf: std::slice::Iter<'m, (VertexId, V)>,
}

impl<'m, V> Walk<'m, V> {
    fn enter(&mut self, piece: Option<&'m Piece<V>>) {
        match piece {
            None => {}
            Some(Piece::Branch(children)) => self.above.push(children.iter()),
            Some(Piece::Leaf(nodes)) => self.leaf = nodes.iter(),
        }
    }
}

impl<'m, V> Iterator for Walk<'m, V> {
    type Item = (VertexId, &'m V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((v, value)) = self.leaf.next() {
                return Some((*v, value));
            }
            match self.above.last_mut()?.next() {
                Some(child) => self.enter(child.as_deref()),
                None => {
                    self.above.pop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Numbers close together, spread over all numbers, and at the end of all.
    fn number() -> impl Strategy<Value = VertexId> {
        prop_oneof![0..200u32, 4_000..4_100u32, any::<u32>(), (u32::MAX - 80)..=u32::MAX]
    }

    fn check(map: &VertexMap<u64>, expected: &BTreeMap<VertexId, u64>) {
        let found: Vec<(VertexId, u64)> = map.iter().map(|(v, value)| (v, *value)).collect();
        let expected: Vec<(VertexId, u64)> =
            expected.iter().map(|(v, value)| (*v, *value)).collect();
        assert_eq!(found, expected);
        assert_eq!(map.is_empty(), expected.is_empty());
        for (v, value) in &expected {
            assert_eq!(map.get(*v), Some(value), "{v}");
        }
    }

    proptest! {
        /// Seen red with a walk that ends at the end of the first branching; without end with a root that
        /// is not raised.
        #[test]
        fn it_is_a_map_and_its_copies_stay(numbers in prop::collection::vec(number(), 0..400)) {
            let (mut map, mut expected) = (VertexMap::default(), BTreeMap::new());
            let mut copies = Vec::new();
            for (i, v) in (0..).zip(numbers) {
                if i % 50 == 0 {
                    copies.push((map.clone(), expected.clone()));
                }
                prop_assert_eq!(map.get(v), expected.get(&v));
                prop_assert_eq!(map.insert(v, i), expected.insert(v, i));
                prop_assert_eq!(map.get(v), Some(&i));
                prop_assert_eq!(map.get(v ^ 1), expected.get(&(v ^ 1)));
            }
            copies.push((map, expected));
            for (map, expected) in &copies {
                check(map, expected);
            }
        }
    }

    /// Seen red with a root that is not raised for the first number.
    #[test]
    fn the_largest_may_come_first() {
        let numbers = std::iter::once(1 << 20).chain((0..40).map(|v| 3 * v));
        let (mut map, mut expected) = (VertexMap::default(), BTreeMap::new());
        for v in numbers {
            map.insert(v, u64::from(v));
            expected.insert(v, u64::from(v));
        }
        check(&map, &expected);
    }

    #[test]
    fn dense_numbers_fill_their_leaves() {
        let mut map = VertexMap::default();
        for v in 0..10_000 {
            assert_eq!(map.insert(v, u64::from(v)), None);
        }
        check(&map, &(0..10_000).map(|v| (v, u64::from(v))).collect());
        assert_eq!((map.get(10_000), map.get(VertexId::MAX)), (None, None));
    }
}
