//! The one error type of this crate, and its way through gRPC.

use nakshi_store::Error as StoreError;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use crate::v1::Fault;

/// Metadata of an error: its kind.
pub(crate) const KIND: &str = "nakshi-error";
/// Metadata of an error: host and port of the server to ask instead.
const LEADER: &str = "nakshi-leader";

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a server or of a client.
///
/// The message is one line: the fault, its place, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Its kind, by which a program can decide what to do.
    pub kind: ErrorKind,
    /// The message.
    pub message: String,
    /// Host and port of the server to ask instead, of [`ErrorKind::Moved`] if it is known.
    pub leader: Option<String>,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal, $code:ident;)*) => {
        /// Kind of an error.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $kind,)*
        }

        impl ErrorKind {
            /// Its name in the interface.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The kind of a name; `None` for one that this version does not know.
            pub fn of_name(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$kind,)*
                    _ => return None,
                })
            }

            fn code(self) -> Code {
                match self {
                    $(Self::$kind => Code::$code,)*
                }
            }
        }
    };
}
kinds! {
    /// There is no node with that id.
    UnknownNode = "unknown_node", NotFound;
    /// An argument cannot work.
    Parameter = "parameter", InvalidArgument;
    /// A change would break a constraint of the graph.
    Constraint = "constraint", FailedPrecondition;
    /// Another commit has changed something that a transaction has read or written.
    Conflict = "conflict", Aborted;
    /// The server has too much to do, or the call asks for too much.
    Overloaded = "overloaded", ResourceExhausted;
    /// Another server of the graph makes its commits.
    Moved = "moved", Unavailable;
    /// The server cannot be reached, or ends.
    Unavailable = "unavailable", Unavailable;
    /// The state of a commit is no longer kept.
    Gone = "gone", OutOfRange;
    /// The token is unknown, or does not permit the call.
    Denied = "denied", PermissionDenied;
    /// Another process writes to the store.
    Locked = "locked", FailedPrecondition;
    /// An earlier write failed.
    Poisoned = "poisoned", FailedPrecondition;
    /// A file of the store is damaged.
    Corrupt = "corrupt", DataLoss;
    /// Too little memory was given.
    Budget = "budget", ResourceExhausted;
    /// The system refused to read or to write.
    Storage = "storage", Internal;
    /// A limit of this version.
    Unsupported = "unsupported", Unimplemented;
    /// The call took longer than its time limit.
    Deadline = "deadline", DeadlineExceeded;
    /// The caller has cancelled the call.
    Cancelled = "cancelled", Cancelled;
    /// A fault of Nakshi.
    Internal = "internal", Internal;
}

impl Error {
    /// Makes an error. Its message is one line, also where it quotes line breaks of a request.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.contains(char::is_control) {
            let shown = |c: char| match c.is_control() {
                true => c.escape_default().to_string(),
                false => c.to_string(),
            };
            message = message.chars().map(shown).collect();
        }
        Self { kind, message, leader: None }
    }

    /// An argument that cannot work.
    pub(crate) fn parameter(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Parameter, message)
    }

    /// A thread that the system does not start.
    pub(crate) fn no_thread(error: std::io::Error) -> Self {
        let what = format!("the system starts no threads: {error}; raise its limit on processes");
        Self::new(ErrorKind::Storage, what)
    }

    /// A request without something that it needs.
    pub(crate) fn missing(what: &str) -> Self {
        Self::parameter(format!("the request has no {what}; see the protobuf file"))
    }
}

/// The kind that another process has told.
fn told_kind(name: &str) -> Option<ErrorKind> {
    ErrorKind::of_name(name).map(|kind| match kind {
        // A server of an older version says so when it ends.
        ErrorKind::Cancelled => ErrorKind::Unavailable,
        kind => kind,
    })
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Fault {
            kind: error.kind.name().to_owned(),
            message: error.message.clone(),
            leader: error.leader.clone().unwrap_or_default(),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let kind = told_kind(&fault.kind).unwrap_or(ErrorKind::Internal);
        let leader = Some(fault.leader).filter(|leader| !leader.is_empty());
        Self { leader, ..Self::new(kind, fault.message) }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        use StoreError as E;
        if matches!(error, E::Cancelled) {
            // Nothing else cancels the work of a server.
            return Self::new(ErrorKind::Unavailable, "the server ends");
        }
        let kind = match &error {
            E::NoNode { .. } => ErrorKind::UnknownNode,
            E::Invalid(_) | E::NoColumn { .. } => ErrorKind::Parameter,
            E::Constraint(_) => ErrorKind::Constraint,
            E::Conflict(_) => ErrorKind::Conflict,
            E::Deposed(_) => ErrorKind::Unavailable,
            E::Locked(_) | E::LockedHere(_) => ErrorKind::Locked,
            E::Poisoned { .. } => ErrorKind::Poisoned,
            E::Corrupt { .. } | E::Truncated { .. } | E::BadList(_) | E::Foreign { .. } => {
                ErrorKind::Corrupt
            }
            E::Budget { .. } => ErrorKind::Budget,
            E::Unsupported(_) => ErrorKind::Unsupported,
            E::Abandoned => ErrorKind::Cancelled,
            E::Internal(_) | E::Panicked { .. } => ErrorKind::Internal,
            _ => ErrorKind::Storage,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let mut status = Status::new(error.kind.code(), error.message);
        status.metadata_mut().insert(KIND, MetadataValue::from_static(error.kind.name()));
        if let Some(Ok(leader)) = error.leader.map(MetadataValue::try_from) {
            status.metadata_mut().insert(LEADER, leader);
        }
        status
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        let named = status.metadata().get(KIND).and_then(|name| name.to_str().ok());
        if let Some(kind) = named.and_then(told_kind) {
            let leader = status.metadata().get(LEADER).and_then(|leader| leader.to_str().ok());
            let leader = leader.map(ToOwned::to_owned);
            return Self { leader, ..Self::new(kind, status.message()) };
        }
        // Errors of the transport, on either side.
        let kind = match status.code() {
            Code::DeadlineExceeded => ErrorKind::Deadline,
            Code::Cancelled if status.message().to_lowercase().contains("timeout") => {
                ErrorKind::Deadline
            }
            Code::ResourceExhausted | Code::OutOfRange => ErrorKind::Overloaded,
            Code::Unauthenticated | Code::PermissionDenied => ErrorKind::Denied,
            Code::Unimplemented => ErrorKind::Unsupported,
            Code::InvalidArgument => ErrorKind::Parameter,
            // The other side does not speak HTTP/2, or does so within TLS.
            Code::Internal if status.message().contains("h2 protocol error") => {
                ErrorKind::Unavailable
            }
            Code::Internal | Code::DataLoss => ErrorKind::Internal,
            _ => ErrorKind::Unavailable,
        };
        Self::new(kind, with_causes(&status))
    }
}

/// Adds that a commit may have been made to an error after which that is unknown: one of the way to the
/// server, or a refusal before the server has looked for what an earlier request has made.
pub(crate) fn of_unknown_outcome(error: Error, repeated: bool) -> Error {
    use ErrorKind as E;
    let unknown = match error.kind {
        E::Unavailable | E::Deadline | E::Cancelled => true,
        E::Moved => repeated,
        E::Overloaded | E::Denied | E::Gone => repeated,
        _ => false,
    };
    if !unknown {
        return error;
    }
    let what = format!("{}; the commit may have been made or not", error.message);
    Error::new(error.kind, what)
}

/// The message of a status, with the causes that a message such as "transport error" leaves out.
fn with_causes(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        let what = error.to_string();
        if !text.contains(&what) {
            text = format!("{text}: {what}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_the_same_on_the_other_side() {
        for kind in [ErrorKind::Conflict, ErrorKind::Overloaded, ErrorKind::Gone] {
            let error = Error::new(kind, "it is so");
            assert_eq!(Error::from(Status::from(error.clone())), error);
        }
        let moved = Error::new(ErrorKind::Moved, "there");
        let moved = Error { leader: Some("host:1".to_owned()), ..moved };
        assert_eq!(Error::from(Status::from(moved.clone())), moved);
        assert_eq!(Error::from(Fault::from(&moved)), moved);
    }
}
