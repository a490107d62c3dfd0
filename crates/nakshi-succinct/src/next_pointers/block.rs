//! The code of a block of next pointers.

/// The code of a block: the pointers behind its first one, as distances from it.
#[derive(Clone, Copy)]
pub(super) struct PointerBlock<'a> {
    pub(super) body: &'a [u8],
    pub(super) at: u64,
    /// Number of pointers behind the first one.
    pub(super) count: u64,
}
