//! Lists in memory as they are, without an encoding.

use std::ops::Range;
use std::sync::Mutex;

use nakshi_io::{CancelToken, prefer_huge_pages, run_workers};

use crate::{Encoding, Error, List, ListIndex, Result, Term, VertexId, codec};

/// Vertices whose degrees a thread reads at a time.
const BLOCK: usize = 1 << 14;
/// Neighbours that a thread decodes at a time, if they are not those of a single vertex.
const PART: u32 = if cfg!(test) { 64 } else { 1 << 17 };

/// All lists of a direction, decoded: four bytes a neighbour, and four a vertex for where its list
/// begins.
///
/// Lists that are read again and again are decoded once. An encoded list costs a look-up in the index, a
/// header and a nanosecond a neighbour in each pass; where ids are local and state lies in the processor's
/// caches, that is most of the time.
#[derive(Debug)]
pub struct DecodedLists {
    /// Place of each list in `ids`, then the number of ids.
    starts: Vec<u32>,
    /// Neighbours, each below the number of vertices.
    ids: Vec<VertexId>,
}

impl DecodedLists {
    /// Bytes of memory for `arcs` list entries of `vertices` vertices; `None` if places exceed 32 bits.
    pub fn memory(vertices: u64, arcs: u64) -> Option<u64> {
        u32::try_from(arcs).ok().map(|_| 4 * (vertices + 1 + arcs))
    }

    /// Decodes the lists that lie in `bytes`, where `index` says, on `threads` threads. Bytes behind the
    /// last list are slack, as of [`List::new`].
    ///
    /// # Errors
    /// [`Error::BadList`]; [`Error::Unsupported`] for 2^32 entries or more; [`Error::Budget`] if the system
    /// lacks the memory; [`nakshi_io::Error::Cancelled`].
    pub fn decode(
        (index, encoding): (&ListIndex, Encoding),
        bytes: &[u8],
        threads: usize,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let n = usize::try_from(index.len()).unwrap_or(usize::MAX);
        let mut starts = zeroed(n.saturating_add(1))?;
        let list = |extent: Range<u64>| {
            // Lossless where the bytes are in memory; a list beyond them is an error.
            List::new(encoding, bytes, extent.start as usize..extent.end as usize)
        };
        let block = |first: usize| first as u64..n.min(first + BLOCK) as u64;
        let degrees = starts.get_mut(1..).unwrap_or_default();
        in_blocks(degrees.chunks_mut(BLOCK), threads, cancel, |number, degrees| {
            for (degree, extent) in degrees.iter_mut().zip(index.extents(block(number * BLOCK))) {
                *degree = u32::try_from(list(extent)?.degree()).map_err(|_| too_many())?;
            }
            Ok(())
        })?;
        let mut sum = 0u32;
        for start in &mut starts {
            sum = sum.checked_add(*start).ok_or_else(too_many)?;
            *start = sum;
        }
        let mut ids: Vec<VertexId> = zeroed(sum as usize)?;
        prefer_huge_pages(&mut ids);
        let parts = divide(&starts);
        let ends: Vec<usize> = parts.iter().map(|(_, end)| *end as usize).collect();
        in_blocks(cut(&mut ids, &ends), threads, cancel, |part, mut ids| {
            let from = part.checked_sub(1).and_then(|before| parts.get(before));
            let (from, to) =
                (from.map_or(0, |part| part.0), parts.get(part).map_or(0, |part| part.0));
            for extent in index.extents(from..to) {
                list(extent)?.bounded(index.len()).for_each_slice(|neighbors| {
                    if let Some(to) = ids.split_off_mut(..neighbors.len()) {
                        to.copy_from_slice(neighbors);
                    }
                })?;
            }
            Ok(())
        })?;
        Ok(Self { starts, ids })
    }

    /// The neighbours of a vertex, ascending; none of one that does not exist.
    #[inline]
    pub fn neighbors(&self, v: VertexId) -> &[VertexId] {
        let at = v as usize;
        let range = match self.starts.get(at..).and_then(|starts| starts.first_chunk::<2>()) {
            Some(&[from, to]) => from as usize..to as usize,
            None => 0..0,
        };
        self.ids.get(range).unwrap_or_default()
    }

    /// The list of a vertex; empty for one that does not exist.
    #[inline]
    pub fn list(&self, v: VertexId) -> List<'_> {
        List::decoded(self.neighbors(v), self.starts.len() as u64 - 1)
    }

    /// Calls `f(v, degree, sum)` for consecutive vertices, with the sum of [`List::sum`].
    ///
    /// # Errors
    /// [`Error::BadList`] if there are fewer values than vertices.
    #[inline]
    pub fn sum_each<T: Term>(
        &self,
        vertices: Range<u64>,
        values: &[T],
        mut f: impl FnMut(VertexId, u64, f64),
    ) -> Result<()> {
        if values.len() + 1 < self.starts.len() {
            return Err(Error::BadList("a neighbour is no vertex of the graph"));
        }
        // Lossless: vertices are below 2^32.
        let (from, to) = (vertices.start as usize, vertices.end as usize);
        let starts = self.starts.get(from..=to).unwrap_or_default();
        codec::sum_each(starts, &self.ids, values, |at, sum| {
            let degree = match starts.get(at..).and_then(|starts| starts.first_chunk::<2>()) {
                Some(&[from, to]) => to - from,
                None => 0,
            };
            f((from + at) as VertexId, degree.into(), sum);
        });
        Ok(())
    }

    /// Places of the entries of the lists of consecutive vertices among those of all lists.
    #[inline]
    pub fn entries(&self, vertices: Range<u64>) -> Range<u64> {
        // Lossless: vertices are below 2^32.
        let at = |v: u64| self.starts.get(v as usize).copied().map_or(0, u64::from);
        at(vertices.start)..at(vertices.end)
    }

    /// Where each list begins, and behind them the number of entries.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Neighbours of all vertices, list after list.
    pub fn ids(&self) -> &[VertexId] {
        &self.ids
    }
}

fn too_many() -> Error {
    Error::Unsupported("2^32 list entries or more, decoded".into())
}

/// Zeros, which take memory when they are first touched.
fn zeroed(len: usize) -> Result<Vec<u32>> {
    let mut probe: Vec<u32> = Vec::new();
    let needed = 4 * len as u64;
    probe.try_reserve_exact(len).map_err(|_| Error::Budget { needed, given: 0 })?;
    drop(probe);
    Ok(vec![0; len])
}

/// The ends of consecutive parts: the vertices before them, and the entries of their lists. A part has about
/// [`PART`] entries, however they are spread over vertices, so that threads have equal work.
fn divide(starts: &[u32]) -> Vec<(u64, u32)> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (v, pair) in (1u64..).zip(starts.windows(2)) {
        let &[_, end] = pair else { continue };
        if end - from >= PART || v as usize + 1 == starts.len() {
            parts.push((v, end));
            from = end;
        }
    }
    parts
}

/// Cuts a slice at ascending places, of which the last is its end.
fn cut<'a>(mut slice: &'a mut [u32], ends: &'a [usize]) -> impl Iterator<Item = &'a mut [u32]> {
    let mut from = 0;
    ends.iter().map(move |&end| {
        let part = slice.split_off_mut(..end - from).unwrap_or_default();
        from = end;
        part
    })
}

/// Runs `work` on numbered parts, on `threads` threads.
fn in_blocks<T: Send>(
    parts: impl Iterator<Item = T> + Send,
    threads: usize,
    cancel: &CancelToken,
    work: impl Fn(usize, T) -> Result<()> + Sync,
) -> Result<()> {
    let queue = Mutex::new(parts.enumerate());
    run_workers(threads, |_| {
        loop {
            // The lock is held only while an iterator advances, which cannot panic.
            let next = queue.lock().unwrap_or_else(|p| p.into_inner()).next();
            let Some((number, part)) = next else { return Ok(()) };
            cancel.check()?;
            work(number, part)?;
        }
    })
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_are_those_that_were_encoded(
            lists in prop::collection::vec(prop::collection::btree_set(0..40_000u32, 0..300), 1..60),
            raw: bool,
        ) {
            let n = 40_000;
            let encoding = if raw { Encoding::Raw } else { Encoding::Packed };
            let (mut bytes, mut sizes) = (Vec::new(), vec![0; n]);
            for (list, size) in lists.iter().zip(sizes.iter_mut().step_by(601)) {
                let before = bytes.len();
                let ids: Vec<u32> = list.iter().copied().collect();
                codec::encode(encoding, &ids, &mut bytes);
                *size = (bytes.len() - before) as u64;
            }
            let index = ListIndex::from_sizes(&sizes).unwrap();
            let cancel = CancelToken::new();
            let found = DecodedLists::decode((&index, encoding), &bytes, 2, &cancel).unwrap();
            let arcs: usize = lists.iter().map(|list| list.len()).sum();
            let memory = DecodedLists::memory(n as u64, arcs as u64).unwrap();
            prop_assert_eq!(memory, 4 * (found.starts.len() + found.ids.len()) as u64);
            let values: Vec<f32> = (0..n).map(|v| 1.0 / (v as f32 + 0.7)).collect();
            let mut sums = Vec::new();
            let extents = index.extents(0..n as u64).map(|e| e.start as usize..e.end as usize);
            let encoded = (&*bytes, n as u64);
            codec::sum_lists(encoding, encoded, extents.clone(), &values, |degree, sum| {
                sums.push((degree, sum.to_bits()));
            })
            .unwrap();
            let alone = |v| (found.list(v).degree(), found.list(v).sum(&values).unwrap().to_bits());
            prop_assert!(sums.into_iter().eq((0..n as u32).map(alone)));
            let few = codec::sum_lists(encoding, encoded, extents, &values[..1], |_, _| ());
            prop_assert_eq!(few.is_ok(), lists.iter().flatten().all(|u| *u < 1));
            let mut seen = 0;
            found
                .sum_each(7..n as u64, &values, |v, degree, sum| {
                    assert_eq!(v, 7 + seen);
                    seen += 1;
                    let list = found.list(v);
                    assert_eq!(degree, list.degree());
                    assert_eq!(sum.to_bits(), list.sum(&values).unwrap().to_bits());
                })
                .unwrap();
            prop_assert_eq!(seen, n as u32 - 7);
            prop_assert!(found.sum_each(0..1, &values[1..], |_, _, _| ()).is_err());
            let mut out = Vec::new();
            for v in 0..n as u32 + 2 {
                found.list(v).decode_into(&mut out).unwrap();
                let list = lists.get(v as usize / 601).filter(|_| v % 601 == 0);
                prop_assert!(out.iter().eq(list.into_iter().flatten()));
            }
            // An id that is no vertex is found while lists are decoded.
            let few = ListIndex::from_sizes(&sizes[..601]).unwrap();
            let cut = DecodedLists::decode((&few, encoding), &bytes, 2, &cancel);
            prop_assert_eq!(cut.is_ok(), lists[0].iter().all(|u| *u < 601));
        }
    }
}
