//! Names and numbers of properties and of edge types.

use std::collections::HashMap;
use std::sync::Arc;

use super::condition::{Condition, Predicate};
use super::entry::PropertyEntry;
use super::moved_buckets::MovedBuckets;
use super::nearest::unknown;
use super::row::{RowKind, RowValues, SharedBytes};
use super::rule::Rule;
use super::spec::{ANY, EDGE_NUMBER, LABELS, PropertySpec, RESERVED};
use super::value::{PropertyType, Scalar, Value, ordered_int, plain_int};
use nakshi_store::{Error, Result};
use rustc_hash::FxHashMap;

/// The properties of nodes, or the properties of edges.
#[derive(Clone, Debug, Default)]
pub(super) struct Properties {
    specs: Vec<PropertySpec>,
    numbers: FxHashMap<String, u32>,
    /// True if there is a column for values of any type.
    has_any: bool,
}

impl Properties {
    pub(super) fn of(specs: &[PropertySpec]) -> Self {
        let numbers = (0..).zip(specs).map(|(i, spec)| (spec.name.clone(), i)).collect();
        let has_any = specs.iter().any(|spec| spec.any_of().is_some());
        Properties { specs: specs.to_vec(), numbers, has_any }
    }

    pub(super) fn specs(&self) -> &[PropertySpec] {
        &self.specs
    }

    /// The properties that queries return.
    pub(super) fn visible(&self) -> impl Iterator<Item = &PropertySpec> {
        self.specs.iter().filter(|spec| !spec.is_hidden())
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
        number.and_then(|number| self.visible_at(number)).ok_or_else(|| {
            unknown("is no property", name, self.visible().map(|spec| spec.name.as_str()))
        })
    }

    /// A property that queries return, with its number.
    fn visible_at(&self, number: u32) -> Option<(u32, &PropertySpec)> {
        self.get(number).filter(|spec| !spec.is_hidden()).map(|spec| (number, spec))
    }

    /// A property that changes may set, with its number.
    fn writable_at(&self, number: u32) -> Option<(u32, &PropertySpec)> {
        let spec = self.get(number)?;
        (!spec.is_hidden() || spec.any_of().is_some()).then_some((number, spec))
    }

    /// The number and specification of a property that changes may set; `None` for an unknown one.
    pub(super) fn writable(&self, name: &str) -> Option<(u32, &PropertySpec)> {
        self.numbers.get(name).and_then(|number| self.writable_at(*number))
    }

    /// The columns for any type of properties of which an update names another column only. They lose
    /// their values, because a property has one.
    pub(super) fn replaced_any(&self, properties: &[(String, Value)]) -> Vec<u32> {
        if !self.has_any {
            return Vec::new();
        }
        let names = properties.iter().map(|(name, _)| PropertySpec::any_column(name));
        let other = |column: &String| !properties.iter().any(|(name, _)| name == column);
        let columns = names.filter(other);
        columns.filter_map(|column| self.numbers.get(&column).copied()).collect()
    }

    /// Returns true if the values of a property are lists.
    pub(super) fn is_list(&self, property: u32) -> bool {
        self.get(property).is_some_and(|spec| spec.ty.list)
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

    /// Gives numbers to properties that have none.
    fn add(&mut self, properties: &[(String, Value)]) -> Result<()> {
        for (name, value) in properties.iter().filter(|(_, value)| !value.is_null()) {
            if name.is_empty() {
                return Err(Error::Invalid("a property has no name".into()));
            }
            let is_any = name.starts_with(ANY) && matches!(value, Value::Bytes(_));
            if name.starts_with(RESERVED) && !is_any {
                return Err(Error::Invalid(format!(
                    "the property '{name}' has a name that begins with '{RESERVED}', which is kept for \
                     Nakshi; choose another"
                )));
            }
            let next = u32::try_from(self.specs.len())
                .map_err(|_| Error::Invalid("there are 2^32 properties".into()))?;
            if *self.numbers.entry(name.clone()).or_insert(next) == next {
                // An empty list does not show the type of its items.
                let ty = value.ty().unwrap_or(PropertyType::list_of(Scalar::String));
                self.has_any |= is_any;
                self.specs.push(PropertySpec::new(name, ty));
            }
        }
        Ok(())
    }

    /// Number and bytes of each value, ascending by number; `None` if one has a property without a number.
    fn encode(&self, properties: &[(String, Value)]) -> Result<Option<EncodedProperties>> {
        let mut values = EncodedProperties::with_capacity(properties.len());
        let mut bytes = Vec::new();
        for (name, value) in properties {
            if value.is_null() {
                continue;
            }
            let Some(number) = self.numbers.get(name) else { return Ok(None) };
            let (number, spec) = self.writable_at(*number).map_or_else(|| self.find(name), Ok)?;
            bytes.clear();
            if value.encode(spec.ty, &mut bytes).map_err(|error| of_property(name, error))? {
                values.push((number, SharedBytes::from(bytes.as_slice())));
            }
        }
        values.sort_by_key(|(number, _)| *number);
        let twice = values.windows(2).find_map(|pair| match pair {
            [(a, _), (b, _)] if a == b => self.get(*a),
            _ => None,
        });
        match twice {
            Some(spec) => Err(Error::Invalid(format!("property '{}' has two values", spec.name))),
            None => Ok(Some(values)),
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
pub(super) type EncodedProperties = Vec<(u32, SharedBytes)>;

/// All names of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Schema {
    pub(super) nodes: Properties,
    pub(super) edges: Properties,
    types: Vec<String>,
    type_numbers: FxHashMap<String, u64>,
    inverses: HashMap<u64, u64>,
    rules: Vec<Rule>,
    /// Buckets that were moved to other shares.
    pub(super) moved: MovedBuckets,
}

impl Schema {
    pub(super) fn of(entry: &PropertyEntry) -> Self {
        let type_numbers: FxHashMap<String, u64> =
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
            rules: entry.rules.clone(),
            moved: entry.moved.clone(),
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

    /// The property with the numbers of edges; `None` if no edge has had one.
    pub(super) fn edge_number(&self) -> Option<u32> {
        self.edges.numbers.get(EDGE_NUMBER).copied()
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

    /// Constraints and indexes, in the order in which they were declared.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns true if changes can break a constraint.
    pub(super) fn has_constraints(&self) -> bool {
        self.rules.iter().any(|rule| rule.kind.is_constraint())
    }

    /// Adds a constraint or an index.
    ///
    /// # Errors
    /// [`Error::Invalid`] for one that no graph can keep, or that is there already.
    pub(super) fn declare(&mut self, rule: &Rule) -> Result<()> {
        rule.check_form()?;
        if let Some(known) = self.rules.iter().find(|known| known.name == rule.name) {
            return Err(Error::Invalid(format!("{known} is declared already")));
        }
        if let Some(known) = self.rules.iter().find(|known| known.is_like(rule)) {
            return Err(Error::Invalid(format!("'{}' is declared already as {known}", rule.name)));
        }
        self.rules.push(rule.clone());
        Ok(())
    }

    /// Drops a constraint or an index; returns false if there is none of this name.
    pub(super) fn drop_rule(&mut self, name: &str) -> bool {
        let before = self.rules.len();
        self.rules.retain(|rule| rule.name != name);
        self.rules.len() < before
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
    let is_labels = |(name, _): &&(String, Value)| kind == RowKind::Nodes && name == LABELS;
    if let Some((_, Value::List(labels))) = properties.iter().find(is_labels)
        && labels.iter().enumerate().any(|(i, label)| labels.iter().take(i).any(|o| o == label))
    {
        return encode_distinct(schema, kind, &with_distinct_labels(properties));
    }
    encode_distinct(schema, kind, properties)
}

/// As [`encode`], for properties without a label twice.
fn encode_distinct(
    schema: &mut Arc<Schema>,
    kind: RowKind,
    properties: &[(String, Value)],
) -> Result<EncodedProperties> {
    if let Some(values) = schema.properties(kind).encode(properties)? {
        return Ok(values);
    }
    let schema = Arc::make_mut(schema);
    match kind {
        RowKind::Nodes => schema.nodes.add(properties)?,
        RowKind::Edges => schema.edges.add(properties)?,
    }
    let unnumbered = || Error::Internal("a property that was added has no number");
    schema.properties(kind).encode(properties)?.ok_or_else(unnumbered)
}

/// Properties of a node with each of its labels once, because labels are a set.
fn with_distinct_labels(properties: &[(String, Value)]) -> Vec<(String, Value)> {
    let mut properties = properties.to_vec();
    for (name, value) in &mut properties {
        if let Value::List(labels) = value
            && name == LABELS
        {
            let mut seen = Vec::new();
            labels.retain(|label| {
                let new = !seen.contains(label);
                seen.push(label.clone());
                new
            });
        }
    }
    properties
}

/// Makes the property with the numbers of edges known.
pub(super) fn number_edges(schema: &mut Arc<Schema>) {
    if schema.edge_number().is_none() {
        let edges = &mut Arc::make_mut(schema).edges;
        edges.numbers.insert(EDGE_NUMBER.to_owned(), edges.specs.len() as u32);
        edges.specs.push(PropertySpec::new(EDGE_NUMBER, PropertyType::of(Scalar::Int)));
    }
}

/// The number of an edge as the bytes of its property.
pub(super) fn encoded_number(number: u64) -> [u8; 8] {
    ordered_int(number.cast_signed()).to_be_bytes()
}

/// The inverse of [`encoded_number`].
pub(super) fn decoded_number(bytes: &[u8]) -> Option<u64> {
    let number = plain_int(bytes.try_into().map(u64::from_be_bytes).ok()?);
    u64::try_from(number).ok()
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
