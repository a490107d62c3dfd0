//! All inputs of an import, opened one after the other.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use nakshi_io::CancelToken;

use super::input::Input;
use super::options::{Format, ImportOptions};
use super::read::{self, Counters, Feed, ParseTask, Share, has_lines};
use crate::Result;

/// A file of edges or of vertices.
enum InputFile<'a> {
    Edges(Input<'a>),
    Vertices(PathBuf),
}

/// All inputs of an import, opened one after the other.
pub(crate) struct Inputs<'a> {
    waiting: VecDeque<InputFile<'a>>,
    current: Option<Box<dyn Feed<'a> + 'a>>,
    options: ImportOptions,
    cancel: CancelToken,
    pub counters: Arc<Counters>,
    tasks: u64,
    share: Option<Share>,
    /// True if the current file is cut into shares by its bytes, not by its pieces.
    section: bool,
}

impl<'a> Inputs<'a> {
    pub fn new(inputs: Vec<Input<'a>>, options: &ImportOptions, cancel: CancelToken) -> Self {
        let mut waiting: VecDeque<_> = inputs.into_iter().map(InputFile::Edges).collect();
        waiting.extend(options.nodes.clone().map(InputFile::Vertices));
        Self {
            waiting,
            current: None,
            options: options.clone(),
            cancel,
            counters: Arc::default(),
            tasks: 0,
            share: None,
            section: false,
        }
    }

    /// Restricts the inputs to a share of them.
    pub fn of_share(self, share: Share) -> Self {
        Self { share: Some(share), ..self }
    }

    /// Names of the inputs of edges, for a message.
    pub fn names(&self) -> String {
        let names: Vec<String> = self
            .waiting
            .iter()
            .filter_map(|source| match source {
                InputFile::Edges(Input::Path(path)) if path.as_os_str() == "-" => {
                    Some("standard input".to_owned())
                }
                InputFile::Edges(Input::Path(path)) => Some(path.display().to_string()),
                InputFile::Edges(_) => Some("what was given".to_owned()),
                InputFile::Vertices(_) => None,
            })
            .collect();
        names.join(", ")
    }

    /// Returns the bytes of the files among the inputs, as far as they are known.
    pub fn known_bytes(&self) -> u64 {
        let paths = self.waiting.iter().filter_map(|source| match source {
            InputFile::Edges(Input::Path(path)) | InputFile::Vertices(path) => Some(path),
            InputFile::Edges(_) => None,
        });
        paths.filter_map(|path| std::fs::metadata(path).ok()).map(|meta| meta.len()).sum()
    }

    /// Returns the next piece of input with its number. After an error there is none: another thread, which
    /// asks before it knows of the error, would get one of what is behind it.
    pub fn next(&mut self) -> Result<Option<(u64, ParseTask<'a>)>> {
        self.piece().inspect_err(|_| {
            self.current = None;
            self.waiting.clear();
        })
    }

    fn piece(&mut self) -> Result<Option<(u64, ParseTask<'a>)>> {
        loop {
            if let Some(feed) = &mut self.current {
                if let Some(task) = feed.next()? {
                    self.tasks += 1;
                    let others =
                        |share: &Share| self.tasks % share.of as u64 != share.number as u64;
                    if self.share.as_ref().filter(|_| !self.section).is_some_and(others) {
                        continue;
                    }
                    return Ok(Some((self.tasks, task)));
                }
                self.current = None;
            }
            let Some(source) = self.waiting.pop_front() else { return Ok(None) };
            self.current = Some(self.open(source)?);
        }
    }

    fn open(&mut self, source: InputFile<'a>) -> Result<Box<dyn Feed<'a> + 'a>> {
        let options = &self.options;
        self.section = false;
        match source {
            InputFile::Vertices(path) => {
                let opened = read::open(&path, options.memory, &self.counters, &self.cancel)?;
                read::vertex_list(&path, opened, options)
            }
            InputFile::Edges(Input::Path(path)) => {
                let opened = read::open(&path, options.memory, &self.counters, &self.cancel)?;
                let format = match options.format {
                    Format::Auto => read::detect(&path, &opened.head),
                    format => format,
                };
                if format == Format::Graphalytics {
                    self.waiting
                        .extend(read::graphalytics_vertices(&path).map(InputFile::Vertices));
                }
                if let Some(share) = self.share.filter(|_| has_lines(format))
                    && let Some(file) = opened.file.as_ref().map(File::try_clone)
                {
                    self.section = true;
                    let file = file.map_err(|source| crate::Error::io("open", &path, source))?;
                    return read::section(&path, (opened, file), format, options, share);
                }
                read::file(&path, opened, format, options)
            }
            InputFile::Edges(other) => read::memory(other, options),
        }
    }
}
