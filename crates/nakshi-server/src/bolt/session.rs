//! Answers the messages of a client that has logged on, in their order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use boltr::BoltError;
use boltr::message::ClientMessage;
use boltr::server::ConnectionState;
use boltr::types::{BoltDict, BoltValue};
use nakshi_query::Map;
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;

use super::host::Bolt;
use super::interrupts::{Arrived, Interrupts};
use super::replies::Replies;
use super::statements::{Asked, Statements, Terms};
use crate::access::Asker;
use crate::failure::{DATABASE, Failure, commit_of};
use crate::packstream;
use crate::streams::within;

/// Status code of a client that may not do something.
const FORBIDDEN: &str = "Neo.ClientError.Security.Forbidden";
/// Rows that are asked of a result at once.
const BATCH: usize = 1024;
/// Time without a word to the client after which it gets a sign of life.
const ALIVE: Duration = Duration::from_secs(10);

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The client has gone.
    Gone,
    /// The client may log on again.
    LoggedOff,
}

/// Why a message is not answered with success.
enum Trouble {
    /// The client is told.
    Refused(Failure),
    /// The line is broken.
    Line(BoltError),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Refused(failure)
    }
}

impl From<BoltError> for Trouble {
    fn from(error: BoltError) -> Self {
        Trouble::Line(error)
    }
}

/// A client that has logged on.
pub(super) struct Session<'r, W> {
    bolt: Arc<Bolt>,
    asker: Arc<Asker>,
    interrupts: Arc<Interrupts>,
    replies: &'r mut Replies<W>,
    state: ConnectionState,
    /// Absent while a thread has them.
    statements: Option<Box<Statements>>,
    /// What the client is told next: that its transaction was rolled back meanwhile.
    late: Option<Failure>,
}

impl<'r, W: AsyncWrite + Unpin> Session<'r, W> {
    pub(super) fn new(
        bolt: &Arc<Bolt>,
        asker: Arc<Asker>,
        interrupts: Arc<Interrupts>,
        replies: &'r mut Replies<W>,
    ) -> Self {
        let statements = Some(Box::new(Statements::new(Arc::clone(&bolt.served))));
        let (bolt, state) = (Arc::clone(bolt), ConnectionState::Ready);
        Session { bolt, asker, interrupts, replies, state, statements, late: None }
    }

    /// Answers messages until the client leaves or logs off.
    pub(super) async fn answer(
        mut self,
        mut messages: mpsc::Receiver<Arrived>,
    ) -> Result<Ended, BoltError> {
        loop {
            let arrived = match messages.try_recv() {
                Ok(arrived) => arrived,
                Err(_) => {
                    // The client waits for what was answered so far.
                    self.replies.flush().await?;
                    match self.wait(&mut messages).await? {
                        Ok(Some(arrived)) => arrived,
                        Ok(None) => return Ok(Ended::Gone),
                        Err(late) => {
                            self.end_all().await?;
                            self.late = Some(late);
                            self.state = ConnectionState::Ready;
                            continue;
                        }
                    }
                }
            };
            let message = match arrived.message {
                Ok(message) => message,
                Err(failure) => {
                    self.replies.failure(&failure).await?;
                    self.state = ConnectionState::Failed;
                    continue;
                }
            };
            match &message {
                ClientMessage::Goodbye => return Ok(Ended::Gone),
                ClientMessage::Reset => {
                    self.reset().await?;
                    continue;
                }
                _ if self.interrupts.pending() || self.state == ConnectionState::Failed => {
                    self.replies.ignored().await?;
                    continue;
                }
                _ => {}
            }
            if let Some(failure) = self.late.take() {
                self.replies.failure(&failure).await?;
                self.state = ConnectionState::Failed;
                continue;
            }
            let logs_off = matches!(message, ClientMessage::Logoff);
            match self.handle(message).await {
                Ok(()) if logs_off => {
                    self.replies.flush().await?;
                    return Ok(Ended::LoggedOff);
                }
                Ok(()) => {}
                Err(Trouble::Line(error)) => return Err(error),
                Err(Trouble::Refused(failure)) => {
                    self.bolt.failed(&failure);
                    self.replies.failure(&failure).await?;
                    self.state = ConnectionState::Failed;
                    self.end_all().await?;
                }
            }
        }
    }

    /// The next message, `None` if the client has gone; or why its transaction ends while it says nothing.
    async fn wait(
        &mut self,
        messages: &mut mpsc::Receiver<Arrived>,
    ) -> Result<Result<Option<Arrived>, Failure>, BoltError> {
        let shown = self.at_hand()?.shown().cloned();
        let terminated = async {
            match &shown {
                Some(shown) => shown.terminated().await,
                None => std::future::pending().await,
            }
        };
        let silent = || {
            let idle = self.bolt.served.limits.idle.as_secs();
            let what = format!(
                "the client has said nothing for {idle} seconds; the transaction is rolled back"
            );
            Failure::new("Neo.ClientError.Transaction.TransactionTimedOut", what)
        };
        Ok(tokio::select! {
            arrived = within(self.bolt.idle(self.state), messages.recv()) => {
                arrived.ok_or_else(silent)
            }
            () = terminated => Err(Failure::terminated()),
        })
    }

    /// The statements, for what takes no time.
    fn at_hand(&mut self) -> Result<&mut Statements, BoltError> {
        self.statements.as_deref_mut().ok_or_else(lost)
    }

    /// Runs `work` in a thread of its own; the client gets signs of life meanwhile.
    async fn work<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Statements) -> T + Send + 'static,
    ) -> Result<T, BoltError> {
        let mut statements = self.statements.take().ok_or_else(lost)?;
        let mut working = tokio::task::spawn_blocking(move || {
            let done = work(&mut statements);
            (statements, done)
        });
        loop {
            match tokio::time::timeout(ALIVE, &mut working).await {
                Ok(Ok((statements, done))) => {
                    self.statements = Some(statements);
                    return Ok(done);
                }
                Ok(Err(_)) => return Err(lost()),
                Err(_) => self.replies.alive().await?,
            }
        }
    }

    /// As [`Session::work`]; without a thread if it takes no time.
    async fn work_or_do<T: Send + 'static>(
        &mut self,
        takes_no_time: bool,
        work: impl FnOnce(&mut Statements) -> T + Send + 'static,
    ) -> Result<T, BoltError> {
        match takes_no_time {
            true => Ok(work(self.at_hand()?)),
            false => self.work(work).await,
        }
    }

    /// Drops the transaction and all results.
    async fn end_all(&mut self) -> Result<(), BoltError> {
        let light = self.at_hand()?.is_light();
        self.work_or_do(light, Statements::reset).await
    }

    async fn reset(&mut self) -> Result<(), BoltError> {
        self.end_all().await?;
        self.interrupts.was_reset();
        self.late = None;
        self.state = ConnectionState::Ready;
        self.replies.success(&BoltDict::new()).await
    }

    async fn handle(&mut self, message: ClientMessage) -> Result<(), Trouble> {
        if !self.state.accepts(&message) {
            let what = format!("{} does not fit the state {}", name(&message), self.state);
            return Err(Failure::invalid(what).into());
        }
        let next = self.state.transition_success(&message);
        match message {
            ClientMessage::Run { query, parameters, extra } => {
                self.run(query, parameters, &extra).await?;
                self.state = next;
            }
            ClientMessage::Pull { extra } => self.pull(&extra, true).await?,
            ClientMessage::Discard { extra } => self.pull(&extra, false).await?,
            ClientMessage::Begin { extra } => {
                let terms = self.terms(&extra).await?;
                let only_reads = terms.refusal.is_some();
                self.work_or_do(only_reads, |statements| statements.begin(terms)).await??;
                self.state = next;
                self.replies.success(&BoltDict::new()).await?;
            }
            ClientMessage::Commit => {
                let light = self.at_hand()?.is_light();
                let bookmark = self.work_or_do(light, Statements::commit).await??;
                self.state = next;
                let told = BoltDict::from([("bookmark".to_owned(), bookmark.into())]);
                self.replies.success(&told).await?;
            }
            ClientMessage::Rollback => {
                self.end_all().await?;
                self.state = next;
                self.replies.success(&BoltDict::new()).await?;
            }
            ClientMessage::Route { routing, extra, .. } => {
                self.check_database(&extra)?;
                let told = self.bolt.routes(&routing).await;
                self.replies.success(&told).await?;
            }
            ClientMessage::Telemetry { .. } | ClientMessage::Logoff => {
                self.state = next;
                self.replies.success(&BoltDict::new()).await?;
            }
            ClientMessage::Hello { .. }
            | ClientMessage::Logon { .. }
            | ClientMessage::Goodbye
            | ClientMessage::Reset => {}
        }
        Ok(())
    }

    async fn run(
        &mut self,
        query: String,
        parameters: BoltDict,
        extra: &BoltDict,
    ) -> Result<(), Trouble> {
        let began = Instant::now();
        let terms = self.terms(extra).await?;
        let shown = self.at_hand()?.shown().cloned().ok_or_else(Failure::internal)?;
        let cancel = self.interrupts.token(shown.cancel());
        let (text, parameters) = (Arc::from(query), packstream::parameters(parameters)?);
        let asked = Asked { text, parameters, terms, cancel };
        let ran = match self.at_hand()?.run_promptly(&asked)? {
            Some(ran) => ran,
            None => self.work(|statements| statements.run(asked)).await??,
        };
        let columns = ran.columns.into_iter().map(BoltValue::from).collect::<Vec<_>>();
        let mut told = BoltDict::from([
            ("fields".to_owned(), columns.into()),
            ("t_first".to_owned(), millis(began)),
        ]);
        if let Some(number) = ran.number {
            told.insert("qid".to_owned(), number.into());
        }
        Ok(self.replies.success(&told).await?)
    }

    /// Sends the next rows of a result, or leaves them out.
    async fn pull(&mut self, extra: &BoltDict, send: bool) -> Result<(), Trouble> {
        let began = Instant::now();
        let mut left = match extra.get("n") {
            Some(BoltValue::Integer(-1)) | None => usize::MAX,
            Some(BoltValue::Integer(n)) if *n > 0 => usize::try_from(*n).unwrap_or(usize::MAX),
            _ => return Err(Failure::invalid("n is neither -1 nor a positive integer").into()),
        };
        let number = self.at_hand()?.select(extra)?;
        let mut more = true;
        while left > 0 && more {
            let most = left.min(BATCH);
            let whole = self.at_hand()?.is_whole(number);
            let next = move |statements: &mut Statements| statements.rows(number, most);
            let (rows, follow) = self.work_or_do(whole, next).await??;
            more = follow;
            left -= rows.len();
            if send {
                for row in &rows {
                    self.replies.record(row).await?;
                }
            }
        }
        if more {
            let told = BoltDict::from([("has_more".to_owned(), true.into())]);
            return Ok(self.replies.success(&told).await?);
        }
        let statements = self.at_hand()?;
        let mut told = statements.finish(number)?;
        let open = statements.has_open();
        told.insert("t_last".to_owned(), millis(began));
        told.insert("db".to_owned(), DATABASE.into());
        if !open {
            self.state = self.state.complete_streaming();
        }
        Ok(self.replies.success(&told).await?)
    }

    /// What a statement or a transaction may do, and whether the server may begin it now.
    async fn terms(&mut self, extra: &BoltDict) -> Result<Terms, Trouble> {
        self.check_database(extra)?;
        if extra.get("imp_user").is_some_and(|user| *user != BoltValue::Null) {
            let what = "this server lets nobody act as another user";
            return Err(Failure::new(FORBIDDEN, what).into());
        }
        if let Some(BoltValue::List(bookmarks)) = extra.get("bookmarks") {
            let numbers = bookmarks.iter().map(|mark| mark.as_str().and_then(commit_of));
            let wanted = numbers.collect::<Option<Vec<u64>>>().ok_or_else(|| {
                Failure::new(
                    "Neo.ClientError.Transaction.InvalidBookmark",
                    "a bookmark is not of this graph",
                )
            })?;
            if let Some(commit) = wanted.into_iter().max() {
                self.bolt.wait_for(commit).await?;
            }
        }
        let reads = extra.get("mode").and_then(BoltValue::as_str) == Some("r");
        let most = self.bolt.served.limits.time;
        let time = match extra.get("tx_timeout") {
            Some(BoltValue::Integer(millis)) if *millis > 0 => {
                Duration::from_millis(millis.unsigned_abs()).min(most)
            }
            _ => most,
        };
        let refusal = match self.bolt.served.may_write(self.asker.identity.role) {
            Ok(()) => reads.then(Failure::reads_only),
            Err(error) => Some(error.into()),
        };
        if self.at_hand()?.shown().is_none() {
            let place = self.bolt.place()?;
            let metadata = match extra.get("tx_metadata") {
                Some(BoltValue::Dict(metadata)) => packstream::parameters(metadata.clone())?,
                _ => Map::new(),
            };
            let served = &self.bolt.served;
            let shown = served.running.show(&self.asker, metadata, &served.cancel);
            self.at_hand()?.show(shown, place);
        }
        Ok(Terms { refusal, time, memory: self.bolt.served.limits.statement_bytes })
    }

    fn check_database(&self, extra: &BoltDict) -> Result<(), Failure> {
        match extra.get("db").and_then(BoltValue::as_str) {
            None | Some("" | DATABASE) => Ok(()),
            Some(other) => Err(Failure::no_database(other)),
        }
    }
}

/// The error of a session whose statements were lost in a panic.
fn lost() -> BoltError {
    BoltError::Session("internal error: a statement has panicked".to_owned())
}

/// Milliseconds since a moment.
fn millis(since: Instant) -> BoltValue {
    BoltValue::Integer(i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX))
}

/// The name of a message, without what it carries.
fn name(message: &ClientMessage) -> String {
    let shown = message.to_string();
    shown.split(['(', ' ']).next().unwrap_or_default().to_owned()
}
