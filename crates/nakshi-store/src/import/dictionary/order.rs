//! The order of external ids.

use std::cmp::Ordering;

/// The order in which external ids are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdOrder {
    /// By value; all ids are canonical integers.
    Integer,
    /// By their bytes.
    Bytes,
}

impl IdOrder {
    /// Compares two ids.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytes => a.cmp(b),
            Self::Integer => compare_integers(a, b),
        }
    }

    /// Returns true if these bytes are the canonical form of an integer: `0`, or digits without a
    /// leading zero, with an optional minus.
    pub fn is_canonical_integer(id: &[u8]) -> bool {
        let digits = id.strip_prefix(b"-").unwrap_or(id);
        match digits.first() {
            None => false,
            Some(b'0') => id == b"0",
            Some(_) => digits.iter().all(u8::is_ascii_digit),
        }
    }
}

fn compare_integers(a: &[u8], b: &[u8]) -> Ordering {
    let by_size = |a: &[u8], b: &[u8]| a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    match (a.strip_prefix(b"-"), b.strip_prefix(b"-")) {
        (None, None) => by_size(a, b),
        (Some(a), Some(b)) => by_size(b, a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_size() {
        let ascending = [
            "-18446744073709551617",
            "-10",
            "-9",
            "-1",
            "0",
            "1",
            "9",
            "10",
            "18446744073709551616",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(
                IdOrder::Integer.compare(pair[0].as_bytes(), pair[1].as_bytes()),
                Ordering::Less
            );
        }
        assert!(ascending.iter().all(|id| IdOrder::is_canonical_integer(id.as_bytes())));
        for text in ["", "-", "-0", "00", "007", "+1", "1a", "1.0"] {
            assert!(!IdOrder::is_canonical_integer(text.as_bytes()), "{text}");
        }
    }
}
