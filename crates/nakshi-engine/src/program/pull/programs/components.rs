//! Weakly connected components.

use crate::error::Result;
use crate::program::pull::{Links, Origin, PullProgram, PullVertex, Totals};

/// The least rank of an id spreads through a component: it is the component's name. A rank is
/// the place of an id in the ascending order of the users' ids.
#[derive(Clone, Copy, Debug)]
pub struct PullComponents;

impl PullProgram for PullComponents {
    types!(Value = u32, Output = u32);
    const LINKS: Links = Links::Both;

    fn init(&self, origin: &Origin, totals: &mut Totals) -> u32 {
        totals.add(origin.rank.into());
        origin.rank
    }

    #[inline]
    fn step<V: PullVertex<u32>>(&self, me: &mut V) -> Result<()> {
        let old = *me.value();
        if f64::from(old) <= me.totals().min {
            // No label that is new anywhere is less: most vertices of the largest component, soon.
            return Ok(());
        }
        let mut least = old;
        if 2 * me.totals().count > me.origin().vertices {
            // Most labels are new. Others change nothing, and to ask takes longer than to look.
            me.links(|_, label, _| least = least.min(*label))?;
        } else {
            me.updated_links(|_, label, _| least = least.min(*label))?;
        }
        if least < old {
            me.put(least);
            me.add(least.into());
        }
        Ok(())
    }

    fn output(&self, _: &Origin, value: &u32) -> u32 {
        *value
    }
}
