//! From the text of a query to the resolved query: the only module that knows the crate `decypher`.
//!
//! - `mend` checks how deep a text is, and `notes` takes out of it what `decypher` drops or refuses
//! - `words` reads the commands that `decypher` does not: `show` makes calls of those that show what there is,
//!   and `schema` resolves those on constraints and indexes
//! - `diagnose` gives its errors the names that openCypher's compatibility kit has
//! - `scope` gives variables their slots
//! - `tree` mends the tree that `decypher` makes of what is left
//! - `types` reads the types of type predicates
//! - `grouping` mends how operators bind
//! - `repeats` resolves the parts of patterns that are passed several times
//! - `expressions`, `patterns`, `clauses` and `projections` resolve what they are called after, and refuse
//!   what `decypher` lets through

mod clauses;
mod diagnose;
mod expressions;
mod grouping;
mod mend;
mod notes;
mod patterns;
mod projections;
mod repeats;
mod schema;
mod scope;
mod show;
mod tree;
mod types;
mod words;

use std::ops::Range;

use decypher::ast::expr::Expression;
use decypher::syntax::SyntaxNode;
use decypher::{CypherError, Parse, Query};

use super::error::{Class, QueryError, Result};
use super::ir::{Mode, Statement};
use super::procedure::Procedures;
use notes::Notes;
use scope::Resolver;

/// The resolved query of a text.
///
/// # Errors
/// Errors of syntax and of meaning, with their place.
pub(crate) fn statement(text: &str, procedures: &dyn Procedures) -> Result<Statement> {
    let (mode, skipped) = mode(text);
    if let Some(change) = schema::command(text, skipped)? {
        return Ok(clauses::schema(change, mode));
    }
    let mut notes = Notes::of(text);
    let mended = show::mend(notes.take(&mend::mend(text, skipped)?))?;
    if let Some(at) = notes.without_match {
        let message = "a path with a quantified path pattern needs MATCH here, as in \
                       EXISTS { MATCH (a)((x)-->(y)){2}(b) }";
        return Err(QueryError::compile(
            Class::Syntax,
            "UnexpectedSyntax",
            message,
            Some((text, at)),
        ));
    }
    let (mut query, tree) = parsed(&mended).or_else(|error| {
        // A query may end with a subquery, which `decypher` does not take.
        let finished = format!("{}\nFINISH", mended.trim_end().trim_end_matches(';'));
        match parsed(&finished) {
            Ok(found) if clauses::ends_with_subquery(&found.0) => Ok(found),
            _ => Err(diagnose::syntax(text, &mended, &error)),
        }
    })?;
    tree::mend(&mut query, &notes);
    let config = decypher::hir::LowerConfig::default();
    let found = decypher::hir::lower::lower(&query, &config).err();
    let found = found.and_then(|found| diagnose::meaning(text, &notes, &found));
    // The names that stand for parts of the text are not shown.
    let shown = if mended.len() == text.len() { text } else { &mended };
    let written = scope::columns_of(&tree, shown, &notes);
    let mut resolver = Resolver::new(text, procedures, written, notes);
    let resolved = clauses::statement(&mut resolver, &query);
    if let Some(found) = found {
        let own = resolved.err().or(resolver.suspicion);
        return Err(diagnose::the_more_exact(found, own));
    }
    let (query, columns) = resolved?;
    Ok(resolver.finish(query, columns, mode))
}

/// The expression that some bytes of a text are, with its places.
fn expression(text: &str, bytes: &Range<usize>, notes: &mut Notes) -> Result<Expression> {
    const BEFORE: &str = "RETURN ";
    // Before it there are at least the bracket of a pattern, and two words.
    let room = " ".repeat(bytes.start.saturating_sub(BEFORE.len()));
    let alone = format!("{room}{BEFORE}{}", text.get(bytes.clone()).unwrap_or_default());
    let mended = notes.take(&alone);
    let (mut query, _) =
        parsed(&mended).map_err(|error| diagnose::syntax(text, &mended, &error))?;
    tree::mend(&mut query, notes);
    clauses::only_item(&query).ok_or_else(|| {
        let place = Some((text, bytes.start));
        QueryError::compile(Class::Syntax, "UnexpectedSyntax", "this is no condition", place)
    })
}

fn parsed(text: &str) -> Result<(Query, SyntaxNode), CypherError> {
    let parse = Parse::from(text);
    let tree = parse.tree.clone();
    Ok((decypher::parse(parse)?, tree))
}

/// Returns true for a text whose query needs a larger stack.
pub(crate) fn is_deep(text: &str) -> bool {
    mend::is_deep(text)
}

/// The mode that a text asks for, and the bytes that say so.
fn mode(text: &str) -> (Mode, usize) {
    let begin = text.len() - text.trim_start().len();
    let word = |word: &str| {
        let rest = text.get(begin..begin + word.len())?;
        let next = text.get(begin + word.len()..)?.chars().next()?;
        (rest.eq_ignore_ascii_case(word) && next.is_whitespace()).then_some(begin + word.len())
    };
    match (word("EXPLAIN"), word("PROFILE")) {
        (Some(end), _) => (Mode::Explain, end),
        (_, Some(end)) => (Mode::Profile, end),
        _ => (Mode::Run, 0),
    }
}
