//! The compatibility kit of openCypher, in process with every scenario on a store of its own, and over Bolt.
//!
//! The archive lies beside a checkout (`../shared/data`) or where `NAKSHI_DATA` says. `failing.txt` names
//! the scenarios that fail, by reason; a scenario that is not named must pass, and one that is named must
//! fail. Clients over Bolt see the class of an error alone, so `failing_over_bolt.txt` names fewer.
//!
//! `NAKSHI_TCK_ONLY=Match1` runs those with this in their names, and shows what fails. `NAKSHI_TCK_BOLT` is the
//! address of a server that runs, of several that keep one graph, or of Neo4j: its graph is emptied.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archive;
mod door;
mod expected;
mod in_process;
mod judge;
mod list;
mod over_bolt;
mod procedures;
mod scenario;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use door::Door;
use in_process::InProcess;
use judge::{Failure, Kind};
use over_bolt::OverBolt;
use scenario::Case;

/// The scenarios that ran, and the failures by the key of the scenario.
struct Ran {
    passed: usize,
    left_out: usize,
    failures: BTreeMap<String, Failure>,
}

/// Runs scenarios by some threads, each with a door of its own.
fn run_all<D: Door>(
    cases: &[Case],
    graphs: &BTreeMap<String, String>,
    threads: usize,
    open: impl Fn() -> D + Sync,
) -> Ran {
    let next = AtomicUsize::new(0);
    let ran = Mutex::new(Ran { passed: 0, left_out: 0, failures: BTreeMap::new() });
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut door = open();
                while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
                    let run = || judge::run(case, &mut door, graphs);
                    let ended = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
                        door = open();
                        Err(Failure { kind: Kind::Panic, what: "it panicked".into() })
                    });
                    let mut ran = ran.lock().unwrap();
                    match ended {
                        Ok(true) => ran.passed += 1,
                        Ok(false) => ran.left_out += 1,
                        Err(failure) => {
                            ran.failures.insert(case.key.clone(), failure);
                        }
                    }
                }
            });
        }
    });
    ran.into_inner().unwrap()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Runs all scenarios, and compares those that fail with a list.
fn run<D: Door>(list: &str, threads: usize, open: impl Fn() -> D + Sync) {
    let Some(files) = archive::files() else { return };
    let (mut cases, graphs) = (scenario::cases(&files), archive::graphs(&files));
    assert_eq!(cases.len(), 3_897, "the archive has other scenarios");
    let only = std::env::var("NAKSHI_TCK_ONLY").ok();
    if let Some(part) = &only {
        cases.retain(|case| case.key.contains(part.as_str()));
    }
    let ran = run_all(&cases, &graphs, threads, open);
    let count = |kind: Kind| ran.failures.values().filter(|failure| failure.kind == kind).count();
    println!(
        "{} scenarios, {} passed; {} errors, {} wrong answers, {} wrong errors, {} panics; {} left out",
        cases.len(),
        ran.passed,
        count(Kind::Error),
        count(Kind::WrongAnswer),
        count(Kind::WrongError),
        count(Kind::Panic),
        ran.left_out,
    );
    if only.is_some() {
        for (key, failure) in &ran.failures {
            println!("{key}\n    {}", failure.what);
        }
        return;
    }
    assert_eq!(count(Kind::Panic), 0, "a query must not panic");
    list::compare(list, &ran.failures);
}

#[test]
fn scenarios_pass_in_process() {
    run("failing.txt", threads(), InProcess::new);
}

#[test]
fn scenarios_pass_over_bolt() {
    match std::env::var("NAKSHI_TCK_BOLT") {
        Ok(address) => run("failing_over_bolt.txt", 1, || OverBolt::to(address.parse().unwrap())),
        Err(_) => run("failing_over_bolt.txt", threads(), OverBolt::new),
    }
}
