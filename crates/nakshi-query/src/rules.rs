//! Constraints and indexes as `SHOW` tells them, with the columns and words of Neo4j.

use nakshi_property::{PropertyGraph, Rule, RuleKind};

use super::value::{Row, Value};

/// Labels or types, and properties.
fn subject(rule: &Rule) -> [Value; 3] {
    let texts =
        |texts: &[String]| Value::list(texts.iter().map(|text| Value::text(&**text)).collect());
    let entity = if rule.of.is_edges() { "RELATIONSHIP" } else { "NODE" };
    [Value::text(entity), texts(rule.of.names()), texts(&rule.properties)]
}

/// Number of a rule among all, from 1 on.
fn numbered(graph: &PropertyGraph) -> impl Iterator<Item = (Value, &Rule)> {
    (1..).map(Value::Int).zip(graph.rules())
}

/// The rows of `SHOW CONSTRAINTS`.
pub(crate) fn constraints(graph: &PropertyGraph) -> Vec<Row> {
    let row = |(id, rule): (Value, &Rule)| {
        let kind = match (rule.kind, rule.of.is_edges()) {
            (RuleKind::Unique, _) => "UNIQUENESS",
            (RuleKind::Key, _) => "NODE_KEY",
            (_, false) => "NODE_PROPERTY_EXISTENCE",
            (_, true) => "RELATIONSHIP_PROPERTY_EXISTENCE",
        };
        let index = if rule.kind.is_unique() { Value::text(&*rule.name) } else { Value::Null };
        let mut row = vec![id, Value::text(&*rule.name), Value::text(kind)];
        row.extend(subject(rule));
        row.extend([index, Value::Null]);
        row
    };
    numbered(graph).filter(|(_, rule)| rule.kind.is_constraint()).map(row).collect()
}

/// The rows of `SHOW INDEXES`: also those that Neo4j has for constraints.
pub(crate) fn indexes(graph: &PropertyGraph) -> Vec<Row> {
    let row = |(id, rule): (Value, &Rule)| {
        let kind = match rule.kind {
            RuleKind::Text => "TEXT",
            RuleKind::Point => "POINT",
            RuleKind::FullText => "FULLTEXT",
            RuleKind::Lookup => "LOOKUP",
            _ => "RANGE",
        };
        let owner = if rule.kind.is_constraint() { Value::text(&*rule.name) } else { Value::Null };
        let text = |text: &str| Value::text(text);
        let mut row = vec![id, text(&rule.name), text("ONLINE"), Value::Float(100.0), text(kind)];
        row.extend(subject(rule));
        row.extend([text("nakshi-columns"), owner, Value::Null, Value::Null]);
        row
    };
    let has_index = |(_, rule): &(Value, &Rule)| rule.kind != RuleKind::Exists;
    numbered(graph).filter(has_index).map(row).collect()
}
