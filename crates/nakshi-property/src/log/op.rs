//! Changes, and their bytes in the log. The bytes hold names and external ids, so that they mean
//! the same for the files of every generation.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::rule::{Rule, RuleKind, RuleTarget};
use super::super::temporal::Temporal;
use super::super::value::Value;
use nakshi_store::{Error, ExternalId, Result, varint};

/// The transaction that made a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionMark {
    /// Random number of the transaction, the same wherever its commit is applied.
    #[serde(with = "super::json::hex")]
    pub id: u128,
    /// Number of the commit whose state the transaction has read.
    pub begun: u64,
}

/// Identity of an edge: its ends, its type, and a number that tells it apart from other edges with the
/// same ends and type. The number of an edge that was not created by [`Change::CreateEdge`] is 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EdgeId {
    /// Source of the edge.
    #[serde(with = "super::json::id")]
    pub source: ExternalId,
    /// Type of the edge.
    pub edge_type: String,
    /// Destination of the edge.
    #[serde(with = "super::json::id")]
    pub destination: ExternalId,
    /// Its number.
    pub number: u64,
}

/// A change of a property graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Change {
    /// Adds a node. The id must be new.
    AppendNode {
        /// Id of the node.
        #[serde(with = "super::json::id")]
        id: ExternalId,
        /// Properties of the node; null ones are left out.
        #[serde(with = "super::json::properties")]
        properties: Vec<(String, Value)>,
    },
    /// Changes the properties of a node. Its edges stay.
    UpdateNode {
        /// Id of the node.
        #[serde(with = "super::json::id")]
        id: ExternalId,
        /// New properties.
        #[serde(with = "super::json::properties")]
        properties: Vec<(String, Value)>,
        /// True to keep the properties that are not named, and to remove those that are null; false
        /// to replace all properties.
        merge: bool,
    },
    /// Deletes a node, with all edges from it and to it.
    DeleteNode {
        /// Id of the node.
        #[serde(with = "super::json::id")]
        id: ExternalId,
    },
    /// Adds an edge, in place of those with the same source, type and destination.
    AppendEdge {
        /// Source of the edge.
        #[serde(with = "super::json::id")]
        source: ExternalId,
        /// Type of the edge.
        edge_type: String,
        /// Destination of the edge.
        #[serde(with = "super::json::id")]
        destination: ExternalId,
        /// Time of the edge.
        timestamp: i64,
        /// Properties of the edge; null ones are left out.
        #[serde(with = "super::json::properties")]
        properties: Vec<(String, Value)>,
    },
    /// Deletes the edges of this source, type and destination.
    DeleteEdge {
        /// Source of the edges.
        #[serde(with = "super::json::id")]
        source: ExternalId,
        /// Type of the edges.
        edge_type: String,
        /// Destination of the edges.
        #[serde(with = "super::json::id")]
        destination: ExternalId,
    },
    /// Adds an edge beside those with the same source, type and destination.
    CreateEdge {
        /// The new edge. Its number is one that no edge of the store has had; see
        /// [`PropertyStore::new_edge_number`](crate::PropertyStore::new_edge_number).
        edge: EdgeId,
        /// Time of the edge.
        timestamp: i64,
        /// Properties of the edge; null ones are left out.
        #[serde(with = "super::json::properties")]
        properties: Vec<(String, Value)>,
    },
    /// Changes the properties of one edge. Its time stays.
    UpdateEdge {
        /// The edge.
        edge: EdgeId,
        /// New properties.
        #[serde(with = "super::json::properties")]
        properties: Vec<(String, Value)>,
        /// As for nodes.
        merge: bool,
    },
    /// Deletes one edge.
    RemoveEdge {
        /// The edge.
        edge: EdgeId,
    },
    /// Changes the labels of a node, which are a set.
    ChangeLabels {
        /// Id of the node.
        #[serde(with = "super::json::id")]
        id: ExternalId,
        /// Labels that the node has from now on.
        add: Vec<String>,
        /// Labels that it no longer has.
        remove: Vec<String>,
    },
    /// Gives an edge another type. Its time and properties stay.
    ChangeType {
        /// Source of the edge.
        #[serde(with = "super::json::id")]
        source: ExternalId,
        /// Present type of the edge.
        edge_type: String,
        /// Destination of the edge.
        #[serde(with = "super::json::id")]
        destination: ExternalId,
        /// New type of the edge.
        new_type: String,
    },
    /// Declares two types of edges to be inverse: for each edge of one type, TAO's operations keep
    /// an edge of the other type that leads back.
    SetInverse {
        /// A type of edges.
        edge_type: String,
        /// The type of the edges that lead back, which may be the same.
        inverse: String,
    },
    /// Declares a constraint, which all nodes and edges have to keep, or an index.
    Declare {
        /// The constraint or index.
        rule: Rule,
    },
    /// Drops a constraint or an index.
    Drop {
        /// Its name.
        name: String,
    },
}

impl EdgeId {
    fn weight(&self) -> usize {
        key_weight(&self.source, &self.edge_type, &self.destination)
    }
}

fn key_weight(source: &ExternalId, edge_type: &str, destination: &ExternalId) -> usize {
    id_weight(source) + edge_type.len() + id_weight(destination)
}

fn id_weight(id: &ExternalId) -> usize {
    match id {
        ExternalId::U64(_) | ExternalId::I64(_) => 0,
        ExternalId::Big(text) | ExternalId::Text(text) => text.len(),
        ExternalId::Bytes(bytes) => bytes.len(),
    }
}

fn properties_weight(properties: &[(String, Value)]) -> usize {
    let each = |(name, value): &(String, Value)| size_of::<String>() + name.len() + value.weight();
    properties.iter().map(each).sum()
}

/// Error for bytes of a log that are no changes.
pub(super) const BAD: &str = "a change in the log does not decode";

/// The changes of a commit, encoded one by one.
#[derive(Debug, Default)]
pub(in super::super) struct EncodedChanges {
    count: u64,
    body: Vec<u8>,
}

impl EncodedChanges {
    pub(in super::super) fn push(&mut self, change: &Change) {
        self.count += 1;
        change.encode(&mut self.body);
    }

    /// Bytes of the changes so far.
    pub(in super::super) fn len(&self) -> usize {
        self.body.len()
    }

    /// The commit, of a transaction if there is a mark, as it is in the log.
    pub(in super::super) fn finish(mut self, mark: Option<&TransactionMark>) -> Vec<u8> {
        let mut head = Vec::new();
        put_mark(mark, &mut head);
        varint::put(&mut head, self.count);
        self.body.splice(..0, head);
        self.body
    }
}

/// Appends what begins a commit: 0, or 1 and the transaction that made it.
pub(super) fn put_mark(mark: Option<&TransactionMark>, out: &mut Vec<u8>) {
    out.push(u8::from(mark.is_some()));
    if let Some(mark) = mark {
        out.extend_from_slice(&mark.id.to_le_bytes());
        varint::put(out, mark.begun);
    }
}

/// Reads what begins a commit; returns it with the bytes that it takes.
pub(super) fn mark(bytes: &[u8]) -> Option<(Option<TransactionMark>, usize)> {
    let mut from = Decoder { bytes, at: 0 };
    let mark = match from.byte()? {
        0 => None,
        1 => {
            let id = u128::from_le_bytes(from.take(16)?.try_into().ok()?);
            Some(TransactionMark { id, begun: from.number()? })
        }
        _ => return None,
    };
    Some((mark, from.at))
}

/// Reads the number of changes of a commit; returns it with the bytes that it
/// takes.
pub(super) fn count(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut from = Decoder { bytes, at: 0 };
    Some((from.number()?, from.at))
}

/// Decodes the first change of some bytes; returns it with the bytes that it takes. `None` if the
/// bytes end too early.
pub(super) fn change(bytes: &[u8]) -> Option<(Change, usize)> {
    let mut from = Decoder { bytes, at: 0 };
    Some((from.change()?, from.at))
}

/// Decodes a commit as [`EncodedChanges::finish`] makes it.
///
/// # Errors
/// [`Error::Invalid`] for bytes that are none.
pub(in super::super) fn decode_commit(
    bytes: &[u8],
) -> Result<(Option<TransactionMark>, Vec<Change>)> {
    let decoded = || {
        let (mark, at) = mark(bytes)?;
        let mut from = Decoder { bytes, at };
        let mut changes = Vec::new();
        for _ in 0..from.number()? {
            changes.push(from.change()?);
        }
        (from.at == bytes.len()).then_some((mark, changes))
    };
    decoded().ok_or_else(|| Error::Invalid(BAD.to_owned()))
}

impl Change {
    /// Returns true for a change that has to find edges by their destination.
    pub(in super::super) fn looks_up_edges(&self) -> bool {
        match self {
            Change::AppendNode { .. }
            | Change::UpdateNode { .. }
            | Change::ChangeLabels { .. }
            | Change::SetInverse { .. }
            | Change::Declare { .. }
            | Change::Drop { .. } => false,
            Change::DeleteNode { .. }
            | Change::AppendEdge { .. }
            | Change::DeleteEdge { .. }
            | Change::ChangeType { .. }
            | Change::CreateEdge { .. }
            | Change::UpdateEdge { .. }
            | Change::RemoveEdge { .. } => true,
        }
    }

    /// Bytes of memory that the change takes, about.
    pub fn weight(&self) -> u64 {
        let inside = match self {
            Change::AppendNode { id, properties } | Change::UpdateNode { id, properties, .. } => {
                id_weight(id) + properties_weight(properties)
            }
            Change::DeleteNode { id } => id_weight(id),
            Change::AppendEdge { source, edge_type, destination, properties, .. } => {
                key_weight(source, edge_type, destination) + properties_weight(properties)
            }
            Change::DeleteEdge { source, edge_type, destination } => {
                key_weight(source, edge_type, destination)
            }
            Change::ChangeType { source, edge_type, destination, new_type } => {
                key_weight(source, edge_type, destination) + new_type.len()
            }
            Change::CreateEdge { edge, properties, .. }
            | Change::UpdateEdge { edge, properties, .. } => {
                edge.weight() + properties_weight(properties)
            }
            Change::RemoveEdge { edge } => edge.weight(),
            Change::ChangeLabels { id, add, remove } => {
                let names = add.iter().chain(remove);
                id_weight(id) + names.map(|name| size_of::<String>() + name.len()).sum::<usize>()
            }
            Change::SetInverse { edge_type, inverse } => edge_type.len() + inverse.len(),
            Change::Declare { rule } => rule.name.len(),
            Change::Drop { name } => name.len(),
        };
        (size_of::<Change>() + inside) as u64
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Change::AppendNode { id, properties } => {
                out.push(1);
                put_id(id, out);
                put_properties(properties, out);
            }
            Change::UpdateNode { id, properties, merge } => {
                out.push(if *merge { 3 } else { 2 });
                put_id(id, out);
                put_properties(properties, out);
            }
            Change::DeleteNode { id } => {
                out.push(4);
                put_id(id, out);
            }
            Change::AppendEdge { source, edge_type, destination, timestamp, properties } => {
                out.push(5);
                put_key(source, edge_type, destination, out);
                out.extend_from_slice(&timestamp.to_le_bytes());
                put_properties(properties, out);
            }
            Change::DeleteEdge { source, edge_type, destination } => {
                out.push(6);
                put_key(source, edge_type, destination, out);
            }
            Change::ChangeType { source, edge_type, destination, new_type } => {
                out.push(7);
                put_key(source, edge_type, destination, out);
                put_bytes(new_type.as_bytes(), out);
            }
            Change::CreateEdge { edge, timestamp, properties } => {
                out.push(9);
                edge.encode(out);
                out.extend_from_slice(&timestamp.to_le_bytes());
                put_properties(properties, out);
            }
            Change::UpdateEdge { edge, properties, merge } => {
                out.push(if *merge { 11 } else { 10 });
                edge.encode(out);
                put_properties(properties, out);
            }
            Change::RemoveEdge { edge } => {
                out.push(12);
                edge.encode(out);
            }
            Change::ChangeLabels { id, add, remove } => {
                out.push(13);
                put_id(id, out);
                put_texts(add, out);
                put_texts(remove, out);
            }
            Change::SetInverse { edge_type, inverse } => {
                out.push(8);
                put_bytes(edge_type.as_bytes(), out);
                put_bytes(inverse.as_bytes(), out);
            }
            Change::Declare { rule } => {
                out.push(14);
                rule.encode(out);
            }
            Change::Drop { name } => {
                out.push(15);
                put_bytes(name.as_bytes(), out);
            }
        }
    }
}

impl Rule {
    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(self.name.as_bytes(), out);
        let known = RuleKind::ALL.iter().zip(0..).find(|(kind, _)| **kind == self.kind);
        out.extend([known.map_or(u8::MAX, |(_, tag)| tag), u8::from(self.of.is_edges())]);
        put_texts(self.of.names(), out);
        put_texts(&self.properties, out);
    }
}

impl fmt::Display for EdgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EdgeId { source, edge_type, destination, number } = self;
        write!(f, "{source} -[{edge_type}]-> {destination}")?;
        if *number > 0 { write!(f, " (number {number})") } else { Ok(()) }
    }
}

impl EdgeId {
    fn encode(&self, out: &mut Vec<u8>) {
        put_key(&self.source, &self.edge_type, &self.destination, out);
        varint::put(out, self.number);
    }
}

fn put_key(source: &ExternalId, edge_type: &str, destination: &ExternalId, out: &mut Vec<u8>) {
    put_id(source, out);
    put_bytes(edge_type.as_bytes(), out);
    put_id(destination, out);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_texts(texts: &[String], out: &mut Vec<u8>) {
    varint::put(out, texts.len() as u64);
    texts.iter().for_each(|text| put_bytes(text.as_bytes(), out));
}

fn put_id(id: &ExternalId, out: &mut Vec<u8>) {
    let (tag, bytes): (u8, &[u8]) = match id {
        ExternalId::U64(v) => (0, &v.to_le_bytes()),
        ExternalId::I64(v) => (1, &v.to_le_bytes()),
        ExternalId::Big(text) => (2, text.as_bytes()),
        ExternalId::Text(text) => (3, text.as_bytes()),
        ExternalId::Bytes(bytes) => (4, bytes),
    };
    out.push(tag);
    put_bytes(bytes, out);
}

fn put_properties(properties: &[(String, Value)], out: &mut Vec<u8>) {
    varint::put(out, properties.len() as u64);
    for (name, value) in properties {
        put_bytes(name.as_bytes(), out);
        put_value(value, out);
    }
}

fn put_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(0),
        Value::String(text) => {
            out.push(1);
            put_bytes(text.as_bytes(), out);
        }
        Value::Bytes(bytes) => {
            out.push(2);
            put_bytes(bytes, out);
        }
        Value::Int(v) => {
            out.push(3);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::Float(v) => {
            out.push(4);
            out.extend_from_slice(&v.to_bits().to_le_bytes());
        }
        Value::Bool(v) => out.push(if *v { 6 } else { 5 }),
        Value::Timestamp(v) => {
            out.push(7);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::Temporal(kind, v) => {
            out.extend([9, tag(*kind)]);
            out.extend_from_slice(&v.to_le_bytes());
        }
        Value::List(items) => {
            out.push(8);
            varint::put(out, items.len() as u64);
            items.iter().for_each(|item| put_value(item, out));
        }
    }
}

/// The byte that stands for a kind of time: its place in [`Temporal::ALL`].
fn tag(kind: Temporal) -> u8 {
    match kind {
        Temporal::Date => 0,
        Temporal::LocalDateTime => 1,
        Temporal::DateTime => 2,
        Temporal::Time => 3,
        Temporal::Duration => 4,
    }
}

struct Decoder<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Decoder<'b> {
    fn number(&mut self) -> Option<u64> {
        varint::get(self.bytes, &mut self.at)
    }

    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        self.take(8)?.try_into().ok()
    }

    fn run(&mut self) -> Option<&'b [u8]> {
        let len = self.number()?;
        self.take(usize::try_from(len).ok()?)
    }

    fn text(&mut self) -> Option<String> {
        Some(std::str::from_utf8(self.run()?).ok()?.to_owned())
    }

    fn change(&mut self) -> Option<Change> {
        Some(match self.byte()? {
            1 => Change::AppendNode { id: self.id()?, properties: self.properties()? },
            tag @ (2 | 3) => Change::UpdateNode {
                id: self.id()?,
                properties: self.properties()?,
                merge: tag == 3,
            },
            4 => Change::DeleteNode { id: self.id()? },
            5 => Change::AppendEdge {
                source: self.id()?,
                edge_type: self.text()?,
                destination: self.id()?,
                timestamp: i64::from_le_bytes(self.eight()?),
                properties: self.properties()?,
            },
            6 => Change::DeleteEdge {
                source: self.id()?,
                edge_type: self.text()?,
                destination: self.id()?,
            },
            7 => Change::ChangeType {
                source: self.id()?,
                edge_type: self.text()?,
                destination: self.id()?,
                new_type: self.text()?,
            },
            8 => Change::SetInverse { edge_type: self.text()?, inverse: self.text()? },
            9 => Change::CreateEdge {
                edge: self.edge()?,
                timestamp: i64::from_le_bytes(self.eight()?),
                properties: self.properties()?,
            },
            tag @ (10 | 11) => Change::UpdateEdge {
                edge: self.edge()?,
                properties: self.properties()?,
                merge: tag == 11,
            },
            12 => Change::RemoveEdge { edge: self.edge()? },
            13 => {
                Change::ChangeLabels { id: self.id()?, add: self.texts()?, remove: self.texts()? }
            }
            14 => Change::Declare { rule: self.rule()? },
            15 => Change::Drop { name: self.text()? },
            _ => return None,
        })
    }

    fn rule(&mut self) -> Option<Rule> {
        let name = self.text()?;
        let kind = *RuleKind::ALL.get(usize::from(self.byte()?))?;
        let of = match self.byte()? {
            0 => RuleTarget::Nodes(self.texts()?),
            1 => RuleTarget::Edges(self.texts()?),
            _ => return None,
        };
        Some(Rule { name, kind, of, properties: self.texts()? })
    }

    fn edge(&mut self) -> Option<EdgeId> {
        Some(EdgeId {
            source: self.id()?,
            edge_type: self.text()?,
            destination: self.id()?,
            number: self.number()?,
        })
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        let count = self.number()?;
        (0..count).map(|_| self.text()).collect()
    }

    fn id(&mut self) -> Option<ExternalId> {
        let tag = self.byte()?;
        let bytes = self.run()?;
        let text = || Some(std::str::from_utf8(bytes).ok()?.to_owned());
        Some(match tag {
            0 => ExternalId::U64(u64::from_le_bytes(bytes.try_into().ok()?)),
            1 => ExternalId::I64(i64::from_le_bytes(bytes.try_into().ok()?)),
            2 => ExternalId::Big(text()?),
            3 => ExternalId::Text(text()?),
            4 => ExternalId::Bytes(bytes.to_vec()),
            _ => return None,
        })
    }

    fn properties(&mut self) -> Option<Vec<(String, Value)>> {
        let count = self.number()?;
        (0..count).map(|_| Some((self.text()?, self.value(true)?))).collect()
    }

    /// Decodes a value. `list` is false for items, because the items of a list are no lists.
    fn value(&mut self, list: bool) -> Option<Value> {
        Some(match self.byte()? {
            0 => Value::Null,
            1 => Value::String(self.text()?),
            2 => Value::Bytes(self.run()?.to_vec()),
            3 => Value::Int(i64::from_le_bytes(self.eight()?)),
            4 => Value::Float(f64::from_bits(u64::from_le_bytes(self.eight()?))),
            5 => Value::Bool(false),
            6 => Value::Bool(true),
            7 => Value::Timestamp(i64::from_le_bytes(self.eight()?)),
            9 => {
                let kind = *Temporal::ALL.get(usize::from(self.byte()?))?;
                Value::Temporal(kind, i64::from_le_bytes(self.eight()?))
            }
            8 if list => {
                let count = self.number()?;
                Value::List((0..count).map(|_| self.value(false)).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id() -> impl Strategy<Value = ExternalId> {
        prop_oneof![
            any::<u64>().prop_map(ExternalId::U64),
            any::<i64>().prop_map(ExternalId::I64),
            ".{0,8}".prop_map(ExternalId::Text),
            "[1-9][0-9]{20,24}".prop_map(ExternalId::Big),
            prop::collection::vec(any::<u8>(), 0..9).prop_map(ExternalId::Bytes),
        ]
    }

    fn properties() -> impl Strategy<Value = Vec<(String, Value)>> {
        let scalar = prop_oneof![
            Just(Value::Null),
            ".{0,8}".prop_map(Value::String),
            prop::collection::vec(any::<u8>(), 0..9).prop_map(Value::Bytes),
            any::<i64>().prop_map(Value::Int),
            (-1e9..1e9).prop_map(Value::Float),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Timestamp),
            (prop::sample::select(Temporal::ALL.to_vec()), any::<i64>())
                .prop_map(|(kind, v)| Value::Temporal(kind, v)),
        ];
        let list = prop::collection::vec(scalar.clone(), 0..3).prop_map(Value::List);
        prop::collection::vec((".{0,6}", prop_oneof![scalar, list]), 0..4)
    }

    pub(in super::super) fn mark() -> impl Strategy<Value = TransactionMark> {
        any::<(u128, u64)>().prop_map(|(id, begun)| TransactionMark { id, begun })
    }

    pub(in super::super) fn change() -> impl Strategy<Value = Change> {
        let key = || (id(), ".{0,5}", id());
        let edge =
            || {
                (key(), any::<u64>()).prop_map(|((source, edge_type, destination), number)| {
                    EdgeId { source, edge_type, destination, number }
                })
            };
        let labels = || prop::collection::vec(".{0,5}", 0..3);
        let rule = (".{0,5}", prop::sample::select(RuleKind::ALL.to_vec()), any::<bool>());
        let rule =
            (rule, labels(), labels()).prop_map(|((name, kind, of_edges), of, properties)| {
                let of = if of_edges { RuleTarget::Edges(of) } else { RuleTarget::Nodes(of) };
                Change::Declare { rule: Rule { name, kind, of, properties } }
            });
        prop_oneof![
            rule,
            ".{0,5}".prop_map(|name| Change::Drop { name }),
            (edge(), any::<i64>(), properties()).prop_map(|(edge, timestamp, properties)| {
                Change::CreateEdge { edge, timestamp, properties }
            }),
            (edge(), properties(), any::<bool>()).prop_map(|(edge, properties, merge)| {
                Change::UpdateEdge { edge, properties, merge }
            }),
            edge().prop_map(|edge| Change::RemoveEdge { edge }),
            (id(), labels(), labels()).prop_map(|(id, add, remove)| Change::ChangeLabels {
                id,
                add,
                remove
            }),
            (id(), properties()).prop_map(|(id, properties)| Change::AppendNode { id, properties }),
            (id(), properties(), any::<bool>())
                .prop_map(|(id, properties, merge)| Change::UpdateNode { id, properties, merge }),
            id().prop_map(|id| Change::DeleteNode { id }),
            (key(), any::<i64>(), properties()).prop_map(
                |((source, edge_type, destination), timestamp, properties)| Change::AppendEdge {
                    source,
                    edge_type,
                    destination,
                    timestamp,
                    properties
                }
            ),
            key().prop_map(|(source, edge_type, destination)| Change::DeleteEdge {
                source,
                edge_type,
                destination
            }),
            (key(), ".{0,5}").prop_map(|((source, edge_type, destination), new_type)| {
                Change::ChangeType { source, edge_type, destination, new_type }
            }),
            (".{0,5}", ".{0,5}")
                .prop_map(|(edge_type, inverse)| Change::SetInverse { edge_type, inverse }),
        ]
    }

    fn decode(bytes: &[u8]) -> Option<Vec<Change>> {
        let (_, begin) = super::mark(bytes)?;
        let (count, counted) = super::count(bytes.get(begin..)?)?;
        let mut at = begin + counted;
        let changes = (0..count).map(|_| {
            let (change, taken) = super::change(bytes.get(at..)?)?;
            at += taken;
            Some(change)
        });
        let changes: Option<Vec<Change>> = changes.collect();
        changes.filter(|_| at == bytes.len())
    }

    proptest! {
        #[test]
        fn changes_survive_their_bytes(
            changes in prop::collection::vec(change(), 0..6),
            transaction in mark(),
        ) {
            let mut bytes = Vec::new();
            put_mark(Some(&transaction), &mut bytes);
            prop_assert_eq!(super::mark(&bytes), Some((Some(transaction), bytes.len())));
            let mut encoded = EncodedChanges::default();
            changes.iter().for_each(|change| encoded.push(change));
            let bytes = encoded.finish(None);
            prop_assert_eq!(decode(&bytes), Some(changes));
            for end in 0..bytes.len() {
                prop_assert!(decode(&bytes[..end]).is_none());
            }
        }

        #[test]
        fn any_bytes_decode_or_do_not(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = decode(&bytes);
        }
    }
}
