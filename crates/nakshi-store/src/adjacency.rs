//! The edge lists of one direction.

use std::ops::Range;

use nakshi_io::{CancelToken, PagedFile};
use std::sync::Arc;

use crate::list_index::{Extents, ListIndex};
use crate::manifest::AdjacencyEntry;
use crate::{Encoding, Error, List, Result, VertexId, varint};

/// The edge lists of one direction: index in memory, lists on disk.
#[derive(Debug)]
pub struct Adjacency {
    pub(crate) index: Arc<ListIndex>,
    pub(crate) file: Arc<PagedFile>,
    pub(crate) degrees: Arc<PagedFile>,
    pub(crate) encoding: Encoding,
    pub(crate) vertices: u64,
    /// What the manifest says about the lists.
    pub(crate) entry: AdjacencyEntry,
}

impl Adjacency {
    /// Returns the extent of the list of `v` in the file of lists.
    #[inline]
    pub fn extent(&self, v: VertexId) -> Range<u64> {
        self.index.extent(u64::from(v))
    }

    /// Returns the extents of consecutive vertices, faster than one by one.
    pub fn extents(&self, vertices: Range<u64>) -> Extents<'_> {
        self.index.extents(vertices)
    }

    /// Returns the index, which readers may share.
    pub fn index(&self) -> &Arc<ListIndex> {
        &self.index
    }

    /// Returns the file of lists.
    pub fn file(&self) -> &Arc<PagedFile> {
        &self.file
    }

    /// Reads the degree of every vertex from disk: 4 bytes a vertex.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a degree of 2^32 or more; read errors.
    pub fn degrees(&self, cancel: &CancelToken) -> Result<Vec<u32>> {
        degrees(&self.degrees, self.entry.stored, self.vertices, cancel)
    }

    /// Adds the file and the page of the list of `v` to a decoding error.
    pub fn blame(&self, v: VertexId, error: Error) -> Error {
        match error {
            Error::BadList(what) => Error::Corrupt {
                file: self.file.path().to_path_buf(),
                page: self.extent(v).start / u64::from(self.file.page_size()),
                what: format!("the list of vertex {v} does not decode: {what}"),
            },
            other => other,
        }
    }

    /// Returns the encoding of the lists.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the number of list entries.
    pub fn arcs(&self) -> u64 {
        self.entry.arcs
    }

    /// Returns the largest degree.
    pub fn max_degree(&self) -> u64 {
        self.entry.max_degree
    }

    /// Returns the length of the longest encoded list in bytes.
    pub fn max_list_bytes(&self) -> u64 {
        self.entry.max_list_bytes
    }

    /// Returns the list at `range` of `buf`, whose ids are below the number of vertices.
    ///
    /// # Errors
    /// Same as [`List::new`].
    #[inline]
    pub fn list<'a>(&self, buf: &'a [u8], range: Range<usize>) -> Result<List<'a>> {
        Ok(List::new(self.encoding, buf, range)?.bounded(self.vertices))
    }
}

/// Decodes the `stored` LEB128 degrees of `file`; the rest of the `vertices` have degree 0.
pub(crate) fn degrees(
    file: &Arc<PagedFile>,
    stored: u64,
    vertices: u64,
    cancel: &CancelToken,
) -> Result<Vec<u32>> {
    let bytes = file.load(cancel)?;
    let n = crate::permutation::check_count(vertices)?;
    let corrupt = |at: usize| Error::Corrupt {
        file: file.path().to_path_buf(),
        page: at as u64 / u64::from(file.page_size()),
        what: "a degree does not decode".into(),
    };
    let mut degrees = Vec::new();
    degrees.try_reserve_exact(n).map_err(|_| Error::Budget { needed: vertices * 4, given: 0 })?;
    let (mut at, mut wide) = (0, 0);
    let read = varint::get_run(&bytes, &mut at, stored.min(vertices), |degree| {
        wide = degree;
        if (degrees.len() as u64).is_multiple_of(varint::CANCEL_CHECK_INTERVAL)
            && cancel.is_cancelled()
        {
            return None;
        }
        degrees.push(u32::try_from(degree).ok()?);
        Some(())
    });
    cancel.check()?;
    if read.is_none() {
        let too_wide = wide > u64::from(u32::MAX);
        return Err(if too_wide {
            Error::Unsupported(format!("a degree of {wide} in 32 bits"))
        } else {
            corrupt(at)
        });
    }
    degrees.resize(n, 0);
    Ok(degrees)
}
