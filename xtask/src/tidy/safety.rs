//! `unsafe` stands in the named places only, and each says why it holds.

use super::lexer::code_only;
use super::{Finding, Tree};

/// Places where `unsafe` may stand: system calls and aligned buffers; vector instructions beside a checked
/// portable twin; disjoint writes to vertex state; functions that Numba has compiled; the Arrow C stream handed
/// over by Python; an allocator that counts, in a test.
const PLACES: [&str; 8] = [
    "crates/nakshi-io/",
    "crates/nakshi-store/src/codec/simd/",
    "crates/nakshi-store/tests/import/hostile.rs",
    "crates/nakshi-engine/src/popcount.rs",
    "crates/nakshi-engine/src/shared.rs",
    "crates/nakshi-engine/src/program/block/foreign.rs",
    "crates/nakshi-python/src/programs.rs",
    "crates/nakshi-python/src/arrow_stream.rs",
];
/// Most lines between `unsafe` and its SAFETY comment.
const REACH: usize = 8;

/// Every Rust file of the workspace.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let allowed = PLACES.iter().any(|place| path.starts_with(place));
        let source: Vec<&str> = text.lines().collect();
        for (index, line) in code_only(text).lines().enumerate() {
            let words = || line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let lifted = line.contains("allow(") && words().any(|word| word == "unsafe_code");
            let used = words().any(|word| word == "unsafe");
            if (lifted || used) && !allowed {
                findings.push(Finding::new(
                    path,
                    index + 1,
                    "`unsafe` outside the places named for it",
                ));
            } else if used && !explained(&source, index) {
                findings.push(Finding::new(
                    path,
                    index + 1,
                    "`unsafe` without a SAFETY comment above it",
                ));
            }
        }
    }
    findings
}

/// A SAFETY comment on the line or shortly above; for an unsafe function its `# Safety` section.
fn explained(source: &[&str], index: usize) -> bool {
    let above = source.get(index.saturating_sub(REACH)..=index).unwrap_or_default();
    let comment = above.iter().any(|line| line.contains("SAFETY:"));
    let is_function = source
        .get(index)
        .is_some_and(|line| line.contains("unsafe fn") || line.contains("unsafe extern"));
    let section = || {
        source
            .iter()
            .take(index)
            .rev()
            .take_while(|line| matches!(line.trim_start().get(..2), Some("//" | "#[")))
            .any(|line| line.contains("# Safety"))
    };
    comment || (is_function && section())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_unsafe_elsewhere_is_found() {
        let planted = "// SAFETY: none\nfn f() { unsafe { g() } }\n";
        assert_eq!(check(&Tree::of(&[("crates/nakshi-store/src/lib.rs", planted)])).len(), 1);
        let lifted = "#![allow(unsafe_code)]\n";
        assert_eq!(check(&Tree::of(&[("crates/nakshi-engine/src/lib.rs", lifted)])).len(), 1);
    }

    #[test]
    fn a_planted_unexplained_unsafe_is_found() {
        let planted = "fn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(check(&Tree::of(&[("crates/nakshi-io/src/lib.rs", planted)])).len(), 1);
    }

    #[test]
    fn explained_unsafe_in_its_place_is_fine() {
        let fine = "//! No unsafe here.\nfn f() {\n    // SAFETY: `g` has no preconditions.\n    unsafe { g() }\n}\n/// # Safety\n/// None.\n#[inline]\npub unsafe fn g() {}\n";
        assert_eq!(check(&Tree::of(&[("crates/nakshi-io/src/lib.rs", fine)])), vec![]);
    }
}
