//! Core numbers as the limit of h-indices (Lü, Zhou, Zhang, Stanley, Nat. Commun. 7, 2016): nothing
//! is taken away.

/// Core number of each vertex; edges of both directions count, self-loops do not.
pub fn cores(adjacency: &[Vec<u32>], directed: bool) -> Vec<u32> {
    let mut lists = vec![Vec::new(); adjacency.len()];
    for (u, list) in adjacency.iter().enumerate() {
        for v in list.iter().map(|&v| v as usize).filter(|&v| v != u) {
            lists[u].push(v);
            if directed {
                lists[v].push(u);
            }
        }
    }
    let mut cores: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
    loop {
        let next: Vec<u32> = lists.iter().map(|list| h_index(list, &cores)).collect();
        if next == cores {
            return cores;
        }
        cores = next;
    }
}

/// The largest h such that h of the neighbours have a value of at least h.
fn h_index(list: &[usize], values: &[u32]) -> u32 {
    let mut sorted: Vec<u32> = list.iter().map(|&u| values[u]).collect();
    sorted.sort_unstable_by_key(|&value| std::cmp::Reverse(value));
    (1u32..).zip(sorted).take_while(|&(h, value)| value >= h).count() as u32
}
