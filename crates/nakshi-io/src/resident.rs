//! A whole file in memory.

use crate::buffer::AlignedBuf;
use crate::paged_file::PagedFile;
use crate::stats::IoStats;
use crate::{CancelToken, Error, Result};
use std::ops::Deref;
use std::sync::Arc;

/// Readable bytes after the contents of a [`Resident`] and of a block, for decoders that load whole
/// vectors. The values of these bytes are undefined.
pub const SLACK: usize = 64;

/// Bytes per read while loading.
const BLOCK: u64 = 1 << 20;
/// Reads in flight while loading.
const DEPTH: usize = 8;

/// The verified contents of a file in memory. Dereferences to its bytes.
#[derive(Debug)]
pub struct Resident {
    memory: AlignedBuf,
    len: usize,
}

impl Resident {
    /// Returns the contents followed by at least [`SLACK`] readable bytes.
    pub fn with_slack(&self) -> &[u8] {
        &self.memory
    }

    /// Copies bytes (for graphs that are built in memory).
    ///
    /// # Errors
    /// [`Error::Budget`] if the system cannot provide the memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut memory = AlignedBuf::zeroed(bytes.len().saturating_add(SLACK))?;
        if let Some(to) = memory.get_mut(..bytes.len()) {
            to.copy_from_slice(bytes);
        }
        Ok(Self { memory, len: bytes.len() })
    }

    pub(crate) fn load(file: &Arc<PagedFile>, cancel: &CancelToken) -> Result<Self> {
        let page = u64::from(file.page_size());
        let refuse = || Error::Budget { needed: file.len(), given: 0 };
        let padded = usize::try_from(file.pages().saturating_mul(page)).map_err(|_| refuse())?;
        let mut memory = AlignedBuf::zeroed_huge(padded.checked_add(SLACK).ok_or_else(refuse)?)?;
        let slack = memory.split_off(padded);
        let mut fetcher = file.fetcher(DEPTH, Arc::new(IoStats::new()))?;
        fetcher.set_cancel(Some(cancel.clone()));
        let per_block = usize::try_from(BLOCK.max(page)).unwrap_or(1 << 20);
        let mut blocks: Vec<Option<AlignedBuf>> = Vec::new();
        let mut rest = memory;
        let mut next_page = 0;
        loop {
            while fetcher.pending() < DEPTH && !rest.is_empty() {
                let tail = rest.split_off(per_block);
                let block = std::mem::replace(&mut rest, tail);
                let pages = block.len() as u64 / page;
                fetcher.fetch(next_page, vec![block], blocks.len() as u64);
                blocks.push(None);
                next_page += pages;
            }
            fetcher.flush()?;
            let Some(fetched) = fetcher.next(true)? else { break };
            fetched.result?;
            let place = usize::try_from(fetched.token).ok().and_then(|at| blocks.get_mut(at));
            if let (Some(place), Some(buf)) = (place, fetched.bufs.into_iter().next()) {
                *place = Some(buf);
            }
        }
        let mut whole = AlignedBuf::zeroed(0)?;
        for block in
            blocks.into_iter().flatten().chain([rest, slack]).filter(|block| !block.is_empty())
        {
            if whole.is_empty() {
                whole = block;
            } else {
                whole
                    .join(block)
                    .map_err(|_| Error::unsupported("memory of a load that is not in one piece"))?;
            }
        }
        Ok(Self { memory: whole, len: usize::try_from(file.len()).map_err(|_| refuse())? })
    }
}

impl Deref for Resident {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.get(..self.len).unwrap_or_default()
    }
}

impl PagedFile {
    /// Reads and verifies the whole file into memory.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` was cancelled; [`Error::Budget`] if the system
    /// cannot provide the memory; read errors.
    pub fn load(self: &Arc<Self>, cancel: &CancelToken) -> Result<Resident> {
        Resident::load(self, cancel)
    }
}
