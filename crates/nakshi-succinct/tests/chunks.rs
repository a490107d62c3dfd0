//! A text in chunks answers as the same text in one piece.

mod hits;

use nakshi_succinct::{Builder, ChunkedText, Error, Options, Psi, Result, Succinct};
use proptest::collection::vec;
use proptest::prelude::*;

const OPTIONS: Options = Options { sa_rate: 4, isa_rate: 4, psi: Psi::Runs, psi_block: 16 };

/// Builds a text from pieces, moving the output away after each.
fn built(text: &[u8], delimiter: Option<u8>, chunk: u64, piece: usize) -> Result<ChunkedText> {
    let mut builder = Builder::of_chunks(OPTIONS, delimiter, chunk)?;
    let (mut file, mut out) = (Vec::new(), Vec::new());
    for piece in text.chunks(piece) {
        builder.push(piece, &mut out)?;
        file.append(&mut out);
    }
    builder.finish(&mut out)?;
    file.append(&mut out);
    ChunkedText::open(file)
}

fn check(text: &[u8], chunked: &ChunkedText, places: &[(f64, usize)]) -> Result<()> {
    let whole = Succinct::build(text, &OPTIONS)?;
    assert_eq!(chunked.len(), whole.len());
    let mut patterns = vec![Vec::new()];
    for &(place, len) in places {
        let from = (place * (text.len() + 3) as f64) as u64;
        let (mut one, mut other) = (Vec::new(), b"x".to_vec());
        whole.extract(from, len, &mut one)?;
        chunked.extract(from, len, &mut other)?;
        assert_eq!(one, &other[1..], "{len} bytes at {from}");
        patterns.push(one);
    }
    for pattern in patterns {
        let expected = whole.search(&pattern)?;
        assert_eq!(chunked.count(&pattern)?, expected.len() as u64, "count of {pattern:x?}");
        assert_eq!(chunked.search(&pattern)?, expected, "search for {pattern:x?}");
        let most = expected.len().div_ceil(2);
        let some = hits::first(most, |visit| chunked.for_each(&pattern, visit))?;
        assert_eq!(some.len(), most);
        assert!(some.iter().all(|at| expected.binary_search(at).is_ok()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Seen red with nothing read across the ends of chunks, and with the text around an end read
    /// from one byte too late.
    #[test]
    fn chunks_anywhere_answer_as_one_piece(
        text in vec(b'a'..b'd', 0..600),
        chunk in 1..200u64,
        piece in 1..300usize,
        places in vec((0.0..1.0f64, 0..30usize), 1..8),
    ) {
        let chunked = built(&text, None, chunk, piece)?;
        prop_assert!(chunked.chunks().all(|c| c.end - c.start <= chunk));
        check(&text, &chunked, &places)?;
    }

    /// Seen red with chunks cut before their last delimiter, and with no pattern searched for
    /// across ends.
    #[test]
    fn chunks_of_whole_records_answer_as_one_piece(
        records in vec(vec(b'a'..b'd', 0..20), 0..60),
        chunk in 21..200u64,
        piece in 1..300usize,
        places in vec((0.0..1.0f64, 0..30usize), 1..8),
    ) {
        let text: Vec<u8> = records.iter().flat_map(|r| [r.as_slice(), b"|"].concat()).collect();
        let chunked = built(&text, Some(b'|'), chunk, piece)?;
        let ends = chunked.chunks().map(|c| text[c.end as usize - 1]);
        prop_assert!(ends.into_iter().all(|byte| byte == b'|'));
        check(&text, &chunked, &places)?;
    }

    /// Seen red with an unchecked subtraction of steps from a position.
    #[test]
    fn damaged_chunks_are_survived(place in 0.0..1.0f64, other in vec(any::<u8>(), 1..40)) {
        let text: Vec<u8> = (0..300u32).map(|i| b"aab|bab"[(i % 7) as usize]).collect();
        let mut bytes = built(&text, Some(b'|'), 100, 300)?.into_bytes();
        let from = (place * bytes.len() as f64) as usize;
        for (to, other) in bytes[from..].iter_mut().zip(other) {
            *to = other;
        }
        for opened in [ChunkedText::open(bytes.as_slice()), ChunkedText::open_lazily(bytes.as_slice())] {
            let Ok(opened) = opened else { continue };
            let mut out = Vec::new();
            let _ = opened.extract(0, usize::MAX, &mut out);
            let _ = (opened.search(b"a|b"), opened.count(b""), opened.search(b"b"));
        }
    }
}

/// Every byte of the directory and the trailer is checked, except the delimiter. Seen red with ends
/// of chunks that need not ascend, and with a chunk's own length not compared with them.
#[test]
fn every_flipped_byte_of_the_directory_is_refused() -> Result<()> {
    let text: Vec<u8> = (0..300u32).map(|i| b"aab|bab"[(i % 7) as usize]).collect();
    let whole = built(&text, Some(b'|'), 100, 300)?;
    let directory = whole.chunks().count() * 16 + 32;
    let whole = whole.into_bytes();
    let delimiter = whole.len() - 24..whole.len() - 16;
    for at in (whole.len() - directory..whole.len()).filter(|at| !delimiter.contains(at)) {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            assert!(ChunkedText::open_lazily(bytes).is_err(), "byte {at}");
        }
    }
    Ok(())
}

#[test]
fn truncated_chunks_are_refused() -> Result<()> {
    let bytes = built(&[b'a'; 300], None, 100, 300)?.into_bytes();
    for len in 0..bytes.len() {
        assert!(ChunkedText::open_lazily(&bytes[..len]).is_err(), "{len} bytes");
    }
    Ok(())
}

#[test]
fn a_record_longer_than_a_chunk_is_refused() {
    let error = built(b"abcdefgh|", Some(b'|'), 5, 3).expect_err("too long");
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

/// Seen red with the text around an end read from one byte too late.
#[test]
fn memory_decides_on_chunks() -> Result<()> {
    let text = vec![b'a'; 1 << 20];
    let memory = OPTIONS.memory_of(100_000);
    let chunked = ChunkedText::build(&text, OPTIONS, None, memory)?;
    assert_eq!(chunked.chunks().count(), 11);
    assert_eq!(chunked.count(b"aa")?, (1 << 20) - 1);
    let error = ChunkedText::build(&text, OPTIONS, None, 1000).expect_err("too little");
    assert!(error.to_string().contains("1000 bytes of memory"), "{error}");
    Ok(())
}
