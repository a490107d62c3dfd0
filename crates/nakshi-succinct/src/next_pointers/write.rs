//! The writer of next pointers, in two passes: the size, then the bytes.

use super::{elias_fano, gamma};
use crate::error::reserve;
use crate::layout::{GROUP, PointerSize, TextLayout};
use crate::{Options, Psi, Result, bits};

/// Computes the size of these pointers.
pub(crate) fn size(pointers: &[i32], layout: &TextLayout) -> Result<PointerSize> {
    let (mut at, mut begin, mut farthest) = (0, 0, 0);
    each_block(pointers, &layout.header.options, |number, _, gaps| {
        if number % GROUP == 0 {
            begin = at;
        }
        farthest = farthest.max(at - begin);
        at += u64::from(layout.widths.row);
        encode(layout.header.options.psi, gaps, |_, width| at += u64::from(width));
    })?;
    Ok(PointerSize { body_bits: at, place_bits: bits::width_of(farthest) })
}

/// Writes the body and the directory over zeros.
pub(crate) fn write(
    pointers: &[i32],
    layout: &TextLayout,
    body: &mut [u8],
    directory: &mut [u8],
) -> Result<()> {
    let (row_bits, place_bits) = (layout.widths.row, layout.header.size.place_bits);
    let (mut at, mut begin, mut entry) = (0, 0, 0);
    each_block(pointers, &layout.header.options, |number, first, gaps| {
        if number % GROUP == 0 {
            let fixed = row_bits + layout.widths.offset;
            entry = number / GROUP * (u64::from(fixed) + (GROUP - 1) * u64::from(place_bits));
            bits::put(directory, entry, row_bits, first);
            bits::put(directory, entry + u64::from(row_bits), layout.widths.offset, at);
            entry += u64::from(fixed);
            begin = at;
        } else {
            bits::put(directory, entry, place_bits, at - begin);
            entry += u64::from(place_bits);
        }
        bits::put(body, at, row_bits, first);
        at += u64::from(row_bits);
        encode(layout.header.options.psi, gaps, |number, width| {
            bits::put(body, at, width, number);
            at += u64::from(width);
        });
    })
}

/// Visits number, first pointer and gaps of each block; gaps are at least 1 because no two pointers
/// are equal.
fn each_block(
    pointers: &[i32],
    options: &Options,
    mut f: impl FnMut(u64, u64, &[u64]),
) -> Result<()> {
    let rows = pointers.len() as u64;
    let size = options.psi_block as usize;
    let mut gaps = Vec::new();
    reserve(&mut gaps, size)?;
    for (number, block) in (0..).zip(pointers.chunks(size)) {
        let mut numbers = block.iter().map(|pointer| u64::from(pointer.unsigned_abs()));
        let first = numbers.next().unwrap_or(0);
        gaps.clear();
        gaps.extend(numbers.scan(first, |last, pointer| {
            let gap = if pointer > *last { pointer - *last } else { pointer + rows - *last };
            *last = pointer;
            Some(gap)
        }));
        f(number, first, &gaps);
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
