//! Weakly connected components.

use crate::error::Result;
use crate::program::pull::{Links, Origin, PullProgram, PullVertex, Totals};

/// The least rank of an id spreads through a component: it is the component's name.
#[derive(Clone, Copy, Debug)]
pub struct Components;

impl PullProgram for Components {
    type Value = u32;
    /// Place of an id in the ascending order of the users' ids.
    type Output = u32;
    const LINKS: Links = Links::Both;

    fn init(&self, origin: &Origin, _: &mut Totals) -> u32 {
        origin.rank
    }

    #[inline]
    fn step<V: PullVertex<u32>>(&self, me: &mut V) -> Result<()> {
        let old = *me.value();
        let mut least = old;
        me.updated_links(|_, label, _| least = least.min(*label))?;
        if least < old {
            me.put(least);
        }
        Ok(())
    }

    fn output(&self, _: &Origin, value: &u32) -> u32 {
        *value
    }
}
