//! Limits of a server, and the states that it keeps for later reads.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nakshi_property::PropertyGraph;

use crate::error::{Error, ErrorKind, Result};

/// Limits within which a server answers. What goes beyond them is refused with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls that are answered at the same time, running transactions among them. One more call is
    /// refused with [`ErrorKind::Overloaded`].
    pub calls: usize,
    /// Connections at the same time. More of them wait until one is closed.
    pub connections: usize,
    /// Bytes of a request.
    pub request_bytes: usize,
    /// Rows of an answer.
    pub rows: usize,
    /// Bytes of memory that a statement in Cypher may take.
    pub statement_bytes: u64,
    /// Time of a call. A query that has taken longer runs on to its end, but nobody gets its answer.
    pub time: Duration,
    /// Time for which a transaction may wait for its client.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            calls: 512,
            connections: 4096,
            request_bytes: 16 << 20,
            rows: 1_000_000,
            statement_bytes: 256 << 20,
            time: Duration::from_secs(60),
            idle: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// The error of a call that comes while as many are answered as may be.
    pub(crate) fn too_many_calls(&self) -> Error {
        let what = format!("the server answers {} calls already; try again later", self.calls);
        Error::new(ErrorKind::Overloaded, what)
    }

    /// Refuses an answer of more rows.
    pub(crate) fn refuse_rows(&self, rows: u64) -> Result<()> {
        if rows <= self.rows as u64 {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Overloaded,
            format!(
                "the answer has more than {} rows, which this server does not send at once; ask for \
                 fewer (limit=), or raise its --max-rows",
                self.rows
            ),
        ))
    }

    /// Refuses an answer whose values take more bytes than a statement may, where all of it is in memory at once.
    pub(crate) fn refuse_bytes(&self, bytes: u64) -> Result<()> {
        if bytes <= self.statement_bytes {
            return Ok(());
        }
        Err(self.too_much("answer takes", "ask for less, over Bolt,"))
    }

    /// Refuses changes of a transaction that take more bytes than a statement may.
    pub(crate) fn refuse_changes(&self, bytes: u64) -> Result<()> {
        if bytes <= self.statement_bytes {
            return Ok(());
        }
        Err(self.too_much("changes of the transaction take", "commit in smaller parts,"))
    }

    fn too_much(&self, what: &str, instead: &str) -> Error {
        let most = self.statement_bytes;
        let message = format!(
            "the {what} more than {most} bytes; {instead} or raise the server's --max-memory"
        );
        Error::new(ErrorKind::Overloaded, message)
    }
}

/// How long a state is kept after it was last read.
pub(crate) const KEPT: Duration = Duration::from_secs(10);
/// Most states that are kept; one more replaces the one that was not read for longest.
const MOST_KEPT: usize = 1024;

/// States after the last commits that are kept for other servers, whose answers have parts of the same state.
const RECENT: usize = 4096;

/// A state, and when it was last read or made.
type Kept = (PropertyGraph, Instant);

/// States after earlier commits, which clients read piece by piece.
#[derive(Debug, Default)]
pub(crate) struct KeptStates {
    asked: Mutex<HashMap<u64, Kept>>,
    /// Those after the last commits, which follow on each other.
    recent: Mutex<VecDeque<Kept>>,
}

impl KeptStates {
    fn asked(&self) -> MutexGuard<'_, HashMap<u64, Kept>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the state after the next commit for a while.
    pub(crate) fn remember(&self, graph: PropertyGraph) {
        let mut recent = self.recent();
        if recent.back().is_some_and(|(last, _)| last.commit() + 1 != graph.commit()) {
            recent.clear();
        }
        if recent.len() >= RECENT {
            recent.pop_front();
        }
        recent.push_back((graph, Instant::now()));
    }

    /// The state after a commit among the last ones.
    fn find_recent(&self, number: u64) -> Option<PropertyGraph> {
        let recent = self.recent();
        let place = number.checked_sub(recent.front()?.0.commit())?;
        recent.get(usize::try_from(place).ok()?).map(|(graph, _)| graph.clone())
    }

    /// Keeps a state by a number.
    pub(crate) fn keep(&self, number: u64, graph: &PropertyGraph) {
        let mut states = self.asked();
        if states.len() >= MOST_KEPT && !states.contains_key(&number) {
            let oldest =
                states.iter().min_by_key(|(_, (_, read))| *read).map(|(number, _)| *number);
            oldest.map(|oldest| states.remove(&oldest));
        }
        states.insert(number, (graph.clone(), Instant::now()));
    }

    /// The state of a number.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`] if it is not kept.
    pub(crate) fn find(&self, number: u64) -> Result<PropertyGraph> {
        let mut states = self.asked();
        let Some((graph, read)) = states.get_mut(&number) else {
            if let Some(graph) = self.find_recent(number) {
                return Ok(graph);
            }
            return Err(Error::new(
                ErrorKind::Gone,
                format!(
                    "the state after commit {number} is no longer kept: that ends {} seconds after its \
                     last read; read again from the newest state",
                    KEPT.as_secs()
                ),
            ));
        };
        *read = Instant::now();
        Ok(graph.clone())
    }

    /// Number of states.
    pub(crate) fn len(&self) -> usize {
        self.asked().len() + self.recent().len()
    }

    /// Forgets the states that nobody has read or made for [`KEPT`].
    pub(crate) fn sweep(&self, now: Instant) {
        let fresh = |(_, read): &Kept| now.saturating_duration_since(*read) < KEPT;
        self.asked().retain(|_, kept| fresh(kept));
        let mut recent = self.recent();
        // The newest state costs nothing.
        while recent.len() > 1 && recent.front().is_some_and(|kept| !fresh(kept)) {
            recent.pop_front();
        }
    }
}
