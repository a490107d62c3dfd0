//! Messages on their way: bundles per pair of sender and partition (section 3.4.1).

use super::grid::Grid;
use crate::VertexId;
use crate::error::Error;
use std::mem::size_of;

/// Slots of the table that finds an earlier message to the same vertex.
const RECENT: usize = 1 << 12;

/// Messages of one worker to the vertices of one partition.
///
/// A multicast stores its message once and then only destinations, four bytes each.
#[derive(Debug)]
pub(super) struct Bundle<M> {
    /// Messages sent one by one.
    singles: Vec<(VertexId, M)>,
    /// For each hash, the index in `singles` of the last message to a vertex with it; only a hint.
    recent: Vec<u32>,
    /// Multicast messages, each with where its destinations begin.
    packets: Vec<(usize, M)>,
    /// Destinations of the packets.
    targets: Vec<VertexId>,
    /// The multicast that wrote the last packet.
    multicast: u64,
}

impl<M> Default for Bundle<M> {
    fn default() -> Self {
        Bundle {
            singles: Vec::new(),
            recent: Vec::new(),
            packets: Vec::new(),
            targets: Vec::new(),
            multicast: 0,
        }
    }
}

impl<M: Copy> Bundle<M> {
    /// Returns true if the bundle has no messages.
    pub(super) fn is_empty(&self) -> bool {
        self.singles.is_empty() && self.targets.is_empty()
    }

    /// Number of deliveries.
    pub(super) fn len(&self) -> usize {
        self.singles.len() + self.targets.len()
    }

    /// Hands each message to `deliver` and empties the bundle. It keeps `keep` bytes of memory for the
    /// messages to come.
    pub(super) fn drain(&mut self, keep: usize, mut deliver: impl FnMut(VertexId, &M)) {
        for (to, message) in &self.singles {
            deliver(*to, message);
        }
        let mut packets = self.packets.iter().peekable();
        while let Some((from, message)) = packets.next() {
            let to = packets.peek().map_or(self.targets.len(), |(next, _)| *next);
            for &target in self.targets.get(*from..to).unwrap_or(&[]) {
                deliver(target, message);
            }
        }
        let keep = clear(&mut self.targets, keep);
        let keep = clear(&mut self.singles, keep);
        clear(&mut self.packets, keep);
    }

    fn single(&mut self, to: VertexId, message: M) {
        self.singles.push((to, message));
    }

    /// Merges with an earlier message to the same vertex if one is found.
    fn single_combined(&mut self, to: VertexId, message: M, combine: impl FnOnce(&mut M, &M)) {
        if self.recent.is_empty() {
            self.recent = vec![0; RECENT];
        }
        // Neighbouring ids are common in one list: the low bits spread them best.
        let Some(hint) = self.recent.get_mut(to as usize % RECENT) else { return };
        match self.singles.get_mut(*hint as usize) {
            Some((earlier, merged)) if *earlier == to => combine(merged, &message),
            _ => {
                *hint = u32::try_from(self.singles.len()).unwrap_or(u32::MAX);
                self.singles.push((to, message));
            }
        }
    }

    /// Returns the bytes that this takes.
    #[inline]
    fn multi(&mut self, targets: &[VertexId], message: M, multicast: u64) -> usize {
        let mut bytes = size_of_val(targets);
        if self.multicast != multicast {
            self.multicast = multicast;
            self.packets.push((self.targets.len(), message));
            bytes += size_of::<(usize, M)>();
        }
        self.targets.extend_from_slice(targets);
        bytes
    }
}

/// Empties `list`, and frees its memory beyond `keep` bytes. Returns how many of these it does not use.
fn clear<T>(list: &mut Vec<T>, keep: usize) -> usize {
    list.clear();
    list.shrink_to(keep / size_of::<T>().max(1));
    keep.saturating_sub(list.capacity() * size_of::<T>())
}

/// Outgoing messages of one worker: a bundle for each partition, and counters.
#[derive(Debug)]
pub(super) struct Outbox<M> {
    grid: Grid,
    bundles: Vec<Bundle<M>>,
    multicasts: u64,
    /// Bytes queued since the counter was last taken.
    queued: usize,
    /// Vertices that this worker was the first to activate, likewise.
    activated: u64,
    /// The first mistake of a callback, which ends the run.
    pub(super) fault: Option<Error>,
}

impl<M: Copy> Outbox<M> {
    /// An empty outbox.
    pub(super) fn new(grid: Grid) -> Self {
        Outbox {
            grid,
            bundles: (0..grid.partitions()).map(|_| Bundle::default()).collect(),
            multicasts: 0,
            queued: 0,
            activated: 0,
            fault: None,
        }
    }

    /// Queues one message, merged with an earlier one by `combine` if that is given.
    #[inline]
    pub(super) fn send<C: FnOnce(&mut M, &M)>(
        &mut self,
        to: VertexId,
        message: M,
        combine: Option<C>,
    ) {
        if to as usize >= self.grid.vertices() {
            return self.unknown(to);
        }
        let Some(bundle) = self.bundles.get_mut(self.grid.partition(to)) else { return };
        let before = bundle.singles.len();
        match combine {
            Some(combine) => bundle.single_combined(to, message, combine),
            None => bundle.single(to, message),
        }
        self.queued += (bundle.singles.len() - before) * size_of::<(VertexId, M)>();
    }

    /// Begins a multicast; [`Outbox::multicast`] adds destinations to it.
    #[inline]
    pub(super) fn begin_multicast(&mut self) {
        self.multicasts += 1;
    }

    /// Queues `message` for `targets`. Runs of targets in one range, which is what sorted
    /// lists consist of, are copied as a whole.
    #[inline]
    pub(super) fn multicast(&mut self, targets: &[VertexId], message: M) {
        let mut rest = targets;
        while let Some(&first) = rest.first() {
            let range = self.grid.range(first);
            let len = rest.iter().take_while(|&&t| self.grid.range(t) == range).count();
            let (run, tail) = rest.split_at(len);
            rest = tail;
            if let Some(bad) = run.iter().find(|&&t| t as usize >= self.grid.vertices()) {
                return self.unknown(*bad);
            }
            if let Some(bundle) = self.bundles.get_mut(self.grid.partition(first)) {
                self.queued += bundle.multi(run, message, self.multicasts);
            }
        }
    }

    /// Notes that a callback named a vertex that there is not.
    #[cold]
    pub(super) fn unknown(&mut self, vertex: VertexId) {
        self.fault.get_or_insert(Error::UnknownVertex { id: vertex.to_string() });
    }

    /// Counts an activation.
    #[inline]
    pub(super) fn count_activation(&mut self) {
        self.activated += 1;
    }

    /// Bytes queued since the last call.
    pub(super) fn take_queued(&mut self) -> usize {
        std::mem::take(&mut self.queued)
    }

    /// First activations since the last call.
    pub(super) fn take_activated(&mut self) -> u64 {
        std::mem::take(&mut self.activated)
    }

    /// The bundles, one for each partition.
    pub(super) fn bundles_mut(&mut self) -> &mut [Bundle<M>] {
        &mut self.bundles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(outbox: &mut Outbox<u64>) -> Vec<(usize, VertexId, u64)> {
        let mut all = Vec::new();
        for (p, bundle) in outbox.bundles_mut().iter_mut().enumerate() {
            bundle.drain(0, |to, m| all.push((p, to, *m)));
            assert_eq!((bundle.is_empty(), bundle.len()), (true, 0));
        }
        all.sort_unstable();
        all
    }

    /// Seen red with a share of the memory for each list.
    #[test]
    fn a_bundle_keeps_what_it_may_in_all() {
        let mut bundle = Bundle::default();
        for to in 0..500 {
            bundle.single(to, 1_u64);
            bundle.multi(&[to; 4], 2, to.into());
        }
        bundle.drain(4000, |_, _| {});
        let Bundle { singles, packets, targets, .. } = &bundle;
        let bytes = 16 * (singles.capacity() + packets.capacity()) + 4 * targets.capacity();
        assert!((3000..=4000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn messages_go_to_their_partitions() {
        let grid = Grid::new(1024, 2, 64, Some(6));
        let mut outbox = Outbox::new(grid);
        let plain = None::<fn(&mut u64, &u64)>;
        outbox.send(3, 7, plain);
        let targets: Vec<u32> = (0..1024).step_by(3).collect();
        for (k, part) in targets.chunks(100).enumerate() {
            if k % 2 == 0 {
                outbox.begin_multicast();
            }
            outbox.multicast(part, 1000 + k as u64 / 2);
        }
        // A message of its own, targets, and packets: two multicasts, in each of the
        // partitions that they reach.
        let packets: usize = outbox.bundles.iter().map(|b| b.packets.len()).sum();
        assert_eq!(outbox.take_queued(), 16 + 4 * targets.len() + 16 * packets);
        let mut expected: Vec<_> = targets
            .iter()
            .enumerate()
            .map(|(i, &t)| (grid.partition(t), t, 1000 + i as u64 / 200))
            .collect();
        expected.push((grid.partition(3), 3, 7));
        expected.sort_unstable();
        assert_eq!(contents(&mut outbox), expected);
        outbox.send(1024, 0, plain);
        assert!(matches!(outbox.fault, Some(Error::UnknownVertex { .. })));
    }

    #[test]
    fn equal_destinations_combine() {
        let grid = Grid::new(100_000, 1, 64, None);
        let mut outbox = Outbox::new(grid);
        for round in 0..10u64 {
            for to in 0..1000u32 {
                outbox.send(to * 7, round, Some(|m: &mut u64, l: &u64| *m += l));
            }
        }
        assert!(outbox.take_queued() < 16 * 5000, "most messages found their predecessor");
        let mut sums = std::collections::BTreeMap::new();
        for (_, to, m) in contents(&mut outbox) {
            *sums.entry(to).or_insert(0) += m;
        }
        assert_eq!(sums.len(), 1000);
        assert!(sums.values().all(|&s| s == 45));
    }
}
