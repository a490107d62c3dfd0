//! Values as text without delimiters; numbers are in decimal.
//!
//! Numbers are text as in the paper: Succinct spends as much on a byte of eight random bits as on
//! three decimal digits, and half of the bytes of a small number would need an escape.

use serde::{Deserialize, Serialize};

use super::super::value::{ordered_float, ordered_int, plain_float, plain_int};
use super::super::{PropertyType, Scalar};

/// Escape, before a byte that could be a delimiter and before the codes [`EMPTY`] and [`RAW`].
pub(super) const ESCAPE: u8 = 0x1d;
/// Behind [`ESCAPE`]: the empty value, because length zero means null.
const EMPTY: u8 = 0x40;
/// Behind [`ESCAPE`]: raw bytes, for a value that its form cannot express.
const RAW: u8 = b'#';
/// Difference between a byte and its escaped form.
const SHIFT: u8 = 0x40;

/// Textual form of the values of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    /// The bytes of the value.
    Bytes,
    /// Integers of eight ordered bytes, as decimal numbers.
    Integer,
    /// Floats of eight ordered bytes, as the shortest decimal that parses to the same float.
    Float,
    /// A byte of 0 or 1, as a digit.
    Bool,
}

impl Form {
    pub(super) fn of(ty: PropertyType) -> Self {
        match ty.scalar {
            _ if ty.list => Form::Bytes,
            Scalar::String | Scalar::Bytes => Form::Bytes,
            Scalar::Int | Scalar::Timestamp | Scalar::Temporal(_) => Form::Integer,
            Scalar::Float => Form::Float,
            Scalar::Bool => Form::Bool,
        }
    }

    /// Appends the text of a value, which is never empty: equal values have equal texts.
    pub(super) fn render(self, value: &[u8], out: &mut Vec<u8>) {
        let number = || value.try_into().map(u64::from_be_bytes).ok();
        let text = match self {
            _ if value.is_empty() => return out.extend([ESCAPE, EMPTY]),
            Form::Bytes => return escape(value, out),
            Form::Integer => number().map(|number| plain_int(number).to_string()),
            Form::Float => number().map(|number| format!("{:?}", plain_float(number))),
            Form::Bool => match value {
                [0] => Some("0".to_owned()),
                [1] => Some("1".to_owned()),
                _ => None,
            },
        };
        let same = |text: &String| self.plain(text.as_bytes()).as_deref() == Some(value);
        match text.filter(same) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => {
                out.extend([ESCAPE, RAW]);
                escape(value, out);
            }
        }
    }

    /// Appends the value of a text; `None` if the text has another form.
    pub(super) fn parse(self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match (text, self) {
            ([ESCAPE, EMPTY], _) => Some(()),
            ([ESCAPE, RAW, rest @ ..], _) => unescape(rest, out),
            (_, Form::Bytes) => unescape(text, out),
            _ => {
                out.extend_from_slice(&self.plain(text)?);
                Some(())
            }
        }
    }

    /// The value of a text of digits.
    fn plain(self, text: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(text).ok()?;
        let number = match self {
            Form::Integer => ordered_int(text.parse().ok()?),
            Form::Float => ordered_float(text.parse().ok()?),
            Form::Bool => return Some(vec![text.parse().ok()?]),
            Form::Bytes => return None,
        };
        Some(number.to_be_bytes().to_vec())
    }
}

/// Returns true for bytes that are always escaped.
fn reserved(byte: u8) -> bool {
    matches!(byte, 0x01..=0x08 | 0x0b..=0x0c | 0x0e..=ESCAPE)
}

/// Appends `bytes`, with escapes for those of which delimiters are made.
pub(super) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        if reserved(byte) {
            out.extend([ESCAPE, byte ^ SHIFT]);
        } else {
            out.push(byte);
        }
    }
}

fn unescape(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            ESCAPE => out.push(Some(*bytes.next()? ^ SHIFT).filter(|byte| reserved(*byte))?),
            byte if reserved(byte) => return None,
            byte => out.push(byte),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn forms() -> impl Strategy<Value = Form> {
        prop::sample::select(vec![Form::Bytes, Form::Integer, Form::Float, Form::Bool])
    }

    fn values() -> impl Strategy<Value = Vec<u8>> {
        let bytes = prop_oneof![3 => 0..0x30u8, 1 => any::<u8>()];
        let long = prop::collection::vec(bytes, 0..12);
        let float = any::<f64>().prop_map(|v| ordered_float(v).to_be_bytes().to_vec());
        let int = any::<i64>().prop_map(|v| ordered_int(v).to_be_bytes().to_vec());
        prop_oneof![long, prop::collection::vec(any::<u8>(), 8), float, int]
    }

    proptest! {
        /// Seen red with bytes that are not escaped, and with an empty value as an empty text.
        #[test]
        fn values_survive_their_text(form in forms(), value in values()) {
            let (mut text, mut back) = (Vec::new(), Vec::new());
            form.render(&value, &mut text);
            prop_assert!(!text.is_empty());
            let marks = text.iter().filter(|byte| **byte != ESCAPE && reserved(**byte));
            prop_assert_eq!(marks.count(), 0);
            prop_assert_eq!(form.parse(&text, &mut back), Some(()));
            prop_assert_eq!(back, value);
        }

        #[test]
        fn any_text_parses_or_does_not(form in forms(), text in values()) {
            let _ = form.parse(&text, &mut Vec::new());
        }
    }

    #[test]
    fn numbers_are_decimal() {
        let text = |form: Form, value: &[u8]| {
            let mut out = Vec::new();
            form.render(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(Form::Integer, &ordered_int(-42).to_be_bytes()), "-42");
        assert_eq!(text(Form::Float, &ordered_float(0.5).to_be_bytes()), "0.5");
        assert_eq!(text(Form::Bool, &[1]), "1");
        assert_eq!(text(Form::Integer, b"7"), "\u{1d}#7");
        assert_eq!(text(Form::Bytes, b""), "\u{1d}@");
    }
}
