//! Errors between servers.

/// Result of the cluster's calls.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of a cluster; a caller can act on each variant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of servers that makes no cluster.
    #[error("{servers} servers; a cluster has 1 to {most}")]
    Servers {
        /// The number asked for.
        servers: usize,
        /// The largest number that works.
        most: usize,
    },
    /// A connection broke, or a server ended.
    #[error("server {server} was lost: {why}")]
    Lost {
        /// The server.
        server: usize,
        /// The observation that shows the loss.
        why: String,
    },
    /// The front-end of a server was lost, or never called.
    #[error("the front-end was lost: {0}")]
    FrontEnd(String),
    /// A round ended without all of its frames.
    #[error("round {round} ended with {found} of {sent} frames of server {server}")]
    Missing {
        /// The round.
        round: u64,
        /// The server that sent them.
        server: usize,
        /// Frames that arrived.
        found: u64,
        /// Frames that were sent.
        sent: u64,
    },
    /// Bytes that are not what a server of this version sends.
    #[error("a frame of {} is damaged: {what}", name(*.server))]
    Damaged {
        /// The server it says it is from; none if it does not say.
        server: Option<usize>,
        /// The damage.
        what: String,
    },
    /// A server cannot go on by itself.
    #[error("server {server}: {why}")]
    Failed {
        /// The server.
        server: usize,
        /// The reason that the server states.
        why: String,
    },
    /// A secret that cannot be read, made or used.
    #[error("{0}")]
    Token(String),
    /// A folder that a server was told to allow cannot be found.
    #[error("a front-end cannot be allowed what is below {0}: {1}")]
    Allowed(String, std::io::Error),
    /// The engine or the store failed.
    #[error(transparent)]
    Engine(#[from] nakshi_engine::Error),
}

impl From<nakshi_io::Error> for Error {
    fn from(error: nakshi_io::Error) -> Self {
        Error::Engine(error.into())
    }
}

impl nakshi_io::WorkerError for Error {
    fn echo(&self) -> u8 {
        match self {
            // Also what is said of a server that has ended because of its own error.
            Error::Lost { .. } => 2,
            Error::Engine(error) => error.echo(),
            _ => 0,
        }
    }
}

impl Error {
    pub(crate) fn damaged(server: usize, what: impl Into<String>) -> Self {
        Error::Damaged { server: Some(server), what: what.into() }
    }
}

fn name(server: Option<usize>) -> String {
    server.map_or_else(|| "an unknown server".into(), |server| format!("server {server}"))
}
