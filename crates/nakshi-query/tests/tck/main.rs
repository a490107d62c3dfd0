//! The compatibility kit of openCypher, in process: every scenario on a store of its own.
//!
//! The archive lies beside a checkout (`../shared/data`) or where `NAKSHI_DATA` says. `failing.txt` names
//! the scenarios that fail, by reason; a scenario that is not named must pass, and one that is named must
//! fail. `NAKSHI_TCK_ONLY=Match1` runs those with this in their names, and shows what fails.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archive;
mod expected;
mod judge;
mod list;
mod procedures;
mod scenario;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use judge::{Failure, Kind};
use scenario::Case;

/// Runs all scenarios on all cores; returns the failures by the key of the scenario.
fn run_all(
    cases: &[Case],
    template: &Path,
    graphs: &BTreeMap<String, String>,
) -> BTreeMap<String, Failure> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (next, failures) = (&next, &failures);
            scope.spawn(move || {
                let home = judge::home(number);
                while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
                    let run = || judge::run(case, home.path(), template, graphs);
                    let ended = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
                        Err(Failure { kind: Kind::Panic, what: "it panicked".into() })
                    });
                    if let Err(failure) = ended {
                        failures.lock().unwrap().insert(case.key.clone(), failure);
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap()
}

#[test]
fn scenarios_pass_unless_the_list_names_them() {
    let Some(files) = archive::files() else { return };
    let cases = scenario::cases(&files);
    let graphs = archive::graphs(&files);
    let only = std::env::var("NAKSHI_TCK_ONLY").ok();
    let cases: Vec<Case> = match &only {
        Some(part) => cases.into_iter().filter(|case| case.key.contains(part.as_str())).collect(),
        None => cases,
    };
    let home = judge::home(99);
    let template = judge::template(home.path());
    let failures = run_all(&cases, &template, &graphs);
    let count = |kind: Kind| failures.values().filter(|failure| failure.kind == kind).count();
    println!(
        "{} scenarios, {} passed; {} errors, {} wrong answers, {} wrong errors, {} panics",
        cases.len(),
        cases.len() - failures.len(),
        count(Kind::Error),
        count(Kind::WrongAnswer),
        count(Kind::WrongError),
        count(Kind::Panic),
    );
    if only.is_some() {
        for (key, failure) in &failures {
            println!("{key}\n    {}", failure.what);
        }
        return;
    }
    assert_eq!(cases.len(), 3_897, "the archive has other scenarios");
    assert_eq!(count(Kind::Panic), 0, "a query must not panic");
    list::compare(&failures);
}
