//! Ids, values, conditions, edges and changes as messages, and back.

use std::ops::Bound;

use nakshi_property as property;
use nakshi_property::{BucketSet, Condition, Rule, RuleKind, RuleTarget, Temporal, Value};
use nakshi_store::ExternalId;

use crate::error::{Error, Result};
use crate::v1;
use crate::v1::change::Change as Made;
use crate::v1::condition::Condition as Asked;
use crate::v1::id::Id as WireId;
use crate::v1::value::Value as WireValue;

/// Values by name.
pub(crate) type Named = Vec<(String, Value)>;

/// Something that must be in a message.
pub(crate) fn needed<T>(given: Option<T>, what: &str) -> Result<T> {
    given.ok_or_else(|| Error::missing(what))
}

pub(crate) fn id(id: &ExternalId) -> v1::Id {
    let id = match id {
        ExternalId::I64(id) => WireId::Number(*id),
        ExternalId::U64(id) => i64::try_from(*id).map_or(WireId::Unsigned(*id), WireId::Number),
        ExternalId::Big(id) => WireId::Big(id.clone()),
        ExternalId::Text(id) => WireId::Text(id.clone()),
        ExternalId::Bytes(id) => WireId::Bytes(id.clone()),
    };
    v1::Id { id: Some(id) }
}

pub(crate) fn of_id(id: Option<v1::Id>) -> Result<ExternalId> {
    Ok(match needed(id.and_then(|id| id.id), "id")? {
        WireId::Number(id) => ExternalId::I64(id),
        WireId::Unsigned(id) => ExternalId::U64(id),
        WireId::Big(id) => ExternalId::Big(id),
        WireId::Text(id) => ExternalId::Text(id),
        WireId::Bytes(id) => ExternalId::Bytes(id),
    })
}

pub(crate) fn of_ids(ids: Vec<v1::Id>) -> Result<Vec<ExternalId>> {
    ids.into_iter().map(|id| of_id(Some(id))).collect()
}

fn temporal_kind(kind: Temporal) -> v1::TemporalKind {
    match kind {
        Temporal::Date => v1::TemporalKind::Date,
        Temporal::LocalDateTime => v1::TemporalKind::LocalDateTime,
        Temporal::DateTime => v1::TemporalKind::DateTime,
        Temporal::Time => v1::TemporalKind::Time,
        Temporal::Duration => v1::TemporalKind::Duration,
    }
}

pub(crate) fn value(value: &Value) -> v1::Value {
    let value = match value {
        Value::Null => None,
        Value::String(text) => Some(WireValue::Text(text.clone())),
        Value::Bytes(bytes) => Some(WireValue::Bytes(bytes.clone())),
        Value::Int(v) => Some(WireValue::Int(*v)),
        Value::Float(v) => Some(WireValue::Float(*v)),
        Value::Bool(v) => Some(WireValue::Bool(*v)),
        Value::Timestamp(v) => Some(WireValue::Timestamp(*v)),
        Value::Temporal(kind, value) => Some(WireValue::Temporal(v1::Temporal {
            kind: temporal_kind(*kind).into(),
            value: *value,
        })),
        Value::List(items) => Some(WireValue::List(values(items))),
    };
    v1::Value { value }
}

fn values(items: &[Value]) -> v1::Values {
    v1::Values { values: items.iter().map(value).collect() }
}

pub(crate) fn of_value(value: Option<v1::Value>) -> Result<Value> {
    let Some(value) = value.and_then(|value| value.value) else { return Ok(Value::Null) };
    Ok(match value {
        WireValue::Text(text) => Value::String(text),
        WireValue::Bytes(bytes) => Value::Bytes(bytes),
        WireValue::Int(v) => Value::Int(v),
        WireValue::Float(v) => Value::Float(v),
        WireValue::Bool(v) => Value::Bool(v),
        WireValue::Timestamp(v) => Value::Timestamp(v),
        WireValue::Temporal(temporal) => of_temporal(&temporal)?,
        WireValue::List(items) => Value::List(of_values(items)?),
    })
}

fn of_values(values: v1::Values) -> Result<Vec<Value>> {
    values.values.into_iter().map(|value| of_value(Some(value))).collect()
}

fn of_temporal(temporal: &v1::Temporal) -> Result<Value> {
    let wanted = Temporal::ALL.into_iter().find(|kind| temporal_kind(*kind) == temporal.kind());
    let kind = needed(wanted, "known kind of a date or time")?;
    if !kind.holds(temporal.value) {
        return Err(Error::parameter(format!("{} is no {}", temporal.value, kind.name())));
    }
    Ok(Value::Temporal(kind, temporal.value))
}

pub(crate) fn properties<S: AsRef<str>>(values: &[(S, Value)]) -> Vec<v1::Property> {
    let one = |(name, of): &(S, Value)| v1::Property {
        name: name.as_ref().to_owned(),
        value: Some(value(of)),
    };
    values.iter().map(one).collect()
}

pub(crate) fn of_properties(properties: Vec<v1::Property>) -> Result<Named> {
    properties.into_iter().map(|one| Ok((one.name, of_value(one.value)?))).collect()
}

fn bound(limit: &Bound<Value>) -> Option<v1::Bound> {
    let (limit, included) = match limit {
        Bound::Unbounded => return None,
        Bound::Included(limit) => (limit, true),
        Bound::Excluded(limit) => (limit, false),
    };
    Some(v1::Bound { value: Some(value(limit)), included })
}

fn of_bound(bound: Option<v1::Bound>) -> Result<Bound<Value>> {
    let Some(bound) = bound else { return Ok(Bound::Unbounded) };
    let limit = of_value(bound.value)?;
    Ok(if bound.included { Bound::Included(limit) } else { Bound::Excluded(limit) })
}

fn condition(wanted: &Condition) -> Result<v1::Condition> {
    let many = |all: &[Condition]| -> Result<v1::Conditions> {
        Ok(v1::Conditions { conditions: all.iter().map(condition).collect::<Result<_>>()? })
    };
    let condition = match wanted {
        Condition::Is(of) => Asked::Is(value(of)),
        Condition::Contains(of) => Asked::Contains(value(of)),
        Condition::Starts(of) => Asked::Starts(value(of)),
        Condition::Range(low, high) => {
            Asked::Range(v1::Range { low: bound(low), high: bound(high) })
        }
        Condition::In(of) => Asked::In(values(of)),
        Condition::Null => Asked::Null(true),
        Condition::Not(one) => Asked::Not(Box::new(condition(one)?)),
        Condition::All(all) => Asked::All(many(all)?),
        Condition::Any(any) => Asked::Any(many(any)?),
        _ => return Err(Error::parameter("a condition of a newer version")),
    };
    Ok(v1::Condition { condition: Some(condition) })
}

fn of_condition(condition: Option<v1::Condition>) -> Result<Condition> {
    let many = |all: v1::Conditions| -> Result<Vec<Condition>> {
        all.conditions.into_iter().map(|one| of_condition(Some(one))).collect()
    };
    Ok(match needed(condition.and_then(|one| one.condition), "condition that is known")? {
        Asked::Is(value) => Condition::Is(of_value(Some(value))?),
        Asked::Contains(value) => Condition::Contains(of_value(Some(value))?),
        Asked::Starts(value) => Condition::Starts(of_value(Some(value))?),
        Asked::Range(range) => Condition::Range(of_bound(range.low)?, of_bound(range.high)?),
        Asked::In(values) => Condition::In(of_values(values)?),
        Asked::Null(true) => Condition::Null,
        Asked::Null(false) => Condition::Not(Box::new(Condition::Null)),
        Asked::Not(one) => Condition::Not(Box::new(of_condition(Some(*one))?)),
        Asked::All(all) => Condition::All(many(all)?),
        Asked::Any(any) => Condition::Any(many(any)?),
    })
}

pub(crate) fn filters(wanted: &[(&str, Condition)]) -> Result<Vec<v1::Filter>> {
    let one = |(name, of): &(&str, Condition)| {
        Ok(v1::Filter { property: (*name).to_owned(), condition: Some(condition(of)?) })
    };
    wanted.iter().map(one).collect()
}

/// Conditions by name, as the queries of a graph take them.
pub(crate) fn of_filters(filters: Vec<v1::Filter>) -> Result<Vec<(String, Condition)>> {
    filters.into_iter().map(|one| Ok((one.property, of_condition(one.condition)?))).collect()
}

pub(crate) fn edge_id(edge: &property::EdgeId) -> v1::EdgeId {
    v1::EdgeId {
        source: Some(id(&edge.source)),
        edge_type: edge.edge_type.clone(),
        destination: Some(id(&edge.destination)),
        number: edge.number,
    }
}

pub(crate) fn of_edge_id(edge: Option<v1::EdgeId>) -> Result<property::EdgeId> {
    let edge = needed(edge, "edge")?;
    Ok(property::EdgeId {
        source: of_id(edge.source)?,
        edge_type: edge.edge_type,
        destination: of_id(edge.destination)?,
        number: edge.number,
    })
}

fn edge_key(source: &ExternalId, edge_type: &str, destination: &ExternalId) -> v1::EdgeKey {
    v1::EdgeKey {
        source: Some(id(source)),
        edge_type: edge_type.to_owned(),
        destination: Some(id(destination)),
    }
}

pub(crate) fn change(change: &property::Change) -> v1::Change {
    use property::Change as C;
    let change = match change {
        C::AppendNode { id: node, properties: given } => {
            Made::AppendNode(v1::AppendNode { id: Some(id(node)), properties: properties(given) })
        }
        C::UpdateNode { id: node, properties: given, merge } => Made::UpdateNode(v1::UpdateNode {
            id: Some(id(node)),
            properties: properties(given),
            merge: *merge,
        }),
        C::DeleteNode { id: node } => Made::DeleteNode(id(node)),
        C::AppendEdge { source, edge_type, destination, timestamp, properties: given } => {
            Made::AppendEdge(v1::AppendEdge {
                source: Some(id(source)),
                edge_type: edge_type.clone(),
                destination: Some(id(destination)),
                timestamp: *timestamp,
                properties: properties(given),
            })
        }
        C::DeleteEdge { source, edge_type, destination } => {
            Made::DeleteEdge(edge_key(source, edge_type, destination))
        }
        C::CreateEdge { edge, timestamp, properties: given } => Made::CreateEdge(v1::CreateEdge {
            edge: Some(edge_id(edge)),
            timestamp: *timestamp,
            properties: properties(given),
        }),
        C::UpdateEdge { edge, properties: given, merge } => Made::UpdateEdge(v1::UpdateEdge {
            edge: Some(edge_id(edge)),
            properties: properties(given),
            merge: *merge,
        }),
        C::RemoveEdge { edge } => Made::RemoveEdge(edge_id(edge)),
        C::ChangeLabels { id: node, add, remove } => Made::ChangeLabels(v1::ChangeLabels {
            id: Some(id(node)),
            add: add.clone(),
            remove: remove.clone(),
        }),
        C::ChangeType { source, edge_type, destination, new_type } => {
            Made::ChangeType(v1::ChangeType {
                edge: Some(edge_key(source, edge_type, destination)),
                new_type: new_type.clone(),
            })
        }
        C::SetInverse { edge_type, inverse } => Made::SetInverse(v1::SetInverse {
            edge_type: edge_type.clone(),
            inverse: inverse.clone(),
        }),
        C::Declare { rule: declared } => Made::Declare(rule(declared)),
        C::Drop { name } => Made::Drop(name.clone()),
        // A server refuses a change that is none: buckets are moved by a call of their own.
        C::MoveBuckets { .. } => return v1::Change::default(),
    };
    v1::Change { change: Some(change) }
}

/// The set of buckets of a message.
pub(crate) fn of_buckets(bytes: &[u8]) -> Result<BucketSet> {
    needed(BucketSet::from_bytes(bytes), "set of buckets")
}

/// The set of buckets of a message that may have none.
pub(crate) fn of_some_buckets(bytes: &[u8]) -> Result<Option<BucketSet>> {
    (!bytes.is_empty()).then(|| of_buckets(bytes)).transpose()
}

/// The kinds of rules in the interface, and their numbers there.
const RULES: [(RuleKind, v1::RuleKind); 8] = [
    (RuleKind::Unique, v1::RuleKind::Unique),
    (RuleKind::Key, v1::RuleKind::Key),
    (RuleKind::Exists, v1::RuleKind::Exists),
    (RuleKind::Range, v1::RuleKind::Range),
    (RuleKind::Text, v1::RuleKind::Text),
    (RuleKind::Point, v1::RuleKind::Point),
    (RuleKind::FullText, v1::RuleKind::FullText),
    (RuleKind::Lookup, v1::RuleKind::Lookup),
];

fn rule(rule: &Rule) -> v1::Rule {
    let known = RULES.iter().find(|(kind, _)| *kind == rule.kind);
    v1::Rule {
        name: rule.name.clone(),
        kind: known.map_or(v1::RuleKind::Unspecified, |(_, told)| *told).into(),
        of_edges: rule.of.is_edges(),
        names: rule.of.names().to_vec(),
        properties: rule.properties.clone(),
    }
}

fn of_rule(rule: v1::Rule) -> Result<Rule> {
    let known = RULES.iter().find(|(_, told)| *told == rule.kind());
    let kind = needed(known.map(|(kind, _)| *kind), "kind of a rule that is known")?;
    let of = match rule.of_edges {
        true => RuleTarget::Edges(rule.names),
        false => RuleTarget::Nodes(rule.names),
    };
    Ok(Rule { name: rule.name, kind, of, properties: rule.properties })
}

fn of_change(change: v1::Change) -> Result<property::Change> {
    use property::Change as C;
    Ok(match needed(change.change, "change that is known")? {
        Made::AppendNode(one) => {
            C::AppendNode { id: of_id(one.id)?, properties: of_properties(one.properties)? }
        }
        Made::UpdateNode(one) => C::UpdateNode {
            id: of_id(one.id)?,
            properties: of_properties(one.properties)?,
            merge: one.merge,
        },
        Made::DeleteNode(node) => C::DeleteNode { id: of_id(Some(node))? },
        Made::AppendEdge(one) => C::AppendEdge {
            source: of_id(one.source)?,
            edge_type: one.edge_type,
            destination: of_id(one.destination)?,
            timestamp: one.timestamp,
            properties: of_properties(one.properties)?,
        },
        Made::DeleteEdge(one) => C::DeleteEdge {
            source: of_id(one.source)?,
            edge_type: one.edge_type,
            destination: of_id(one.destination)?,
        },
        Made::CreateEdge(one) => C::CreateEdge {
            edge: of_edge_id(one.edge)?,
            timestamp: one.timestamp,
            properties: of_properties(one.properties)?,
        },
        Made::UpdateEdge(one) => C::UpdateEdge {
            edge: of_edge_id(one.edge)?,
            properties: of_properties(one.properties)?,
            merge: one.merge,
        },
        Made::RemoveEdge(edge) => C::RemoveEdge { edge: of_edge_id(Some(edge))? },
        Made::ChangeLabels(one) => {
            C::ChangeLabels { id: of_id(one.id)?, add: one.add, remove: one.remove }
        }
        Made::ChangeType(one) => {
            let edge = needed(one.edge, "edge")?;
            C::ChangeType {
                source: of_id(edge.source)?,
                edge_type: edge.edge_type,
                destination: of_id(edge.destination)?,
                new_type: one.new_type,
            }
        }
        Made::SetInverse(one) => C::SetInverse { edge_type: one.edge_type, inverse: one.inverse },
        Made::Declare(one) => C::Declare { rule: of_rule(one)? },
        Made::Drop(name) => C::Drop { name },
    })
}

pub(crate) fn changes(made: &[property::Change]) -> Vec<v1::Change> {
    made.iter().map(change).collect()
}

pub(crate) fn of_changes(changes: Vec<v1::Change>) -> Result<Vec<property::Change>> {
    changes.into_iter().map(of_change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_conditions_come_back() {
        let values = [
            Value::Null,
            Value::String("ä".into()),
            Value::Bytes(vec![0, 255]),
            Value::Int(i64::MIN),
            Value::Float(-0.0),
            Value::Bool(false),
            Value::Timestamp(-1),
            Value::Temporal(Temporal::Time, 1),
            Value::List(vec![Value::Int(1), Value::Int(2)]),
        ];
        for value in &values {
            assert_eq!(of_value(Some(super::value(value))), Ok(value.clone()));
        }
        let range = Condition::Range(
            Bound::Included(values[3].clone()),
            Bound::Excluded(values[4].clone()),
        );
        let all = [
            Condition::Is(values[1].clone()),
            Condition::Contains(values[1].clone()),
            Condition::Starts(values[2].clone()),
            Condition::In(values[3..5].to_vec()),
            Condition::Null,
        ];
        let deep =
            Condition::Not(Box::new(Condition::Any(vec![range, Condition::All(all.to_vec())])));
        let asked = [("p", deep.clone())];
        let back = of_filters(filters(&asked).unwrap()).unwrap();
        assert_eq!(back, [("p".to_owned(), deep)]);
    }

    #[test]
    fn ids_come_back() {
        for id in [
            ExternalId::I64(-5),
            ExternalId::U64(u64::MAX),
            ExternalId::Big("99999999999999999999999".into()),
            ExternalId::Text("a".into()),
            ExternalId::Bytes(vec![0]),
        ] {
            assert_eq!(of_id(Some(super::id(&id))), Ok(id));
        }
        assert!(of_id(None).is_err() && of_id(Some(v1::Id { id: None })).is_err());
    }

    #[test]
    fn a_date_that_is_none_is_refused() {
        let kind = v1::TemporalKind::Time.into();
        for temporal in [
            v1::Temporal { kind, value: -1 },
            v1::Temporal { kind: 99, value: 0 },
            v1::Temporal { kind: 0, value: 0 },
        ] {
            let value = v1::Value { value: Some(WireValue::Temporal(temporal)) };
            assert!(of_value(Some(value)).is_err());
        }
    }
}
