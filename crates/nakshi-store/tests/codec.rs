//! Lists survive encoding, and hostile bytes survive decoding.

use std::ops::ControlFlow;

use nakshi_store::codec::encode;
use nakshi_store::{Encoding, Error, List};
use proptest::prelude::*;

fn round_trip(list: &[u32]) {
    for encoding in [Encoding::Raw, Encoding::Packed] {
        let mut bytes = vec![0xaa; 5];
        encode(encoding, list, &mut bytes);
        let end = bytes.len();
        // with slack behind the list the vector decoder runs, without it the scalar twin
        for slack in [0, 1, 31, 32, 64] {
            bytes.resize(end, 0);
            bytes.resize(end + slack, 0xff);
            let decoded = List::new(encoding, &bytes, 5..end).expect("a list");
            assert_eq!(decoded.degree(), list.len() as u64);
            let mut out = Vec::new();
            decoded.decode_into(&mut out).expect("decodes");
            assert_eq!(out, list, "{encoding:?} slack {slack}");
            let mut first = [0; 128];
            let k = decoded.first(3, &mut first).expect("decodes");
            assert_eq!(first.get(..k), list.get(..list.len().min(3)));
            if let Some(max) = list.last() {
                assert!(decoded.bounded(u64::from(*max) + 1).for_each(|_| ()).is_ok());
                let refused = decoded.bounded(u64::from(*max)).for_each(|_| ());
                assert!(*max == 0 || matches!(refused, Err(Error::BadList(_))));
            }
        }
    }
}

fn ascending(seed: u32, len: usize, bits: u32) -> Vec<u32> {
    let mut state = u64::from(seed) | 1;
    let mut at = 0u32;
    let gaps = (0..len).map(|_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let gap = (state >> 33) as u32 & ((1u64 << bits) - 1) as u32;
        at = at.saturating_add(gap);
        at
    });
    gaps.collect()
}

#[test]
fn all_degrees_to_300_and_all_widths() {
    for degree in 0..=300 {
        round_trip(&ascending(degree as u32, degree, 20));
    }
    for bits in 0..=32 {
        for degree in [1, 2, 8, 9, 10, 127, 128, 129, 136, 254, 255, 256, 257, 1000] {
            round_trip(&ascending(bits, degree, bits));
        }
    }
    round_trip(&[u32::MAX]);
    round_trip(&[0, u32::MAX]);
    round_trip(&[7; 500]);
    round_trip(&[u32::MAX; 129]);
    round_trip(&(0..100_000).collect::<Vec<_>>());
}

#[test]
fn blocks_are_at_most_128_and_stop_when_told() {
    let list: Vec<u32> = (0..1000).collect();
    for encoding in [Encoding::Raw, Encoding::Packed] {
        let mut bytes = Vec::new();
        encode(encoding, &list, &mut bytes);
        let decoded = List::new(encoding, &bytes, 0..bytes.len()).expect("a list");
        let mut sizes = Vec::new();
        decoded
            .blocks(|b| {
                sizes.push(b.len());
                if sizes.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .expect("decodes");
        assert_eq!(sizes, [128, 128, 128]);
    }
}

/// Seen red with raw lists that do not check the bound of values.
#[test]
fn sums_are_of_the_values_there_are() {
    for len in [0, 1, 2, 8, 9, 127, 128, 129, 300] {
        let list = ascending(len, len as usize, 5);
        let values: Vec<f64> = (0..=list.last().copied().unwrap_or(0)).map(f64::from).collect();
        let exact: f64 = list.iter().copied().map(f64::from).sum();
        for encoding in [Encoding::Raw, Encoding::Packed] {
            let mut bytes = Vec::new();
            encode(encoding, &list, &mut bytes);
            let end = bytes.len();
            for slack in [0, 64] {
                bytes.resize(end, 0);
                bytes.resize(end + slack, 0xff);
                let list = List::new(encoding, &bytes, 0..end).expect("a list");
                assert_eq!(list.sum(&values).expect("sums"), exact, "{encoding:?} {len}");
                let short = list.sum(values.split_last().map_or(&[][..], |(_, short)| short));
                assert_eq!(short.is_ok(), len == 0, "{encoding:?} {len}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256 * scale()))]

    #[test]
    fn any_list_round_trips(mut list in prop_oneof![
        prop::collection::vec(any::<u32>(), 0..400),
        prop::collection::vec(0..1000u32, 0..400),
        prop::collection::vec(prop_oneof![8 => 0..5000u32, 1 => any::<u32>()], 0..400),
    ]) {
        list.sort_unstable();
        round_trip(&list);
    }

    /// Seen red with the comparison of the largest id with the bound removed, and with a packed
    /// list's degree not compared with its length.
    #[test]
    fn hostile_bytes_never_panic_and_never_exceed_the_bound(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        end in 0..200usize,
        bound in 1..5000u64,
    ) {
        hostile(&bytes, end.min(bytes.len()), bound);
    }

    /// Seen red with a packed list's degree not compared with its length, and with its end not
    /// compared with that of its bytes.
    #[test]
    fn damaged_lists_never_panic(
        len in 1..400usize, bits in 0..20u32, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in 0..40usize,
    ) {
        let mut bytes = Vec::new();
        encode(Encoding::Packed, &ascending(9, len, bits), &mut bytes);
        let i = at.index(bytes.len());
        bytes[i] = byte;
        hostile(&bytes, bytes.len().saturating_sub(cut), 1 << 20);
    }
}

/// Decodes with the vector decoder and with the scalar one: both give the same ids, or an error.
fn hostile(bytes: &[u8], end: usize, bound: u64) {
    for encoding in [Encoding::Raw, Encoding::Packed] {
        let mut results = Vec::new();
        for slack in [0, 64] {
            let mut buf = bytes.get(..end).unwrap_or_default().to_vec();
            buf.resize(end + slack, 0);
            let Ok(list) = List::new(encoding, &buf, 0..end) else { continue };
            assert!(list.degree() <= 9 + 8 * end as u64, "a degree that its bytes cannot hold");
            let mut out = Vec::new();
            let ok = list.bounded(bound).decode_into(&mut out).is_ok();
            assert!(out.iter().all(|v| u64::from(*v) < bound));
            let ones = vec![1.0_f32; usize::try_from(bound).expect("a small bound")];
            let sum = list.bounded(bound).sum(&ones);
            assert_eq!(sum.ok(), ok.then_some(out.len() as f64));
            results.push((ok, ok.then_some(out)));
        }
        assert!(results.windows(2).all(|w| w[0] == w[1]), "{results:?}");
    }
}

fn scale() -> u32 {
    std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

/// docs/format.md fixes these bytes for ever.
#[test]
fn the_bytes_are_part_of_the_format() {
    let bytes = |encoding, list: &[u32]| {
        let mut bytes = Vec::new();
        encode(encoding, list, &mut bytes);
        bytes
    };
    assert_eq!(bytes(Encoding::Raw, &[3, 258]), [3, 0, 0, 0, 2, 1, 0, 0]);
    assert!(bytes(Encoding::Packed, &[]).is_empty());
    assert_eq!(bytes(Encoding::Packed, &[300]), [1, 0xac, 2]);
    // gaps 2, 5, 0, 7 of three bits: 010 101 000 111 from the lowest bit on
    assert_eq!(bytes(Encoding::Packed, &[3, 5, 10, 10, 17]), [5, 3, 3, 0b0010_1010, 0b0000_1110]);
    // nine gaps are two groups: eight of one bit, one of 26 bits, which takes 32
    let list = [0, 1, 2, 3, 4, 5, 6, 7, 8, 8 + (1 << 25)];
    assert_eq!(bytes(Encoding::Packed, &list), [10, 0, 1, 32, 0xff, 0, 0, 0, 2]);
}
