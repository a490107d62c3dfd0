//! Breadth-first search with a queue.

use std::collections::VecDeque;

/// Level of each vertex of the out-lists `lists` from `source`; `None` if unreachable.
pub fn levels(lists: &[Vec<u32>], source: u32) -> Vec<Option<u32>> {
    let mut levels = vec![None; lists.len()];
    let mut queue = VecDeque::from([(source, 0)]);
    while let Some((v, level)) = queue.pop_front() {
        match levels.get_mut(v as usize) {
            Some(slot @ None) => *slot = Some(level),
            _ => continue,
        }
        queue.extend(lists.get(v as usize).into_iter().flatten().map(|&u| (u, level + 1)));
    }
    levels
}

/// For each reached vertex except the source its smallest in-neighbour one level up.
pub fn parents(lists: &[Vec<u32>], levels: &[Option<u32>]) -> Vec<Option<u32>> {
    let mut parents = vec![None; lists.len()];
    for (v, list) in (0u32..).zip(lists) {
        let Some(Some(level)) = levels.get(v as usize) else { continue };
        for &u in list {
            let below = levels.get(u as usize) == Some(&Some(level + 1));
            if let Some(slot @ None) = parents.get_mut(u as usize)
                && below
            {
                *slot = Some(v);
            }
        }
    }
    parents
}
