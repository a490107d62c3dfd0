//! The k shortest paths, none of which visits a vertex twice.
//!
//! J. Y. Yen, "Finding the k shortest loopless paths in a network", Management Science 17 (1971). Each path
//! that is found is varied from each of its vertices on: the vertices before stay, and the next step is none
//! of those that paths with the same beginning have taken. E. L. Lawler, Management Science 18 (1972): not
//! before the vertex at which it left the path from which it comes, where that was done.
//!
//! State: at most k paths that may be next, beside one search of [`super::weighted_path`] at a time.

use super::OpenLists;
use super::weighted_path::{Route, WeightedPath};
use crate::context::Context;
use crate::error::Result;
use nakshi_store::VertexId;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

/// Bytes of a step of a path.
const STEP: u64 = 12;

/// A path that may be the next, by its length and then by its vertices.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    length: f64,
    route: Route,
    /// Place of the vertex at which it leaves the path from which it comes.
    from: usize,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = self.length.total_cmp(&other.length);
        length.then_with(|| self.route.vertices.cmp(&other.route.vertices))
    }
}

impl OpenLists {
    /// Up to `count` paths from `from` to `to` that visit no vertex twice, the shortest first. The look-ups
    /// need the lists of both directions; without a weight column every edge has length 1.
    ///
    /// # Errors
    /// As [`OpenLists::lightest_path`].
    pub fn lightest_paths(
        &self,
        from: VertexId,
        to: VertexId,
        count: usize,
        cx: &Context,
    ) -> Result<Vec<WeightedPath>> {
        let mut found: Vec<Route> = Vec::new();
        let mut next = BTreeSet::new();
        let first = self.lightest_route(from, to, &|_, _| true, cx)?;
        next.extend(first.map(|route| Candidate { length: route.length(), route, from: 0 }));
        while found.len() < count
            && let Some(Candidate { route, from, .. }) = next.pop_first()
        {
            found.push(route);
            let wanted = count - found.len();
            if wanted > 0 {
                self.vary(&found, from, to, &mut next, cx)?;
            }
            while next.len() > wanted {
                next.pop_last();
            }
            let steps = found.iter().chain(next.iter().map(|path| &path.route));
            let steps: u64 = steps.map(|route| route.vertices.len() as u64).sum();
            self.check_room(steps.saturating_mul(STEP), "so many paths")?;
            cx.progress().update("paths", found.len() as u64, count as u64);
        }
        Ok(found.into_iter().map(WeightedPath::from).collect())
    }

    /// Adds the shortest variations of the last path that was found, from the vertex at `from` on.
    fn vary(
        &self,
        found: &[Route],
        from: usize,
        to: VertexId,
        next: &mut BTreeSet<Candidate>,
        cx: &Context,
    ) -> Result<()> {
        let Some(last) = found.last() else { return Ok(()) };
        for at in from..last.weights.len() {
            let (Some(root), Some(&spur)) = (last.vertices.get(..=at), last.vertices.get(at))
            else {
                break;
            };
            let before: HashSet<VertexId> = root.iter().copied().filter(|&v| v != spur).collect();
            let same = found.iter().filter(|path| path.vertices.get(..=at) == Some(root));
            let taken: HashSet<VertexId> =
                same.filter_map(|path| path.vertices.get(at + 1).copied()).collect();
            let may = |u: VertexId, v: VertexId| {
                let past = before.contains(&u) || before.contains(&v);
                !(past || u == spur && taken.contains(&v))
            };
            let Some(rest) = self.lightest_route(spur, to, &may, cx)? else { continue };
            let mut route = Route {
                vertices: root.to_vec(),
                weights: last.weights.get(..at).unwrap_or_default().to_vec(),
            };
            route.vertices.extend(rest.vertices.into_iter().skip(1));
            route.weights.extend(rest.weights);
            next.insert(Candidate { length: route.length(), route, from: at });
        }
        Ok(())
    }
}
