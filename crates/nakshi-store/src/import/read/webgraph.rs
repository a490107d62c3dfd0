//! Graphs of WebGraph's class `BVGraph`: `NAME.graph`, with `NAME.properties` beside it.
//!
//! Source: Boldi, Vigna, "The WebGraph framework I: compression techniques", WWW 2004, section 3.
//! The list of a vertex is made of parts of the list of an earlier one, of intervals, and of
//! residuals. The lists that a later one may refer to are kept.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::batch::Batch;
use super::bits::{Bits, Code};
use super::task::{Feed, ParseTask};
use crate::import::ImportOptions;
use crate::{Error, Result};

/// Number of edges in a task.
const EDGES: usize = 32 << 10;
/// Number of lists in a task, most of which may be empty.
const LISTS: usize = 64 << 10;
/// Bytes of a file of properties that are read.
const PROPERTIES: u64 = 1 << 20;

/// The entries of a file of properties that the decoder needs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Properties {
    nodes: u64,
    arcs: u64,
    window: u64,
    least_interval: u64,
    outdegrees: Code,
    references: Code,
    block_counts: Code,
    blocks: Code,
    intervals: Code,
    residuals: Code,
}

/// Returns the file of properties beside a `.graph` file, compressed or not, whatever its class.
pub(crate) fn properties_beside(graph: &Path) -> Option<PathBuf> {
    let name = graph.file_name()?.to_str()?;
    let stem =
        [".graph", ".graph.gz", ".graph.zst"].iter().find_map(|end| name.strip_suffix(end))?;
    let beside = graph.with_file_name(format!("{stem}.properties"));
    beside.is_file().then_some(beside)
}

/// Sets up the reader.
pub(crate) fn feed<'a>(
    name: &Path,
    reader: Box<dyn Read + Send + 'a>,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let invalid = |what: String| Err(Error::Invalid(what));
    if options.weighted {
        return invalid("graphs of WebGraph have no weights; import without weights".into());
    }
    let Some(beside) = properties_beside(name) else {
        return invalid(format!(
            "{} has no file of properties beside it; the format webgraph takes NAME.graph and reads \
             NAME.properties",
            name.display()
        ));
    };
    let failed = |source| Error::io("read", &beside, source);
    let mut text = String::new();
    let file = std::fs::File::open(&beside).map_err(failed)?;
    file.take(PROPERTIES).read_to_string(&mut text).map_err(failed)?;
    let properties = match Properties::parse(&text) {
        Ok(properties) => properties,
        Err(what) => return invalid(format!("{}: {what}", beside.display())),
    };
    let mut lists = Lists::new(name, Bits::new(reader), properties, options.memory / 4);
    Ok(Box::new(move || lists.next_task()))
}

impl Properties {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let entry = |key: &str| {
            let entries = text.lines().filter(|line| !line.starts_with(['#', '!']));
            let mut found = entries.filter_map(|line| line.split_once('='));
            found.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
        };
        let number = |key: &str, usual: Option<u64>| match entry(key) {
            Some(value) => value.parse().map_err(|_| format!("{key} is '{value}', not a number")),
            None => usual.ok_or_else(|| format!("there is no entry {key}")),
        };
        let Some(class) = entry("graphclass") else {
            return Err(
                "there is no entry graphclass; for a METIS file name the format metis".into()
            );
        };
        if !class.ends_with(".BVGraph") {
            return Err(format!("the class of the graph is {class}; only BVGraph is read"));
        }
        if let Some(order) = entry("endianness").filter(|order| *order != "big") {
            return Err(format!(
                "the order of bytes is {order}; only big is read, to which WebGraph converts"
            ));
        }
        let nodes = number("nodes", None)?;
        if nodes > 1 << 32 {
            return Err(format!("{nodes} nodes; this version holds up to 2^32 vertices"));
        }
        let window = number("windowsize", Some(7))?;
        if window > 1 << 16 {
            return Err(format!("windowsize is {window}; at most 65536 is read"));
        }
        let k = number("zetak", Some(3))?;
        let k = u32::try_from(k).ok().filter(|k| (1..=32).contains(k));
        let k = k.ok_or("zetak is not between 1 and 32")?;
        let mut properties = Self {
            nodes,
            arcs: number("arcs", None)?,
            window,
            least_interval: number("minintervallength", Some(4))?,
            outdegrees: Code::Gamma,
            references: Code::Unary,
            block_counts: Code::Gamma,
            blocks: Code::Gamma,
            intervals: Code::Gamma,
            residuals: Code::Zeta(k),
        };
        for flag in entry("compressionflags").unwrap_or_default().split('|') {
            properties.set(flag.trim(), k)?;
        }
        // The library in Rust, which alone writes the order of bytes, has one code for both.
        if entry("endianness").is_some() {
            properties.block_counts = properties.blocks;
        }
        Ok(properties)
    }

    /// Sets a code by its flag, such as `RESIDUALS_DELTA`.
    fn set(&mut self, flag: &str, k: u32) -> std::result::Result<(), String> {
        let unknown = || format!("the compression flag {flag} is not known to this version");
        let Some((part, code)) = flag.rsplit_once('_') else {
            return if flag.is_empty() { Ok(()) } else { Err(unknown()) };
        };
        let code = match code {
            "UNARY" => Code::Unary,
            "GAMMA" => Code::Gamma,
            "DELTA" => Code::Delta,
            "ZETA" => Code::Zeta(k),
            "NIBBLE" => Code::Nibble,
            other => {
                let k = other.strip_prefix("ZETA").and_then(|k| k.parse().ok());
                Code::Zeta(k.filter(|k| (1..=32).contains(k)).ok_or_else(unknown)?)
            }
        };
        match part {
            "OUTDEGREES" => self.outdegrees = code,
            "REFERENCES" => self.references = code,
            "BLOCK_COUNT" => self.block_counts = code,
            "BLOCKS" => self.blocks = code,
            "INTERVALS" => self.intervals = code,
            "RESIDUALS" => self.residuals = code,
            // Those are in another file, which is not read.
            "OFFSETS" => {}
            _ => return Err(unknown()),
        }
        Ok(())
    }
}

/// The decoder. A list may begin with parts of another, so one thread decodes.
struct Lists<'a> {
    name: PathBuf,
    bits: Bits<'a>,
    properties: Properties,
    /// The last lists, that of vertex `v` at `v` modulo their number.
    kept: Vec<Vec<u32>>,
    /// Entries that all of them may have.
    room: usize,
    /// The next vertex to decode.
    next: u64,
    /// Entries of the vertex before it that went into batches.
    emitted: usize,
    arcs: u64,
    done: bool,
}

impl<'a> Lists<'a> {
    fn new(name: &Path, bits: Bits<'a>, properties: Properties, memory: u64) -> Self {
        Self {
            name: name.into(),
            bits,
            kept: vec![Vec::new(); properties.window as usize + 1],
            properties,
            room: (memory / size_of::<u32>() as u64) as usize,
            next: 0,
            emitted: 0,
            arcs: 0,
            done: false,
        }
    }

    fn next_task(&mut self) -> Result<Option<ParseTask<'a>>> {
        if self.done {
            return Ok(None);
        }
        let mut batch = Batch::default();
        for _ in 0..LISTS {
            self.emit(&mut batch);
            if batch.ints.len() >= EDGES {
                break;
            }
            if self.next == self.properties.nodes {
                self.finish(&mut batch)?;
                break;
            }
            self.decode()?;
        }
        Ok(Some(Box::new(move |out| {
            *out = batch;
            Ok(())
        })))
    }

    /// Adds the rest of the last list to a batch, as far as it has room.
    fn emit(&mut self, batch: &mut Batch) {
        let Some(vertex) = self.next.checked_sub(1) else { return };
        let slot = self.slot(vertex);
        let rest = self.kept.get(slot).and_then(|list| list.get(self.emitted..));
        let rest = rest.unwrap_or_default();
        let part = rest.get(..EDGES - batch.ints.len()).unwrap_or(rest);
        batch.ints.extend(part.iter().map(|&other| [vertex, u64::from(other)]));
        self.emitted += part.len();
    }

    fn finish(&mut self, batch: &mut Batch) -> Result<()> {
        self.done = true;
        let Properties { arcs, nodes, .. } = self.properties;
        if self.arcs != arcs {
            return Err(Error::Invalid(format!(
                "{}: the properties promise {arcs} arcs, the lists have {}; do both files belong together?",
                self.name.display(),
                self.arcs
            )));
        }
        batch.ranges.push(0..nodes);
        Ok(())
    }

    fn slot(&self, vertex: u64) -> usize {
        (vertex % self.kept.len() as u64) as usize
    }

    /// Decodes the list of the next vertex.
    fn decode(&mut self) -> Result<()> {
        let vertex = self.next;
        let slot = self.slot(vertex);
        let mut list = self.kept.get_mut(slot).map(std::mem::take).unwrap_or_default();
        list.clear();
        let degree = self.read(self.properties.outdegrees)?;
        if degree > self.properties.nodes {
            return Err(self.damaged(&format!("has {degree} entries")));
        }
        let degree = degree as usize;
        self.reserve(&mut list, degree)?;
        if degree > 0 {
            let copied = self.copy(&mut list, degree)?;
            let intervals = self.intervals(&mut list, degree)?;
            let residuals = degree - list.len();
            self.residuals(&mut list, residuals)?;
            let sorted = [copied, intervals, residuals].iter().filter(|part| **part > 0).count();
            if sorted > 1 {
                list.sort();
            }
        }
        self.arcs += degree as u64;
        if let Some(kept) = self.kept.get_mut(slot) {
            *kept = list;
        }
        self.next += 1;
        self.emitted = 0;
        Ok(())
    }

    /// Makes room for a list.
    fn reserve(&self, list: &mut Vec<u32>, degree: usize) -> Result<()> {
        if list.capacity() >= degree {
            return Ok(());
        }
        let kept: usize = self.kept.iter().map(Vec::capacity).sum();
        if kept + degree > self.room {
            return Err(Error::Invalid(format!(
                "{}: the list of vertex {} has {degree} entries, and those that it may refer to {kept}, \
                 which a quarter of the memory does not hold; give at least {} bytes",
                self.name.display(),
                self.next,
                4 * size_of::<u32>() * (kept + degree)
            )));
        }
        list.reserve_exact(degree);
        Ok(())
    }

    /// Begins a list with parts of an earlier one; returns their entries.
    fn copy(&mut self, list: &mut Vec<u32>, degree: usize) -> Result<usize> {
        let window = self.properties.window.min(self.next);
        if self.properties.window == 0 {
            return Ok(0);
        }
        let back = self.read(self.properties.references)?;
        if back == 0 {
            return Ok(0);
        }
        if back > window {
            return Err(self.damaged(&format!("refers to the list {back} vertices before it")));
        }
        let slot = self.slot(self.next - back);
        // Taken, since reading needs the decoder, and put back.
        let other = self.kept.get_mut(slot).map(std::mem::take).unwrap_or_default();
        let copied = self.copy_blocks(list, &other, degree);
        if let Some(kept) = self.kept.get_mut(slot) {
            *kept = other;
        }
        copied?;
        Ok(list.len())
    }

    /// Copies every second block of a list; what is behind the last block is one more.
    fn copy_blocks(&mut self, list: &mut Vec<u32>, other: &[u32], degree: usize) -> Result<()> {
        let blocks = self.read(self.properties.block_counts)?;
        let mut rest = other;
        for block in 0..blocks {
            let length = self.read(self.properties.blocks)? + u64::from(block > 0);
            let Some((now, then)) =
                usize::try_from(length).ok().and_then(|at| rest.split_at_checked(at))
            else {
                return Err(self.damaged("copies more than there is"));
            };
            if block % 2 == 0 {
                list.extend_from_slice(now);
            }
            rest = then;
        }
        if blocks % 2 == 0 {
            list.extend_from_slice(rest);
        }
        if list.len() > degree {
            return Err(self.damaged("copies more than its entries"));
        }
        Ok(())
    }

    /// Adds the intervals; returns their entries.
    fn intervals(&mut self, list: &mut Vec<u32>, degree: usize) -> Result<usize> {
        let Properties { nodes, least_interval, intervals, .. } = self.properties;
        let before = list.len();
        if before == degree || least_interval == 0 {
            return Ok(0);
        }
        let mut end = None;
        for _ in 0..self.read(intervals)? {
            let begin = self.read(intervals)?;
            let begin = match end {
                None => self.relative(begin),
                // Two intervals do not touch.
                Some(end) => begin.checked_add(end + 1),
            };
            let length = self.read(intervals)?.saturating_add(least_interval);
            let bounds = begin.and_then(|begin| Some((begin, begin.checked_add(length)?)));
            let Some((begin, behind)) = bounds.filter(|(_, behind)| *behind <= nodes) else {
                return Err(self.damaged("has an interval beyond the last vertex"));
            };
            if length > (degree - list.len()) as u64 {
                return Err(self.damaged("has longer intervals than entries"));
            }
            list.extend((begin..behind).map(|other| other as u32));
            end = Some(behind);
        }
        Ok(list.len() - before)
    }

    /// Adds the entries that are left.
    fn residuals(&mut self, list: &mut Vec<u32>, count: usize) -> Result<()> {
        let mut last = None;
        for _ in 0..count {
            let gap = self.read(self.properties.residuals)?;
            let other = match last {
                None => self.relative(gap),
                Some(last) => gap.checked_add(last + 1),
            };
            let Some(other) = other.filter(|other| *other < self.properties.nodes) else {
                return Err(self.damaged("has an entry beyond the last vertex"));
            };
            list.push(other as u32);
            last = Some(other);
        }
        Ok(())
    }

    /// Returns the vertex at a distance from the next one, whose sign is the lowest bit.
    fn relative(&self, distance: u64) -> Option<u64> {
        match distance % 2 {
            0 => self.next.checked_add(distance / 2),
            _ => self.next.checked_sub(distance / 2 + 1),
        }
    }

    fn read(&mut self, code: Code) -> Result<u64> {
        self.bits.read(code).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => self.damaged("is not complete"),
            ErrorKind::InvalidData => self.damaged("has a number beyond 2^62"),
            _ => Error::io("read", &self.name, error),
        })
    }

    fn damaged(&self, what: &str) -> Error {
        Error::Invalid(format!(
            "{}: the list of vertex {} {what}; is the file damaged or cut off?",
            self.name.display(),
            self.next
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "#BVGraph properties\nnodes=5\narcs=7\nwindowsize=7\nzetak=4\nminintervallength=3\n\
                       graphclass=it.unimi.dsi.webgraph.BVGraph\ncompressionflags=";

    #[test]
    fn codes_by_their_flags() {
        let usual = Properties::parse(OLD).unwrap();
        assert_eq!((usual.nodes, usual.arcs, usual.window, usual.least_interval), (5, 7, 7, 3));
        assert_eq!((usual.outdegrees, usual.residuals), (Code::Gamma, Code::Zeta(4)));
        let flags = "OUTDEGREES_DELTA | BLOCK_COUNT_UNARY | BLOCKS_DELTA | RESIDUALS_NIBBLE";
        let chosen = Properties::parse(&format!("{OLD}{flags}")).unwrap();
        assert_eq!((chosen.outdegrees, chosen.block_counts), (Code::Delta, Code::Unary));
        assert_eq!((chosen.blocks, chosen.residuals), (Code::Delta, Code::Nibble));
        let new = format!("{OLD}BLOCKS_DELTA|RESIDUALS_ZETA2\nendianness=big\n");
        let new = Properties::parse(&new).unwrap();
        assert_eq!((new.block_counts, new.residuals), (Code::Delta, Code::Zeta(2)));
    }

    #[test]
    fn properties_that_are_refused() {
        for (text, told) in [
            (OLD.replace("BVGraph\n", "EFGraph\n"), "the class of the graph is it.unimi"),
            (OLD.replace("nodes=5\n", ""), "there is no entry nodes"),
            (OLD.replace("graphclass", "class"), "for a METIS file name the format metis"),
            (OLD.replace("nodes=5", "nodes=4294967297"), "this version holds up to 2^32"),
            (OLD.replace("arcs=7", "arcs=x"), "arcs is 'x', not a number"),
            (OLD.replace("zetak=4", "zetak=0"), "zetak is not between 1 and 32"),
            (
                format!("{OLD}RESIDUALS_GOLOMB"),
                "the compression flag RESIDUALS_GOLOMB is not known",
            ),
            (format!("{OLD}\nendianness=little\n"), "the order of bytes is little; only big"),
        ] {
            let error = Properties::parse(&text).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
