//! Bondhu: communities, placed greedily inside and among each other.
//!
//! I. Hoque, I. Gupta, "Disk Layout Techniques for Online Social Network Data", IEEE Internet
//! Computing 16(3), 2012; I. Hoque's thesis (University of Illinois, 2013), chapter 3. Directed
//! edges lose their direction, and weights in both directions are added.

use super::arrange::{Arranger, Sides};
use super::csr::{Csr, reserved};
use super::{LayoutInput, Ordering, community, csr_memory};
use crate::hooks::Hooks;
use crate::{Error, Permutation, Result, Store, VertexId};

/// An order of communities and of the vertices inside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bondhu {
    /// Method of finding communities.
    pub communities: Communities,
    /// Weights of the edges.
    pub model: Model,
    /// The side on which the next community is placed.
    pub sides: Sides,
    /// Seed of the communities and of the draws in placement.
    pub seed: u64,
}

/// The method of finding communities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Communities {
    /// Communities of about equal size, by METIS; by default one for a thousand vertices, at least
    /// two.
    ParCom(Option<u32>),
    /// By modularity, after this many levels, or until no level gains anything.
    ModCom(Option<u32>),
}

/// The weights of edges, as in section 3.5 of the thesis: estimates of how often one end is
/// accessed together with the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// The weight in the store, 1 without weights.
    #[default]
    Uniform,
    /// The mean degree of both ends.
    Preferential,
    /// The number of common neighbours plus 1.
    Overlap,
}

impl Ordering for Bondhu {
    fn name(&self) -> &'static str {
        match self.communities {
            Communities::ParCom(_) => "bondhu-parcom",
            Communities::ModCom(_) => "bondhu-modcom",
        }
    }

    fn memory(&self, store: &Store) -> u64 {
        // Communities and their members, ties, degrees, draws and the queue. METIS holds the graph
        // in its own integers, and as much again in all of the coarser graphs, which are smaller.
        let graph = csr_memory(store, true);
        let again = match self.communities {
            Communities::ParCom(_) => 7,
            Communities::ModCom(_) => 2,
        };
        let arcs = if store.directed() { 2 * store.arcs() } else { store.arcs() };
        graph + again * 8 * arcs + 64 * store.num_vertices()
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        let vertices = source.store.num_vertices();
        if let Communities::ParCom(Some(wanted)) = self.communities
            && (wanted == 0 || u64::from(wanted) > vertices.max(1))
        {
            return Err(Error::Invalid(format!(
                "{wanted} communities of {vertices} vertices; choose from 1 to {}",
                vertices.max(1)
            )));
        }
        let mut graph = Csr::symmetric(source)?;
        self.model.weigh(&mut graph, &source.hooks)?;
        source.hooks.check()?;
        let community = match self.communities {
            Communities::ParCom(wanted) => {
                // Lossless: there are fewer than 2^32 vertices.
                let parts = wanted.unwrap_or((vertices / 1000).max(2).min(vertices.max(1)) as u32);
                community::metis(&graph, parts, self.seed, &source.hooks)?
            }
            Communities::ModCom(levels) => {
                community::louvain(&graph, levels, self.seed, &source.hooks)?
            }
        };
        let order = self.arrange(&graph, &community, source)?;
        source.by_rank(Permutation::from_order(&order)?)
    }
}

impl Bondhu {
    /// Orders the vertices inside communities, and these in the order of the graph of communities.
    fn arrange(
        &self,
        graph: &Csr,
        community: &[u32],
        source: &LayoutInput<'_>,
    ) -> Result<Vec<VertexId>> {
        let count = community.iter().max().map_or(0, |most| *most as usize + 1);
        let mut rows = community::members(community, count)?;
        let (among, _) = community::contract(graph, &[], community, count, &source.hooks)?;
        let mut arranger = Arranger::new(graph, community, self.seed)?;
        for row in &mut rows {
            source.hooks.check()?;
            *row = arranger.arrange(row, &source.hooks)?;
        }
        let together = vec![0; count];
        let all: Vec<u32> = among.vertices().collect();
        let mut arranger = Arranger::new(&among, &together, self.seed)?;
        if self.sides == Sides::Nearer {
            arranger = arranger.nearer(rows.iter().map(|row| row.len() as f64).collect());
        }
        let mut order = reserved(graph.len())?;
        for c in arranger.arrange(&all, &source.hooks)? {
            order.extend(rows.get(c as usize).into_iter().flatten());
        }
        Ok(order)
    }
}

impl Model {
    /// Sets the weight of every edge.
    fn weigh(self, graph: &mut Csr, hooks: &Hooks) -> Result<()> {
        let mut weights: Vec<f32> = match self {
            Model::Uniform => return Ok(()),
            Model::Preferential | Model::Overlap => reserved(graph.targets.len())?,
        };
        for v in graph.vertices() {
            for &u in graph.list(v) {
                hooks.check()?;
                weights.push(match self {
                    Model::Overlap => common(graph.list(v), graph.list(u)) as f32 + 1.0,
                    _ => (graph.degree(v) + graph.degree(u)) as f32 / 2.0,
                });
            }
        }
        graph.weights = Some(weights);
        Ok(())
    }
}

/// Returns the number of common values of two ascending lists.
fn common(mut a: &[VertexId], mut b: &[VertexId]) -> usize {
    let mut found = 0;
    while let ([x, more_a @ ..], [y, more_b @ ..]) = (a, b) {
        found += usize::from(x == y);
        if x <= y {
            a = more_a;
        }
        if y <= x {
            b = more_b;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_weigh_as_written() -> Result<()> {
        // A triangle 0, 1, 2 with a tail 2, 3.
        let edges = [(0, 1), (0, 2), (1, 2), (2, 3)];
        let weights = |model: Model| -> Result<Vec<f32>> {
            let mut graph = Csr::of_edges(4, &edges);
            model.weigh(&mut graph, &Hooks::default())?;
            Ok(graph.edges(2).map(|(_, weight)| weight).collect())
        };
        assert_eq!(weights(Model::Uniform)?, [1.0, 1.0, 1.0]);
        assert_eq!(weights(Model::Preferential)?, [2.5, 2.5, 2.0]);
        assert_eq!(weights(Model::Overlap)?, [2.0, 2.0, 1.0]);
        Ok(())
    }
}
