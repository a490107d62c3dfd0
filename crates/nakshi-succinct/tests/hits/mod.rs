//! Searches that stop before their last hit.

use std::ops::ControlFlow;

use nakshi_succinct::Result;

/// The first `count` hits that `for_each` visits, which is told to stop after them.
pub fn first(
    count: usize,
    for_each: impl FnOnce(&mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<()>,
) -> Result<Vec<u64>> {
    let mut hits = Vec::new();
    for_each(&mut |at| {
        hits.push(at);
        if hits.len() < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(hits)
}
