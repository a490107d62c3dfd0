//! The transactions that are open and the statements that run, for those who look and end them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use nakshi_io::CancelToken;
use nakshi_query::{
    Class, Ended, Map, QueryError, RunningStatement, RunningTransaction, Transactions, User,
};
use tokio::sync::Notify;

use crate::access::{Asker, Identity, Role};
use crate::error::Result;
use crate::journal::{Journal, Told};

/// Beginning of the ids of transactions.
const TRANSACTION: &str = "neo4j-transaction-";

/// The transactions of a server.
pub(crate) struct Running {
    next: AtomicU64,
    known: Mutex<BTreeMap<u64, Arc<Entry>>>,
    journal: Arc<Journal>,
}

/// A transaction, or a statement of its own.
struct Entry {
    number: u64,
    asker: Arc<Asker>,
    began: SystemTime,
    metadata: Map,
    /// Stops its statements.
    cancel: CancelToken,
    terminated: AtomicBool,
    /// Tells whoever waits for the client.
    told: Notify,
    statement: Mutex<Option<RunningStatement>>,
}

impl Entry {
    fn statement(&self) -> MutexGuard<'_, Option<RunningStatement>> {
        self.statement.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    pub(crate) fn new(journal: &Arc<Journal>) -> Arc<Self> {
        let journal = Arc::clone(journal);
        Arc::new(Running { next: 1.into(), known: Mutex::default(), journal })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Entry>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client by whose statement `user` asks.
    fn asker_of(&self, user: &User) -> Arc<Asker> {
        let known = self.known();
        let is = |asker: &&Arc<Asker>| {
            asker.identity.name == user.name && asker.client() == *user.client
        };
        let found = known.values().map(|entry| &entry.asker).find(is).cloned();
        found.unwrap_or_else(|| {
            let role = if user.is_admin { Role::Admin } else { Role::Reader };
            let identity = Identity { name: Arc::clone(&user.name), role };
            let address = user.client.parse().ok();
            Arc::new(Asker { identity, address, protocol: "", connection: String::new() })
        })
    }

    /// Shows a transaction that begins. `server` is set when the server ends.
    pub(crate) fn show(
        self: &Arc<Self>,
        asker: &Arc<Asker>,
        metadata: Map,
        server: &CancelToken,
    ) -> Shown {
        let number = self.next.fetch_add(1, SeqCst);
        let entry = Arc::new(Entry {
            number,
            asker: Arc::clone(asker),
            began: SystemTime::now(),
            metadata,
            cancel: server.child(),
            terminated: false.into(),
            told: Notify::new(),
            statement: Mutex::default(),
        });
        self.known().insert(number, Arc::clone(&entry));
        Shown(Arc::new(Kept { running: Arc::clone(self), entry }))
    }
}

impl Transactions for Running {
    fn running(&self) -> Vec<RunningTransaction> {
        let known: Vec<Arc<Entry>> = self.known().values().cloned().collect();
        let one = |entry: Arc<Entry>| RunningTransaction {
            id: format!("{TRANSACTION}{}", entry.number),
            user: Arc::clone(&entry.asker.identity.name),
            connection: entry.asker.connection.clone(),
            client: entry.asker.client(),
            protocol: entry.asker.protocol,
            began: entry.began,
            is_terminated: entry.terminated.load(SeqCst),
            metadata: entry.metadata.clone(),
            statement: entry.statement().clone(),
        };
        known.into_iter().map(one).collect()
    }

    fn terminate(&self, id: &str, user: &User) -> Result<Ended, QueryError> {
        let number = id.strip_prefix(TRANSACTION).and_then(|number| number.parse::<u64>().ok());
        let found = number.and_then(|number| self.known().get(&number).cloned());
        let found = found.filter(|entry| user.is_admin || entry.asker.identity.name == user.name);
        let asker = self.asker_of(user);
        let unwritten = |error: crate::error::Error| {
            QueryError::run(Class::Store, error.kind.name(), error.message)
        };
        self.journal.ready().map_err(unwritten)?;
        let outcome = if found.is_some() { "ok" } else { "refused" };
        let told = Told { event: "terminate", transaction: Some(id), outcome, ..Told::default() };
        self.journal.tell(&asker, &told);
        let Some(entry) = found else { return Ok(Ended::NotFound) };
        entry.terminated.store(true, SeqCst);
        entry.cancel.cancel();
        entry.told.notify_one();
        Ok(Ended::Terminated(Arc::clone(&entry.asker.identity.name)))
    }
}

/// A transaction that is shown, until the last clone of this is dropped.
#[derive(Clone)]
pub(crate) struct Shown(Arc<Kept>);

struct Kept {
    running: Arc<Running>,
    entry: Arc<Entry>,
}

impl Shown {
    /// The id of the transaction.
    pub(crate) fn id(&self) -> String {
        format!("{TRANSACTION}{}", self.0.entry.number)
    }

    /// The client.
    pub(crate) fn asker(&self) -> &Arc<Asker> {
        &self.0.entry.asker
    }

    /// Is cancelled when the transaction is ended, or the server ends.
    pub(crate) fn cancel(&self) -> &CancelToken {
        &self.0.entry.cancel
    }

    /// Shows a statement that runs.
    pub(crate) fn show_statement(&self, text: &Arc<str>, parameters: &Map) {
        let number = self.0.running.next.fetch_add(1, SeqCst);
        *self.0.entry.statement() = Some(RunningStatement {
            id: format!("query-{number}"),
            text: Arc::clone(text),
            parameters: parameters.clone(),
            began: SystemTime::now(),
        });
    }

    /// Shows that no statement runs.
    pub(crate) fn hide_statement(&self) {
        *self.0.entry.statement() = None;
    }

    /// Returns true once somebody has asked to end it.
    pub(crate) fn is_terminated(&self) -> bool {
        self.0.entry.terminated.load(SeqCst)
    }

    /// Returns when somebody asks to end it.
    pub(crate) async fn terminated(&self) {
        // The word is kept for whoever waits later.
        while !self.is_terminated() {
            self.0.entry.told.notified().await;
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.running.known().remove(&self.entry.number);
    }
}

/// The message for the client of a transaction that somebody has ended.
pub(crate) const TERMINATED: &str =
    "the transaction was terminated: somebody has asked the server to end it";
