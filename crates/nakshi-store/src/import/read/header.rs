//! Detection of separator, header and columns of an edge list or vertex list from its first lines.

use std::path::Path;

use super::batch::canonical_u64;
use super::blocks::{TextBlock, lines};
use super::edge_list::{EdgeList, is_blank_or_comment};
use super::fields::{Separator, fields};
use crate::import::ImportOptions;
use crate::{Error, Result};

/// Names of the source column in headers, in lower case.
pub(crate) const SOURCE_NAMES: [&str; 8] =
    ["source", "src", "from", "start", "tail", "source_id", "src_id", "node1"];
/// Names of the target column in headers.
pub(crate) const TARGET_NAMES: [&str; 8] =
    ["target", "dst", "to", "end", "head", "target_id", "dst_id", "node2"];
/// Names of the weight column in headers.
pub(crate) const WEIGHT_NAMES: [&str; 6] = ["weight", "w", "value", "cost", "distance", "capacity"];

/// The columns of source, target and weight.
pub(crate) struct EdgeColumns {
    pub source: usize,
    pub target: usize,
    pub weight: Option<usize>,
}

/// Sets up the edge-list reader and removes a header from the first block.
pub(crate) fn edge_list(
    name: &Path,
    options: &ImportOptions,
    block: Option<&mut TextBlock>,
) -> Result<EdgeList> {
    let empty = TextBlock { text: Vec::new(), first_line: 1 };
    let first = FirstLine::read(block.as_deref().unwrap_or(&empty), options);
    let header = first.header(options);
    let columns = choose_columns(name, options, if header { Some(&first.names) } else { None })?;
    if header && let Some(block) = block {
        first.cut(block);
    }
    let EdgeColumns { source, target, weight } = columns;
    Ok(EdgeList { name: name.into(), separator: first.separator, source, target, weight })
}

/// Returns the separator and the column of a vertex list; removes a header from the first block.
pub(crate) fn vertex_list(options: &ImportOptions, block: &mut TextBlock) -> (Separator, usize) {
    let first = FirstLine::read(block, options);
    let named = first
        .names
        .iter()
        .position(|name| name.contains(":id") || name == "id" || name == "node_id");
    let header = named.is_some()
        || (first.second_is_integer == Some(true)
            && first
                .names
                .first()
                .is_some_and(|n| canonical_u64(n.as_bytes()).is_none() && !n.starts_with('-')));
    if header {
        first.cut(block);
    }
    (first.separator, named.unwrap_or(0))
}

/// The first line that is neither blank nor a comment, and properties of the second.
struct FirstLine {
    separator: Separator,
    names: Vec<String>,
    end: usize,
    second_is_integer: Option<bool>,
}

impl FirstLine {
    fn read(block: &TextBlock, options: &ImportOptions) -> Self {
        let mut data = lines(&block.text).filter(|(_, line)| !is_blank_or_comment(line));
        let (start, line) = data.next().unwrap_or_default();
        let separator = options.separator.map_or_else(|| Separator::sniff(line), separator_of);
        let names = split(line, separator);
        let rest = block.text.get(start..).unwrap_or_default();
        let end = start + memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let second_is_integer = data.next().map(|(_, line)| {
            let fields = split(line, separator);
            !fields.is_empty()
                && fields.iter().take(2).all(|f| canonical_u64(f.as_bytes()).is_some())
        });
        Self { separator, names, end, second_is_integer }
    }

    /// Returns true if the line is a header: it contains a well-known name, or words above a line
    /// of integers.
    fn header(&self, options: &ImportOptions) -> bool {
        if let Some(header) = options.header {
            return header;
        }
        if let Some(columns) = &options.columns
            && columns.iter().any(|c| canonical_u64(c.as_bytes()).is_none())
        {
            return true;
        }
        let known =
            |name: &String| name.contains(":start_id") || SOURCE_NAMES.contains(&name.as_str());
        let paired =
            |name: &String| name.contains(":end_id") || TARGET_NAMES.contains(&name.as_str());
        if self.names.iter().any(known) && self.names.iter().any(paired) {
            return true;
        }
        let words = self.names.len() >= 2
            && self
                .names
                .iter()
                .take(2)
                .all(|n| !n.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
        words && self.second_is_integer == Some(true)
    }

    /// Removes the lines up to and including the header from the block.
    fn cut(&self, block: &mut TextBlock) {
        block.first_line = block.line_at(self.end);
        block.text.drain(..self.end.min(block.text.len()));
    }
}

fn separator_of(byte: u8) -> Separator {
    if byte == b' ' { Separator::Blank } else { Separator::Byte(byte) }
}

fn split(line: &[u8], separator: Separator) -> Vec<String> {
    fields(line, separator)
        .map_while(Result::ok)
        .map(|field| String::from_utf8_lossy(field.text(&mut Vec::new())).to_ascii_lowercase())
        .collect()
}

/// Chooses the columns by `--columns`, or by the names of the header, or takes the first ones.
pub(crate) fn choose_columns(
    name: &Path,
    options: &ImportOptions,
    header: Option<&[String]>,
) -> Result<EdgeColumns> {
    let Some(wanted) = &options.columns else {
        let find = |typed: &str, names: &[&str]| {
            let header = header?;
            header
                .iter()
                .position(|h| !typed.is_empty() && h.contains(typed))
                .or_else(|| names.iter().find_map(|n| header.iter().position(|h| h == n)))
        };
        let source = find(":start_id", &SOURCE_NAMES).unwrap_or(0);
        let target = find(":end_id", &TARGET_NAMES).unwrap_or(if source == 1 { 0 } else { 1 });
        let third = (0..3).find(|&c| c != source && c != target).unwrap_or(2);
        let weight = options.weighted.then(|| find("", &WEIGHT_NAMES).unwrap_or(third));
        return Ok(EdgeColumns { source, target, weight });
    };
    let locate = |column: &String| -> Result<usize> {
        let lower = column.to_ascii_lowercase();
        if let Some(place) = header.and_then(|names| names.iter().position(|n| *n == lower)) {
            return Ok(place);
        }
        match column.parse::<usize>() {
            Ok(number) if (1..=65_536).contains(&number) => Ok(number - 1),
            _ => Err(Error::Input {
                file: name.into(),
                line: 1,
                what: match header {
                    Some(names) => format!("no column '{column}'; there are: {}", names.join(", ")),
                    None => format!(
                        "no column '{column}'; without a header give numbers counted from 1"
                    ),
                },
            }),
        }
    };
    match wanted.as_slice() {
        [source, target] if !options.weighted => {
            Ok(EdgeColumns { source: locate(source)?, target: locate(target)?, weight: None })
        }
        [source, target, weight] => Ok(EdgeColumns {
            source: locate(source)?,
            target: locate(target)?,
            weight: options.weighted.then(|| locate(weight)).transpose()?,
        }),
        _ => Err(Error::Invalid(format!(
            "columns names source and target{}, not {} columns",
            if options.weighted { " and weight" } else { "" },
            wanted.len()
        ))),
    }
}
