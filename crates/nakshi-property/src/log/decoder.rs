//! The bytes of changes in the log, decoded.

use super::super::bucket_set::BucketSet;
use super::super::rule::{Rule, RuleKind, RuleTarget};
use super::super::temporal::Temporal;
use super::super::value::Value;
use super::op::{BAD, Change, EdgeId, TransactionMark};
use nakshi_store::{Error, ExternalId, Result, varint};

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

/// Reads changes from their bytes.
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
            16 => Change::MoveBuckets {
                buckets: BucketSet::from_bytes(self.run()?)?,
                share: self.number()?.try_into().ok()?,
                shares: self.number()?.try_into().ok()?,
            },
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
    use super::super::op::{EncodedChanges, put_mark};
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
        let moved = (prop::collection::vec(0..1024_u32, 0..5), any::<u32>(), any::<u32>());
        prop_oneof![
            rule,
            moved.prop_map(|(buckets, share, shares)| {
                Change::MoveBuckets { buckets: BucketSet::new(buckets), share, shares }
            }),
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
