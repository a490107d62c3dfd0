//! The rules of the project as a program:
//!
//! - [`layers`]: a crate uses only the crates above it;
//! - [`modules`]: the modules of a crate use each other in the order of ARCHITECTURE, without circles;
//! - [`size`]: files of at most 800 lines before their tests, functions of at most 70;
//! - [`names`]: no module is called `utils`, `common`, `helper` or `manager`;
//! - [`links`]: relative links in Markdown lead somewhere;
//! - [`width`]: lines of Markdown of at most 100 columns, tables, code and links aside;
//! - [`safety`]: `unsafe` only in the named places, each with its SAFETY comment;
//! - [`promises`]: no TODO and no ignored test without its reason;
//! - [`builds`]: the package and the tests build each dependency once;
//! - [`lexer`]: blanks out strings and comments, so that the rules see code only.
//!
//! Every rule but the last takes the [`Tree`] and returns [`Finding`]s, so that its tests plant a violation
//! in a tree of their own and see it found.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

mod builds;
mod layers;
mod lexer;
mod links;
mod modules;
mod names;
mod promises;
mod safety;
mod size;
mod width;

/// The tracked text files of the project, by path from its root.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

/// One broken rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Tree {
    /// Reads every file that git tracks or would track.
    fn read(root: &Path) -> std::io::Result<Self> {
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()?;
        if !listing.status.success() {
            let message = String::from_utf8_lossy(&listing.stderr).into_owned();
            return Err(std::io::Error::other(message));
        }
        let mut files = BTreeMap::new();
        for path in String::from_utf8_lossy(&listing.stdout).split('\0') {
            // A file deleted but not yet committed is still listed; a binary one has no rules.
            if let Ok(bytes) = std::fs::read(root.join(path)) {
                files.insert(path.to_owned(), String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Ok(Self { files })
    }

    /// Files whose name ends so, as path and text.
    fn ending<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(suffix))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns true if a file or a folder of that path is tracked.
    fn contains(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.keys().any(|file| file.starts_with(&folder))
    }

    /// A tree for tests.
    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        let files =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Self { files }
    }
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// Checks everything; one line for each finding.
fn check(tree: &Tree) -> Vec<Finding> {
    let rules = [
        layers::check,
        modules::check,
        size::check,
        names::check,
        links::check,
        width::check,
        safety::check,
        promises::check,
    ];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

/// `cargo xtask tidy`.
pub fn command(root: &Path) -> ExitCode {
    let tree = match Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: cannot list the project's files with git: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut findings = check(&tree);
    match builds::check(root) {
        Ok(found) => findings.extend(found),
        Err(error) => {
            eprintln!("tidy: cannot list the dependencies: {error}");
            return ExitCode::FAILURE;
        }
    }
    for Finding { path, line, message } in &findings {
        println!("{path}:{line}: {message}");
    }
    if findings.is_empty() {
        println!("tidy: {} files, nothing to say", tree.files.len());
        ExitCode::SUCCESS
    } else {
        println!("tidy: {} finding(s)", findings.len());
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The project itself is the one tree on which no rule may fire.
    #[test]
    fn the_project_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let Ok(tree) = Tree::read(&root) else {
            eprintln!("skipped: not a git checkout");
            return;
        };
        assert_eq!(check(&tree), vec![]);
    }
}
