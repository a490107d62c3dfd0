//! Compression of a text in one piece.

use libsais::{LibsaisError, SuffixArrayConstruction};

use crate::buckets::Buckets;
use crate::error::{reserve, zeroed};
use crate::layout::{PointerSize, TextHeader, TextLayout};
use crate::options::{MAX_LEN, samples};
use crate::{Error, Options, Result, bits, marks, next_pointers};

/// The samples of the suffix array, which are kept when next pointers replace the array.
struct Samples {
    mark_directory: Vec<u8>,
    marks: Vec<u8>,
    positions: Vec<u8>,
    rows: Vec<u8>,
}

/// Appends the compressed form of `text` to `out`, which is left unchanged on failure.
pub(crate) fn write(text: &[u8], options: &Options, out: &mut Vec<u8>) -> Result<()> {
    options.check()?;
    let buckets = Buckets::of_counts(&counts(text)?)?;
    let mut rows = suffix_array(text)?;
    let header = |size| TextHeader {
        len: text.len() as u64,
        options: *options,
        bucket_count: buckets.len(),
        size,
    };
    let empty = TextLayout::new(header(PointerSize::default()))?;
    let kept = samples_of(&rows, &empty)?;
    point(text, &buckets, &mut rows)?;
    let size = next_pointers::size(&rows, &empty)?;
    let layout = TextLayout::new(header(size))?;
    let total = usize::try_from(layout.sections.total).unwrap_or(usize::MAX);
    reserve(out, total)?;
    let before = out.len();
    for word in layout.header.words(layout.sections.total).into_iter().chain(buckets.words()) {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for section in [kept.mark_directory, kept.marks, kept.positions, kept.rows] {
        out.extend_from_slice(&section);
    }
    out.resize(before + total, 0);
    let new = out.get_mut(before..).unwrap_or_default();
    let (upto, directory) = new.split_at_mut(layout.sections.directory.start);
    let body = upto.get_mut(layout.sections.body.clone()).unwrap_or_default();
    next_pointers::write(&rows, &layout, body, directory)
}

/// Counts the occurrences of each byte.
fn counts(text: &[u8]) -> Result<[u64; 256]> {
    if text.len() as u64 > MAX_LEN {
        return Err(Error::unsupported(format!(
            "a text of {} bytes in one piece; cut it into chunks of at most {MAX_LEN}",
            text.len()
        )));
    }
    let mut counts = [0; 256];
    for &byte in text {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    Ok(counts)
}

/// Returns the text position of each row's suffix; row 0 is the empty suffix.
fn suffix_array(text: &[u8]) -> Result<Vec<i32>> {
    let mut rows = zeroed(text.len() + 1)?;
    let Some((first, rest)) = rows.split_first_mut() else { return Ok(rows) };
    // the length was checked: it fits 31 bits
    *first = text.len() as i32;
    if !text.is_empty() {
        let construction = SuffixArrayConstruction::for_text(text).in_borrowed_buffer(rest);
        construction.single_threaded().run().map_err(|error| match error {
            LibsaisError::OutOfMemory => Error::OutOfMemory { needed: text.len() as u64 },
            other => Error::unsupported(format!("a text that libsais refuses ({other})")),
        })?;
    }
    Ok(rows)
}

/// Samples the suffix array and its inverse.
fn samples_of(positions: &[i32], layout: &TextLayout) -> Result<Samples> {
    let (sa_rate, isa_rate) = (layout.header.options.sa_rate, layout.header.options.isa_rate);
    let mut kept = Samples {
        mark_directory: zeroed(layout.sections.mark_directory.len())?,
        marks: zeroed(layout.sections.marks.len())?,
        positions: zeroed(layout.sections.positions.len())?,
        rows: zeroed(layout.sections.sampled_rows.len())?,
    };
    let mut writer = marks::MarksWriter::new(&mut kept.mark_directory, &mut kept.marks);
    let (position_bits, row_bits) = (layout.widths.position, layout.widths.row);
    for (row, position) in (0..).zip(positions).skip(1) {
        let position = position.unsigned_abs();
        if position & (sa_rate - 1) == 0 {
            let rank = writer.mark(row);
            let value = u64::from(position / sa_rate);
            bits::put(&mut kept.positions, rank * u64::from(position_bits), position_bits, value);
        }
        if position & (isa_rate - 1) == 0 {
            let at = u64::from(position / isa_rate) * u64::from(row_bits);
            bits::put(&mut kept.rows, at, row_bits, row);
        }
    }
    writer.finish(layout.rows());
    debug_assert_eq!(kept.rows.len() as u64, {
        bits::section(samples(layout.header.len, isa_rate) * u64::from(row_bits))
    });
    Ok(kept)
}

/// Replaces the text positions of rows by next pointers, in place.
///
/// The row of a suffix is the next pointer of the suffix that has one more byte in front, and
/// pointers ascend within the rows of that byte. Each row therefore goes to the next free row of
/// that byte.
fn point(text: &[u8], buckets: &Buckets, rows: &mut [i32]) -> Result<()> {
    let mut before = zeroed(rows.len())?;
    let mut whole = 0;
    // counted after the numbered items: a counter that is asked once more could exceed 31 bits
    for ((before, position), row) in before.iter_mut().zip(rows.iter()).zip(0..) {
        match position.unsigned_abs().checked_sub(1).and_then(|at| text.get(at as usize)) {
            Some(byte) => *before = *byte,
            None => whole = row,
        }
    }
    let mut next: Vec<usize> =
        (0..=u8::MAX).map(|byte| buckets.rows(byte).start as usize).collect();
    for (byte, row) in before.iter().zip(0i32..) {
        // the whole text has no byte in front: the empty suffix points to its row
        let free = if row == whole { None } else { next.get_mut(usize::from(*byte)) };
        let place = free.map_or(0, |free| {
            *free += 1;
            *free - 1
        });
        if let Some(place) = rows.get_mut(place) {
            *place = row;
        }
    }
    Ok(())
}
