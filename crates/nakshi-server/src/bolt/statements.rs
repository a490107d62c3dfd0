//! The results and the transaction of a client. Running, reading and ending them may take long.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boltr::types::{BoltDict, BoltValue};
use nakshi_io::CancelToken;
use nakshi_query::{Answer, Counters, Cursor, Map, Mode, Options, QueryError, Row, Transaction};
use tokio::sync::OwnedSemaphorePermit;

use crate::failure::{Failure, bookmark};
use crate::journal::Watched;
use crate::running::Shown;
use crate::served::Served;

/// Time that the task of a connection may work by itself. A thread that it would wait for takes a tenth of a
/// millisecond of the processor's time.
const PROMPT: Duration = Duration::from_micros(500);
/// Results that a client may have open at once.
const MOST_OPEN: usize = 1024;

/// What a client asks of a statement or a transaction, beside the statement.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// Why it may not change the graph; `None` if it may.
    pub(super) refusal: Option<Failure>,
    /// Time after which it is stopped.
    pub(super) time: Duration,
    /// Bytes that a statement may take.
    pub(super) memory: u64,
}

/// A statement that a client asks.
pub(super) struct Asked {
    pub(super) text: Arc<str>,
    pub(super) parameters: Map,
    pub(super) terms: Terms,
    pub(super) cancel: CancelToken,
}

/// Statements of a client.
pub(super) struct Statements {
    served: Arc<Served>,
    transaction: Option<Transaction>,
    /// True if a statement of the transaction has changed the graph.
    changed: bool,
    /// Terms of the transaction, and when its time is over.
    terms: Option<(Terms, Instant)>,
    /// The transaction, or a statement of its own, as others see it, with its place among the running calls.
    shown: Option<(Shown, OwnedSemaphorePermit)>,
    /// Results that are not read to their ends, by their numbers.
    open: BTreeMap<i64, Open>,
    /// The number of the next result of the transaction.
    next: i64,
}

/// A statement that is about to run.
struct Begun {
    watched: Watched,
    options: Options,
    /// Why it may not change the graph; `None` if it may.
    refusal: Option<Failure>,
}

/// A result that is not read to its end.
struct Open {
    cursor: Cursor,
    watched: Watched,
    /// The row after those that the client has.
    ahead: Option<Row>,
}

/// The answer to RUN: names of the columns, and the number of the result in a transaction.
pub(super) struct Ran {
    pub(super) columns: Vec<String>,
    pub(super) number: Option<i64>,
}

impl Statements {
    pub(super) fn new(served: Arc<Served>) -> Self {
        Statements {
            served,
            transaction: None,
            changed: false,
            terms: None,
            shown: None,
            open: BTreeMap::new(),
            next: 0,
        }
    }

    /// True if a result is not read to its end.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The transaction, or a statement of its own, as others see it; it has a place among the running calls.
    pub(super) fn shown(&self) -> Option<&Shown> {
        self.shown.as_ref().map(|(shown, _)| shown)
    }

    /// Takes a place among the running calls, until the transaction or the statement ends.
    pub(super) fn show(&mut self, shown: Shown, place: OwnedSemaphorePermit) {
        self.shown = Some((shown, place));
    }

    /// The error of a statement of a transaction that somebody has ended, or else `failure`.
    fn cause(&self, failure: Failure) -> Failure {
        match self.shown().is_some_and(Shown::is_terminated) {
            true => Failure::terminated(),
            false => failure,
        }
    }

    /// Begins a transaction.
    pub(super) fn begin(&mut self, terms: Terms) -> Result<(), Failure> {
        let mode = if terms.refusal.is_none() { Mode::Write } else { Mode::Read };
        self.transaction = Some(self.served.database.begin(mode)?);
        let until = Instant::now() + terms.time;
        self.terms = Some((terms, until));
        Ok(())
    }

    /// Runs a statement: in the transaction, or as one of its own.
    pub(super) fn run(&mut self, asked: Asked) -> Result<Ran, Failure> {
        let mut begun = self.begin_statement(&asked)?;
        let Asked { text, parameters, .. } = asked;
        let ran = begun.watched.work(|| match &mut self.transaction {
            Some(transaction) => transaction.run(&text, parameters, &begun.options),
            None => self.served.database.run(&text, parameters, &begun.options),
        });
        self.opened(begun, ran)
    }

    /// Runs a statement to its end without a thread of its own, if it only reads and takes no time; `None` if it
    /// is to be run by [`Statements::run`].
    pub(super) fn run_promptly(&mut self, asked: &Asked) -> Result<Option<Ran>, Failure> {
        let (text, parameters) = (&asked.text, &asked.parameters);
        if !self.served.database.is_prompt(text, PROMPT) {
            return Ok(None);
        }
        let mut begun = self.begin_statement(asked)?;
        let options = &begun.options;
        let ran = begun.watched.work(|| match &self.transaction {
            Some(transaction) => transaction.run_promptly(text, parameters, options, PROMPT),
            None => self.served.database.run_promptly(text, parameters, options, PROMPT),
        });
        match ran.transpose() {
            Some(ran) => self.opened(begun, ran).map(Some),
            None => {
                begun.watched.forget();
                Ok(None)
            }
        }
    }

    fn begin_statement(&self, asked: &Asked) -> Result<Begun, Failure> {
        if self.open.len() >= MOST_OPEN {
            let message = format!("{MOST_OPEN} results are open; read or discard some first");
            return Err(Failure::invalid(message));
        }
        let shown = self.shown().ok_or_else(Failure::internal)?;
        if shown.is_terminated() {
            return Err(Failure::terminated());
        }
        let watched = self.served.watch(shown, &asked.text, &asked.parameters)?;
        let (terms, until) = match &self.terms {
            Some((begun, until)) => (begun, *until),
            None => (&asked.terms, Instant::now() + asked.terms.time),
        };
        let options = Options {
            cancel: asked.cancel.clone(),
            deadline: Some(until),
            memory: Some(terms.memory),
            read_only: terms.refusal.is_some(),
            user: shown.asker().user(),
            ..Options::default()
        };
        Ok(Begun { watched, options, refusal: terms.refusal.clone() })
    }

    /// Keeps the result of a statement, until the client has read it.
    fn opened(&mut self, begun: Begun, ran: Result<Cursor, QueryError>) -> Result<Ran, Failure> {
        let Begun { mut watched, refusal, .. } = begun;
        let cursor = ran.map_err(|error| {
            let failure = self.cause(refused(error, refusal));
            failure.tell(&mut watched);
            failure
        })?;
        watched.ran();
        self.changed |= watched.writes() && self.transaction.is_some();
        let columns = cursor.columns().iter().map(ToString::to_string).collect();
        let number = self.next;
        self.next += 1;
        self.open.insert(number, Open { cursor, watched, ahead: None });
        Ok(Ran { columns, number: self.transaction.is_some().then_some(number) })
    }

    /// The number of the result that PULL or DISCARD means: one by its number, or the newest.
    ///
    /// # Errors
    /// A result that is not open.
    pub(super) fn select(&self, extra: &BoltDict) -> Result<i64, Failure> {
        let number = match extra.get("qid") {
            None | Some(BoltValue::Integer(-1)) => self.next - 1,
            Some(BoltValue::Integer(number)) => *number,
            Some(_) => return Err(Failure::invalid("qid is no integer")),
        };
        if self.open.contains_key(&number) {
            return Ok(number);
        }
        Err(Failure::invalid(format!("there is no open result {number}")))
    }

    /// Returns true if all rows of a result are in memory, so that reading them takes no time.
    pub(super) fn is_whole(&self, number: i64) -> bool {
        self.open.get(&number).is_none_or(|open| open.cursor.is_whole())
    }

    /// Returns true if nothing runs that takes time to end.
    pub(super) fn is_light(&self) -> bool {
        self.transaction.as_ref().is_none_or(Transaction::only_reads)
            && self.open.values().all(|open| open.cursor.is_whole())
    }

    /// The next rows of a result, up to `most`, and whether there are more.
    pub(super) fn rows(&mut self, number: i64, most: usize) -> Result<(Vec<Row>, bool), Failure> {
        let open = self.open.get_mut(&number).ok_or_else(|| Failure::invalid("no such result"))?;
        let read = open.watched.work(|| {
            let mut rows: Vec<Row> = open.ahead.take().into_iter().collect();
            rows.extend(open.cursor.next(most.saturating_sub(rows.len()))?);
            if !open.cursor.has_ended() {
                open.ahead = open.cursor.next(1)?.pop();
            }
            Ok::<_, QueryError>(rows)
        });
        match read {
            Ok(rows) => {
                open.watched.add_rows(rows.len());
                Ok((rows, open.ahead.is_some()))
            }
            Err(error) => {
                let failure = self.cause(error.into());
                if let Some(open) = self.open.get_mut(&number) {
                    failure.tell(&mut open.watched);
                }
                Err(failure)
            }
        }
    }

    /// Ends a result whose rows were read, and describes what the statement did.
    pub(super) fn finish(&mut self, number: i64) -> Result<BoltDict, Failure> {
        let Open { cursor, mut watched, .. } =
            self.open.remove(&number).ok_or_else(|| Failure::invalid("no such result"))?;
        watched.end(None);
        if let Some(shown) = self.shown().filter(|_| self.open.is_empty()) {
            shown.hide_statement();
        }
        let summary = cursor.summary();
        let letters = BoltValue::from(summary.query_type.letters());
        let mut told = BoltDict::from([("type".to_owned(), letters)]);
        if summary.counters.changed() {
            told.insert("stats".to_owned(), counts(&summary.counters).into());
        }
        if let Some(plan) = summary.plan {
            let name = if summary.profiled.is_some() { "profile" } else { "plan" };
            told.insert(name.to_owned(), described(plan, summary.profiled).into());
        }
        if self.transaction.is_none() {
            self.shown = None;
            let commit = self.served.database.snapshot().commit();
            told.insert("bookmark".to_owned(), bookmark(commit).into());
        }
        Ok(told)
    }

    /// Commits the transaction. Returns the bookmark.
    pub(super) fn commit(&mut self) -> Result<String, Failure> {
        let transaction = self.transaction.take();
        let shown = self.shown.take();
        let changed = std::mem::take(&mut self.changed);
        self.reset();
        let transaction = transaction.ok_or_else(|| Failure::invalid("no transaction runs"))?;
        let ended = match shown.as_ref().is_some_and(|(shown, _)| shown.is_terminated()) {
            true => Err(Failure::terminated()),
            false => transaction.commit().map_err(Failure::from),
        };
        if let Some((shown, _)) = shown.as_ref().filter(|_| changed) {
            self.served.tell_end(shown, "commit", &ended);
        }
        ended.map(bookmark)
    }

    /// Drops the transaction and all results.
    pub(super) fn reset(&mut self) {
        self.open.clear();
        self.next = 0;
        self.terms = None;
        self.transaction = None;
        let shown = self.shown.take();
        if let Some((shown, _)) = shown.filter(|_| std::mem::take(&mut self.changed)) {
            self.served.tell_end(&shown, "rollback", &Ok(0));
        }
    }
}

/// The error of a statement. One that would change the graph gets the reason why it may not.
fn refused(error: QueryError, refusal: Option<Failure>) -> Failure {
    match refusal {
        Some(refusal) if error.is_read_only() => refusal,
        _ => error.into(),
    }
}

/// What a statement has changed, as drivers name it.
fn counts(counters: &Counters) -> BoltDict {
    let changed = counters.named().into_iter().filter(|(_, count)| *count > 0);
    let count = |count| BoltValue::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    let mut told: BoltDict = changed.map(|(name, n)| (name.replace('_', "-"), count(n))).collect();
    told.insert("contains-updates".to_owned(), true.into());
    told
}

/// A plan, as drivers show it: one operator with its text, and its rows if they were counted.
fn described(plan: String, rows: Option<u64>) -> BoltDict {
    let details = BoltDict::from([("Details".to_owned(), plan.into())]);
    let count = |count: u64| BoltValue::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    let counted = rows.map(|rows| [("rows", count(rows)), ("dbHits", count(0))]);
    let counted = counted.into_iter().flatten().map(|(name, count)| (name.to_owned(), count));
    counted
        .chain([
            ("operatorType".to_owned(), "Plan".into()),
            ("args".to_owned(), details.into()),
            ("identifiers".to_owned(), BoltValue::List(Vec::new())),
            ("children".to_owned(), BoltValue::List(Vec::new())),
        ])
        .collect()
}
