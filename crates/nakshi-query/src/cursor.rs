//! Results of queries.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{PropertyGraph, Transaction};

use super::error::Result;
use super::exec::{
    BATCH, Context, Counters, Held, Limits, Profile, Source, Work, Writer, open, open_profiled,
};
use super::plan::{Plan, Prepared};
use super::procedure::{Procedures, User};
use super::stack::with_room;
use super::value::{Map, Row, Value, weight_of};
use super::view::View;

/// Limits of a query.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Ends the query when it is cancelled.
    pub cancel: CancelToken,
    /// Is asked every 25 ms, by the thread that runs the query, and ends it by true.
    pub stop: Option<fn() -> bool>,
    /// When the query has to have ended.
    pub deadline: Option<Instant>,
    /// Bytes that its rows, its groups and the changes of its transaction may take; no limit by default.
    pub memory: Option<u64>,
    /// True to refuse changes.
    pub read_only: bool,
    /// Who asks.
    pub user: User,
}

impl Options {
    /// Options with a time to run for.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Options { deadline: Instant::now().checked_add(timeout), ..self }
    }
}

/// Kind of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryType {
    /// It reads.
    Read,
    /// It changes the graph, and has no columns.
    Write,
    /// It changes the graph, and has columns.
    ReadWrite,
    /// It changes constraints or indexes.
    Schema,
}

impl QueryType {
    /// The kind of these letters.
    pub fn of_letters(letters: &str) -> Self {
        match letters {
            "w" => QueryType::Write,
            "rw" => QueryType::ReadWrite,
            "s" => QueryType::Schema,
            _ => QueryType::Read,
        }
    }

    /// The letters that Neo4j's drivers know.
    pub fn letters(self) -> &'static str {
        match self {
            QueryType::Read => "r",
            QueryType::Write => "w",
            QueryType::ReadWrite => "rw",
            QueryType::Schema => "s",
        }
    }
}

/// Counts, kind and plan of a query: all but its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Counts of its changes.
    pub counters: Counters,
    /// Its kind.
    pub query_type: QueryType,
    /// Its plan, as lines of text; `None` unless `EXPLAIN` or `PROFILE` has asked for it.
    pub plan: Option<String>,
    /// Rows of the last operator, if `PROFILE` has counted the work of all.
    pub profiled: Option<u64>,
}

/// The rows of a query, and what it did: of a [`Cursor`], or of a query on another machine.
pub trait Answer: Send {
    /// Names of the columns.
    fn columns(&self) -> &[Arc<str>];

    /// The next rows, at most `most`, and fewer if they are large; none behind the last.
    ///
    /// # Errors
    /// Errors of the query, which has ended then.
    fn next(&mut self, most: usize) -> Result<Vec<Row>>;

    /// Returns true if it is known that there are no more rows.
    fn has_ended(&self) -> bool;

    /// Counts, kind and plan; the counts are complete when the changes are made.
    fn summary(&self) -> Summary;
}

impl Answer for Cursor {
    fn columns(&self) -> &[Arc<str>] {
        Cursor::columns(self)
    }

    fn next(&mut self, most: usize) -> Result<Vec<Row>> {
        Cursor::next(self, most)
    }

    fn has_ended(&self) -> bool {
        self.source.is_none() && self.rows.len() == 0
    }

    fn summary(&self) -> Summary {
        Cursor::summary(self)
    }
}

/// The rows of a query, which runs as they are taken.
pub struct Cursor {
    prepared: Arc<Prepared>,
    context: Context,
    /// `None` when there are no more rows to come from it.
    source: Option<Box<dyn Source>>,
    /// Rows that are there already.
    rows: std::vec::IntoIter<Row>,
    /// The memory of all rows of a query that changes the graph.
    held: Option<Held>,
    counters: Counters,
    /// Rows that the operators are asked for next.
    batch: usize,
    /// Time that its rows took so far.
    worked: Duration,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").field("columns", &self.prepared.columns).finish_non_exhaustive()
    }
}

impl Cursor {
    pub(crate) fn new(
        prepared: Arc<Prepared>,
        parameters: Arc<Map>,
        graph: PropertyGraph,
        procedures: &Arc<dyn Procedures>,
        csv_folder: Option<Arc<Path>>,
        options: &Options,
    ) -> Self {
        let memory = options.memory.unwrap_or(u64::MAX);
        let (cancel, user) = (options.cancel.clone(), options.user.clone());
        let limits = Limits::new(cancel, options.stop, options.deadline, memory, user);
        let open = if prepared.profile { open_profiled } else { open };
        let source = open(&prepared.root, &vec![Value::Null; prepared.width]);
        let context = Context {
            view: Arc::new(View::new(graph)),
            prepared: Arc::clone(&prepared),
            parameters,
            limits: Arc::new(limits),
            procedures: Arc::clone(procedures),
            csv_folder,
            open,
            writer: None,
            profile: Arc::new(Profile::default()),
        };
        let source = (!prepared.explain).then_some(source);
        let (rows, counters) = (Vec::new().into_iter(), Counters::default());
        Cursor {
            prepared,
            context,
            source,
            rows,
            held: None,
            counters,
            batch: 1,
            worked: Duration::ZERO,
        }
    }

    /// Returns true for a query that changes the graph when it runs.
    pub(crate) fn writes(&self) -> bool {
        self.prepared.writes && !self.prepared.explain
    }

    /// Returns true for a query that commits while it runs.
    pub(crate) fn commits(&self) -> bool {
        self.prepared.commits && !self.prepared.explain
    }

    /// Runs to the end in a transaction, which it returns. The rows stay in memory.
    pub(crate) fn run_to_end(
        &mut self,
        transaction: Transaction,
    ) -> (Result<()>, Option<Transaction>) {
        self.context.writer = Some(Writer::new(transaction, Held::new(&self.context.limits)));
        let ran = with_room(self.prepared.deep, || self.all_rows());
        let writer = self.context.writer.take();
        self.counters = writer.as_ref().map(|writer| writer.counters).unwrap_or_default();
        let ran = ran.map(|rows| self.rows = rows.into_iter());
        (ran, writer.map(|writer| writer.transaction))
    }

    fn all_rows(&mut self) -> Result<Vec<Row>> {
        let mut all = Vec::new();
        let Some(mut source) = self.source.take() else { return Ok(all) };
        let mut held = Held::new(&self.context.limits);
        loop {
            let rows = source.next(&mut self.context, BATCH)?;
            if rows.is_empty() {
                self.held = Some(held);
                return Ok(all);
            }
            if self.prepared.slots.is_empty() {
                continue;
            }
            for row in rows {
                self.context.limits.step()?;
                let row = self.columns_of(row)?;
                held.take_row(&row)?;
                all.push(row);
            }
        }
    }

    /// The values of the columns, with all that a result shows.
    fn columns_of(&self, row: Row) -> Result<Row> {
        let slots = self.prepared.slots.iter();
        let values =
            slots.map(|slot| self.context.view.whole(row.get(*slot).cloned().unwrap_or_default()));
        values.collect()
    }

    /// Names of the columns.
    pub fn columns(&self) -> &[Arc<str>] {
        &self.prepared.columns
    }

    /// The next rows, at most `most`, and fewer if they are large; none behind the last.
    ///
    /// # Errors
    /// Errors of the query, which has ended then.
    pub fn next(&mut self, most: usize) -> Result<Vec<Row>> {
        let began = self.source.is_some().then(Instant::now);
        let rows = with_room(self.prepared.deep, || self.next_rows(most))?;
        if let Some(began) = began {
            self.worked += began.elapsed();
            if self.source.is_none() {
                self.prepared.pace.note(self.worked);
            }
        }
        Ok(rows)
    }

    /// Makes all rows, which stay in memory.
    ///
    /// # Errors
    /// Errors of the query.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let began = Instant::now();
        let rows = with_room(self.prepared.deep, || self.all_rows())?;
        self.worked = began.elapsed();
        self.prepared.pace.note(self.worked);
        self.rows = rows.into_iter();
        Ok(())
    }

    /// Returns true if all rows are in memory.
    pub fn is_whole(&self) -> bool {
        self.source.is_none()
    }

    fn next_rows(&mut self, most: usize) -> Result<Vec<Row>> {
        let mut out: Vec<Row> = self.rows.by_ref().take(most).collect();
        let Some(mut source) = self.source.take() else { return Ok(out) };
        let mut weight = 0_u64;
        while out.len() < most && weight <= self.context.limits.of_batch() {
            let wanted = self.batch.min(most - out.len());
            self.batch = (self.batch * 4).min(BATCH);
            let rows = source.next(&mut self.context, wanted)?;
            if rows.is_empty() {
                return Ok(out);
            }
            if self.prepared.slots.is_empty() {
                continue;
            }
            for row in rows {
                let row = self.columns_of(row)?;
                weight = weight.saturating_add(weight_of(&row));
                out.push(row);
            }
        }
        // Operators may hand on a few rows more than they are asked for.
        self.rows = out.split_off(most.min(out.len())).into_iter();
        self.source = Some(source);
        Ok(out)
    }

    /// Counts, kind and plan; the counts are complete when the changes are made.
    pub fn summary(&self) -> Summary {
        let returns = !self.prepared.columns.is_empty();
        let query_type = match (self.prepared.writes, returns) {
            _ if matches!(*self.prepared.root, Plan::Schema { .. }) => QueryType::Schema,
            (false, _) => QueryType::Read,
            (true, false) => QueryType::Write,
            (true, true) => QueryType::ReadWrite,
        };
        let (root, names) = (&self.prepared.root, &self.prepared.names);
        let work = |plan: &Plan| {
            let Work { rows, time } = self.context.profile.of(plan);
            format!("  rows {rows}, {:.3} ms", 1e3 * time.as_secs_f64())
        };
        let plan = match self.prepared.profile {
            true => Some(root.text(names, &work)),
            false => self.prepared.explain.then(|| root.text(names, &|_| String::new())),
        };
        let profiled = self.prepared.profile.then(|| self.context.profile.of(root).rows);
        Summary { counters: self.counters, query_type, plan, profiled }
    }
}
