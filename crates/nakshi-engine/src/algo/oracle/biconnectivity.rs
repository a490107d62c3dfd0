//! Bridges and articulation points by taking each edge and each vertex away and counting
//! components.

use super::wcc::components;

/// Number of components among the vertices other than `without`.
fn count(adjacency: &[Vec<u32>], without: Option<u32>) -> usize {
    let mut lists = adjacency.to_vec();
    if let Some(gone) = without {
        lists.iter_mut().for_each(|list| list.retain(|&u| u != gone));
        lists[gone as usize].clear();
    }
    let roots = components(&lists);
    let alone = usize::from(without.is_some());
    (0u32..).zip(roots).filter(|&(v, root)| v == root).count() - alone
}

/// The bridges as pairs in ascending order; lists have both ends of each edge, a parallel one
/// twice.
pub fn bridges(adjacency: &[Vec<u32>]) -> Vec<(u32, u32)> {
    let before = count(adjacency, None);
    let mut found = Vec::new();
    for (u, list) in (0u32..).zip(adjacency) {
        for &v in list.iter().filter(|&&v| v > u) {
            let mut lists = adjacency.to_vec();
            for (from, to) in [(u, v), (v, u)] {
                let list = &mut lists[from as usize];
                if let Some(place) = list.iter().position(|&end| end == to) {
                    list.remove(place);
                }
            }
            if count(&lists, None) > before {
                found.push((u, v));
            }
        }
    }
    found.sort_unstable();
    found
}

/// By vertex, true if there are more components without it.
pub fn articulation_points(adjacency: &[Vec<u32>]) -> Vec<bool> {
    let before = count(adjacency, None);
    let isolated = |v: u32| adjacency[v as usize].iter().all(|&u| u == v);
    let parts = |v: u32| !isolated(v) && count(adjacency, Some(v)) > before;
    (0..adjacency.len() as u32).map(parts).collect()
}
