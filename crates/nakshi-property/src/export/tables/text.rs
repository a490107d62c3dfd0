//! CSV and TSV files of nodes and edges; an import reads the same values from the text.

use std::io::Write;
use std::path::Path;

use crate::{PropertyType, Value};
use nakshi_io::CancelToken;
use nakshi_store::export::OutputFile;
use nakshi_store::{Error, ExternalId, Result};

/// Bytes of text that are collected before they are written.
const BUFFER: usize = 1 << 20;
/// Separator between the items of a list.
const ITEMS: u8 = b';';
const TAB: u8 = b'\t';

/// Writer of a file of rows.
pub(super) struct TextTable {
    output: OutputFile,
    separator: u8,
    /// Names of the columns, for errors.
    header: Vec<String>,
    /// Number of the next column.
    column: usize,
    rows: Vec<u8>,
    field: Vec<u8>,
}

impl TextTable {
    /// Starts a file with this header.
    pub fn create(
        path: &Path,
        cancel: &CancelToken,
        separator: u8,
        header: impl Iterator<Item = (String, PropertyType)>,
    ) -> Result<Self> {
        let header: Vec<String> = header.map(|(name, _)| name).collect();
        let (rows, field) = (Vec::with_capacity(BUFFER), Vec::new());
        let output = OutputFile::create(path, cancel)?;
        let mut text = TextTable { output, separator, header, column: 0, rows, field };
        for column in 0..text.header.len() {
            let name = text.header.get(column).cloned().unwrap_or_default();
            // An import trims a name without quotes, and takes any of these characters for a
            // separator.
            let odd = name.trim() != name || name.contains(['\t', '|', ',', ';', '"']);
            text.field.extend_from_slice(name.as_bytes());
            text.put(odd)?;
        }
        text.end_row()?;
        Ok(text)
    }

    /// Appends a field with an id.
    pub fn id(&mut self, id: &ExternalId) -> Result<()> {
        self.field.extend_from_slice(&id.clone().into_bytes());
        self.put(false)
    }

    /// Appends a field with a value; null is an empty field.
    pub fn value(&mut self, value: &Value) -> Result<()> {
        if *value == Value::Null {
            self.separate();
            return Ok(());
        }
        let done = put(value, &mut self.field);
        done.map_err(|what| self.refused(&what, "Parquet"))?;
        self.put(false)
    }

    fn separate(&mut self) {
        if self.column > 0 {
            self.rows.push(self.separator);
        }
        self.column += 1;
    }

    /// Ends the field, with quotes if it needs them or is `odd`.
    fn put(&mut self, odd: bool) -> Result<()> {
        let lines = memchr::memchr2(b'\n', b'\r', &self.field).is_some();
        let parted = memchr::memchr2(self.separator, b'"', &self.field).is_some();
        let empty = self.field.is_empty();
        if self.separator == TAB {
            self.check_tabs(odd)?;
        }
        self.separate();
        if self.separator == TAB || !(odd || lines || parted || empty) {
            self.rows.append(&mut self.field);
            return Ok(());
        }
        self.rows.push(b'"');
        for part in self.field.split_inclusive(|byte| *byte == b'"') {
            self.rows.extend_from_slice(part);
            if part.ends_with(b"\"") {
                self.rows.push(b'"');
            }
        }
        self.rows.push(b'"');
        self.field.clear();
        Ok(())
    }

    /// Refuses fields that would need quotes in TSV, which has none.
    fn check_tabs(&self, odd: bool) -> Result<()> {
        let has = |bytes: &[u8]| self.field.iter().any(|byte| bytes.contains(byte));
        let name = odd && self.field.trim_ascii().len() != self.field.len();
        let what = if has(b"\t\n\r") {
            "a tab or a line break"
        } else if self.field.is_empty() {
            "an empty text, which would be none,"
        } else if name {
            "blanks around its name"
        } else if self.header.len() == 1 && has(b",\"") {
            // An import does not take a line without a tab for TSV.
            "a comma or a quotation mark in the only column"
        } else {
            return Ok(());
        };
        Err(self.refused(&format!("TSV cannot hold {what}"), "CSV or Parquet"))
    }

    fn refused(&self, what: &str, others: &str) -> Error {
        let column = self.header.get(self.column).map_or("", String::as_str);
        Error::Invalid(format!("the column '{column}': {what}; export to {others}"))
    }

    /// Ends the row.
    pub fn end_row(&mut self) -> Result<()> {
        self.rows.push(b'\n');
        self.column = 0;
        if self.rows.len() < BUFFER {
            return Ok(());
        }
        self.output.put(&self.rows)?;
        self.rows.clear();
        Ok(())
    }

    /// Finishes the contents; the file gets its name later.
    pub fn close(mut self) -> Result<OutputFile> {
        self.output.put(&self.rows)?;
        Ok(self.output)
    }
}

/// Appends a value in the form that an import reads.
fn put(value: &Value, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    // Writing to memory does not fail.
    let _ = match value {
        Value::Null => Ok(()),
        Value::String(text) => out.write_all(text.as_bytes()),
        Value::Bytes(bytes) => out.write_all(bytes),
        Value::Int(v) | Value::Timestamp(v) => write!(out, "{v}"),
        Value::Temporal(kind, v) => out.write_all(kind.text(*v).as_bytes()),
        Value::Bool(v) => write!(out, "{v}"),
        Value::Float(v) if v.is_nan() => return not_a_number(*v, out),
        Value::Float(v) => write!(out, "{v:?}"),
        Value::List(items) => return list(items, out),
    };
    Ok(())
}

/// Appends NaN, of which only one bit pattern can be written.
fn not_a_number(v: f64, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    for text in ["NaN", "-NaN"] {
        if text.parse().is_ok_and(|parsed: f64| parsed.to_bits() == v.to_bits()) {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
    }
    Err(format!("text cannot hold the NaN of the bits {:#x}", v.to_bits()))
}

fn list(items: &[Value], out: &mut Vec<u8>) -> std::result::Result<(), String> {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(ITEMS);
        }
        let begin = out.len();
        put(item, out)?;
        let text = out.get(begin..).unwrap_or_default();
        if text.is_empty() || text.contains(&ITEMS) {
            return Err(format!(
                "text cannot hold the item '{}' of a list, which is empty or has the semicolon that \
                 separates items",
                text.escape_ascii()
            ));
        }
    }
    Ok(())
}
