//! Degrees by walking over all list entries.

/// Entries of the list of each vertex, if `out`, and entries of all lists that name it, if `into`.
pub fn degrees(lists: &[Vec<u32>], out: bool, into: bool) -> Vec<u64> {
    let mut degrees = vec![0; lists.len()];
    for (u, list) in lists.iter().enumerate() {
        for &v in list {
            degrees[u] += u64::from(out);
            degrees[v as usize] += u64::from(into);
        }
    }
    degrees
}
