//! openCypher on property graphs of Nakshi.
//!
//! A [`Database`] runs the text of a query, alone or in a [`Transaction`], and gives a [`Cursor`] over its
//! rows of [`Value`]s. Errors are [`QueryError`]s with a status code, a class and a place.
//!
//! A query passes these modules:
//!
//! 1. `front` reads the text with the crate `decypher`, and resolves names to the query of `ir`.
//! 2. `planner` makes a `plan`: an order of operators.
//! 3. `exec` runs the operators on a `view` of the graph; `eval` has the values of expressions, with
//!    `functions`, `arithmetic` and the comparisons of `order`.
//! 4. `stored` puts values into properties and back.

#![deny(missing_docs)]

mod arithmetic;
mod catalog;
mod cursor;
mod database;
mod error;
mod eval;
mod exec;
mod free;
mod front;
mod functions;
mod ir;
mod json;
mod order;
mod pace;
mod plan;
mod planner;
mod procedure;
mod rules;
mod schema;
mod stack;
mod stored;
mod survey;
mod temporal;
mod transactions;
mod types;
mod value;
mod view;

pub use cursor::{Answer, Cursor, Options, QueryType, Summary};
pub use database::{Database, Mode, Outcomes, Parameters, Transaction};
pub use error::{Class, Phase, Position, QueryError, Result};
pub use exec::Counters;
pub use procedure::{
    Called, Caller, NoProcedures, Procedure, ProcedureType, Procedures, Signature, User,
};
pub use temporal::{DateTime, Duration, Time, Zone};
pub use transactions::{Ended, RunningStatement, RunningTransaction, Transactions};
pub use value::{Map, Node, Path, Point, Relationship, Row, Value};
