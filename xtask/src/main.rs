//! Project chores: `cargo xtask tidy` checks the rules of the project, `cargo xtask tally LOG...`
//! adds up what the test runners printed.

use std::path::Path;
use std::process::ExitCode;

mod tally;
mod tidy;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new("."));
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tidy"] => tidy::command(root),
        ["tally", logs @ ..] if !logs.is_empty() => tally::command(logs),
        _ => {
            eprintln!("usage: cargo xtask tidy | cargo xtask tally LOG...");
            ExitCode::from(2)
        }
    }
}
