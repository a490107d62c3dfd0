//! LEB128: seven bits a byte, least significant first, high bit set on all but the last.

/// Number of values decoded between two checks of a cancel token.
pub(crate) const CANCEL_CHECK_INTERVAL: u64 = 1 << 18;

/// Appends `value`.
#[inline]
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Reads a value at `*at` and moves `*at` behind it; returns `None` if the bytes end or the value
/// exceeds 64 bits.
#[inline]
pub fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    get_long(bytes, at, u64::from(first & 0x7f))
}

/// Reads a value like [`get`], without a branch on the length of values up to 35 bits: for values
/// whose length cannot be predicted.
#[inline]
pub(crate) fn get_mixed(bytes: &[u8], at: &mut usize) -> Option<u64> {
    if let Some(word) = bytes.get(*at..).and_then(|b| b.first_chunk()) {
        let word = u64::from_le_bytes(*word);
        let stops = !word & 0x80_8080_8080;
        if stops != 0 {
            let own = word & (stops ^ stops.wrapping_sub(1));
            *at += (stops.trailing_zeros() / 8) as usize + 1;
            return Some(
                own & 0x7f
                    | own >> 1 & 0x7f << 7
                    | own >> 2 & 0x7f << 14
                    | own >> 3 & 0x7f << 21
                    | own >> 4 & 0x7f << 28,
            );
        }
    }
    get(bytes, at)
}

/// Passes `count` values from `*at` on to `f`, eight at a time where each takes one byte. Returns
/// `None` if the bytes end, a value exceeds 64 bits, or `f` returns `None`.
#[inline]
pub(crate) fn get_run(
    bytes: &[u8],
    at: &mut usize,
    count: u64,
    mut f: impl FnMut(u64) -> Option<()>,
) -> Option<()> {
    let mut left = count;
    while left > 0 {
        if left >= 8
            && let Some(word) = bytes.get(*at..).and_then(|b| b.first_chunk::<8>())
            && u64::from_le_bytes(*word) & 0x8080_8080_8080_8080 == 0
        {
            for &byte in word {
                f(u64::from(byte))?;
            }
            *at += 8;
            left -= 8;
            continue;
        }
        f(get(bytes, at)?)?;
        left -= 1;
    }
    Some(())
}

fn get_long(bytes: &[u8], at: &mut usize, mut value: u64) -> Option<u64> {
    let mut shift = 7u32;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(values in prop::collection::vec(any::<u64>().prop_flat_map(|v| (0..64u32).prop_map(move |s| v >> s)), 0..40)) {
            let mut bytes = Vec::new();
            for &v in &values {
                put(&mut bytes, v);
            }
            let mut at = 0;
            for &v in &values {
                prop_assert_eq!(get(&bytes, &mut at), Some(v));
            }
            prop_assert_eq!(get(&bytes, &mut at), None);
            let mut mixed = 0;
            for &v in &values {
                prop_assert_eq!(get_mixed(&bytes, &mut mixed), Some(v));
            }
            let mut run = Vec::new();
            let mut at = 0;
            let read = get_run(&bytes, &mut at, values.len() as u64, |v| { run.push(v); Some(()) });
            prop_assert!(read.is_some());
            prop_assert_eq!(run, values);
        }

        #[test]
        fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            let mut at = 0;
            while get(&bytes, &mut at).is_some() {}
            prop_assert!(at <= bytes.len());
            for from in 0..bytes.len() {
                let (mut a, mut b) = (from, from);
                prop_assert_eq!(get(&bytes, &mut a), get_mixed(&bytes, &mut b));
            }
        }
    }
}
