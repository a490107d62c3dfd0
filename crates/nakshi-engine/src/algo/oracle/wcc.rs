//! Weakly connected components by passing the smallest id along until nothing changes.

/// The smallest vertex of each vertex's component.
pub fn components(lists: &[Vec<u32>]) -> Vec<u32> {
    let mut labels: Vec<u32> = (0u32..).take(lists.len()).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (v, list) in lists.iter().enumerate() {
            for u in list.iter().map(|&u| u as usize) {
                if let (Some(&a), Some(&b)) = (labels.get(v), labels.get(u))
                    && a != b
                {
                    let low = a.min(b);
                    for x in [u, v] {
                        if let Some(slot) = labels.get_mut(x) {
                            *slot = low;
                        }
                    }
                    changed = true;
                }
            }
        }
    }
    labels
}
