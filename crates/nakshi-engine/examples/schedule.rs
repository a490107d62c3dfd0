//! Gain by the order of vertices and by the merging of their requests (FlashGraph, figure 12).
//!
//! ```text
//! schedule STORE bfs|wcc random|sequential|merged THREADS
//! ```
//!
//! Runs a vertex program of the library from the SSD and prints one JSON object. *random* runs the
//! active vertices of an iteration in a random order; *sequential* by id, with 16 of them running at
//! a time, so that few requests can merge; *merged* by id with 4,000, the engine's way.

use std::process::ExitCode;

use nakshi_engine::program::programs::{Bfs, Components};
use nakshi_engine::program::{Order, ProgramConfig, VertexProgram, run_program};
use nakshi_engine::{Context, EngineMode, Graph, Result, RunStats, VertexId};
use nakshi_store::{OpenOptions, Store};

/// All vertices by a hash of their ids.
fn random(vertices: u64) -> Order {
    let hash = |v: VertexId| u64::from(v).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // Internal ids are 32 bits. The upper half of the product depends on all bits of the id.
    let mut order: Vec<VertexId> = (0..vertices).map(|v| v as VertexId).collect();
    order.sort_unstable_by_key(|&v| hash(v).rotate_left(32).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    Order::Vector(order)
}

fn run<P: VertexProgram>(
    store: &str,
    program: &P,
    variant: &str,
    threads: usize,
) -> Result<RunStats> {
    let cx = Context::new().with_mode(EngineMode::Ssd).with_threads(threads);
    let store = Store::open(store, &OpenOptions::default())?;
    let config = match variant {
        "random" => {
            ProgramConfig { order: Some(random(store.num_vertices())), ..ProgramConfig::default() }
        }
        "sequential" => ProgramConfig { running: 16, ..ProgramConfig::default() },
        _ => ProgramConfig::default(),
    };
    let graph = Graph::open(&store, &config.needs(program), &cx)?;
    Ok(run_program(&graph, program, &config, &cx)?.1)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [store, program @ ("bfs" | "wcc"), variant @ ("random" | "sequential" | "merged"), threads] =
        words.as_slice()
    else {
        eprintln!("usage: schedule STORE bfs|wcc random|sequential|merged THREADS");
        return ExitCode::from(2);
    };
    let threads = threads.parse().unwrap_or(1);
    let stats = match *program {
        // From the hub of a degree layout.
        "bfs" => run(store, &Bfs { source: 0 }, variant, threads),
        _ => run(store, &Components, variant, threads),
    };
    match stats {
        Ok(RunStats { seconds, bytes_read, requests, .. }) => {
            println!(
                "{{\"seconds\": {seconds}, \"bytes_read\": {bytes_read}, \"requests\": {requests}}}"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("schedule: {error}");
            ExitCode::FAILURE
        }
    }
}
