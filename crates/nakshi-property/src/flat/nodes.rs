//! The NodeFile: the lists of nodes, one after another (section 3.3).

use super::super::monotone::Monotone;
use super::delimiter::Properties;
use super::directory::Places;
use super::list::Pending;

/// Appends the lists to `text`; where each begins, and the last ends.
pub(super) fn lay_out(lists: &Pending, properties: &Properties, text: &mut Vec<u8>) -> Vec<u64> {
    let mut offsets = vec![0];
    for list in lists.write(properties) {
        text.extend_from_slice(&list);
        offsets.push(text.len() as u64);
    }
    offsets
}

/// Appends the offsets to a file that has `base` bytes before `out`.
pub(super) fn places(offsets: &[u64], base: u64, out: &mut Vec<u8>) -> Places {
    Places::Lists(Monotone::write(offsets, out).moved(base))
}
