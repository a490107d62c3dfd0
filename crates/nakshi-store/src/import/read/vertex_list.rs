//! Lists of vertices: one a line, in the first column or in the column called `:ID` or `id`.

use std::path::{Path, PathBuf};

use super::batch::Batch;
use super::blocks::{TextBlock, lines};
use super::edge_list::{is_blank_or_comment, is_comment};
use super::fields::{Separator, fields};
use super::header::{self, Remarks};
use crate::import::ImportOptions;
use crate::{Error, Result};

/// The parser of one vertex list.
pub(crate) struct VertexList {
    name: PathBuf,
    separator: Separator,
    column: usize,
}

impl VertexList {
    /// Detects separator and column, and removes a header from the first block.
    pub fn sniff(
        name: &Path,
        options: &ImportOptions,
        first: Option<&mut TextBlock>,
    ) -> (Self, Remarks) {
        let (separator, column, remarks) = match first {
            Some(block) => header::vertex_list(name, options, block),
            None => (Separator::Blank, 0, Remarks::default()),
        };
        (Self { name: name.into(), separator, column }, remarks)
    }

    /// Parses all vertices of a block.
    pub fn parse(&self, block: &TextBlock, batch: &mut Batch) -> Result<()> {
        let mut scratch = Vec::new();
        for (position, line) in lines(&block.text) {
            if is_blank_or_comment(line) {
                batch.comments += u64::from(is_comment(line));
                continue;
            }
            let error = |what: String| Error::Input {
                file: self.name.clone(),
                line: block.line_at(position),
                what,
            };
            let Some(field) = fields(line, self.separator).nth(self.column) else {
                return Err(error(format!(
                    "no vertex id in column {}; check the separator",
                    self.column + 1
                )));
            };
            let id = field.map_err(error)?;
            let id = id.text(&mut scratch);
            if id.is_empty() {
                return Err(error("the vertex id is empty".into()));
            }
            batch.push_vertex(id)?;
        }
        Ok(())
    }
}
