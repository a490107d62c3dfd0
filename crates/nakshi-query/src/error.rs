//! The error of a query: Neo4j's status code, the class of openCypher's compatibility kit, and a place.

use std::fmt;

/// When an error was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before the query ran.
    Compile,
    /// While it ran.
    Run,
}

/// Class of an error, as the compatibility kit names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// The text is no query, or a query that means nothing.
    Syntax,
    /// A value has a type that an operator or function does not take.
    Type,
    /// A value is outside of what a function takes.
    Argument,
    /// An error of arithmetic.
    Arithmetic,
    /// A node or an edge is not there.
    EntityNotFound,
    /// A property of a deleted node or edge.
    PropertyNotFound,
    /// A change would break a rule of the graph, such as an edge without an end.
    ConstraintVerificationFailed,
    /// A constraint of the schema.
    ConstraintValidationFailed,
    /// A parameter is missing.
    ParameterMissing,
    /// A procedure is unknown, or was called wrongly.
    Procedure,
    /// A rule about the meaning of a query.
    Semantic,
    /// The query was cancelled.
    Cancelled,
    /// The query ran past its deadline.
    Deadline,
    /// The query needs more memory than it may take.
    Memory,
    /// Another transaction has changed what this one has read; run it again.
    Conflict,
    /// The store failed: input or output, damage, a lock.
    Store,
    /// The text asks for something that Nakshi does not do yet.
    Unsupported,
    /// A constraint or index of this name, or one that demands the same, is there already.
    RuleExists,
    /// There is no constraint or index of this name.
    RuleNotFound,
    /// The query would change the graph, and another server makes the commits now; nothing was changed.
    Moved,
}

/// The classes in the order of their numbers, of which new ones come last.
const ALL: [Class; 20] = [
    Class::Syntax,
    Class::Type,
    Class::Argument,
    Class::Arithmetic,
    Class::EntityNotFound,
    Class::PropertyNotFound,
    Class::ConstraintVerificationFailed,
    Class::ConstraintValidationFailed,
    Class::ParameterMissing,
    Class::Procedure,
    Class::Semantic,
    Class::Cancelled,
    Class::Deadline,
    Class::Memory,
    Class::Conflict,
    Class::Store,
    Class::Unsupported,
    Class::RuleExists,
    Class::RuleNotFound,
    Class::Moved,
];

impl Class {
    /// The name that the compatibility kit has for the class.
    pub fn name(self) -> &'static str {
        match self {
            Class::Syntax | Class::Unsupported => "SyntaxError",
            Class::Type => "TypeError",
            Class::Argument => "ArgumentError",
            Class::Arithmetic => "ArithmeticError",
            Class::EntityNotFound => "EntityNotFound",
            Class::PropertyNotFound => "PropertyNotFound",
            Class::ConstraintVerificationFailed => "ConstraintVerificationFailed",
            Class::ConstraintValidationFailed => "ConstraintValidationFailed",
            Class::ParameterMissing => "ParameterMissing",
            Class::Procedure => "ProcedureError",
            Class::Semantic => "SemanticError",
            Class::Cancelled => "Cancelled",
            Class::Deadline => "Deadline",
            Class::Memory => "Memory",
            Class::Conflict => "Conflict",
            Class::Store => "Store",
            Class::RuleExists | Class::RuleNotFound => "SchemaError",
            Class::Moved => "Moved",
        }
    }

    /// The first class that the compatibility kit has under a name.
    pub fn of_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|class| class.name() == name)
    }

    /// The class of a number that [`Class::number`] has given.
    pub fn of_number(number: u32) -> Option<Self> {
        ALL.get(number as usize).copied()
    }

    /// A number of the class, which stays the same in later versions.
    pub fn number(self) -> u32 {
        // There are few.
        ALL.iter()
            .zip(0..)
            .find(|(class, _)| **class == self)
            .map_or(u32::MAX, |(_, number)| number)
    }

    /// The status code that Neo4j's drivers know for the class.
    pub fn code(self) -> &'static str {
        match self {
            Class::Syntax | Class::Unsupported => "Neo.ClientError.Statement.SyntaxError",
            Class::Type => "Neo.ClientError.Statement.TypeError",
            Class::Argument => "Neo.ClientError.Statement.ArgumentError",
            Class::Arithmetic => "Neo.ClientError.Statement.ArithmeticError",
            Class::EntityNotFound | Class::PropertyNotFound => {
                "Neo.ClientError.Statement.EntityNotFound"
            }
            Class::ConstraintVerificationFailed | Class::ConstraintValidationFailed => {
                "Neo.ClientError.Schema.ConstraintValidationFailed"
            }
            Class::ParameterMissing => "Neo.ClientError.Statement.ParameterMissing",
            Class::Procedure => "Neo.ClientError.Procedure.ProcedureNotFound",
            Class::Semantic => "Neo.ClientError.Statement.SemanticError",
            Class::Cancelled => "Neo.ClientError.Transaction.Terminated",
            Class::Deadline => "Neo.ClientError.Transaction.TransactionTimedOut",
            Class::Memory => "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
            Class::Conflict => "Neo.TransientError.Transaction.Outdated",
            Class::Store => "Neo.DatabaseError.General.UnknownError",
            Class::RuleExists => "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
            Class::RuleNotFound => "Neo.ClientError.Schema.ConstraintDropFailed",
            Class::Moved => "Neo.ClientError.Cluster.NotALeader",
        }
    }
}

/// Line and column of a place in the text of a query, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl Position {
    /// The position of a byte of a text.
    pub(crate) fn of(text: &str, byte: usize) -> Self {
        let mut position = Position { line: 1, column: 1 };
        for (at, character) in text.char_indices() {
            if at >= byte {
                break;
            }
            match character {
                '\n' => position = Position { line: position.line + 1, column: 1 },
                _ => position.column += 1,
            }
        }
        position
    }
}

/// The error of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    class: Class,
    phase: Phase,
    detail: &'static str,
    message: String,
    position: Option<Position>,
}

/// Most bytes of a message, about.
const LONGEST: usize = 2000;

/// A message that quotes a value of any size, without its middle if it is long: the reason is at its end.
fn brief(message: String) -> String {
    if message.len() <= LONGEST {
        return message;
    }
    let at = |byte: usize| (byte..message.len()).find(|byte| message.is_char_boundary(*byte));
    let ends = at(3 * LONGEST / 4).zip(at(message.len() - LONGEST / 4));
    let ends = ends.and_then(|(head, tail)| message.get(..head).zip(message.get(tail..)));
    ends.map_or_else(String::new, |(head, tail)| format!("{head} ... {tail}"))
}

/// Result of this crate.
pub type Result<T, E = QueryError> = std::result::Result<T, E>;

impl QueryError {
    /// An error that was found while a query ran. `detail` is the name that the compatibility kit has
    /// for it.
    pub fn run(class: Class, detail: &'static str, message: impl Into<String>) -> Self {
        let message = brief(message.into());
        Self(Box::new(Inner { class, phase: Phase::Run, detail, message, position: None }))
    }

    /// An error that was found before a query ran, at a byte of its text.
    pub(crate) fn compile(
        class: Class,
        detail: &'static str,
        message: impl Into<String>,
        place: Option<(&str, usize)>,
    ) -> Self {
        let position = place.map(|(text, byte)| Position::of(text, byte));
        let message = brief(message.into());
        Self(Box::new(Inner { class, phase: Phase::Compile, detail, message, position }))
    }

    /// A value of a wrong type.
    pub(crate) fn of_type(message: impl Into<String>) -> Self {
        Self::run(Class::Type, "InvalidArgumentType", message)
    }

    /// A value that a function does not take.
    pub(crate) fn of_argument(message: impl Into<String>) -> Self {
        Self::run(Class::Argument, "InvalidArgumentValue", message)
    }

    /// The same error of a query that may have changed the graph: whoever asks must not simply ask again.
    #[must_use]
    pub(crate) fn of_unknown_outcome(mut self) -> Self {
        if self.0.class == Class::Moved {
            self.0.class = Class::Store;
        }
        self
    }

    /// An error that another machine has found.
    pub fn told(class: Class, message: String, position: Option<Position>) -> Self {
        let phase = if position.is_some() { Phase::Compile } else { Phase::Run };
        Self(Box::new(Inner { class, phase, detail: "Told", message, position }))
    }

    /// The class of the error.
    pub fn class(&self) -> Class {
        self.0.class
    }

    /// When the error was found.
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// The name that the compatibility kit has for the error.
    pub fn detail(&self) -> &'static str {
        self.0.detail
    }

    /// The status code that Neo4j's drivers know.
    pub fn code(&self) -> &'static str {
        self.0.class.code()
    }

    /// A sentence that says what is wrong, in one line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Line and column in the text of the query, where these are known.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// Returns true if the same query may succeed if it is run again.
    pub fn is_transient(&self) -> bool {
        matches!(self.0.class, Class::Conflict)
    }
}

impl QueryError {
    /// Returns true if the query would have changed a graph that may only be read.
    pub fn is_read_only(&self) -> bool {
        self.0.detail == "ReadOnly"
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match self.0.position {
            Some(at) => write!(f, " (line {}, column {})", at.line, at.column),
            None => Ok(()),
        }
    }
}

impl std::error::Error for QueryError {}

impl From<nakshi_store::Error> for QueryError {
    fn from(error: nakshi_store::Error) -> Self {
        let class = match &error {
            nakshi_store::Error::Cancelled => Class::Cancelled,
            nakshi_store::Error::Conflict(_) => Class::Conflict,
            nakshi_store::Error::Budget { .. } => Class::Memory,
            nakshi_store::Error::Constraint(_) => Class::ConstraintValidationFailed,
            nakshi_store::Error::NoNode { .. } => Class::EntityNotFound,
            nakshi_store::Error::Deposed(_) => Class::Moved,
            _ => Class::Store,
        };
        let detail = match &error {
            nakshi_store::Error::Locked(_) | nakshi_store::Error::LockedHere(_) => "locked",
            nakshi_store::Error::Poisoned { .. } => "poisoned",
            nakshi_store::Error::Corrupt { .. } | nakshi_store::Error::Truncated { .. } => {
                "corrupt"
            }
            _ => "Store",
        };
        QueryError::run(class, detail, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_ends() {
        let short = QueryError::of_argument("'x' is no number");
        assert_eq!(short.message(), "'x' is no number");
        for value in ["x".repeat(1 << 20), "é".repeat(5000)] {
            let error = QueryError::of_argument(format!("'{value}' is no number"));
            assert!(error.message().len() < LONGEST + 10);
            assert!(error.message().starts_with(&format!("'{}", &value[..1000])));
            assert!(error.message().ends_with("' is no number"));
        }
    }
}
