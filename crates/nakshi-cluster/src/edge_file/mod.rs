//! Loading from a file of edges (2.3.1), of which every server reads a share, or from parts of a graph, of which
//! every server has one. Edges go to the owners of the vertices whose lists they are in.
//!
//! The share is read twice. At first servers find out which ids there are, and number them in their order, as
//! an import with the original layout does; then they send edges by these numbers. Owners sort their lists and
//! drop edges that come twice, so that what they keep is what a store would have given.

mod file;
mod ids;
mod lists;
mod loader;
mod numbering;
mod source;

use nakshi_engine::Context;
use nakshi_engine::program::pull::Links;

use crate::exchange::Session;
use crate::shard::{MemoryBudget, WantedLinks};
use crate::{Partition, Result, Shard};
pub use file::EdgeFile;
pub use ids::Ids;
use lists::Owned;
use loader::Loader;
pub(crate) use numbering::Numbering;
pub(crate) use source::EdgeSource;

impl EdgeSource<'_> {
    /// Loads this server's vertices: of the servers of a session together, or alone as `place`.
    ///
    /// # Errors
    /// Errors of reading and of sending; [`nakshi_engine::Error::Budget`].
    pub(crate) fn load(
        &self,
        wanted: WantedLinks,
        numbers: &Numbering,
        budget: &MemoryBudget,
        (server, servers): (usize, usize),
        mut session: Option<&mut Session>,
        cx: &Context,
    ) -> Result<Shard> {
        let partition = Partition::new(servers)?;
        let alone = session.is_none().then_some(server);
        let places = (self.places(numbers)?, numbers.len());
        let loader = Loader::new(self, wanted, places, &partition, alone);
        let gathered = loader.gather(server, budget, session.as_deref_mut(), cx)?;
        let own = Owned::new(&loader.owners, server);
        let each = self.is_multigraph();
        let incoming = own.lists(gathered.incoming, (loader.weighted(), each), cx)?;
        let outgoing = own.lists(gathered.outgoing, (false, each), cx)?;
        let degrees = match session.as_deref_mut() {
            _ if wanted.links == Links::Both || !self.directed() => {
                let (out, incoming) = (outgoing.lengths(), incoming.lengths());
                out.zip(incoming).map(|(a, b)| a.saturating_add(b)).collect()
            }
            Some(session) => loader.out_degrees(&incoming, &own, session)?,
            None => outgoing.lengths().collect(),
        };
        let lists = match wanted.links {
            Links::Both => vec![outgoing, incoming],
            Links::In => vec![incoming],
        };
        let mut shard = loader.build((&own, &degrees), &lists, &partition, (server, budget))?;
        if let Some(session) = session {
            shard.exchange(None, session)?;
            budget.check(&shard)?;
        }
        Ok(shard)
    }
}
