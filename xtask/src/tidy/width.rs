//! Lines of Markdown that fit a page.

use super::{Finding, Tree};

/// Characters of a line of prose.
const COLUMNS: usize = 100;

/// Every line of a Markdown file, apart from tables, blocks of code and lines that a link makes long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        let mut fence = None;
        for (number, line) in (1..).zip(text.lines()) {
            let start = line.trim_start();
            if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark)) {
                match fence {
                    None => fence = Some(mark),
                    Some(open) if open == mark => fence = None,
                    Some(_) => {}
                }
                continue;
            }
            let width = line.chars().count();
            let free = fence.is_some() || start.starts_with('|') || is_one_link(start);
            if width > COLUMNS && !free {
                let message = format!("{width} columns, more than {COLUMNS}: wrap the line");
                findings.push(Finding::new(path, number, message));
            }
        }
    }
    findings
}

/// Returns true for a line that is one link, or a list item of one: its target cannot be wrapped.
fn is_one_link(line: &str) -> bool {
    let item = line.strip_prefix("- ").unwrap_or(line);
    let target = item.strip_prefix('[').and_then(|rest| rest.split_once("](")).map(|(_, to)| to);
    let defined = item.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, to)| to);
    target.or(defined).is_some_and(|to| !to.contains(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> String {
        "word ".repeat(count).trim_end().to_owned()
    }

    /// Seen red with a limit of 900 columns, and with a fence that no mark closes.
    #[test]
    fn a_planted_long_line_is_found() {
        let fits = "é".repeat(100);
        assert_eq!(check(&Tree::of(&[("a.md", &fits)])), vec![]);
        let planted = [
            format!("# Title\n\n{}\n", words(21)),
            format!("# Title\n\n- {}\n", words(21)),
            format!("# Title\n\n{} [a](b.md)\n", words(21)),
            format!("```\ncode\n```\n{}\n", words(21)),
            // A fence is closed by its own mark only, and what follows is prose again.
            format!("~~~\n```\n~~~\n{}\n", words(21)),
        ];
        for (text, line) in planted.iter().zip([3, 3, 3, 4, 4]) {
            let found = check(&Tree::of(&[("docs/a.md", text)]));
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].line, line, "{text}");
        }
    }

    #[test]
    fn tables_code_and_links_may_be_long() {
        let long = words(30);
        let target = "x".repeat(100);
        let text = format!(
            "| {long} |\n\n```bash\n{long}\n```\n\n  ~~~\n{long}\n  ~~~\n\n\
             [text of the link](https://{target})\n- [text](https://{target}),\n[name]: https://{target}\n"
        );
        assert_eq!(check(&Tree::of(&[("a.md", &text)])), vec![]);
    }

    #[test]
    fn only_markdown_is_looked_at() {
        assert_eq!(check(&Tree::of(&[("a.txt", &words(30))])), vec![]);
    }
}
