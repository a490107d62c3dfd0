//! Edge lists: SNAP, KONECT, CSV, TSV and CSV with typed headers (`:START_ID`, `:END_ID`).
//!
//! Lines that begin with `#` or `%` are comments. The separator, a header and the columns are
//! detected from the first lines unless the options name them. Lines that begin with two integers,
//! by far the most frequent, have a parser of their own.

use std::path::PathBuf;

use super::batch::{Batch, Weight};
use super::blocks::{TextBlock, lines};
use super::fields::{Separator, fields};
use super::weight::{parse_weight, show};
use crate::{Error, Result};

/// The parser of one edge list.
#[derive(Clone, Debug)]
pub(crate) struct EdgeList {
    /// The file, for messages.
    pub name: PathBuf,
    pub separator: Separator,
    /// Number of the column, counted from 0.
    pub source: usize,
    pub target: usize,
    pub weight: Option<usize>,
}

impl EdgeList {
    /// Reads all edges of a block.
    pub fn parse(&self, block: &TextBlock, batch: &mut Batch) -> Result<()> {
        let simple = self.source == 0 && self.target == 1 && self.weight.is_none_or(|w| w == 2);
        let text = block.text.as_slice();
        let mut position = 0;
        while position < text.len() {
            if simple && let Some(next) = self.parse_integers(text, position, batch) {
                position = next;
                continue;
            }
            let rest = text.get(position..).unwrap_or_default();
            let (_, line) = lines(rest).next().unwrap_or_default();
            self.parse_line(line, batch).map_err(|what| match what {
                Problem::Line(what) => {
                    Error::Input { file: self.name.clone(), line: block.line_at(position), what }
                }
                Problem::Other(error) => error,
            })?;
            position += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        }
        Ok(())
    }

    /// Parses `digits separator digits [separator weight]` at `position`. Returns the beginning of
    /// the next line, or `None` if the line needs the full parser.
    #[inline]
    fn parse_integers(&self, text: &[u8], position: usize, batch: &mut Batch) -> Option<usize> {
        let (source, at) = digits(text, position)?;
        let at = self.separator.skip(text, at)?;
        let (target, at) = digits(text, at)?;
        if self.weight.is_some() {
            let start = self.separator.skip(text, at)?;
            let rest = text.get(start..)?;
            let end =
                rest.iter().position(|&b| b == b'\n' || self.separator.is(b)).unwrap_or(rest.len());
            match parse_weight(rest.get(..end)?)? {
                Weight::Int(weight) => batch.int_weights.push_int(weight),
                Weight::Float(weight) => batch.int_weights.push_float(weight),
            }
            batch.ints.push([source, target]);
            return end_of_line(text, start + end);
        }
        match text.get(at) {
            None => {}
            Some(b'\n') => {
                batch.ints.push([source, target]);
                return Some(at + 1);
            }
            Some(b'\r') if text.get(at + 1) == Some(&b'\n') => {}
            Some(&byte) if self.separator.is(byte) => {}
            Some(_) => return None,
        }
        batch.ints.push([source, target]);
        end_of_line(text, at)
    }

    fn parse_line(&self, line: &[u8], batch: &mut Batch) -> Result<(), Problem> {
        if is_blank_or_comment(line) {
            batch.comments += u64::from(is_comment(line));
            return Ok(());
        }
        let (mut source, mut target, mut weight) = (None, None, None);
        let last = self.source.max(self.target).max(self.weight.unwrap_or(0));
        let mut unquoted = [Vec::new(), Vec::new(), Vec::new()];
        let [unquoted_source, unquoted_target, unquoted_weight] = &mut unquoted;
        let mut found = 0;
        for (number, field) in fields(line, self.separator).take(last + 1).enumerate() {
            let field = field.map_err(Problem::Line)?;
            found += 1;
            if number == self.source {
                source = Some(field.text(unquoted_source));
            } else if number == self.target {
                target = Some(field.text(unquoted_target));
            } else if Some(number) == self.weight {
                weight = Some(field.text(unquoted_weight));
            }
        }
        let (Some(source), Some(target)) = (source, target) else {
            return Err(Problem::Line(format!(
                "expected a source in column {} and a target in column {}, found {found} column{} between {}; \
                 check the separator, the columns and the format",
                self.source + 1,
                self.target + 1,
                if found == 1 { "" } else { "s" },
                self.separator
            )));
        };
        if source.is_empty() || target.is_empty() {
            let which = if source.is_empty() { "source" } else { "target" };
            return Err(Problem::Line(format!("the {which} is empty; every edge needs two ids")));
        }
        let weight = self.weight.map(|column| read_weight(weight, column)).transpose()?;
        batch.push_edge(source, target, weight).map_err(Problem::Other)
    }
}

/// The fault of a line, before its number is known.
pub(crate) enum Problem {
    Line(String),
    Other(Error),
}

fn read_weight(field: Option<&[u8]>, column: usize) -> Result<Weight, Problem> {
    let Some(field) = field else {
        return Err(Problem::Line(format!(
            "no weight in column {}; import without weights or mend the line",
            column + 1
        )));
    };
    parse_weight(field)
        .ok_or_else(|| Problem::Line(format!("the weight {} is not a finite number", show(field))))
}

pub(crate) fn is_blank_or_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().is_empty() || is_comment(line)
}

pub(crate) fn is_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), Some(b'#' | b'%'))
}

/// Parses a canonical integer at `start`; returns its value and its end.
#[inline]
fn digits(text: &[u8], start: usize) -> Option<(u64, usize)> {
    let first = text.get(start)?.wrapping_sub(b'0');
    if first > 9 {
        return None;
    }
    let mut value = u64::from(first);
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // Wraps beyond 19 digits; the length check below leaves such numbers to the full parser.
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    let length = at - start;
    (length <= 19 && (first != 0 || length == 1)).then_some((value, at))
}

#[inline]
fn end_of_line(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    Some(memchr::memchr(b'\n', rest).map_or(text.len(), |end| at + end + 1))
}
