//! Bytes per list entry and decoding rate of a store's lists, in memory, on one core.
//! Times of computation are CPU time where Linux tells it, so that a busy neighbour counts less.
//!
//! `cargo run --release -p nakshi-store --example codec_speed -- STORE`

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_store::{Direction, OpenOptions, Store};

/// A clock of this thread's own running time.
struct Clock {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: running() }
    }

    fn seconds(&self) -> f64 {
        let cpu = self.cpu.zip(running()).map(|(from, to)| to.saturating_sub(from));
        cpu.unwrap_or_else(|| self.wall.elapsed()).as_secs_f64()
    }
}

fn running() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: codec_speed STORE")?;
    let begin = Instant::now();
    let store = Store::open(&path, &OpenOptions::default())?;
    let adjacency = store.adjacency(Direction::Out)?;
    println!("open with index       {:8.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    let n = store.num_vertices();
    let index = adjacency.index();
    println!("index                 {:8.3} B per vertex", index.memory() as f64 / n as f64);
    println!(
        "lists                 {:8.3} B per entry",
        adjacency.file().len() as f64 / adjacency.arcs() as f64
    );
    let begin = Clock::start();
    let heads = store.heads(Direction::Out)?;
    println!(
        "heads                 {:8.1} ms, {} B in memory",
        begin.seconds() * 1e3,
        heads.memory()
    );
    let begin = Clock::start();
    black_box(adjacency.degrees(&CancelToken::new())?);
    println!("degrees               {:8.1} ms", begin.seconds() * 1e3);

    for _ in 0..3 {
        let begin = Clock::start();
        let sum = index.extents(0..n).fold(0u64, |a, e| a ^ e.start);
        println!(
            "index, in order       {:8.2} ns per vertex ({sum:x})",
            begin.seconds() * 1e9 / n as f64
        );
    }
    let begin = Clock::start();
    let (mut v, mut sum) = (1u64, 0);
    let probes = 2_000_000u32;
    for _ in 0..probes {
        v = v.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let extent = index.extent((v >> 33) % n);
        sum ^= extent.end;
    }
    println!(
        "index, at random      {:8.2} ns per vertex ({sum:x})",
        begin.seconds() * 1e9 / f64::from(probes)
    );
    let begin = Clock::start();
    for i in 0..u64::from(probes) {
        sum ^= index.extent((i * 7919) % 4096).end;
    }
    println!(
        "index, hubs           {:8.2} ns per vertex ({sum:x})",
        begin.seconds() * 1e9 / f64::from(probes)
    );

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
        for extent in adjacency.extents(0..n) {
            if extent.is_empty() {
                continue;
            }
            let list = adjacency.list(
                bytes.with_slack(),
                usize::try_from(extent.start)?..usize::try_from(extent.end)?,
            )?;
            list.blocks(|block| {
                entries += block.len() as u64;
                for id in block {
                    sum ^= id;
                }
                ControlFlow::Continue(())
            })?;
        }
        let seconds = begin.seconds();
        println!(
            "decode all lists      {:8.0} M entries/s ({sum:x})",
            entries as f64 / seconds / 1e6
        );
    }
    Ok(())
}
