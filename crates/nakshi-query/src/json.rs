//! Values as JSON, and back.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use super::value::{Map, Node, Relationship, Value};

impl Value {
    /// The value of a JSON text's value. A number beyond the integers is the nearest float.
    pub fn of_json(value: Json) -> Self {
        match value {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Value::Int(value),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::text(text),
            Json::Array(items) => Value::list(items.into_iter().map(Value::of_json).collect()),
            Json::Object(entries) => {
                Value::map(entries.into_iter().map(|(name, value)| (name, Value::of_json(value))))
            }
        }
    }

    /// The value in plain JSON: nodes and edges are objects, a path is a list of both in turn, bytes are
    /// base64; times, durations, points, and floats that JSON does not have, are texts.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Null => Json::Null,
            Value::Bool(value) => json!(value),
            Value::Int(value) => json!(value),
            Value::Float(value) if value.is_finite() => json!(value),
            Value::String(text) => json!(&**text),
            Value::Bytes(bytes) => json!(BASE64_STANDARD.encode(bytes)),
            Value::List(items) => items.iter().map(Value::to_json).collect(),
            Value::Map(entries) => map(entries),
            Value::Node(found) => node(found),
            Value::Relationship(found) => edge(found),
            Value::Path(path) => {
                let mut steps: Vec<Json> = path.nodes.iter().take(1).map(node).collect();
                for (passed, reached) in path.edges.iter().zip(path.nodes.iter().skip(1)) {
                    steps.extend([edge(passed), node(reached)]);
                }
                steps.into()
            }
            other => json!(other.to_string()),
        }
    }
}

fn map(map: &Map) -> Json {
    map.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect()
}

fn node(node: &Node) -> Json {
    let labels: Vec<&str> = node.labels().iter().map(|label| &**label).collect();
    json!({"elementId": node.element_id(), "labels": labels, "properties": map(node.properties())})
}

fn edge(edge: &Relationship) -> Json {
    json!({
        "elementId": edge.element_id(),
        "startNodeElementId": edge.start().1,
        "endNodeElementId": edge.end().1,
        "type": edge.edge_type(),
        "properties": map(edge.properties()),
    })
}
