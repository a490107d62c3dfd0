//! Strings as one text that Succinct compresses, in which substrings are found without an index.
//! ZipG stores all properties like this.
//!
//! A byte 0 stands before each string, and one behind the last, so that a search finds whole
//! strings too. Strings may contain that byte themselves: every hit is compared with the boundaries
//! of its string.

use memchr::memmem::Finder;
use nakshi_io::CancelToken;
use nakshi_succinct::{Options, Succinct};

use super::blob::Blob;
use super::compressed_text::{TextExtent, compress, wrong};
use super::elias_fano::EliasFano;
use nakshi_store::{Error, Result};

/// Mark between strings.
const MARK: u8 = 0;
/// Bytes of a text that a scan reads at once.
const PIECE: u64 = 64 << 10;

/// Appends `strings`; returns the location of their text, and the offset of every mark in it.
pub(super) fn write(
    strings: &[&[u8]],
    cancel: &CancelToken,
    out: &mut Vec<u8>,
) -> Result<(TextExtent, EliasFano)> {
    let bytes: usize = strings.iter().map(|string| string.len() + 1).sum();
    let (mut text, mut marks) = (Vec::with_capacity(bytes + 1), vec![0]);
    text.push(MARK);
    for string in strings {
        text.extend_from_slice(string);
        marks.push(text.len() as u64);
        text.push(MARK);
    }
    let marks = EliasFano::write(&marks, out);
    let compressed = compress(text, Options::default(), cancel)?;
    let text = TextExtent::of(out.len() as u64, &compressed);
    out.extend_from_slice(&compressed);
    Ok((text, marks))
}

/// Copies a compressed text, because its queries need it in one piece.
fn in_memory(blob: &Blob, text: TextExtent) -> Result<Vec<u8>> {
    let from = text.at as usize;
    blob.with(from, from.saturating_add(text.len as usize), <[u8]>::to_vec)
}

/// Reader of the strings.
#[derive(Debug)]
pub(super) struct Searchable {
    at: usize,
    marks: EliasFano,
    text: Succinct<Vec<u8>>,
}

impl Searchable {
    pub(super) fn open(blob: &Blob, text: TextExtent, marks: EliasFano) -> Result<Self> {
        let at = text.at as usize;
        let text = Succinct::open_lazily(in_memory(blob, text)?);
        let text = text.map_err(|error| wrong(blob, at, &error))?;
        if marks.len() == 0 || marks.len() > text.len() {
            return Err(blob.damaged(at, "a text has more strings than bytes"));
        }
        Ok(Searchable { at, marks, text })
    }

    /// Appends string `i` to `out`.
    pub(super) fn get(&self, blob: &Blob, i: u64, out: &mut Vec<u8>) -> Result<()> {
        let (mark, next) = self.marks.pair(blob, i)?;
        if next <= mark || next >= self.text.len() {
            return Err(blob.damaged(self.at, "a string is not where its text has it"));
        }
        self.extract(blob, mark + 1, next - mark - 1, out)
    }

    /// Appends bytes of the text.
    fn extract(&self, blob: &Blob, from: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        let extracted = self.text.extract(from, len as usize, out);
        extracted.map_err(|error| wrong(blob, self.at, &error))
    }

    fn told(&self, blob: &Blob) -> impl Fn(nakshi_succinct::Error) -> Error {
        move |error| wrong(blob, self.at, &error)
    }

    /// Number of occurrences of a pattern in the text.
    pub(super) fn count(&self, blob: &Blob, pattern: &[u8]) -> Result<u64> {
        self.text.count(pattern).map_err(self.told(blob))
    }

    /// Numbers of the strings that equal `string`, ascending.
    pub(super) fn equal(&self, blob: &Blob, string: &[u8]) -> Result<Vec<u64>> {
        let pattern = [&[MARK], string, &[MARK]].concat();
        let mut found = Vec::new();
        for offset in self.text.search(&pattern).map_err(self.told(blob))? {
            let (i, mark, next) = self.around(blob, offset)?;
            if mark == offset && next - mark == string.len() as u64 + 1 {
                found.push(i);
            }
        }
        Ok(found)
    }

    /// Numbers of the strings that contain a pattern, ascending.
    pub(super) fn containing(&self, blob: &Blob, pattern: &[u8]) -> Result<Vec<u64>> {
        if pattern.is_empty() {
            return Ok((0..self.marks.len().saturating_sub(1)).collect());
        }
        // On average, a hit is `steps` steps away from a sample of the suffix array, and reading
        // that many bytes of the text takes the same time.
        let steps = u64::from(self.text.options().sa_rate / 2);
        if self.count(blob, pattern)?.saturating_mul(steps) > self.text.len() {
            return self.scan(blob, pattern);
        }
        let mut hits = Hits::of(pattern);
        for offset in self.text.search(pattern).map_err(self.told(blob))? {
            hits.see(self, blob, offset)?;
        }
        Ok(hits.strings)
    }

    /// As [`Searchable::containing`], by a scan of the whole text.
    fn scan(&self, blob: &Blob, pattern: &[u8]) -> Result<Vec<u64>> {
        let (finder, mut hits) = (Finder::new(pattern), Hits::of(pattern));
        let (mut piece, mut from) = (Vec::new(), 0);
        while from < self.text.len() {
            piece.clear();
            self.extract(blob, from, PIECE + pattern.len() as u64 - 1, &mut piece)?;
            let mut at = hits.until.saturating_sub(from) as usize;
            while let Some(hit) = piece.get(at..).and_then(|rest| finder.find(rest)) {
                hits.see(self, blob, from + (at + hit) as u64)?;
                at = (at + hit + 1).max(hits.until.saturating_sub(from) as usize);
            }
            from += PIECE;
        }
        Ok(hits.strings)
    }

    /// Number of the string that contains an offset, and the marks before and behind it.
    fn around(&self, blob: &Blob, offset: u64) -> Result<(u64, u64, u64)> {
        let i = self.marks.at_most(blob, offset)?.saturating_sub(1);
        // No string follows the last mark.
        if i + 1 >= self.marks.len() {
            return Ok((i, offset, offset));
        }
        let (mark, next) = self.marks.pair(blob, i)?;
        Ok((i, mark, next.max(mark)))
    }

    /// Reports damage of the text and of its marks.
    pub(super) fn verify(&self, blob: &Blob, told: &mut dyn FnMut(&str)) -> Result<()> {
        if let Err(error) = Succinct::open(self.text.as_bytes()) {
            told(&error.to_string());
            return Ok(());
        }
        let (mut piece, mut from, mut least) = (Vec::new(), 0, 0);
        for mark in self.marks.from(blob, 0)? {
            let mark = mark?;
            if mark < least || mark >= self.text.len() {
                told("its strings do not follow each other in its text");
                return Ok(());
            }
            least = mark + 1;
            if mark >= from + piece.len() as u64 {
                from = mark;
                piece.clear();
                self.extract(blob, from, PIECE, &mut piece)?;
            }
            if piece.get((mark - from) as usize) != Some(&MARK) {
                told("a string does not begin where its text has a mark");
                return Ok(());
            }
        }
        if least != self.text.len() {
            told("its text ends elsewhere than its strings");
        }
        Ok(())
    }
}

/// Collects the strings that contain a pattern, from its offsets in ascending order.
struct Hits {
    /// Length of the pattern.
    len: u64,
    strings: Vec<u64>,
    /// End of the last string that was found.
    until: u64,
}

impl Hits {
    fn of(pattern: &[u8]) -> Self {
        Hits { len: pattern.len() as u64, strings: Vec::new(), until: 0 }
    }

    fn see(&mut self, text: &Searchable, blob: &Blob, offset: u64) -> Result<()> {
        if offset >= self.until {
            let (i, mark, next) = text.around(blob, offset)?;
            if mark < offset && offset + self.len <= next {
                self.strings.push(i);
                self.until = next;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Strings that fill more than one piece of text, in which a word is rare and a letter
    /// frequent.
    fn strings() -> Vec<Vec<u8>> {
        let string = |i: u64| {
            let letter = |k: u64| b"ab\0z"[(nakshi_store::layout::mix(i * 1000 + k) % 4) as usize];
            let mut string: Vec<u8> = (0..i % 700).map(letter).collect();
            if i.is_multiple_of(97) {
                string.extend_from_slice(b"needle");
            }
            string
        };
        (0..900).map(string).collect()
    }

    fn written(strings: &[Vec<u8>]) -> (Blob, TextExtent, EliasFano) {
        let plain: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
        let mut bytes = vec![7; 3];
        let (text, marks) = write(&plain, &CancelToken::new(), &mut bytes).unwrap();
        (Blob::of(&bytes).unwrap(), text, marks)
    }

    /// Seen red with pieces that do not overlap, with hits that may not overlap, with hits that
    /// span two strings or contain a mark, and with a string of which only the first hit counts.
    #[test]
    fn a_search_and_a_scan_find_the_same() {
        let strings = strings();
        let (blob, text, marks) = written(&strings);
        let opened = Searchable::open(&blob, text, marks).unwrap();
        assert!(opened.text.len() > 3 * PIECE);
        let long = &strings[599][..300];
        let joined = [&[MARK], strings.join(&MARK).as_slice()].concat();
        let around = |offset: u64| &joined[offset as usize - 8..offset as usize + 8];
        let (first, second) = (around(PIECE), around(2 * PIECE));
        let patterns = [
            b"a",
            &b"ab"[..],
            b"needle",
            b"dle",
            b"\0",
            b"\0\0",
            b"zz\0a",
            b"none",
            long,
            first,
            second,
        ];
        for pattern in patterns {
            let has = |string: &Vec<u8>| string.windows(pattern.len()).any(|part| part == pattern);
            let expected: Vec<u64> =
                (0..).zip(&strings).filter(|(_, string)| has(string)).map(|(i, _)| i).collect();
            assert_eq!(opened.scan(&blob, pattern).unwrap(), expected);
            assert_eq!(opened.containing(&blob, pattern).unwrap(), expected);
            let mut hits = Hits::of(pattern);
            for offset in opened.text.search(pattern).unwrap() {
                hits.see(&opened, &blob, offset).unwrap();
            }
            assert_eq!(hits.strings, expected);
        }
    }

    /// Seen red without the comparison of every mark.
    #[test]
    fn what_is_wrong_with_a_text_is_told() {
        let (blob, text, marks) = written(&strings());
        let problems = |text: TextExtent, marks: EliasFano| {
            let mut problems = Vec::new();
            let opened = Searchable::open(&blob, text, marks).unwrap();
            opened.verify(&blob, &mut |what| problems.push(what.to_owned())).unwrap();
            problems
        };
        assert_eq!(problems(text, marks), Vec::<String>::new());
        let at = |marks: &[u64]| {
            let mut bytes = Vec::new();
            let marks = EliasFano::write(marks, &mut bytes);
            let blob = Blob::of(&bytes).unwrap();
            let mut problems = Vec::new();
            let plain = write(&[b"one", b"", b"three"], &CancelToken::new(), &mut bytes).unwrap().0;
            let whole = Blob::of(&bytes).unwrap();
            let opened = Searchable::open(&whole, plain, marks).unwrap();
            opened.verify(&blob, &mut |what| problems.push(what.to_owned())).unwrap();
            problems.join(", ")
        };
        assert_eq!(at(&[0, 4, 5, 11]), "");
        assert!(at(&[0, 4, 4, 11]).contains("follow each other"));
        assert!(at(&[0, 4, 5, 12]).contains("follow each other"));
        assert!(at(&[0, 4, 6, 11]).contains("mark"));
        assert!(at(&[0, 4, 5]).contains("ends elsewhere"));
        let mut bytes = in_memory(&blob, text).unwrap();
        let from = bytes.len() - 512;
        bytes[from..].fill(0xff);
        let broken = Blob::of(&bytes).unwrap();
        let extent = TextExtent::of(0, &bytes);
        let opened = Searchable::open(&broken, extent, marks).unwrap();
        let mut told = Vec::new();
        opened.verify(&blob, &mut |what| told.push(what.to_owned())).unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
    }

    proptest! {
        /// Bytes that were flipped after their checksums were verified give errors or other
        /// strings, never a panic.
        #[test]
        fn damage_does_not_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..4)) {
            let strings: Vec<Vec<u8>> = strings().into_iter().take(40).collect();
            let plain: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            let mut bytes = Vec::new();
            let (text, marks) = write(&plain, &CancelToken::new(), &mut bytes).unwrap();
            for (at, flip) in flips {
                let at = at.index(bytes.len());
                bytes[at] ^= flip;
            }
            let blob = Blob::of(&bytes).unwrap();
            let Ok(opened) = Searchable::open(&blob, text, marks) else { return Ok(()) };
            for (i, string) in (0..).zip(&strings) {
                let _ = opened.get(&blob, i, &mut Vec::new());
                let _ = (opened.equal(&blob, string), opened.containing(&blob, &string[string.len() / 2..]));
            }
            let _ = (opened.scan(&blob, b"ab"), opened.verify(&blob, &mut |_| {}));
        }
    }

    /// Seen red with a cancel token that is never checked.
    #[test]
    fn writing_can_be_cancelled() {
        let cancel = CancelToken::new();
        cancel.cancel();
        let written = write(&[b"text"], &cancel, &mut Vec::new());
        assert!(matches!(written, Err(Error::Cancelled)));
    }
}
