//! The graph over Bolt, the protocol of Neo4j's drivers: versions 4.4 and 5.0 to 5.4.
//!
//! - `version` agrees on a version, and says how versions differ
//! - `replies` writes messages to a client
//! - `login` finds out who it is
//! - `statements` has the results and the transaction of a client
//! - `routes` finds the servers of a graph for drivers
//! - `host` has what connections share
//! - `session` answers its messages in order
//! - `connection` reads them meanwhile, and `interrupts` has a RESET stop a statement that runs
//! - `room` tells the memory that a message takes
//! - `listener` accepts connections
//!
//! The codec of messages is that of crate `boltr`; its server keeps whole results in memory, so the loop is
//! our own. Protocol: <https://neo4j.com/docs/bolt/current/>.

mod connection;
mod host;
mod interrupts;
mod listener;
mod login;
mod replies;
mod room;
mod routes;
mod session;
mod statements;
mod version;

pub(crate) use connection::talk;
pub(crate) use host::Bolt;
pub(crate) use listener::serve;
