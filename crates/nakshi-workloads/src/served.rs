//! The queries of TAO and Graph Search, asked of a server. They are drawn from a store with the same graph.

use nakshi_io::CancelToken;
use nakshi_property::{Condition, PropertyGraph, QueryOrder, Value};
use nakshi_server::v1::query_request::Query as Message;
use nakshi_server::v1::{Answer, QueryRequest};
use nakshi_server::{Client, Queries, requests};
use nakshi_store::{Error, Result};

use crate::queries::{Config, Draw, LIMIT, Measured, Query, alone, shares, together};

/// Queries that a thread asks at once in the mix.
const AT_ONCE: usize = 64;

fn failed(error: nakshi_server::Error) -> Error {
    Error::Invalid(error.to_string())
}

/// A query as a message.
fn message(query: &Query) -> Result<Message> {
    let order = QueryOrder::default();
    let is = |(name, value): &(String, Value)| (name.clone(), Condition::from(value.clone()));
    let made = match query {
        Query::AssocRange(id, ty) => Ok(requests::assoc_range(id, ty, 0, LIMIT)),
        Query::ObjGet(id) => Ok(requests::object(id)),
        Query::AssocGet(id, ty, others) => Ok(requests::assoc_get(id, ty, others, None, None)),
        Query::AssocCount(id, ty) => Ok(requests::assoc_count(id, ty)),
        Query::AssocTimeRange(id, ty, low, high) => {
            Ok(requests::assoc_time_range(id, ty, Some(*low), Some(*high), LIMIT))
        }
        Query::Friends(id) => requests::neighbors(id, None, &[], &order),
        Query::FriendsWith(id, pair) => {
            let (name, value) = is(pair);
            requests::neighbors(id, None, &[(&name, value)], &order)
        }
        Query::Find([a, b]) => {
            let ((a, x), (b, y)) = (is(a), is(b));
            requests::nodes(&[(&a, x), (&b, y)], &order)
        }
        Query::FriendsBy(id, ty) => requests::neighbors(id, Some(ty), &[], &order),
        Query::FriendsData(id, ty) => Ok(requests::assoc_range(id, ty, 0, i64::MAX.unsigned_abs())),
        Query::OneProperty(id, name) => {
            Ok(requests::node_properties(std::slice::from_ref(id), Some(&[name])))
        }
    };
    made.map_err(failed)
}

/// Number of values, edges or nodes in an answer; a count itself.
fn results(answer: &Answer) -> usize {
    let properties: usize = answer.properties.iter().map(|one| one.properties.len()).sum();
    // Lossless: counts of lists that fit in memory.
    properties + answer.ids.len() + answer.edges.len() + answer.count.unwrap_or(0) as usize
}

/// Runs a workload: each class alone, one query after the other, and then the mix, in which each thread has a
/// connection and asks 64 queries at once. Answers to the first thousand queries of each class are
/// compared with those of the store.
///
/// # Errors
/// As [`crate::queries::run`]; [`Error::Invalid`] for an answer that is not that of the store, and for
/// errors of the server.
pub fn run(
    graph: &PropertyGraph,
    clients: &[Client],
    config: &Config,
    cancel: &CancelToken,
) -> Result<Measured> {
    let one = clients.first().ok_or(Error::Internal("a workload without a client"))?;
    let ask = |query: &Query| {
        let request = QueryRequest { query: Some(message(query)?), ..QueryRequest::default() };
        one.ask(request).map(|answer| results(&answer)).map_err(failed)
    };
    let mut draw = Draw::new(graph, config, cancel)?;
    let mut classes = Vec::new();
    for &(name, share) in shares(config.mix) {
        let queries = draw.queries(name, config.queries)?;
        for query in queries.iter().take(1000) {
            let (here, there) = (query.run(graph)?, ask(query)?);
            if here != there {
                let what =
                    format!("the server has {there} results of {name}, the store has {here}");
                return Err(Error::Invalid(what));
            }
        }
        classes.push(alone(name, share, &queries, ask, cancel)?);
    }
    let all = draw.mix(config)?;
    let run = |thread: usize, some: &[Query]| -> Result<()> {
        let client = clients.get(thread).unwrap_or(one);
        let messages = some.iter().map(message).collect::<Result<Vec<_>>>()?;
        let answers = client.ask_each(messages).map_err(failed)?;
        answers.into_iter().try_for_each(|answer| answer.map(drop).map_err(failed))
    };
    let threads = clients.len();
    let seconds = together(&all, threads, AT_ONCE, run, cancel)?;
    let rate = all.len() as f64 / seconds;
    Ok(Measured { classes, threads, queries: all.len(), seconds, rate })
}
