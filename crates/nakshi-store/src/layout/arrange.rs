//! Bondhu's greedy placement: Algorithms 3.1 to 3.3 of I. Hoque's thesis (University of Illinois,
//! 2013), with a queue in place of combined nodes.
//!
//! The vertex of the largest degree comes first. Then comes always the vertex with the strongest
//! tie to all placed ones, to their left and right in turn. Among equal ties, the vertex of the
//! larger degree comes first, then one by a seeded draw. When no placed vertex has a friend left,
//! the vertex of the next largest degree follows. The degree is the sum of weights inside the
//! community.
//!
//! Alternating sides tears related communities apart: one goes to the left of everything else, the
//! other to the right. [`Sides::Nearer`], which is ours, places each community on the side of its
//! friends.

use std::cmp::Ordering as Cmp;
use std::collections::{BinaryHeap, VecDeque};

use super::csr::{Csr, reserved};
use crate::hooks::Hooks;
use crate::random::mix;
use crate::{Result, VertexId};

/// The side on which the next community is placed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sides {
    /// On the side of the placed communities where the mean of its friends lies.
    #[default]
    Nearer,
    /// On the left and on the right in turn, as in Algorithm 3.1.
    Alternate,
}

/// Positions of the placed vertices, for [`Sides::Nearer`].
struct PlacedSpan {
    /// Width of each vertex.
    sizes: Vec<f64>,
    /// Middle of each placed vertex.
    middles: Vec<f64>,
    left: f64,
    right: f64,
}

impl PlacedSpan {
    /// Returns true if the mean of `friends`, of weight 1 or more, lies left of the middle; returns
    /// `turn` if the sides are equal.
    fn is_left(&self, friends: impl Iterator<Item = (VertexId, f32)>, turn: bool) -> bool {
        let (mut sum, mut whole) = (0.0, 0.0);
        for (u, weight) in friends {
            let middle = self.middles.get(u as usize).copied().unwrap_or_default();
            sum += f64::from(weight) * middle;
            whole += f64::from(weight);
        }
        let middle = whole * (self.left + self.right) / 2.0;
        if sum == middle { turn } else { sum < middle }
    }

    fn place(&mut self, v: VertexId, left: bool) {
        let size = self.sizes.get(v as usize).copied().unwrap_or_default();
        let middle = if left { self.left - size / 2.0 } else { self.right + size / 2.0 };
        if left {
            self.left -= size;
        } else {
            self.right += size;
        }
        if let Some(slot) = self.middles.get_mut(v as usize) {
            *slot = middle;
        }
    }
}

/// The placement of the communities of a graph, one after the other.
pub(super) struct Arranger<'g> {
    graph: &'g Csr,
    /// The community of each vertex.
    community: &'g [u32],
    seed: u64,
    /// Weight of the edges from each vertex to placed vertices of its community; -1 for a placed
    /// vertex.
    tie: Vec<f64>,
    degree: Vec<f64>,
    span: Option<PlacedSpan>,
}

/// A queued vertex, with the tie that it had when it was queued.
#[derive(PartialEq)]
struct Waiting {
    tie: f64,
    degree: f64,
    draw: u64,
    vertex: VertexId,
}

impl Eq for Waiting {}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Cmp {
        self.tie
            .total_cmp(&other.tie)
            .then(self.degree.total_cmp(&other.degree))
            .then(self.draw.cmp(&other.draw))
            .then(other.vertex.cmp(&self.vertex))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Cmp> {
        Some(self.cmp(other))
    }
}

impl<'g> Arranger<'g> {
    pub fn new(graph: &'g Csr, community: &'g [u32], seed: u64) -> Result<Self> {
        let of = |v: VertexId| community.get(v as usize).copied();
        let mut degree = reserved(graph.len())?;
        for v in graph.vertices() {
            let inside = graph.edges(v).filter(|&(u, _)| u != v && of(u) == of(v));
            degree.push(inside.map(|(_, weight)| f64::from(weight)).sum());
        }
        let mut tie = reserved(graph.len())?;
        tie.resize(graph.len(), 0.0);
        Ok(Self { graph, community, seed, tie, degree, span: None })
    }

    /// Uses vertices of these widths and places each on the side of its friends. For one community
    /// only.
    pub fn nearer(mut self, sizes: Vec<f64>) -> Self {
        let middles = vec![0.0; sizes.len()];
        self.span = Some(PlacedSpan { sizes, middles, left: 0.0, right: 0.0 });
        self
    }

    /// Returns the members of one community, from left to right.
    pub fn arrange(&mut self, members: &[VertexId], hooks: &Hooks) -> Result<Vec<VertexId>> {
        let mut by_degree: Vec<Waiting> = members.iter().map(|&v| self.waiting(v)).collect();
        by_degree.sort_unstable_by(|a, b| b.cmp(a));
        let mut queue: BinaryHeap<Waiting> = BinaryHeap::new();
        let mut row = VecDeque::with_capacity(members.len());
        for next in by_degree {
            // A vertex with a tie to a placed one goes before the vertex of the next largest
            // degree.
            while let Some(friend) = queue.pop() {
                hooks.check()?;
                if friend.tie == self.tie_of(friend.vertex) {
                    self.place(friend.vertex, &mut row, &mut queue);
                }
            }
            if self.tie_of(next.vertex) >= 0.0 {
                self.place(next.vertex, &mut row, &mut queue);
            }
        }
        while let Some(friend) = queue.pop() {
            hooks.check()?;
            if friend.tie == self.tie_of(friend.vertex) {
                self.place(friend.vertex, &mut row, &mut queue);
            }
        }
        Ok(row.into())
    }

    fn tie_of(&self, v: VertexId) -> f64 {
        self.tie.get(v as usize).copied().unwrap_or(-1.0)
    }

    fn waiting(&self, vertex: VertexId) -> Waiting {
        let degree = self.degree.get(vertex as usize).copied().unwrap_or_default();
        let draw = mix(self.seed ^ mix(vertex.into()));
        Waiting { tie: self.tie_of(vertex), degree, draw, vertex }
    }

    fn place(
        &mut self,
        v: VertexId,
        row: &mut VecDeque<VertexId>,
        queue: &mut BinaryHeap<Waiting>,
    ) {
        let turn = row.len() % 2 == 1;
        let placed = |&(u, _): &(VertexId, f32)| self.tie_of(u) < 0.0;
        let left = match &self.span {
            None => turn,
            Some(span) => span.is_left(self.graph.edges(v).filter(placed), turn),
        };
        if left {
            row.push_front(v);
        } else {
            row.push_back(v);
        }
        if let Some(span) = &mut self.span {
            span.place(v, left);
        }
        if let Some(tie) = self.tie.get_mut(v as usize) {
            *tie = -1.0;
        }
        let community = self.community.get(v as usize);
        for (u, weight) in self.graph.edges(v) {
            if self.community.get(u as usize) != community {
                continue;
            }
            match self.tie.get_mut(u as usize) {
                Some(tie) if *tie >= 0.0 => *tie += f64::from(weight),
                _ => continue,
            }
            queue.push(self.waiting(u));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 3.3 with the ten edges of Table 3.2, vertices counted from 0.
    pub(crate) const FIGURE_3_3: [(u32, u32); 10] =
        [(0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (3, 6), (5, 6)];

    /// The example of section 3.3.4, for all outcomes of the draws.
    #[test]
    fn the_working_example() -> Result<()> {
        let graph = Csr::of_edges(7, &FIGURE_3_3);
        let community = [0, 0, 0, 1, 0, 1, 1];
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for seed in 0..64 {
            let mut arranger = Arranger::new(&graph, &community, seed)?;
            first.push(arranger.arrange(&[0, 1, 2, 4], &Hooks::default())?);
            second.push(arranger.arrange(&[3, 5, 6], &Hooks::default())?);
        }
        // {V2, V1, V3, V5} and {V7, V6, V4}.
        assert!(first.contains(&vec![1, 0, 2, 4]), "{first:?}");
        assert!(second.contains(&vec![6, 5, 3]), "{second:?}");
        // V1 or V3 is second from the left or in the middle, and the other one is beside it.
        assert!(first.iter().all(|row| [row[1], row[2]].iter().all(|v| [0, 2].contains(v))));
        Ok(())
    }

    /// A path of five vertices from its middle: alternating sides put one end beside the wrong
    /// vertex, the side of its friend does not. Between two friends, the wider one lies further
    /// away. Seen red with sides swapped and with widths of 1.
    #[test]
    fn on_the_side_of_its_friends() -> Result<()> {
        let mut graph = Csr::of_edges(5, &[(0, 1), (0, 2), (1, 3), (2, 4)]);
        graph.weights = Some(vec![9.0, 6.0, 9.0, 8.0, 6.0, 5.0, 8.0, 5.0]);
        let one = [0; 5];
        let turns = Arranger::new(&graph, &one, 1)?.arrange(&[0, 1, 2, 3, 4], &Hooks::default())?;
        assert_eq!(turns, [2, 0, 1, 3, 4]);
        let mut nearer = Arranger::new(&graph, &one, 1)?.nearer(vec![1.0; 5]);
        assert_eq!(nearer.arrange(&[0, 1, 2, 3, 4], &Hooks::default())?, [4, 2, 0, 1, 3]);
        let mut graph = Csr::of_edges(4, &[(0, 1), (0, 2), (0, 3), (1, 2)]);
        graph.weights = Some(vec![4.0, 2.0, 1.0, 4.0, 2.0, 2.0, 2.0, 1.0]);
        for (wide, expected) in [(1.0, [3, 1, 0, 2]), (7.0, [2, 1, 0, 3])] {
            let widths = vec![wide, 1.0, 1.0, 1.0];
            let mut nearer = Arranger::new(&graph, &one, 1)?.nearer(widths);
            assert_eq!(nearer.arrange(&[0, 1, 2, 3], &Hooks::default())?, expected);
        }
        Ok(())
    }

    #[test]
    fn alone_apart_and_weighted() -> Result<()> {
        let mut graph = Csr::of_edges(5, &[(0, 1), (0, 2), (0, 3)]);
        graph.weights = Some(vec![1.0, 5.0, 2.0, 1.0, 5.0, 2.0]);
        let community = [0; 5];
        let mut arranger = Arranger::new(&graph, &community, 1)?;
        // Heaviest edge first: 2 to the left, 3 to the right; 4 has no friends at all.
        assert_eq!(arranger.arrange(&[0, 1, 2, 3, 4], &Hooks::default())?, [1, 2, 0, 3, 4]);
        let mut arranger = Arranger::new(&graph, &community, 1)?;
        assert_eq!(arranger.arrange(&[4], &Hooks::default())?, [4]);
        assert!(arranger.arrange(&[], &Hooks::default())?.is_empty());
        Ok(())
    }
}
