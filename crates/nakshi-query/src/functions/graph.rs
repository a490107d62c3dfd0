//! Functions of nodes, edges and paths.

use std::sync::Arc;

use super::entry::{Entry, strict};
use crate::error::{QueryError, Result};
use crate::value::{Node, Value};
use crate::view::View;

pub(super) static FUNCTIONS: &[Entry] = &[
    strict("id", 1..=1, id),
    strict("elementid", 1..=1, element_id),
    strict("labels", 1..=1, labels),
    strict("type", 1..=1, edge_type),
    strict("properties", 1..=1, properties),
    strict("keys", 1..=1, keys),
    strict("startnode", 1..=1, |_, values| end_of(values, true)),
    strict("endnode", 1..=1, |_, values| end_of(values, false)),
    strict("nodes", 1..=1, nodes),
    strict("relationships", 1..=1, relationships),
    strict("length", 1..=1, length),
];

fn wrong(function: &str, values: &[Value]) -> QueryError {
    let found = values.first().map_or("nothing", Value::type_name);
    QueryError::run(
        crate::error::Class::Type,
        "InvalidArgumentValue",
        format!("{function}() does not take a value of type {found}"),
    )
}

fn id(view: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Node(node)] if node.is_virtual() => Ok(Value::Int(node.id())),
        [Value::Relationship(edge)] if edge.is_virtual() => Ok(Value::Int(edge.id())),
        [Value::Node(node)] => view.node_id(node.vertex).map(Value::Int),
        [Value::Relationship(edge)] => Ok(Value::Int(view.edge_id(&edge.edge))),
        _ => Err(wrong("id", values)),
    }
}

fn element_id(view: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Node(node)] if node.is_virtual() => Ok(Value::text(node.element_id())),
        [Value::Relationship(edge)] if edge.is_virtual() => Ok(Value::text(edge.element_id())),
        [Value::Node(node)] => view.node_element_id(node.vertex).map(Value::text),
        [Value::Relationship(edge)] => view.edge_element_id(&edge.edge).map(Value::text),
        _ => Err(wrong("elementId", values)),
    }
}

fn labels(view: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Node(node)] => {
            let labels = match node.is_virtual() {
                true => node.labels().to_vec(),
                false => view.labels(node.vertex)?.to_vec(),
            };
            Ok(Value::list(labels.into_iter().map(Value::String).collect()))
        }
        _ => Err(wrong("labels", values)),
    }
}

fn edge_type(view: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Relationship(edge)] if edge.is_virtual() => Ok(Value::text(edge.edge_type())),
        [Value::Relationship(edge)] => Ok(Value::text(view.edge_type(&edge.edge))),
        _ => Err(wrong("type", values)),
    }
}

fn properties(view: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Map(map)] => Ok(Value::Map(Arc::clone(map))),
        [of @ (Value::Node(_) | Value::Relationship(_))] => Ok(Value::of_map(view.properties(of)?)),
        _ => Err(wrong("properties", values)),
    }
}

fn keys(view: &View, values: &[Value]) -> Result<Value> {
    match properties(view, values).map_err(|error| match values {
        [Value::Node(_) | Value::Relationship(_)] => error,
        _ => wrong("keys", values),
    })? {
        Value::Map(map) => Ok(Value::list(map.keys().cloned().map(Value::String).collect())),
        _ => Ok(Value::Null),
    }
}

fn end_of(values: &[Value], start: bool) -> Result<Value> {
    match values {
        [Value::Relationship(edge)] if !edge.is_virtual() => {
            let v = if start { edge.edge.source } else { edge.edge.destination };
            Ok(Value::Node(Node::of(v)))
        }
        _ => Err(wrong(if start { "startNode" } else { "endNode" }, values)),
    }
}

fn nodes(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Path(path)] => {
            Ok(Value::list(path.nodes.iter().cloned().map(Value::Node).collect()))
        }
        _ => Err(wrong("nodes", values)),
    }
}

fn relationships(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Path(path)] => {
            Ok(Value::list(path.edges.iter().cloned().map(Value::Relationship).collect()))
        }
        _ => Err(wrong("relationships", values)),
    }
}

fn length(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Path(path)] => Ok(Value::Int(path.edges.len() as i64)),
        _ => Err(wrong("length", values)),
    }
}
