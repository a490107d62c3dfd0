//! Commands that show what there is and end transactions, as calls of procedures.
//!
//! A call stands where its command stood, so that places behind it stay what they are, unless columns have to
//! be named.

use super::words::Words;
use crate::catalog;
use crate::error::Result;
use crate::transactions::{self, TERMINATE};

/// Words that end the ids of a command.
const TAILS: [&str; 5] = ["YIELD", "WHERE", "RETURN", "SHOW", "TERMINATE"];
/// Characters behind a command.
const END: [char; 4] = [';', ' ', '\n', '\t'];
/// Words that end the columns of `YIELD`.
const SORTED: [&str; 4] = ["ORDER", "SKIP", "OFFSET", "LIMIT"];
/// Nouns, with the procedures that tell them.
const NOUNS: [(&str, &str); 12] = [
    ("INDEX", catalog::INDEXES),
    ("INDEXES", catalog::INDEXES),
    ("CONSTRAINT", catalog::CONSTRAINTS),
    ("CONSTRAINTS", catalog::CONSTRAINTS),
    ("FUNCTION", catalog::FUNCTIONS),
    ("FUNCTIONS", catalog::FUNCTIONS),
    ("PROCEDURE", catalog::PROCEDURES),
    ("PROCEDURES", catalog::PROCEDURES),
    ("DATABASE", catalog::DATABASES),
    ("DATABASES", catalog::DATABASES),
    ("TRANSACTION", transactions::SHOW),
    ("TRANSACTIONS", transactions::SHOW),
];

/// The text with its commands as calls; any other text is what it was.
///
/// # Errors
/// Things that cannot be shown, with their place.
pub(super) fn mend(text: String) -> Result<String> {
    let mut words = Words::of(&text, 0);
    if !words.is_at("SHOW") && !words.is_at("TERMINATE") {
        return Ok(text);
    }
    let (mut out, mut commands, mut columns) = (String::new(), 0, None);
    out.push_str(text.get(..words.place()).unwrap_or_default());
    while words.is_at("SHOW") || words.is_at("TERMINATE") {
        columns = command(&text, &mut words, &mut out)?;
        commands += 1;
    }
    let is_returned = words.is_at("RETURN");
    out.push_str(text.get(words.place()..).unwrap_or_default());
    out.truncate(out.trim_end_matches(END).len());
    match columns {
        _ if is_returned => {}
        _ if commands > 1 => out.push_str(" RETURN *"),
        Some(columns) => out.push_str(&format!(" RETURN {columns}")),
        None => {}
    }
    Ok(out)
}

/// Writes a command as a call, up to `RETURN` or the next command; returns the columns that have to be returned.
fn command(text: &str, words: &mut Words<'_>, out: &mut String) -> Result<Option<String>> {
    let name = call(text, words, out)?;
    let (all, shown) = columns_of(name);
    let (from, columns) = match words.take("YIELD") {
        false => {
            out.push_str(&format!("YIELD {} ", listed(&shown)));
            (words.place(), None)
        }
        true if words.take("*") => {
            out.push_str(&format!("YIELD {} ", listed(&all)));
            (words.place(), Some(listed(&all)))
        }
        true => {
            out.push_str("YIELD");
            let from = words.end();
            let names = yielded(words)?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            (from, Some(listed(&names)))
        }
    };
    let is_sorted = SORTED.iter().any(|word| words.is_at(word));
    let columns = columns.filter(|_| is_sorted);
    out.push_str(text.get(from..words.place()).unwrap_or_default());
    if let Some(columns) = &columns {
        out.push_str(&format!("WITH {columns} "));
    }
    let from = words.place();
    words.skip_to(&["RETURN", "SHOW", "TERMINATE"]);
    out.push_str(text.get(from..words.place()).unwrap_or_default());
    Ok(columns)
}

/// Writes the call of a command up to `YIELD`; returns the procedure's name.
fn call(text: &str, words: &mut Words<'_>, out: &mut String) -> Result<&'static str> {
    let begin = words.place();
    let (name, kind) = procedure(words)?;
    let ids = words.place();
    words.skip_to(&TAILS);
    let given = text.get(ids..words.place()).unwrap_or_default().trim_end_matches(END);
    let written = out.len();
    out.push_str(&format!("CALL {name}("));
    match name {
        _ if given.is_empty() => out.push_str(&kind),
        transactions::SHOW | TERMINATE => {
            out.push_str(&" ".repeat((ids - begin).saturating_sub(out.len() - written)));
            out.push_str(given);
        }
        catalog::DATABASES => {
            out.push_str(&format!("'{}'", given.trim_matches(['`', '\'', '"'])));
        }
        catalog::FUNCTIONS | catalog::PROCEDURES if is_executable(given) => out.push_str(&kind),
        _ => {
            let what = "YIELD, WHERE or the end of the command";
            return Err(Words::of(text, ids).unexpected(what));
        }
    }
    out.push(')');
    let room = (words.place() - begin).saturating_sub(out.len() - written);
    out.push_str(&" ".repeat(room));
    Ok(name)
}

/// The procedure that a command calls, and the kind that the command asks for, in quotes.
fn procedure(words: &mut Words<'_>) -> Result<(&'static str, String)> {
    if words.take("TERMINATE") {
        if !words.take("TRANSACTIONS") {
            words.expect("TRANSACTION")?;
        }
        return Ok((TERMINATE, String::new()));
    }
    words.expect("SHOW")?;
    let mut kinds = Vec::new();
    loop {
        if let Some((_, name)) = NOUNS.iter().find(|(noun, _)| words.take(noun)) {
            let kind = kinds.join(" ").to_uppercase();
            return Ok((name, if kind.is_empty() { kind } else { format!("'{kind}'") }));
        }
        let what = "INDEXES, CONSTRAINTS, FUNCTIONS, PROCEDURES, DATABASES or TRANSACTIONS";
        kinds.push(words.take_word().ok_or_else(|| words.unexpected(what))?);
    }
}

/// True for the words that ask for what the user may call, which is all.
fn is_executable(words: &str) -> bool {
    let words: Vec<String> = words.split_whitespace().map(str::to_uppercase).collect();
    ["EXECUTABLE", "EXECUTABLE BY CURRENT USER"].contains(&&*words.join(" "))
}

/// All columns of a procedure, and those that are shown when none are named.
fn columns_of(name: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    match name {
        transactions::SHOW => (transactions::all_columns().collect(), transactions::SHOWN.into()),
        TERMINATE => (transactions::ENDED.into(), transactions::ENDED.into()),
        _ => (catalog::shown_columns(name).into(), catalog::shown_columns(name).into()),
    }
}

/// The variables of `YIELD`.
fn yielded(words: &mut Words<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    loop {
        let column = words.name()?;
        names.push(if words.take("AS") { words.name()? } else { column });
        if !words.take(",") {
            return Ok(names);
        }
    }
}

fn listed(names: &[&str]) -> String {
    let escaped = names.iter().map(|name| format!("`{}`", name.replace('`', "``")));
    escaped.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> String {
        mend(text.to_owned()).unwrap()
    }

    #[test]
    fn commands_are_calls() {
        let shown = format!("YIELD {}", listed(&transactions::SHOWN));
        assert_eq!(mended("SHOW TRANSACTIONS"), format!("CALL tx.show()   {shown}"));
        let show = mended("show transaction 'a', $b where username = 'x'");
        assert_eq!(show, format!("CALL tx.show(    'a', $b){shown} where username = 'x'"));
        let yields =
            "SHOW TRANSACTIONS 'a' YIELD username AS u WHERE u <> 'SHOW' RETURN u ORDER BY u";
        let mended_yields = mended(yields);
        assert_eq!(
            mended_yields,
            "CALL tx.show(     'a')YIELD username AS u WHERE u <> 'SHOW' RETURN u ORDER BY u"
        );
        assert_eq!(mended_yields.len(), yields.len());
        let ended = listed(&transactions::ENDED);
        assert_eq!(
            mended("TERMINATE TRANSACTIONS ['a', 'b'];"),
            format!("CALL tx.terminate(     ['a', 'b'])YIELD {ended}")
        );
        assert!(mended("SHOW TRANSACTIONS YIELD * WHERE true").contains("currentQueryElapsedTime"));
        assert_eq!(
            mended(
                "SHOW TRANSACTIONS YIELD transactionId AS t TERMINATE TRANSACTIONS t YIELD message"
            ),
            "CALL tx.show()    YIELD transactionId AS t CALL tx.terminate(     t)YIELD message RETURN *"
        );
    }

    #[test]
    fn columns_are_sorted() {
        assert_eq!(
            mended("SHOW INDEXES YIELD name, type AS `a kind` ORDER BY name LIMIT 2 WHERE true"),
            "CALL sh.ix() YIELD name, type AS `a kind` WITH `name`, `a kind` ORDER BY name LIMIT 2 \
             WHERE true RETURN `name`, `a kind`"
        );
        assert_eq!(
            mended("SHOW INDEXES YIELD name SKIP 1 RETURN count(*)"),
            "CALL sh.ix() YIELD name WITH `name` SKIP 1 RETURN count(*)"
        );
    }

    #[test]
    fn kinds_are_arguments() {
        assert!(mended("SHOW RANGE INDEX").starts_with("CALL sh.ix('RANGE')"));
        assert!(mended("SHOW NODE KEY CONSTRAINTS").starts_with("CALL sh.co('NODE KEY')"));
        assert!(mended("SHOW DATABASE `neo4j`").starts_with("CALL sh.db('neo4j')"));
        assert!(mended("SHOW FUNCTIONS EXECUTABLE").starts_with("CALL sh.fn()"));
        for text in ["SHOW", "SHOW 'x'", "SHOW INDEXES x", "SHOW FUNCTIONS EXECUTABLE BY x"] {
            assert!(mend(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in ["RETURN 'SHOW TRANSACTIONS'", "", "MATCH (n) RETURN n"] {
            assert_eq!(mended(text), text);
        }
    }
}
