//! Detection of separator, header and columns of an edge list or vertex list from its first lines.

use std::path::Path;

use super::batch::canonical_u64;
use super::blocks::{TextBlock, lines};
use super::edge_list::{EdgeList, is_blank_or_comment, is_comment};
use super::fields::{Separator, fields};
use super::task::{Feed, ParseTask};
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

/// What was found out about a file, for the report of the import.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// A sentence each.
    pub notes: Vec<String>,
    /// Comments before the header.
    pub comments: u64,
}

impl Remarks {
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.comments == 0
    }

    /// Says that a file has weights which are not read.
    pub fn unread_weights(&mut self, file: &Path, what: &str) {
        self.notes.push(format!(
            "{}: the {what} were not read; --weighted (weighted=True) reads them as weights",
            base(file)
        ));
    }

    /// Says which columns of a table of edges are not read.
    pub fn unread(&mut self, file: &Path, names: &[String], header: bool, columns: &EdgeColumns) {
        let read = [Some(columns.source), Some(columns.target), columns.weight];
        let left: Vec<&str> = (0..names.len())
            .filter(|column| !read.contains(&Some(*column)))
            .filter_map(|column| names.get(column).map(String::as_str))
            .collect();
        if left.is_empty() {
            return;
        }
        let which = if header { format!(": {}", left.join(", ")) } else { String::new() };
        let many = left.len();
        let columns = if many == 1 { "column was" } else { "columns were" };
        self.notes.push(format!(
            "{}: {many} {columns} not read{which}; --properties (properties=True) keeps columns as \
             properties, --weighted (weighted=True) reads one as weight",
            base(file)
        ));
    }
}

/// A feed whose first piece carries what was found out about the file as a whole.
pub(crate) fn remarked<'a>(
    mut feed: Box<dyn Feed<'a> + 'a>,
    remarks: Remarks,
) -> Box<dyn Feed<'a> + 'a> {
    let mut remarks = (!remarks.is_empty()).then_some(remarks);
    Box::new(move || {
        let task = feed.next()?;
        let Some(remarks) = remarks.take() else { return Ok(task) };
        let task: ParseTask<'a> = Box::new(move |batch| {
            if let Some(task) = task {
                task(batch)?;
            }
            batch.comments += remarks.comments;
            batch.notes.extend(remarks.notes);
            Ok(())
        });
        Ok(Some(task))
    })
}

/// The name of a file without its directory, so that a report does not depend on the latter.
fn base(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

/// Sets up the edge-list reader and removes a header from the first block.
pub(crate) fn edge_list(
    name: &Path,
    options: &ImportOptions,
    block: Option<&mut TextBlock>,
) -> Result<(EdgeList, Remarks)> {
    let empty = TextBlock { text: Vec::new(), first_line: 1 };
    let first = FirstLine::read(block.as_deref().unwrap_or(&empty), options);
    let header = first.header(options);
    let columns = choose_columns(name, options, if header { Some(&first.names) } else { None })?;
    let mut remarks = Remarks::default();
    if header {
        first.spaces(name, &columns)?;
    }
    remarks.unread(name, &first.names, header, &columns);
    if header && let Some(block) = block {
        if first.guessed(options) {
            remarks.notes.push(first.taken(name));
        }
        remarks.comments = first.cut(block);
    }
    let EdgeColumns { source, target, weight } = columns;
    let parser = EdgeList { name: name.into(), separator: first.separator, source, target, weight };
    Ok((parser, remarks))
}

/// Returns the separator and the column of a vertex list; removes a header from the first block.
pub(crate) fn vertex_list(
    name: &Path,
    options: &ImportOptions,
    block: &mut TextBlock,
) -> (Separator, usize, Remarks) {
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
    let mut remarks = Remarks::default();
    if first.names.len() > 1 {
        remarks.notes.push(format!(
            "{}: only the column of ids was read, of {} columns; --properties (properties=True) \
             keeps columns as properties",
            base(name),
            first.names.len()
        ));
    }
    if header {
        if named.is_none() {
            remarks.notes.push(first.taken(name));
        }
        remarks.comments = first.cut(block);
    }
    (first.separator, named.unwrap_or(0), remarks)
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
        if self.known() {
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

    /// Whether names of both ends are among the fields.
    fn known(&self) -> bool {
        let known =
            |name: &String| name.contains(":start_id") || SOURCE_NAMES.contains(&name.as_str());
        let paired =
            |name: &String| name.contains(":end_id") || TARGET_NAMES.contains(&name.as_str());
        self.names.iter().any(known) && self.names.iter().any(paired)
    }

    /// Whether nothing but the lines themselves told that the first is a header.
    fn guessed(&self, options: &ImportOptions) -> bool {
        options.header.is_none() && options.columns.is_none() && !self.known()
    }

    /// The note on a header that was guessed.
    fn taken(&self, file: &Path) -> String {
        let line: String = self.names.join(",").chars().take(80).collect();
        format!(
            "{}: the first line, {line}, was taken for the names of the columns; --no-header \
             (header=False) reads it as data",
            base(file)
        )
    }

    /// # Errors
    /// [`Error::Input`] if the two ends of edges are in id spaces of different names, which an import
    /// without properties would take for one.
    fn spaces(&self, file: &Path, columns: &EdgeColumns) -> Result<()> {
        let space = |column: usize| self.names.get(column).and_then(|name| space_of(name));
        match (space(columns.source), space(columns.target)) {
            (Some(a), Some(b)) if a != b => Err(Error::Input {
                file: file.into(),
                line: 1,
                what: format!(
                    "the ends of the edges are in the id spaces {a} and {b}; --properties \
                     (properties=True) keeps the spaces apart"
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Removes the lines up to and including the header from the block; returns the number of comments
    /// among them.
    fn cut(&self, block: &mut TextBlock) -> u64 {
        block.first_line = block.line_at(self.end);
        let end = self.end.min(block.text.len());
        let head = block.text.get(..end).unwrap_or_default();
        let comments = lines(head).filter(|(_, line)| is_comment(line)).count();
        block.text.drain(..end);
        comments as u64
    }
}

/// The id space that a header names: `:START_ID(Person)`, or `Person.id` as LDBC has it.
fn space_of(name: &str) -> Option<&str> {
    let typed = name.contains(":start_id") || name.contains(":end_id");
    let bracket = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    bracket.filter(|_| typed).or(name.strip_suffix(".id")).filter(|space| !space.is_empty())
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
