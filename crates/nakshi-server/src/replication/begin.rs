//! How a server begins: at the first start of all, again, or after it has lost its log.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Release;

use nakshi_store::Error as StoreError;
use openraft::Vote;
use openraft::raft::{AppendEntriesRequest, InstallSnapshotRequest};
use tokio::time::Instant;

use super::line::{Hello, Other, Others};
use super::member::{Task, storage};
use super::{LOOK, WORD};
use crate::error::{Error, Result};

/// Index of the last entry of a log in which no commit can be: the servers of the group, and the entry of the
/// first leader.
const EMPTY: u64 = 1;

/// Answers of the other servers, by their numbers.
type Hellos = BTreeMap<u64, Hello>;

/// The server that leads, with the vote of a majority for it, if all servers know it.
fn leader_of(hellos: &Hellos) -> Option<(Vote<u64>, &Hello)> {
    let votes = hellos.values().map(|hello| hello.vote);
    let last = votes.reduce(|a, b| if b > a { b } else { a }).filter(Vote::is_committed)?;
    hellos.get(&last.leader_id().node_id).map(|hello| (last, hello))
}

impl Task {
    /// Makes the servers a group, at their first start, or takes part in it.
    ///
    /// A server that has no log may have lost it, and with it votes and entries that it has confirmed. So it
    /// listens to the others only when none of them has commits, and all know that this is the beginning; or
    /// when it knows what it may have lost.
    pub(super) async fn begin(&self, others: &Others) -> Result<()> {
        if self.seat.number > self.seat.voters {
            return self.begin_to_learn(others).await;
        }
        if self.seat.log.snapshot().is_none() {
            let commit = self.seat.store.last_commit();
            let hellos = self.hear(others, |_| true).await?;
            if hellos.values().any(|hello| hello.last > Some(EMPTY)) {
                return self.begin_again(others).await;
            }
            for (number, hello) in &hellos {
                others
                    .get(number)
                    .map_or(Ok(()), |peer| self.refuse_unless_same(peer, commit, hello))?;
            }
            self.aside(move |replica| replica.begin_at(commit)).await?;
        }
        if self.raft.is_initialized().await.map_err(storage)? {
            self.listens.store(true, Release);
            return Ok(());
        }
        self.hear(others, |hello| hello.begun).await?;
        self.listens.store(true, Release);
        let voters =
            self.seat.nodes.range(..=self.seat.voters).map(|(id, node)| (*id, node.clone()));
        match self.raft.initialize(voters.collect::<BTreeMap<_, _>>()).await {
            // Another server was faster.
            Ok(()) | Err(openraft::error::RaftError::APIError(_)) => Ok(()),
            Err(error) => Err(storage(error)),
        }
    }

    /// Refuses to begin with another store than another server.
    fn refuse_unless_same(&self, peer: &Other, commit: u64, hello: &Hello) -> Result<()> {
        if hello.commit == commit {
            return Ok(());
        }
        Err(Error::parameter(format!(
            "{} has commits up to {}, and this server up to {commit}; begin with copies (nakshi backup) of one \
             store",
            peer.address, hello.commit
        )))
    }

    /// Takes part again, without the log that this server has lost.
    ///
    /// It must not vote for a server that lacks what it has confirmed, nor twice in a term. Whatever it has
    /// confirmed or voted for, some other server knows, and it asks them all: it goes on with the vote of
    /// their leader, and it does not vote before it has all entries that the leader had.
    async fn begin_again(&self, others: &Others) -> Result<()> {
        tracing::info!("this server has no log, and the others have one: it asks all of them");
        let hellos = self.hear_of_leader(others).await?;
        if hellos.values().any(|hello| !hello.begun) {
            return Err(Error::parameter(
                "several servers have no log, so it is not known what they have confirmed; begin anew with \
                 the store of one server (docs/operations.md)",
            ));
        }
        let commit = self.seat.store.last_commit();
        if hellos.values().all(|hello| hello.commit < commit) {
            let path = self.seat.store.path().display();
            return Err(Error::parameter(format!(
                "{path} has commits that no other server has; put a copy (nakshi backup) of another server's \
                 store in its place"
            )));
        }
        let Some((vote, leader)) = leader_of(&hellos) else {
            return Err(storage("the leader was lost"));
        };
        self.raft.runtime_config().elect(false);
        let (log, last) = (self.seat.log.clone(), leader.last.unwrap_or_default());
        self.aside(move |_| log.lose_before(last)).await?;
        self.go_on_with(vote, leader).await
    }

    /// Takes part without a vote: with the log that this server has, or with what a leader has.
    async fn begin_to_learn(&self, others: &Others) -> Result<()> {
        if self.seat.log.snapshot().is_some() {
            self.listens.store(true, Release);
            return Ok(());
        }
        loop {
            let hellos = self.hear(others, |hello| hello.begun).await?;
            if let Some((vote, leader)) = leader_of(&hellos) {
                return self.go_on_with(vote, leader).await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Takes what a leader would send to a server without a log: its vote, and its snapshot.
    async fn go_on_with(&self, vote: Vote<u64>, leader: &Hello) -> Result<()> {
        let (prev_log_id, leader_commit, entries) = (None, None, Vec::new());
        let heartbeat = AppendEntriesRequest { vote, prev_log_id, entries, leader_commit };
        self.raft.append_entries(heartbeat).await.map_err(storage)?;
        match leader.snapshot.clone() {
            Some((meta, commit)) if meta.last_log_id.is_some() => {
                let data = commit.to_le_bytes().to_vec();
                let snapshot = InstallSnapshotRequest { vote, meta, offset: 0, data, done: true };
                self.raft.install_snapshot(snapshot).await.map_err(storage)?;
            }
            first => {
                let begun = first.map_or(0, |(_, commit)| commit);
                self.aside(move |replica| replica.begin_at(begun)).await?;
            }
        }
        self.listens.store(true, Release);
        Ok(())
    }

    /// Votes again once this server has the entries that it may have lost.
    pub(super) async fn take_part_again(&self, last: Option<u64>) -> Result<()> {
        if self.seat.log.lost_before().is_some_and(|lost| last >= Some(lost)) {
            let log = self.seat.log.clone();
            self.aside(move |_| log.regain()).await?;
            self.raft.runtime_config().elect(true);
            tracing::info!("has what it has lost, and votes again");
        }
        Ok(())
    }

    /// Asks the other servers until all have answered, have what they have confirmed, and know the same leader;
    /// or until one has no log either.
    async fn hear_of_leader(&self, others: &Others) -> Result<Hellos> {
        loop {
            let hellos = self.hear(others, |_| true).await?;
            let whole = hellos.values().all(|hello| !hello.lost);
            if whole && leader_of(&hellos).is_some() || hellos.values().any(|hello| !hello.begun) {
                return Ok(hellos);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks the other servers that vote until each has said what `f` wants.
    async fn hear(&self, others: &Others, f: impl Fn(&Hello) -> bool) -> Result<Hellos> {
        let (mut heard, mut told) = (Hellos::new(), Instant::now());
        loop {
            for (number, peer) in others.range(..=self.seat.voters) {
                if heard.contains_key(number) {
                    continue;
                }
                match peer.hello(WORD).await {
                    Ok(hello) if f(&hello) => {
                        heard.insert(*number, hello);
                    }
                    Err(status) if status.code() == tonic::Code::FailedPrecondition => {
                        let (address, what) = (&peer.address, status.message());
                        return Err(Error::parameter(format!("{address}: {what}")));
                    }
                    _ => {}
                }
            }
            let asked = others.range(..=self.seat.voters);
            let missing = asked.filter(|(number, _)| !heard.contains_key(number));
            let missing: Vec<_> = missing.map(|(_, peer)| peer.address.as_str()).collect();
            if missing.is_empty() {
                return Ok(heard);
            }
            self.seat.cancel.check().map_err(StoreError::from)?;
            if told.elapsed() > WORD * 5 {
                let names = missing.join(", ");
                tracing::info!("a start without a log needs all servers; waits for {names}");
                told = Instant::now();
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
