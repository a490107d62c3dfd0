//! The columns of a line.

use std::fmt;

/// The separator between two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// One or more spaces or tabs.
    Blank,
    /// Exactly one of this byte; spaces around a field are ignored.
    Byte(u8),
}

impl Separator {
    /// Detects the separator of a line that has two or more columns; ignores bytes in quotes.
    pub fn sniff(line: &[u8]) -> Self {
        const BYTES: [u8; 4] = [b'\t', b',', b';', b'|'];
        let (mut quoted, mut begins, mut closed) = (false, true, false);
        let mut found = [false; BYTES.len()];
        for &byte in line.trim_ascii() {
            let mark = byte == b'"' && (quoted || begins || closed);
            let separator = BYTES.iter().position(|&separator| separator == byte);
            if mark {
                quoted = !quoted;
            } else if !quoted && let Some(found) = separator.and_then(|at| found.get_mut(at)) {
                *found = true;
            }
            closed = mark && !quoted;
            begins = !quoted && (separator.is_some() || byte == b' ');
        }
        let first = BYTES.into_iter().zip(found).find(|(_, found)| *found);
        first.map_or(Self::Blank, |(byte, _)| Self::Byte(byte))
    }

    /// Returns true if a byte can end a column.
    #[inline]
    pub fn is(self, byte: u8) -> bool {
        match self {
            Self::Blank => byte == b' ' || byte == b'\t',
            Self::Byte(separator) => byte == separator,
        }
    }

    /// Returns the beginning of the next column if there is a separator at `at`.
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
    /// Returns the content, with doubled quotes undone in `scratch`.
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

/// Returns the columns of a line. With any separator a column may be in double quotes, doubled
/// inside (RFC 4180); it must end on its line.
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
        let inner = match separator {
            Separator::Blank => text,
            Separator::Byte(byte) => trim_blanks(text, byte),
        };
        if let Some(body) = inner.strip_prefix(b"\"") {
            let Some(close) = closing_quote(body) else {
                return Some(Err("a quoted column does not end on its line".into()));
            };
            let (raw, tail) = body.split_at(close);
            let tail = tail.get(1..).unwrap_or_default();
            let tail = match separator {
                Separator::Blank => tail,
                Separator::Byte(byte) => trim_blanks(tail, byte),
            };
            match tail.split_first() {
                None => {}
                Some((&next, tail)) if separator.is(next) => rest = behind(tail, separator),
                Some(_) => return Some(Err("text follows a quoted column".into())),
            }
            return Some(Ok(Field { raw, quoted: true }));
        }
        let end = match separator {
            Separator::Blank => memchr::memchr2(b' ', b'\t', text),
            Separator::Byte(byte) => memchr::memchr(byte, text),
        };
        let raw = match end {
            None => text,
            Some(end) => {
                rest = text.get(end + 1..).and_then(|tail| behind(tail, separator));
                text.get(..end).unwrap_or_default()
            }
        };
        Some(Ok(Field { raw: raw.trim_ascii(), quoted: false }))
    })
}

/// Returns the column after a separator; `None` if only blanks follow.
fn behind(tail: &[u8], separator: Separator) -> Option<&[u8]> {
    match separator {
        Separator::Blank => Some(tail.trim_ascii_start()).filter(|tail| !tail.is_empty()),
        Separator::Byte(_) => Some(tail),
    }
}

/// Removes leading blanks other than the separator.
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

    /// Seen red with quotes kept around columns between blanks, and with a tab in quotes taken for
    /// the separator.
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
        assert_eq!(
            split(" \"a\"\"b\"  \"c d\" e\"f", Separator::Blank).unwrap(),
            ["a\"b", "c d", "e\"f"]
        );
        assert_eq!(split("\"\" x", Separator::Blank).unwrap(), ["", "x"]);
        assert!(split("\"a\"b c", Separator::Blank).is_err());
        assert!(split("\"a b", Separator::Blank).is_err());
        assert_eq!(Separator::sniff(b"1\t2, 3"), Separator::Byte(b'\t'));
        assert_eq!(Separator::sniff(b"\"a\tb\",c"), comma);
        assert_eq!(Separator::sniff(b"\"a\"\"\tb\" ,c"), comma);
        assert_eq!(Separator::sniff(b"\"a,b\" c"), Separator::Blank);
        assert_eq!(Separator::sniff(b"1 2"), Separator::Blank);
    }
}
