//! Commands that declare and drop constraints and indexes. `decypher` keeps neither their labels nor their
//! properties, and it refuses `IF NOT EXISTS` where Cypher has it, so they are read here.

use nakshi_property::{Rule, RuleKind, RuleTarget};

use super::words::Words;
use crate::error::Result;
use crate::ir::SchemaChange;

/// The command that a text is, behind its first bytes, which are skipped; `None` if it is something else.
///
/// # Errors
/// Errors of syntax, with their place; commands that are not supported.
pub(super) fn command(text: &str, skipped: usize) -> Result<Option<SchemaChange>> {
    let mut from = Words::of(text, skipped);
    let drops = from.take("DROP");
    if !drops && !from.take("CREATE") {
        return Ok(None);
    }
    let kind = from.index_kind();
    let (constraint, index) = (from.take("CONSTRAINT"), from.take("INDEX"));
    if !constraint && !index {
        return Ok(None);
    }
    let change = match (drops, kind) {
        (true, None) => from.drop(constraint)?,
        (false, None) if constraint => from.constraint()?,
        (false, kind) if index => from.index(kind.unwrap_or("RANGE"))?,
        _ => return Err(from.unexpected("CONSTRAINT or INDEX")),
    };
    if from.is_at("OPTIONS") {
        return Err(from.unsupported("OPTIONS of constraints and indexes; leave them out"));
    }
    from.expect_end()?;
    Ok(Some(change))
}

/// Index kinds of Neo4j.
const KINDS: [&str; 6] = ["RANGE", "TEXT", "POINT", "FULLTEXT", "LOOKUP", "VECTOR"];

impl Words<'_> {
    fn index_kind(&mut self) -> Option<&'static str> {
        KINDS.into_iter().find(|kind| self.take(kind))
    }

    /// `IF NOT EXISTS`, or `IF EXISTS`.
    fn condition(&mut self, not: bool) -> Result<bool> {
        if !self.take("IF") {
            return Ok(false);
        }
        if not {
            self.expect("NOT")?;
        }
        self.expect("EXISTS")?;
        Ok(true)
    }

    fn drop(&mut self, constraint: bool) -> Result<SchemaChange> {
        let name = self.name()?;
        let if_there = self.condition(false)?;
        Ok(SchemaChange::Drop { name, constraint, if_there })
    }

    /// The name of a rule that may have none, and whether it may be there already.
    fn named(&mut self) -> Result<(Option<String>, bool)> {
        let named = !self.is_at("IF") && !self.is_at("FOR");
        let name = named.then(|| self.name()).transpose()?;
        let if_new = self.condition(true)?;
        self.expect("FOR")?;
        Ok((name, if_new))
    }

    fn constraint(&mut self) -> Result<SchemaChange> {
        let (name, if_new) = self.named()?;
        let (variable, of) = self.pattern()?;
        self.expect("REQUIRE")?;
        let properties = match self.take("(") {
            true => self.properties(&variable, ")")?,
            false => vec![self.property(&variable)?],
        };
        self.expect("IS")?;
        let of_what = self.take("NODE") || self.take("RELATIONSHIP") || self.take("REL");
        let kind = match () {
            () if self.take("UNIQUE") => RuleKind::Unique,
            () if self.take("KEY") => RuleKind::Key,
            () if !of_what && self.take("NOT") => {
                self.expect("NULL")?;
                RuleKind::Exists
            }
            () => {
                let what = "constraints other than IS UNIQUE, IS NODE KEY and IS NOT NULL";
                return Err(self.unsupported(what));
            }
        };
        if kind.is_unique() && of.is_edges() {
            return Err(self.unsupported("properties of relationships that are unique"));
        }
        let rule = named(name, "constraint", kind, of, properties);
        Ok(SchemaChange::Declare { rule, if_new })
    }

    fn index(&mut self, kind: &str) -> Result<SchemaChange> {
        let (name, if_new) = self.named()?;
        let (variable, of) = self.pattern()?;
        self.expect("ON")?;
        let each = self.take("EACH");
        let (kind, properties) = match kind {
            "LOOKUP" => {
                let function = self.name()?;
                self.expect("(")?;
                let _ = self.name()?;
                self.expect(")")?;
                (RuleKind::Lookup, vec![function])
            }
            "FULLTEXT" if each && self.take("[") => {
                (RuleKind::FullText, self.properties(&variable, "]")?)
            }
            "RANGE" | "TEXT" | "POINT" if !each && self.take("(") => {
                let kind = match kind {
                    "TEXT" => RuleKind::Text,
                    "POINT" => RuleKind::Point,
                    _ => RuleKind::Range,
                };
                (kind, self.properties(&variable, ")")?)
            }
            "VECTOR" => return Err(self.unsupported("vector indexes")),
            "FULLTEXT" => return Err(self.unexpected("EACH [properties]")),
            _ => return Err(self.unexpected("(properties)")),
        };
        let properties = if kind == RuleKind::Lookup { Vec::new() } else { properties };
        Ok(SchemaChange::Declare { rule: named(name, "index", kind, of, properties), if_new })
    }

    /// `(n:Label)` or `()-[r:TYPE]-()`: the variable, and what the rule is about.
    fn pattern(&mut self) -> Result<(String, RuleTarget)> {
        self.expect("(")?;
        if !self.take(")") {
            let (variable, labels) = self.labelled(")")?;
            return Ok((variable, RuleTarget::Nodes(labels)));
        }
        while self.take("<") || self.take("-") {}
        self.expect("[")?;
        let (variable, types) = self.labelled("]")?;
        while self.take("-") || self.take(">") {}
        self.expect("(")?;
        self.expect(")")?;
        Ok((variable, RuleTarget::Edges(types)))
    }

    /// A variable and its labels or types, up to a bracket.
    fn labelled(&mut self, end: &str) -> Result<(String, Vec<String>)> {
        let variable = self.name()?;
        let mut names = Vec::new();
        if self.take(":") {
            names.push(self.name()?);
            while self.take("|") {
                names.push(self.name()?);
            }
        }
        self.expect(end)?;
        Ok((variable, names))
    }

    fn properties(&mut self, variable: &str, end: &str) -> Result<Vec<String>> {
        let mut found = vec![self.property(variable)?];
        while self.take(",") {
            found.push(self.property(variable)?);
        }
        self.expect(end)?;
        Ok(found)
    }

    fn property(&mut self, variable: &str) -> Result<String> {
        let before = self.clone();
        if self.name()? != variable {
            return Err(before.unexpected(&format!("the variable {variable}")));
        }
        self.expect(".")?;
        self.name()
    }
}

/// A rule; one without a name is called after what it demands.
fn named(
    name: Option<String>,
    what: &str,
    kind: RuleKind,
    of: RuleTarget,
    properties: Vec<String>,
) -> Rule {
    let name = name.unwrap_or_else(|| {
        let demand = match kind {
            RuleKind::Unique => "unique",
            RuleKind::Key => "key",
            RuleKind::Exists => "exists",
            RuleKind::Range => "range",
            RuleKind::Text => "text",
            RuleKind::Point => "point",
            RuleKind::FullText => "fulltext",
            RuleKind::Lookup => "lookup",
        };
        let words = [what].into_iter().chain(of.names().iter().map(String::as_str));
        let words = words.chain(properties.iter().map(String::as_str)).chain([demand]);
        words.collect::<Vec<_>>().join("_")
    });
    Rule { name, kind, of, properties }
}
