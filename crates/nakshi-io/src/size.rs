//! Sizes in bytes as people read and write them.

use std::fmt;

/// A number of bytes as text with one decimal, such as `30.2 MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut unit, mut scale) = ("B", 1_u64);
        for larger in ["KiB", "MiB", "GiB", "TiB"] {
            if self.0 / 1024 < scale {
                break;
            }
            (unit, scale) = (larger, scale * 1024);
        }
        if scale == 1 {
            return write!(f, "{} B", self.0);
        }
        // Rounded up, so that a size that is needed is never understated.
        let tenths = (u128::from(self.0) * 10).div_ceil(u128::from(scale));
        write!(f, "{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

/// A memory cap that is at least a number of bytes, as an argument: `memory="32MiB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap(pub u64);

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = if self.0 > 1 << 20 { ("MiB", 1 << 20) } else { ("KiB", 1 << 10) };
        let whole = self.0.div_ceil(scale).max(1);
        // At most an eighth more than is needed: three leading bits are kept.
        let step = 1 << whole.ilog2().saturating_sub(3);
        write!(f, "memory=\"{}{unit}\"", whole.div_ceil(step) * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up() {
        let texts = [0, 1023, 1024, 1025, 31_667_000, 1 << 40].map(|size| Size(size).to_string());
        assert_eq!(texts, ["0 B", "1023 B", "1.0 KiB", "1.1 KiB", "30.3 MiB", "1.0 TiB"]);
    }

    #[test]
    fn caps_are_enough_and_not_much_more() {
        assert_eq!(Cap(31_667_000).to_string(), "memory=\"32MiB\"");
        assert_eq!(Cap(1).to_string(), "memory=\"1KiB\"");
        for needed in [1, 1000, 1 << 20, (1 << 20) + 1, 12_345_678, 987_654_321, (1 << 40) + 7] {
            let text = Cap(needed).to_string();
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            let scale = if text.contains("MiB") { 1 << 20 } else { 1 << 10 };
            let cap = digits.parse::<u64>().unwrap() * scale;
            assert!(cap >= needed, "{text} for {needed}");
            assert!(cap - scale <= needed + needed / 8, "{text} for {needed}");
        }
    }
}
