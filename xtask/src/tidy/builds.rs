//! Dependencies that the package and the tests build once.
//!
//! Cargo builds a dependency again for another set of features, and with it all that uses it. A
//! dependency of the tests alone that asks a shared one for a further feature may so double the
//! time of a whole build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::Finding;

/// Sets of features by package and version.
type Features<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Asks cargo what the package is made of, and what the tests are.
pub fn check(root: &Path) -> std::io::Result<Vec<Finding>> {
    let package = listing(root, &["--package", "nakshi-python", "--edges", "normal,build"])?;
    let tests = listing(root, &["--workspace", "--edges", "normal,build,dev"])?;
    Ok(differences(&package, &tests))
}

/// Lines of package, version and features.
fn listing(root: &Path, which: &[&str]) -> std::io::Result<String> {
    let listed = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--quiet", "--prefix", "none", "--format", "{p} {f}"])
        // Of equal crates the tree shows what is below the first alone.
        .args(["--no-dedupe"])
        .args(which)
        .current_dir(root)
        .output()?;
    if !listed.status.success() {
        return Err(std::io::Error::other(String::from_utf8_lossy(&listed.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&listed.stdout).into_owned())
}

/// Returns the crates whose largest set of features for the package is none of those for the tests.
fn differences(package: &str, tests: &str) -> Vec<Finding> {
    let (package, tests) = (features(package), features(tests));
    let lacking = |(name, sets): (&&str, &BTreeSet<&str>)| {
        let there = tests.get(name)?;
        // Of a crate that is built for macros, too, cargo's tree may lack the smaller set.
        let set = sets.iter().max_by_key(|set| set.split(',').count())?;
        if there.contains(set) {
            return None;
        }
        let other: Vec<&str> = there.iter().copied().collect();
        Some(Finding::new(
            "Cargo.toml",
            1,
            format!(
                "{name} is built twice: with the features {set} for the package, with {} for tests",
                other.join(" and ")
            ),
        ))
    };
    package.iter().filter_map(lacking).collect()
}

/// Reads a listing, without the crates of the project.
fn features(listing: &str) -> Features<'_> {
    let mut found = Features::new();
    for line in listing.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let rest = words.next().unwrap_or_default();
        if rest.starts_with("(/") {
            continue;
        }
        let set = rest.strip_prefix("(proc-macro)").unwrap_or(rest).trim();
        let key = &line[..name.len() + 1 + version.len()];
        found.entry(key).or_default().insert(set);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: &str = "nakshi v0.1.0 (/here) server\nsyn v3.0.9 full\nserde v1.0.1 derive,std\n\
                           serde_derive v1.0.1 (proc-macro) default\n";

    /// Seen red with every set taken as one that is there.
    #[test]
    fn a_planted_feature_of_the_tests_is_found() {
        let tests = PACKAGE.replace("full", "full,visit");
        let found = differences(PACKAGE, &tests);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found.iter().all(|finding| finding.message.starts_with("syn v3.0.9 is built twice"))
        );
    }

    /// Another version, another crate of the project, and a set that is there beside others.
    #[test]
    fn what_is_built_once_is_fine() {
        let tests =
            format!("{PACKAGE}syn v2.0.1 visit\nsyn v3.0.9 full,visit\nproptest v1.0.0 std\n")
                .replace("(/here) server", "(/here) default,server");
        assert_eq!(differences(PACKAGE, &tests), vec![]);
    }
}
