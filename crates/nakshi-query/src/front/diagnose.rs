//! Errors of `decypher` by the names that openCypher's compatibility kit has for them.

use decypher::error::NumberReason;
use decypher::{CypherError, Diagnostics, ErrorKind, Expected, ValueTypes};

use super::notes::Notes;
use crate::error::{Class, QueryError};

/// The error for a text that is no query.
pub(super) fn syntax(text: &str, mended: &str, error: &CypherError) -> QueryError {
    let detail = match &error.kind {
        ErrorKind::InvalidEscape { .. } => "InvalidUnicodeLiteral",
        ErrorKind::InvalidNumber { raw, reason: NumberReason::Overflow } => {
            let hexadecimal = raw.trim_start_matches('-').starts_with("0x");
            match raw.contains(['.', 'e', 'E']) && !hexadecimal {
                true => "FloatingPointOverflow",
                false => "IntegerOverflow",
            }
        }
        ErrorKind::InvalidNumber { .. } => "InvalidNumberLiteral",
        ErrorKind::UnexpectedToken { found, .. } if is_length(found, mended, error.span.start) => {
            "InvalidRelationshipPattern"
        }
        ErrorKind::UnexpectedToken { .. } if follows_digit(mended, error.span.start) => {
            "InvalidNumberLiteral"
        }
        ErrorKind::UnexpectedToken { found, expected }
            if found.eq_ignore_ascii_case("YIELD")
                && expected
                    .iter()
                    .any(|one| matches!(one, Expected::Symbol(one) if one == "(")) =>
        {
            "InvalidArgumentPassingMode"
        }
        ErrorKind::UnexpectedToken { found, .. } if is_odd(found, mended, error.span.start) => {
            "InvalidUnicodeCharacter"
        }
        _ => of_kind(&error.kind).1,
    };
    let message = match &error.kind {
        // A text that begins with no clause is no part of the tree.
        ErrorKind::Internal { .. } if !text.trim().is_empty() => {
            "a query begins with a clause, such as MATCH, CREATE or RETURN".to_owned()
        }
        kind => kind.to_string().replace('\n', " "),
    };
    QueryError::compile(Class::Syntax, detail, message, Some((text, error.span.start)))
}

/// Returns true for the rest of a length of paths that is none: `[:T..]`, `[*-2]`.
fn is_length(found: &str, text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let bracket = before.rfind(['[', ']']).and_then(|at| before.get(at..));
    let inside = bracket.is_some_and(|rest| rest.starts_with("[:") || rest.starts_with("[*"));
    inside && (found == ".." || (found == "-" && before.trim_end().ends_with('*')))
}

/// Returns true for letters that stand directly behind a digit.
fn follows_digit(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let next = text.get(at..).and_then(|rest| rest.chars().next());
    before.is_some_and(|c| c.is_ascii_hexdigit()) && next.is_some_and(char::is_alphanumeric)
}

/// Returns true for a character that looks like one of Cypher's, and is none.
fn is_odd(found: &str, text: &str, at: usize) -> bool {
    let odd = |c: char| matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FF0D}');
    found.chars().any(odd)
        || text.get(at..).is_some_and(|rest| rest.chars().next().is_some_and(odd))
}

/// The first error of meaning that counts.
pub(super) fn meaning(text: &str, notes: &Notes, found: &Diagnostics) -> Option<QueryError> {
    let mut errors = found.errors.iter().filter(|error| counts(&error.kind));
    let error = errors.find(|error| match &error.kind {
        // What a subquery takes along was taken out of its text.
        ErrorKind::UnresolvedVariable { .. } | ErrorKind::InvalidReference { .. } => {
            !notes.is_scoped(error.span.start)
        }
        ErrorKind::PatternExpressionOutsidePredicate => !is_negated(text, error.span.start),
        _ => true,
    })?;
    let (class, detail) = of_kind(&error.kind);
    let message = error.kind.to_string().replace('\n', " ");
    Some(QueryError::compile(class, detail, message, Some((text, error.span.start))))
}

/// Returns true behind `NOT`, which makes a condition of a pattern.
fn is_negated(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let before = before.trim_end_matches(|one: char| one == '(' || one.is_whitespace());
    let word = before.rsplit(|one: char| !one.is_alphanumeric()).next();
    word.is_some_and(|word| word.eq_ignore_ascii_case("NOT"))
}

/// Chooses between an error of `decypher` and one of ours for the same query: the one that names the fault
/// better.
pub(super) fn the_more_exact(found: QueryError, own: Option<QueryError>) -> QueryError {
    let better = |own: &QueryError| {
        matches!(
            (found.detail(), own.detail()),
            ("NoSingleRelationshipType", "VariableAlreadyBound")
                | ("VariableAlreadyBound", "ColumnNameConflict")
                | ("InvalidAggregation", "NestedAggregation")
                | ("AmbiguousAggregationExpression", "UndefinedVariable")
        )
    };
    own.filter(better).unwrap_or(found)
}

/// Returns false for what `decypher` refuses and the executor can do.
fn counts(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Unsupported { .. } => false,
        // openCypher has it as an error of the run.
        ErrorKind::InvalidArgumentType { context, .. } => !context.contains("`range()`"),
        _ => true,
    }
}

fn of_kind(kind: &ErrorKind) -> (Class, &'static str) {
    let detail = match kind {
        ErrorKind::UnresolvedVariable { .. } | ErrorKind::InvalidReference { .. } => {
            "UndefinedVariable"
        }
        ErrorKind::RedeclaredVariable { .. } => "VariableAlreadyBound",
        ErrorKind::AggregationMix { .. } => "AmbiguousAggregationExpression",
        ErrorKind::AggregateNotAllowed { .. } => "InvalidAggregation",
        ErrorKind::UnionColumnMismatch => "DifferentColumnsInUnion",
        ErrorKind::InvalidClauseComposition { .. } => "InvalidClauseComposition",
        ErrorKind::InvalidRelationshipPattern { reason } => of_relationship(reason),
        ErrorKind::InvalidDeleteTarget => "InvalidDelete",
        ErrorKind::MissingAlias => "NoExpressionAlias",
        ErrorKind::NoVariablesInScope => "NoVariablesInScope",
        ErrorKind::InvalidSkipLimit { reason } if reason.contains("negative") => {
            "NegativeIntegerArgument"
        }
        ErrorKind::InvalidSkipLimit { reason } if reason.contains("variables") => {
            "NonConstantExpression"
        }
        ErrorKind::InvalidArgumentType { context, found, .. }
            if matches!(&**context, "property access" | "indexing")
                && *found != ValueTypes::PATH =>
        {
            return (Class::Type, "InvalidArgumentType");
        }
        ErrorKind::InvalidSkipLimit { .. } | ErrorKind::InvalidArgumentType { .. } => {
            "InvalidArgumentType"
        }
        ErrorKind::InvalidParameterUse => "InvalidParameterUse",
        ErrorKind::NonDeterministicAggregate => "NonConstantExpression",
        ErrorKind::InvalidNumberOfArguments { .. } => "InvalidNumberOfArguments",
        ErrorKind::UnknownFunction { .. } => "UnknownFunction",
        ErrorKind::ProcedureNotFound { .. } => return (Class::Procedure, "ProcedureNotFound"),
        ErrorKind::VariableTypeConflict { .. } => "VariableTypeConflict",
        _ => "UnexpectedSyntax",
    };
    (Class::Syntax, detail)
}

fn of_relationship(reason: &str) -> &'static str {
    let has = |part: &str| reason.contains(part);
    if has("type") {
        "NoSingleRelationshipType"
    } else if has("direct") {
        "RequiresDirectedRelationship"
    } else if has("variable") || has("length") {
        "CreatingVarLength"
    } else if has("twice") || has("same") {
        "RelationshipUniquenessViolation"
    } else {
        "InvalidRelationshipPattern"
    }
}
