//! Properties for generated graphs, by the rules of ZipG (section 6).
//!
//! Each vertex that has an edge becomes a node with 40 properties of 16 bytes, 640 in all, each one
//! of 856 values, or a text that no other node has in this property. Each edge has one of 5 types,
//! a time in a span of 50 days, and a text of 128 bytes that no other edge has, in the words of
//! TPC-H's line items.

use std::io::Write as _;
use std::path::Path;

use super::random::{SplitMix64, pick};
use super::{Generator, edges};
use crate::export::OutputFile;
use crate::hooks::{Hooks, Progress};
use crate::random::mix;
use crate::{Error, Result};

/// Properties of a node.
const PROPERTIES: u64 = 40;
/// Values of a property.
const VALUES: u64 = 856;
/// Bytes of a value.
const VALUE: usize = 16;
/// Types of edges.
const TYPES: u64 = 5;
/// Span of times in milliseconds, and its beginning.
const SPAN: u64 = 50 * 24 * 3600 * 1000;
const BEGIN: u64 = 1_420_000_000_000;
/// Bytes of an edge's text.
const TEXT: usize = 128;

const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
const WORDS: [&str; 24] = [
    "furiously",
    "quickly",
    "slyly",
    "carefully",
    "blithely",
    "express",
    "regular",
    "special",
    "pending",
    "ironic",
    "final",
    "bold",
    "deposits",
    "requests",
    "accounts",
    "packages",
    "instructions",
    "theodolites",
    "pinto",
    "beans",
    "foxes",
    "ideas",
    "sleep",
    "above",
];

/// The texts of the nodes' properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeTexts {
    /// One of 856 values.
    Repeated,
    /// A text that no other node has in the same property: a number, and words of a line item.
    Unique,
}

/// Writes tables of nodes and edges with properties as TSV, compressed by the names of the files.
/// Returns the numbers of nodes and edges.
///
/// # Errors
/// [`Error::Io`], [`Error::Cancelled`]; [`Error::Unsupported`] for more than 2^32 vertices. A
/// failed write leaves no file.
pub fn write_tables(
    generator: &dyn Generator,
    seed: u64,
    texts: NodeTexts,
    [nodes, edges_path]: [&Path; 2],
    hooks: &Hooks,
) -> Result<(u64, u64)> {
    let mut output = OutputFile::create(edges_path, &hooks.cancel)?;
    output.put(b":START_ID\t:END_ID\t:TYPE\ttimestamp:long\ttext\n")?;
    let mut seen: Vec<u64> = Vec::new();
    let (mut line, mut count) = (Vec::new(), 0u64);
    let total = Some(generator.expected_edges());
    for [source, target] in edges(generator) {
        for v in [source, target] {
            note(&mut seen, v)?;
        }
        line.clear();
        let mut random = SplitMix64::new(seed, count);
        let ty = random.next() % TYPES;
        let time = BEGIN + pick(SPAN, random.unit());
        let _ = write!(line, "{source}\t{target}\ttype{ty}\t{time}\t");
        text(&mut random, count, &mut line);
        line.push(b'\n');
        output.put(&line)?;
        count += 1;
        if count.is_multiple_of(1 << 14) {
            hooks.check()?;
            hooks.tell(Progress { phase: "generate", done: count, total, edges: count });
        }
    }
    output.finish()?;
    Ok((write_nodes(&seen, seed, texts, nodes, hooks)?, count))
}

/// Sets the bit of a vertex.
fn note(seen: &mut Vec<u64>, v: u64) -> Result<()> {
    let word = usize::try_from(v / 64).unwrap_or(usize::MAX);
    if word >= 1 << 26 {
        return Err(Error::Unsupported("properties of more than 2^32 vertices".into()));
    }
    if word >= seen.len() {
        seen.resize(word + 1, 0);
    }
    if let Some(bits) = seen.get_mut(word) {
        *bits |= 1 << (v % 64);
    }
    Ok(())
}

fn write_nodes(
    seen: &[u64],
    seed: u64,
    texts: NodeTexts,
    path: &Path,
    hooks: &Hooks,
) -> Result<u64> {
    let bits_of_ids = (64 * seen.len() as u64).next_power_of_two().trailing_zeros();
    let mut output = OutputFile::create(path, &hooks.cancel)?;
    let mut line = b":ID".to_vec();
    (0..PROPERTIES).for_each(|property| {
        let _ = write!(line, "\tp{property}");
    });
    line.push(b'\n');
    output.put(&line)?;
    let mut count = 0;
    for (word, bits) in (0..).zip(seen) {
        hooks.check()?;
        for v in (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| 64 * word + bit) {
            line.clear();
            let _ = write!(line, "{v}");
            let mut random = SplitMix64::new(seed ^ 0x6e6f_6465, v);
            for property in 0..PROPERTIES {
                line.push(b'\t');
                match texts {
                    NodeTexts::Repeated => {
                        value(seed, property, random.next() % VALUES, &mut line);
                    }
                    NodeTexts::Unique => {
                        let number = scrambled(v, mix(seed ^ property << 32), bits_of_ids);
                        unique(&mut random, number, &mut line);
                    }
                }
            }
            line.push(b'\n');
            output.put(&line)?;
            count += 1;
        }
    }
    output.finish()?;
    Ok(count)
}

/// Appends a value of 16 letters.
fn value(seed: u64, property: u64, number: u64, out: &mut Vec<u8>) {
    let mut random = SplitMix64::new(seed ^ property << 32, number);
    let mut bits = random.next();
    for place in 0..VALUE {
        if place == VALUE / 2 {
            bits = random.next();
        }
        // 26 letters: lossless.
        out.push(b'a' + (bits % 26) as u8);
        bits /= 26;
    }
}

/// Maps the numbers of `bits` bits one to one onto each other.
fn scrambled(number: u64, key: u64, bits: u32) -> u64 {
    // Each step is invertible, since both multipliers are odd.
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    let number = (number ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
    (number ^ number >> bits.div_ceil(2)).wrapping_mul(0xbf58_476d_1ce4_e5b9) & mask
}

/// Appends 16 bytes that begin with a unique number, followed by the number of a supplier and
/// words.
fn unique(random: &mut SplitMix64, number: u64, out: &mut Vec<u8>) {
    let end = out.len() + VALUE;
    let _ = write!(out, "{number}|{}|", random.next() % 10_000);
    while out.len() < end {
        let word = random.next() % WORDS.len() as u64;
        let _ = write!(out, "{} ", WORDS.get(word as usize).copied().unwrap_or(""));
    }
    out.truncate(end);
}

/// Appends a text that the number of the edge makes unique.
fn text(random: &mut SplitMix64, number: u64, out: &mut Vec<u8>) {
    let from = out.len();
    let _ = write!(out, "{number}|");
    let mut draw = |n: u64| random.next() % n;
    let (part, supplier, line) = (draw(200_000), draw(10_000), 1 + draw(7));
    let (quantity, cents) = (1 + draw(50), draw(10_000_000));
    let _ = write!(out, "{part}|{supplier}|{line}|{quantity}|{}.{:02}|", cents / 100, cents % 100);
    let _ = write!(out, "0.0{}|0.0{}|{}|{}|", draw(10), draw(9), letter(draw(3)), letter(draw(2)));
    for _ in 0..3 {
        let _ = write!(out, "{}-{:02}-{:02}|", 1992 + draw(7), 1 + draw(12), 1 + draw(28));
    }
    let word =
        |words: &'static [&'static str], i: u64| words.get(i as usize).copied().unwrap_or("");
    let _ = write!(out, "{}|{}|", word(&INSTRUCTIONS, draw(4)), word(&MODES, draw(7)));
    while out.len() < from + TEXT {
        let _ = write!(out, "{} ", word(&WORDS, draw(24)));
    }
    out.truncate(from + TEXT);
}

fn letter(i: u64) -> char {
    ['N', 'R', 'A'].get(i as usize).copied().unwrap_or('N')
}

#[cfg(test)]
mod tests {
    use super::super::Kronecker;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tables_follow_the_rules_of_the_paper() {
        let home = tempfile::tempdir().unwrap();
        let (nodes, edges) = (home.path().join("n.tsv"), home.path().join("e.tsv"));
        let graph = Kronecker::new(8);
        let write = || {
            let files = [nodes.as_path(), &edges];
            write_tables(&graph, 7, NodeTexts::Repeated, files, &Hooks::default()).unwrap()
        };
        let (count, lines) = write();
        let first = std::fs::read(&edges).unwrap();
        assert_eq!(write(), (count, lines));
        assert!(first == std::fs::read(&edges).unwrap());
        let text = String::from_utf8(first).unwrap();
        let mut texts = HashSet::new();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!((fields.len(), fields[4].len()), (5, TEXT));
            assert!((BEGIN..BEGIN + SPAN).contains(&fields[3].parse().unwrap()));
            assert!(texts.insert(fields[4].to_owned()));
        }
        assert_eq!(texts.len() as u64, lines);
        let text = std::fs::read_to_string(&nodes).unwrap();
        assert_eq!(text.lines().count() as u64, count + 1);
        let mut lines = text.lines().skip(1);
        assert!(lines.all(|line| line.split('\t').skip(1).all(|value| value.len() == VALUE)));
    }
    /// Seen red with an even multiplier in `scrambled`, and without the number in `unique`.
    #[test]
    fn unique_texts_do_not_repeat() {
        let home = tempfile::tempdir().unwrap();
        let (nodes, edges) = (home.path().join("n.tsv"), home.path().join("e.tsv"));
        let files = [nodes.as_path(), &edges];
        let graph = Kronecker::new(13);
        let (count, _) =
            write_tables(&graph, 7, NodeTexts::Unique, files, &Hooks::default()).unwrap();
        let text = std::fs::read_to_string(&nodes).unwrap();
        let mut seen = vec![HashSet::new(); PROPERTIES as usize];
        for line in text.lines().skip(1) {
            for (value, seen) in line.split('\t').skip(1).zip(&mut seen) {
                assert!(value.len() == VALUE && seen.insert(value.to_owned()), "{value}");
            }
        }
        assert!(seen.iter().all(|seen| seen.len() as u64 == count));
    }
}
