//! Changes, and their bytes in the log. The bytes hold names and external ids, so that they mean
//! the same for the files of every generation.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::bucket_set::BucketSet;
use super::super::rule::{Rule, RuleKind};
use super::super::temporal::Temporal;
use super::super::value::Value;
use nakshi_store::{ExternalId, varint};

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
    /// Says which servers have some buckets, of a graph that is dealt to servers; see
    /// [`MovedBuckets`](crate::MovedBuckets).
    MoveBuckets {
        /// The buckets.
        buckets: BucketSet,
        /// The share whose servers have them from now on.
        share: u32,
        /// Number of the shares.
        shares: u32,
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

impl Change {
    /// Returns true for a change that has to find edges by their destination.
    pub(in super::super) fn looks_up_edges(&self) -> bool {
        match self {
            Change::AppendNode { .. }
            | Change::UpdateNode { .. }
            | Change::ChangeLabels { .. }
            | Change::SetInverse { .. }
            | Change::Declare { .. }
            | Change::Drop { .. }
            | Change::MoveBuckets { .. } => false,
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
            Change::MoveBuckets { .. } => 0,
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
            Change::MoveBuckets { buckets, share, shares } => {
                put_moved(buckets, [*share, *shares], out);
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

fn put_moved(buckets: &BucketSet, shares: [u32; 2], out: &mut Vec<u8>) {
    out.push(16);
    put_bytes(&buckets.to_bytes(), out);
    shares.into_iter().for_each(|number| varint::put(out, number.into()));
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
