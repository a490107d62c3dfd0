//! Adds up the closing lines of `cargo test` and pytest, so that one line says what ran.

use std::process::ExitCode;

/// Tests counted in one or more logs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Prints `total: N passed, N failed, N skipped`; fails where a test failed, a log is unreadable or
/// nothing ran at all (a suite that runs no test must not look green).
pub fn command(logs: &[&str]) -> ExitCode {
    let mut total = Tally::default();
    for log in logs {
        match std::fs::read(log) {
            Ok(bytes) => total.add_log(&String::from_utf8_lossy(&bytes)),
            Err(error) => {
                eprintln!("cannot read {log}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    let Tally { passed, failed, skipped } = total;
    println!("total: {passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Tally {
    fn add_log(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.trim().trim_matches('=').trim();
            let cargo = line.strip_prefix("test result:");
            let pytest = line
                .rsplit_once(" in ")
                .filter(|(_, time)| time.contains('s'))
                .map(|(counts, _)| counts);
            if let Some(counts) = cargo.or(pytest.filter(|counts| is_pytest(counts))) {
                self.add_counts(counts);
            }
        }
    }

    fn add_counts(&mut self, counts: &str) {
        for part in counts.split([',', ';', '.']) {
            let Some((number, what)) = part.trim().split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what.trim() {
                "passed" | "xfailed" => self.passed += number,
                "failed" | "error" | "errors" | "xpassed" => self.failed += number,
                "skipped" | "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

/// Returns true if every part of a possible line of pytest reads `NUMBER WORD`.
fn is_pytest(counts: &str) -> bool {
    counts.split(',').all(|part| {
        part.trim().split_once(' ').is_some_and(|(number, _)| number.parse::<u64>().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_cargo_and_pytest_lines() {
        let mut tally = Tally::default();
        tally.add_log(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
             ==== 1 failed, 30 passed, 2 skipped, 1 warning in 4.20s (0:00:04) ====\n\
             3 passed in 0.1s\nwrote 3 passed tables in town\n",
        );
        let expected = Tally { passed: 45, failed: 1, skipped: 3 };
        assert_eq!(tally, expected);
    }
}
