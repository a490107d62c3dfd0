//! A crate may use only those above it.

use super::{Finding, Tree};

/// The crates from the ground up, in the order of docs/ARCHITECTURE.md.
const LAYERS: [&str; 12] = [
    "nakshi-io",
    "nakshi-succinct",
    "nakshi-store",
    "nakshi-property",
    "nakshi-engine",
    "nakshi-query",
    "nakshi-cluster",
    "nakshi-server",
    "nakshi-commands",
    "nakshi",
    "nakshi-workloads",
    "nakshi-python",
];

/// Reads each `crates/*/Cargo.toml`; development and build dependencies count as well.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, manifest) in tree.ending("/Cargo.toml") {
        let Some(folder) = path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        let Some(own) = layer(folder) else {
            findings.push(Finding::new(
                path,
                1,
                format!("crate {folder} has no place in the layers"),
            ));
            continue;
        };
        for (line, name) in dependencies(manifest) {
            if layer(name).is_some_and(|other| other >= own) {
                let message =
                    format!("layer rule: {folder} may not use {name}, which is not above it");
                findings.push(Finding::new(path, line, message));
            }
        }
        if !manifest.contains("[lints]\nworkspace = true") {
            findings.push(Finding::new(path, 1, "lacks `[lints] workspace = true`"));
        }
    }
    findings
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|&layer| layer == name)
}

/// Line number and package name of every dependency, whatever its section.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(manifest.lines()) {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            inside = section.ends_with("dependencies");
            // `[dependencies.name]` names its package in the header.
            if let Some((before, name)) = section.rsplit_once("dependencies.")
                && (before.is_empty() || before.ends_with(['.', '-']))
            {
                found.push((number, name));
            }
        } else if inside
            && !line.starts_with('#')
            && let Some((key, value)) = line.split_once('=')
        {
            let key = key.split('.').next().unwrap_or(key).trim();
            found.push((number, renamed(value).unwrap_or(key)));
        }
    }
    found
}

/// The package behind `alias = { package = "name", .. }`.
fn renamed(value: &str) -> Option<&str> {
    let (_, after) = value.split_once("package")?;
    after.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "\n[lints]\nworkspace = true\n";

    fn findings(folder: &str, dependencies: &str) -> Vec<Finding> {
        let path = format!("crates/{folder}/Cargo.toml");
        check(&Tree::of(&[(&path, &format!("{dependencies}{LINTS}"))]))
    }

    #[test]
    fn upward_use_is_fine() {
        assert_eq!(
            findings("nakshi-store", "[dependencies]\nnakshi-io.workspace = true\n"),
            vec![]
        );
    }

    #[test]
    fn a_planted_downward_use_is_found_in_every_spelling() {
        for planted in [
            "[dependencies]\nnakshi-engine.workspace = true\n",
            "[dev-dependencies]\nnakshi-engine = { path = \"../nakshi-engine\" }\n",
            "[target.'cfg(unix)'.dependencies]\nnakshi = \"0.1\"\n",
            "[build-dependencies]\nengine = { package = \"nakshi-engine\", version = \"0.1\" }\n",
            "[dependencies.nakshi-engine]\nworkspace = true\n",
        ] {
            let found = findings("nakshi-store", planted);
            assert_eq!(found.len(), 1, "{planted}");
            assert_eq!(found[0].line, if planted.contains(".nakshi") { 1 } else { 2 });
        }
    }

    #[test]
    fn an_unknown_crate_and_missing_lints_are_found() {
        assert_eq!(findings("nakshi-common", "").len(), 1);
        let bare =
            Tree::of(&[("crates/nakshi-io/Cargo.toml", "[package]\nname = \"nakshi-io\"\n")]);
        assert_eq!(check(&bare).len(), 1);
    }
}
