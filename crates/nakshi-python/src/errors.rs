//! Mapping of the errors of the crates to the exceptions of `nakshi.errors`.

use nakshi::{cluster, engine, io, store};
use pyo3::exceptions::PyBrokenPipeError;
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(nakshi.errors, BudgetError);
import_exception!(nakshi.errors, ClusterError);
import_exception!(nakshi.errors, ConflictError);
import_exception!(nakshi.errors, ConstraintError);
import_exception!(nakshi.errors, CorruptError);
import_exception!(nakshi.errors, DeadlineError);
import_exception!(nakshi.errors, IncompatibleError);
import_exception!(nakshi.errors, InputError);
import_exception!(nakshi.errors, InternalError);
import_exception!(nakshi.errors, NakshiError);
import_exception!(nakshi.errors, ParameterError);
import_exception!(nakshi.errors, StorageError);
import_exception!(nakshi.errors, StoreError);
import_exception!(nakshi.errors, StoreExistsError);
import_exception!(nakshi.errors, StoreLockedError);
import_exception!(nakshi.errors, StoreNotFoundError);
import_exception!(nakshi.errors, StorePoisonedError);
import_exception!(nakshi.errors, UnknownVertexError);
import_exception!(nakshi.errors, UnsupportedError);

/// Any failure of a call.
#[derive(Debug)]
pub enum Failure {
    /// An error of the engine.
    Engine(engine::Error),
    /// An error of the store.
    Store(store::Error),
    /// An error of storage.
    Io(io::Error),
    /// An error of a cluster.
    Cluster(cluster::Error),
    /// An argument is not the JSON that the Python package should write.
    Json(serde_json::Error),
    /// The thread of a call could not be started.
    Thread(std::io::Error),
    /// An exception.
    Raised(PyErr),
    /// A call panicked.
    Panic(String),
    /// The graph was closed.
    Closed(String),
    /// Any other failure, as a message.
    Other(String),
}

macro_rules! from_error {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for Failure {
            fn from(error: $source) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}
from_error!(
    engine::Error => Engine,
    store::Error => Store,
    io::Error => Io,
    cluster::Error => Cluster,
    serde_json::Error => Json,
);

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Engine(error) => of_engine(&error),
            Failure::Store(error) => of_store(&error),
            Failure::Io(error) => of_io(&error),
            Failure::Cluster(error) => of_cluster(error),
            Failure::Raised(exception) => exception,
            Failure::Json(error) => ParameterError::new_err(error.to_string()),
            Failure::Thread(source) => {
                // Two threads, because this one waits for Ctrl-C while the other one works.
                of_io(&io::Error::Threads { wanted: 2, started: 1, source })
            }
            Failure::Panic(message) => InternalError::new_err(format!(
                "internal error: {message}; please report it, the process can go on"
            )),
            Failure::Closed(path) => {
                StoreError::new_err(format!("the graph {path} was closed; open it again"))
            }
            Failure::Other(text) => NakshiError::new_err(text),
        }
    }
}

fn of_engine(error: &engine::Error) -> PyErr {
    use engine::Error as E;
    let text = error.to_string();
    match error {
        E::Budget { .. } | E::OutOfMemory { .. } => BudgetError::new_err(text),
        E::Deadline { .. } => DeadlineError::new_err(text),
        E::Panicked { .. } => InternalError::new_err(text),
        E::Parameter { .. } | E::UnknownAlgorithm { .. } => ParameterError::new_err(text),
        E::UnknownVertex { .. } | E::UnknownVertices { .. } => UnknownVertexError::new_err(text),
        E::Unsupported { .. } => UnsupportedError::new_err(text),
        E::Io(error) => of_io(error),
        E::Store(error) => of_store(error),
        E::NegativeWeight { .. } => ParameterError::new_err(text),
        _ => NakshiError::new_err(text),
    }
}

fn of_cluster(error: cluster::Error) -> PyErr {
    match error {
        cluster::Error::Engine(error) => of_engine(&error),
        error @ cluster::Error::Servers { .. } => ParameterError::new_err(error.to_string()),
        ref error @ cluster::Error::Lost { server, .. } => {
            ClusterError::new_err((error.to_string(), server))
        }
        error => ClusterError::new_err(error.to_string()),
    }
}

fn of_store(error: &store::Error) -> PyErr {
    use store::Error as E;
    let text = error.to_string();
    match error {
        E::Io { source, .. } => of_system(source, text),
        E::NotAStore { .. } => StoreNotFoundError::new_err(text),
        E::Corrupt { .. } | E::Truncated { .. } | E::BadList(_) | E::Foreign { .. } => {
            CorruptError::new_err(text)
        }
        E::Incompatible { .. } => IncompatibleError::new_err(text),
        E::Exists(_) => StoreExistsError::new_err(text),
        E::Locked(_) | E::LockedHere(_) => StoreLockedError::new_err(text),
        E::Poisoned { .. } => StorePoisonedError::new_err(text),
        E::Constraint(_) => ConstraintError::new_err(text),
        E::Conflict(_) => ConflictError::new_err(text),
        E::Internal(_) => InternalError::new_err(text),
        E::Unsupported(_) => UnsupportedError::new_err(text),
        E::Input { .. } | E::NoInput(_) | E::NoEdges { .. } => InputError::new_err(text),
        E::Invalid(_) | E::NoColumn { .. } => ParameterError::new_err(text),
        E::NoNode { .. } => UnknownVertexError::new_err(text),
        E::Budget { .. } => BudgetError::new_err(text),
        E::Panicked { .. } => InternalError::new_err(text),
        E::Storage(error) => of_io(error),
        _ => NakshiError::new_err(text),
    }
}

fn of_io(error: &io::Error) -> PyErr {
    use io::Error as E;
    let text = error.to_string();
    match error {
        E::Io { source, .. } => of_system(source, text),
        E::Corrupt { .. } | E::Truncated { .. } => CorruptError::new_err(text),
        E::Budget { .. } => BudgetError::new_err(text),
        E::Locked { .. } => StoreLockedError::new_err(text),
        E::Exists { .. } => StoreExistsError::new_err(text),
        E::Poisoned { .. } => StorePoisonedError::new_err(text),
        E::Unsupported { .. } => UnsupportedError::new_err(text),
        E::Cancelled | E::Abandoned => NakshiError::new_err(text),
        E::Panicked { .. } => InternalError::new_err(text),
        _ => StorageError::new_err(text),
    }
}

fn of_system(error: &std::io::Error, text: String) -> PyErr {
    match error.kind() {
        std::io::ErrorKind::NotFound => StoreNotFoundError::new_err(text),
        std::io::ErrorKind::BrokenPipe => PyBrokenPipeError::new_err(text),
        _ => StorageError::new_err(text),
    }
}

impl From<nakshi::Error> for Failure {
    fn from(error: nakshi::Error) -> Self {
        match error {
            nakshi::Error::Engine(error) => Self::Engine(error),
            nakshi::Error::Store(error) => Self::Store(error),
            nakshi::Error::Io(error) => Self::Io(error),
            nakshi::Error::Cluster(error) => Self::Cluster(error),
            other => Self::Other(other.to_string()),
        }
    }
}
