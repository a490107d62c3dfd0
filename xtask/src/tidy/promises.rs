//! TODOs and ignored tests have their reasons.

use super::lexer::code_only;
use super::{Finding, Tree};

/// A marker needs at least so many words after it.
const REASON_WORDS: usize = 3;
const MARKERS: [&str; 3] = ["TODO", "FIXME", "XXX"];
const HOLES: [&str; 2] = ["todo!", "unimplemented!"];

/// Rust, Python and shell sources. The file of this rule names the markers and is left out.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs").chain(tree.ending(".py")).chain(tree.ending(".sh")) {
        if path == "xtask/src/tidy/promises.rs" {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let unexplained =
                |marker: &&&str| after(line, marker).is_some_and(|rest| !is_reason(rest));
            if let Some(marker) = MARKERS.iter().find(unexplained) {
                findings.push(Finding::new(path, number, format!("{marker} without its reason")));
            }
            if line.trim() == "#[ignore]" || line.trim_end().ends_with("pytest.mark.skip") {
                findings.push(Finding::new(path, number, "a test left out without its reason"));
            }
        }
        if path.ends_with(".rs") {
            for (number, line) in (1..).zip(code_only(text).lines()) {
                if let Some(hole) = HOLES.iter().find(|hole| line.contains(**hole)) {
                    findings.push(Finding::new(path, number, format!("{hole} is not an answer")));
                }
            }
        }
    }
    findings
}

/// The text after the marker where it stands as a word.
fn after<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    let (before, rest) = line.split_once(marker)?;
    let touches = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_word = !touches(before.chars().next_back()) && !touches(rest.chars().next());
    is_word.then_some(rest)
}

fn is_reason(rest: &str) -> bool {
    let words = rest.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
    words.count() >= REASON_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_holes_are_found() {
        for planted in ["// TODO\n", "// FIXME: later\n", "#[ignore]\n", "fn f() { todo!() }\n"] {
            assert_eq!(check(&Tree::of(&[("a.rs", planted)])).len(), 1, "{planted}");
        }
        assert_eq!(check(&Tree::of(&[("a.py", "# XXX\n")])).len(), 1);
    }

    #[test]
    fn an_explained_one_is_fine() {
        let fine = "// TODO: drop when kernels below 5.6 are gone.\nlet s = \"todo!\";\n";
        assert_eq!(check(&Tree::of(&[("a.rs", fine)])), vec![]);
    }
}
