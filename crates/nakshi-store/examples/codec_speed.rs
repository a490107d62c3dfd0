//! Measures bytes per list entry and the decoding rate of a store's lists, in memory, on one core.
//! Times of computation are CPU times where Linux reports them, so that other processes disturb
//! them less.
//!
//! `cargo run --release -p nakshi-store --example codec_speed -- STORE`

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;

use nakshi_io::CancelToken;
use nakshi_store::{Adjacency, Direction, ListIndex, OpenOptions, Store};

#[path = "../../nakshi-succinct/examples/clock/mod.rs"]
mod clock;

use clock::Clock;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let path = std::env::args().nth(1).ok_or("usage: codec_speed STORE")?;
    let (wall, cpu) = (Instant::now(), Clock::start());
    let store = Store::open(&path, &OpenOptions::default())?;
    let adjacency = store.adjacency(Direction::Out)?;
    let wall = wall.elapsed().as_secs_f64();
    println!(
        "open with index       {:8.1} ms, {:.1} of them running",
        wall * 1e3,
        cpu.seconds() * 1e3
    );
    let n = store.num_vertices();
    let index = adjacency.index();
    println!("index                 {:8.3} B per vertex", index.memory() as f64 / n as f64);
    let bytes = adjacency.file().len() as f64;
    println!("lists                 {:8.3} B per entry", bytes / adjacency.arcs() as f64);
    let begin = Clock::start();
    let heads = store.heads(Direction::Out, &CancelToken::new())?;
    println!(
        "heads                 {:8.1} ms, {} B in memory",
        begin.seconds() * 1e3,
        heads.memory()
    );
    let begin = Clock::start();
    black_box(adjacency.degrees(&CancelToken::new())?);
    println!("degrees               {:8.1} ms", begin.seconds() * 1e3);
    look_ups(index, n);
    decode(adjacency, n)
}

fn look_ups(index: &ListIndex, n: u64) {
    for _ in 0..3 {
        let begin = Clock::start();
        let sum = index.extents(0..n).fold(0u64, |a, e| a ^ e.start);
        let each = begin.seconds() * 1e9 / n as f64;
        println!("index, in order       {each:8.2} ns per vertex ({sum:x})");
    }
    let places = [("all", 0, n), ("64 Ki", n / 8, 65_536), ("hubs", 0, 4096)];
    for (what, from, width) in places {
        let (mut v, mut sum) = (1u64, 0);
        let probes = 2_000_000u32;
        let begin = Clock::start();
        for _ in 0..probes {
            v = v.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum ^= index.extent(from + (v >> 33) % width).end;
        }
        let each = begin.seconds() * 1e9 / f64::from(probes);
        println!("index, at random      {each:8.2} ns per vertex, {what} ({sum:x})");
    }
}

fn decode(adjacency: &Adjacency, n: u64) -> Outcome {
    let begin = Instant::now();
    let bytes = adjacency.file().load(&CancelToken::new())?;
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "load                  {:8.3} s, {:.0} MB/s",
        seconds,
        bytes.len() as f64 / 1e6 / seconds
    );
    for _ in 0..3 {
        let (mut entries, mut sum) = (0u64, 0u32);
        let begin = Clock::start();
        for extent in adjacency.extents(0..n).filter(|e| !e.is_empty()) {
            let range = usize::try_from(extent.start)?..usize::try_from(extent.end)?;
            adjacency.list(bytes.with_slack(), range)?.blocks(|block| {
                entries += block.len() as u64;
                sum = block.iter().fold(sum, |sum, id| sum ^ id);
                ControlFlow::Continue(())
            })?;
        }
        let rate = entries as f64 / begin.seconds() / 1e6;
        println!("decode all lists      {rate:8.0} M entries/s ({sum:x})");
    }
    Ok(())
}
