//! The memory that a message takes once it is read: a value is many times as large as the byte that it may be sent
//! in.

use boltr::message::ClientMessage;
use boltr::message::decode::decode_client_message;
use boltr::types::BoltValue;

use crate::failure::Failure;

/// Number of values in the bytes of a message, keys of dictionaries among them. What is cut off counts as if it
/// were there.
fn values(mut bytes: &[u8]) -> u64 {
    let mut count = 0;
    while let Some((marker, rest)) = bytes.split_first() {
        // The bytes behind the marker: those of a length, and those of the value, unless values follow.
        let (length, own) = match marker {
            0x80..=0x8f => (0, usize::from(marker & 0x0f)),
            0xc1 | 0xcb => (0, 8),
            0xc8 => (0, 1),
            0xc9 => (0, 2),
            0xca => (0, 4),
            0xcc | 0xd0 => (1, sized(rest, 1)),
            0xcd | 0xd1 => (2, sized(rest, 2)),
            0xce | 0xd2 => (4, sized(rest, 4)),
            // The tag of a structure.
            0xb0..=0xbf => (0, 1),
            0xd4 | 0xd8 => (1, 0),
            0xd5 | 0xd9 => (2, 0),
            0xd6 | 0xda => (4, 0),
            _ => (0, 0),
        };
        count += 1;
        bytes = rest.get(length..).and_then(|rest| rest.get(own..)).unwrap_or_default();
    }
    count
}

/// Bytes of memory that a message takes, as it was sent or once it is read.
fn room_of(bytes: &[u8]) -> u64 {
    values(bytes).saturating_mul(size_of::<BoltValue>() as u64).max(bytes.len() as u64)
}

/// The big-endian number of the first bytes.
fn sized(bytes: &[u8], length: usize) -> usize {
    bytes.iter().take(length).fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Decodes a message that takes at most `memory` bytes, and tells how many it takes.
///
/// # Errors
/// A message that takes more, or one that breaks the rules of the protocol.
pub(super) fn decode(bytes: &[u8], memory: u64) -> Result<(ClientMessage, u64), Failure> {
    let needed = room_of(bytes);
    if needed > memory {
        return Err(Failure::invalid(format!(
            "a message of {} values takes {needed} bytes of memory, and may take {memory}; send fewer values \
             at once, or raise the server's --max-memory",
            values(bytes)
        )));
    }
    let message = decode_client_message(bytes);
    Ok((message.map_err(|error| Failure::invalid(error.to_string()))?, needed))
}

#[cfg(test)]
mod tests {
    use boltr::packstream::encode::encode_value;
    use boltr::types::BoltDict;
    use bytes::BytesMut;

    use super::*;

    fn counted(value: &BoltValue) -> u64 {
        let mut bytes = BytesMut::new();
        encode_value(&mut bytes, value);
        values(&bytes)
    }

    /// Seen red with the bytes of texts taken for values.
    #[test]
    fn every_value_counts_once() {
        let list = |values: Vec<BoltValue>| BoltValue::List(values);
        let integers = [0_i64, -17, 127, -128, 128, -32_768, 40_000, 1 << 40].map(BoltValue::from);
        for (value, expected) in [
            (BoltValue::Null, 1),
            (BoltValue::from(true), 1),
            (BoltValue::from(1.5), 1),
            (list(integers.to_vec()), 9),
            (
                list(
                    [0, 15, 16, 255, 256, 70_000].map(|n| BoltValue::from("x".repeat(n))).to_vec(),
                ),
                7,
            ),
            (list([0, 255, 256, 70_000].map(|n| BoltValue::Bytes(vec![0xc0; n])).to_vec()), 5),
            (
                list([15, 16, 255, 256, 70_000].map(|n| list(vec![BoltValue::Null; n])).to_vec()),
                70_548,
            ),
            (BoltDict::from([("a".to_owned(), list(vec![1.into()]))]).into(), 4),
        ] {
            assert_eq!(counted(&value), expected, "{value:?}");
        }
        assert_eq!(values(&[0xb1, 0x10, 0xd2, 0xff, 0xff, 0xff, 0xff, 0]), 2);
        assert_eq!(values(&[0xd2, 0xff]), 1);
    }

    /// Seen red with the bytes of the message compared alone.
    #[test]
    fn a_message_of_many_values_is_refused() {
        let nulls = |count: u16| {
            let mut bytes = vec![0xb1, 0x3f, 0xa1, 0x81, b'n', 0xd5];
            bytes.extend(count.to_be_bytes());
            bytes.extend(vec![0xc0; usize::from(count)]);
            decode(&bytes, 1 << 20)
        };
        assert!(nulls(1000).is_ok());
        let failure = nulls(60_000).expect_err("too many values");
        assert!(failure.message.contains("60004 values"), "{}", failure.message);
    }
}
