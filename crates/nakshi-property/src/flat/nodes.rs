//! The NodeFile: the lists of nodes, one after another (section 3.3).

use super::super::elias_fano::EliasFano;
use super::delimiter::DelimitedProperties;
use super::directory::ListLocations;
use super::list::PendingLists;

/// Appends the lists to `text`; returns the offset of each list, and the end of the last.
pub(super) fn lay_out(
    lists: &PendingLists,
    properties: &DelimitedProperties,
    text: &mut Vec<u8>,
) -> Vec<u64> {
    let mut offsets = vec![0];
    for list in lists.write(properties) {
        text.extend_from_slice(&list);
        offsets.push(text.len() as u64);
    }
    offsets
}

/// Appends the offsets to `out`, before which the file has `base` bytes.
pub(super) fn places(offsets: &[u64], base: u64, out: &mut Vec<u8>) -> ListLocations {
    ListLocations::Lists(EliasFano::write(offsets, out).moved(base))
}
