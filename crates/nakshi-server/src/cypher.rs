//! Queries in Cypher of clients of Nakshi: their replies, one after the other.

use std::time::{Duration, Instant};

use boltr::packstream::decode_value;
use boltr::types::BoltValue;
use bytes::BytesMut;
use nakshi_io::CancelToken;
use nakshi_query::{Class, Cursor, Map, Options, Position, QueryError, Summary, User};

use crate::error::{Error, ErrorKind, Result};
use crate::journal::Watched;
use crate::packstream::{Encoder, parameters};
use crate::running::TERMINATED;
use crate::v1::cypher_reply::Reply;
use crate::v1::{CypherColumns, CypherFault, CypherReply, CypherRequest, CypherSummary};

/// Most rows of a reply.
const ROWS: usize = 1024;
/// Bytes of rows from which on a reply goes off.
const BYTES: usize = 256 << 10;

/// Limits of a query, and its right to change the graph.
pub(crate) struct Terms {
    pub(crate) time: Duration,
    pub(crate) memory: u64,
    /// Why it may not change the graph; `None` if it may.
    pub(crate) refusal: Option<Error>,
    pub(crate) cancel: CancelToken,
    pub(crate) user: User,
}

impl Terms {
    /// The options of a query that asks for less time or memory.
    fn options(&self, request: &CypherRequest) -> Options {
        let less = |wanted: u64, most: u64| if wanted == 0 { most } else { wanted.min(most) };
        let wanted = Duration::from_millis(request.milliseconds);
        let time = if wanted.is_zero() { self.time } else { wanted.min(self.time) };
        Options {
            cancel: self.cancel.clone(),
            deadline: Instant::now().checked_add(time),
            memory: Some(less(request.memory, self.memory)),
            read_only: self.refusal.is_some(),
            user: self.user.clone(),
            ..Options::default()
        }
    }
}

/// The parameters of a query.
///
/// # Errors
/// Bytes that are none.
pub(crate) fn given(request: &CypherRequest) -> Result<Map> {
    let wrong = |what: &str| Error::new(ErrorKind::Parameter, what);
    match decode_value(&mut BytesMut::from(request.parameters.as_slice())) {
        Ok(BoltValue::Dict(given)) => parameters(given).map_err(|why| wrong(&why.message)),
        _ => Err(wrong("the parameters are no dictionary")),
    }
}

/// Has `run` run a query and hands its replies to `takes`, until that returns false. `commit` is the number of the
/// state behind it. Its end is told to `watched`, unless it was cancelled, for which there is a cause.
///
/// # Errors
/// A change that the server refuses; a cancelled query. Errors of the query are a reply.
pub(crate) fn answer(
    request: &CypherRequest,
    terms: Terms,
    watched: &mut Watched,
    run: impl FnOnce(&Options) -> Result<Cursor, QueryError>,
    commit: impl Fn() -> u64,
    takes: impl Fn(CypherReply) -> bool,
) -> Result<()> {
    let send = |reply| takes(CypherReply { reply: Some(reply) });
    let ran = watched.work(|| run(&terms.options(request)));
    if ran.is_ok() {
        watched.ran();
    }
    let error = match ran.and_then(|cursor| tell(cursor, commit, watched, &send)) {
        Ok(()) => {
            watched.end(None);
            return Ok(());
        }
        Err(error) => error,
    };
    match terms.refusal {
        Some(refusal) if error.is_read_only() => {
            watched.end(Some((refusal.kind.name(), &refusal.message)));
            return Err(refusal);
        }
        // Or else the client has gone, and reads nothing.
        _ if error.class() == Class::Cancelled => {
            return Err(Error::new(ErrorKind::Unavailable, "the server ends"));
        }
        _ => {
            watched.end(Some((error.code(), error.message())));
            send(Reply::Fault(fault(&error)));
        }
    }
    Ok(())
}

/// The reply to a query that somebody has ended.
pub(crate) fn terminated() -> CypherReply {
    let error = QueryError::run(Class::Cancelled, "Terminated", TERMINATED);
    CypherReply { reply: Some(Reply::Fault(fault(&error))) }
}

/// Sends the columns, the rows and the summary.
fn tell(
    mut cursor: Cursor,
    commit: impl Fn() -> u64,
    watched: &mut Watched,
    send: &impl Fn(Reply) -> bool,
) -> Result<(), QueryError> {
    let names = cursor.columns().iter().map(ToString::to_string).collect();
    if !send(Reply::Columns(CypherColumns { names })) {
        return Ok(());
    }
    let (encoder, mut most) = (Encoder::for_rows(), 1);
    loop {
        let rows = watched.work(|| cursor.next(most))?;
        if rows.is_empty() {
            break;
        }
        watched.add_rows(rows.len());
        let mut out = BytesMut::new();
        encoder.rows(&mut out, &rows);
        // Rows that are long come in smaller replies next.
        most = if out.len() > BYTES { (most / 4).max(1) } else { (most * 4).min(ROWS) };
        if !send(Reply::Rows(out.to_vec())) {
            return Ok(());
        }
    }
    send(Reply::Summary(summary(&cursor.summary(), commit())));
    Ok(())
}

fn summary(found: &Summary, commit: u64) -> CypherSummary {
    let counters = &found.counters;
    CypherSummary {
        r#type: found.query_type.letters().to_owned(),
        plan: found.plan.clone(),
        nodes_created: counters.nodes_created,
        nodes_deleted: counters.nodes_deleted,
        relationships_created: counters.relationships_created,
        relationships_deleted: counters.relationships_deleted,
        properties_set: counters.properties_set,
        labels_added: counters.labels_added,
        labels_removed: counters.labels_removed,
        constraints_added: counters.constraints_added,
        constraints_removed: counters.constraints_removed,
        indexes_added: counters.indexes_added,
        indexes_removed: counters.indexes_removed,
        commit,
    }
}

fn fault(error: &QueryError) -> CypherFault {
    let narrow = |number: usize| u32::try_from(number).unwrap_or_default();
    let (line, column) = error.position().map_or((0, 0), |at| (narrow(at.line), narrow(at.column)));
    CypherFault { class: error.class().number(), message: error.message().to_owned(), line, column }
}

/// The error that a fault tells.
pub(crate) fn error_of(fault: CypherFault) -> QueryError {
    let class = Class::of_number(fault.class).unwrap_or(Class::Store);
    let position = Position { line: fault.line as usize, column: fault.column as usize };
    QueryError::told(class, fault.message, (fault.line > 0).then_some(position))
}
