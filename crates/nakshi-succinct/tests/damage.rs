//! Damaged bytes give errors or wrong answers, never a panic or an endless loop.

use nakshi_succinct::{Options, Psi, Result, Succinct};
use proptest::prelude::*;

/// Runs every query; the answers do not matter.
fn ask(bytes: &[u8]) {
    for opened in [Succinct::open(bytes), Succinct::open_lazily(bytes)] {
        let Ok(opened) = opened else { continue };
        let mut out = Vec::new();
        let _ = opened.extract(0, usize::MAX, &mut out);
        let _ = opened.extract(opened.len() / 2, 16, &mut out);
        for pattern in [&b"ab"[..], b"a", b"\xffb", b"bab", b""] {
            let _ = opened.count(pattern);
            let _ = opened.search(pattern);
        }
    }
}

fn built(psi: Psi) -> Result<Vec<u8>> {
    let text: Vec<u8> = (0..600u32)
        .map(|i| if i % 7 == 0 { (i * i) as u8 } else { b"abbab"[(i % 5) as usize] })
        .collect();
    let options = Options { psi, sa_rate: 8, isa_rate: 8, psi_block: 16 };
    Ok(Succinct::build(&text, &options)?.into_bytes())
}

/// Seen red with a byte table that need not ascend, and with an unchecked subtraction of steps from
/// a position; did not end without a bound on steps.
#[test]
fn every_flipped_byte_is_survived() -> Result<()> {
    for psi in Psi::ALL {
        let whole = built(psi)?;
        for at in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                ask(&bytes);
            }
        }
    }
    Ok(())
}

/// Seen red with the length in the header compared with the sections only.
#[test]
fn truncated_bytes_are_refused() -> Result<()> {
    for psi in Psi::ALL {
        let mut bytes = built(psi)?;
        for len in 0..bytes.len() {
            assert!(Succinct::open_lazily(&bytes[..len]).is_err(), "{len} bytes");
        }
        bytes.push(0);
        assert!(Succinct::open_lazily(bytes).is_err());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Seen red with a gap of any number of leading zeros.
    #[test]
    fn stretches_of_other_bytes_are_survived(
        psi in prop::sample::select(Psi::ALL.to_vec()),
        place in 0.0..1.0f64,
        other in prop_oneof![
            prop::collection::vec(any::<u8>(), 1..200),
            (prop::sample::select(vec![0, 0xff, 0xaa, 0x01]), 1..2000usize).prop_map(|(byte, n)| vec![byte; n]),
        ],
    ) {
        let mut bytes = built(psi)?;
        let from = (place * bytes.len() as f64) as usize;
        for (to, other) in bytes[from..].iter_mut().zip(other) {
            *to = other;
        }
        ask(&bytes);
    }
}
