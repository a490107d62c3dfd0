//! The intersection kernel: for every edge `(v, u)`, `u < v`, the smaller neighbours that
//! both ends share.
//!
//! The list of `v` is marked once; each `u` then takes the cheapest of three ways:
//! * *rows*: hubs (the core) also have their lists as bit rows, and a population count
//!   of the conjunction with the marks of `v` handles 64 candidates at once, over all
//!   words of the row or only over those in which `v` has a mark;
//! * *lookups*: the list of `u` streams past a table of one byte per hub;
//! * *searches*: when `v` has few candidates, each is searched in the list of `u`.

use super::oriented::{LOW, OrientedPart};
use crate::context::Context;
use crate::error::Result;
use crate::parallel::{Tickets, run_workers};
use crate::popcount::{AndCount, Unit};
use crate::vertex_set::Bitmap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ranks per ticket.
const CHUNK: usize = 128;
/// Edges ahead of the one at hand whose lists, and the places of whose lists, are fetched.
const NEAR: usize = 6;
const FAR: usize = 12;
/// Tickets between two reports of progress.
const REPORT: usize = 64;
/// Edges between two looks at the cancel token.
const CHECK_INTERVAL: usize = 4096;

/// Bit rows of the lists of the first ranks; row `u` has the bits `0..=u`, in whole units.
pub(crate) struct Core {
    rows: Vec<Unit>,
    size: u32,
    count: AndCount,
}

impl Core {
    /// Start of row `u`.
    #[inline]
    fn at(u: u32) -> usize {
        let (q, r) = (u as usize / 512, u as usize % 512);
        256 * q * (q + 1) + r * (q + 1)
    }

    /// Bytes of the rows of `size` ranks.
    pub(crate) fn bytes(size: u32) -> u64 {
        64 * Self::at(size) as u64
    }

    /// Rows of the first ranks of `part`, as many as are dense enough to pay and fit in
    /// `bytes`. Without rows if the part does not begin with the first rank.
    pub(crate) fn build(part: &OrientedPart, bytes: u64) -> Self {
        let mut size = 0;
        let mut entries = 0u64;
        if part.ranks.start == 0 {
            for u in 0..part.ranks.end.min(LOW) {
                entries += part.lists(u).0.len() as u64;
                // Rows pay while they hold an entry in four words on average.
                if Self::bytes(u + 1) > bytes || (u > 4096 && entries < Self::bytes(u) / 32) {
                    break;
                }
                size = u + 1;
            }
        }
        let mut rows: Vec<Unit> = vec![[0; 8]; Self::at(size)];
        for u in 0..size {
            let from = Self::at(u);
            let row = rows.get_mut(from..).unwrap_or(&mut []);
            for &w in part.lists(u).0 {
                set_bit(row, w);
            }
        }
        Core { rows, size, count: AndCount::detect() }
    }

    #[inline]
    fn row(&self, u: u32) -> &[Unit] {
        self.rows.get(Self::at(u)..Self::at(u + 1)).unwrap_or(&[])
    }
}

/// A byte for every 16-bit number: an index of that width cannot miss.
type LowTable = [u8; LOW as usize];

/// Sum of the bytes of `list`; a list of 16-bit numbers has fewer than 2^32 of them.
#[inline]
fn look_up(table: &LowTable, list: &[u16]) -> u64 {
    let (eights, rest) = list.as_chunks::<8>();
    // Independent sums, so that additions do not wait for each other.
    let mut sums = [0u32; 8];
    for eight in eights {
        for (sum, &w) in sums.iter_mut().zip(eight) {
            *sum = sum.wrapping_add(table[usize::from(w)].into());
        }
    }
    let tail = rest.iter().map(|&w| u64::from(table[usize::from(w)])).sum::<u64>();
    tail + sums.iter().map(|&sum| u64::from(sum)).sum::<u64>()
}

#[inline]
fn word(row: &[Unit], k: u16) -> Option<u64> {
    row.get(usize::from(k / 8)).map(|unit| unit[usize::from(k % 8)])
}

#[inline]
fn word_mut(row: &mut [Unit], k: u16) -> Option<&mut u64> {
    row.get_mut(usize::from(k / 8)).map(|unit| &mut unit[usize::from(k % 8)])
}

/// Sets bit `w` if the row has it, and tells whether it is the first of its word.
#[inline]
fn set_bit(row: &mut [Unit], w: u16) -> bool {
    let Some(word) = word_mut(row, w / 64) else { return false };
    let first = *word == 0;
    *word |= 1 << (w % 64);
    first
}

/// The marked list of one vertex.
struct MarkedList {
    /// One byte per rank below [`LOW`]: 1 if marked.
    low: Box<LowTable>,
    /// The marks below the size of the core, as bits.
    words: Vec<Unit>,
    /// Words of 64 bits that are not 0, ascending.
    used: Vec<u16>,
    /// Marks from [`LOW`] on.
    high: Bitmap,
}

impl MarkedList {
    fn new(n: usize, core: u32) -> Self {
        MarkedList {
            low: Box::new([0; LOW as usize]),
            words: vec![[0; 8]; (core as usize).div_ceil(512)],
            used: Vec::new(),
            high: Bitmap::new(n),
        }
    }

    fn set(&mut self, low: &[u16], high: &[u32]) {
        for &w in low {
            if let Some(byte) = self.low.get_mut(usize::from(w)) {
                *byte = 1;
            }
            if set_bit(&mut self.words, w) {
                self.used.push(w / 64);
            }
        }
        high.iter().for_each(|&w| self.high.set(w as usize));
    }

    fn clear(&mut self, low: &[u16], high: &[u32]) {
        for &w in low {
            if let Some(byte) = self.low.get_mut(usize::from(w)) {
                *byte = 0;
            }
        }
        for &k in &self.used {
            if let Some(word) = word_mut(&mut self.words, k) {
                *word = 0;
            }
        }
        self.used.clear();
        high.iter().for_each(|&w| self.high.clear(w as usize));
    }
}

/// Triangles per rank, shared by the workers; each holds the counts of the hubs, where
/// nearly all triangles end, by itself until it is done.
struct Tally<'a> {
    all: &'a [AtomicU64],
    hubs: Vec<u64>,
}

impl Tally<'_> {
    #[inline]
    fn add(&mut self, rank: u32, count: u64) {
        if let Some(slot) = self.hubs.get_mut(rank as usize) {
            *slot += count;
        } else if let Some(slot) = self.all.get(rank as usize) {
            slot.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn flush(&mut self) {
        for (mine, slot) in self.hubs.iter_mut().zip(self.all) {
            if *mine > 0 {
                slot.fetch_add(std::mem::take(mine), Ordering::Relaxed);
            }
        }
    }
}

/// One worker's tables.
struct TriangleCounter<'a> {
    core: &'a Core,
    lists: &'a OrientedPart,
    marks: MarkedList,
    tally: Option<Tally<'a>>,
    total: u64,
}

/// The method that intersects the marked list with one list.
enum Way {
    Row,
    SparseRow(usize),
    Lookups,
    Searches,
}

impl TriangleCounter<'_> {
    /// `below` candidates of `v`, in `used` words of the core, against the list of `u`.
    /// The weights are cycles, measured on a Kronecker graph.
    #[inline]
    fn way(&self, u: u32, below: usize, used: usize) -> Way {
        let (low, high) = self.lists.lists(u);
        let length = low.len() + high.len();
        let searches = below * (4 + 4 * (usize::BITS - length.leading_zeros()) as usize);
        let (mut way, mut cost) = (Way::Lookups, 8 + length);
        if searches < cost {
            (way, cost) = (Way::Searches, searches);
        }
        if u < self.core.size {
            let each = if self.tally.is_some() { 4 } else { 0 };
            let (whole, sparse) = (10 + u as usize / 256, 4 + 2 * used + each);
            if sparse < cost && sparse <= whole {
                way = Way::SparseRow(used);
            } else if whole + each < cost {
                way = Way::Row;
            }
        }
        way
    }

    /// Triangles over the edge `(v, u)`, where `low` and `high` are the candidates of `v`
    /// below `u`.
    fn edge(&mut self, u: u32, used: usize, low: &[u16], high: &[u32]) -> u64 {
        match self.way(u, low.len() + high.len(), used) {
            Way::Row => self.row(u),
            Way::SparseRow(used) => self.sparse_row(u, used),
            Way::Lookups => self.lookups(u),
            Way::Searches => self.searches(u, low, high),
        }
    }

    fn row(&mut self, u: u32) -> u64 {
        let row = self.core.row(u);
        if let Some(tally) = &mut self.tally {
            let mut found = 0;
            let words = row.as_flattened().iter().zip(self.marks.words.as_flattened());
            for (k, (a, b)) in words.enumerate() {
                found += each_bit(tally, k, a & b);
            }
            return found;
        }
        self.core.count.count(row, &self.marks.words)
    }

    fn sparse_row(&mut self, u: u32, used: usize) -> u64 {
        let row = self.core.row(u);
        let mut found = 0;
        for &k in self.marks.used.get(..used).unwrap_or(&[]) {
            let (Some(a), Some(b)) = (word(row, k), word(&self.marks.words, k)) else { break };
            found += match &mut self.tally {
                Some(tally) => each_bit(tally, usize::from(k), a & b),
                None => u64::from((a & b).count_ones()),
            };
        }
        found
    }

    fn lookups(&mut self, u: u32) -> u64 {
        let (low, high) = self.lists.lists(u);
        let table = &*self.marks.low;
        let mut found = 0u64;
        match &mut self.tally {
            None => found += look_up(table, low),
            Some(tally) => {
                for &w in low {
                    if table[usize::from(w)] != 0 {
                        tally.add(u32::from(w), 1);
                        found += 1;
                    }
                }
            }
        }
        for &w in high {
            if self.marks.high.get(w as usize) {
                found += 1;
                if let Some(tally) = &mut self.tally {
                    tally.add(w, 1);
                }
            }
        }
        found
    }

    fn searches(&mut self, u: u32, low: &[u16], high: &[u32]) -> u64 {
        let mut found = 0;
        let mut hit = |w: u32| {
            found += 1;
            if let Some(tally) = &mut self.tally {
                tally.add(w, 1);
            }
        };
        let (lows, highs) = self.lists.lists(u);
        low.iter().filter(|w| lows.binary_search(w).is_ok()).for_each(|&w| hit(u32::from(w)));
        high.iter().filter(|w| highs.binary_search(w).is_ok()).for_each(|&w| hit(w));
        found
    }

    /// Triangles whose largest rank is `v`, the second largest in the worker's part.
    fn vertex(&mut self, v: u32, low: &[u16], high: &[u32], cx: &Context) -> Result<()> {
        if low.len() + high.len() < 2 {
            return Ok(());
        }
        self.marks.set(low, high);
        let mut mine = 0;
        let mut used = 0;
        let Range { start, end } = self.lists.ranks;
        let all = low.iter().map(|&u| u32::from(u)).chain(high.iter().copied()).enumerate();
        for (i, u) in all {
            if i % CHECK_INTERVAL == CHECK_INTERVAL - 1 {
                cx.check()?;
            }
            // Lists of the tail lie far apart: what comes soon is fetched while this is done.
            let coming = |k: usize| match low.get(i + k) {
                Some(&u) => Some(u32::from(u)),
                None => high.get(i + k - low.len()).copied(),
            };
            if let Some(u) = coming(FAR) {
                self.lists.fetch_place(u);
            }
            if let Some(u) = coming(NEAR).filter(|&u| u >= self.core.size) {
                self.lists.fetch_lists(u);
            }
            if u < start || u >= end {
                continue;
            }
            while self.marks.used.get(used).is_some_and(|&k| u32::from(k) <= u / 64) {
                used += 1;
            }
            let found = self.edge(
                u,
                used,
                low.get(..i).unwrap_or(low),
                high.get(..i.saturating_sub(low.len())).unwrap_or(high),
            );
            if found > 0
                && let Some(tally) = &mut self.tally
            {
                tally.add(u, found);
            }
            mine += found;
        }
        self.marks.clear(low, high);
        if mine > 0
            && let Some(tally) = &mut self.tally
        {
            tally.add(v, mine);
        }
        self.total += mine;
        Ok(())
    }
}

/// Adds a triangle to every rank whose bit is set in word `k`, and returns their number.
#[inline]
fn each_bit(tally: &mut Tally<'_>, k: usize, mut word: u64) -> u64 {
    let found = u64::from(word.count_ones());
    while word != 0 {
        // Rows have at most 2^16 bits.
        tally.add((64 * k) as u32 + word.trailing_zeros(), 1);
        word &= word - 1;
    }
    found
}

/// Number of triangles `w < u < v` with `v` in `top` and `u` in `lists`; with `per_rank`
/// they are also added at their three corners. `core` belongs to `lists`.
pub(crate) fn count(
    top: &OrientedPart,
    lists: &OrientedPart,
    core: &Core,
    per_rank: Option<&[AtomicU64]>,
    n: usize,
    cx: &Context,
) -> Result<u64> {
    let tickets = Tickets::new(top.ranks.len().div_ceil(CHUNK));
    let parts = run_workers(cx.threads(), |_| {
        let tally = per_rank.map(|all| Tally { all, hubs: vec![0; n.min(LOW as usize)] });
        let mut worker =
            TriangleCounter { core, lists, marks: MarkedList::new(n, core.size), tally, total: 0 };
        while let Some(ticket) = tickets.draw() {
            let first = top.ranks.start as usize + ticket * CHUNK;
            let last = (first + CHUNK).min(top.ranks.end as usize);
            cx.check().inspect_err(|_| tickets.close())?;
            if ticket % REPORT == 0 {
                let done = (ticket * CHUNK) as u64;
                cx.progress().update("intersect", done, top.ranks.len() as u64);
            }
            for v in first as u32..last as u32 {
                let (low, high) = top.lists(v);
                let done = worker.vertex(v, low, high, cx);
                done.inspect_err(|_| tickets.close())?;
            }
        }
        if let Some(tally) = &mut worker.tally {
            tally.flush();
        }
        Ok(worker.total)
    })?;
    Ok(parts.into_iter().sum())
}
