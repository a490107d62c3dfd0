//! Relative links of Markdown files lead somewhere.

use super::{Finding, Tree};

/// Links to files, folders and headings of the project; the network is not asked.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (line, target) in targets(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { Some(path.to_owned()) } else { resolve(path, file) };
            let Some(file) = file.filter(|file| tree.contains(file)) else {
                findings.push(Finding::new(path, line, format!("dead link: {target}")));
                continue;
            };
            let known = |page: &String| headings(page).iter().any(|known| known == heading);
            let page = tree.files.get(&file).filter(|_| file.ends_with(".md"));
            if !heading.is_empty() && !page.is_some_and(known) {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("dead link: no heading #{heading} in {file}"),
                ));
            }
        }
    }
    findings
}

/// Link targets with their line, outside code.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every other part between back-quotes is code.
        for prose in line.split('`').step_by(2) {
            let ends = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
            found.extend(ends.filter(|target| !target.is_empty()).map(|target| (number, target)));
        }
        // A link whose text is code: [`name`](target).
        let coded = line.split("`](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        found.extend(coded.map(|target| (number, target)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The target as a path from the root; none where it leaves the project.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Anchors of a page's headings, made as GitHub makes them.
fn headings(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_links_are_fine() {
        let tree = Tree::of(&[
            (
                "docs/a.md",
                "# The one, first\n[b](b.md#two) [up](../README.md) [dir](../docs/) [own](#the-one-first) [web](https://x.y/z)\n```\n[no](gone.md)\n```\n`[no](gone.md)`\n",
            ),
            ("docs/b.md", "## Two\n"),
            ("README.md", "[`a`](docs/a.md)\n"),
        ]);
        assert_eq!(check(&tree), vec![]);
    }

    #[test]
    fn planted_dead_links_are_found() {
        for planted in [
            "[x](gone.md)",
            "[`x`](gone.md)",
            "[x](b.md#three)",
            "[x](../../outside)",
            "[x](#nowhere)",
        ] {
            let tree = Tree::of(&[("docs/a.md", planted), ("docs/b.md", "## Two\n")]);
            assert_eq!(check(&tree).len(), 1, "{planted}");
        }
    }
}
