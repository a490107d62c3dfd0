//! Names and numbers of properties and of edge types.

use std::collections::HashMap;
use std::sync::Arc;

use super::condition::{Condition, Predicate};
use super::entry::PropertyEntry;
use super::nearest::unknown;
use super::row::{RowKind, RowValues};
use super::spec::PropertySpec;
use super::value::{PropertyType, Scalar, Value};
use nakshi_store::{Error, Result};

/// The properties of nodes, or the properties of edges.
#[derive(Clone, Debug, Default)]
pub(super) struct Properties {
    specs: Vec<PropertySpec>,
    numbers: HashMap<String, u32>,
}

impl Properties {
    pub(super) fn of(specs: &[PropertySpec]) -> Self {
        let numbers = (0..).zip(specs).map(|(i, spec)| (spec.name.clone(), i)).collect();
        Properties { specs: specs.to_vec(), numbers }
    }

    pub(super) fn specs(&self) -> &[PropertySpec] {
        &self.specs
    }

    pub(super) fn get(&self, property: u32) -> Option<&PropertySpec> {
        self.specs.get(property as usize)
    }

    /// Finds a property by name; returns its number and its specification.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown name.
    pub(super) fn find(&self, name: &str) -> Result<(u32, &PropertySpec)> {
        let number = self.numbers.get(name).copied();
        let spec = number.and_then(|number| Some((number, self.get(number)?)));
        spec.ok_or_else(|| {
            unknown("is no property", name, self.specs.iter().map(|spec| spec.name.as_str()))
        })
    }

    /// The number of a property that can be a weight.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none of this name, or it has no numbers.
    pub(super) fn weight(&self, name: &str) -> Result<u32> {
        let (property, spec) = self.find(name)?;
        if spec.is_number() {
            return Ok(property);
        }
        let numbers = self.specs.iter().filter(|spec| spec.is_number());
        let known: Vec<&str> = numbers.map(|spec| spec.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(Error::Invalid(format!(
            "the edge property '{name}' is {} and no weight; edge properties with numbers: {known}",
            spec.ty
        )))
    }

    /// Encodes conditions, by property number.
    pub(super) fn wanted(&self, conditions: &[(&str, Condition)]) -> Result<Vec<(u32, Predicate)>> {
        let wanted = |(name, condition): &(&str, Condition)| {
            let (property, spec) = self.find(name)?;
            let wanted = condition.predicate(spec.ty).map_err(|error| of_property(name, error))?;
            Ok((property, wanted))
        };
        conditions.iter().map(wanted).collect()
    }

    /// Parses a value of a property; see [`Value::parse`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown property, or a text that is no value of its type.
    pub(super) fn parse(&self, name: &str, text: &str) -> Result<Value> {
        let (_, spec) = self.find(name)?;
        let of = PropertyType::of(spec.ty.scalar);
        Value::parse(of, text.as_bytes())
            .map_err(|error| Error::Invalid(format!("property '{name}': {error}")))
    }

    /// Returns true if every property that is not null has a number.
    fn knows(&self, properties: &[(String, Value)]) -> bool {
        let known = |(name, value): &(String, Value)| {
            *value == Value::Null || self.numbers.contains_key(name)
        };
        properties.iter().all(known)
    }

    /// Gives numbers to properties that have none.
    fn add(&mut self, properties: &[(String, Value)]) -> Result<()> {
        for (name, value) in properties.iter().filter(|(_, value)| *value != Value::Null) {
            if name.is_empty() {
                return Err(Error::Invalid("a property has no name".into()));
            }
            let next = u32::try_from(self.specs.len())
                .map_err(|_| Error::Invalid("there are 2^32 properties".into()))?;
            if *self.numbers.entry(name.clone()).or_insert(next) == next {
                // An empty list does not show the type of its items.
                let ty = value.ty().unwrap_or(PropertyType::list_of(Scalar::String));
                self.specs.push(PropertySpec::new(name, ty));
            }
        }
        Ok(())
    }

    /// Number and bytes of each value, ascending by number.
    fn encode(&self, properties: &[(String, Value)]) -> Result<EncodedProperties> {
        let mut values = EncodedProperties::with_capacity(properties.len());
        for (name, value) in properties {
            if *value == Value::Null {
                continue;
            }
            let (number, spec) = self.find(name)?;
            let mut bytes = Vec::new();
            if value.encode(spec.ty, &mut bytes).map_err(|error| of_property(name, error))? {
                values.push((number, bytes));
            }
        }
        values.sort_by_key(|(number, _)| *number);
        let twice = values.windows(2).find_map(|pair| match pair {
            [(a, _), (b, _)] if a == b => self.get(*a),
            _ => None,
        });
        match twice {
            Some(spec) => Err(Error::Invalid(format!("property '{}' has two values", spec.name))),
            None => Ok(values),
        }
    }
}

/// Adds the name of the property to an error.
fn of_property(name: &str, error: Error) -> Error {
    match error {
        Error::Invalid(what) => Error::Invalid(format!("property '{name}': {what}")),
        other => other,
    }
}

/// Properties of a row: number and bytes of each.
pub(super) type EncodedProperties = Vec<(u32, Vec<u8>)>;

/// All names of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Schema {
    pub(super) nodes: Properties,
    pub(super) edges: Properties,
    types: Vec<String>,
    type_numbers: HashMap<String, u64>,
    inverses: HashMap<u64, u64>,
}

impl Schema {
    pub(super) fn of(entry: &PropertyEntry) -> Self {
        let type_numbers: HashMap<String, u64> =
            (0..).zip(&entry.edge_types).map(|(i, name)| (name.clone(), i)).collect();
        let number = |name: &String| type_numbers.get(name).copied();
        let inverses = entry.inverses.iter();
        let inverses = inverses.filter_map(|(a, b)| Some((number(a)?, number(b)?))).collect();
        Schema {
            nodes: Properties::of(&entry.node_properties),
            edges: Properties::of(&entry.edge_properties),
            types: entry.edge_types.clone(),
            inverses,
            type_numbers,
        }
    }

    pub(super) fn types(&self) -> &[String] {
        &self.types
    }

    pub(super) fn edge_type(&self, name: &str) -> Option<u64> {
        self.type_numbers.get(name).copied()
    }

    /// The number of a type of edges.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none of this name; it suggests the nearest.
    pub(super) fn known_type(&self, name: &str) -> Result<u64> {
        let none = || unknown("are no edges of type", name, self.types.iter().map(String::as_str));
        self.edge_type(name).ok_or_else(none)
    }

    pub(super) fn type_name(&self, ty: u64) -> &str {
        self.types.get(ty as usize).map_or("", String::as_str)
    }

    fn properties(&self, kind: RowKind) -> &Properties {
        match kind {
            RowKind::Nodes => &self.nodes,
            RowKind::Edges => &self.edges,
        }
    }

    /// The number of an edge type, which is added if it is unknown.
    fn add_type(&mut self, name: &str) -> Result<u64> {
        if let Some(number) = self.type_numbers.get(name) {
            return Ok(*number);
        }
        if name.is_empty() {
            return Err(Error::Invalid("a type of edges has no name".into()));
        }
        let number = self.types.len() as u64;
        self.types.push(name.to_owned());
        self.type_numbers.insert(name.to_owned(), number);
        Ok(number)
    }

    /// The inverse of an edge type.
    pub(super) fn inverse(&self, ty: u64) -> Option<u64> {
        self.inverses.get(&ty).copied()
    }

    pub(super) fn set_inverse(&mut self, ty: u64, inverse: u64) {
        self.inverses.insert(ty, inverse);
        self.inverses.insert(inverse, ty);
    }

    /// Pairs of types that are inverse to each other, both ways.
    pub(super) fn inverses(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inverses.iter().map(|(a, b)| (self.type_name(*a), self.type_name(*b)))
    }
}

/// Encodes the properties of a node or of an edge, and adds new ones to the schema. A shared schema is
/// copied only then.
pub(super) fn encode(
    schema: &mut Arc<Schema>,
    kind: RowKind,
    properties: &[(String, Value)],
) -> Result<EncodedProperties> {
    if !schema.properties(kind).knows(properties) {
        let schema = Arc::make_mut(schema);
        match kind {
            RowKind::Nodes => schema.nodes.add(properties)?,
            RowKind::Edges => schema.edges.add(properties)?,
        }
    }
    schema.properties(kind).encode(properties)
}

/// The number of an edge type, which is added if it is unknown. A shared schema is copied only
/// then.
pub(super) fn edge_type(schema: &mut Arc<Schema>, name: &str) -> Result<u64> {
    match schema.edge_type(name) {
        Some(ty) => Ok(ty),
        None => Arc::make_mut(schema).add_type(name),
    }
}

/// Encodes properties as a row; see [`RowValues`].
pub(super) fn row(values: &EncodedProperties) -> Vec<u8> {
    let mut row = Vec::new();
    values.iter().for_each(|(number, bytes)| RowValues::put(*number, bytes, &mut row));
    row
}
