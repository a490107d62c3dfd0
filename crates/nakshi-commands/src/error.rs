//! The error of the commands, which use several layers.

/// Result of a command.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of one of the layers; the message is the layer's own.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of a run.
    #[error(transparent)]
    Engine(#[from] nakshi_engine::Error),
    /// An error of a store.
    #[error(transparent)]
    Store(#[from] nakshi_store::Error),
    /// An error of storage.
    #[error(transparent)]
    Io(#[from] nakshi_io::Error),
    /// An error of a cluster.
    #[error(transparent)]
    Cluster(nakshi_cluster::Error),
    /// An error of a query.
    #[error(transparent)]
    Query(#[from] nakshi_query::QueryError),
    /// An error in making or reading a table.
    #[error("a table cannot be made: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
}

impl nakshi_io::WorkerError for Error {
    fn echo(&self) -> u8 {
        match self {
            Error::Engine(error) => error.echo(),
            Error::Store(error) => error.echo(),
            Error::Io(error) => error.echo(),
            Error::Cluster(error) => error.echo(),
            Error::Arrow(_) | Error::Query(_) => 0,
        }
    }
}

impl From<nakshi_cluster::Error> for Error {
    fn from(error: nakshi_cluster::Error) -> Self {
        match error {
            nakshi_cluster::Error::Engine(error) => Error::Engine(error),
            other => Error::Cluster(other),
        }
    }
}
