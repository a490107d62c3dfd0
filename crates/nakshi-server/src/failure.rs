//! Errors of statements in Cypher, as Neo4j's drivers know them.

use nakshi_query::QueryError;

use crate::error::{Error, ErrorKind};
use crate::journal::Watched;
use crate::limits::Limits;
use crate::running::TERMINATED;

/// Name of the graph, as clients of Neo4j know it.
pub(crate) const DATABASE: &str = "neo4j";

/// Why a statement or a client fails: a status code of Neo4j's, which drivers know, and a message in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Failure { code, message: message.into() }
    }

    /// A fault of Nakshi.
    pub(crate) fn internal() -> Self {
        Failure::new(
            "Neo.DatabaseError.General.UnknownError",
            "internal error: the server panicked",
        )
    }

    /// A message that breaks the rules of the protocol.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Failure::new("Neo.ClientError.Request.Invalid", message)
    }
}

impl Failure {
    /// The server has too much to do: it answers so many calls already.
    pub(crate) fn overloaded(limits: &Limits) -> Self {
        let what = limits.too_many_calls().message;
        Failure::new("Neo.TransientError.Transaction.MaximumTransactionLimitReached", what)
    }

    /// A statement that would change the graph, of a client that has said that it only reads.
    pub(crate) fn reads_only() -> Self {
        let what = "the statement changes the graph, and its session or transaction only reads";
        Failure::new("Neo.ClientError.Statement.AccessMode", what)
    }

    /// A transaction that somebody has asked to end.
    pub(crate) fn terminated() -> Self {
        Failure::new("Neo.ClientError.Transaction.Terminated", TERMINATED)
    }

    /// Tells that this is the end of a statement.
    pub(crate) fn tell(&self, watched: &mut Watched) {
        watched.end(Some((self.code, &self.message)));
    }

    /// A graph that the server does not have.
    pub(crate) fn no_database(name: &str) -> Self {
        let what = format!("there is no database {name:?}; the graph is {DATABASE:?}");
        Failure::new("Neo.ClientError.Database.DatabaseNotFound", what)
    }
}

impl From<Error> for Failure {
    /// Why the server does not do something for a client.
    fn from(error: Error) -> Self {
        let code = match error.kind {
            ErrorKind::Moved => "Neo.ClientError.Cluster.NotALeader",
            ErrorKind::Denied => "Neo.ClientError.Security.Forbidden",
            ErrorKind::Overloaded => "Neo.ClientError.Statement.ArgumentError",
            ErrorKind::Unavailable | ErrorKind::Gone => {
                "Neo.TransientError.General.DatabaseUnavailable"
            }
            _ => "Neo.DatabaseError.General.UnknownError",
        };
        Failure::new(code, error.message)
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Failure::new(error.code(), error.to_string())
    }
}

/// The bookmark of the state after a commit.
pub(crate) fn bookmark(commit: u64) -> String {
    format!("nakshi:{commit}")
}

/// The number of the commit of a bookmark.
pub(crate) fn commit_of(bookmark: &str) -> Option<u64> {
    bookmark.strip_prefix("nakshi:")?.parse().ok()
}
