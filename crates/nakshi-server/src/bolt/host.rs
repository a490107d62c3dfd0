//! The state that the connections of drivers share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use boltr::server::ConnectionState;
use boltr::types::{BoltDict, BoltValue};
use tokio::sync::OwnedSemaphorePermit;

use super::login::credentials;
use super::routes::Routes;
use crate::access::Asker;
use crate::failure::{DATABASE, Failure};
use crate::login::{From as Peer, log_in};
use crate::served::Served;

/// Version of Neo4j whose statements and answers these are.
const COMPATIBLE: &str = "5.26.0";
/// Seconds for which a client may keep a routing table of one server.
const ROUTES: i64 = 300;
/// Seconds for which it may keep that of several, of which another one may lead soon.
const ROUTES_OF_SEVERAL: i64 = 10;
/// Time that somebody waits whose credentials are wrong.
const WRONG: Duration = Duration::from_secs(1);
/// Time for which a client without a transaction may say nothing.
const SILENCE: Duration = Duration::from_secs(3600);

/// State that the connections share.
pub(crate) struct Bolt {
    pub(super) served: Arc<Served>,
    /// The address that it listens at.
    pub(super) address: SocketAddr,
    /// Number of the next connection.
    pub(super) next: AtomicU64,
    /// Where the other servers are; `None` without any.
    pub(super) routes: Option<Routes>,
}

impl Bolt {
    pub(crate) fn new(served: Arc<Served>, address: SocketAddr, routes: Option<Routes>) -> Self {
        Bolt { served, address, next: 1.into(), routes }
    }

    /// The id of a connection.
    pub(super) fn connection_id(&self) -> String {
        format!("bolt-{}", self.next.fetch_add(1, Relaxed))
    }

    /// The answer to HELLO.
    pub(super) fn greeting(&self, connection: &str) -> BoltDict {
        let server =
            format!("Neo4j/{COMPATIBLE} compatible (Nakshi {})", env!("CARGO_PKG_VERSION"));
        BoltDict::from([
            ("server".to_owned(), server.into()),
            ("connection_id".to_owned(), connection.into()),
            ("hints".to_owned(), BoltDict::new().into()),
        ])
    }

    /// The client that says this.
    pub(super) async fn log_in(&self, said: BoltDict, from: Peer) -> Result<Arc<Asker>, Failure> {
        log_in(&self.served, credentials(&said), from).await
    }

    /// Counts credentials that were refused, and makes the next try wait.
    pub(super) async fn refused(&self, failure: &Failure) {
        tracing::warn!(code = failure.code, message = failure.message.as_str(), "refused by Bolt");
        tokio::time::sleep(WRONG).await;
    }

    /// Tells the operator of a statement that failed.
    pub(super) fn failed(&self, failure: &Failure) {
        tracing::debug!(code = failure.code, message = failure.message.as_str(), "failed by Bolt");
    }

    /// Time for which a client in a state may say nothing.
    pub(super) fn idle(&self, state: ConnectionState) -> Duration {
        match state {
            ConnectionState::TxReady
            | ConnectionState::TxStreaming
            | ConnectionState::Streaming => self.served.limits.idle,
            _ => SILENCE,
        }
    }

    /// A place among the running calls.
    ///
    /// # Errors
    /// All places are taken.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let place = Arc::clone(&self.served.calls).try_acquire_owned();
        place.map_err(|_| Failure::overloaded(&self.served.limits))
    }

    /// The routing table. A server alone does everything; of several, the leader takes changes and all take the
    /// rest. `routing` has the address by which the client came.
    pub(super) async fn routes(&self, routing: &BoltDict) -> BoltDict {
        let (seconds, table) = match (&self.served.group, &self.routes) {
            (Some(group), Some(routes)) => {
                let own = self.served.bolt.clone().unwrap_or_default();
                let found = routes.find(group, &own).await;
                let leader = group.leader();
                let leads = |(server, _): &&(String, String)| Some(server) == leader.as_ref();
                let leading = found.iter().filter(leads).map(|(_, bolt)| bolt.clone()).collect();
                let all: Vec<String> = found.iter().map(|(_, bolt)| bolt.clone()).collect();
                (ROUTES_OF_SEVERAL, [("ROUTE", all.clone()), ("READ", all), ("WRITE", leading)])
            }
            _ => {
                let known = routing.get("address").and_then(BoltValue::as_str).map(str::to_owned);
                let own = vec![known.unwrap_or_else(|| self.address.to_string())];
                (ROUTES, ["ROUTE", "READ", "WRITE"].map(|role| (role, own.clone())))
            }
        };
        let server = |(role, addresses): (&str, Vec<String>)| -> BoltValue {
            let addresses = addresses.into_iter().map(BoltValue::from).collect::<Vec<_>>();
            let entries = [("addresses", addresses.into()), ("role", role.into())];
            BoltDict::from(entries.map(|(name, value): (&str, BoltValue)| (name.to_owned(), value)))
                .into()
        };
        let servers: Vec<BoltValue> = table.map(server).into();
        let table = [("ttl", seconds.into()), ("db", DATABASE.into()), ("servers", servers.into())];
        let table = table.map(|(name, value): (&str, BoltValue)| (name.to_owned(), value));
        BoltDict::from([("rt".to_owned(), BoltDict::from(table).into())])
    }

    /// Waits until this server has a commit.
    ///
    /// # Errors
    /// A commit that does not come in time.
    pub(super) async fn wait_for(&self, commit: u64) -> Result<(), Failure> {
        self.served.catch_up(commit).await.map_err(|error| {
            Failure::new("Neo.TransientError.Transaction.BookmarkTimeout", error.message)
        })
    }
}
