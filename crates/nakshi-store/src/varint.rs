//! LEB128: seven bits a byte, least significant first, high bit set on all but the last.

/// Appends `value`.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Reads a value at `*at` and moves `*at` behind it; `None` if the bytes end or exceed 64 bits.
#[inline]
pub(crate) fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    get_long(bytes, at, u64::from(first & 0x7f))
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
        }

        #[test]
        fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            let mut at = 0;
            while get(&bytes, &mut at).is_some() {}
            prop_assert!(at <= bytes.len());
        }
    }
}
