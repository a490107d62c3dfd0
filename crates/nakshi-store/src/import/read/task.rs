//! The two halves of a reader: the serial one that cuts, and the parallel one that parses.

use super::batch::Batch;
use crate::Result;

/// Parses one piece of input.
pub(crate) type ParseTask<'a> = Box<dyn FnOnce(&mut Batch) -> Result<()> + Send + 'a>;

/// Cuts an input into pieces that can be parsed side by side.
pub(crate) trait Feed<'a>: Send {
    /// The next piece, or nothing at the end.
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
