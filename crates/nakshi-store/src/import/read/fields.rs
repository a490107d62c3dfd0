//! Columns of a line.

use std::fmt;

/// What stands between two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// One or more spaces or tabs.
    Blank,
    /// Exactly one of this byte; spaces around a field do not count.
    Byte(u8),
}

impl Separator {
    /// The separator of a line that has two columns or more.
    pub fn sniff(line: &[u8]) -> Self {
        for byte in [b'\t', b',', b';', b'|'] {
            if memchr::memchr(byte, line.trim_ascii()).is_some() {
                return Self::Byte(byte);
            }
        }
        Self::Blank
    }

    /// Whether a byte can end a column.
    #[inline]
    pub fn is(self, byte: u8) -> bool {
        match self {
            Self::Blank => byte == b' ' || byte == b'\t',
            Self::Byte(separator) => byte == separator,
        }
    }

    /// Where the next column begins if a separator stands at `at`.
    #[inline]
    pub fn skip(self, text: &[u8], at: usize) -> Option<usize> {
        if !self.is(*text.get(at)?) {
            return None;
        }
        let mut at = at + 1;
        while text
            .get(at)
            .is_some_and(|&byte| byte == b' ' || (byte == b'\t' && self == Self::Blank))
        {
            at += 1;
        }
        Some(at)
    }
}

impl fmt::Display for Separator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blank => f.write_str("blanks"),
            Self::Byte(b'\t') => f.write_str("tabs"),
            Self::Byte(byte) => write!(f, "'{}'", byte.escape_ascii()),
        }
    }
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    raw: &'a [u8],
    quoted: bool,
}

impl<'a> Field<'a> {
    /// The content; doubled quotes are undone in `scratch`.
    pub fn text<'b>(self, scratch: &'b mut Vec<u8>) -> &'b [u8]
    where
        'a: 'b,
    {
        if !self.quoted || memchr::memchr(b'"', self.raw).is_none() {
            return self.raw;
        }
        scratch.clear();
        let mut rest = self.raw;
        while let Some(quote) = memchr::memchr(b'"', rest) {
            scratch.extend_from_slice(rest.get(..=quote).unwrap_or_default());
            rest = rest.get(quote + 2..).unwrap_or_default();
        }
        scratch.extend_from_slice(rest);
        scratch
    }
}

/// The columns of a line. A column of a byte-separated line may stand in double quotes, doubled
/// inside; it must end on its line.
pub(crate) fn fields(
    line: &[u8],
    separator: Separator,
) -> impl Iterator<Item = Result<Field<'_>, String>> {
    let mut rest = match separator {
        Separator::Blank => Some(line.trim_ascii()).filter(|line| !line.is_empty()),
        Separator::Byte(_) => Some(line),
    };
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Separator::Byte(byte) = separator else {
            let end = memchr::memchr2(b' ', b'\t', text).unwrap_or(text.len());
            let (raw, tail) = text.split_at(end);
            rest = Some(tail.trim_ascii_start()).filter(|tail| !tail.is_empty());
            return Some(Ok(Field { raw, quoted: false }));
        };
        let inner = trim_blanks(text, byte);
        if let Some(body) = inner.strip_prefix(b"\"") {
            let Some(close) = closing_quote(body) else {
                return Some(Err("a quoted column does not end on its line".into()));
            };
            let (raw, tail) = body.split_at(close);
            let tail = trim_blanks(tail.get(1..).unwrap_or_default(), byte);
            match tail.split_first() {
                None => {}
                Some((&next, tail)) if next == byte => rest = Some(tail),
                Some(_) => return Some(Err("text follows a quoted column".into())),
            }
            return Some(Ok(Field { raw, quoted: true }));
        }
        let raw = match memchr::memchr(byte, text) {
            None => text,
            Some(end) => {
                rest = text.get(end + 1..);
                text.get(..end).unwrap_or_default()
            }
        };
        Some(Ok(Field { raw: raw.trim_ascii(), quoted: false }))
    })
}

/// Drops leading blanks that are not themselves the separator.
fn trim_blanks(text: &[u8], separator: u8) -> &[u8] {
    let start = text
        .iter()
        .position(|&b| b == separator || (b != b' ' && b != b'\t'))
        .unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

fn closing_quote(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr(b'"', body.get(at..)?)?;
        if body.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str, separator: Separator) -> Result<Vec<String>, String> {
        fields(line.as_bytes(), separator)
            .map(|field| Ok(String::from_utf8_lossy(field?.text(&mut Vec::new())).into_owned()))
            .collect()
    }

    #[test]
    fn columns() {
        let comma = Separator::Byte(b',');
        assert_eq!(split("a, b ,c", comma).unwrap(), ["a", "b", "c"]);
        assert_eq!(split("\"a,\"\"b\"\"\",c,", comma).unwrap(), ["a,\"b\"", "c", ""]);
        assert_eq!(split("\"\"\"\"\"\" , x", comma).unwrap(), ["\"\"", "x"]);
        assert_eq!(split("\"a", comma).unwrap_err(), "a quoted column does not end on its line");
        assert!(split("\"a\"b,c", comma).is_err());
        assert_eq!(split("  a \t b  ", Separator::Blank).unwrap(), ["a", "b"]);
        assert_eq!(split("a\t\tb", Separator::Byte(b'\t')).unwrap(), ["a", "", "b"]);
        assert_eq!(split("\"a\"\tb", Separator::Byte(b'\t')).unwrap(), ["a", "b"]);
        assert_eq!(Separator::sniff(b"1\t2, 3"), Separator::Byte(b'\t'));
        assert_eq!(Separator::sniff(b"1 2"), Separator::Blank);
    }
}
