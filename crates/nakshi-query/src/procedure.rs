//! Procedures that a query can call; who makes a database hands them in.

use std::sync::Arc;
use std::time::Instant;

use nakshi_io::CancelToken;
use nakshi_property::PropertyGraph;

use super::error::Result;
use super::value::{Row, Value};

/// Type of an argument or of a column of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcedureType {
    /// Any value.
    Any,
    /// True or false.
    Bool,
    /// An integer.
    Int,
    /// A float, or an integer that becomes one.
    Float,
    /// An integer or a float.
    Number,
    /// Text.
    String,
    /// A list.
    List,
    /// A map.
    Map,
    /// A node.
    Node,
}

impl ProcedureType {
    /// Returns true if the type has a value. All types have null.
    pub(crate) fn has(self, value: &Value) -> bool {
        matches!(
            (self, value),
            (ProcedureType::Any, _)
                | (_, Value::Null)
                | (ProcedureType::Bool, Value::Bool(_))
                | (ProcedureType::Int, Value::Int(_))
                | (ProcedureType::Float | ProcedureType::Number, Value::Int(_) | Value::Float(_))
                | (ProcedureType::String, Value::String(_))
                | (ProcedureType::List, Value::List(_))
                | (ProcedureType::Map, Value::Map(_))
                | (ProcedureType::Node, Value::Node(_))
        )
    }
}

/// Names and types of the arguments and columns of a procedure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Arguments.
    pub arguments: Vec<(String, ProcedureType)>,
    /// Number of the last of them that a call may leave out, which are null then.
    pub optional: usize,
    /// Columns.
    pub columns: Vec<(String, ProcedureType)>,
}

/// Who asks a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Name; empty where users are not known.
    pub name: Arc<str>,
    /// Address; empty if it is not known.
    pub client: Arc<str>,
    /// True for those who see and end the transactions of all.
    pub is_admin: bool,
}

impl Default for User {
    /// Somebody who may do everything, as in a process of one's own.
    fn default() -> Self {
        User { name: Arc::default(), client: Arc::default(), is_admin: true }
    }
}

/// The query that calls a procedure.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'q> {
    /// The state that the query sees.
    pub graph: &'q PropertyGraph,
    /// Is cancelled when the query ends early.
    pub cancel: &'q CancelToken,
    /// When the query has to have ended.
    pub deadline: Option<Instant>,
    /// Bytes that the procedure may take; `None` for no limit.
    pub memory: Option<u64>,
    /// Who asks the query.
    pub user: &'q User,
}

/// The rows of a procedure, one by one.
pub type Called = Box<dyn Iterator<Item = Result<Row>> + Send>;

/// A procedure.
pub trait Procedure: Send + Sync {
    /// Its arguments and columns.
    fn signature(&self) -> &Signature;

    /// A sentence that says what it is for.
    fn about(&self) -> &str;

    /// Runs it, and returns its rows.
    ///
    /// # Errors
    /// Whatever it says.
    fn call(&self, caller: &Caller<'_>, arguments: &[Value]) -> Result<Called>;
}

/// The procedures that queries of a database can call.
pub trait Procedures: Send + Sync {
    /// The procedure of a name.
    fn find(&self, name: &str) -> Option<Arc<dyn Procedure>>;

    /// The names of all of them.
    fn names(&self) -> Vec<String>;
}

impl std::fmt::Debug for dyn Procedures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// No procedures.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProcedures;

impl Procedures for NoProcedures {
    fn find(&self, _name: &str) -> Option<Arc<dyn Procedure>> {
        None
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
