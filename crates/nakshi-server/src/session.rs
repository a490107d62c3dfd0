//! A transaction of a client, step by step.

use std::collections::HashMap;
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::{PropertyGraph, PropertyStore, Transaction};
use nakshi_query::{Cursor, Database, Map, Options, QueryError};

use crate::answer;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::parts;
use crate::replication::Leading;
use crate::v1::step::Step as Kind;
use crate::v1::step_reply::Reply;
use crate::v1::{Answer, Changes, Fault, QueryRequest, Step, StepReply};
use crate::wire;

/// Most states that a transaction keeps for edge records.
const MOST_KEPT: usize = 1024;

/// A transaction, until it has ended.
pub(crate) struct Session {
    /// `None` if it was lost in a panic.
    transaction: Option<Transaction>,
    /// Number of the commit whose state it reads.
    begun: u64,
    /// When this server has led since before it began, if it is one of several.
    leading: Option<Leading>,
    limits: Limits,
    cancel: CancelToken,
    /// Number of the present state: how many changes it has.
    state: u64,
    /// Earlier states, which have edge records that the client may still read.
    kept: HashMap<u64, PropertyGraph>,
}

/// The error of a transaction that is there no more.
fn lost() -> Error {
    Error::new(ErrorKind::Internal, "internal error: the transaction was lost")
}

/// A reply to a step.
pub(crate) fn reply(reply: Reply) -> StepReply {
    StepReply { reply: Some(reply) }
}

/// The reply to a step that failed.
pub(crate) fn fault(error: &Error) -> StepReply {
    reply(Reply::Fault(Fault::from(error)))
}

impl Session {
    /// Begins a transaction.
    pub(crate) fn begin(
        store: &Arc<PropertyStore>,
        leading: Option<Leading>,
        alone: bool,
        limits: Limits,
        cancel: CancelToken,
    ) -> Result<(Box<Self>, StepReply)> {
        let transaction = if alone { store.transaction_alone()? } else { store.transaction()? };
        let begun = transaction.graph().commit();
        let transaction = Some(transaction);
        let (state, kept) = (0, HashMap::new());
        let session = Session { transaction, begun, leading, limits, cancel, state, kept };
        Ok((Box::new(session), reply(Reply::Begun(begun))))
    }

    /// Runs a step; a step that fails does not end the transaction.
    pub(crate) fn step(mut self: Box<Self>, step: Step) -> (Box<Self>, Vec<StepReply>) {
        let replies = match step.step {
            Some(Kind::Query(query)) => self.query(query),
            Some(Kind::Change(changes)) => self.change(changes).map(|changed| vec![changed]),
            Some(Kind::Begin(_) | Kind::Commit(_)) => {
                Err(Error::parameter("a transaction begins once and ends once"))
            }
            // It has a way of its own.
            Some(Kind::Cypher(_)) => Err(Error::missing("step that is known")),
            None => Err(Error::missing("step that is known")),
        };
        let replies = replies.unwrap_or_else(|error| vec![fault(&error)]);
        (self, replies)
    }

    /// Ends the transaction with its commit, under an id if the client gave one. Calls `early` with the number of
    /// the commit before it is durable, and returns it then.
    pub(crate) fn commit(
        self: Box<Self>,
        id: Option<u128>,
        early: impl FnOnce(u64),
    ) -> Result<u64> {
        let mut transaction = self.transaction.ok_or_else(lost)?;
        if let Some(id) = id {
            transaction.set_id(id);
        }
        Ok(transaction.commit_telling(early)?)
    }

    /// Runs a query in Cypher, which sees the changes of the steps before.
    ///
    /// # Errors
    /// Errors of the query, whose changes are undone then.
    pub(crate) fn run(
        &mut self,
        database: &Database,
        text: &str,
        given: Map,
        options: &Options,
    ) -> Result<Cursor, QueryError> {
        // It may change the graph.
        self.state += 1;
        database.run_in(&mut self.transaction, text, given, options)
    }

    fn graph(&self) -> Result<&PropertyGraph> {
        Ok(self.transaction.as_ref().ok_or_else(lost)?.graph())
    }

    /// When this server has led since before it began, and the number of the commit whose state it reads.
    pub(crate) fn beginning(&self) -> (Option<Leading>, u64) {
        (self.leading, self.begun)
    }

    fn query(&mut self, request: QueryRequest) -> Result<Vec<StepReply>> {
        let query = wire::needed(request.query, "query that is known")?;
        let state = request.commit.unwrap_or(self.state);
        let graph = if state == self.state {
            self.graph()?
        } else {
            let gone = || Error::new(ErrorKind::Gone, "the transaction does not keep this state");
            self.kept.get(&state).ok_or_else(gone)?
        };
        let found = answer::answer(graph, query, &self.limits, &self.cancel)?;
        if request.keep {
            if self.kept.len() >= MOST_KEPT && !self.kept.contains_key(&self.state) {
                let what =
                    format!("a transaction reads edge records after at most {MOST_KEPT} changes");
                return Err(Error::new(ErrorKind::Overloaded, what));
            }
            self.kept.insert(self.state, self.graph()?.clone());
        }
        let found = Answer { commit: state, ..found };
        Ok(parts::cut(found).into_iter().map(|part| reply(Reply::Answer(part))).collect())
    }

    fn change(&mut self, changes: Changes) -> Result<StepReply> {
        let mut changed = 0;
        for change in wire::of_changes(changes.changes)? {
            let transaction = self.transaction.as_mut().ok_or_else(lost)?;
            self.limits.refuse_changes(transaction.weight() + change.weight())?;
            changed += u64::from(transaction.apply(change)?);
            self.state += 1;
        }
        Ok(reply(Reply::Changed(changed)))
    }
}
