//! Values of queries.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use nakshi_property::{EdgeNumbers, EdgePlace};
use nakshi_store::ExternalId;
use serde::{Deserialize, Serialize};

use super::temporal::{DateTime, Duration, Time, date_text, time_text};

/// A value of a query. A clone is cheap. As bytes it is in temporary files of its query, and nowhere else.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Value {
    /// Absent or unknown.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text.
    String(Arc<str>),
    /// Bytes, which come from properties and parameters.
    Bytes(Arc<[u8]>),
    /// Values of any types.
    List(Arc<List>),
    /// Values by name.
    Map(Arc<Nested<Map>>),
    /// A node.
    Node(Node),
    /// An edge.
    Relationship(Relationship),
    /// A path.
    Path(Arc<Path>),
    /// A date.
    Date(NaiveDate),
    /// A time of day.
    LocalTime(NaiveTime),
    /// A time of day with a distance from UTC.
    Time(Time),
    /// A date with a time of day.
    LocalDateTime(NaiveDateTime),
    /// A point in time with a zone.
    DateTime(DateTime),
    /// A duration.
    Duration(Arc<Duration>),
    /// A point in space.
    Point(Arc<Point>),
}

/// Values by name.
pub type Map = BTreeMap<Arc<str>, Value>;

/// Values in their order.
pub type List = Nested<Vec<Value>>;

/// A list or a map, with what is known of all that is inside.
#[derive(Debug, Serialize, Deserialize)]
pub struct Nested<T> {
    inside: T,
    /// How many lists and maps are inside of each other, this one included.
    levels: u16,
    /// Bytes that the values inside take, about.
    weight: u64,
}

/// Bytes that a piece of memory of its own takes besides what is in it: counters of references or a length, and
/// what the allocator keeps.
const PIECE: u64 = 32;

/// Bytes that a row takes, about.
pub(crate) fn weight_of(row: &[Value]) -> u64 {
    let own = size_of::<Row>() as u64 + PIECE;
    row.iter().fold(own, |sum, value| sum.saturating_add(value.weight()))
}

/// The levels of a list or a map with some values, and their weight.
fn sums<'v>(values: impl Iterator<Item = &'v Value>) -> (u16, u64) {
    values.fold((1, 0), |(levels, weight), value| {
        (levels.max(value.levels().saturating_add(1)), weight.saturating_add(value.weight()))
    })
}

impl<T> Deref for Nested<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inside
    }
}

/// A row of a result: one value for each column.
pub type Row = Vec<Value>;

/// A node. Results have all of it; inside of a query it is a number, unless the graph does not have it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    pub(crate) vertex: u32,
    pub(crate) content: Option<Arc<Content>>,
}

/// An edge. Results have all of it; inside of a query it is its numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Relationship {
    pub(crate) edge: Arc<EdgeNumbers>,
    pub(crate) content: Option<Arc<Content>>,
}

/// The ids by which results name a node or an edge.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ids {
    pub(crate) id: i64,
    pub(crate) element_id: String,
    /// The users' id of a node.
    pub(crate) external: Option<ExternalId>,
}

/// Ids, names and properties of a node or an edge, as a result shows them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) ids: Ids,
    /// Labels of a node; the type of an edge.
    pub(crate) names: Vec<Arc<str>>,
    /// Ids of the ends of an edge.
    pub(crate) ends: [Ids; 2],
    pub(crate) properties: Map,
}

/// No ids.
const NO_IDS: Ids = Ids { id: 0, element_id: String::new(), external: None };

/// Empty content, of an entity that no result has.
static NOTHING: Content =
    Content { ids: NO_IDS, names: Vec::new(), ends: [NO_IDS, NO_IDS], properties: Map::new() };

impl Node {
    pub(crate) fn of(vertex: u32) -> Self {
        Node { vertex, content: None }
    }

    /// A node as a result on another machine shows it; it has no number here.
    pub fn shown(id: i64, external: ExternalId, labels: Vec<Arc<str>>, properties: Map) -> Self {
        let ids = Ids { id, element_id: external.to_string(), external: Some(external) };
        let content = Content { ids, names: labels, properties, ..Content::default() };
        Node { vertex: u32::MAX, content: Some(Arc::new(content)) }
    }

    fn content(&self) -> &Content {
        self.content.as_deref().unwrap_or(&NOTHING)
    }

    /// Returns true for a node that the graph does not have, inside of a query.
    pub(crate) fn is_virtual(&self) -> bool {
        self.content.is_some()
    }

    /// The number of the node in its graph.
    pub fn number(&self) -> u32 {
        self.vertex
    }

    /// The id as an integer: the node's own, if it is one, else its internal number.
    pub fn id(&self) -> i64 {
        self.content().ids.id
    }

    /// The node's own id, as text.
    pub fn element_id(&self) -> &str {
        &self.content().ids.element_id
    }

    /// The node's own id; `None` for a node that no result shows.
    pub fn external_id(&self) -> Option<&ExternalId> {
        self.content().ids.external.as_ref()
    }

    /// Labels.
    pub fn labels(&self) -> &[Arc<str>] {
        &self.content().names
    }

    /// Properties that are not null.
    pub fn properties(&self) -> &Map {
        &self.content().properties
    }
}

impl Relationship {
    pub(crate) fn of(edge: EdgeNumbers) -> Self {
        Relationship { edge: Arc::new(edge), content: None }
    }

    /// An edge as a result on another machine shows it, from its ids, its type, the ids of source and destination,
    /// and its properties; it has no numbers here.
    pub fn shown(
        (id, element_id): (i64, String),
        edge_type: Arc<str>,
        ends: [(i64, ExternalId); 2],
        properties: Map,
    ) -> Self {
        let end = |(id, external): (i64, ExternalId)| Ids {
            id,
            element_id: external.to_string(),
            external: Some(external),
        };
        let content = Content {
            ids: Ids { id, element_id, external: None },
            names: vec![edge_type],
            ends: ends.map(end),
            properties,
        };
        let (source, destination) = (u32::MAX, u32::MAX);
        let place = EdgePlace::default();
        let edge = EdgeNumbers { source, edge_type: 0, destination, number: 0, twin: 0, place };
        Relationship { edge: Arc::new(edge), content: Some(Arc::new(content)) }
    }

    fn content(&self) -> &Content {
        self.content.as_deref().unwrap_or(&NOTHING)
    }

    /// Returns true for an edge that the graph does not have, inside of a query.
    pub(crate) fn is_virtual(&self) -> bool {
        self.content.is_some()
    }

    /// The id as an integer, which tells edges of one result apart.
    pub fn id(&self) -> i64 {
        self.content().ids.id
    }

    /// Source, type, destination and number, as text.
    pub fn element_id(&self) -> &str {
        &self.content().ids.element_id
    }

    /// Type.
    pub fn edge_type(&self) -> &str {
        self.content().names.first().map_or("", |name| name)
    }

    /// Id and element id of the source.
    pub fn start(&self) -> (i64, &str) {
        let [start, _] = &self.content().ends;
        (start.id, &start.element_id)
    }

    /// Id and element id of the destination.
    pub fn end(&self) -> (i64, &str) {
        let [_, end] = &self.content().ends;
        (end.id, &end.element_id)
    }

    /// The own ids of source and destination; `None` for an edge that no result shows.
    pub fn external_ends(&self) -> Option<[&ExternalId; 2]> {
        let [start, end] = &self.content().ends;
        Some([start.external.as_ref()?, end.external.as_ref()?])
    }

    /// Properties that are not null.
    pub fn properties(&self) -> &Map {
        &self.content().properties
    }
}

/// A path: nodes, and the edges between them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Path {
    /// Nodes in their order, one more than edges.
    pub nodes: Vec<Node>,
    /// Edges in their order, some of which may be passed from their destination to their source.
    pub edges: Vec<Relationship>,
}

/// A point in space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Number of the system of coordinates: 4326, 4979, 7203 or 9157.
    pub srid: i32,
    /// Two or three coordinates.
    pub coordinates: Vec<f64>,
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Value::String(text.into())
    }

    /// The node of a number in the graph that a procedure is called on.
    pub fn node(number: u32) -> Self {
        Value::Node(Node::of(number))
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Self {
        let (levels, weight) = sums(items.iter());
        Value::List(Arc::new(Nested { inside: items, levels, weight }))
    }

    /// A map.
    pub fn map(entries: impl IntoIterator<Item = (String, Value)>) -> Self {
        let entries = entries.into_iter().map(|(name, value)| (name.into(), value));
        Value::of_map(entries.collect())
    }

    /// A map.
    pub fn of_map(map: Map) -> Self {
        let (levels, weight) = sums(map.values());
        Value::Map(Arc::new(Nested { inside: map, levels, weight }))
    }

    /// How many lists and maps are inside of each other.
    pub(crate) fn levels(&self) -> u16 {
        match self {
            Value::List(items) => items.levels,
            Value::Map(map) => map.levels,
            _ => 0,
        }
    }

    /// Returns true for null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The name of the type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "Null",
            Value::Bool(_) => "Boolean",
            Value::Int(_) => "Integer",
            Value::Float(_) => "Float",
            Value::String(_) => "String",
            Value::Bytes(_) => "Bytes",
            Value::List(_) => "List",
            Value::Map(_) => "Map",
            Value::Node(_) => "Node",
            Value::Relationship(_) => "Relationship",
            Value::Path(_) => "Path",
            Value::Date(_) => "Date",
            Value::LocalTime(_) => "LocalTime",
            Value::Time(_) => "Time",
            Value::LocalDateTime(_) => "LocalDateTime",
            Value::DateTime(_) => "DateTime",
            Value::Duration(_) => "Duration",
            Value::Point(_) => "Point",
        }
    }

    /// Returns true for dates, times and points in time.
    pub(crate) fn is_temporal(&self) -> bool {
        matches!(
            self,
            Value::Date(_)
                | Value::LocalTime(_)
                | Value::Time(_)
                | Value::LocalDateTime(_)
                | Value::DateTime(_)
        )
    }

    /// Bytes that the value takes, about.
    pub fn weight(&self) -> u64 {
        let own = match self {
            Value::String(text) => PIECE + text.len() as u64,
            Value::Bytes(bytes) => PIECE + bytes.len() as u64,
            Value::List(items) => items.weight.saturating_add(2 * PIECE),
            Value::Map(map) => map.weight.saturating_add(48 * map.len() as u64 + 2 * PIECE),
            Value::Node(Node { content: Some(content), .. })
            | Value::Relationship(Relationship { content: Some(content), .. }) => {
                64 + content.properties.values().map(Value::weight).sum::<u64>()
            }
            Value::Path(path) => 64 * path.nodes.len() as u64,
            Value::Relationship(_) | Value::Duration(_) | Value::Point(_) => 64,
            _ => 0,
        };
        own.saturating_add(size_of::<Value>() as u64)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::text(value)
    }
}

/// A float as text: always with a point or an exponent, and with a capital E, as Java prints it.
pub(crate) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    match value.abs() {
        0.0 => {
            if value.is_sign_negative() {
                "-0.0".into()
            } else {
                "0.0".into()
            }
        }
        1e-3..1e7 => format!("{value:?}"),
        _ => {
            let text = format!("{value:E}");
            match text.split_once('E') {
                Some((digits, exponent)) if !digits.contains('.') => {
                    format!("{digits}.0E{exponent}")
                }
                _ => text,
            }
        }
    }
}

fn write_map(map: &Map, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("{")?;
    for (i, (name, value)) in map.iter().enumerate() {
        write!(f, "{}{name}: {value}", if i > 0 { ", " } else { "" })?;
    }
    f.write_str("}")
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        self.labels().iter().try_for_each(|label| write!(f, ":{label}"))?;
        if !self.properties().is_empty() {
            f.write_str(if self.labels().is_empty() { "" } else { " " })?;
            write_map(self.properties(), f)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Relationship {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[:{}", self.edge_type())?;
        if !self.properties().is_empty() {
            f.write_str(" ")?;
            write_map(self.properties(), f)?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<")?;
        for (i, node) in self.nodes.iter().enumerate() {
            if let Some(edge) = i.checked_sub(1).and_then(|i| self.edges.get(i)) {
                match edge.end().1 == node.element_id() {
                    true => write!(f, "-{edge}->")?,
                    false => write!(f, "<-{edge}-")?,
                }
            }
            write!(f, "{node}")?;
        }
        f.write_str(">")
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            if self.srid < 5000 { ["longitude", "latitude", "height"] } else { ["x", "y", "z"] };
        f.write_str("point({")?;
        for (name, value) in names.iter().zip(&self.coordinates) {
            write!(f, "{name}: {}, ", float_text(*value))?;
        }
        write!(f, "srid: {}}})", self.srid)
    }
}

/// The text of a value as openCypher writes it, with quotes around strings.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => f.write_str(&float_text(*value)),
            Value::String(text) => {
                write!(f, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
            }
            Value::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Value::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Value::Map(map) => write_map(map, f),
            Value::Node(node) => write!(f, "{node}"),
            Value::Relationship(edge) => write!(f, "{edge}"),
            Value::Path(path) => write!(f, "{path}"),
            Value::Date(date) => f.write_str(&date_text(*date)),
            Value::LocalTime(time) => f.write_str(&time_text(*time)),
            Value::Time(time) => write!(f, "{time}"),
            Value::LocalDateTime(at) => {
                write!(f, "{}T{}", date_text(at.date()), time_text(at.time()))
            }
            Value::DateTime(at) => write!(f, "{at}"),
            Value::Duration(duration) => write!(f, "{duration}"),
            Value::Point(point) => write!(f, "{point}"),
        }
    }
}
