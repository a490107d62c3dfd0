//! Records of a text file: fields between separators, with or without quotes (RFC 4180).
//!
//! An empty field is null, and a field with nothing between its quotes is an empty value.

use std::io::{BufRead, BufReader, Read};

/// Bytes of the buffer of a file.
const BUFFER: usize = 64 << 10;
/// Separators that are detected; the first of them that occurs is taken.
const SEPARATORS: [u8; 4] = [b'\t', b'|', b',', b';'];
const QUOTE: u8 = b'"';

/// Reads records one by one.
pub(super) struct Records<R> {
    input: BufReader<R>,
    separator: u8,
    quoting: bool,
    text: Vec<u8>,
    fields: Vec<FieldSpan>,
    /// Line of the record, and of the next byte, from 1 on.
    line: u64,
    next_line: u64,
    /// True if the last byte was a CR: an LF behind it ends no further line.
    half: bool,
}

#[derive(Clone, Copy, Debug)]
struct FieldSpan {
    /// End of the field in the text of the record.
    end: usize,
    quoted: bool,
}

/// State of the parser before the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ParseState {
    /// Before a record, where blank lines are skipped.
    Record,
    /// Before a field.
    Field,
    Plain,
    Quoted,
    /// Behind a quotation mark between quotes: it ends the quotes, unless another one follows,
    /// which stands for one mark.
    Mark,
}

impl<R: Read> Records<R> {
    /// Without `quoting`, quotation marks are ordinary characters.
    pub(super) fn new(input: R, separator: u8, quoting: bool) -> Self {
        let input = BufReader::with_capacity(BUFFER, input);
        let (text, fields) = (Vec::new(), Vec::new());
        Records { input, separator, quoting, text, fields, line: 1, next_line: 1, half: false }
    }

    /// Reads the next record; false at the end of the file.
    pub(super) fn next(&mut self) -> std::io::Result<bool> {
        self.text.clear();
        self.fields.clear();
        let (mut at, mut quoted) = (ParseState::Record, false);
        loop {
            let buffer = self.input.fill_buf()?;
            let Some(&first) = buffer.first() else {
                if at != ParseState::Record {
                    self.fields.push(FieldSpan { end: self.text.len(), quoted });
                }
                return Ok(at != ParseState::Record);
            };
            if at == ParseState::Record {
                if first == b'\n' || first == b'\r' {
                    self.next_line += u64::from(first == b'\r' || !self.half);
                    self.half = first == b'\r';
                    self.input.consume(1);
                    continue;
                }
                self.half = false;
                self.line = self.next_line;
                at = ParseState::Field;
            }
            if first == QUOTE && (at == ParseState::Mark || at == ParseState::Field && self.quoting)
            {
                if at == ParseState::Mark {
                    self.text.push(QUOTE);
                }
                (at, quoted) = (ParseState::Quoted, true);
                self.input.consume(1);
                continue;
            }
            let end = match at {
                ParseState::Quoted => memchr::memchr(QUOTE, buffer),
                _ => memchr::memchr3(self.separator, b'\n', b'\r', buffer),
            };
            let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            self.text.extend_from_slice(part);
            let last = end.and_then(|end| buffer.get(end)).copied();
            if at == ParseState::Quoted {
                self.next_line += memchr::memchr_iter(b'\n', part).count() as u64;
                at = if last.is_some() { ParseState::Mark } else { ParseState::Quoted };
            } else {
                at = ParseState::Plain;
                if last.is_some() {
                    self.fields.push(FieldSpan { end: self.text.len(), quoted });
                    (at, quoted) = (ParseState::Field, false);
                }
                self.next_line += u64::from(matches!(last, Some(b'\n' | b'\r')));
                self.half = last == Some(b'\r');
            }
            let taken = part.len() + usize::from(last.is_some());
            self.input.consume(taken);
            if at == ParseState::Field && last != Some(self.separator) {
                return Ok(true);
            }
        }
    }

    /// Number of fields of the record.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field of the record, without its quotes; `None` if it is empty and has none.
    pub(super) fn field(&self, number: usize) -> Option<&[u8]> {
        let field = self.fields.get(number)?;
        let before = number.checked_sub(1).and_then(|before| self.fields.get(before));
        let text = self.text.get(before.map_or(0, |field| field.end)..field.end)?;
        if text.is_empty() && !field.quoted { None } else { Some(text) }
    }

    /// Returns true if a field of the record has quotes.
    pub(super) fn is_quoted(&self, number: usize) -> bool {
        self.fields.get(number).is_some_and(|field| field.quoted)
    }

    /// Line on which the record begins, from 1 on.
    pub(super) fn line(&self) -> u64 {
        self.line
    }
}

/// Detects the separator of a file that begins with `head`; `None` if the first record has one
/// field.
pub(super) fn separator(head: &[u8]) -> Option<u8> {
    let (mut quoted, mut begins, mut found) = (false, true, [false; SEPARATORS.len()]);
    for byte in head {
        let separator = SEPARATORS.iter().position(|separator| separator == byte);
        match (*byte, separator) {
            (QUOTE, _) if quoted || begins => quoted = !quoted,
            (b'\n', _) if !quoted => break,
            (_, Some(number)) if !quoted => {
                found.iter_mut().skip(number).take(1).for_each(|found| *found = true);
            }
            _ => {}
        }
        begins = !quoted && separator.is_some();
    }
    SEPARATORS.into_iter().zip(found).find(|(_, found)| *found).map(|(separator, _)| separator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Line = (u64, Vec<Option<Vec<u8>>>);

    /// Returns bytes one by one, so that no record is read in one piece.
    struct Slow<'b>(&'b [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let many = out.len().min(1);
            self.0.read(&mut out[..many])
        }
    }

    fn read(input: impl Read, separator: u8, quoting: bool) -> Vec<Line> {
        let mut records = Records::new(input, separator, quoting);
        let mut lines = Vec::new();
        while records.next().unwrap() {
            let fields = (0..records.len()).map(|i| records.field(i).map(<[u8]>::to_vec));
            lines.push((records.line(), fields.collect()));
        }
        lines
    }

    fn line(number: u64, fields: &[Option<&str>]) -> Line {
        (number, fields.iter().map(|field| field.map(|text| text.as_bytes().to_vec())).collect())
    }

    #[test]
    fn fields_quotes_and_lines() {
        let text = b"a,\"b,\"\"c\"\"\n\",\r\n\n\n\"\",,x\"y\n\"e\"f,\"\n";
        assert_eq!(
            read(&text[..], b',', true),
            [
                line(1, &[Some("a"), Some("b,\"c\"\n"), None]),
                line(5, &[Some(""), None, Some("x\"y")]),
                line(6, &[Some("ef"), Some("\n")]),
            ]
        );
        // Seen red with lines that end only at LF.
        let returns = read(&b"a\rb\r\r\nc\n\rd\r"[..], b',', true);
        let expected = [(1, "a"), (2, "b"), (4, "c"), (6, "d")];
        assert_eq!(returns, expected.map(|(number, text)| line(number, &[Some(text)])));
        let plain = read(&b"\"a\tb\"\t\n"[..], b'\t', false);
        assert_eq!(plain, [line(1, &[Some("\"a"), Some("b\""), None])]);
    }

    /// Seen red with quotes that are ignored.
    #[test]
    fn separators_outside_quotes() {
        for (head, expected) in [
            (":ID,\"a|b\tc:string\"\n1;2", Some(b',')),
            (":ID\tin, \"out\nx", Some(b'\t')),
            ("\"a;b\n\"|x,y", Some(b'|')),
            (":ID\n1,2", None),
        ] {
            assert_eq!(separator(head.as_bytes()), expected, "{head}");
        }
    }

    proptest! {
        /// The crate csv is the oracle; it does not tell empty quotes from empty fields. Seen red
        /// with a doubled quotation mark that ends its field, and with a record that a carriage
        /// return does not end.
        #[test]
        fn as_others_read_them(text in "[ab,\"\n\r]{0,40}", quoting: bool) {
            let mut reader = csv::ReaderBuilder::new();
            let reader = reader.has_headers(false).flexible(true).quoting(quoting);
            let mut reader = reader.from_reader(text.as_bytes());
            let expected = reader.byte_records().map(|record| {
                record.unwrap().iter().map(<[u8]>::to_vec).collect::<Vec<_>>()
            });
            let expected: Vec<_> = expected.collect();
            let whole = read(text.as_bytes(), b',', quoting);
            prop_assert_eq!(&whole, &read(Slow(text.as_bytes()), b',', quoting));
            let fields = |(_, fields): Line| fields.into_iter().map(Option::unwrap_or_default).collect();
            let found: Vec<Vec<_>> = whole.into_iter().map(fields).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
