//! Text cut into blocks of whole lines, which workers parse in parallel.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Bytes of a block before it is cut at its last line end.
pub(crate) const BLOCK: usize = 512 << 10;

/// Longest line of a format whose lines are short.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// Whole lines of one input.
#[derive(Debug)]
pub(crate) struct TextBlock {
    /// The lines, each with its line end, except a last one that has none.
    pub text: Vec<u8>,
    /// The number of the first line, counted from 1.
    pub first_line: u64,
}

impl TextBlock {
    /// Returns the line number of the byte at `position`.
    pub fn line_at(&self, position: usize) -> u64 {
        let before = self.text.get(..position.min(self.text.len())).unwrap_or_default();
        self.first_line + memchr::memchr_iter(b'\n', before).count() as u64
    }
}

/// The serial half of a text reader: reads, finds line ends, counts lines.
///
/// A line ends with LF, CRLF or, as on early Macintoshes, CR alone. A CR alone becomes an LF here,
/// which moves no byte, so parsers need to know LF and CRLF only.
pub(crate) struct Blocks<'a> {
    reader: Box<dyn Read + Send + 'a>,
    name: PathBuf,
    carry: Vec<u8>,
    next_line: u64,
    started: bool,
    ended: bool,
    cut: Option<fn(u8) -> bool>,
}

impl<'a> Blocks<'a> {
    pub fn new(name: &Path, reader: Box<dyn Read + Send + 'a>) -> Self {
        Self {
            reader,
            name: name.into(),
            carry: Vec::new(),
            next_line: 1,
            started: false,
            ended: false,
            cut: None,
        }
    }

    /// Allows long lines to be cut after a byte that `cut` accepts.
    pub fn with_cuts(self, cut: fn(u8) -> bool) -> Self {
        Self { cut: Some(cut), ..self }
    }

    /// Makes an error at a line of this input.
    pub fn error(&self, line: u64, what: impl Into<String>) -> Error {
        Error::Input { file: self.name.clone(), line, what: what.into() }
    }

    /// Returns the next whole lines, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<TextBlock>> {
        let mut text = std::mem::take(&mut self.carry);
        let mut target = BLOCK;
        let cut = loop {
            self.fill(&mut text, target)?;
            self.strip_mark(&mut text)?;
            // A last CR may be half of a CRLF.
            let known = text.len() - usize::from(!self.ended && text.ends_with(b"\r"));
            translate(&mut text, known);
            if self.ended {
                break text.len();
            }
            if let Some(end) = memchr::memrchr(b'\n', &text) {
                break end + 1;
            }
            if let Some(cut) = self.cut
                && let Some(end) = text.iter().take(known).rposition(|&byte| cut(byte))
            {
                break end + 1;
            }
            if text.len() > MAX_LINE {
                return Err(self.error(
                    self.next_line,
                    "the line is longer than 1 MiB; is this the right format?",
                ));
            }
            target += BLOCK;
        };
        if text.is_empty() {
            return Ok(None);
        }
        self.carry = text.split_off(cut);
        if self.ended {
            self.carry = Vec::new();
        }
        let first_line = self.next_line;
        self.next_line += memchr::memchr_iter(b'\n', &text).count() as u64;
        Ok(Some(TextBlock { text, first_line }))
    }

    fn fill(&mut self, text: &mut Vec<u8>, target: usize) -> Result<()> {
        if self.ended || text.len() >= target {
            return Ok(());
        }
        let wanted = (target - text.len()) as u64;
        text.reserve(BLOCK.min(target - text.len()));
        let read = (&mut self.reader)
            .take(wanted)
            .read_to_end(text)
            .map_err(|source| Error::io("read", &self.name, source))?;
        self.ended = (read as u64) < wanted;
        Ok(())
    }

    /// Removes a UTF-8 byte order mark; refuses other encodings instead of reading noise.
    fn strip_mark(&mut self, text: &mut Vec<u8>) -> Result<()> {
        if std::mem::replace(&mut self.started, true) {
            return Ok(());
        }
        if text.starts_with(b"\xEF\xBB\xBF") {
            text.drain(..3);
        } else if text.starts_with(b"\xFF\xFE") || text.starts_with(b"\xFE\xFF") {
            return Err(
                self.error(1, "the text is UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)")
            );
        }
        Ok(())
    }
}

/// Turns every CR before `known` that is not followed by LF into LF.
fn translate(text: &mut [u8], known: usize) {
    let mut from = 0;
    while let Some(at) = text.get(from..known).and_then(|rest| memchr::memchr(b'\r', rest)) {
        from += at + 1;
        if text.get(from) != Some(&b'\n')
            && let Some(byte) = text.get_mut(from - 1)
        {
            *byte = b'\n';
        }
    }
}

/// Returns the lines of a text with their positions, without line ends (LF or CRLF).
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let rest = text.get(position..).filter(|rest| !rest.is_empty())?;
        let start = position;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        position += end + 1;
        let line = rest.get(..end).unwrap_or_default();
        Some((start, line.strip_suffix(b"\r").unwrap_or(line)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &[u8]) -> Blocks<'_> {
        Blocks::new(Path::new("t"), Box::new(text))
    }

    #[test]
    fn lines_are_whole_and_numbered() -> Result<()> {
        let text: Vec<u8> =
            (0..200_000).flat_map(|i| format!("{i} {}\n", i * 7).into_bytes()).collect();
        let mut blocks = blocks(&text);
        let (mut all, mut line) = (Vec::new(), 1);
        while let Some(block) = blocks.next()? {
            assert_eq!(block.first_line, line);
            assert!(block.text.ends_with(b"\n"));
            line += super::lines(&block.text).count() as u64;
            all.extend_from_slice(&block.text);
        }
        assert!(all == text && line == 200_001);
        Ok(())
    }

    /// Seen red with a CR taken for an LF at the end of a read, before the LF of a CRLF, and with
    /// cuts behind it.
    #[test]
    fn carriage_returns_end_lines() -> Result<()> {
        /// Returns the given number of bytes at a time.
        struct Slow<'b>(&'b [u8], usize);
        impl Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let many = out.len().min(self.1);
                self.0.read(&mut out[..many])
            }
        }
        let all = |text: &[u8], cuts: bool| -> Result<Vec<u8>> {
            let mut blocks = Blocks::new(Path::new("t"), Box::new(Slow(text, 7)));
            if cuts {
                blocks = blocks.with_cuts(|byte| byte.is_ascii_whitespace());
            }
            let (mut all, mut line) = (Vec::new(), 1);
            while let Some(block) = blocks.next()? {
                assert_eq!(block.first_line, line);
                line += memchr::memchr_iter(b'\n', &block.text).count() as u64;
                all.extend(block.text);
            }
            Ok(all)
        };
        // The end of a block falls on each byte of a line end.
        for pad in 0..4 {
            for (end, read) in [("\r", "\n"), ("\r\n", "\r\n"), ("\r\r", "\n\n"), ("\n\r", "\n\n")]
            {
                let text = |end: &str| {
                    let mut text = "1".repeat(pad);
                    while text.len() < 3 * BLOCK {
                        text.push_str(&format!("23{end}"));
                    }
                    text.into_bytes()
                };
                for cuts in [false, true] {
                    assert!(all(&text(end), cuts)? == text(read), "{pad} {end:?} {cuts}");
                }
            }
        }
        // One line, longer than a block, with cuts between its words.
        let long = |end: &str| format!("{}{end}9 9{end}", "7 ".repeat(BLOCK)).into_bytes();
        assert!(all(&long("\r"), true)? == long("\n"));
        Ok(())
    }

    #[test]
    fn marks_ends_and_long_lines() -> Result<()> {
        let first = |text: &[u8]| Ok::<_, Error>(blocks(text).next()?.map(|b| b.text));
        assert_eq!(first(b"\xEF\xBB\xBF1 2")?, Some(b"1 2".to_vec()));
        assert_eq!(first(b"")?, None);
        assert!(first(b"\xFF\xFE1\0").is_err());
        let message = first(&vec![b'x'; 3 << 20]).unwrap_err().to_string();
        assert!(message.starts_with("t:1: the line is longer"), "{message}");
        let got: Vec<_> = lines(b"a\r\n\nb").map(|(_, l)| l.to_vec()).collect();
        assert_eq!(got, [b"a".to_vec(), b"".to_vec(), b"b".to_vec()]);
        Ok(())
    }
}
