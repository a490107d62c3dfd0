//! Fields of rows, and the types of properties as inferred from their fields.

use std::collections::HashMap;

use super::super::spec::PropertySpec;
use super::super::value::{ITEMS, PropertyType, Scalar, Value};
use nakshi_store::{Error, Result, varint};

/// A field of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'r> {
    Null,
    /// Text of a file, which may stand for a value of any type; empty only between quotes.
    Text(&'r [u8]),
    /// Value of a table with typed columns.
    Value(Value),
}

/// Types that all texts so far of a property without a declared type can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Guess {
    int: bool,
    float: bool,
}

impl Guess {
    fn see(&mut self, text: &[u8]) {
        let text = std::str::from_utf8(text).unwrap_or_default();
        // Only canonical integers, so that nothing is lost: "007" stays text, and so does "+1".
        self.int &= text.parse::<i64>().is_ok_and(|v| v.to_string() == text);
        let digits = text.trim_start_matches('-').as_bytes();
        let number = match digits {
            [b'0', next, ..] => !next.is_ascii_digit(),
            [first, ..] => first.is_ascii_digit(),
            [] => false,
        };
        self.float &= number && text.parse::<f64>().is_ok();
    }
}

/// A property: its name, and what is known of its type.
#[derive(Clone, Debug)]
struct Known {
    name: String,
    declared: Option<PropertyType>,
    guess: Guess,
    searchable: bool,
}

/// The properties seen so far, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct InferredProperties {
    numbers: HashMap<String, u32>,
    known: Vec<Known>,
    /// Items of lists that were left out because they are empty.
    pub(super) empty_items: u64,
}

impl InferredProperties {
    /// The number of a property; `ty` is the type in the header, if there is one.
    ///
    /// # Errors
    /// A message if the property has another type elsewhere.
    pub(super) fn number(&mut self, name: &str, ty: Option<PropertyType>) -> Result<u32, String> {
        // Lossless, because the names are in memory.
        let next = self.known.len() as u32;
        let number = *self.numbers.entry(name.to_owned()).or_insert(next);
        if number == next {
            let guess = Guess { int: true, float: true };
            let name = name.to_owned();
            self.known.push(Known { name, declared: ty, guess, searchable: false });
        }
        let Some(known) = self.known.get_mut(number as usize) else { return Ok(number) };
        match (known.declared, ty) {
            (Some(before), Some(ty)) if before != ty => {
                Err(format!("the property '{name}' is {ty} here and {before} elsewhere"))
            }
            (before, ty) => {
                known.declared = before.or(ty);
                Ok(number)
            }
        }
    }

    /// Adds a property of an existing graph, unless there is one of its name; returns its number.
    ///
    /// # Errors
    /// A message if the property has another type elsewhere.
    pub(super) fn take(&mut self, spec: &PropertySpec) -> Result<u32, String> {
        let number = self.number(&spec.name, Some(spec.ty))?;
        if let Some(known) = self.known.get_mut(number as usize) {
            known.searchable |= spec.searchable;
        }
        Ok(number)
    }

    /// Appends a field for [`read`]; nothing for null.
    ///
    /// # Errors
    /// A message that says why the field does not fit the property.
    pub(super) fn write(
        &mut self,
        property: u32,
        cell: &Cell<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let Some(known) = self.known.get_mut(property as usize) else { return Ok(()) };
        let told = |error: String| format!("property '{}': {error}", known.name);
        let value = match (cell, known.declared) {
            (Cell::Null, _) => return Ok(()),
            // Empty quotes: an empty value of a type that has one, else null.
            (Cell::Text(b""), ty) if !ty.is_some_and(PropertyType::has_empty) => return Ok(()),
            (Cell::Text(text), None) => {
                known.guess.see(text);
                put(property, true, text, out);
                return Ok(());
            }
            (Cell::Text(text), Some(ty)) => {
                if ty.list && !text.is_empty() {
                    let items = text.split(|byte| *byte == ITEMS);
                    self.empty_items += items.filter(|item| item.is_empty()).count() as u64;
                }
                Value::parse(ty, text).map_err(told)?
            }
            (Cell::Value(value), _) => value.clone(),
        };
        let ty = known.declared.or(value.ty()).unwrap_or(PropertyType::list_of(Scalar::String));
        let mut bytes = Vec::new();
        if value.encode(ty, &mut bytes).map_err(|error| told(error.to_string()))? {
            known.declared = Some(ty);
            put(property, false, &bytes, out);
        }
        Ok(())
    }

    /// Appends the bytes of a value of a declared type, as [`InferredProperties::write`] would.
    pub(super) fn copy(property: u32, bytes: &[u8], out: &mut Vec<u8>) {
        put(property, false, bytes, out);
    }

    /// The specifications of all properties, once all fields have been seen.
    pub(super) fn settle(&self) -> Vec<PropertySpec> {
        let ty = |known: &Known| match known {
            Known { declared: Some(ty), .. } => *ty,
            Known { guess: Guess { int: true, .. }, .. } => PropertyType::of(Scalar::Int),
            Known { guess: Guess { float: true, .. }, .. } => PropertyType::of(Scalar::Float),
            _ => PropertyType::of(Scalar::String),
        };
        let spec = |known: &Known| PropertySpec {
            name: known.name.clone(),
            ty: ty(known),
            searchable: known.searchable,
        };
        self.known.iter().map(spec).collect()
    }
}

fn put(property: u32, text: bool, bytes: &[u8], out: &mut Vec<u8>) {
    varint::put(out, u64::from(property) << 1 | u64::from(text));
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Decodes the fields of a row, as [`InferredProperties::write`] encoded them, and hands the bytes
/// of each value to `f`.
///
/// # Errors
/// [`Error::Invalid`] for a text that does not have the type that other tables declare.
pub(super) fn read(
    specs: &[PropertySpec],
    mut row: &[u8],
    mut f: impl FnMut(u32, &[u8]),
) -> Result<()> {
    let broken = || Error::Invalid("a temporary file does not hold what was written".into());
    let mut bytes = Vec::new();
    while !row.is_empty() {
        let mut at = 0;
        let tag = varint::get(row, &mut at).ok_or_else(broken)?;
        let len = varint::get(row, &mut at).ok_or_else(broken)?;
        let end = at + usize::try_from(len).map_err(|_| broken())?;
        let field = row.get(at..end).ok_or_else(broken)?;
        row = row.get(end..).unwrap_or_default();
        let property = u32::try_from(tag >> 1).map_err(|_| broken())?;
        if tag & 1 == 0 {
            f(property, field);
            continue;
        }
        let PropertySpec { name, ty, .. } = specs.get(property as usize).ok_or_else(broken)?;
        let value = Value::parse(*ty, field).map_err(|error| {
            Error::Invalid(format!("property '{name}': {error}; give all its columns one type"))
        })?;
        bytes.clear();
        if value.encode(*ty, &mut bytes)? {
            f(property, &bytes);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_by_all_values() {
        let mut properties = InferredProperties::default();
        let mut row = Vec::new();
        for (name, texts) in [
            ("int", ["1", "-7", "0"]),
            ("float", ["1", "2.5", "-1e3"]),
            ("text", ["1", "007", "2"]),
            ("word", ["nan", "1", "2"]),
        ] {
            let number = properties.number(name, None).unwrap();
            for text in texts {
                properties.write(number, &Cell::Text(text.as_bytes()), &mut row).unwrap();
            }
        }
        let types = properties.settle();
        let found: Vec<Scalar> = types.iter().map(|spec| spec.ty.scalar).collect();
        assert_eq!(found, [Scalar::Int, Scalar::Float, Scalar::String, Scalar::String]);
        let mut values = Vec::new();
        read(&types, &row, |property, bytes| {
            values.push(Value::decode(types[property as usize].ty, bytes).unwrap());
        })
        .unwrap();
        assert_eq!(values[1], Value::Int(-7));
        assert_eq!(values[5], Value::Float(-1000.0));
        assert_eq!(values[7], Value::String("007".into()));
    }

    #[test]
    fn declared_types_hold() {
        let mut properties = InferredProperties::default();
        let age = properties.number("age", Some(PropertyType::of(Scalar::Int))).unwrap();
        let mut row = Vec::new();
        properties.write(age, &Cell::Null, &mut row).unwrap();
        assert!(row.is_empty());
        let error = properties.write(age, &Cell::Text(b"old"), &mut row).unwrap_err();
        assert!(error.contains("age") && error.contains("old"), "{error}");
        assert!(properties.number("age", Some(PropertyType::of(Scalar::Bool))).is_err());
        assert_eq!(properties.number("age", None).unwrap(), age);
    }
}
