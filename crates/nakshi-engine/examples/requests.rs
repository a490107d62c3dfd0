//! Requests of a breadth-first search by the vertex program, beside the fewest that could do.
//!
//! ```text
//! requests STORE SOURCE THREADS
//! ```
//!
//! Reads single lists only, as FlashGraph does, and prints one JSON object a level: how many reads the engine
//! has issued, and how many there would be if all vertices of the level asked at once, their pages were
//! sorted, and adjacent ones merged into reads of up to 256 KiB, the engine's longest. SOURCE is the number of
//! a vertex in the store.

use std::process::ExitCode;

use nakshi_engine::program::programs::Bfs;
use nakshi_engine::program::{ProgramConfig, run_program};
use nakshi_engine::{Context, Direction, EngineMode, Graph, Result, VertexId};
use nakshi_store::{OpenOptions, Store};

/// Pages of the longest read.
const LONGEST: u64 = 64;
const PAGE: u64 = 4096;

/// The fewest reads for ascending ranges of bytes.
fn fewest(lists: impl Iterator<Item = (u64, u64)>) -> u64 {
    let (mut reads, mut run): (u64, Option<(u64, u64)>) = (0, None);
    let cost = |(from, to): (u64, u64)| (to - from).div_ceil(LONGEST);
    for (from, to) in lists.filter(|(from, to)| from < to) {
        let pages = (from / PAGE, (to - 1) / PAGE + 1);
        match &mut run {
            Some((_, end)) if pages.0 <= *end => *end = pages.1.max(*end),
            _ => {
                reads += run.map_or(0, cost);
                run = Some(pages);
            }
        }
    }
    reads + run.map_or(0, cost)
}

fn run(store: &str, source: VertexId, threads: usize) -> Result<()> {
    let cx = Context::new().with_mode(EngineMode::Ssd).with_threads(threads).with_selective(true);
    let store = Store::open(store, &OpenOptions::default())?;
    let (program, config) = (Bfs { source }, ProgramConfig::default());
    let graph = Graph::open(&store, &config.needs(&program), &cx)?;
    let (levels, stats) = run_program(&graph, &program, &config, &cx)?;
    let mut ends = vec![0];
    // Ids are 32 bits wide.
    for v in 0..graph.num_vertices() as VertexId {
        let end = ends.last().copied().unwrap_or(0) + graph.list_bytes(Direction::Out, v)?;
        ends.push(end);
    }
    let lists: Vec<_> = ends.windows(2).map(|ends| (ends[0], ends[1])).collect();
    for (level, one) in (0..).zip(&stats.iterations) {
        let members = levels.iter().zip(&lists).filter(|(of, _)| **of == level);
        let fewest = fewest(members.map(|(_, list)| *list));
        println!(
            "{{\"level\": {level}, \"vertices\": {}, \"requests\": {}, \"fewest\": {fewest}, \
             \"hits\": {}, \"bytes\": {}}}",
            one.frontier, one.requests, one.hits, one.bytes_read
        );
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [store, source, threads] = words.as_slice() else {
        eprintln!("usage: requests STORE SOURCE THREADS");
        return ExitCode::from(2);
    };
    let (Ok(source), Ok(threads)) = (source.parse(), threads.parse()) else {
        eprintln!("requests: SOURCE and THREADS are whole numbers");
        return ExitCode::from(2);
    };
    match run(store, source, threads) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("requests: {error}");
            ExitCode::FAILURE
        }
    }
}
