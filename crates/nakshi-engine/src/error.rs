//! The error enum of the engine.

use nakshi_io::{Cap, Size};

/// Result of the engine's calls.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of a run; a caller can act on each variant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cancel token was set.
    #[error("cancelled")]
    Cancelled,
    /// The deadline of the context has passed.
    #[error("deadline exceeded after {seconds:.1} s; allow more time or fewer iterations")]
    Deadline {
        /// Seconds that the call was allowed.
        seconds: f64,
    },
    /// The memory budget is below the smallest that works.
    #[error("{what} needs {} of memory, {} were given; try {}", Size(*needed), Size(*given), Cap(*needed))]
    Budget {
        /// The part of the run that needs the memory.
        what: String,
        /// Smallest budget that works, in bytes.
        needed: u64,
        /// Budget that was given, in bytes.
        given: u64,
    },
    /// Another worker of the same call has failed; its error is the one to report.
    #[error("abandoned, because another worker has failed")]
    Abandoned,
    /// A worker panicked, in the engine or in a caller's closure.
    #[error("a worker panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// A program of the user's has failed.
    #[error("the program failed in step {step}")]
    Program {
        /// The step; 0 for the first values.
        step: u32,
    },
    /// A parameter has a value that the algorithm cannot take.
    #[error("parameter `{name}`: {message}")]
    Parameter {
        /// Name of the parameter as users write it.
        name: String,
        /// The reason, and the values that work.
        message: String,
    },
    /// A weight below zero where only others make sense.
    #[error("an edge has the negative weight {weight}; weights must be at least 0")]
    NegativeWeight {
        /// The weight.
        weight: f64,
    },
    /// A vertex id that the graph does not have.
    #[error("vertex {id} is not in the graph; ids are those of the imported edge list")]
    UnknownVertex {
        /// The id as the user wrote it.
        id: String,
    },
    /// Vertex ids that the graph does not have.
    #[error(
        "{count} of the ids are not in the graph: {examples}; ids are those of the imported edge list"
    )]
    UnknownVertices {
        /// Number of ids that the graph does not have.
        count: usize,
        /// The first of them, as the user wrote them.
        examples: String,
    },
    /// No algorithm of this name.
    #[error("no algorithm `{name}`; known: {known}")]
    UnknownAlgorithm {
        /// The name asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// The graph lacks something that was asked for.
    #[error("unsupported: {what}")]
    Unsupported {
        /// The request, and what to do instead.
        what: String,
    },
    /// Storage failed, or its bytes are damaged.
    #[error(transparent)]
    Io(nakshi_io::Error),
    /// The store failed, or is damaged.
    #[error(transparent)]
    Store(nakshi_store::Error),
    /// An allocation was refused.
    #[error("out of memory: {what} needs {}; set a smaller graph, or more memory", Size(*bytes))]
    OutOfMemory {
        /// The purpose of the allocation.
        what: &'static str,
        /// Bytes asked for.
        bytes: u64,
    },
}

impl Error {
    /// Shorthand for [`Error::Parameter`].
    pub fn parameter(name: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Parameter { name: name.into(), message: message.into() }
    }

    /// The error of an edge weight that is infinite or no number.
    pub(crate) fn not_finite(weight: f64) -> Self {
        Error::parameter(
            "weight",
            format!("an edge has the weight {weight}; weights must be finite"),
        )
    }
}

impl nakshi_io::WorkerError for Error {
    fn echo(&self) -> u8 {
        match self {
            Error::Abandoned => 2,
            Error::Cancelled => 1,
            _ => 0,
        }
    }
}

impl From<nakshi_io::Error> for Error {
    fn from(error: nakshi_io::Error) -> Self {
        match error {
            nakshi_io::Error::Cancelled => Error::Cancelled,
            nakshi_io::Error::Abandoned => Error::Abandoned,
            nakshi_io::Error::Panicked { message } => Error::Panicked { message },
            nakshi_io::Error::Budget { needed, given } => {
                Error::Budget { what: "reading".into(), needed, given }
            }
            error => Error::Io(error),
        }
    }
}

impl From<nakshi_store::Error> for Error {
    fn from(error: nakshi_store::Error) -> Self {
        match error {
            nakshi_store::Error::Cancelled => Error::Cancelled,
            nakshi_store::Error::Abandoned => Error::Abandoned,
            nakshi_store::Error::Panicked { message } => Error::Panicked { message },
            nakshi_store::Error::Storage(error) => error.into(),
            nakshi_store::Error::Budget { needed, given } => {
                Error::Budget { what: "the store".into(), needed, given }
            }
            error => Error::Store(error),
        }
    }
}
