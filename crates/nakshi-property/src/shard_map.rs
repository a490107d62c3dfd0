//! The shard of each node, and its row there.
//!
//! The nodes of a store are dealt to its shards by a hash of their ids. A node keeps its shard when
//! the vertex order changes, and a reader that knows nothing but an id knows the shard of its node.
//! Inside a shard, rows follow the vertex order. A *shard map* has the shard of each node, a few bits
//! for each, in blocks that begin with the number of nodes of each shard before the block. The row
//! of a node is that number and the nodes of the same shard between the begin of the block and it.
//!
//! A block holds the numbers of shards bit by bit: first the lowest bits of all its nodes, then the
//! second lowest, so that 64 nodes are compared at once.

use nakshi_store::{Error, Result, Sink, VertexId, mix};

/// Largest number of shards of a store.
pub(super) const MOST_SHARDS: u32 = 1024;

/// Words of a plane of a block; more for more shards, whose counts would take most of the block.
const WORDS: usize = 4;

/// The basis and the prime of FNV-1a with 64 bits.
const FNV: (u64, u64) = (0xcbf2_9ce4_8422_2325, 0x100_0000_01b3);

/// Bytes of a map that are written at once.
const PIECE: usize = 1 << 16;

/// Words of a map between two rows from which a search of blocks is less work than counting on.
const FAR: u64 = 8;

/// The shard of the node with an id, given as the bytes of its text.
pub(super) fn shard_of(id: &[u8], shards: u32) -> u32 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(FNV.1);
    // Less than `shards`.
    (mix(id.iter().fold(FNV.0, step)) % u64::from(shards.max(1))) as u32
}

/// The shards of a store, and how its nodes are dealt to them.
#[derive(Debug)]
pub(super) enum Dealing {
    /// Node `v` is row `v / n` of shard `v % n`: one shard, or a store of an older version.
    Modulo(u32),
    Hash(ShardMap),
}

impl Dealing {
    /// The number of the shard of a node.
    #[inline]
    pub(super) fn shard(&self, v: VertexId) -> usize {
        match self {
            Dealing::Modulo(1) => 0,
            Dealing::Modulo(shards) => (v % shards) as usize,
            Dealing::Hash(map) => map.shard(v),
        }
    }

    /// The number of the shard of a node, and its row there.
    #[inline]
    pub(super) fn place(&self, v: VertexId) -> (usize, u64) {
        match self {
            Dealing::Modulo(1) => (0, u64::from(v)),
            Dealing::Modulo(shards) => ((v % shards) as usize, u64::from(v / shards)),
            Dealing::Hash(map) => map.place(v),
        }
    }

    /// Replaces ascending rows of a shard by their nodes, which ascend too; false if a row is not
    /// there.
    pub(super) fn name_nodes(&self, shard: usize, rows: &mut [u64]) -> bool {
        match self {
            Dealing::Modulo(1) => true,
            Dealing::Modulo(shards) => {
                let of = |row: &mut u64| *row = *row * u64::from(*shards) + shard as u64;
                rows.iter_mut().for_each(of);
                true
            }
            Dealing::Hash(map) => {
                let mut members = Members::new(map, shard);
                rows.iter_mut().all(|row| members.node(*row).map(|v| *row = v).is_some())
            }
        }
    }

    /// The node of a row of a shard.
    pub(super) fn node(&self, shard: usize, row: u64) -> Option<u64> {
        let mut one = [row];
        self.name_nodes(shard, &mut one).then_some(one[0])
    }

    /// Number of nodes of a shard, of `nodes` in all.
    pub(super) fn members(&self, shard: usize, nodes: u64) -> u64 {
        match self {
            Dealing::Modulo(shards) => {
                let shards = u64::from(*shards);
                (nodes + shards - 1 - shard as u64) / shards
            }
            Dealing::Hash(map) => map.rank(map.nodes, shard),
        }
    }
}

/// Sizes of the parts of a map, in words of 64 bits.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Bits of the number of a shard.
    planes: usize,
    /// Words of a plane in a block: a power of two.
    words: usize,
    /// Words of the counts, two in each.
    counts: usize,
}

impl Shape {
    fn of(shards: u32) -> Self {
        let planes = (u32::BITS - shards.saturating_sub(1).leading_zeros()).max(1);
        let words = WORDS.max((shards as usize / 4).next_power_of_two());
        Shape { planes: planes as usize, words, counts: shards.div_ceil(2) as usize }
    }

    /// Words of a block.
    fn block(&self) -> usize {
        self.counts + self.planes * self.words
    }

    /// Number of blocks for so many nodes.
    fn blocks(&self, nodes: u64) -> u64 {
        nodes.div_ceil(64 * self.words as u64)
    }
}

/// The shards of all nodes, in memory as in the file.
#[derive(Debug)]
pub(super) struct ShardMap {
    shape: Shape,
    shards: u32,
    nodes: u64,
    words: Vec<u64>,
}

impl ShardMap {
    /// Bytes of the map of so many nodes.
    pub(super) fn bytes(shards: u32, nodes: u64) -> u64 {
        let shape = Shape::of(shards);
        8 * shape.block() as u64 * shape.blocks(nodes)
    }

    /// A map in which all nodes are in shard 0, without counts.
    ///
    /// # Errors
    /// [`Error::Budget`] if the system cannot provide the memory.
    pub(super) fn new(shards: u32, nodes: u64) -> Result<Self> {
        let needed = Self::bytes(shards, nodes);
        let len = usize::try_from(needed / 8).unwrap_or(usize::MAX);
        let mut words = Vec::new();
        words.try_reserve_exact(len).map_err(|_| Error::Budget { needed, given: 0 })?;
        words.resize(len, 0);
        Ok(ShardMap { shape: Shape::of(shards), shards, nodes, words })
    }

    /// Reads a map; `None` if the bytes are fewer or more than such a map has.
    ///
    /// # Errors
    /// As [`ShardMap::new`].
    pub(super) fn parse(bytes: &[u8], shards: u32, nodes: u64) -> Result<Option<Self>> {
        if bytes.len() as u64 != Self::bytes(shards, nodes) {
            return Ok(None);
        }
        let mut map = Self::new(shards, nodes)?;
        for (to, from) in map.words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *to = u64::from_le_bytes(*from);
        }
        Ok(Some(map))
    }

    /// Puts a node into a shard; it must be in shard 0. [`ShardMap::count`] comes after the last node.
    pub(super) fn deal(&mut self, v: VertexId, shard: u32) {
        let (begin, word, bit) = self.position(v.into());
        for plane in (0..self.shape.planes).filter(|plane| shard >> plane & 1 == 1) {
            let at = begin + self.shape.counts + plane * self.shape.words + word;
            if let Some(word) = self.words.get_mut(at) {
                *word |= 1 << bit;
            }
        }
    }

    /// Writes the counts of all blocks.
    pub(super) fn count(&mut self) {
        let mut counts = vec![0_u32; self.shards as usize];
        let Shape { counts: head, words, .. } = self.shape;
        for begin in (0..self.words.len()).step_by(self.shape.block()) {
            let pairs = counts.chunks(2).map(|pair| {
                let high = pair.get(1).copied().unwrap_or(0);
                u64::from(pair.first().copied().unwrap_or(0)) | u64::from(high) << 32
            });
            let slots = self.words.get_mut(begin..begin + head).unwrap_or_default();
            slots.iter_mut().zip(pairs).for_each(|(slot, pair)| *slot = pair);
            let planes = self.words.get(begin + head..begin + self.shape.block());
            for (shard, count) in counts.iter_mut().enumerate() {
                let of = |word| members(planes.unwrap_or_default(), words, word, shard);
                *count += (0..words).map(|word| of(word).count_ones()).sum::<u32>();
            }
        }
    }

    /// Appends the map to a file.
    ///
    /// # Errors
    /// Errors of writing.
    pub(super) fn write(&self, sink: &mut Sink) -> Result<()> {
        for words in self.words.chunks(PIECE / 8) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            sink.append(&bytes)?;
        }
        Ok(())
    }

    /// What is wrong with the counts of the map, or behind its last node.
    pub(super) fn flaw(&self) -> Result<Option<&'static str>> {
        let mut counted = Self::new(self.shards, self.nodes)?;
        counted.words.clone_from(&self.words);
        counted.count();
        if counted.words != self.words {
            return Ok(Some("the shard map has wrong counts"));
        }
        let behind = self.nodes..self.shape.blocks(self.nodes) * 64 * self.shape.words as u64;
        let mut behind = behind.map(|v| self.shard_at(v));
        Ok(behind.any(|shard| shard != 0).then_some("the shard map has nodes behind the last"))
    }

    /// First word of the block of a node, word in a plane, and bit of the word.
    #[inline]
    fn position(&self, v: u64) -> (usize, usize, u32) {
        // A map has fewer words than fit in memory, and `words` is a power of two.
        let word = (v / 64) as usize;
        let block = word >> self.shape.words.trailing_zeros();
        (block * self.shape.block(), word & (self.shape.words - 1), (v % 64) as u32)
    }

    #[inline]
    fn block_at(&self, begin: usize) -> (&[u64], &[u64]) {
        let block = self.words.get(begin..begin + self.shape.block()).unwrap_or_default();
        block.split_at_checked(self.shape.counts).unwrap_or_default()
    }

    #[inline]
    fn shard(&self, v: VertexId) -> usize {
        self.shard_at(v.into())
    }

    #[inline]
    fn shard_at(&self, v: u64) -> usize {
        let (begin, word, bit) = self.position(v);
        number(self.block_at(begin).1, self.shape.words, word, bit)
    }

    #[inline]
    fn place(&self, v: VertexId) -> (usize, u64) {
        let (begin, word, bit) = self.position(v.into());
        let (counts, planes) = self.block_at(begin);
        if let ([pair], plane) = (counts, planes)
            && plane.len() == WORDS
        {
            return place_in_two(*pair, plane, word, bit);
        }
        let shard = number(planes, self.shape.words, word, bit);
        (shard, rank(counts, planes, self.shape.words, (word, bit), shard))
    }

    /// Number of nodes of a shard below `v`.
    fn rank(&self, v: u64, shard: usize) -> u64 {
        let Some(last) = v.checked_sub(1) else { return 0 };
        let (begin, word, bit) = self.position(last);
        let (counts, planes) = self.block_at(begin);
        let own = members(planes, self.shape.words, word, shard) >> bit & 1;
        rank(counts, planes, self.shape.words, (word, bit), shard) + own
    }
}

/// Shard and row of a node in a block of two shards.
#[inline]
fn place_in_two(pair: u64, plane: &[u64], word: usize, bit: u32) -> (usize, u64) {
    let own = plane.get(word).copied().unwrap_or(0);
    let shard = own >> bit & 1;
    // All ones for shard 0.
    let flip = shard.wrapping_sub(1);
    let mut rank = (pair >> (32 * shard) & u64::from(u32::MAX)) as u32;
    rank += ((own ^ flip) & ((1 << bit) - 1)).count_ones();
    for before in plane.iter().take(word) {
        rank += (before ^ flip).count_ones();
    }
    (shard as usize, rank.into())
}

/// The number of the shard of a node.
#[inline]
fn number(planes: &[u64], words: usize, word: usize, bit: u32) -> usize {
    let mut number = 0;
    for (place, plane) in planes.chunks_exact(words).enumerate() {
        let set = plane.get(word).copied().unwrap_or(0) >> bit & 1;
        number |= (set as usize) << place;
    }
    number
}

/// The nodes of a shard among 64, as bits.
#[inline]
fn members(planes: &[u64], words: usize, word: usize, shard: usize) -> u64 {
    let mut all = u64::MAX;
    for (place, plane) in planes.chunks_exact(words).enumerate() {
        let flip = if shard >> place & 1 == 1 { 0 } else { u64::MAX };
        all &= plane.get(word).copied().unwrap_or(0) ^ flip;
    }
    all
}

/// Number of nodes of a shard before a bit of a block, and before the block.
#[inline]
fn rank(
    counts: &[u64],
    planes: &[u64],
    words: usize,
    (word, bit): (usize, u32),
    shard: usize,
) -> u64 {
    let below = members(planes, words, word, shard) & ((1 << bit) - 1);
    let mut rank = before(counts, shard) + u64::from(below.count_ones());
    for word in 0..word {
        rank += u64::from(members(planes, words, word, shard).count_ones());
    }
    rank
}

/// Number of nodes of a shard before a block with these counts.
#[inline]
fn before(counts: &[u64], shard: usize) -> u64 {
    let pair = counts.get(shard / 2).copied().unwrap_or(0);
    pair >> (32 * (shard % 2)) & u64::from(u32::MAX)
}

/// A walk over the nodes of a shard, forwards.
struct Members<'m> {
    map: &'m ShardMap,
    shard: usize,
    /// The word of the walk, counted over all blocks, and its nodes that are not passed.
    word: u64,
    rest: u64,
    /// Row of the first of these nodes.
    row: u64,
    /// Rows that lie further on are searched by blocks.
    far: u64,
}

impl<'m> Members<'m> {
    fn new(map: &'m ShardMap, shard: usize) -> Self {
        let far = FAR * 64 / u64::from(map.shards);
        let mut members = Members { map, shard, word: 0, rest: 0, row: 0, far };
        members.read();
        members
    }

    fn read(&mut self) {
        let (begin, word, _) = self.map.position(self.word * 64);
        let planes = self.map.block_at(begin).1;
        self.rest = if planes.is_empty() {
            0
        } else {
            members(planes, self.map.shape.words, word, self.shard)
        };
    }

    /// The node of a row, which is not below that of the call before; `None` behind the last.
    fn node(&mut self, row: u64) -> Option<u64> {
        let mut ahead = row.checked_sub(self.row)?;
        if ahead > self.far {
            self.jump(row);
            ahead = row.checked_sub(self.row)?;
        }
        while ahead >= u64::from(self.rest.count_ones()) {
            ahead -= u64::from(self.rest.count_ones());
            self.row += u64::from(self.rest.count_ones());
            self.word += 1;
            if self.word * 64 >= self.map.nodes {
                return None;
            }
            self.read();
        }
        for _ in 0..ahead {
            self.rest &= self.rest - 1;
        }
        self.row += ahead;
        let v = self.word * 64 + u64::from(self.rest.trailing_zeros());
        (v < self.map.nodes).then_some(v)
    }

    /// Goes to the last block that begins at a row or before. A hash deals evenly, so that block is
    /// near the place where it would be if the shards took turns.
    fn jump(&mut self, row: u64) {
        let (shape, blocks) = (self.map.shape, self.map.shape.blocks(self.map.nodes));
        let count =
            |number: u64| before(self.map.block_at(number as usize * shape.block()).0, self.shard);
        let guess = row * u64::from(self.map.shards) / (64 * shape.words as u64);
        let (mut low, mut high, mut step) = (guess.min(blocks - 1), guess.min(blocks - 1) + 1, 1);
        while low > 0 && count(low) > row {
            (high, low, step) = (low, low.saturating_sub(step), 2 * step);
        }
        while high < blocks && count(high) <= row {
            (low, high, step) = (high, blocks.min(high + step), 2 * step);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if count(middle) <= row { low = middle } else { high = middle }
        }
        (self.word, self.row) = (low * self.map.shape.words as u64, count(low));
        self.read();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The shard of an id is a promise of the format. The values are those of another program, in
    /// Python, by the description in docs/format.md. Seen red with the multiplication before the
    /// exclusive or, and with the mixing left out.
    #[test]
    fn the_shard_of_an_id_is_fixed() {
        let ids = ["", "0", "1", "42", "-7", "18446744073709551616", "p00", "Person:933", "é"];
        let expected = [
            [1, 0, 5, 155],
            [0, 1, 0, 402],
            [1, 2, 1, 991],
            [0, 0, 5, 770],
            [1, 1, 1, 737],
            [0, 0, 3, 230],
            [1, 1, 3, 599],
            [1, 1, 2, 929],
            [0, 2, 0, 414],
        ];
        for (id, [two, three, seven, many]) in ids.iter().zip(expected) {
            let found = [2, 3, 7, 1024].map(|shards| shard_of(id.as_bytes(), shards));
            assert_eq!(found, [two, three, seven, many], "{id}");
            assert_eq!(shard_of(id.as_bytes(), 1), 0);
        }
    }

    /// Ids that follow each other are dealt evenly: within five standard deviations.
    #[test]
    fn shards_are_about_equal() {
        for shards in [2, 3, 16, 64] {
            let mut counts = vec![0_i64; shards as usize];
            for id in 0..100_000 {
                counts[shard_of(id.to_string().as_bytes(), shards) as usize] += 1;
            }
            let mean = 100_000 / i64::from(shards);
            let most = 5 * mean.isqrt();
            assert!(counts.iter().all(|count| (count - mean).abs() < most), "{counts:?}");
        }
    }

    fn map_of(dealt: &[u32], shards: u32) -> ShardMap {
        let mut map = ShardMap::new(shards, dealt.len() as u64).unwrap();
        (0..).zip(dealt).for_each(|(v, shard)| map.deal(v, *shard));
        map.count();
        map
    }

    proptest! {
        /// Seen red with the counts of the block before, with rows that count the node itself, with
        /// a jump to the block behind, and with the planes of a number in the opposite order.
        #[test]
        fn places_and_nodes_are_those_of_a_list(
            shards in prop_oneof![Just(2u32), 3..9u32, Just(64), Just(1024)],
            seed: u64,
            nodes in prop_oneof![0..200u64, 0..6000u64],
            step in 1..900usize,
        ) {
            let shard = |v: u64| (mix(seed ^ v) % u64::from(shards)) as u32;
            let dealt: Vec<u32> = (0..nodes).map(shard).collect();
            let written = map_of(&dealt, shards);
            let bytes: Vec<u8> = written.words.iter().flat_map(|word| word.to_le_bytes()).collect();
            prop_assert_eq!(bytes.len() as u64, ShardMap::bytes(shards, nodes));
            prop_assert!(ShardMap::parse(&bytes[..bytes.len().saturating_sub(1)], shards, nodes)
                .unwrap().is_none() || bytes.is_empty());
            let map = ShardMap::parse(&bytes, shards, nodes).unwrap().unwrap();
            prop_assert_eq!(map.flaw().unwrap(), None);
            let dealing = Dealing::Hash(map);
            let mut rows = vec![Vec::new(); shards as usize];
            for (v, shard) in (0..).zip(&dealt) {
                let rows = &mut rows[*shard as usize];
                prop_assert_eq!(dealing.shard(v), *shard as usize);
                prop_assert_eq!(dealing.place(v), (*shard as usize, rows.len() as u64));
                rows.push(u64::from(v));
            }
            for (shard, expected) in rows.iter().enumerate() {
                prop_assert_eq!(dealing.members(shard, nodes), expected.len() as u64);
                for step in [1, step] {
                    let mut found: Vec<u64> =
                        (0..expected.len() as u64).step_by(step).collect();
                    prop_assert!(dealing.name_nodes(shard, &mut found));
                    let expected: Vec<u64> = expected.iter().copied().step_by(step).collect();
                    prop_assert_eq!(found, expected);
                }
                prop_assert_eq!(dealing.node(shard, expected.len() as u64), None);
            }
        }

        /// The dealing of older versions.
        #[test]
        fn rows_by_modulo_are_as_before(shards in 1..5u32, nodes in 0..50u64) {
            let dealing = Dealing::Modulo(shards);
            for v in 0..nodes as u32 {
                let place = ((v % shards) as usize, u64::from(v / shards));
                prop_assert_eq!(dealing.place(v), place);
                prop_assert_eq!(dealing.shard(v), place.0);
                prop_assert_eq!(dealing.node(place.0, place.1), Some(u64::from(v)));
            }
            let all: u64 = (0..shards as usize).map(|shard| dealing.members(shard, nodes)).sum();
            prop_assert_eq!(all, nodes);
        }
    }

    /// Seen red with counts that are not compared.
    #[test]
    fn a_map_with_a_wrong_count_or_node_is_flawed() {
        let dealt: Vec<u32> = (0..700).map(|v| v % 3).collect();
        for (word, bit) in [(0, 3), (2 * (2 + 8) + 2 + 3, 60)] {
            let mut map = map_of(&dealt, 3);
            assert_eq!(map.flaw().unwrap(), None);
            map.words[word] ^= 1 << bit;
            assert!(map.flaw().unwrap().is_some());
        }
    }
}
