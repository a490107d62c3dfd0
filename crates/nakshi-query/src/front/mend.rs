//! The text of a query as `decypher` reads it: of the same length, so that places stay what they are.

use crate::error::{Class, QueryError, Result};

/// Deepest nesting of brackets. The parser and what follows call themselves once for each.
const DEPTH: usize = 100;
/// Longest text of a query, in bytes.
const LONGEST: usize = 1 << 20;

/// The text with its first bytes, which say how to run it, as spaces.
///
/// # Errors
/// A text that is too long, or nested too deeply.
pub(super) fn mend(text: &str, skipped: usize) -> Result<String> {
    if text.len() > LONGEST {
        let message = format!("the query has {} bytes; the most are {LONGEST}", text.len());
        return Err(QueryError::compile(Class::Syntax, "UnexpectedSyntax", message, None));
    }
    let mut depth = 0_usize;
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH {
            let message = format!("the query nests more than {DEPTH} brackets");
            let place = Some((text, at));
            return Err(QueryError::compile(Class::Syntax, "UnexpectedSyntax", message, place));
        }
    }
    let mut mended = " ".repeat(skipped);
    mended.push_str(text.get(skipped..).unwrap_or_default());
    Ok(mended)
}
