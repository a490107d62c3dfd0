//! Constraints and indexes that users have declared.

use std::fmt;

use serde::{Deserialize, Serialize};

use nakshi_store::{Error, Result};

/// A constraint that a graph keeps, or an index that its users have given a name.
///
/// An index changes nothing: every property can be searched by. It is kept for the tools that declare one
/// and look for it later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// Its name, which no other rule of the graph has.
    pub name: String,
    /// Its demand.
    pub kind: RuleKind,
    /// The nodes or edges that it is about.
    pub of: RuleTarget,
    /// Names of their properties, in their order.
    pub properties: Vec<String>,
}

/// The demand of a [`Rule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// No two nodes have the same values. A node without one of the properties is free.
    Unique,
    /// All nodes have the properties, and no two of them the same values.
    Key,
    /// All nodes, or edges, have the properties.
    Exists,
    /// An index for equality and ranges.
    Range,
    /// An index for parts of text.
    Text,
    /// An index for points.
    Point,
    /// An index for the words of text.
    FullText,
    /// An index of labels or types.
    Lookup,
}

/// The nodes or edges that a [`Rule`] is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleTarget {
    /// Nodes with one of some labels; all nodes if there are none.
    Nodes(Vec<String>),
    /// Edges of one of some types; all edges if there are none.
    Edges(Vec<String>),
}

impl RuleTarget {
    /// The labels or types.
    pub fn names(&self) -> &[String] {
        match self {
            RuleTarget::Nodes(names) | RuleTarget::Edges(names) => names,
        }
    }

    /// Returns true for edges.
    pub fn is_edges(&self) -> bool {
        matches!(self, RuleTarget::Edges(_))
    }
}

impl RuleKind {
    /// All kinds, in the order of the bytes that stand for them in the log. New ones come last.
    pub(super) const ALL: [Self; 8] = [
        RuleKind::Unique,
        RuleKind::Key,
        RuleKind::Exists,
        RuleKind::Range,
        RuleKind::Text,
        RuleKind::Point,
        RuleKind::FullText,
        RuleKind::Lookup,
    ];

    /// Returns true for a constraint, which changes can break.
    pub fn is_constraint(self) -> bool {
        matches!(self, RuleKind::Unique | RuleKind::Key | RuleKind::Exists)
    }

    /// Returns true if no two nodes may have the same values.
    pub fn is_unique(self) -> bool {
        matches!(self, RuleKind::Unique | RuleKind::Key)
    }

    /// Returns true if the properties have to be there.
    pub(super) fn requires(self) -> bool {
        matches!(self, RuleKind::Key | RuleKind::Exists)
    }
}

impl Rule {
    /// Returns true if two rules are the same but for their names.
    pub fn is_like(&self, other: &Rule) -> bool {
        (self.kind, &self.of, &self.properties) == (other.kind, &other.of, &other.properties)
    }

    /// Refuses a rule that no graph can keep.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(super) fn check_form(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Invalid(format!("'{}' {what}", self.name)));
        if self.name.is_empty() {
            return Err(Error::Invalid("a constraint or index has no name".into()));
        }
        if self.properties.is_empty() && self.kind != RuleKind::Lookup {
            return wrong("names no property");
        }
        if (1..self.properties.len()).any(|i| self.properties[..i].contains(&self.properties[i])) {
            return wrong("names a property twice");
        }
        if self.kind.is_constraint() && self.of.names().len() != 1 {
            return wrong("is a constraint, which is about one label or type");
        }
        if self.kind.is_unique() && self.of.is_edges() {
            return wrong("is about edges, whose properties can be required, but not be unique");
        }
        Ok(())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.of.names().join("|");
        let of = if self.of.is_edges() { "edges" } else { "nodes" };
        let properties = self.properties.join(", ");
        let what = match self.kind {
            RuleKind::Unique => "are unique",
            RuleKind::Key => "are the key",
            RuleKind::Exists => "exist",
            _ => "have an index",
        };
        write!(f, "'{}' ({properties} of {of} :{names} {what})", self.name)
    }
}
