//! Writes the next pointers of all rows, in two passes: their length, then they themselves.

use super::{elias_fano, gamma};
use crate::error::reserve;
use crate::layout::Layout;
use crate::{Options, Psi, Result, bits};

/// Bits of the body for these pointers.
pub(crate) fn body_bits(pointers: &[i32], options: &Options) -> Result<u64> {
    let mut total = 0;
    each_block(pointers, options, |_, gaps| {
        encode(options.psi, gaps, |_, width| total += u64::from(width));
    })?;
    Ok(total)
}

/// Writes body and directory over zeros.
pub(crate) fn write(
    pointers: &[i32],
    layout: &Layout,
    body: &mut [u8],
    directory: &mut [u8],
) -> Result<()> {
    let (mut at, mut entry) = (0, 0);
    each_block(pointers, &layout.options, |first, gaps| {
        bits::put(directory, entry, layout.row_bits, first);
        entry += u64::from(layout.row_bits);
        bits::put(directory, entry, layout.offset_bits, at);
        entry += u64::from(layout.offset_bits);
        encode(layout.options.psi, gaps, |number, width| {
            bits::put(body, at, width, number);
            at += u64::from(width);
        });
    })
}

/// First pointer and gaps of each block; gaps are at least 1 because no two pointers are equal.
fn each_block(pointers: &[i32], options: &Options, mut f: impl FnMut(u64, &[u64])) -> Result<()> {
    let rows = pointers.len() as u64;
    let size = options.psi_block as usize;
    let mut gaps = Vec::new();
    reserve(&mut gaps, size)?;
    for block in pointers.chunks(size) {
        let mut numbers = block.iter().map(|pointer| u64::from(pointer.unsigned_abs()));
        let first = numbers.next().unwrap_or(0);
        gaps.clear();
        gaps.extend(numbers.scan(first, |last, pointer| {
            let gap = if pointer > *last { pointer - *last } else { pointer + rows - *last };
            *last = pointer;
            Some(gap)
        }));
        f(first, &gaps);
    }
    Ok(())
}

fn encode(psi: Psi, gaps: &[u64], emit: impl FnMut(u64, u32)) {
    match psi {
        Psi::EliasGamma => gamma::encode::<false>(gaps, emit),
        Psi::EliasFano => elias_fano::encode(gaps, emit),
        Psi::Runs => gamma::encode::<true>(gaps, emit),
    }
}
