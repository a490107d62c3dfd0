//! CSV for Neo4j's importer: typed columns, and quotes around fields that need them.

use nakshi_io::write::WriteFile;

use super::folder::OutputFolder;
use crate::{PropertyType, Scalar, Temporal, Value};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, ExternalId, Result};

/// Bytes of text that are collected before they are written.
const BUFFER: usize = 1 << 20;
/// Milliseconds since 1970 of the years 0 to 9999, which have four digits.
const YEARS: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Writer of a file of rows.
pub(super) struct Csv<'h> {
    file: Box<dyn WriteFile>,
    text: Vec<u8>,
    /// True if the row has a field already.
    begun: bool,
    /// True if any field has a line break.
    multiline: bool,
    hooks: &'h Hooks,
    scratch: String,
}

impl<'h> Csv<'h> {
    /// Starts a file with this header.
    pub(super) fn create(
        folder: &OutputFolder<'_>,
        name: &str,
        header: &[String],
        hooks: &'h Hooks,
    ) -> Result<Self> {
        let file = folder.fs.create(&folder.path.join(name))?;
        let (text, scratch) = (Vec::with_capacity(BUFFER), String::new());
        let mut csv = Csv { file, text, begun: false, multiline: false, hooks, scratch };
        for column in header {
            csv.text(column.as_bytes())?;
        }
        csv.end_row()?;
        Ok(csv)
    }

    fn separate(&mut self) {
        if self.begun {
            self.text.push(b',');
        }
        self.begun = true;
    }

    /// Appends a field without a value.
    pub(super) fn null(&mut self) {
        self.separate();
    }

    /// Appends a field of text. An empty text has quotes, which tell it from null.
    ///
    /// # Errors
    /// [`Error::Invalid`] for bytes that are not UTF-8.
    pub(super) fn text(&mut self, field: &[u8]) -> Result<()> {
        if std::str::from_utf8(field).is_err() {
            return Err(Error::Invalid(format!(
                "'{}' is not UTF-8, which Neo4j's CSV has to be; export to Parquet",
                field.escape_ascii()
            )));
        }
        self.separate();
        let lines = memchr::memchr2(b'\n', b'\r', field).is_some();
        self.multiline |= lines;
        if !field.is_empty() && !lines && memchr::memchr2(b',', b'"', field).is_none() {
            self.text.extend_from_slice(field);
            return Ok(());
        }
        self.text.push(b'"');
        for part in field.split_inclusive(|byte| *byte == b'"') {
            self.text.extend_from_slice(part);
            if part.ends_with(b"\"") {
                self.text.push(b'"');
            }
        }
        self.text.push(b'"');
        Ok(())
    }

    /// Appends a field with an id.
    ///
    /// # Errors
    /// As [`Csv::text`].
    pub(super) fn id(&mut self, id: &ExternalId) -> Result<()> {
        match id {
            ExternalId::Bytes(bytes) => self.text(bytes),
            ExternalId::Big(text) | ExternalId::Text(text) => self.text(text.as_bytes()),
            ExternalId::U64(_) | ExternalId::I64(_) => self.text(id.to_string().as_bytes()),
        }
    }

    /// Appends a field with the value of a property.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a value that Neo4j's CSV cannot hold.
    pub(super) fn value(&mut self, name: &str, value: &Value) -> Result<()> {
        if *value == Value::Null {
            self.null();
            return Ok(());
        }
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        put(value, &mut text)
            .map_err(|what| Error::Invalid(format!("the property '{name}': {what}")))?;
        let done = self.text(text.as_bytes());
        self.scratch = text;
        done
    }

    /// Ends the row.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; errors of writing.
    pub(super) fn end_row(&mut self) -> Result<()> {
        self.text.push(b'\n');
        self.begun = false;
        if self.text.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.hooks.check()?;
        self.file.append(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Completes the file; returns true if any field has a line break.
    ///
    /// # Errors
    /// As [`Csv::end_row`].
    pub(super) fn finish(mut self) -> Result<bool> {
        self.flush()?;
        self.file.sync()?;
        Ok(self.multiline)
    }
}

/// Name of a type in a header. Neo4j calls integers of 64 bits `long`, and its bytes are small
/// integers.
pub(super) fn type_name(ty: PropertyType) -> Result<String> {
    let name = match ty.scalar {
        Scalar::String => "string",
        Scalar::Int => "long",
        Scalar::Float => "double",
        Scalar::Bool => "boolean",
        Scalar::Timestamp => "datetime",
        Scalar::Temporal(Temporal::Time) => "localtime",
        Scalar::Temporal(kind) => kind.name(),
        Scalar::Bytes if ty.list => {
            return Err(Error::Unsupported("lists of bytes in Neo4j".into()));
        }
        Scalar::Bytes => "byte[]",
    };
    Ok(format!("{name}{}", if ty.list { "[]" } else { "" }))
}

/// Appends a value in the form that Neo4j's importer reads.
fn put(value: &Value, out: &mut String) -> std::result::Result<(), String> {
    use std::fmt::Write;
    let mut write = |arguments: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = out.write_fmt(arguments);
    };
    match value {
        Value::Null => {}
        Value::String(text) => out.push_str(text),
        Value::Int(v) => write(format_args!("{v}")),
        Value::Bool(v) => write(format_args!("{v}")),
        Value::Float(v) if v.is_nan() => out.push_str("NaN"),
        Value::Float(v) if v.is_infinite() => {
            out.push_str(if *v > 0.0 { "Infinity" } else { "-Infinity" });
        }
        Value::Float(v) => write(format_args!("{v:?}")),
        Value::Timestamp(v) => out.push_str(&time(*v)?),
        Value::Temporal(kind, v) => out.push_str(&kind.text(*v)),
        Value::Bytes(bytes) => {
            for (i, byte) in bytes.iter().enumerate() {
                let separator = if i > 0 { ";" } else { "" };
                // Neo4j's bytes are signed.
                let _ = write!(out, "{separator}{}", byte.cast_signed());
            }
        }
        Value::List(items) => {
            for (i, item) in items.iter().enumerate() {
                if let Value::String(text) = item
                    && (text.is_empty() || text.contains(';'))
                {
                    return Err(format!(
                        "the item '{text}' of a list is empty or has a semicolon, which separates \
                         items in Neo4j's CSV; change it in the tables and load them again"
                    ));
                }
                if i > 0 {
                    out.push(';');
                }
                put(item, out)?;
            }
        }
    }
    Ok(())
}

/// Formats milliseconds since 1970 in ISO 8601.
fn time(milliseconds: i64) -> std::result::Result<String, String> {
    let known = Some(milliseconds).filter(|time| YEARS.contains(time));
    let date = known.and_then(arrow_array::temporal_conversions::timestamp_ms_to_datetime);
    let date = date.ok_or_else(|| {
        format!(
            "the time of {milliseconds} ms is outside the years 0 to 9999; load it as an integer"
        )
    })?;
    Ok(date.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &Value) -> std::result::Result<String, String> {
        let mut out = String::new();
        put(value, &mut out).map(|()| out)
    }

    #[test]
    fn values_as_neo4j_writes_them() {
        for (value, expected) in [
            (Value::Timestamp(1500), "1970-01-01T00:00:01.500Z"),
            (Value::Timestamp(-1), "1969-12-31T23:59:59.999Z"),
            (Value::Float(f64::NEG_INFINITY), "-Infinity"),
            (Value::Float(1e300), "1e300"),
            (Value::Bytes(vec![0, 127, 128, 255]), "0;127;-128;-1"),
            (Value::List(vec![Value::Bool(true), Value::Bool(false)]), "true;false"),
        ] {
            assert_eq!(text(&value).unwrap(), expected);
        }
        for value in [
            Value::Timestamp(i64::MIN),
            Value::List(vec![Value::String("a;b".into())]),
            Value::List(vec![Value::String(String::new())]),
        ] {
            text(&value).unwrap_err();
        }
    }
}
