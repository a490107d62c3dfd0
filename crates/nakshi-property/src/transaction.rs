//! Transactions: serializable, and optimistic.
//!
//! A transaction reads the state after one commit, and its own changes. Its commit compares what it has
//! read and written with what other commits have written since, and fails if they meet (Kung and
//! Robinson, "On Optimistic Methods for Concurrency Control", TODS 1981: backward validation). A
//! transaction that fails too often runs alone.

use std::sync::Arc;
use std::time::Instant;

use nakshi_io::CancelToken;

use super::base::Base;
use super::conflict::{ReadSet, Subject};
use super::graph::PropertyGraph;
use super::keep::{Touched, keep};
use super::log::{Change, TransactionMark};
use super::lookups::Lookups;
use super::property_store::{PropertyStore, Writing};
use super::schema::Schema;
use super::state::GraphState;
use super::turns::ALONE;
use nakshi_store::files::new_uuid;
use nakshi_store::{Error, ExternalId, Result};

/// Conflicts after which [`PropertyStore::transact`] lets a transaction run alone.
const PATIENCE: usize = 3;
/// Conflicts after which [`PropertyStore::transact`] gives up.
const ATTEMPTS: usize = 100;

/// A transaction, which commits if nothing that it has read or written has changed since it began.
///
/// It reads the newest state, also commits that are not durable yet. It therefore ends only when these
/// are durable, whether it commits or not.
#[derive(Debug)]
pub struct Transaction {
    store: Arc<PropertyStore>,
    begun: Begun,
    /// The state with the transaction's own changes, which notes what is read.
    graph: PropertyGraph,
    reads: Arc<ReadSet>,
    changes: Vec<Change>,
    /// Bytes of memory that the changes take, without the state that they made.
    bytes: u64,
    /// An earlier state, from which the changes are made anew after one that is impossible.
    earlier: Savepoint,
    /// The error that hindered that.
    broken: Option<String>,
    /// Look-ups of the transaction itself: for changes that look up no edges, and for all changes if
    /// another handle is the writer.
    lookups: Option<Lookups>,
    /// The session of the writer that keeps what later commits write; `None` if the handle was no writer.
    session: Option<u64>,
    /// Number of its turn, if it runs alone.
    turn: Option<u64>,
    /// Id of its commit in the log.
    id: u128,
}

/// Number of the commit, and the files and names, with which a transaction began.
#[derive(Debug)]
struct Begun {
    commit: u64,
    base: Arc<Base>,
    schema: Arc<Schema>,
    /// Bytes of memory that the changes took which were in the log then.
    log: u64,
}

/// A state of a transaction to which [`Transaction::restore`] goes back.
#[derive(Clone, Debug)]
pub struct Savepoint {
    graph: PropertyGraph,
    changes: usize,
    bytes: u64,
}

impl PropertyStore {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if an earlier write has failed.
    pub fn transaction(self: &Arc<Self>) -> Result<Transaction> {
        Transaction::begin(self, None)
    }

    /// Begins a transaction that runs alone: other commits wait until it ends, but at most 100 ms.
    ///
    /// # Errors
    /// As [`PropertyStore::transaction`].
    pub fn transaction_alone(self: &Arc<Self>) -> Result<Transaction> {
        let turn = self.turns.take();
        Transaction::begin(self, Some(turn)).inspect_err(|_| self.turns.end(turn))
    }

    /// Runs `f` in a transaction and commits. After a conflict `f` runs again on the newer state, so it
    /// must do nothing that cannot be done twice. After three conflicts it runs alone.
    ///
    /// # Errors
    /// Errors of `f`, and then nothing is changed; [`Error::Conflict`] after 100 conflicts; as
    /// [`PropertyStore::commit`].
    pub fn transact<T>(
        self: &Arc<Self>,
        mut f: impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let mut attempt = 0;
        loop {
            let mut transaction = match attempt < PATIENCE {
                true => self.transaction()?,
                false => self.transaction_alone()?,
            };
            let done = f(&mut transaction);
            let ended = match done {
                Ok(_) => transaction.commit(),
                Err(_) => transaction.roll_back().map(|()| 0),
            };
            attempt += 1;
            match ended {
                Err(Error::Conflict(_)) if attempt < ATTEMPTS => {}
                ended => return ended.and(done),
            }
        }
    }
}

impl Transaction {
    fn begin(store: &Arc<PropertyStore>, turn: Option<u64>) -> Result<Self> {
        let cancel = &store.options.cancel;
        let mut core = store.writer(turn, cancel)?;
        let (state, session) = match &mut core.writing {
            Some(writing) if writing.is_ours() => {
                writing.usable(&store.path)?;
                writing.recent.begin(writing.tip.commit);
                writing.alone = turn.map(|turn| (turn, Instant::now() + ALONE)).or(writing.alone);
                (writing.tip.clone(), Some(writing.session))
            }
            _ => (store.snapshot().state().clone(), None),
        };
        drop(core);
        let reads = Arc::new(ReadSet::new(&store.hasher, state.numbered()));
        let noting = GraphState { reads: Some(Arc::clone(&reads)), ..state.clone() };
        let graph = PropertyGraph::of(noting);
        Ok(Transaction {
            store: Arc::clone(store),
            begun: Begun {
                commit: state.commit,
                base: Arc::clone(&state.base),
                schema: Arc::clone(&state.schema),
                log: state.log.weight(),
            },
            earlier: Savepoint { graph: graph.clone(), changes: 0, bytes: 0 },
            graph,
            reads,
            changes: Vec::new(),
            bytes: 0,
            broken: None,
            lookups: None,
            session,
            turn,
            id: u128::from_le_bytes(new_uuid()),
        })
    }

    /// The graph as the transaction sees it, with its own changes. What is read through it is compared
    /// with other commits at the end; what was read before a change shows the state before it. A change costs
    /// less while nobody holds the graph.
    pub fn graph(&self) -> &PropertyGraph {
        &self.graph
    }

    /// The graph as it was before some of the changes.
    pub fn earlier(&self) -> &PropertyGraph {
        &self.earlier.graph
    }

    /// The store.
    pub fn store(&self) -> &Arc<PropertyStore> {
        &self.store
    }

    /// Gives it an id by which [`PropertyStore::find_commit`] finds its commit; a random one by default.
    pub fn set_id(&mut self, id: u128) {
        self.id = id;
    }

    /// The id of its commit.
    pub fn id(&self) -> u128 {
        self.id
    }

    /// Number of the commit whose state it has begun with.
    pub fn begun(&self) -> u64 {
        self.begun.commit
    }

    /// The state after the changes so far.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { graph: self.graph.clone(), changes: self.changes.len(), bytes: self.bytes }
    }

    /// Undoes the changes since a savepoint of this transaction. What was read since stays noted.
    pub fn restore(&mut self, savepoint: Savepoint) {
        self.changes.truncate(savepoint.changes);
        self.bytes = savepoint.bytes;
        self.graph = savepoint.graph.clone();
        self.earlier = savepoint;
        self.broken = None;
    }

    /// Checks the constraints of the graph for all that was changed since a savepoint. A commit does that
    /// for all changes; a program that asks earlier can undo some.
    ///
    /// # Errors
    /// [`Error::Constraint`].
    pub fn check_constraints(&self, since: &Savepoint) -> Result<()> {
        let changes = self.changes.get(since.changes..).unwrap_or_default();
        let graph = self.graph.state();
        keep(graph, Touched::by(changes, &graph.schema), &self.store.options.cancel)
    }

    /// Number of changes so far.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Bytes of memory that the changes take, about, with the state that they have made.
    pub fn weight(&self) -> u64 {
        self.bytes + self.graph.state().log.weight().saturating_sub(self.begun.log)
    }

    /// Returns true if the transaction has changed nothing.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Makes a change that only this transaction sees until it commits. Returns true if it changed
    /// anything.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::NoNode`] for an impossible change, which is not made; earlier
    /// ones stay.
    pub fn apply(&mut self, change: Change) -> Result<bool> {
        self.usable()?;
        self.note(&change)?;
        self.graph.state().refuse_unknown(&change)?;
        let made = self.make(&change);
        match made {
            Ok(true) => {
                self.bytes += change.weight();
                self.changes.push(change);
            }
            // A share has taken names of properties from it.
            Ok(false) if self.graph.state().base.entry().buckets.is_none() => {}
            _ => self.make_anew(),
        }
        made
    }

    fn usable(&self) -> Result<()> {
        match &self.broken {
            None => Ok(()),
            Some(why) => Err(Error::Invalid(format!(
                "the transaction has lost its state: after an impossible change, {why}; roll it back"
            ))),
        }
    }

    /// Makes a change; after an error the state is unusable.
    fn make(&mut self, change: &Change) -> Result<bool> {
        let mut graph = std::mem::replace(&mut self.graph, self.earlier.graph.clone());
        let state = graph.state_mut();
        // What the change itself depends on is noted.
        let reads = state.reads.take();
        let made = match change.looks_up_edges() {
            true => self.make_with_writer(change, state),
            false => self.own_lookups().and_then(|lookups| state.apply_new(change, lookups)),
        };
        state.reads = reads;
        self.graph = graph;
        made
    }

    /// Makes all changes anew that an earlier state does not have.
    fn make_anew(&mut self) {
        self.graph = self.earlier.graph.clone();
        let changes = std::mem::take(&mut self.changes);
        let missing = changes.get(self.earlier.changes..).unwrap_or_default();
        let made = missing.iter().try_for_each(|change| self.make(change).map(|_| ()));
        self.changes = changes;
        match made {
            Ok(()) => self.earlier = self.savepoint(),
            Err(error) => self.broken = Some(error.to_string()),
        }
    }

    /// Makes a change with the look-ups of the writer, which remember the edges of hubs.
    fn make_with_writer(&mut self, change: &Change, next: &mut GraphState) -> Result<bool> {
        let mut core = self.store.enter()?;
        let writing = core
            .writing
            .as_mut()
            .filter(|writing| writing.is_ours() && Arc::ptr_eq(&writing.tip.base, &next.base));
        if let Some(writing) = writing {
            writing.lookups.written = None;
            return next.apply_new(change, &mut writing.lookups);
        }
        drop(core);
        next.apply_new(change, self.own_lookups()?)
    }

    fn own_lookups(&mut self) -> Result<&mut Lookups> {
        Ok(match &mut self.lookups {
            Some(lookups) => lookups,
            none => {
                let (base, cancel) = (&self.begun.base, &self.store.options.cancel);
                none.insert(Lookups::new(base.store()?, base.lookups(), cancel))
            }
        })
    }

    /// Notes what a change depends on.
    fn note(&self, change: &Change) -> Result<()> {
        let before = self.graph.state();
        let node = |id: &ExternalId| -> Result<()> {
            let found = before.number(id)?;
            found.iter().for_each(|v| before.note(Subject::Existence(*v)));
            Ok(())
        };
        let properties = |id: &ExternalId| -> Result<()> {
            node(id)?;
            let found = before.number(id)?;
            found.iter().for_each(|v| before.note(Subject::Properties(*v)));
            Ok(())
        };
        let edge = |source: &ExternalId, edge_type: &str, end: &ExternalId| -> Result<()> {
            node(source)?;
            node(end)?;
            let ends = before.number(source)?.zip(before.number(end)?);
            // A type that is unknown here is a conflict with every commit that adds it.
            if let Some((ty, (source, end))) = before.schema.edge_type(edge_type).zip(ends) {
                before.note(Subject::Edge((source, ty, end)));
            }
            Ok(())
        };
        match change {
            Change::AppendNode { id, .. } => node(id),
            Change::UpdateNode { id, .. }
            | Change::DeleteNode { id }
            | Change::ChangeLabels { id, .. } => properties(id),
            Change::CreateEdge { edge: id, .. }
            | Change::UpdateEdge { edge: id, .. }
            | Change::RemoveEdge { edge: id } => edge(&id.source, &id.edge_type, &id.destination),
            Change::AppendEdge { source, edge_type, destination, .. }
            | Change::DeleteEdge { source, edge_type, destination } => {
                edge(source, edge_type, destination)
            }
            Change::ChangeType { source, edge_type, destination, new_type } => {
                edge(source, edge_type, destination)?;
                edge(source, new_type, destination)
            }
            // A changed schema is a conflict for every transaction.
            Change::SetInverse { .. }
            | Change::Declare { .. }
            | Change::Drop { .. }
            | Change::MoveBuckets { .. } => Ok(()),
        }
    }

    /// Commits, and returns when the commit is durable. Returns the number of the commit, or of the
    /// state that was read if the transaction has changed nothing.
    ///
    /// # Errors
    /// [`Error::Conflict`] if something that was read or written has changed since the transaction
    /// began; nothing is changed then. As [`PropertyStore::commit`].
    pub fn commit(self) -> Result<u64> {
        self.commit_until(&CancelToken::new())
    }

    /// As [`Transaction::commit`], with a cancel token, which counts until the commit is handed to the
    /// writing thread.
    ///
    /// # Errors
    /// As [`Transaction::commit`]; [`Error::Cancelled`].
    pub fn commit_until(mut self, cancel: &CancelToken) -> Result<u64> {
        let session = self.session.unwrap_or(u64::MAX);
        let commit = self.submit(cancel)?;
        self.store.wait_as(commit, session)?;
        Ok(commit)
    }

    /// As [`Transaction::commit`], but calls `early` with the number of the commit, if there are changes,
    /// before it is durable.
    ///
    /// # Errors
    /// As [`Transaction::commit`]; after `early` was called, errors of writing.
    pub fn commit_telling(mut self, early: impl FnOnce(u64)) -> Result<u64> {
        let session = self.session.unwrap_or(u64::MAX);
        let changes = !self.changes.is_empty();
        let commit = self.submit(&CancelToken::new())?;
        if changes {
            early(commit);
        }
        self.store.wait_as(commit, session)?;
        Ok(commit)
    }

    /// As [`Transaction::commit`], but returns before the commit is durable; see
    /// [`PropertyStore::commit_async`]. Returns the number of the commit.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit_async(mut self) -> Result<u64> {
        let commit = self.submit(&CancelToken::new())?;
        self.store.flush_aside()?;
        Ok(commit)
    }

    /// Ends the transaction, whose changes go to the writer if nothing has changed that matters to
    /// them. Returns the number of the commit, or of the state that was read if there are no changes.
    fn submit(&mut self, cancel: &CancelToken) -> Result<u64> {
        self.usable()?;
        if self.changes.is_empty() {
            self.end();
            return Ok(self.begun.commit);
        }
        let store = Arc::clone(&self.store);
        let mut core = store.writer(self.turn, cancel)?;
        let writing = store.begin_own(&mut core, cancel)?;
        let submitted = self.check_and_make(writing);
        self.leave(writing);
        store.leave(core);
        self.end_turn();
        submitted
    }

    fn check_and_make(&self, writing: &mut Writing) -> Result<u64> {
        let (tip, begun) = (&writing.tip, &self.begun);
        let conflict = |what: String| {
            Err(Error::Conflict(format!(
                "the transaction changed nothing: {what}; run it again (g.transact does that)"
            )))
        };
        if !Arc::ptr_eq(&tip.base, &begun.base) {
            return conflict("the store was compacted since it began".into());
        }
        if tip.commit != begun.commit {
            // The keys of other sessions' commits are unknown.
            if self.session != Some(writing.session) {
                return conflict("another commit was made since it began".into());
            }
            if !Arc::ptr_eq(&tip.schema, &begun.schema) {
                return conflict("a commit has made a new property or type of edges".into());
            }
            if let Err(what) = writing.recent.check(begun.commit, &self.reads, tip.commit) {
                return conflict(what);
            }
        }
        let mark = TransactionMark { id: self.id, begun: begun.commit };
        writing.make(&self.changes, Some(&mark), &self.store.hasher)?;
        Ok(writing.tip.commit)
    }

    /// Ends the transaction without its changes, when what it has read is durable.
    ///
    /// # Errors
    /// [`Error::Poisoned`] and errors of writing, if what it has read may not be in the store.
    pub fn roll_back(mut self) -> Result<()> {
        let session = self.session.unwrap_or(u64::MAX);
        self.end();
        self.store.wait_as(self.begun.commit, session)
    }

    /// Lets others go on.
    fn end(&mut self) {
        if self.session.is_none() && self.turn.is_none() {
            return;
        }
        let store = Arc::clone(&self.store);
        let Ok(mut core) = store.enter() else { return };
        if let Some(writing) = core.writing.as_mut().filter(|writing| writing.is_ours()) {
            self.leave(writing);
        }
        drop(core);
        self.end_turn();
    }

    /// Has the writer forget this transaction.
    fn leave(&mut self, writing: &mut Writing) {
        if self.session.take() == Some(writing.session) {
            writing.recent.end(self.begun.commit);
        }
        if writing.alone.is_some_and(|(turn, _)| self.turn == Some(turn)) {
            writing.alone = None;
        }
    }

    fn end_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.store.turns.end(turn);
            self.store.wake();
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}
