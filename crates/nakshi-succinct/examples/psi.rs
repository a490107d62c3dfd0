//! Measures size and speed of every code of next pointers and several rates, on one core. Times are
//! CPU times where Linux reports them, so that other processes disturb them less.
//!
//! `cargo run --release -p nakshi-succinct --example psi -- [FILE]`; without a file the text is
//! like the NodeFile of ZipG: records of 40 properties, each one of 856 values of 16 letters and
//! digits behind the delimiter of its property, 20 MB of them (`MB=58` for the 85,000 records of
//! which it is a sample). `RATES=8,32` and `BLOCKS=64,128` select rates and blocks. The patterns
//! are values with their delimiter, or 16 bytes from random offsets of the file. The last line is
//! the time of one dependent access to an array of half the text's size, which bounds every step of
//! a query.

use std::hint::black_box;
use std::time::Instant;

use nakshi_succinct::{Options, Psi, Succinct};

mod clock;

use clock::Clock;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const PROPERTIES: u8 = 40;
const VALUES: u64 = 856;
const WIDTH: usize = 16;
const EXTRACTS: u64 = 100_000;
const SEARCHES: usize = 4000;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// A text and the patterns to search for.
struct SearchSample {
    text: Vec<u8>,
    patterns: Vec<Vec<u8>>,
}

fn main() -> Outcome<()> {
    let SearchSample { text, patterns } = match std::env::args().nth(1) {
        Some(path) => of_file(std::fs::read(path)?),
        None => node_file(numbers("MB", &[20])?.iter().sum::<u32>() as usize * 1_000_000),
    };
    println!("{} bytes of text", text.len());
    println!(
        "code        block  rate  build s   size/text  extract16 us  search p50 us  found p50"
    );
    for psi in Psi::ALL {
        for psi_block in numbers("BLOCKS", &[64, 128])? {
            for rate in numbers("RATES", &[8, 16, 32, 64])? {
                let options = Options { sa_rate: rate, isa_rate: rate, psi, psi_block };
                measure(&text, &patterns, &options)?;
            }
        }
    }
    chase(text.len() / 2);
    Ok(())
}

fn measure(text: &[u8], patterns: &[Vec<u8>], options: &Options) -> Outcome<()> {
    let begin = Clock::start();
    let succinct = Succinct::build(text, options)?;
    let build = begin.seconds();
    let size = succinct.as_bytes().len() as f64 / text.len() as f64;
    let mut random = SplitMix64(7);
    let last = text.len().saturating_sub(WIDTH) as u64 + 1;
    let mut out = Vec::new();
    let begin = Clock::start();
    for _ in 0..EXTRACTS {
        out.clear();
        succinct.extract(random.below(last), WIDTH, &mut out)?;
        black_box(&out);
    }
    let extract = begin.seconds() * 1e6 / EXTRACTS as f64;
    out.clear();
    succinct.extract(0, usize::MAX, &mut out)?;
    if out != text {
        return Err("what was extracted is not the text".into());
    }
    let mut searches = Vec::new();
    for pattern in patterns {
        let begin = Instant::now();
        let found = succinct.search(pattern)?;
        searches.push((begin.elapsed().as_secs_f64() * 1e6, found.len()));
    }
    let found = median(&searches.iter().map(|s| s.1 as f64).collect::<Vec<_>>());
    let search = median(&searches.iter().map(|s| s.0).collect::<Vec<_>>());
    println!(
        "{:<11} {:>5} {:>5} {build:8.2} {size:11.3} {extract:13.3} {search:14.1} {found:10.0}",
        format!("{:?}", options.psi),
        options.psi_block,
        options.sa_rate
    );
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Numbers from an environment variable, separated by commas.
fn numbers(name: &str, default: &[u32]) -> Outcome<Vec<u32>> {
    match std::env::var(name) {
        Ok(list) => Ok(list.split(',').map(str::parse).collect::<Result<_, _>>()?),
        Err(_) => Ok(default.to_vec()),
    }
}

fn of_file(text: Vec<u8>) -> SearchSample {
    let mut random = SplitMix64(4);
    let mut pattern = || {
        let from = random.below(text.len().max(1) as u64) as usize;
        text.iter().skip(from).take(WIDTH).copied().collect()
    };
    let patterns = (0..SEARCHES).map(|_| pattern()).collect();
    SearchSample { text, patterns }
}

/// A text of whole records, up to `len` bytes.
fn node_file(len: usize) -> SearchSample {
    const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut random = SplitMix64(1);
    let mut letter = || LETTERS[random.below(LETTERS.len() as u64) as usize];
    let values: Vec<[u8; WIDTH]> =
        (0..u64::from(PROPERTIES) * VALUES).map(|_| std::array::from_fn(|_| letter())).collect();
    let mut property = |number: u8| {
        let value = u64::from(number) * VALUES + random.below(VALUES);
        [&[0x80 + number], values[value as usize].as_slice()].concat()
    };
    let record = usize::from(PROPERTIES) * (WIDTH + 1) + 1;
    let mut text = Vec::with_capacity(len);
    while text.len() + record <= len {
        (0..PROPERTIES).for_each(|number| text.extend_from_slice(&property(number)));
        text.push(b'\n');
    }
    let patterns = (0..PROPERTIES).cycle().take(SEARCHES).map(property).collect();
    SearchSample { text, patterns }
}

/// Nanoseconds of an access whose position depends on the access before, in an array of `bytes`
/// bytes.
fn chase(bytes: usize) {
    let mut next: Vec<u32> = (0..bytes as u32 / 4).collect();
    let mut random = SplitMix64(3);
    // one cycle through all positions (Sattolo 1986)
    for i in (1..next.len()).rev() {
        next.swap(i, random.below(i as u64) as usize);
    }
    let (mut at, steps) = (0u32, 1_000_000);
    let begin = Clock::start();
    for _ in 0..steps {
        at = next[at as usize];
    }
    black_box(at);
    println!("one access in {bytes} bytes: {:.1} ns", begin.seconds() * 1e9 / f64::from(steps));
}
