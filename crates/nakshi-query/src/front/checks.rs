//! Rules of meaning that `decypher` does not check.

use crate::error::Result;

/// Refuses what must not come to the resolver.
pub(super) fn before(_text: &str, _query: &decypher::Query) -> Result<()> {
    Ok(())
}
