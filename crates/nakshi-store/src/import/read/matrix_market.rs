//! Matrix Market, coordinate form.
//!
//! Source: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935 (1996).
//! Entry (i, j) is the edge from i to j; ids count from 1, and every row is a vertex. A symmetric
//! matrix stores one triangle, and each of its entries stands for both directions.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::batch::{Batch, Weight};
use super::blocks::{Blocks, TextBlock, lines};
use super::header::{Remarks, remarked};
use super::task::{Feed, ParseTask};
use super::weight::{parse_weight, show};
use crate::decimal::parse_u64;
use crate::import::ImportOptions;
use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

#[derive(Debug)]
struct MatrixMarketHeader {
    pattern: bool,
    symmetry: Symmetry,
    rows: u64,
    entries: u64,
}

struct Matrix {
    name: std::path::PathBuf,
    header: MatrixMarketHeader,
    weighted: bool,
    directed: bool,
    found: AtomicU64,
}

/// Sets up the reader.
pub(crate) fn feed<'a>(
    name: &Path,
    reader: Box<dyn Read + Send + 'a>,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let mut blocks = Blocks::new(name, reader);
    let first = blocks.next()?.unwrap_or(TextBlock { text: Vec::new(), first_line: 1 });
    let error = |line, what: &str| Error::Input { file: name.into(), line, what: what.into() };
    let (header, rest) = read_header(&first).map_err(|(line, what)| error(line, &what))?;
    if options.weighted && header.pattern {
        return Err(error(1, "a pattern matrix has no weights; import without weights"));
    }
    let mut remarks = Remarks::default();
    if !header.pattern && !options.weighted {
        remarks.unread_weights(name, "values of the matrix");
    }
    let matrix = Arc::new(Matrix {
        name: name.into(),
        header,
        weighted: options.weighted,
        directed: options.directed,
        found: AtomicU64::new(0),
    });
    let mut rest = Some(rest);
    let mut ended = false;
    let mut last_line = 1;
    let feed = Box::new(move || {
        let block = match rest.take() {
            Some(block) => Some(block),
            None => blocks.next()?,
        };
        let matrix = Arc::clone(&matrix);
        if let Some(block) = block {
            let lines = memchr::memchr_iter(b'\n', &block.text).count() as u64;
            last_line = block.first_line + lines;
            matrix.count(&block);
            let task: ParseTask<'a> = Box::new(move |batch| matrix.parse(&block, batch));
            return Ok(Some(task));
        }
        if std::mem::replace(&mut ended, true) {
            return Ok(None);
        }
        matrix.check(last_line)?;
        let rows = matrix.header.rows;
        let task: ParseTask<'a> = Box::new(move |batch| {
            batch.ranges.push(1..rows + 1);
            Ok(())
        });
        Ok(Some(task))
    });
    Ok(remarked(feed, remarks))
}

/// Reads banner, comments and sizes; returns them with the remaining lines.
fn read_header(block: &TextBlock) -> Result<(MatrixMarketHeader, TextBlock), (u64, String)> {
    let mut all = lines(&block.text);
    let (_, banner) = all.next().unwrap_or_default();
    let banner = String::from_utf8_lossy(banner).to_ascii_lowercase();
    let words: Vec<&str> = banner.split_ascii_whitespace().collect();
    let ["%%matrixmarket", "matrix", storage, field, symmetry] = words[..] else {
        return Err((
            1,
            "the first line is not '%%MatrixMarket matrix coordinate FIELD SYMMETRY'".into(),
        ));
    };
    if storage != "coordinate" {
        return Err((1, format!("'{storage}' matrices are not read; write it in coordinate form")));
    }
    let pattern = match field {
        "pattern" => true,
        "real" | "integer" | "double" | "bool" => false,
        _ => {
            return Err((
                1,
                format!("'{field}' entries are not read; use pattern, integer or real"),
            ));
        }
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::Skew,
        _ => {
            return Err((
                1,
                format!(
                    "'{symmetry}' matrices are not read; use general, symmetric or skew-symmetric"
                ),
            ));
        }
    };
    for (position, line) in all {
        if line.trim_ascii().is_empty() || line.starts_with(b"%") {
            continue;
        }
        let number = block.line_at(position);
        let (rows, entries) = sizes(line).map_err(|what| (number, what))?;
        let rest = block.text.get(position..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let text = rest.get(end..).unwrap_or_default().to_vec();
        return Ok((
            MatrixMarketHeader { pattern, symmetry, rows, entries },
            TextBlock { text, first_line: number + 1 },
        ));
    }
    Err((block.line_at(block.text.len()), "the file ends before the line of sizes".into()))
}

/// Parses the numbers of rows and entries from the line of sizes.
fn sizes(line: &[u8]) -> Result<(u64, u64), String> {
    let sizes: Vec<Option<u64>> =
        line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).map(parse_u64).collect();
    let [Some(rows), Some(columns), Some(entries)] = sizes[..] else {
        return Err(format!(
            "expected the numbers of rows, columns and entries, found {}",
            show(line)
        ));
    };
    if rows != columns {
        return Err(format!(
            "the matrix has {rows} rows and {columns} columns; a graph needs a square one"
        ));
    }
    if rows > 1 << 32 {
        return Err(format!("{rows} rows; this version holds up to 2^32 vertices"));
    }
    Ok((rows, entries))
}

impl Matrix {
    fn error(&self, line: u64, what: String) -> Error {
        Error::Input { file: self.name.clone(), line, what }
    }

    /// Counts entries; the serial half calls it, which knows the end of the file.
    fn count(&self, block: &TextBlock) {
        let entries = lines(&block.text).filter(|(_, line)| !is_void(line)).count();
        self.found.fetch_add(entries as u64, Ordering::Relaxed);
    }

    fn check(&self, line: u64) -> Result<()> {
        let (found, promised) = (self.found.load(Ordering::Relaxed), self.header.entries);
        if found == promised {
            return Ok(());
        }
        Err(self.error(
            line,
            format!("the header promises {promised} entries, the file has {found}; is it cut off?"),
        ))
    }

    fn parse(&self, block: &TextBlock, batch: &mut Batch) -> Result<()> {
        for (position, line) in lines(&block.text) {
            if is_void(line) {
                continue;
            }
            let error = |what: String| self.error(block.line_at(position), what);
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let mut index = || -> Result<u64> {
                let word =
                    words.next().ok_or_else(|| error("the entry has no row and column".into()))?;
                let index = parse_u64(word).filter(|index| (1..=self.header.rows).contains(index));
                index.ok_or_else(|| {
                    error(format!(
                        "the index {} is not between 1 and {}",
                        show(word),
                        self.header.rows
                    ))
                })
            };
            let (row, column) = (index()?, index()?);
            let weight = if self.weighted {
                let word = words.next().ok_or_else(|| error("the entry has no value".into()))?;
                Some(parse_weight(word).ok_or_else(|| {
                    error(format!("the value {} is not a finite number", show(word)))
                })?)
            } else {
                None
            };
            push(batch, row, column, weight);
            // An undirected graph has the other direction anyway.
            if self.header.symmetry != Symmetry::General && row != column && self.directed {
                let mirrored = if self.header.symmetry == Symmetry::Skew {
                    weight.map(negate)
                } else {
                    weight
                };
                push(batch, column, row, mirrored);
            }
        }
        Ok(())
    }
}

fn is_void(line: &[u8]) -> bool {
    line.starts_with(b"%") || line.trim_ascii().is_empty()
}

fn negate(weight: Weight) -> Weight {
    match weight {
        Weight::Int(int) => {
            int.checked_neg().map_or(Weight::Float(-super::as_float(int)), Weight::Int)
        }
        Weight::Float(float) => Weight::Float(-float),
    }
}

fn push(batch: &mut Batch, source: u64, target: u64, weight: Option<Weight>) {
    batch.ints.push([source, target]);
    match weight {
        Some(Weight::Int(weight)) => batch.int_weights.push_int(weight),
        Some(Weight::Float(weight)) => batch.int_weights.push_float(weight),
        None => {}
    }
}
