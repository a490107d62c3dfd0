//! Queries in Cypher of a client.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use nakshi_query::{Answer, Class, Counters, Map, QueryError, QueryType, Row, Summary};
use tonic::Streaming;

use crate::client::Client;
use crate::connection::Connection;
use crate::cypher::error_of;
use crate::error::{Error, ErrorKind, of_unknown_outcome};
use crate::packstream::{Encoder, rows};
use crate::remote_transaction::RemoteTransaction;
use crate::v1::cypher_reply::Reply;
use crate::v1::{CypherReply, CypherRequest, CypherSummary};

/// The rows of a query that a server runs. It ends when this is dropped.
pub struct RemoteRows {
    client: Arc<Client>,
    /// Where replies come from; `None` for a query in a transaction, whose replies have all come.
    source: Option<(Arc<Connection>, Streaming<CypherReply>)>,
    columns: Vec<Arc<str>>,
    rows: VecDeque<Row>,
    /// `None` until the last row has come.
    summary: Option<CypherSummary>,
}

impl std::fmt::Debug for RemoteRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteRows").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// The error of a server as that of a query; its detail is the name of its kind.
fn of_server(error: &Error) -> QueryError {
    let class = match error.kind {
        ErrorKind::Cancelled => Class::Cancelled,
        ErrorKind::Conflict => Class::Conflict,
        ErrorKind::Deadline => Class::Deadline,
        _ => Class::Store,
    };
    QueryError::run(class, error.kind.name(), error.message.clone())
}

/// The error of a query that another server has to run, and that has changed nothing.
fn moved(reply: Option<&CypherReply>) -> Option<Error> {
    match reply.and_then(|reply| reply.reply.as_ref()) {
        Some(Reply::Fault(fault)) if Class::of_number(fault.class) == Some(Class::Moved) => {
            Some(Error::new(ErrorKind::Moved, fault.message.clone()))
        }
        _ => None,
    }
}

/// The request of a query.
fn request(
    text: &str,
    parameters: &Map,
    timeout: Option<Duration>,
    memory: Option<u64>,
) -> CypherRequest {
    let mut encoded = BytesMut::new();
    Encoder::for_rows().map(&mut encoded, parameters);
    let milliseconds = timeout.map_or(0, |time| time.as_millis().max(1));
    CypherRequest {
        text: text.to_owned(),
        parameters: encoded.to_vec(),
        milliseconds: u64::try_from(milliseconds).unwrap_or(u64::MAX),
        memory: memory.unwrap_or_default(),
        at_least: 0,
    }
}

impl RemoteTransaction {
    /// Runs a query as part of the transaction: it sees the changes before it, and its own commit with them.
    /// One that fails leaves the transaction as it was. The rows are in memory when this returns.
    ///
    /// # Errors
    /// Errors of the query; those of the server, whose kinds are the details of the errors.
    pub fn query_cypher(
        &self,
        text: &str,
        parameters: &Map,
        timeout: Option<Duration>,
        memory: Option<u64>,
    ) -> Result<RemoteRows, QueryError> {
        let mut answer = RemoteRows::of(self.client(), None);
        let request = request(text, parameters, timeout, memory);
        let ran = self.run_cypher(request, |reply| answer.take(Some(reply)));
        ran.map_err(|error| of_server(&error))??;
        Ok(answer)
    }
}

impl Client {
    /// Runs a query in a transaction of its own. If the server is lost meanwhile, it is not run again, as it
    /// may have changed the graph.
    ///
    /// # Errors
    /// Errors of the query; those of the server, whose kinds are the details of the errors.
    pub fn query_cypher(
        self: &Arc<Self>,
        text: &str,
        parameters: &Map,
        timeout: Option<Duration>,
        memory: Option<u64>,
    ) -> Result<RemoteRows, QueryError> {
        let request =
            CypherRequest { at_least: self.seen(), ..request(text, parameters, timeout, memory) };
        let first = self.repeated(|connection| {
            let mut stub = connection.stub.clone();
            let request = request.clone();
            let call = async move { Ok(stub.cypher(request).await?.into_inner()) };
            let begun = self.wait(connection, call).and_then(|mut replies| {
                let reply = self.wait(connection, replies.message())?;
                Ok((Arc::clone(connection), replies, reply))
            });
            if let Some(moved) = begun.as_ref().ok().and_then(|(_, _, reply)| moved(reply.as_ref()))
            {
                return Err(moved);
            }
            match begun {
                // It may have run.
                Err(error) if error.kind == ErrorKind::Unavailable => Ok(Err(error)),
                begun => begun.map(Ok),
            }
        });
        let first = first.and_then(|first| first.map_err(|error| of_unknown_outcome(error, true)));
        let (connection, replies, reply) = first.map_err(|error| of_server(&error))?;
        let mut answer = RemoteRows::of(self, Some((connection, replies)));
        answer.take(reply)?;
        if answer.columns.is_empty() {
            // There are no rows to be taken before the counts of the changes.
            answer.fetch()?;
        }
        Ok(answer)
    }
}

impl RemoteRows {
    fn of(client: &Arc<Client>, source: Option<(Arc<Connection>, Streaming<CypherReply>)>) -> Self {
        let (columns, rows) = (Vec::new(), VecDeque::new());
        RemoteRows { client: Arc::clone(client), source, columns, rows, summary: None }
    }

    /// Takes a reply.
    fn take(&mut self, reply: Option<CypherReply>) -> Result<(), QueryError> {
        match reply.and_then(|reply| reply.reply) {
            Some(Reply::Columns(columns)) => {
                self.columns = columns.names.into_iter().map(Arc::from).collect();
            }
            Some(Reply::Rows(bytes)) => {
                self.rows.extend(rows(bytes).map_err(|error| of_server(&error))?);
            }
            Some(Reply::Summary(summary)) => {
                if self.source.is_some() {
                    self.client.note(summary.commit);
                }
                self.summary = Some(summary);
            }
            Some(Reply::Fault(fault)) => return Err(error_of(fault)),
            None => {
                let what = "the server has ended the query before its last row";
                return Err(of_server(&Error::new(ErrorKind::Unavailable, what)));
            }
        }
        Ok(())
    }

    /// Waits for rows, or for the summary behind the last.
    fn fetch(&mut self) -> Result<(), QueryError> {
        while self.rows.is_empty() && self.summary.is_none() {
            let Some((connection, replies)) = &mut self.source else { return Ok(()) };
            let reply = self.client.wait(connection, replies.message());
            self.take(reply.map_err(|error| of_server(&error))?)?;
        }
        Ok(())
    }
}

impl Answer for RemoteRows {
    fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }

    fn next(&mut self, most: usize) -> Result<Vec<Row>, QueryError> {
        self.fetch()?;
        let count = most.min(self.rows.len());
        Ok(self.rows.drain(..count).collect())
    }

    fn has_ended(&self) -> bool {
        self.summary.is_some() && self.rows.is_empty()
    }

    fn summary(&self) -> Summary {
        let Some(told) = &self.summary else {
            let query_type = QueryType::Read;
            let counters = Counters::default();
            return Summary { counters, query_type, plan: None, profiled: None };
        };
        let counters = Counters {
            nodes_created: told.nodes_created,
            nodes_deleted: told.nodes_deleted,
            relationships_created: told.relationships_created,
            relationships_deleted: told.relationships_deleted,
            properties_set: told.properties_set,
            labels_added: told.labels_added,
            labels_removed: told.labels_removed,
            constraints_added: told.constraints_added,
            constraints_removed: told.constraints_removed,
            indexes_added: told.indexes_added,
            indexes_removed: told.indexes_removed,
        };
        let query_type = QueryType::of_letters(&told.r#type);
        Summary { counters, query_type, plan: told.plan.clone(), profiled: None }
    }
}
