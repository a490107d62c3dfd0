//! Numbers in text.

use super::batch::Weight;
use crate::decimal::parse_u64;

/// Parses a finite number; returns `None` for anything else, including NaN and infinities.
pub(crate) fn parse_weight(text: &[u8]) -> Option<Weight> {
    let text = text.trim_ascii();
    if let Some(int) = parse_i64(text) {
        return Some(Weight::Int(int));
    }
    let float: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    float.is_finite().then_some(Weight::Float(float))
}

/// Parses a decimal integer with an optional sign.
pub(crate) fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let value = i64::try_from(parse_u64(digits)?).ok()?;
    Some(if negative { -value } else { value })
}

/// Formats a field for a message: at most 40 characters, with control characters escaped.
pub(crate) fn show(field: &[u8]) -> String {
    let head = field.get(..40).unwrap_or(field);
    let dots = if head.len() < field.len() { "..." } else { "" };
    format!("'{}{dots}'", head.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(parse_weight(b" 12 "), Some(Weight::Int(12)));
        assert_eq!(parse_weight(b"-9223372036854775807"), Some(Weight::Int(-i64::MAX)));
        assert_eq!(parse_weight(b"1e3"), Some(Weight::Float(1000.0)));
        assert_eq!(
            parse_weight(b"18446744073709551616"),
            Some(Weight::Float(18_446_744_073_709_551_616.0))
        );
        for bad in ["nan", "NaN", "inf", "-inf", "1e999", "", "x", "1,5"] {
            assert_eq!(parse_weight(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(show(b"a\tb"), "'a\\tb'");
    }
}
