//! The one error type of this crate.

/// What can go wrong while a text is compressed, opened or queried.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Bytes are not what was written.
    #[error("the compressed text is corrupt: {what}; restore it from a copy or build it again")]
    Corrupt {
        /// What does not fit.
        what: &'static str,
    },
    /// Something that this version cannot represent.
    #[error("unsupported: {what}")]
    Unsupported {
        /// What it is, and what would work.
        what: String,
    },
    /// The system refused memory.
    #[error("{needed} bytes of memory are not to be had; build in smaller chunks")]
    OutOfMemory {
        /// Bytes that were asked for.
        needed: u64,
    },
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) const fn corrupt(what: &'static str) -> Self {
        Self::Corrupt { what }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }
}

/// Makes room for `more` items and no others.
pub(crate) fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<()> {
    vec.try_reserve_exact(more).map_err(|_| refused::<T>(more))
}

/// Makes room for `more` items, and for others to come.
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
