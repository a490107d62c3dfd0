//! Values of vertices, and their bytes between servers.

use std::fmt::Debug;

/// The value of a vertex: a number, a tuple, or a list of any length.
///
/// Bytes are little-endian. Values of one size have it in [`PullValue::SIZE`]; others say their length
/// themselves.
pub trait PullValue: Clone + Default + PartialEq + Debug + Send + Sync + 'static {
    /// Bytes of every value; none if they differ.
    const SIZE: Option<usize>;

    /// Appends the bytes of the value.
    fn encode(&self, out: &mut Vec<u8>);

    /// Takes a value off the front of `bytes`; none if they are not the bytes of one.
    fn decode(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl PullValue for $number {
            const SIZE: Option<usize> = Some(size_of::<$number>());

            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn decode(bytes: &mut &[u8]) -> Option<Self> {
                let (number, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(<$number>::from_le_bytes(*number))
            }
        }
    )*};
}

numbers!(u8, u32, u64, f32, f64);

impl<A: PullValue, B: PullValue> PullValue for (A, B) {
    const SIZE: Option<usize> = match (A::SIZE, B::SIZE) {
        (Some(a), Some(b)) => Some(a + b),
        _ => None,
    };

    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        Some((A::decode(bytes)?, B::decode(bytes)?))
    }
}

impl<T: PullValue> PullValue for Vec<T> {
    const SIZE: Option<usize> = None;

    fn encode(&self, out: &mut Vec<u8>) {
        // A list is of neighbours, of whom there are fewer than 2^32.
        (self.len() as u32).encode(out);
        self.iter().for_each(|item| item.encode(out));
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let len = u32::decode(bytes)? as usize;
        // Every item has a byte at least: a length that lies allocates no more than there is.
        if len > bytes.len() / T::SIZE.unwrap_or(1).max(1) {
            return None;
        }
        (0..len).map(|_| T::decode(bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn survives<T: PullValue>(value: &T) {
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        assert!(T::SIZE.is_none_or(|size| size == bytes.len()));
        let mut rest = bytes.as_slice();
        assert_eq!(T::decode(&mut rest).as_ref(), Some(value));
        assert!(rest.is_empty());
        for end in 0..bytes.len() {
            assert_eq!(T::decode(&mut bytes.get(..end).unwrap()), None);
        }
    }

    proptest! {
        #[test]
        fn values_survive_their_bytes(
            a in any::<u64>(),
            b in any::<u32>(),
            c in any::<f64>().prop_filter("equal to itself", |c| !c.is_nan()),
            list in prop::collection::vec((any::<u32>(), any::<u8>()), 0..20),
        ) {
            survives(&a);
            survives(&(b, c));
            survives(&list);
            survives(&(c, vec![list]));
        }

        #[test]
        fn any_bytes_decode_or_do_not(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Vec::<(u32, u8)>::decode(&mut bytes.as_slice());
            let _ = <(Vec<u64>, f64)>::decode(&mut bytes.as_slice());
        }
    }
}
