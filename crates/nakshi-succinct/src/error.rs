//! The one error type of this crate.

/// An error of compressing, opening or querying a text.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are not those that were written.
    #[error("the compressed text is corrupt: {what}; restore it from a copy or build it again")]
    Corrupt {
        /// Description of the damage.
        what: &'static str,
    },
    /// The request is beyond this version.
    #[error("unsupported: {what}")]
    Unsupported {
        /// Description, and a remedy.
        what: String,
    },
    /// The system refused to provide memory.
    #[error("{needed} bytes of memory are not to be had; build in smaller chunks")]
    OutOfMemory {
        /// Number of bytes requested.
        needed: u64,
    },
}

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) const fn corrupt(what: &'static str) -> Self {
        Self::Corrupt { what }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }
}

/// Reserves capacity for exactly `more` further items.
pub(crate) fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<()> {
    vec.try_reserve_exact(more).map_err(|_| refused::<T>(more))
}

/// Reserves capacity for `more` further items, with room to grow.
pub(crate) fn grow<T>(vec: &mut Vec<T>, more: usize) -> Result<()> {
    vec.try_reserve(more).map_err(|_| refused::<T>(more))
}

fn refused<T>(items: usize) -> Error {
    Error::OutOfMemory { needed: (items as u64).saturating_mul(size_of::<T>() as u64) }
}

/// A vector of `count` zeros.
pub(crate) fn zeroed<T: Clone + Default>(count: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    reserve(&mut vec, count)?;
    vec.resize(count, T::default());
    Ok(vec)
}
