//! Colouring one vertex after the other, instead of in rounds.

use crate::program::pull::mixed;
use std::cmp::Reverse;

/// Colours by the greedy rule: vertices of many edges first, then by chance; each takes the least colour
/// that none of its neighbours in either direction has.
pub fn colors(lists: &[Vec<u32>], directed: bool) -> Vec<u32> {
    let mut neighbours = lists.to_vec();
    if directed {
        for (u, list) in (0u32..).zip(lists) {
            list.iter().for_each(|&v| neighbours[v as usize].push(u));
        }
    }
    let mut order: Vec<usize> = (0..lists.len()).collect();
    order.sort_unstable_by_key(|&v| Reverse((neighbours[v].len(), mixed(v as u64), v)));
    let mut colors: Vec<Option<u32>> = vec![None; order.len()];
    for v in order {
        let others = neighbours[v].iter().filter(|&&u| u as usize != v);
        let taken: Vec<u32> = others.filter_map(|&u| colors[u as usize]).collect();
        colors[v] = (0..).find(|color| !taken.contains(color));
    }
    colors.into_iter().map(Option::unwrap_or_default).collect()
}
