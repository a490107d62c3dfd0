//! The text of a query as `decypher` reads it: of the same length, so that places stay what they are.

use crate::error::{Class, QueryError, Result};

/// Deepest nesting of brackets. The parser and what follows call themselves once for each.
const DEPTH: usize = 100;
/// Longest chain of operators without brackets, and most clauses of a query.
const LINKS: usize = 1000;
/// Nesting, length of a chain or number of clauses from which a query needs a larger stack.
const DEEP: usize = 50;
/// Words that make an expression longer by one link.
const OPERATORS: [&str; 9] = ["AND", "OR", "XOR", "NOT", "IN", "IS", "STARTS", "ENDS", "CONTAINS"];
/// Words with which clauses begin, or their parts.
const CLAUSES: [&str; 11] = [
    "UNION", "MATCH", "WITH", "UNWIND", "CREATE", "MERGE", "SET", "DELETE", "REMOVE", "CALL",
    "WHEN",
];
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
    let refuse = |message, at| {
        let place = Some((text, at));
        Err(QueryError::compile(Class::Syntax, "UnexpectedSyntax", message, place))
    };
    let shape = shape(text);
    if let Some(at) = shape.brackets_end {
        return refuse(format!("the query nests more than {DEPTH} brackets"), at);
    }
    if let Some(at) = shape.links_end {
        let message =
            format!("more than {LINKS} operators follow each other; use brackets or a list");
        return refuse(message, at);
    }
    let mut mended = " ".repeat(skipped);
    mended.push_str(text.get(skipped..).unwrap_or_default());
    Ok(mended)
}

/// How deeply a query is nested.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// The most brackets, links of a chain, or clauses.
    deepest: usize,
    /// Where there are too many brackets.
    brackets_end: Option<usize>,
    /// Where there are too many links or clauses.
    links_end: Option<usize>,
}

/// Returns true for a query that needs a larger stack.
pub(super) fn is_deep(text: &str) -> bool {
    shape(text).deepest > DEEP
}

/// Measures brackets, chains and clauses. A chain ends at a comma or a clause; its links are operators and words
/// between operands. What is in quotes does not count.
fn shape(text: &str) -> Shape {
    let mut shape = Shape::default();
    let mut quote = None;
    // Links of the chains around, and of the present one.
    let (mut around, mut links, mut clauses) = (Vec::new(), 0_usize, 0_usize);
    let mut word = String::new();
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        if quote.is_none() && (character.is_ascii_alphabetic() || character == '_') {
            word.push(character.to_ascii_uppercase());
            continue;
        }
        if !word.is_empty() {
            links += usize::from(OPERATORS.contains(&word.as_str()));
            if CLAUSES.contains(&word.as_str()) {
                (clauses, links) = (clauses + 1, 0);
            }
            word.clear();
        }
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(character),
            (None, '(' | '[' | '{') => {
                links += usize::from(character == '[');
                around.push(links);
                links = 0;
            }
            (None, ')' | ']' | '}') => links = around.pop().unwrap_or_default(),
            (None, ',') => links = 0,
            (None, '+' | '-' | '*' | '/' | '%' | '^' | '<' | '>' | '=' | '.' | ':' | '|') => {
                links += 1
            }
            _ => {}
        }
        shape.deepest = shape.deepest.max(links).max(clauses).max(around.len());
        if around.len() > DEPTH {
            shape.brackets_end = shape.brackets_end.or(Some(at));
        }
        if links > LINKS || clauses > LINKS {
            shape.links_end = shape.links_end.or(Some(at));
        }
    }
    shape
}
