//! Names that say nothing.

use super::lexer::code_only;
use super::{Finding, Tree};

/// Names that no module, file or folder of sources may have.
const EMPTY: [&str; 8] =
    ["util", "utils", "common", "helper", "helpers", "manager", "managers", "misc"];

/// Files and folders of Rust and Python sources, and modules declared inside a Rust file.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs").chain(tree.ending(".py")) {
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        if let Some(name) = stem.split('/').find(|part| EMPTY.contains(part)) {
            findings.push(Finding::new(
                path,
                1,
                format!("the name `{name}` says nothing: name what it does"),
            ));
        }
        if !path.ends_with(".rs") {
            continue;
        }
        for (number, line) in (1..).zip(code_only(text).lines()) {
            let inline = line
                .split_once("mod ")
                .and_then(|(_, rest)| rest.split_once('{'))
                .map(|(name, _)| name.trim())
                .filter(|name| EMPTY.contains(name));
            if let Some(name) = inline {
                findings.push(Finding::new(
                    path,
                    number,
                    format!("the name `{name}` says nothing: name what it does"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_empty_name_is_found() {
        for (path, text) in [
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/common/mod.rs", ""),
            ("python/a/helpers.py", ""),
            ("crates/a/src/b.rs", "pub(crate) mod manager {\n}\n"),
        ] {
            assert_eq!(check(&Tree::of(&[(path, text)])).len(), 1, "{path}");
        }
    }

    #[test]
    fn a_name_that_contains_one_is_fine() {
        assert_eq!(check(&Tree::of(&[("a/commonality.rs", "// mod utils {\n")])), vec![]);
    }
}
