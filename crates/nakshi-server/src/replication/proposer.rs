//! The log of all servers, as the store that leads appends to it.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use nakshi_property::CommitLog;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::{Leading, Proposal, Raft, Reply};

/// Bytes of commits in an entry, unless a single commit has more.
const ENTRY: usize = 4 << 20;

/// The log of all servers, as the store that leads appends to it.
pub(super) struct Proposer {
    raft: Raft,
    leading: Leading,
    /// When this server leads now.
    leads: watch::Receiver<Option<Leading>>,
    handle: Handle,
    store: PathBuf,
}

impl std::fmt::Debug for Proposer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proposer").field("leading", &self.leading).finish_non_exhaustive()
    }
}

impl CommitLog for Proposer {
    fn append(&self, commits: &[(u64, Vec<u8>)]) -> nakshi_store::Result<()> {
        let mut rest = commits;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|(_, changes)| {
                bytes += changes.len();
                bytes <= ENTRY
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            self.handle.block_on(self.propose(now))?;
            rest = later;
        }
        Ok(())
    }
}

impl Proposer {
    /// The log for a time in which this server leads, which `leads` tells of. Made in the runtime of openraft.
    pub(super) fn new(
        raft: &Raft,
        leading: Leading,
        leads: watch::Receiver<Option<Leading>>,
        store: &Path,
    ) -> Self {
        let (handle, store) = (Handle::current(), store.to_path_buf());
        Proposer { raft: raft.clone(), leading, leads, handle, store }
    }

    /// As [`CommitLog::append`], in one entry.
    pub(super) async fn propose(&self, commits: &[(u64, Vec<u8>)]) -> nakshi_store::Result<()> {
        let proposal = Proposal {
            leader: self.leading.0,
            session: self.leading.1,
            first: commits.first().map_or(0, |(first, _)| *first),
            commits: commits.iter().map(|(_, changes)| Bytes::copy_from_slice(changes)).collect(),
        };
        let mut leads = self.leads.clone();
        let agreed = tokio::select! {
            written = self.raft.client_write(proposal) => {
                written.is_ok_and(|reply| reply.data == Reply::Made)
            }
            _ = leads.wait_for(|leads| *leads != Some(self.leading)) => false,
        };
        if agreed { Ok(()) } else { Err(nakshi_store::Error::Deposed(self.store.clone())) }
    }
}
