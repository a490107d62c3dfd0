//! METIS (and Chaco) graph files.
//!
//! Source: Karypis, "METIS 5.1.0 manual", section 4.1.1. A first line `n m [fmt [ncon]]`, then a
//! line for each vertex with its neighbours, counted from 1; every edge is in the lines of both
//! ends. Vertex sizes and weights are skipped. Lines may be of any length.

use std::io::Read;
use std::path::Path;

use super::batch::{Batch, Weight};
use super::blocks::Blocks;
use super::task::{Feed, ParseTask};
use super::weight::{parse_weight, show};
use crate::decimal::parse_u64;
use crate::import::ImportOptions;
use crate::{Error, Result};

/// Number of edges in a task.
const EDGES: usize = 32 << 10;

#[derive(Clone, Copy, Debug, Default)]
struct MetisHeader {
    vertices: u64,
    edges: u64,
    /// Number of tokens before the neighbours: size and weights of the vertex.
    skip: u64,
    edge_weights: bool,
}

/// The serial tokeniser. The meaning of a token depends on all tokens before it, so one thread
/// parses this format.
struct Metis<'a> {
    blocks: Blocks<'a>,
    text: Vec<u8>,
    at: usize,
    line: u64,
    header: Option<MetisHeader>,
    weighted: bool,
    directed: bool,
    /// Number of vertices begun.
    vertex: u64,
    /// Number of tokens read of the vertex's line.
    token: u64,
    neighbour: Option<u64>,
    comment: bool,
    /// List entries to larger and to smaller vertices, and to the vertex itself.
    entries: [u64; 3],
    done: bool,
}

/// Sets up the reader.
pub(crate) fn feed<'a>(
    name: &Path,
    reader: Box<dyn Read + Send + 'a>,
    options: &ImportOptions,
) -> Box<dyn Feed<'a> + 'a> {
    let mut metis = Metis {
        blocks: Blocks::new(name, reader).with_cuts(|byte| byte.is_ascii_whitespace()),
        text: Vec::new(),
        at: 0,
        line: 1,
        header: None,
        weighted: options.weighted,
        directed: options.directed,
        vertex: 0,
        token: 0,
        neighbour: None,
        comment: false,
        entries: [0; 3],
        done: false,
    };
    Box::new(move || metis.next())
}

impl<'a> Metis<'a> {
    fn error(&self, what: impl Into<String>) -> Error {
        self.blocks.error(self.line, what)
    }

    fn next(&mut self) -> Result<Option<ParseTask<'a>>> {
        if self.done {
            return Ok(None);
        }
        let mut batch = Batch::default();
        while batch.ints.len() < EDGES {
            if self.at >= self.text.len() && !self.refill()? {
                self.finish(&mut batch)?;
                break;
            }
            self.step(&mut batch)?;
        }
        Ok(Some(Box::new(move |out| {
            *out = batch;
            Ok(())
        })))
    }

    fn refill(&mut self) -> Result<bool> {
        let Some(block) = self.blocks.next()? else { return Ok(false) };
        self.text = block.text;
        self.at = 0;
        Ok(true)
    }

    /// Parses one token or line end.
    fn step(&mut self, batch: &mut Batch) -> Result<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(&byte) = rest.first() else { return Ok(()) };
        if self.comment {
            let end = memchr::memchr(b'\n', rest);
            self.at += end.map_or(rest.len(), |end| end + 1);
            if end.is_some() {
                self.comment = false;
                self.line += 1;
            }
            return Ok(());
        }
        if byte == b'\n' {
            self.at += 1;
            self.end_line()?;
            self.line += 1;
            return Ok(());
        }
        if byte.is_ascii_whitespace() {
            self.at += 1;
            return Ok(());
        }
        if byte == b'%' && self.token == 0 {
            self.comment = true;
            return Ok(());
        }
        if self.header.is_none() {
            return self.read_header();
        }
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default().to_vec();
        self.at += end;
        self.token(&word, batch)
    }

    fn read_header(&mut self) -> Result<()> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest.get(..end).unwrap_or_default();
        let words: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).collect();
        let number = |place: usize| words.get(place).map(|word| parse_u64(word));
        let (Some(Some(vertices)), Some(Some(edges))) = (number(0), number(1)) else {
            return Err(self.error(format!(
                "expected the numbers of vertices and edges, found {}",
                show(line)
            )));
        };
        let flags = words.get(2).copied().unwrap_or(b"0");
        if flags.len() > 3 || !flags.iter().all(|b| matches!(b, b'0' | b'1')) {
            return Err(self
                .error(format!("the format {} is not made of three digits 0 or 1", show(flags))));
        }
        let flag =
            |place: usize| flags.len() > place && flags.get(flags.len() - 1 - place) == Some(&b'1');
        let constraints = match number(3) {
            None => 1,
            Some(Some(count)) if count <= 1 << 16 => count,
            Some(_) => {
                return Err(
                    self.error("the number of weights of a vertex is not a number up to 65536")
                );
            }
        };
        let skip = u64::from(flag(2)) + if flag(1) { constraints } else { 0 };
        let header = MetisHeader { vertices, edges, skip, edge_weights: flag(0) };
        if vertices > 1 << 32 {
            return Err(self.error(format!("{vertices} vertices; this version holds up to 2^32")));
        }
        if self.weighted && !header.edge_weights {
            return Err(self.error("the file has no edge weights; import without weights"));
        }
        self.at += (end + 1).min(self.text.len() - self.at);
        self.line += 1;
        self.header = Some(header);
        Ok(())
    }

    fn token(&mut self, word: &[u8], batch: &mut Batch) -> Result<()> {
        let header = self.header.unwrap_or_default();
        if self.token == 0 {
            self.begin_vertex(header)?;
        }
        self.token += 1;
        if self.token <= header.skip {
            return Ok(());
        }
        if let Some(neighbour) = self.neighbour.take() {
            let weight = if self.weighted {
                let weight = parse_weight(word);
                Some(weight.ok_or_else(|| {
                    self.error(format!("the weight {} is not a finite number", show(word)))
                })?)
            } else {
                None
            };
            self.edge(neighbour, weight, batch);
            return Ok(());
        }
        let neighbour = parse_u64(word).filter(|n| (1..=header.vertices).contains(n));
        let Some(neighbour) = neighbour else {
            return Err(self.error(format!(
                "the neighbour {} is not between 1 and {}",
                show(word),
                header.vertices
            )));
        };
        if header.edge_weights {
            self.neighbour = Some(neighbour);
        } else {
            self.edge(neighbour, None, batch);
        }
        Ok(())
    }

    fn begin_vertex(&mut self, header: MetisHeader) -> Result<()> {
        if self.vertex >= header.vertices {
            return Err(self.error(format!(
                "there are more lines than the {} vertices of the header",
                header.vertices
            )));
        }
        self.vertex += 1;
        Ok(())
    }

    fn edge(&mut self, neighbour: u64, weight: Option<Weight>, batch: &mut Batch) {
        let vertex = self.vertex;
        let kind = if neighbour > vertex { 0 } else { 1 + usize::from(neighbour == vertex) };
        self.entries[kind] += 1;
        // In an undirected graph, the entry in the other end's line repeats this edge.
        if self.directed || neighbour >= vertex {
            batch.ints.push([vertex, neighbour]);
            match weight {
                Some(Weight::Int(weight)) => batch.int_weights.push_int(weight),
                Some(Weight::Float(weight)) => batch.int_weights.push_float(weight),
                None => {}
            }
        }
    }

    fn end_line(&mut self) -> Result<()> {
        let Some(header) = self.header else { return Ok(()) };
        if self.neighbour.is_some() {
            return Err(self.error("the last neighbour has no weight"));
        }
        if self.token == 0 {
            // An empty line is a vertex without neighbours; empty lines after the last vertex are
            // padding.
            if self.vertex < header.vertices {
                self.begin_vertex(header)?;
            }
        } else if self.token < header.skip {
            return Err(self.error("the line ends before the weights of its vertex"));
        }
        self.token = 0;
        Ok(())
    }

    fn finish(&mut self, batch: &mut Batch) -> Result<()> {
        if self.token > 0 {
            self.end_line()?;
        }
        self.done = true;
        let Some(header) = self.header else {
            return Err(self.error("the file has no line with the numbers of vertices and edges"));
        };
        if self.vertex < header.vertices {
            return Err(self.error(format!(
                "the header promises {} vertices, the file ends after {}; is it cut off?",
                header.vertices, self.vertex
            )));
        }
        let [up, down, own] = self.entries;
        if up != down {
            return Err(self.error(format!("{up} entries lead to larger vertices and {down} to smaller ones; each edge belongs in both lines")));
        }
        // Files disagree on counting a self-loop once or twice.
        if header.edges != up + own && header.edges * 2 != up * 2 + own {
            return Err(self.error(format!(
                "the header promises {} edges, the file has {}; is it cut off?",
                header.edges,
                up + own
            )));
        }
        if header.edge_weights && !self.weighted {
            batch.notes.push(
                "the weights of edges in the METIS file were not read; --weighted (weighted=True) \
                 reads them"
                    .into(),
            );
        }
        if header.skip > 0 {
            batch
                .notes
                .push("sizes and weights of vertices in the METIS file were not read".into());
        }
        batch.ranges.push(1..header.vertices + 1);
        Ok(())
    }
}
