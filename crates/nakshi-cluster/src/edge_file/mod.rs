//! Loading from a file of edges (2.3.1): every server reads a share of it and sends edges to the owners
//! of the vertices whose lists they are in.
//!
//! The file is read twice. At first servers find out which ids there are, and number them in their
//! order, as an import with the original layout does; then they send edges by these numbers. Owners sort
//! their lists and drop edges that come twice, so that what they keep is what a store would have given.

mod file;
mod lists;
mod loader;
mod numbering;

use nakshi_engine::Context;
use nakshi_engine::program::pull::Links;

use crate::exchange::Session;
use crate::load::WantedLinks;
use crate::shard::MemoryBudget;
use crate::{Error, Partition, Result, Shard};
pub use file::EdgeFile;
use file::{Pieces, share_of};
use lists::Owned;
use loader::Loader;
use numbering::Distinct;
pub(crate) use numbering::Numbering;

impl EdgeFile {
    /// Numbers all ids of the file, which has so many bytes for others: `server` together with the other
    /// servers, or alone.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Failed`] if the file is another one here.
    pub(crate) fn numbered(
        &self,
        bytes: u64,
        (server, session): (usize, Option<&mut Session>),
        cx: &Context,
    ) -> Result<Numbering> {
        let share = share_of(session.as_deref());
        let reader = self.reader(false, share, cx);
        let mut pieces = Pieces::new(reader, 0, bytes / share.of as u64);
        let new = || Distinct::new(bytes);
        let found = pieces.parse(usize::MAX, cx, new, |edges, ids| {
            edges.vertices().for_each(|id| ids.add(id));
            Ok(())
        })?;
        let here = self.bytes();
        if here != bytes {
            let path = self.path.display();
            let why = format!("{path} has {here} bytes here and {bytes} at the front-end");
            return Err(Error::Failed { server, why });
        }
        let mut ids = Distinct::new(bytes);
        found.into_iter().for_each(|found| ids.join(found));
        match session {
            Some(session) => Numbering::of_all(&ids.sorted(), session),
            None => Numbering::new(ids.sorted(), server),
        }
    }

    /// Loads this server's part: of the servers of a session together, or alone as `place`.
    ///
    /// # Errors
    /// Errors of reading and of sending; [`nakshi_engine::Error::Budget`].
    pub(crate) fn load(
        &self,
        wanted: WantedLinks,
        numbers: &Numbering,
        budget: &MemoryBudget,
        place: (usize, usize),
        mut session: Option<&mut Session>,
        cx: &Context,
    ) -> Result<Shard> {
        let (server, servers) = place;
        let partition = Partition::new(servers)?;
        let alone = session.is_none().then_some(server);
        let loader = Loader::new(self, wanted, numbers, &partition, alone);
        let gathered = loader.gather(server, budget, session.as_deref_mut(), cx)?;
        let own = Owned::new(&loader.owners, server);
        let incoming = own.lists(gathered.incoming, loader.weighted, cx)?;
        let outgoing = own.lists(gathered.outgoing, false, cx)?;
        let degrees = match session.as_deref_mut() {
            _ if wanted.links == Links::Both || !self.directed => {
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
