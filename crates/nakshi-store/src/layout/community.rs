//! Communities: by METIS, and by modularity.

use super::csr::{Csr, reserved};
use crate::hooks::Hooks;
use crate::random::mix;
use crate::{Error, Result, VertexId};

/// Divides a graph into `parts` communities of about equal size, with few edges between them.
///
/// METIS k-way: G. Karypis, V. Kumar, "Multilevel k-way Partitioning Scheme for Irregular Graphs",
/// J. Parallel Distrib. Comput. 48, 1998. METIS checks no token and installs signal handlers, so it
/// runs in a child process, which is killed when `hooks` cancels. If no process can be started,
/// METIS runs in this one and cannot be cancelled.
///
/// # Errors
/// [`Error::Unsupported`] for 2^31 list entries or more, and without METIS; [`Error::Cancelled`].
#[cfg(feature = "metis")]
pub(super) fn metis(graph: &Csr, parts: u32, seed: u64, hooks: &Hooks) -> Result<Vec<u32>> {
    use nakshi_io::{ChildExit, run_in_child};
    // One part needs no METIS, which would divide by zero.
    if parts <= 1 || graph.is_empty() {
        return Ok(vec![0; graph.len()]);
    }
    // A first byte that is 0 for an error, then the communities or the message.
    let work = || match metis_here(graph, parts, seed) {
        Ok(part) => [1].into_iter().chain(part.into_iter().flat_map(u32::to_le_bytes)).collect(),
        Err(Error::Unsupported(what)) => [&[0], what.as_bytes()].concat(),
        Err(error) => [&[0], error.to_string().as_bytes()].concat(),
    };
    let result = match run_in_child(&hooks.cancel, work) {
        Ok(ChildExit::Done(result)) => result,
        Ok(ChildExit::Cancelled) => return Err(Error::Cancelled),
        Ok(ChildExit::Died { signal }) => {
            return Err(Error::Unsupported(format!(
                "METIS did not come to an end (signal {signal}; 9 stands for too little memory); \
                 use bondhu-modcom or bisection"
            )));
        }
        Err(_) => return metis_here(graph, parts, seed),
    };
    match result.split_first() {
        Some((1, part)) if part.len() == 4 * graph.len() => {
            Ok(part.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
        }
        Some((_, what)) => Err(Error::Unsupported(String::from_utf8_lossy(what).into_owned())),
        None => Err(Error::Unsupported("METIS gave no result".into())),
    }
}

/// Runs [`metis`] in this process.
#[cfg(feature = "metis")]
fn metis_here(graph: &Csr, parts: u32, seed: u64) -> Result<Vec<u32>> {
    use metis::option::Seed;
    let too_large = |_| {
        Error::Unsupported(format!(
            "METIS with {} list entries; it holds 2^31 - 1; use bondhu-modcom or bisection",
            graph.targets.len()
        ))
    };
    let narrow = |value: u64| metis::Idx::try_from(value);
    let starts: Vec<metis::Idx> =
        graph.offsets.iter().map(|&at| narrow(at)).collect::<Result<_, _>>().map_err(too_large)?;
    let ends = graph.targets.iter().map(|&v| narrow(v.into()));
    let ends: Vec<metis::Idx> = ends.collect::<Result<_, _>>().map_err(too_large)?;
    // METIS takes positive integers only: weights are scaled to a mean of about a hundred.
    let weights: Option<Vec<metis::Idx>> = graph.weights.as_ref().map(|weights| {
        let mean = weights.iter().map(|w| f64::from(*w)).sum::<f64>() / weights.len().max(1) as f64;
        let scale = 100.0 / mean.max(f64::MIN_POSITIVE);
        let whole = |w: &f32| (f64::from(*w) * scale).round().clamp(1.0, 1e6);
        // Lossless: clamped.
        weights.iter().map(|w| whole(w) as metis::Idx).collect()
    });
    let failed = |error: &dyn std::fmt::Display| Error::Unsupported(format!("METIS: {error}"));
    let wanted = narrow(parts.into()).map_err(too_large)?;
    let mut job = metis::Graph::new(1, wanted, &starts, &ends).map_err(|e| failed(&e))?;
    if let Some(weights) = &weights {
        job = job.set_adjwgt(weights);
    }
    let mut part = reserved(graph.len())?;
    part.resize(graph.len(), 0);
    // Lossless: half of the bits are enough for a seed.
    job.set_option(Seed((mix(seed) >> 33) as metis::Idx))
        .part_kway(&mut part)
        .map_err(|e| failed(&e))?;
    part.into_iter().map(|p| u32::try_from(p).map_err(|e| failed(&e))).collect()
}

/// Returns an error: this build has no METIS.
#[cfg(not(feature = "metis"))]
pub(super) fn metis(_: &Csr, _: u32, _: u64, _: &Hooks) -> Result<Vec<u32>> {
    Err(Error::Unsupported(
        "this nakshi was built without METIS; build it with the feature 'metis', or use \
         bondhu-modcom or bisection"
            .into(),
    ))
}

/// A pass ends the level when it gains less modularity than this.
const GAIN: f64 = 1e-6;

/// Finds communities by modularity (equation 3.3 of I. Hoque's thesis), after `levels` levels or
/// until no level gains anything. Level 0 is the vertices themselves.
///
/// V. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre, "Fast unfolding of communities in large
/// networks", J. Stat. Mech. P10008, 2008.
pub(super) fn louvain(
    graph: &Csr,
    levels: Option<u32>,
    seed: u64,
    hooks: &Hooks,
) -> Result<Vec<u32>> {
    let mut community: Vec<u32> = graph.vertices().collect();
    let mut level = 0;
    let mut coarse: Option<(Csr, Vec<f64>)> = None;
    while levels.is_none_or(|most| level < most) {
        let (now, inner) = match &coarse {
            None => (graph, &[][..]),
            Some((graph, inner)) => (graph, inner.as_slice()),
        };
        let (moved, names) = local_moves(now, inner, seed.wrapping_add(level.into()), hooks)?;
        if !moved {
            break;
        }
        let count = names.iter().max().map_or(0, |most| *most as usize + 1);
        for c in &mut community {
            *c = names.get(*c as usize).copied().unwrap_or(*c);
        }
        coarse = Some(contract(now, inner, &names, count, hooks)?);
        level += 1;
    }
    Ok(community)
}

/// Moves vertices to the communities of neighbours while modularity grows. Returns true if any
/// vertex moved, and the communities, numbered 0, 1, ... by their first vertex.
fn local_moves(graph: &Csr, inner: &[f64], seed: u64, hooks: &Hooks) -> Result<(bool, Vec<u32>)> {
    let own = |v: VertexId| inner.get(v as usize).copied().unwrap_or(0.0);
    let strength: Vec<f64> = graph.vertices().map(|v| graph.strength(v) + own(v)).collect();
    let whole: f64 = strength.iter().sum();
    let mut community: Vec<u32> = graph.vertices().collect();
    if whole <= 0.0 {
        return Ok((false, community));
    }
    let mut total = strength.clone();
    let mut order: Vec<VertexId> = graph.vertices().collect();
    order.sort_unstable_by_key(|&v| mix(seed ^ mix(v.into())));
    let mut ties = Ties::new(graph.len());
    let mut any = false;
    loop {
        let mut gained = 0.0;
        for &v in &order {
            hooks.check()?;
            let (Some(&at), Some(&degree)) = (community.get(v as usize), strength.get(v as usize))
            else {
                continue;
            };
            for (u, weight) in graph.edges(v) {
                ties.add(community.get(u as usize).copied().unwrap_or(u32::MAX), weight);
            }
            if let Some(sum) = total.get_mut(at as usize) {
                *sum -= degree;
            }
            // Proportional to the modularity that joining a community adds.
            let worth = |c: u32| {
                ties.to(c) - total.get(c as usize).copied().unwrap_or(0.0) * degree / whole
            };
            let stay = worth(at);
            let mut best = (stay, at);
            for &c in &ties.found {
                let worth = worth(c);
                if worth > best.0 || (worth == best.0 && best.1 != at && c < best.1) {
                    best = (worth, c);
                }
            }
            if let Some(sum) = total.get_mut(best.1 as usize) {
                *sum += degree;
            }
            if best.1 != at {
                gained += 2.0 * (best.0 - stay) / whole;
                any = true;
                if let Some(slot) = community.get_mut(v as usize) {
                    *slot = best.1;
                }
            }
            ties.clear();
        }
        if gained < GAIN {
            break;
        }
    }
    rename(&mut community);
    Ok((any, community))
}

/// Numbers communities 0, 1, ... by their first vertex.
fn rename(community: &mut [u32]) {
    let (mut names, mut next) = (vec![u32::MAX; community.len()], 0);
    for c in community {
        let Some(name) = names.get_mut(*c as usize) else { continue };
        if *name == u32::MAX {
            *name = next;
            next += 1;
        }
        *c = *name;
    }
}

/// The weights from one vertex to each community.
#[derive(Default)]
struct Ties {
    weight: Vec<f64>,
    /// Communities whose weight is not 0.
    found: Vec<u32>,
}

impl Ties {
    fn new(communities: usize) -> Self {
        Ties { weight: vec![0.0; communities], found: Vec::new() }
    }

    fn add(&mut self, community: u32, weight: f32) {
        let Some(slot) = self.weight.get_mut(community as usize) else { return };
        if *slot == 0.0 {
            self.found.push(community);
        }
        *slot += f64::from(weight);
    }

    fn to(&self, community: u32) -> f64 {
        self.weight.get(community as usize).copied().unwrap_or(0.0)
    }

    fn clear(&mut self) {
        for c in self.found.drain(..) {
            if let Some(slot) = self.weight.get_mut(c as usize) {
                *slot = 0.0;
            }
        }
    }
}

/// Returns the graph of communities, and the weight inside each (edges counted from both ends).
pub(super) fn contract(
    graph: &Csr,
    inner: &[f64],
    community: &[u32],
    count: usize,
    hooks: &Hooks,
) -> Result<(Csr, Vec<f64>)> {
    let members = members(community, count)?;
    let mut inside = vec![0.0; count];
    let mut coarse = Csr { offsets: vec![0], targets: Vec::new(), weights: None };
    let mut weights = Vec::new();
    let mut ties = Ties::new(count);
    for (c, members) in (0..).zip(&members) {
        let mut own = 0.0;
        for &v in members {
            hooks.check()?;
            own += inner.get(v as usize).copied().unwrap_or(0.0);
            for (u, weight) in graph.edges(v) {
                let Some(&other) = community.get(u as usize) else { continue };
                if other == c {
                    own += f64::from(weight);
                } else {
                    ties.add(other, weight);
                }
            }
        }
        if let Some(slot) = inside.get_mut(c as usize) {
            *slot = own;
        }
        ties.found.sort_unstable();
        for &other in &ties.found {
            coarse.targets.push(other);
            weights.push(ties.to(other) as f32);
        }
        ties.clear();
        coarse.offsets.push(coarse.targets.len() as u64);
    }
    coarse.weights = Some(weights);
    Ok((coarse, inside))
}

/// Returns the members of every community, ascending.
pub(super) fn members(community: &[u32], count: usize) -> Result<Vec<Vec<VertexId>>> {
    let mut members: Vec<Vec<VertexId>> = reserved(count)?;
    members.resize_with(count, Vec::new);
    for (&c, v) in community.iter().zip(0..) {
        if let Some(list) = members.get_mut(c as usize) {
            list.push(v);
        }
    }
    Ok(members)
}

/// Returns the modularity (equation 3.3) of communities.
#[cfg(test)]
fn modularity(graph: &Csr, community: &[u32]) -> f64 {
    let whole: f64 = graph.vertices().map(|v| graph.strength(v)).sum();
    let mut sum = 0.0;
    for v in graph.vertices() {
        for u in graph.vertices() {
            if community[v as usize] != community[u as usize] {
                continue;
            }
            let edge: f64 = graph.edges(v).filter(|e| e.0 == u).map(|e| f64::from(e.1)).sum();
            sum += edge - graph.strength(v) * graph.strength(u) / whole;
        }
    }
    sum / whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns cliques of five in a ring.
    fn ring_of_cliques(cliques: u32) -> Csr {
        let mut edges = Vec::new();
        for c in 0..cliques {
            for a in 0..5 {
                edges.extend((0..a).map(|b| (5 * c + a, 5 * c + b)));
            }
            edges.push((5 * c, (5 * c + 5) % (5 * cliques) + 1));
        }
        Csr::of_edges(5 * cliques as usize, &edges)
    }

    #[test]
    fn louvain_finds_cliques() -> Result<()> {
        let graph = ring_of_cliques(8);
        let hooks = Hooks::default();
        let none = louvain(&graph, Some(0), 1, &hooks)?;
        assert_eq!(none, graph.vertices().collect::<Vec<_>>());
        let one = louvain(&graph, Some(1), 1, &hooks)?;
        let all = louvain(&graph, None, 1, &hooks)?;
        for v in graph.vertices() {
            assert_eq!(all[v as usize], all[(v - v % 5) as usize], "{all:?}");
        }
        assert!(modularity(&graph, &all) >= modularity(&graph, &one));
        assert!(modularity(&graph, &all) > 0.6, "{}", modularity(&graph, &all));
        assert_eq!(all, louvain(&graph, None, 1, &hooks)?);
        Ok(())
    }

    #[test]
    fn contraction_keeps_all_weight() -> Result<()> {
        let graph = ring_of_cliques(4);
        let community: Vec<u32> = graph.vertices().map(|v| v / 5).collect();
        let (coarse, inside) = contract(&graph, &[], &community, 4, &Hooks::default())?;
        assert_eq!(inside, [20.0; 4]);
        assert!(coarse.vertices().all(|c| coarse.strength(c) == 2.0), "{coarse:?}");
        Ok(())
    }

    #[cfg(feature = "metis")]
    #[test]
    fn metis_parts_evenly() -> Result<()> {
        let graph = ring_of_cliques(8);
        let hooks = Hooks::default();
        let part = metis(&graph, 8, 1, &hooks)?;
        let members = members(&part, 8)?;
        assert!(members.iter().all(|m| (3..=7).contains(&m.len())), "{members:?}");
        assert_eq!(part, metis(&graph, 8, 1, &hooks)?);
        assert_eq!(part, metis_here(&graph, 8, 1)?);
        assert_eq!(metis(&graph, 1, 1, &hooks)?, vec![0; 40]);
        hooks.cancel.cancel();
        assert!(matches!(metis(&graph, 8, 1, &hooks), Err(Error::Cancelled)));
        Ok(())
    }
}
