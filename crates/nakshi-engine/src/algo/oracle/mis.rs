//! The independent set that vertices join one after the other.

/// The members, by vertex, if vertices are taken by ascending `priority`.
pub fn members(adjacency: &[Vec<u32>], priority: impl Fn(u32) -> u64) -> Vec<bool> {
    let n = adjacency.len();
    let mut neighbours = vec![Vec::new(); n];
    for (u, list) in adjacency.iter().enumerate() {
        for v in list.iter().map(|&v| v as usize).filter(|&v| v != u) {
            neighbours[u].push(v);
            neighbours[v].push(u);
        }
    }
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_by_key(|&v| priority(v));
    let mut members = vec![false; n];
    for v in order {
        members[v as usize] = neighbours[v as usize].iter().all(|&u| !members[u]);
    }
    members
}
