//! Queries, edge records and errors of a server.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nakshi::property::{Change, EdgeId};
use nakshi::server::v1::query_request::Query;
use nakshi::server::v1::{Answer, QueryRequest};
use nakshi::server::{
    self, Client, ErrorKind, Queries, RemoteCommit, RemoteRecord, RemoteTransaction,
};
use pyo3::import_exception;
use pyo3::prelude::*;

use crate::call::raised;
use crate::errors::{
    BudgetError, ConflictError, ConstraintError, CorruptError, DeadlineError, Failure,
    InternalError, NakshiError, ParameterError, StorageError, StoreLockedError, StorePoisonedError,
    UnknownVertexError, UnsupportedError,
};
use crate::values::{Edge, dict, of_id};

import_exception!(nakshi.errors, DeniedError);
import_exception!(nakshi.errors, OverloadedError);
import_exception!(nakshi.errors, StateExpiredError);
import_exception!(nakshi.errors, UnavailableError);

/// The error of changes in a pipeline.
const NO_CHANGES: &str = "a pipeline makes no changes; use batch() or a transaction of the graph";

/// The exception of an error.
fn exception(error: &server::Error) -> PyErr {
    let text = error.message.clone();
    match error.kind {
        ErrorKind::Cancelled => raised().unwrap_or_else(|| NakshiError::new_err(text)),
        ErrorKind::UnknownNode => UnknownVertexError::new_err(text),
        ErrorKind::Parameter => ParameterError::new_err(text),
        ErrorKind::Constraint => ConstraintError::new_err(text),
        ErrorKind::Conflict => ConflictError::new_err(text),
        ErrorKind::Overloaded => OverloadedError::new_err(text),
        ErrorKind::Unavailable | ErrorKind::Moved => UnavailableError::new_err(text),
        ErrorKind::Gone => StateExpiredError::new_err(text),
        ErrorKind::Denied => DeniedError::new_err(text),
        ErrorKind::Locked => StoreLockedError::new_err(text),
        ErrorKind::Poisoned => StorePoisonedError::new_err(text),
        ErrorKind::Corrupt => CorruptError::new_err(text),
        ErrorKind::Budget => BudgetError::new_err(text),
        ErrorKind::Storage => StorageError::new_err(text),
        ErrorKind::Unsupported => UnsupportedError::new_err(text),
        ErrorKind::Deadline => DeadlineError::new_err(text),
        ErrorKind::Internal => InternalError::new_err(text),
        _ => NakshiError::new_err(text),
    }
}

impl From<server::Error> for Failure {
    fn from(error: server::Error) -> Self {
        Self::Raised(exception(&error))
    }
}

/// A server, a transaction on it, or queries that are sent to it together: all answer queries.
pub(crate) enum Source {
    Client(Arc<Client>),
    Transaction(Box<RemoteTransaction>),
    Pipeline(Box<Pipeline>),
}

/// Queries that are sent together. A query that is asked is written down, and fails. When the answers are there
/// it is asked again, and gets those that were chosen for it.
pub(crate) struct Pipeline {
    client: Arc<Client>,
    state: Mutex<Pipelined>,
}

#[derive(Default)]
struct Pipelined {
    /// Queries that were not sent yet.
    queries: Vec<Query>,
    answers: Vec<server::Result<Answer>>,
    /// Numbers of the answers that the next queries get.
    chosen: VecDeque<usize>,
}

impl Pipeline {
    pub(crate) fn new(client: &Arc<Client>) -> Self {
        Pipeline { client: Arc::clone(client), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, Pipelined> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of queries so far, those that were sent among them.
    pub(crate) fn len(&self) -> usize {
        let state = self.state();
        state.answers.len() + state.queries.len()
    }

    /// Sends the queries that were not sent yet, and waits for their answers.
    pub(crate) fn send(&self) -> server::Result<()> {
        let queries = self.state().queries.clone();
        if !queries.is_empty() {
            let answers = self.client.ask_each(queries)?;
            let mut state = self.state();
            state.queries.clear();
            state.answers.extend(answers);
        }
        Ok(())
    }

    /// Has the next queries get the answers of earlier ones, by their numbers from 0.
    pub(crate) fn choose(&self, numbers: Vec<usize>) {
        self.state().chosen = numbers.into();
    }

    fn ask(&self, request: QueryRequest) -> server::Result<Answer> {
        let mut state = self.state();
        let chosen = state.chosen.pop_front();
        if let Some(answer) = chosen.and_then(|number| state.answers.get(number)) {
            return answer.clone();
        }
        let unsupported = |what| Err(server::Error::new(ErrorKind::Unsupported, what));
        match request.query {
            Some(query) if !request.keep && request.commit.is_none() => {
                state.queries.push(query);
                unsupported("the pipeline was not sent yet")
            }
            _ => unsupported("a pipeline reads no edge records; use tao.assoc_range, or the graph"),
        }
    }
}

impl Source {
    /// The client; of a transaction, the one that began it.
    pub(crate) fn client(&self) -> &Arc<Client> {
        match self {
            Source::Client(client) => client,
            Source::Transaction(transaction) => transaction.client(),
            Source::Pipeline(pipeline) => &pipeline.client,
        }
    }

    /// Makes changes, as a commit or in the transaction; how many changed something, if that is known.
    pub(crate) fn make(&self, changes: &[Change]) -> server::Result<Option<u64>> {
        match self {
            Source::Client(client) => client.commit(changes),
            Source::Pipeline(_) => Err(server::Error::new(ErrorKind::Unsupported, NO_CHANGES)),
            Source::Transaction(transaction) => transaction.apply(changes).map(Some),
        }
    }

    /// Makes changes as a commit that is durable soon, or commits the transaction.
    pub(crate) fn make_soon(&self, changes: &[Change]) -> server::Result<RemoteCommit> {
        match self {
            Source::Client(client) => client.commit_async(changes),
            Source::Pipeline(_) => Err(server::Error::new(ErrorKind::Unsupported, NO_CHANGES)),
            Source::Transaction(transaction) => transaction.commit_async(),
        }
    }
}

impl Queries for Source {
    fn ask(&self, request: QueryRequest) -> server::Result<Answer> {
        match self {
            Source::Client(client) => client.ask(request),
            Source::Transaction(transaction) => transaction.ask(request),
            Source::Pipeline(pipeline) => pipeline.ask(request),
        }
    }
}

/// Waits for a server without the interpreter lock.
pub(crate) fn asked<T: Send>(
    py: Python<'_>,
    source: &Arc<Source>,
    ask: impl FnOnce(&Source) -> server::Result<T> + Send,
) -> PyResult<T> {
    Ok(py.detach(|| ask(source)).map_err(Failure::from)?)
}

/// An edge record of a server.
pub(crate) struct RecordOnServer {
    pub(crate) source: Arc<Source>,
    pub(crate) record: RemoteRecord,
}

impl RecordOnServer {
    pub(crate) fn read<'py>(
        &self,
        py: Python<'py>,
        places: Range<u64>,
    ) -> PyResult<Vec<Edge<'py>>> {
        edges(py, &asked(py, &self.source, |source| source.get_edges(&self.record, places))?)
    }

    pub(crate) fn edge_id(&self, py: Python<'_>, place: u64) -> PyResult<EdgeId> {
        let places = place..place.saturating_add(1);
        let found = asked(py, &self.source, |source| source.get_edges(&self.record, places))?;
        let edge = found.into_iter().next().ok_or_else(|| no_edge(&self.record, place))?;
        Ok(EdgeId {
            source: self.record.source.clone(),
            edge_type: self.record.edge_type.clone(),
            destination: edge.destination,
            number: edge.number,
        })
    }
}

pub(crate) fn no_edge(record: &RemoteRecord, place: u64) -> PyErr {
    ParameterError::new_err(format!("there is no edge {place} in a record of {}", record.len))
}

pub(crate) fn edge<'py>(py: Python<'py>, data: &server::Edge) -> PyResult<Edge<'py>> {
    Ok((of_id(py, &data.destination)?, data.timestamp, dict(py, &data.properties)?))
}

pub(crate) fn edges<'py>(py: Python<'py>, found: &[server::Edge]) -> PyResult<Vec<Edge<'py>>> {
    found.iter().map(|data| edge(py, data)).collect()
}
