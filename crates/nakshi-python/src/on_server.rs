//! Queries, edge records and errors of a server.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use nakshi::property::{Change, EdgeId};
use nakshi::server::{self, Client, ErrorKind, Queries, RemoteRecord, RemoteTransaction};
use pyo3::import_exception;
use pyo3::prelude::*;

use crate::errors::{
    BudgetError, ConflictError, CorruptError, DeadlineError, Failure, InternalError, NakshiError,
    ParameterError, StorageError, StoreLockedError, StorePoisonedError, UnknownVertexError,
    UnsupportedError,
};
use crate::values::{Edge, dict, of_id};

import_exception!(nakshi.errors, DeniedError);
import_exception!(nakshi.errors, OverloadedError);
import_exception!(nakshi.errors, StateExpiredError);
import_exception!(nakshi.errors, UnavailableError);

thread_local! {
    /// The exception of a signal handler that ran while this thread waited for a server.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Runs the handlers of signals; returns true if one raised.
pub(crate) fn interrupted() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            RAISED.with(|raised| *raised.borrow_mut() = Some(error));
            true
        }
    })
}

/// The exception of an error.
fn exception(error: &server::Error) -> PyErr {
    let text = error.message.clone();
    match error.kind {
        ErrorKind::Cancelled => {
            let raised = RAISED.with(|raised| raised.borrow_mut().take());
            raised.unwrap_or_else(|| NakshiError::new_err(text))
        }
        ErrorKind::UnknownNode => UnknownVertexError::new_err(text),
        ErrorKind::Parameter => ParameterError::new_err(text),
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

/// A server, or a transaction on it: both answer queries.
pub(crate) enum Source {
    Client(Arc<Client>),
    Transaction(Box<RemoteTransaction>),
}

impl Source {
    /// The client; of a transaction, the one that began it.
    pub(crate) fn client(&self) -> &Arc<Client> {
        match self {
            Source::Client(client) => client,
            Source::Transaction(transaction) => transaction.client(),
        }
    }

    /// Makes changes, as a commit or in the transaction; how many changed something, if that is known.
    pub(crate) fn make(&self, changes: &[Change]) -> server::Result<Option<u64>> {
        match self {
            Source::Client(client) => client.commit(changes),
            Source::Transaction(transaction) => transaction.apply(changes).map(Some),
        }
    }
}

impl Queries for Source {
    fn ask(&self, request: server::v1::QueryRequest) -> server::Result<server::v1::Answer> {
        match self {
            Source::Client(client) => client.ask(request),
            Source::Transaction(transaction) => transaction.ask(request),
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
