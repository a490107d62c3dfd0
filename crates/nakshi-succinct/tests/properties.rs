//! Queries agree with the text itself, for every code of pointers and many rates.

mod hits;

use nakshi_succinct::{Error, Options, Psi, Result, Succinct};
use proptest::collection::vec;
use proptest::prelude::*;

fn options() -> impl Strategy<Value = Options> {
    let psi = prop::sample::select(Psi::ALL.to_vec());
    (psi, 0..8u32, 0..8u32, 4..9u32).prop_map(|(psi, sa, isa, block)| Options {
        sa_rate: 1 << sa,
        isa_rate: 1 << isa,
        psi,
        psi_block: 1 << block,
    })
}

/// Texts over small and large alphabets, of few repeated pieces, and of one long run each.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let pieces =
        (vec(vec(any::<u8>(), 1..20), 1..6), vec(0..6usize, 0..120)).prop_map(|(pieces, order)| {
            let piece = |i: usize| pieces.get(i % pieces.len()).cloned().unwrap_or_default();
            order.into_iter().flat_map(piece).collect()
        });
    let runs = vec((any::<u8>(), 1..400usize), 0..8)
        .prop_map(|runs| runs.into_iter().flat_map(|(byte, n)| vec![byte; n]).collect());
    prop_oneof![
        vec(0..2u8, 0..1500),
        vec(b'a'..b'e', 0..1500),
        vec(any::<u8>(), 0..1500),
        pieces,
        runs,
        vec(any::<u8>(), 0..3),
    ]
}

/// Patterns that occur, at positions given as fractions of the text, and one that may not occur.
fn patterns(text: &[u8], places: &[(f64, usize)]) -> Vec<Vec<u8>> {
    let mut patterns: Vec<Vec<u8>> = places
        .iter()
        .map(|&(place, len)| {
            let from = (place * text.len() as f64) as usize;
            text[from..text.len().min(from + len)].to_vec()
        })
        .collect();
    for i in 0..patterns.len() {
        let mut changed = patterns[i].clone();
        if let Some(byte) = changed.first_mut() {
            *byte = byte.wrapping_add(1);
        }
        patterns.push(changed);
    }
    patterns.push(Vec::new());
    patterns.push([text, b"x"].concat());
    patterns
}

fn naive(text: &[u8], pattern: &[u8]) -> Vec<u64> {
    (0..text.len()).filter(|at| text[*at..].starts_with(pattern)).map(|at| at as u64).collect()
}

fn check(text: &[u8], options: &Options, places: &[(f64, usize)]) -> Result<()> {
    let built = Succinct::build(text, options)?;
    assert_eq!(built.len(), text.len() as u64);
    let opened = Succinct::open(built.as_bytes())?;
    assert_eq!(opened.options(), options);
    let mut out = b"before".to_vec();
    opened.extract(0, usize::MAX, &mut out)?;
    assert_eq!(&out[6..], text);
    for &(place, len) in places {
        let from = (place * (text.len() + 3) as f64) as usize;
        out.clear();
        opened.extract(from as u64, len, &mut out)?;
        let expected = text.get(from..).unwrap_or_default();
        assert_eq!(out, &expected[..expected.len().min(len)], "{len} bytes at {from}");
    }
    let from = |place: f64| (place * (text.len() + 3) as f64) as usize;
    let ranges: Vec<_> =
        places.iter().map(|(place, len)| from(*place)..from(*place) + len).collect();
    let whole = ranges
        .iter()
        .flat_map(|range| text.get(range.start..range.end.min(text.len())).unwrap_or_default());
    let whole: Vec<u8> = whole.copied().collect();
    let ranges: Vec<_> = ranges.iter().map(|r| r.start as u64..r.end as u64).collect();
    out.clear();
    opened.extract_all(&ranges, &mut out)?;
    assert_eq!(out, whole, "{ranges:?}");
    for pattern in patterns(text, places) {
        let expected = naive(text, &pattern);
        assert_eq!(opened.count(&pattern)?, expected.len() as u64, "count of {pattern:x?}");
        assert_eq!(opened.search(&pattern)?, expected, "search for {pattern:x?}");
        let most = expected.len().div_ceil(2);
        let some = hits::first(most, |visit| opened.for_each(&pattern, visit))?;
        assert_eq!(some.len(), most);
        assert!(some.is_sorted_by(|a, b| text[*a as usize..] < text[*b as usize..]));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Seen red with the carry beyond the number of rows left out of a bound, with the row of the
    /// whole text given to its last byte, with a finished walk not removed from its lane, and with
    /// ranges that all begin at the start of the output.
    #[test]
    fn extract_search_and_count_agree_with_the_text(
        text in text(),
        options in options(),
        places in vec((0.0..1.0f64, 0..40usize), 1..8),
    ) {
        check(&text, &options, &places)?;
    }
}

/// Seen red with runs of ones counted beyond the bits that a word is sure to contain.
#[test]
fn long_runs_and_far_gaps_in_every_code() -> Result<()> {
    let mut text = vec![b'a'; 30_000];
    text.extend((0..30_000u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8));
    text.extend_from_slice(&[b'b'; 20_000]);
    text.extend((0..20_000u32).map(|i| b"ab"[(i % 2) as usize]));
    for psi in Psi::ALL {
        for psi_block in [Options::MIN_BLOCK, Options::BLOCK, Options::MAX_BLOCK] {
            let options = Options { psi, psi_block, ..Options::default() };
            let built = Succinct::build(&text, &options)?;
            let mut out = Vec::new();
            built.extract(29_000, 60_000, &mut out)?;
            assert!(out == text[29_000..89_000], "{options:?}");
            for pattern in [&b"ababab"[..], b"aaaaaaab", b"bbbbba", &text[29_990..30_030]] {
                assert_eq!(built.search(pattern)?, naive(&text, pattern), "{options:?}");
            }
        }
    }
    Ok(())
}

/// Seen red with the empty pattern taking the row of the empty suffix too.
#[test]
fn empty_texts_and_patterns_are_ordinary() -> Result<()> {
    for psi in Psi::ALL {
        let options = Options { psi, ..Options::default() };
        check(b"", &options, &[(0.0, 5)])?;
        check(b"\0", &options, &[(0.0, 5)])?;
        check(b"\xff\xff", &options, &[(0.0, 5)])?;
    }
    Ok(())
}

/// Seen red with a build that does not check its options.
#[test]
fn options_out_of_bounds_are_refused() {
    let options = Options { sa_rate: 31, ..Options::default() };
    assert!(matches!(Succinct::build(b"abc", &options), Err(Error::Unsupported { .. })));
}

/// Seen red with 14 bits a row as the most that runs take.
#[test]
fn what_cannot_be_compressed_fits_the_memory_foretold() -> Result<()> {
    let mut state = 1u64;
    let text: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(300_000)
    .collect();
    for psi in Psi::ALL {
        for (rate, psi_block) in [(1, 16), (32, 64), (4096, 1024)] {
            let options = Options { sa_rate: rate, isa_rate: rate, psi, psi_block };
            let len = text.len() as u64;
            let built = Succinct::build(&text, &options)?.into_bytes().len() as u64;
            // the text and its suffix array; a megabyte is allowed for tables
            let taken = built + 5 * len + (1 << 20);
            assert!(taken <= options.memory_of(len), "{options:?} takes {taken}");
        }
    }
    Ok(())
}
