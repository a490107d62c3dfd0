//! Profile of a run: opens a store, repeats an algorithm and prints the steps of the
//! fastest repetition.
//!
//! ```text
//! steps STORE ALGORITHM PARAMETERS memory|ssd THREADS REPETITIONS
//! steps web.nakshi bfs '{"source": 0}' memory 2 10
//! ```

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use nakshi_engine::algo::find;
use nakshi_engine::{Context, EngineMode, Error, Graph, Result, RunStats, Summary};
use nakshi_store::{OpenOptions, Store};

fn fastest(arguments: &[String]) -> Result<Option<RunStats>> {
    let [store, algorithm, parameters, mode, threads, repetitions] = arguments else {
        return Err(Error::parameter("arguments", "see the head of this file"));
    };
    let wrong = |what: &str| Error::parameter(what, "is not what it should be");
    let parameters = serde_json::from_str(parameters).map_err(|_| wrong("parameters"))?;
    let mode: EngineMode =
        serde_json::from_value(mode.as_str().into()).map_err(|_| wrong("mode"))?;
    let threads = threads.parse().map_err(|_| wrong("threads"))?;
    let repetitions: u32 = repetitions.parse().map_err(|_| wrong("repetitions"))?;
    let store = Arc::new(Store::open(Path::new(store), &OpenOptions::default())?);
    let entry = find(algorithm)?;
    let needs = (entry.needs)(&parameters, &Summary::of_store(&store))?;
    let mut best: Option<RunStats> = None;
    for _ in 0..repetitions {
        let cx = Context::new().with_threads(threads).with_mode(mode);
        let graph = Graph::open(&store, &needs, &cx)?;
        let stats = (entry.run)(&parameters, &graph, &cx)?.stats;
        if best.as_ref().is_none_or(|best| stats.seconds < best.seconds) {
            best = Some(stats);
        }
    }
    Ok(best)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match fastest(&arguments) {
        Ok(stats) => {
            let stats = stats.unwrap_or_default();
            for step in &stats.iterations {
                let microseconds = step.seconds * 1e6;
                println!("{:>12.1} us {:>10} {}", microseconds, step.frontier, step.phase);
            }
            println!("{:>12.1} us in all", stats.seconds * 1e6);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
