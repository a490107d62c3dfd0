//! The two halves of a reader: the serial feed, which cuts, and the parallel tasks, which parse.

use super::batch::Batch;
use crate::Result;

/// A task that parses one piece of input.
pub(crate) type ParseTask<'a> = Box<dyn FnOnce(&mut Batch) -> Result<()> + Send + 'a>;

/// Cuts an input into pieces that can be parsed in parallel.
pub(crate) trait Feed<'a>: Send {
    /// Returns the next piece, or `None` at the end.
    fn next(&mut self) -> Result<Option<ParseTask<'a>>>;
}

impl<'a, F> Feed<'a> for F
where
    F: FnMut() -> Result<Option<ParseTask<'a>>> + Send,
{
    fn next(&mut self) -> Result<Option<ParseTask<'a>>> {
        self()
    }
}
