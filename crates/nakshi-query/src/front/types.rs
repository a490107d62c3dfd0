//! Types in type predicates.

use super::words::{Token, tokens};
use crate::types::{Kind, Type};

/// Words that are a type, with those that mean the same.
const NAMES: [(&str, Kind); 42] = [
    ("TIMESTAMP WITHOUT TIME ZONE", Kind::LocalDateTime),
    ("TIMESTAMP WITHOUT TIMEZONE", Kind::LocalDateTime),
    ("TIMESTAMP WITH TIME ZONE", Kind::ZonedDateTime),
    ("TIMESTAMP WITH TIMEZONE", Kind::ZonedDateTime),
    ("TIME WITHOUT TIME ZONE", Kind::LocalTime),
    ("TIME WITHOUT TIMEZONE", Kind::LocalTime),
    ("TIME WITH TIME ZONE", Kind::ZonedTime),
    ("TIME WITH TIMEZONE", Kind::ZonedTime),
    ("ANY PROPERTY VALUE", Kind::PropertyValue),
    ("PROPERTY VALUE", Kind::PropertyValue),
    ("LOCAL DATETIME", Kind::LocalDateTime),
    ("LOCAL TIME", Kind::LocalTime),
    ("ZONED DATETIME", Kind::ZonedDateTime),
    ("ZONED TIME", Kind::ZonedTime),
    ("SIGNED INTEGER", Kind::Integer),
    ("ANY NODE", Kind::Node),
    ("ANY VERTEX", Kind::Node),
    ("ANY RELATIONSHIP", Kind::Relationship),
    ("ANY EDGE", Kind::Relationship),
    ("ANY MAP", Kind::Map),
    ("ANY POINT", Kind::Point),
    ("ANY PATH", Kind::Path),
    ("ANY VALUE", Kind::Any),
    ("ANY", Kind::Any),
    ("BOOL", Kind::Boolean),
    ("BOOLEAN", Kind::Boolean),
    ("STRING", Kind::String),
    ("VARCHAR", Kind::String),
    ("INT", Kind::Integer),
    ("INTEGER", Kind::Integer),
    ("FLOAT", Kind::Float),
    ("DATE", Kind::Date),
    ("DURATION", Kind::Duration),
    ("POINT", Kind::Point),
    ("NODE", Kind::Node),
    ("VERTEX", Kind::Node),
    ("RELATIONSHIP", Kind::Relationship),
    ("EDGE", Kind::Relationship),
    ("PATH", Kind::Path),
    ("MAP", Kind::Map),
    ("NOTHING", Kind::Nothing),
    ("NULL", Kind::Null),
];

/// The type that a text is.
///
/// # Errors
/// The message for a text that is none.
pub(super) fn type_of(text: &str) -> Result<Type, String> {
    let tokens = tokens(text);
    let mut reading = Reading { text, tokens: &tokens, at: 0 };
    let found = reading.any_of()?;
    match reading.at == tokens.len() {
        true => Ok(found),
        false => Err(reading.unknown()),
    }
}

/// The type that begins with a token of a text, and the token behind.
pub(super) fn type_at(text: &str, tokens: &[Token], at: usize) -> Option<(Type, usize)> {
    let mut reading = Reading { text, tokens, at };
    let found = reading.any_of().ok()?;
    Some((found, reading.at))
}

/// A type that is read token by token.
struct Reading<'t> {
    text: &'t str,
    tokens: &'t [Token],
    at: usize,
}

impl Reading<'_> {
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.of(self.text))
    }

    fn is(&self, ahead: usize, word: &str) -> bool {
        self.word(self.at + ahead).eq_ignore_ascii_case(word)
    }

    /// Passes a word or a symbol, if it is next.
    fn takes(&mut self, word: &str) -> bool {
        let is = self.is(0, word);
        self.at += usize::from(is);
        is
    }

    fn unknown(&self) -> String {
        format!("'{}' is no type", self.word(self.at))
    }

    /// `INTEGER | FLOAT`.
    fn any_of(&mut self) -> Result<Type, String> {
        let mut types = vec![self.one()?];
        while self.takes("|") {
            types.push(self.one()?);
        }
        match (types.pop(), types.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                types.extend(last);
                union(types)
            }
        }
    }

    /// A type with what may stand behind it: `NOT NULL`, `!`, `LIST` and `ARRAY`.
    fn one(&mut self) -> Result<Type, String> {
        let mut found = self.plain()?;
        loop {
            if self.is(0, "NOT") && self.is(1, "NULL") || self.is(0, "!") {
                self.at += if self.is(0, "!") { 1 } else { 2 };
                if matches!(found.kind, Kind::Union(_)) {
                    return Err("NOT NULL stands behind each type of a union".to_owned());
                }
                found.not_null = true;
            } else if self.takes("LIST") || self.takes("ARRAY") {
                found = nullable(Kind::List(Box::new(found)));
            } else {
                return Ok(found);
            }
        }
    }

    fn plain(&mut self) -> Result<Type, String> {
        let is_list = self.is(0, "LIST") || self.is(0, "ARRAY");
        let ahead = 1 + usize::from(self.is(0, "ANY") && self.is(1, "VALUE"));
        if (is_list || self.is(0, "ANY")) && self.is(ahead, "<") {
            self.at += ahead + 1;
            let inner = self.any_of()?;
            if !self.takes(">") {
                return Err("'>' is missing behind a type".to_owned());
            }
            return match (is_list, inner) {
                (true, inner) => Ok(nullable(Kind::List(Box::new(inner)))),
                (false, inner) => union(vec![inner]),
            };
        }
        if is_list {
            return Err("a type of lists names that of their items, as LIST<ANY>".to_owned());
        }
        for (names, kind) in &NAMES {
            let words: Vec<&str> = names.split(' ').collect();
            if words.iter().enumerate().all(|(ahead, word)| self.is(ahead, word)) {
                self.at += words.len();
                return Ok(nullable(kind.clone()));
            }
        }
        Err(self.unknown())
    }
}

fn nullable(kind: Kind) -> Type {
    Type { kind, not_null: false }
}

/// A type of the values of several types.
fn union(types: Vec<Type>) -> Result<Type, String> {
    let mut others = types.iter().filter(|one| one.kind != Kind::Nothing).map(Type::has_null);
    let first = others.next();
    match others.all(|has_null| Some(has_null) == first) {
        true => Ok(nullable(Kind::Union(types))),
        false => Err("either all types of a union are NOT NULL, or none is".to_owned()),
    }
}
