//! A text as words, names and symbols, for the commands that `decypher` does not read.

use std::ops::Range;

use crate::error::{Class, QueryError, Result};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters, digits and underscores: a keyword, a name or a number.
    Word,
    /// A name in backticks.
    Escaped,
    /// A text in quotes.
    Text,
    Symbol,
}

/// A part of a text.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) bytes: Range<usize>,
    pub(super) kind: Kind,
}

impl Token {
    pub(super) fn of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.bytes.clone()).unwrap_or_default()
    }
}

/// All tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let (mut words, mut found) = (Words::of(text, 0), Vec::new());
    while words.next().is_some() {
        found.push(Token { bytes: words.next.clone(), kind: words.kind });
        words.advance();
    }
    found
}

/// A text that is read token by token, without spaces and comments.
#[derive(Clone)]
pub(super) struct Words<'t> {
    text: &'t str,
    /// The next token, which is empty at the end of the text.
    next: Range<usize>,
    kind: Kind,
    /// Where the last token ended.
    end: usize,
}

impl<'t> Words<'t> {
    /// The tokens behind the first bytes, which are skipped.
    pub(super) fn of(text: &'t str, skipped: usize) -> Self {
        let mut words = Words { text, next: skipped..skipped, kind: Kind::Symbol, end: skipped };
        words.advance();
        words.end = skipped;
        words
    }

    fn advance(&mut self) {
        self.end = self.next.end;
        let mut at = self.end;
        loop {
            let rest = self.text.get(at..).unwrap_or_default();
            let is_word = |one: char| one.is_alphanumeric() || one == '_';
            // A comment does not end within its first two characters: `/*/`.
            let through = |end: &str| {
                let inside = rest.get(2..).and_then(|inside| inside.find(end));
                inside.map_or(rest.len(), |found| 2 + found + end.len())
            };
            let (len, kind) = match rest.chars().next() {
                None => (0, Some(Kind::Symbol)),
                _ if rest.starts_with("//") => (through("\n"), None),
                _ if rest.starts_with("/*") => (through("*/"), None),
                Some(first) if first.is_whitespace() => (first.len_utf8(), None),
                Some('`') => (escaped_len(rest), Some(Kind::Escaped)),
                Some(quote @ ('\'' | '"')) => (quoted_len(rest, quote), Some(Kind::Text)),
                Some(first) if is_word(first) => {
                    let end = rest.find(|one| !is_word(one));
                    (end.unwrap_or(rest.len()), Some(Kind::Word))
                }
                Some(first) => (first.len_utf8(), Some(Kind::Symbol)),
            };
            if let Some(kind) = kind {
                (self.next, self.kind) = (at..at + len, kind);
                return;
            }
            at += len;
        }
    }

    fn next(&self) -> Option<&'t str> {
        self.text.get(self.next.clone()).filter(|next| !next.is_empty())
    }

    /// Where the next token begins.
    pub(super) fn place(&self) -> usize {
        self.next.start
    }

    /// Where the last token ended.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// True if a word or a symbol is next.
    pub(super) fn is_at(&self, word: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Symbol)
            && self.next().is_some_and(|next| next.eq_ignore_ascii_case(word))
    }

    /// Takes a word or a symbol if it is next.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.is_at(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes any word that is next.
    pub(super) fn take_word(&mut self) -> Option<&'t str> {
        let word = self.next().filter(|_| self.kind == Kind::Word)?;
        self.advance();
        Some(word)
    }

    /// Goes on to the next of some keywords, which stand outside of brackets and are no names of parameters or
    /// properties, or to the end.
    pub(super) fn skip_to(&mut self, keywords: &[&str]) {
        let (mut is_name, mut depth) = (false, 0_usize);
        while let Some(next) = self.next() {
            if depth == 0 && !is_name && keywords.iter().any(|keyword| self.is_at(keyword)) {
                return;
            }
            is_name = false;
            match next {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "$" | "." => is_name = true,
                _ => {}
            }
            self.advance();
        }
    }

    /// Takes a name, perhaps in backticks.
    pub(super) fn name(&mut self) -> Result<String> {
        let next = self.next().ok_or_else(|| self.unexpected("a name"))?;
        let is_digit = |first: char| first.is_numeric();
        let name = match next.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
            Some(name) if self.kind == Kind::Escaped => name.replace("``", "`"),
            None if self.kind == Kind::Word && !next.starts_with(is_digit) => next.to_owned(),
            _ => return Err(self.unexpected("a name")),
        };
        self.advance();
        Ok(name)
    }

    /// Takes a word or a symbol, which has to be next.
    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    /// Takes the end of the command, and a semicolon before it.
    pub(super) fn expect_end(&mut self) -> Result<()> {
        let _ = self.take(";");
        match self.next() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the command")),
        }
    }

    /// The error that another word was expected here.
    pub(super) fn unexpected(&self, wanted: &str) -> QueryError {
        let found = self.next().unwrap_or("the end");
        self.error(Class::Syntax, format!("{wanted} was expected here, and there is {found}"))
    }

    /// The error that Cypher has something that is not supported here.
    pub(super) fn unsupported(&self, what: &str) -> QueryError {
        self.error(Class::Unsupported, format!("not supported: {what}"))
    }

    fn error(&self, class: Class, message: String) -> QueryError {
        QueryError::compile(class, "UnexpectedSyntax", message, Some((self.text, self.place())))
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

/// Bytes of a text in quotes, in which a backslash stands before a quote.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, one)) = characters.next() {
        match one {
            '\\' => {
                let _ = characters.next();
            }
            _ if one == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_behind_their_beginning() {
        let text = "SHOW /*/ INDEXES */ `a``b` // c\n'd\\'e' /* f";
        let found: Vec<&str> = tokens(text).iter().map(|token| token.of(text)).collect();
        assert_eq!(found, ["SHOW", "`a``b`", "'d\\'e'"]);
    }
}
