//! Commands that declare and drop constraints and indexes. `decypher` keeps neither their labels nor their
//! properties, and it refuses `IF NOT EXISTS` where Cypher has it, so they are read here.

use nakshi_property::{Rule, RuleKind, RuleTarget};

use crate::error::{Class, QueryError, Result};
use crate::ir::SchemaChange;

/// The command that a text is, behind its first bytes, which are skipped; `None` if it is something else.
///
/// # Errors
/// Errors of syntax, with their place; commands that are not supported.
pub(super) fn command(text: &str, skipped: usize) -> Result<Option<SchemaChange>> {
    let mut from = Tokens::of(text, skipped);
    let drops = from.word("DROP");
    if !drops && !from.word("CREATE") {
        return Ok(None);
    }
    let kind = from.index_kind();
    let (constraint, index) = (from.word("CONSTRAINT"), from.word("INDEX"));
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
    let _ = from.symbol(";");
    match from.next() {
        None => Ok(Some(change)),
        Some(_) => Err(from.unexpected("the end of the command")),
    }
}

/// The tokens of a text, without spaces and comments.
struct Tokens<'t> {
    text: &'t str,
    /// Bytes of each, and true for a name in backticks.
    tokens: Vec<(std::ops::Range<usize>, bool)>,
    at: usize,
}

/// Index kinds of Neo4j.
const KINDS: [&str; 6] = ["RANGE", "TEXT", "POINT", "FULLTEXT", "LOOKUP", "VECTOR"];

impl<'t> Tokens<'t> {
    fn of(text: &'t str, skipped: usize) -> Self {
        let rest = |at: usize| text.get(at..).unwrap_or_default();
        let (mut tokens, mut at) = (Vec::new(), skipped);
        while let Some(first) = rest(at).chars().next() {
            let is_word = |one: char| one.is_alphanumeric() || one == '_';
            let until = |end: &str| rest(at + 2).find(end).map_or(rest(at).len(), |to| to + 2);
            let (len, is_token) = match first {
                _ if rest(at).starts_with("//") => (until("\n"), false),
                _ if rest(at).starts_with("/*") => (until("*/") + 2, false),
                _ if first.is_whitespace() => (first.len_utf8(), false),
                '`' => (escaped_len(rest(at)), true),
                _ if is_word(first) => {
                    let end = rest(at).find(|one| !is_word(one));
                    (end.unwrap_or(rest(at).len()), true)
                }
                _ => (first.len_utf8(), true),
            };
            let end = text.len().min(at + len);
            tokens.extend(is_token.then_some((at..end, first == '`')));
            at = end;
        }
        Tokens { text, tokens, at: 0 }
    }

    fn next(&self) -> Option<(&'t str, bool)> {
        let (range, escaped) = self.tokens.get(self.at)?;
        Some((self.text.get(range.clone())?, *escaped))
    }

    /// Where the next token begins.
    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |(range, _)| range.start)
    }

    fn is_at(&self, word: &str) -> bool {
        self.next().is_some_and(|(next, escaped)| !escaped && next.eq_ignore_ascii_case(word))
    }

    /// Takes a word or a symbol if it is next.
    fn word(&mut self, word: &str) -> bool {
        let found = self.is_at(word);
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        self.word(symbol)
    }

    fn unexpected(&self, wanted: &str) -> QueryError {
        let found = self.next().map_or("the end", |(next, _)| next);
        let message = format!("{wanted} was expected here, and there is {found}");
        let place = Some((self.text, self.place()));
        QueryError::compile(Class::Syntax, "UnexpectedSyntax", message, place)
    }

    fn unsupported(&self, what: &str) -> QueryError {
        let message = format!("not supported: {what}");
        let place = Some((self.text, self.place()));
        QueryError::compile(Class::Unsupported, "UnexpectedSyntax", message, place)
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.word(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    /// Takes a name, perhaps in backticks.
    fn name(&mut self) -> Result<String> {
        let (next, escaped) = self.next().ok_or_else(|| self.unexpected("a name"))?;
        let is_name = |text: &str| {
            let mut characters = text.chars();
            characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
                && characters.all(|one| one.is_alphanumeric() || one == '_')
        };
        let name = match next.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
            Some(name) if escaped => name.replace("``", "`"),
            _ if is_name(next) => next.to_owned(),
            _ => return Err(self.unexpected("a name")),
        };
        self.at += 1;
        Ok(name)
    }

    fn index_kind(&mut self) -> Option<&'static str> {
        KINDS.into_iter().find(|kind| self.word(kind))
    }

    /// `IF NOT EXISTS`, or `IF EXISTS`.
    fn condition(&mut self, not: bool) -> Result<bool> {
        if !self.word("IF") {
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
        let properties = match self.symbol("(") {
            true => self.properties(&variable, ")")?,
            false => vec![self.property(&variable)?],
        };
        self.expect("IS")?;
        let of_what = self.word("NODE") || self.word("RELATIONSHIP") || self.word("REL");
        let kind = match () {
            () if self.word("UNIQUE") => RuleKind::Unique,
            () if self.word("KEY") => RuleKind::Key,
            () if !of_what && self.word("NOT") => {
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
        let each = self.word("EACH");
        let (kind, properties) = match kind {
            "LOOKUP" => {
                let function = self.name()?;
                self.expect("(")?;
                let _ = self.name()?;
                self.expect(")")?;
                (RuleKind::Lookup, vec![function])
            }
            "FULLTEXT" if each && self.symbol("[") => {
                (RuleKind::FullText, self.properties(&variable, "]")?)
            }
            "RANGE" | "TEXT" | "POINT" if !each && self.symbol("(") => {
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
        if !self.symbol(")") {
            let (variable, labels) = self.labelled(")")?;
            return Ok((variable, RuleTarget::Nodes(labels)));
        }
        while self.symbol("<") || self.symbol("-") {}
        self.expect("[")?;
        let (variable, types) = self.labelled("]")?;
        while self.symbol("-") || self.symbol(">") {}
        self.expect("(")?;
        self.expect(")")?;
        Ok((variable, RuleTarget::Edges(types)))
    }

    /// A variable and its labels or types, up to a bracket.
    fn labelled(&mut self, end: &str) -> Result<(String, Vec<String>)> {
        let variable = self.name()?;
        let mut names = Vec::new();
        if self.symbol(":") {
            names.push(self.name()?);
            while self.symbol("|") {
                names.push(self.name()?);
            }
        }
        self.expect(end)?;
        Ok((variable, names))
    }

    fn properties(&mut self, variable: &str, end: &str) -> Result<Vec<String>> {
        let mut found = vec![self.property(variable)?];
        while self.symbol(",") {
            found.push(self.property(variable)?);
        }
        self.expect(end)?;
        Ok(found)
    }

    fn property(&mut self, variable: &str) -> Result<String> {
        let place = self.at;
        if self.name()? != variable {
            self.at = place;
            return Err(self.unexpected(&format!("the variable {variable}")));
        }
        self.expect(".")?;
        self.name()
    }
}

/// Bytes of a name in backticks, which two of them stand for inside of it.
fn escaped_len(text: &str) -> usize {
    let mut ticks = text.match_indices('`').map(|(at, _)| at).skip(1).peekable();
    while let Some(at) = ticks.next() {
        if ticks.next_if_eq(&(at + 1)).is_none() {
            return at + 1;
        }
    }
    text.len()
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
