//! Room for queries whose expressions are long chains: whoever reads or evaluates one calls itself once a link.

/// Bytes of stack for a chain of the longest length.
const LARGE: usize = 64 << 20;

/// Runs `work`, on a stack of its own if a query is `deep`.
pub(crate) fn with_room<T>(deep: bool, work: impl FnOnce() -> T) -> T {
    if deep { stacker::grow(LARGE, work) } else { work() }
}
