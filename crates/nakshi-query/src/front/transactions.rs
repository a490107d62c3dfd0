//! Commands about transactions, which `decypher` does not read, as calls of procedures.
//!
//! A call stands where its command stood, so that places behind it stay what they are, unless columns have to
//! be named.

use crate::transactions::{ENDED, SHOW, SHOWN, TERMINATE, all_columns};

/// Words behind the ids of a command.
const AFTER: [&str; 5] = ["YIELD", "WHERE", "RETURN", "SHOW", "TERMINATE"];

/// A word outside of brackets and quotes.
struct Word {
    begin: usize,
    end: usize,
    /// In capitals.
    text: String,
}

/// The text with `SHOW TRANSACTIONS` and `TERMINATE TRANSACTIONS` as calls of [`SHOW`] and [`TERMINATE`]; any other
/// text is what it was.
pub(super) fn mend(text: String) -> String {
    let mut first = text.split_whitespace().map(str::to_ascii_uppercase);
    if !first.next().is_some_and(|word| ["SHOW", "TERMINATE"].contains(&&*word))
        || !first.next().is_some_and(|word| word.starts_with("TRANSACTION"))
    {
        return text;
    }
    let words = words(&text);
    let begins = (0..words.len()).filter(|at| is_command(&words, *at)).collect::<Vec<_>>();
    let (mut out, mut copied) = (String::new(), 0);
    for &at in &begins {
        copied = command(&text, &words, at, copied, &mut out);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    let last = begins.last().copied().unwrap_or_default();
    let returns = words.iter().skip(last).any(|word| word.text == "RETURN");
    if begins.len() > 1 && !returns {
        out.push_str(" RETURN *");
    }
    out
}

/// Returns true if a command begins with a word.
fn is_command(words: &[Word], at: usize) -> bool {
    let is = |at: usize, all: &[&str]| words.get(at).is_some_and(|word| all.contains(&&*word.text));
    is(at, &["SHOW", "TERMINATE"]) && is(at + 1, &["TRANSACTION", "TRANSACTIONS"])
}

/// Writes a command as a call, and returns up to where the text is written then.
fn command(text: &str, words: &[Word], at: usize, copied: usize, out: &mut String) -> usize {
    let (Some(verb), Some(noun)) = (words.get(at), words.get(at + 1)) else { return copied };
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    out.push_str(part(copied..verb.begin));
    let (name, own): (&str, Vec<&str>) = match verb.text.as_str() {
        "SHOW" => (SHOW, SHOWN.into()),
        _ => (TERMINATE, ENDED.into()),
    };
    let next = words.iter().skip(at + 2).find(|word| AFTER.contains(&&*word.text));
    let end = next.map_or_else(|| text.trim_end_matches([';', ' ', '\n', '\t']).len(), |w| w.begin);
    let ids = part(noun.end..end);
    let call = format!("CALL {name}({}", if ids.trim().is_empty() { ")" } else { "" });
    out.push_str(&call);
    out.push_str(&" ".repeat((noun.end - verb.begin).saturating_sub(call.len())));
    let given = ids.trim_end();
    if given.is_empty() {
        out.push_str(ids);
    } else {
        let room = ids.len() - given.len();
        out.push_str(given);
        out.push(')');
        // The bracket takes the place of one of the spaces.
        out.push_str(&" ".repeat(room.saturating_sub(1)));
    }
    let columns = |names: Vec<&str>| format!(" YIELD {} ", names.join(", "));
    match next {
        Some(word) if word.text == "YIELD" => {
            let star = part(word.end..text.len());
            let before = star.len() - star.trim_start().len();
            match star.trim_start().starts_with('*') {
                true => {
                    let all = if name == SHOW { all_columns().collect() } else { own };
                    out.push_str(&columns(all));
                    word.end + before + 1
                }
                false => end,
            }
        }
        Some(word) if word.text == "RETURN" => end,
        _ => {
            out.push_str(&columns(own));
            end
        }
    }
}

/// The words of a text that stand outside of brackets and quotes.
fn words(text: &str) -> Vec<Word> {
    let (mut found, mut quote, mut depth) = (Vec::<Word>::new(), None, 0_usize);
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let goes_on = found.last().is_some_and(|word| word.end == at);
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, letter) if depth == 0 && (letter.is_alphanumeric() || letter == '_') => {
                match found.last_mut().filter(|_| goes_on) {
                    Some(word) => {
                        word.end += letter.len_utf8();
                        word.text.push(letter.to_ascii_uppercase());
                    }
                    // What follows a dollar or a dot is a name.
                    None if before != '$' && before != '.' => found.push(Word {
                        begin: at,
                        end: at + letter.len_utf8(),
                        text: letter.to_ascii_uppercase().to_string(),
                    }),
                    None => {}
                }
            }
            _ => {}
        }
        before = if goes_on || !character.is_alphanumeric() { character } else { before };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> String {
        mend(text.to_owned())
    }

    #[test]
    fn commands_are_calls() {
        let shown = format!("YIELD {}", SHOWN.join(", "));
        let show = mended("SHOW TRANSACTIONS");
        assert_eq!(show, format!("CALL tx.show()    {shown} "));
        let show = mended("show transaction 'a', $b where username = 'x'");
        assert_eq!(show, format!("CALL tx.show(    'a', $b) {shown} where username = 'x'"));
        let yields =
            "SHOW TRANSACTIONS 'a' YIELD username AS u WHERE u <> 'SHOW' RETURN u ORDER BY u";
        let mended_yields = mended(yields);
        assert_eq!(
            mended_yields,
            "CALL tx.show(     'a')YIELD username AS u WHERE u <> 'SHOW' RETURN u ORDER BY u"
        );
        assert_eq!(mended_yields.len(), yields.len());
        assert_eq!(
            mended("TERMINATE TRANSACTIONS ['a', 'b'];"),
            "CALL tx.terminate(     ['a', 'b']) YIELD transactionId, username, message ;"
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
    fn other_texts_stay() {
        for text in ["SHOW INDEXES", "RETURN 'SHOW TRANSACTIONS'", "", "SHOW", "MATCH (n) RETURN n"]
        {
            assert_eq!(mended(text), text);
        }
    }
}
