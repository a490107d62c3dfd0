//! The code of a block of next pointers.

/// The code of a block: the pointers behind its first one, as distances from it.
#[derive(Clone, Copy)]
pub(super) struct PointerBlock<B> {
    pub(super) body: B,
    pub(super) at: u64,
    /// Number of pointers behind the first one.
    pub(super) count: u64,
}
