//! Values as scenarios write them, and values of results in the same form.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nakshi_query::Value;

/// A value, of which equal ones print the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expected {
    Null,
    Bool(bool),
    Int(i64),
    /// A float, printed.
    Float(String),
    Text(String),
    List(Vec<Expected>),
    Map(BTreeMap<String, Expected>),
    Node(BTreeSet<String>, BTreeMap<String, Expected>),
    Edge(String, BTreeMap<String, Expected>),
    /// Nodes, and edges with true for those that are passed forwards.
    Path(Vec<Expected>, Vec<(Expected, bool)>),
}

impl Expected {
    /// The value of a result.
    pub fn of(value: &Value) -> Self {
        let map = |map: &nakshi_query::Map| {
            map.iter().map(|(name, value)| (name.to_string(), Expected::of(value))).collect()
        };
        let node = |node: &nakshi_query::Node| {
            let labels = node.labels().iter().map(|label| label.to_string()).collect();
            Expected::Node(labels, map(node.properties()))
        };
        let edge = |edge: &nakshi_query::Relationship| {
            Expected::Edge(edge.edge_type().to_owned(), map(edge.properties()))
        };
        match value {
            Value::Null => Expected::Null,
            Value::Bool(value) => Expected::Bool(*value),
            Value::Int(value) => Expected::Int(*value),
            Value::Float(value) => Expected::Float(float(*value)),
            Value::String(text) => Expected::Text(text.to_string()),
            Value::List(items) => Expected::List(items.iter().map(Expected::of).collect()),
            Value::Map(entries) => Expected::Map(map(entries)),
            Value::Node(one) => node(one),
            Value::Relationship(one) => edge(one),
            Value::Path(path) => {
                let nodes = path.nodes.iter().map(node).collect();
                let passed = path.edges.iter().zip(&path.nodes);
                let passed =
                    passed.map(|(one, from)| (edge(one), one.start().1 == from.element_id()));
                Expected::Path(nodes, passed.collect())
            }
            other => Expected::Text(other.to_string()),
        }
    }

    /// The same value with the items of lists in an order of their own.
    pub fn without_order(self) -> Self {
        match self {
            Expected::List(items) => {
                let mut items: Vec<_> = items.into_iter().map(Expected::without_order).collect();
                items.sort();
                Expected::List(items)
            }
            other => other,
        }
    }

    /// The value for a parameter or a procedure.
    pub fn to_value(&self) -> Value {
        match self {
            Expected::Null => Value::Null,
            Expected::Bool(value) => Value::Bool(*value),
            Expected::Int(value) => Value::Int(*value),
            Expected::Float(value) => Value::Float(value.parse().unwrap()),
            Expected::Text(text) => Value::text(text.as_str()),
            Expected::List(items) => Value::list(items.iter().map(Expected::to_value).collect()),
            Expected::Map(map) => {
                let entries =
                    map.iter().map(|(name, value)| (Arc::from(name.as_str()), value.to_value()));
                Value::of_map(entries.collect())
            }
            other => panic!("{other:?} is no parameter"),
        }
    }

    /// The value of a text.
    pub fn parse(text: &str) -> Self {
        let mut from = Parser { rest: text.trim() };
        let value = from.value();
        assert!(from.rest.trim().is_empty(), "'{text}' has more than a value: '{}'", from.rest);
        value
    }
}

fn float(value: f64) -> String {
    if value == 0.0 { "0.0".into() } else { format!("{value:?}") }
}

struct Parser<'t> {
    rest: &'t str,
}

impl Parser<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, prefix: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn must(&mut self, prefix: &str) {
        assert!(self.take(prefix), "'{prefix}' is missing before '{}'", self.rest);
    }

    fn word(&mut self) -> String {
        self.skip();
        if self.take("`") {
            let (word, rest) = self.rest.split_once('`').unwrap();
            self.rest = rest;
            return word.to_owned();
        }
        let end =
            self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }

    fn value(&mut self) -> Expected {
        self.skip();
        match self.rest.chars().next() {
            Some('\'') => Expected::Text(self.text()),
            Some('[') if self.rest[1..].trim_start().starts_with(':') => self.edge(),
            Some('[') => {
                self.must("[");
                let mut items = Vec::new();
                while !self.take("]") {
                    items.push(self.value());
                    self.take(",");
                }
                Expected::List(items)
            }
            Some('{') => Expected::Map(self.map()),
            Some('(') => self.node(),
            Some('<') => self.path(),
            _ => self.plain(),
        }
    }

    fn plain(&mut self) -> Expected {
        let end = self.rest.find([',', ']', '}', ' ']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "null" => Expected::Null,
            "true" => Expected::Bool(true),
            "false" => Expected::Bool(false),
            "NaN" => Expected::Float("NaN".into()),
            _ => match word.parse() {
                Ok(value) => Expected::Int(value),
                Err(_) => {
                    let value = word.parse().unwrap_or_else(|_| panic!("'{word}' is no value"));
                    Expected::Float(float(value))
                }
            },
        }
    }

    fn text(&mut self) -> String {
        self.must("'");
        let (mut text, mut characters) = (String::new(), self.rest.char_indices());
        while let Some((at, character)) = characters.next() {
            match character {
                '\'' => {
                    self.rest = &self.rest[at + 1..];
                    return text;
                }
                '\\' => match characters.next().unwrap().1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    other => text.push(other),
                },
                other => text.push(other),
            }
        }
        panic!("a text does not end")
    }

    fn map(&mut self) -> BTreeMap<String, Expected> {
        let mut map = BTreeMap::new();
        self.must("{");
        while !self.take("}") {
            let name = self.word();
            self.must(":");
            map.insert(name, self.value());
            self.take(",");
        }
        map
    }

    fn node(&mut self) -> Expected {
        self.must("(");
        let mut labels = BTreeSet::new();
        while self.take(":") {
            labels.insert(self.word());
        }
        self.skip();
        let map = if self.rest.starts_with('{') { self.map() } else { BTreeMap::new() };
        self.must(")");
        Expected::Node(labels, map)
    }

    fn edge(&mut self) -> Expected {
        self.must("[");
        self.must(":");
        let name = self.word();
        self.skip();
        let map = if self.rest.starts_with('{') { self.map() } else { BTreeMap::new() };
        self.must("]");
        Expected::Edge(name, map)
    }

    fn path(&mut self) -> Expected {
        self.must("<");
        let (mut nodes, mut edges) = (vec![self.node()], Vec::new());
        while !self.take(">") {
            let backwards = self.take("<");
            self.must("-");
            let edge = self.edge();
            self.must("-");
            if !backwards {
                self.must(">");
            }
            edges.push((edge, !backwards));
            nodes.push(self.node());
        }
        Expected::Path(nodes, edges)
    }
}
