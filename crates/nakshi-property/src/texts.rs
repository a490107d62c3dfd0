//! Byte strings one after another, plain or compressed by FSST.
//!
//! FSST (Boncz, Neumann, Leis, VLDB 2020) replaces up to eight bytes by a code of one byte, and
//! decodes each string alone. Code 255 stands before a byte that no symbol begins with.

use fsst::Compressor;
use nakshi_io::CancelToken;
use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::elias_fano::EliasFano;
use nakshi_store::Result;

/// Escape code: the next byte stands for itself.
const ESCAPE: u8 = 255;
/// Bytes of the strings from which a symbol table is trained.
const SAMPLE: usize = 1 << 20;
/// Strings between two checks of the cancel token.
const CANCEL_INTERVAL: usize = 1 << 12;
/// Neighbouring strings in each piece of the sample, which comes from all parts of the strings.
const RUN: usize = 16;

/// Location of the strings in a [`Blob`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Texts {
    /// Offset of each string from `at` on, and the end of the last.
    offsets: EliasFano,
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    symbols: Option<SymbolTable>,
}

/// Location of a symbol table: the lengths of the symbols, one byte each, then the symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SymbolTable {
    at: u64,
    count: u8,
}

/// A symbol table in memory: the symbols, with the first byte in the lowest, and their lengths.
#[derive(Debug)]
pub(super) struct Symbols {
    bytes: [u64; 256],
    lengths: [u8; 256],
}

impl Texts {
    /// Appends `strings`, compressed by symbols if that takes fewer bytes. Checks `cancel` at
    /// times.
    pub(super) fn write(
        strings: &[&[u8]],
        cancel: &CancelToken,
        out: &mut Vec<u8>,
    ) -> Result<Texts> {
        let plain: usize = strings.iter().map(|s| s.len()).sum();
        let mut symbols = None;
        if plain > 0 {
            let compressor = Compressor::train(&sample(strings));
            let (mut coded, mut offsets) = (Vec::with_capacity(plain / 2), vec![0]);
            for some in strings.chunks(CANCEL_INTERVAL) {
                cancel.check()?;
                for string in some {
                    coded.extend_from_slice(&compressor.compress(string));
                    offsets.push(coded.len() as u64);
                }
            }
            let lengths = compressor.symbol_lengths();
            if coded.len() + 9 * lengths.len() < plain {
                // At most 255.
                let table = SymbolTable { at: out.len() as u64, count: lengths.len() as u8 };
                out.extend_from_slice(lengths);
                for (symbol, length) in compressor.symbol_table().iter().zip(lengths) {
                    let bytes = symbol.to_u64().to_le_bytes();
                    out.extend_from_slice(bytes.get(..usize::from(*length)).unwrap_or_default());
                }
                symbols = Some((table, coded, offsets));
            }
        }
        if let Some((table, coded, offsets)) = symbols {
            let at = out.len() as u64;
            out.extend_from_slice(&coded);
            drop(coded);
            let offsets = EliasFano::write(&offsets, out);
            return Ok(Texts { offsets, at, symbols: Some(table) });
        }
        let (at, mut offsets) = (out.len() as u64, vec![0]);
        for string in strings {
            out.extend_from_slice(string);
            offsets.push(out.len() as u64 - at);
        }
        Ok(Texts { offsets: EliasFano::write(&offsets, out), at, symbols: None })
    }

    pub(super) fn len(&self) -> u64 {
        self.offsets.len().saturating_sub(1)
    }

    /// The same strings in a file into which these bytes were copied at `base`.
    pub(super) fn moved(self, base: u64) -> Self {
        let symbols = self.symbols.map(|table| SymbolTable { at: table.at + base, ..table });
        Texts { offsets: self.offsets.moved(base), at: self.at + base, symbols }
    }

    /// Reads the symbol table, which the caller keeps as long as it reads strings.
    pub(super) fn symbols(&self, blob: &Blob) -> Result<Option<Box<Symbols>>> {
        let Some(table) = self.symbols else { return Ok(None) };
        let mut symbols = Symbols { bytes: [0; 256], lengths: [0; 256] };
        let mut at = table.at as usize;
        let lengths = blob.with(at, at + usize::from(table.count), <[u8]>::to_vec)?;
        at += lengths.len();
        for (i, length) in lengths.into_iter().enumerate() {
            if !(1..=8).contains(&length) {
                return Err(blob.damaged(at, "a symbol has no byte or more than eight"));
            }
            let end = at + usize::from(length);
            let mut bytes = [0; 8];
            blob.with(at, end, |found| {
                bytes.iter_mut().zip(found).for_each(|(to, from)| *to = *from);
            })?;
            if let (Some(to), Some(len)) = (symbols.bytes.get_mut(i), symbols.lengths.get_mut(i)) {
                *to = u64::from_le_bytes(bytes);
                *len = length;
            }
            at = end;
        }
        Ok(Some(Box::new(symbols)))
    }

    /// Appends string `i` to `out`; `symbols` comes from [`Texts::symbols`].
    pub(super) fn get(
        &self,
        blob: &Blob,
        symbols: Option<&Symbols>,
        i: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (from, to) = self.offsets.pair(blob, i)?;
        blob.with((self.at + from) as usize, (self.at + to) as usize, |bytes| match symbols {
            None => out.extend_from_slice(bytes),
            Some(symbols) => symbols.decode(bytes, out),
        })
    }

    /// The number of `string` among distinct strings in ascending order.
    pub(super) fn find(
        &self,
        blob: &Blob,
        symbols: Option<&Symbols>,
        string: &[u8],
    ) -> Result<Option<u64>> {
        let (mut low, mut high) = (0, self.len());
        let mut found = Vec::new();
        while low < high {
            let middle = low + (high - low) / 2;
            found.clear();
            self.get(blob, symbols, middle, &mut found)?;
            match found.as_slice().cmp(string) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
}

/// All strings, decoded.
#[derive(Debug)]
pub(super) struct DecodedStrings {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl DecodedStrings {
    /// Decodes the strings; `None` if they take more than `limit` bytes.
    pub(super) fn of(
        texts: &Texts,
        blob: &Blob,
        symbols: Option<&Symbols>,
        limit: usize,
    ) -> Result<Option<Self>> {
        let mut decoded = DecodedStrings { bytes: Vec::new(), ends: vec![0] };
        for i in 0..texts.len() {
            texts.get(blob, symbols, i, &mut decoded.bytes)?;
            if decoded.bytes.len() + 4 * decoded.ends.len() > limit {
                return Ok(None);
            }
            // At most `limit`.
            decoded.ends.push(decoded.bytes.len() as u32);
        }
        Ok(Some(decoded))
    }

    /// String `i`.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&[u8]> {
        let from = *self.ends.get(i)? as usize;
        self.bytes.get(from..*self.ends.get(i + 1)? as usize)
    }

    /// The number of `string` among distinct strings in ascending order.
    pub(super) fn find(&self, string: &[u8]) -> Option<u64> {
        let (mut low, mut high) = (0, self.ends.len() - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle)?.cmp(string) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle as u64),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

impl Symbols {
    /// Appends the bytes that `codes` stand for.
    #[inline]
    fn decode(&self, codes: &[u8], out: &mut Vec<u8>) {
        out.reserve(8 * codes.len() + 8);
        let mut codes = codes.iter();
        while let Some(&code) = codes.next() {
            if code == ESCAPE {
                out.extend(codes.next());
                continue;
            }
            let index = usize::from(code);
            let (Some(bytes), Some(&length)) = (self.bytes.get(index), self.lengths.get(index))
            else {
                continue;
            };
            let end = out.len() + usize::from(length);
            out.extend_from_slice(&bytes.to_le_bytes());
            out.truncate(end);
        }
    }
}

/// A sample of about [`SAMPLE`] bytes of `strings`, in runs from all parts of them.
fn sample<'s>(strings: &[&'s [u8]]) -> Vec<&'s [u8]> {
    let bytes: usize = strings.iter().map(|s| s.len()).sum();
    let every = bytes.div_ceil(SAMPLE).max(1);
    strings.chunks(RUN).step_by(every).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strings() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let words = prop_oneof!["(lorem |ipsum |dolor ){0,8}", ".{0,20}"];
        let bytes = prop::collection::vec(any::<u8>(), 0..20);
        prop::collection::vec(prop_oneof![words.prop_map(String::into_bytes), bytes], 0..200)
    }

    proptest! {
        #[test]
        fn strings_survive(strings in strings(), before in 0..9usize) {
            let plain: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            let mut bytes = Vec::new();
            let texts = Texts::write(&plain, &CancelToken::new(), &mut bytes).unwrap().moved(before as u64);
            let blob = Blob::of(&[vec![7; before], bytes].concat()).unwrap();
            let symbols = texts.symbols(&blob).unwrap();
            prop_assert_eq!(texts.len(), strings.len() as u64);
            for (i, string) in (0..).zip(&strings) {
                let mut found = Vec::new();
                texts.get(&blob, symbols.as_deref(), i, &mut found).unwrap();
                prop_assert_eq!(&found, string);
            }
            prop_assert!(texts.get(&blob, symbols.as_deref(), strings.len() as u64, &mut Vec::new()).is_err());
        }

        #[test]
        fn strings_are_found(strings in prop::collection::btree_set("[a-d]{0,4}", 0..100), other in "[a-d]{0,5}") {
            let plain: Vec<&[u8]> = strings.iter().map(|s| s.as_bytes()).collect();
            let mut bytes = Vec::new();
            let texts = Texts::write(&plain, &CancelToken::new(), &mut bytes).unwrap();
            let blob = Blob::of(&bytes).unwrap();
            let symbols = texts.symbols(&blob).unwrap();
            for (i, string) in (0..).zip(&plain) {
                prop_assert_eq!(texts.find(&blob, symbols.as_deref(), string).unwrap(), Some(i));
            }
            let found = texts.find(&blob, symbols.as_deref(), other.as_bytes()).unwrap();
            prop_assert_eq!(found.is_some(), strings.contains(&other));
        }
    }

    /// Seen red with escaped bytes left out.
    #[test]
    fn bytes_without_a_symbol_are_escaped() {
        let word = |i: u64| format!("{:06x}", nakshi_store::layout::mix(i % 3000) & 0xff_ffff);
        let line = |i: u64| [word(i), word(i * 7 + 1), word(i * 13 + 5)].join(" ").into_bytes();
        let words = (0..20_000).map(line);
        let strings: Vec<Vec<u8>> = words.chain((0..=255u8).map(|byte| vec![byte, byte])).collect();
        let plain: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
        let mut bytes = Vec::new();
        let texts = Texts::write(&plain, &CancelToken::new(), &mut bytes).unwrap();
        let blob = Blob::of(&bytes).unwrap();
        let symbols = texts.symbols(&blob).unwrap();
        let (from, to) = texts.offsets.pair(&blob, 20_000 + 200).unwrap();
        let codes = blob.slice((texts.at + from) as usize, (texts.at + to) as usize).unwrap();
        assert_eq!(codes, [ESCAPE, 200, ESCAPE, 200]);
        for (i, string) in (0..).zip(&strings) {
            let mut found = Vec::new();
            texts.get(&blob, symbols.as_deref(), i, &mut found).unwrap();
            assert_eq!(&found, string);
        }
    }

    #[test]
    fn words_that_repeat_take_less() {
        let strings: Vec<String> = (0..2000).map(|i| format!("the quick brown fox {i}")).collect();
        let plain: Vec<&[u8]> = strings.iter().map(|s| s.as_bytes()).collect();
        let mut bytes = Vec::new();
        let texts = Texts::write(&plain, &CancelToken::new(), &mut bytes).unwrap();
        assert!(texts.symbols.is_some());
        let raw: usize = plain.iter().map(|s| s.len()).sum();
        assert!(bytes.len() * 2 < raw, "{} of {raw}", bytes.len());
    }
}
