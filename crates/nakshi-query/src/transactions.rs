//! Transactions that an operator sees and ends, of whoever runs many at once.

use std::sync::Arc;
use std::time::{Duration as Elapsed, SystemTime, UNIX_EPOCH};

use chrono::DateTime as Utc;

use super::error::{QueryError, Result};
use super::procedure::{Called, Caller, Procedure, ProcedureType, Signature, User};
use super::temporal::{DateTime, Duration, Zone};
use super::value::{Map, Row, Value};

/// The procedure that `SHOW TRANSACTIONS` calls. A name is short, so that a call of it fits the command's place.
pub(crate) const SHOW: &str = "tx.show";
/// The procedure that `TERMINATE TRANSACTIONS` calls.
pub(crate) const TERMINATE: &str = "tx.terminate";
/// Most ids of a command.
const MOST: usize = 64;

/// A statement that runs, or a transaction that is open.
#[derive(Clone, Debug)]
pub struct RunningTransaction {
    /// Its id, by which it is ended.
    pub id: String,
    /// Who runs it.
    pub user: Arc<str>,
    /// The id of its connection.
    pub connection: String,
    /// Address of the client; empty if it is not known.
    pub client: String,
    /// How the client asks: `bolt`, `http` or `nakshi`.
    pub protocol: &'static str,
    /// When it began.
    pub began: SystemTime,
    /// True once it was asked to end.
    pub is_terminated: bool,
    /// The client's own description of it.
    pub metadata: Map,
    /// The statement that runs, if one does.
    pub statement: Option<RunningStatement>,
}

/// A statement that runs.
#[derive(Clone, Debug)]
pub struct RunningStatement {
    /// Its id.
    pub id: String,
    /// Its text, as it was sent.
    pub text: Arc<str>,
    /// Its parameters.
    pub parameters: Map,
    /// When it began.
    pub began: SystemTime,
}

/// Outcome of ending a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was this user's, and ends.
    Terminated(Arc<str>),
    /// There is none, or not for this user to see.
    NotFound,
}

/// The transactions of a server.
pub trait Transactions: Send + Sync {
    /// All transactions, those of others as well.
    fn running(&self) -> Vec<RunningTransaction>;

    /// Ends a transaction, if `user` may.
    ///
    /// # Errors
    /// A server that cannot write down that it was asked to.
    fn terminate(&self, id: &str, user: &User) -> Result<Ended>;
}

/// No transactions, of whoever runs one at a time.
pub(crate) struct NoTransactions;

impl Transactions for NoTransactions {
    fn running(&self) -> Vec<RunningTransaction> {
        Vec::new()
    }

    fn terminate(&self, _id: &str, _user: &User) -> Result<Ended> {
        Ok(Ended::NotFound)
    }
}

/// Columns that `SHOW TRANSACTIONS` has without being asked for others.
pub(crate) const SHOWN: [&str; 10] = [
    "database",
    "transactionId",
    "currentQueryId",
    "connectionId",
    "clientAddress",
    "username",
    "currentQuery",
    "startTime",
    "status",
    "elapsedTime",
];

/// The other columns.
const MORE: [&str; 8] = [
    "outerTransactionId",
    "metaData",
    "parameters",
    "currentQueryStartTime",
    "protocol",
    "currentQueryStatus",
    "statusDetails",
    "currentQueryElapsedTime",
];

/// Columns of `TERMINATE TRANSACTIONS`.
pub(crate) const ENDED: [&str; 3] = ["transactionId", "username", "message"];

/// All columns of `SHOW TRANSACTIONS`.
pub(crate) fn all_columns() -> impl Iterator<Item = &'static str> {
    SHOWN.into_iter().chain(MORE)
}

/// One of the two procedures.
pub(crate) struct Command {
    signature: Signature,
    shows: bool,
    transactions: Arc<dyn Transactions>,
}

impl Command {
    /// The procedure of a name, if it is one of the two.
    pub(crate) fn find(name: &str, transactions: &Arc<dyn Transactions>) -> Option<Self> {
        let columns: Vec<&str> = match name {
            SHOW => all_columns().collect(),
            TERMINATE => ENDED.into(),
            _ => return None,
        };
        let any = |name: String| (name, ProcedureType::Any);
        let shows = name == SHOW;
        let signature = Signature {
            arguments: (1..=MOST).map(|number| any(format!("id{number}"))).collect(),
            optional: if shows { MOST } else { MOST - 1 },
            columns: columns.into_iter().map(|name| any(name.to_owned())).collect(),
        };
        Some(Command { signature, shows, transactions: Arc::clone(transactions) })
    }
}

impl Procedure for Command {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> &str {
        match self.shows {
            true => "Transactions that are open, and statements that run.",
            false => "Ends transactions.",
        }
    }

    fn call(&self, caller: &Caller<'_>, arguments: &[Value]) -> Result<Called> {
        let mut ids = Vec::new();
        arguments.iter().try_for_each(|argument| add_ids(argument, &mut ids))?;
        let rows = match self.shows {
            true => {
                let wanted = |one: &RunningTransaction| {
                    (ids.is_empty() || ids.iter().any(|id| **id == *one.id))
                        && (caller.user.is_admin || caller.user.name == one.user)
                };
                let running = self.transactions.running().into_iter().filter(wanted);
                running.map(|one| row(&one)).collect::<Vec<Row>>()
            }
            false => {
                let ended = |id: Arc<str>| {
                    let (user, message) = match self.transactions.terminate(&id, caller.user)? {
                        Ended::Terminated(user) => (Value::String(user), "Transaction terminated."),
                        Ended::NotFound => (Value::Null, "Transaction not found."),
                    };
                    Ok(vec![Value::String(id), user, Value::text(message)])
                };
                ids.into_iter().map(ended).collect::<Result<_>>()?
            }
        };
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}

/// Adds the ids of an argument: a text, or a list of texts.
fn add_ids(argument: &Value, ids: &mut Vec<Arc<str>>) -> Result<()> {
    match argument {
        Value::Null => Ok(()),
        Value::String(id) => {
            ids.push(Arc::clone(id));
            Ok(())
        }
        Value::List(items) => items.iter().try_for_each(|item| add_ids(item, ids)),
        other => {
            let message = format!("{other} is no id of a transaction, which is a text");
            Err(QueryError::of_type(message))
        }
    }
}

fn time(at: SystemTime) -> Value {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    let utc = Utc::from_timestamp(seconds, since.subsec_nanos()).map(|utc| utc.naive_utc());
    let at = utc.and_then(|utc| DateTime::of_utc(utc, Zone::UTC));
    // Neo4j has a text here.
    at.map_or(Value::Null, |at| Value::text(at.to_string()))
}

fn elapsed(since: SystemTime) -> Value {
    let elapsed: Elapsed = since.elapsed().unwrap_or_default();
    let millis = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
    let nanos = millis % 1000 * 1_000_000;
    let duration = Duration::of(0, 0, millis / 1000, nanos);
    duration.map_or(Value::Null, |found| Value::Duration(Arc::new(found)))
}

/// The row of `SHOW TRANSACTIONS`.
fn row(one: &RunningTransaction) -> Row {
    let text = |text: &str| Value::text(text);
    let none = || text("");
    let statement = one.statement.as_ref();
    let status = match one.is_terminated {
        true => "Terminated with reason: Status.Code[Neo.ClientError.Transaction.Terminated]",
        false => "Running",
    };
    let map = |map: &Map| Value::of_map(map.clone());
    vec![
        text("neo4j"),
        text(&one.id),
        statement.map_or_else(none, |statement| text(&statement.id)),
        text(&one.connection),
        text(&one.client),
        Value::String(Arc::clone(&one.user)),
        statement.map_or_else(none, |statement| Value::String(Arc::clone(&statement.text))),
        time(one.began),
        text(status),
        elapsed(one.began),
        none(),
        map(&one.metadata),
        statement.map_or_else(|| map(&Map::new()), |statement| map(&statement.parameters)),
        statement.map_or_else(none, |statement| time(statement.began)),
        text(one.protocol),
        statement.map_or_else(none, |_| text("running")),
        none(),
        statement.map_or(Value::Null, |statement| elapsed(statement.began)),
    ]
}
