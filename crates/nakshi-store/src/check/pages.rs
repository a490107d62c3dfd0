//! Checks of pages and files: every page against its checksum, every file against its content hash.

use std::sync::Arc;

use nakshi_io::{IoStats, PagedFile, ReaderOptions};

use super::Checker;
use crate::manifest::CONTENT_CRC;
use crate::{Error, FileEntry, Result};

/// Bytes read at a time.
const PIECE: u64 = 1 << 20;

impl Checker<'_> {
    pub(super) fn pages(&mut self) -> Result<()> {
        let manifest = self.store.manifest();
        let striped: Vec<&str> = manifest
            .adjacency
            .iter()
            .map(|a| a.lists.name.as_str())
            .chain(manifest.columns.iter().map(|c| c.file.name.as_str()))
            .collect();
        for entry in manifest.files() {
            let opened = if striped.contains(&entry.name.as_str()) {
                self.store.striped_file(entry)
            } else {
                self.store.file(entry)
            };
            match opened {
                Ok(file) => self.pages_of(&file, entry)?,
                Err(error) => self.note(error)?,
            }
        }
        Ok(())
    }

    fn pages_of(&mut self, file: &Arc<PagedFile>, entry: &FileEntry) -> Result<()> {
        let page = u64::from(file.page_size());
        let mut hash = crc_fast::Digest::new(CONTENT_CRC);
        let (mut at, mut whole) = (0, true);
        while at < file.len() {
            // a reader ends at a damaged page: read on after it with a new one
            let (reached, error) = self.run(file, at, &mut hash);
            at = reached;
            match error {
                None => {}
                Some(Error::Corrupt { file: path, page: bad, what }) => {
                    self.note(Error::Corrupt { file: path, page: bad, what })?;
                    at = ((bad + 1) * page).max(at);
                    whole = false;
                }
                Some(error) => return self.note(error),
            }
            self.options.cancel.check()?;
        }
        self.report.pages += file.pages();
        self.report.bytes += file.len();
        if whole && format!("{:016x}", hash.finalize()) != entry.hash {
            self.problem(format!(
                "{}: its content hash is not the manifest's",
                file.path().display()
            ));
        }
        Ok(())
    }

    /// Reads from `from` to the end or to the first error; returns the offset at which it stopped.
    fn run(
        &mut self,
        file: &Arc<PagedFile>,
        from: u64,
        hash: &mut crc_fast::Digest,
    ) -> (u64, Option<Error>) {
        let options = ReaderOptions {
            depth: 1,
            cancel: Some(self.options.cancel.clone()),
            ..ReaderOptions::default()
        };
        let mut at = from;
        let mut pass = || -> Result<()> {
            let mut reader = file.reader_with(&options, Arc::new(IoStats::new()))?;
            while at < file.len() {
                let end = (at + PIECE).min(file.len());
                reader.submit(at..end, 0)?;
                let Some(block) = reader.next()? else { break };
                hash.update(block.bytes());
                self.advance(end - at)?;
                at = end;
            }
            Ok(())
        };
        let error = pass().err();
        (at, error)
    }
}
