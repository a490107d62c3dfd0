//! Databases and their transactions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{PropertyGraph, PropertyStore, Transaction as StoreTransaction};

use super::catalog::WithCatalog;
use super::cursor::{Cursor, Options};
use super::error::{Class, QueryError, Result};
use super::front;
use super::plan::Prepared;
use super::planner;
use super::procedure::{NoProcedures, Procedures};
use super::stack::with_room;
use super::transactions::{NoTransactions, Transactions};
use super::value::Map;

/// Plans that are kept.
const PLANS: usize = 1024;
/// Longest text whose plan is kept, in bytes.
const KEPT_TEXT: usize = 16 << 10;
/// How often a query that changes the graph runs again after a conflict.
const ATTEMPTS: usize = 100;
/// Conflicts after which it runs alone.
const PATIENCE: usize = 3;

/// Parameters of a query, by name.
pub type Parameters = Map;

/// If a transaction may change the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It only reads.
    Read,
    /// It may change the graph.
    Write,
}

/// Tells what became of commits of a store that no longer makes them, because another one does now.
pub trait Outcomes: Send + Sync {
    /// The number of a commit by its id, if it was made; if it was not, it is not made any more. `since` is the
    /// number of a commit before it.
    ///
    /// # Errors
    /// An outcome that cannot be known yet.
    fn find(&self, id: u128, since: u64) -> Result<Option<u64>>;
}

/// Where a graph comes from.
#[derive(Clone, Debug)]
enum Home {
    Store(Arc<PropertyStore>),
    Graph(PropertyGraph),
}

/// A property graph that is asked in Cypher. Any number of threads may use it, and a clone is cheap.
#[derive(Clone)]
pub struct Database {
    home: Home,
    procedures: Arc<dyn Procedures>,
    /// The folder that `LOAD CSV` may read from.
    csv_folder: Option<Arc<Path>>,
    /// `None` for a store that makes all commits.
    outcomes: Option<Arc<dyn Outcomes>>,
    plans: Arc<Mutex<HashMap<String, Arc<Prepared>>>>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("home", &self.home).finish_non_exhaustive()
    }
}

fn read_only() -> QueryError {
    QueryError::run(
        Class::Semantic,
        "ReadOnly",
        "the query changes the graph, which may only be read",
    )
}

impl Database {
    /// A database of a store.
    pub fn new(store: Arc<PropertyStore>) -> Self {
        Self::of(Home::Store(store))
    }

    /// A database of the state after one commit, which only reads.
    pub fn of_graph(graph: PropertyGraph) -> Self {
        Self::of(Home::Graph(graph))
    }

    fn of(home: Home) -> Self {
        Database {
            home,
            procedures: Arc::new(WithCatalog {
                others: Arc::new(NoProcedures),
                transactions: Arc::new(NoTransactions),
            }),
            csv_folder: None,
            outcomes: None,
            plans: Arc::default(),
        }
    }

    /// The same database with procedures.
    #[must_use]
    pub fn with_procedures(self, procedures: Arc<dyn Procedures>) -> Self {
        self.with_transactions(procedures, Arc::new(NoTransactions))
    }

    /// The same database with procedures, and with the transactions that `SHOW TRANSACTIONS` has.
    #[must_use]
    pub fn with_transactions(
        self,
        others: Arc<dyn Procedures>,
        transactions: Arc<dyn Transactions>,
    ) -> Self {
        let procedures = Arc::new(WithCatalog { others, transactions });
        Database { procedures, plans: Arc::default(), ..self }
    }

    /// The same database, whose queries may load files of a folder by `LOAD CSV`.
    #[must_use]
    pub fn with_csv_folder(self, folder: &Path) -> Self {
        Database { csv_folder: Some(Arc::from(folder)), ..self }
    }

    /// The same database of a store whose commits may pass to another one.
    #[must_use]
    pub fn with_outcomes(self, outcomes: Arc<dyn Outcomes>) -> Self {
        Database { outcomes: Some(outcomes), ..self }
    }

    /// Commits a transaction of the store. Returns the number of the commit, or of the state that was read.
    fn commit(&self, transaction: StoreTransaction, cancel: &CancelToken) -> Result<u64> {
        let (id, since) = (transaction.id(), transaction.begun());
        let error = match transaction.commit_until(cancel) {
            Ok(commit) => return Ok(commit),
            Err(error) => QueryError::from(error),
        };
        match &self.outcomes {
            Some(outcomes) if error.class() == Class::Moved => {
                let made = outcomes.find(id, since).map_err(QueryError::of_unknown_outcome)?;
                made.ok_or_else(|| {
                    let what = "another server makes the commits now, and this one was not made";
                    QueryError::run(Class::Moved, "Moved", what)
                })
            }
            _ => Err(error.of_unknown_outcome()),
        }
    }

    /// The graph after the last commit.
    pub fn snapshot(&self) -> PropertyGraph {
        match &self.home {
            Home::Store(store) => store.snapshot(),
            Home::Graph(graph) => graph.clone(),
        }
    }

    /// The plan of a text, which is made if it is not there.
    fn plan(&self, text: &str) -> Result<Arc<Prepared>> {
        let plans = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans().get(text) {
            return Ok(Arc::clone(plan));
        }
        let deep = front::is_deep(text);
        let plan = with_room(deep, || {
            let statement = front::statement(text, &*self.procedures)?;
            Ok::<_, QueryError>(Prepared { deep, ..planner::prepare(statement) })
        })?;
        let plan = Arc::new(plan);
        if text.len() <= KEPT_TEXT {
            let mut plans = plans();
            if plans.len() >= PLANS {
                plans.clear();
            }
            plans.insert(text.to_owned(), Arc::clone(&plan));
        }
        Ok(plan)
    }

    /// The same procedures and plans on the state after another commit, which is only read.
    #[must_use]
    pub fn at(&self, graph: PropertyGraph) -> Self {
        Database { home: Home::Graph(graph), ..self.clone() }
    }

    /// Returns true for a query that changes the graph or calls procedures, so that it may run for long
    /// without asking [`Options::stop`].
    ///
    /// # Errors
    /// Errors of the text.
    pub fn is_long(&self, text: &str) -> Result<bool> {
        let plan = self.plan(text)?;
        Ok(plan.writes || plan.calls)
    }

    /// Returns true for a query that changes the graph when it runs.
    ///
    /// # Errors
    /// Errors of the text.
    pub fn writes(&self, text: &str) -> Result<bool> {
        let plan = self.plan(text)?;
        Ok(plan.writes && !plan.explain)
    }

    /// The plan of a text that is known to take at most `time`.
    fn prompt_plan(&self, text: &str, time: Duration) -> Option<Arc<Prepared>> {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plans.get(text).filter(|plan| plan.only_reads() && plan.pace.is_within(time));
        plan.cloned()
    }

    /// Returns true for a query that only reads and took at most `time` when it ran last.
    pub fn is_prompt(&self, text: &str, time: Duration) -> bool {
        self.prompt_plan(text, time).is_some()
    }

    /// Runs a query to its end if it only reads and takes at most about `time`, as it did last; `None` if not,
    /// and then nothing of it has happened. For threads that may not be held up for longer.
    ///
    /// # Errors
    /// Errors of the query.
    pub fn run_promptly(
        &self,
        text: &str,
        parameters: &Parameters,
        options: &Options,
        time: Duration,
    ) -> Result<Option<Cursor>> {
        self.run_promptly_on(self.snapshot(), text, parameters, options, time)
    }

    fn run_promptly_on(
        &self,
        graph: PropertyGraph,
        text: &str,
        parameters: &Parameters,
        options: &Options,
        time: Duration,
    ) -> Result<Option<Cursor>> {
        let Some(prepared) = self.prompt_plan(text, time) else { return Ok(None) };
        let until = Instant::now() + time;
        let cut_short = options.deadline.is_none_or(|deadline| until < deadline);
        let deadline = if cut_short { Some(until) } else { options.deadline };
        let hurried = Options { deadline, ..options.clone() };
        let mut cursor = self.begun(Arc::clone(&prepared), parameters.clone(), graph, &hurried)?;
        match cursor.finish() {
            Ok(()) => Ok(Some(cursor)),
            Err(error) if cut_short && error.class() == Class::Deadline => {
                prepared.pace.note(Duration::MAX);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// A cursor that has not begun.
    fn cursor(
        &self,
        text: &str,
        parameters: Parameters,
        graph: PropertyGraph,
        options: &Options,
    ) -> Result<Cursor> {
        self.begun(self.plan(text)?, parameters, graph, options)
    }

    fn begun(
        &self,
        prepared: Arc<Prepared>,
        parameters: Parameters,
        graph: PropertyGraph,
        options: &Options,
    ) -> Result<Cursor> {
        if let Some(name) =
            prepared.parameters.iter().find(|name| !parameters.contains_key(&***name))
        {
            let message = format!("parameter '{name}' is missing");
            return Err(QueryError::compile(
                Class::ParameterMissing,
                "MissingParameter",
                message,
                None,
            ));
        }
        let (deep, parameters) = (prepared.deep, Arc::new(parameters));
        let folder = self.csv_folder.clone();
        let begin = || Cursor::new(prepared, parameters, graph, &self.procedures, folder, options);
        let cursor = with_room(deep, begin);
        if cursor.writes() && options.read_only {
            return Err(read_only());
        }
        Ok(cursor)
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// Those of the store; a graph without a store cannot be changed.
    pub fn begin(&self, mode: Mode) -> Result<Transaction> {
        let changes = match (mode, &self.home) {
            (Mode::Read, _) => None,
            (Mode::Write, Home::Store(store)) => Some(store.transaction()?),
            (Mode::Write, Home::Graph(_)) => return Err(read_only()),
        };
        Ok(Transaction { database: self.clone(), snapshot: self.snapshot(), changes })
    }

    /// Runs a query in a transaction of its own. A query that changes the graph has committed when this
    /// returns, and its rows are in memory; another one is run as its rows are taken.
    ///
    /// # Errors
    /// Errors of the query; after a conflict with others it runs again, up to a hundred times.
    pub fn run(&self, text: &str, parameters: Parameters, options: &Options) -> Result<Cursor> {
        let cursor = self.cursor(text, parameters.clone(), self.snapshot(), options)?;
        if !cursor.writes() {
            return Ok(cursor);
        }
        let Home::Store(store) = &self.home else { return Err(read_only()) };
        if cursor.commits() {
            let ran = self.run_and_commit(text, &parameters, store.transaction()?, options);
            return ran.map_err(QueryError::of_unknown_outcome);
        }
        let mut attempt = 0;
        loop {
            let transaction = match attempt < PATIENCE {
                true => store.transaction()?,
                false => store.transaction_alone()?,
            };
            attempt += 1;
            match self.run_and_commit(text, &parameters, transaction, options) {
                Err(error) if error.is_transient() && attempt < ATTEMPTS => {}
                done => return done,
            }
        }
    }

    /// Runs a query in a transaction of the store, as [`Transaction::run`] does.
    ///
    /// # Errors
    /// Errors of the query; a transaction that has ended.
    pub fn run_in(
        &self,
        transaction: &mut Option<StoreTransaction>,
        text: &str,
        parameters: Parameters,
        options: &Options,
    ) -> Result<Cursor> {
        let Some(begun) = transaction.as_ref() else {
            let message = "the transaction has ended; begin another one";
            return Err(QueryError::run(Class::Semantic, "TransactionEnded", message));
        };
        let mut cursor = self.cursor(text, parameters, begun.graph().clone(), options)?;
        if cursor.commits() {
            let message =
                "CALL { ... } IN TRANSACTIONS cannot be part of a transaction; run it alone";
            return Err(QueryError::run(Class::Semantic, "InTransactions", message));
        }
        let begun = match cursor.writes() {
            true => transaction.take(),
            false => None,
        };
        let Some(begun) = begun else { return Ok(cursor) };
        let before = begun.savepoint();
        let (ran, mut begun) = cursor.run_to_end(begun);
        let checked = |begun: &StoreTransaction| begun.check_constraints(&before);
        let ran = ran.and_then(|()| Ok(begun.as_ref().map_or(Ok(()), checked)?));
        if let (Err(_), Some(begun)) = (&ran, &mut begun) {
            begun.restore(before);
        }
        *transaction = begun;
        ran.map(|()| cursor)
    }

    fn run_and_commit(
        &self,
        text: &str,
        parameters: &Parameters,
        transaction: StoreTransaction,
        options: &Options,
    ) -> Result<Cursor> {
        let graph = transaction.graph().clone();
        let mut cursor = self.cursor(text, parameters.clone(), graph, options)?;
        let (ran, transaction) = cursor.run_to_end(transaction);
        match (ran, transaction) {
            (Ok(()), Some(transaction)) => {
                self.commit(transaction, &options.cancel)?;
                Ok(cursor)
            }
            (ran, transaction) => {
                transaction.map_or(Ok(()), StoreTransaction::roll_back)?;
                ran.map(|()| cursor)
            }
        }
    }
}

/// A transaction: queries that see the same state with each other's changes, of which all are made when it
/// commits, or none.
#[derive(Debug)]
pub struct Transaction {
    database: Database,
    snapshot: PropertyGraph,
    /// The changes so far; `None` if it only reads.
    changes: Option<StoreTransaction>,
}

impl Transaction {
    /// Runs a query. One that changes the graph has run to its end when this returns; if it fails, its
    /// changes are undone, and those of earlier queries stay.
    ///
    /// # Errors
    /// Errors of the query.
    pub fn run(&mut self, text: &str, parameters: Parameters, options: &Options) -> Result<Cursor> {
        match self.changes.is_some() {
            true => self.database.run_in(&mut self.changes, text, parameters, options),
            false => {
                let graph = self.snapshot.clone();
                let cursor = self.database.cursor(text, parameters, graph, options)?;
                if cursor.writes() { Err(read_only()) } else { Ok(cursor) }
            }
        }
    }

    /// As [`Database::run_promptly`], in the transaction.
    ///
    /// # Errors
    /// Errors of the query.
    pub fn run_promptly(
        &self,
        text: &str,
        parameters: &Parameters,
        options: &Options,
        time: Duration,
    ) -> Result<Option<Cursor>> {
        let graph = self.changes.as_ref().map_or(&self.snapshot, StoreTransaction::graph);
        self.database.run_promptly_on(graph.clone(), text, parameters, options, time)
    }

    /// Returns true if it cannot change the graph, so that its end takes no time.
    pub fn only_reads(&self) -> bool {
        self.changes.is_none()
    }

    /// Commits; returns the number of the commit, or of the state that was read.
    ///
    /// # Errors
    /// A conflict with what others have committed since the transaction began, of class
    /// [`Class::Conflict`]; errors of the store.
    pub fn commit(self) -> Result<u64> {
        match self.changes {
            Some(changes) => self.database.commit(changes, &CancelToken::new()),
            None => Ok(self.snapshot.commit()),
        }
    }

    /// Ends the transaction without its changes.
    ///
    /// # Errors
    /// Errors of the store, if what it has read may not be durable.
    pub fn roll_back(self) -> Result<()> {
        Ok(self.changes.map_or(Ok(()), StoreTransaction::roll_back)?)
    }
}
