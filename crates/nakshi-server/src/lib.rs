//! A server of one property graph, and its client, over gRPC.
//!
//! - [`Server`] answers queries and takes changes of a store, within [`Limits`]; [`Tokens`] and
//!   [`Certificate`] say who may ask
//! - [`Client`] has the queries of a property graph by the trait [`Queries`], its changes and
//!   [`RemoteTransaction`]s
//! - [`Client::ask_each`] asks many [`requests`] without waiting in between
//! - [`v1`] has the messages, from `proto/nakshi/v1/graph.proto`
//!
//! The modules inside: `wire` translates ids, values and changes into messages and back, `answer` runs a
//! query, `runs` runs an algorithm in a process of its own, `recruiting` begins its workers on the servers of all shares, on each of
//! which `work` has one, `copies` sends whole stores and `fetch` receives them, `parts` cuts long answers, `session` runs a
//! transaction step by step, and `service` joins
//! them to the interface. `outcomes` remembers what became of
//! commits, so that a repeated one is not made twice. `running` has the transactions that are open, and `journal` writes down what
//! was changed and what took long. `metrics` counts calls, and `http` shows what it has counted; `logs`
//! has the lines for the operator. `replication` has several servers agree on the commits of one graph;
//! `placement` deals its nodes to them, `gateway` sends queries to where their data are, and `moving` moves
//! buckets of nodes between them, for the client of `move_client`.

#![deny(missing_docs)]

mod access;
mod answer;
mod asking;
mod bolt;
mod channel;
mod client;
mod commits;
mod connection;
mod copies;
mod cypher;
mod deposed;
mod early;
mod error;
mod failure;
mod fetch;
pub mod fuzzing;
mod gateway;
mod http;
mod in_flight;
mod journal;
mod limits;
mod lines;
mod login;
mod logs;
mod metrics;
mod move_client;
mod moving;
mod outcomes;
mod paces;
mod packstream;
mod parts;
mod placement;
mod queries;
mod query_api;
mod recruiting;
mod remote_transaction;
mod replication;
pub mod requests;
mod running;
mod runs;
mod serve;
mod served;
mod service;
mod session;
mod streams;
mod users;
mod wire;
mod work;

pub use access::{Certificate, Role, Tokens};
pub use asking::RemoteRows;
pub use client::{Client, ConnectOptions, Ran};
pub use early::RemoteCommit;
pub use error::{Error, ErrorKind, Result};
pub use fetch::fetch;
pub use journal::JournalOptions;
pub use limits::Limits;
pub use logs::{LogFormat, log_to_stderr};
pub use queries::{Edge, FoundEdge, Queries, RemoteRecord};
pub use remote_transaction::RemoteTransaction;
pub use replication::GroupOptions;
pub use serve::{ServeOptions, Server};
pub use users::{Users, hash_password};

/// The messages of the interface, generated from `proto/nakshi/v1/graph.proto`, which describes them.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    tonic::include_proto!("nakshi.v1");
}
