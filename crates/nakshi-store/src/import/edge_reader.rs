//! Shares of a file of edges, for readers on several machines.

use std::path::{Path, PathBuf};

use nakshi_io::CancelToken;

use super::input::Input;
use super::inputs::Inputs;
use super::read::{BLOCK, Batch, ParseTask, Share, as_float, canonical_u64};
use super::{ImportOptions, SelfLoops};
use crate::{Error, Result};

/// Reads a share of a file of edges. Together the shares have all edges, each once.
///
/// From plain text (edge lists, adjacency lists) a reader reads only the lines of its share.
/// Compressed files, and files of other formats, are read by every reader, and each takes other
/// pieces.
pub struct EdgeReader {
    inputs: Inputs<'static>,
    path: PathBuf,
    options: ImportOptions,
}

debug_by!(EdgeReader, path);

impl EdgeReader {
    /// Approximate bytes of text in a piece.
    pub const PIECE: u64 = BLOCK as u64;

    /// Opens a share. Only the reading options matter.
    pub fn open(path: &Path, options: &ImportOptions, share: Share, cancel: CancelToken) -> Self {
        let input = vec![Input::Path(path.into())];
        let inputs = Inputs::new(input, options, cancel).of_share(share);
        EdgeReader { inputs, path: path.into(), options: options.clone() }
    }

    /// Returns the next piece, which can be parsed in parallel with others.
    ///
    /// # Errors
    /// Read errors.
    pub fn next_piece(&mut self) -> Result<Option<EdgePiece>> {
        let next = self.inputs.next()?;
        Ok(next.map(|(_, task)| EdgePiece {
            task,
            path: self.path.clone(),
            weighted: self.options.weighted,
            loops: self.options.self_loops == SelfLoops::Keep,
        }))
    }
}

/// A piece of a file of edges that is not parsed yet.
pub struct EdgePiece {
    task: ParseTask<'static>,
    path: PathBuf,
    weighted: bool,
    loops: bool,
}

debug_by!(EdgePiece, path);

impl EdgePiece {
    /// Parses the piece.
    ///
    /// # Errors
    /// A malformed line; an id that is not a whole number.
    pub fn parse(self) -> Result<ParsedEdges> {
        let mut batch = Batch::default();
        (self.task)(&mut batch)?;
        let ids = batch.texts.iter().flatten().chain(&batch.text_vertices);
        if let Some(id) = ids.map(|id| batch.text(*id)).find(|id| canonical_u64(id).is_none()) {
            let id = String::from_utf8_lossy(id);
            let path = self.path.display();
            return Err(Error::Invalid(format!(
                "{path}: the id '{id}' is not a whole number below 2^64; import the graph, which takes any id"
            )));
        }
        if self.weighted && batch.int_weights.bits().len() != batch.ints.len() {
            let path = self.path.display();
            return Err(Error::Invalid(format!("{path} has no weights")));
        }
        Ok(ParsedEdges { batch, weighted: self.weighted, loops: self.loops })
    }
}

/// The edges and vertices of a piece, with the ids of the file.
#[derive(Debug)]
pub struct ParsedEdges {
    batch: Batch,
    weighted: bool,
    loops: bool,
}

impl ParsedEdges {
    /// Returns source, target and weight of each edge; the weight is 1 if no weights are read.
    pub fn edges(&self) -> impl Iterator<Item = (u64, u64, f64)> + '_ {
        let weights = &self.batch.int_weights;
        let mut bits = weights.bits().iter();
        let edges = self.batch.ints.iter().map(move |&[source, target]| {
            let weight = match bits.next() {
                Some(&bits) if self.weighted && weights.is_float() => f64::from_bits(bits),
                Some(&bits) if self.weighted => as_float(bits.cast_signed()),
                _ => 1.0,
            };
            (source, target, weight)
        });
        edges.filter(|(source, target, _)| self.loops || source != target)
    }

    /// Returns the ids of all vertices, including ends of edges, as often as they occur.
    pub fn vertices(&self) -> impl Iterator<Item = u64> + '_ {
        let Batch { ints, int_vertices, ranges, .. } = &self.batch;
        ints.iter().flatten().chain(int_vertices).copied().chain(ranges.iter().cloned().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(path: &Path, options: &ImportOptions, of: usize) -> Result<(Vec<(u64, u64)>, usize)> {
        let (mut edges, mut most) = (Vec::new(), 0);
        for number in 0..of {
            let share = Share { number, of };
            let mut reader = EdgeReader::open(path, options, share, CancelToken::new());
            let before = edges.len();
            while let Some(piece) = reader.next_piece()? {
                edges.extend(piece.parse()?.edges().map(|(s, t, _)| (s, t)));
            }
            most = most.max(edges.len() - before);
        }
        edges.sort_unstable();
        Ok((edges, most))
    }

    /// Every edge comes once for any number of shares, and shares of lines are even.
    #[test]
    fn shares_have_all_edges() -> Result<()> {
        let folder = tempfile::tempdir().unwrap();
        let all: Vec<(u64, u64)> = (0..30_000).map(|k| (k % 900, k * k % 1_000)).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        let lines = |begin: &str| {
            let lines = all.iter().map(|(s, t)| format!("{s}\t{t}\n"));
            begin.to_owned() + &lines.collect::<String>()
        };
        let adjacency: String = all.iter().map(|(s, t)| format!("{s} {t}\n")).collect();
        let texts = [
            ("plain", lines("")),
            ("header", lines("\u{feff}# words\n\nsource\ttarget\n")),
            ("no-end", lines("").trim_end().to_owned()),
            ("crlf", lines("").replace('\n', "\r\n")),
            ("a.adj", adjacency),
        ];
        for (name, text) in texts {
            let path = folder.path().join(name);
            std::fs::write(&path, &text).unwrap();
            for of in [1, 2, 3, 7, 64] {
                let (edges, most) = read(&path, &ImportOptions::default(), of)?;
                assert!(edges == sorted, "{name} in {of}");
                assert!(most <= all.len() / of * 3 / 2 + 2, "{name} in {of}: {most}");
            }
            let path = folder.path().join(format!("{name}.gz"));
            let file = std::fs::File::create(&path).unwrap();
            let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            packed.finish().unwrap();
            assert!(read(&path, &ImportOptions::default(), 3)?.0 == sorted, "{name}.gz");
        }
        Ok(())
    }

    /// More shares than lines, or than bytes, and headers longer than a share.
    #[test]
    fn small_files() -> Result<()> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.csv");
        for (text, edges) in [
            ("", 0),
            ("1,2", 1),
            ("source,target\n", 0),
            ("source,target\n1,2\n", 1),
            ("# a\nsource,target,much more than that\n1,2,0\n3,4,0", 2),
        ] {
            std::fs::write(&path, text).unwrap();
            for of in 1..20 {
                let found = read(&path, &ImportOptions::default(), of)?;
                assert_eq!(found.0.len(), edges, "{text:?} in {of}");
            }
        }
        Ok(())
    }

    /// An error names the line of the file, not of the share.
    #[test]
    fn errors_name_lines_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.tsv");
        let mut text: String = (0..1000).map(|k| format!("{k}\t{k}\n")).collect();
        text.push_str("7\n");
        std::fs::write(&path, text).unwrap();
        for of in [1, 2, 5] {
            let error = read(&path, &ImportOptions::default(), of).unwrap_err().to_string();
            assert!(error.contains("edges.tsv:1001:"), "{error}");
        }
        std::fs::write(&path, "a\tb\n").unwrap();
        let options = ImportOptions { header: Some(false), ..ImportOptions::default() };
        let error = read(&path, &options, 1).unwrap_err().to_string();
        assert!(error.contains("'a' is not a whole number"), "{error}");
    }
}
