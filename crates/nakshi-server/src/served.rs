//! A served graph, and what the calls on it share.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{BucketSet, PropertyGraph, PropertyStore};
use nakshi_query::{Database, Map};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Request;

use crate::access::{Identity, Role, Tokens, denied};
use crate::answer;
use crate::error::{Error, ErrorKind, Result};
use crate::failure::Failure;
use crate::gateway::{Gateway, Here, refuse_other_buckets};
use crate::journal::{Journal, Told, Watched};
use crate::limits::{KeptStates, Limits};
use crate::logs;
use crate::metrics::{Metrics, Numbers, Shipped};
use crate::outcomes::Outcomes;
use crate::paces::{Kind, Paces};
use crate::parts;
use crate::replication::Group;
use crate::running::{Running, Shown};
use crate::users::Users;
use crate::v1::query_request::Query;
use crate::v1::{self, Answer, QueryRequest};
use crate::wire;
use crate::work::Workplace;

/// Passwords that are checked at the same time; each takes 19 MiB of memory.
pub(crate) const CHECKS: usize = 2;
/// Time for which a thread stays awake after a short query.
const AWAKE: Duration = Duration::from_micros(60);
/// Pause between two looks at a commit that another call makes.
pub(crate) const AGAIN: Duration = Duration::from_millis(2);
/// How long a query waits for the commits of another server.
const LAG: Duration = Duration::from_secs(1);

/// A served graph, and what the calls on it share.
pub(crate) struct Served {
    pub(crate) store: Arc<PropertyStore>,
    pub(crate) read_only: bool,
    pub(crate) limits: Limits,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) users: Option<Users>,
    /// Places for passwords that are checked at the same time.
    pub(crate) checks: Semaphore,
    /// The graph, for statements in Cypher.
    pub(crate) database: Arc<Database>,
    /// Statements and transactions that run, with their users.
    pub(crate) running: Arc<Running>,
    /// The audit log and the log of slow statements.
    pub(crate) journal: Arc<Journal>,
    pub(crate) kept: Arc<KeptStates>,
    /// Set when the server ends.
    pub(crate) cancel: CancelToken,
    pub(crate) calls: Arc<Semaphore>,
    /// Places for pipelines, of which those without a query are not among the running calls.
    pub(crate) pipelines: Arc<Semaphore>,
    /// The command that runs an algorithm; empty for none. One runs at a time.
    pub(crate) runner: Vec<String>,
    pub(crate) runs: Arc<Semaphore>,
    /// The place where workers of runs on all shares begin, if they may; one at a time.
    pub(crate) workplace: Option<Workplace>,
    pub(crate) works: Arc<Semaphore>,
    /// A place for the copy of the store that a client gets.
    pub(crate) copies: Arc<Semaphore>,
    /// A place for a move of buckets, of which this server leads or takes part in one at a time.
    pub(crate) moves: Arc<Semaphore>,
    pub(crate) connections: AtomicU64,
    pub(crate) metrics: Metrics,
    /// Times of searches.
    pub(crate) paces: Paces,
    pub(crate) outcomes: Outcomes,
    /// Host and port at which drivers find this server, if they do.
    pub(crate) bolt: Option<String>,
    /// The other servers of the graph, if there are any.
    pub(crate) group: Option<Arc<Group>>,
    /// The way to the servers that have the nodes, if not all have the whole graph.
    pub(crate) gateway: Option<Arc<Gateway>>,
    pub(crate) began: Instant,
}

impl Served {
    /// Who calls.
    pub(crate) fn identity<T>(&self, request: &Request<T>) -> Result<Identity> {
        let Some(tokens) = &self.tokens else {
            let what = "this server knows users, and gRPC needs a token; start it with --tokens";
            return if self.users.is_none() { Ok(Identity::anybody()) } else { Err(denied(what)) };
        };
        let value = request.metadata().get("authorization");
        tokens.identity(value.and_then(|value| value.to_str().ok()))
    }

    /// Counts a call that has ended, and tells of it if it matters to the operator.
    pub(crate) fn count<T>(&self, call: &'static str, began: Instant, ended: &Result<T>) {
        self.metrics.count(call, began, ended);
        logs::tell(call, began, ended);
    }

    /// Number of calls that are being answered.
    pub(crate) fn running_calls(&self) -> usize {
        self.limits.calls.saturating_sub(self.calls.available_permits())
    }

    pub(crate) fn may_write(&self, role: Role) -> Result<()> {
        if self.read_only {
            return Err(denied("the server is read-only"));
        }
        match role {
            Role::Writer | Role::Admin | Role::Server => self.refuse_unless_leading(),
            Role::Reader => Err(denied("the token is a reader's, and changes need a writer's")),
        }
    }

    /// Refuses what only the server does that makes the commits, if there are several.
    pub(crate) fn refuse_unless_leading(&self) -> Result<()> {
        self.group.as_deref().map_or(Ok(()), Group::refuse_unless_leading)
    }

    /// The share of this server, if it has one.
    pub(crate) fn share(&self) -> Option<v1::Share> {
        self.gateway.as_ref().and_then(|gateway| gateway.share())
    }

    /// Refuses what is for a server with another share: lists of servers can differ for a while.
    pub(crate) fn refuse_other_share(&self, wanted: Option<v1::Share>) -> Result<()> {
        if wanted.is_none_or(|wanted| self.share() == Some(wanted)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, "this server has another share of the graph"))
    }

    /// Refuses what needs the whole graph if this server has a share of it.
    ///
    /// # Errors
    /// [`ErrorKind::Moved`], with the address of a server that has it.
    pub(crate) fn refuse_without_all(&self) -> Result<()> {
        let Some(group) = self.group.as_deref().filter(|_| self.share().is_some()) else {
            return Ok(());
        };
        let leader = group.leader().or_else(|| group.servers().into_iter().next());
        let what = "this server has a share of the graph; ask one that has all of it";
        Err(Error { leader, ..Error::new(ErrorKind::Moved, what) })
    }

    /// Begins to watch a statement in Cypher, and shows it.
    ///
    /// # Errors
    /// A change that cannot be written down.
    pub(crate) fn watch(&self, shown: &Shown, text: &Arc<str>, given: &Map) -> Result<Watched> {
        shown.show_statement(text, given);
        // What is no statement fails when it runs.
        let writes = self.journal.audits() && self.database.writes(text).unwrap_or(false);
        Watched::begin(&self.journal, shown.asker(), shown.id(), (text, given), writes)
    }

    /// Writes down how a transaction has ended that has changed the graph: with which commit, if with one.
    pub(crate) fn tell_end(
        &self,
        shown: &Shown,
        event: &'static str,
        ended: &Result<u64, Failure>,
    ) {
        let (id, error) = (shown.id(), ended.as_ref().err());
        let told = Told {
            event,
            transaction: Some(&id),
            commit: ended.as_ref().ok().copied().filter(|commit| *commit > 0),
            outcome: if error.is_some() { "failed" } else { "ok" },
            code: error.map(|failure| failure.code),
            message: error.map(|failure| failure.message.as_str()),
            ..Told::default()
        };
        self.journal.tell(shown.asker(), &told);
    }

    /// The state after a commit, as long as it is kept.
    pub(crate) fn state_after(&self, commit: u64) -> Result<PropertyGraph> {
        let newest = self.store.snapshot();
        if newest.commit() == commit { Ok(newest) } else { self.kept.find(commit) }
    }

    /// The state that a query reads, which is kept if the query asks for it.
    fn state(&self, request: &QueryRequest) -> Result<PropertyGraph> {
        let newest = self.store.snapshot();
        match request.commit {
            Some(commit) if commit != newest.commit() => self.kept.find(commit),
            _ => {
                if request.keep {
                    self.kept.keep(newest.commit(), &newest);
                }
                Ok(newest)
            }
        }
    }

    pub(crate) fn answer(&self, request: QueryRequest) -> Result<Answer> {
        let (began, call) = (Instant::now(), name(&request));
        let kind = request.query.as_ref().and_then(Kind::of);
        let answered = self.state(&request).and_then(|graph| {
            let query = wire::needed(request.query, "query that is known")?;
            let wanted = wire::of_some_buckets(&request.buckets)?;
            if let Some(own) = &graph.entry().buckets {
                refuse_other_buckets(own, &query, wanted.as_ref())?;
            }
            let graph = match wanted {
                Some(wanted) => graph.within(wanted),
                None => graph,
            };
            answer::answer(&graph, query, &self.limits, &self.cancel)
        });
        if let Some(kind) = kind {
            self.paces.note(kind, began.elapsed());
        }
        self.count(call, began, &answered);
        answered
    }

    /// Answers a query here, or by the servers that have its data.
    pub(crate) async fn answer_somewhere(
        self: &Arc<Self>,
        mut request: QueryRequest,
        place: &Arc<OwnedSemaphorePermit>,
    ) -> Result<Vec<Answer>> {
        let newest = match &self.group {
            Some(group) if request.latest => group.newest().await?,
            _ => 0,
        };
        request.at_least = request.at_least.max(newest);
        self.refuse_other_share(request.share)?;
        self.catch_up(request.at_least).await?;
        let Some(gateway) = self.gateway.as_ref().filter(|_| !request.alone) else {
            return self.answer_here(request, place, parts::cut).await;
        };
        let (began, call) = (Instant::now(), name(&request));
        let here = Arc::new(Place { served: Arc::clone(self), place: Arc::clone(place) });
        let answered = gateway.answer(here, request).await;
        self.count(call, began, &answered);
        answered.map(parts::cut)
    }

    /// Returns true for a query that takes less than another thread would.
    fn is_short(&self, query: &Query) -> bool {
        answer::is_short(query) || Kind::of(query).is_some_and(|kind| self.paces.are_short(kind))
    }

    /// Answers a short query on this thread, and any other one on a thread of its own; `f` gets the answer there.
    pub(crate) async fn answer_here<T: Send + 'static>(
        self: &Arc<Self>,
        request: QueryRequest,
        place: &Arc<OwnedSemaphorePermit>,
        f: fn(Answer) -> T,
    ) -> Result<T> {
        let served = Arc::clone(self);
        if request.query.as_ref().is_some_and(|query| served.is_short(query)) {
            let alone = request.alone;
            let answer = served.answer(request)?;
            // Another server does not wait for this one alone.
            if !alone {
                stay_awake(served);
            }
            return Ok(f(answer));
        }
        let place = Arc::clone(place);
        aside(move || {
            // A query whose client has gone still counts as a call.
            let _place = place;
            served.answer(request).map(f)
        })
        .await?
    }

    /// Waits until the store has a commit that another server has made.
    pub(crate) async fn catch_up(&self, commit: u64) -> Result<()> {
        let began = Instant::now();
        loop {
            let known = self.store.last_commit();
            if known >= commit {
                return Ok(());
            }
            // Nobody else makes commits.
            if self.group.is_none() && !self.read_only {
                let what = format!("the graph has no commit {commit} yet; connect anew");
                return Err(Error::new(ErrorKind::Gone, what));
            }
            if began.elapsed() > LAG {
                let what =
                    format!("this server has commit {known}, and lags behind commit {commit}");
                return Err(Error::new(ErrorKind::Unavailable, what));
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// The server and its graph.
    pub(crate) fn status(&self) -> v1::StatusReply {
        let graph = self.store.snapshot();
        let group = self.group.as_deref();
        let role = match group {
            None => "server",
            Some(group) if group.leads() => "leader",
            Some(group) if !group.takes_part() => "starting",
            Some(_) if self.share().is_some() => "share",
            Some(_) => "follower",
        };
        v1::StatusReply {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            role: role.to_owned(),
            pid: std::process::id(),
            commit: graph.commit(),
            nodes: graph.num_nodes(),
            edges: graph.num_edges(),
            log_bytes: self.store.log_bytes(),
            read_only: self.read_only,
            uptime_seconds: self.began.elapsed().as_secs_f64(),
            running_calls: self.running_calls() as u64,
            most_calls: self.limits.calls as u64,
            connections: self.connections.load(Relaxed),
            servers: group.map_or_else(Vec::new, Group::servers),
            own: group.map_or_else(String::new, |group| group.address().to_owned()),
            leader: group.and_then(Group::leader).unwrap_or_default(),
            bolt: self.bolt.clone().unwrap_or_default(),
            shares: self.gateway.as_ref().map_or_else(Vec::new, |gateway| gateway.told(&graph)),
            buckets: graph.entry().buckets.as_ref().map_or_else(Vec::new, BucketSet::to_bytes),
        }
    }

    /// All numbers for Prometheus.
    pub(crate) fn metrics_text(&self) -> String {
        let (graph, layers) = (self.store.snapshot(), self.store.layers());
        let io = graph.io();
        let set = |numbers: &Numbers| {
            numbers.commit.set(graph.commit());
            numbers.nodes.set(graph.num_nodes());
            numbers.edges.set(graph.num_edges());
            numbers.log_bytes.set(self.store.log_bytes());
            numbers.fragments.set(layers.fragments);
            numbers.memory_bytes.set(graph.memory());
            numbers.cache_hits.set(io.hits);
            numbers.cache_misses.set(io.misses);
            numbers.running_calls.set(self.running_calls() as u64);
            numbers.connections.set(self.connections.load(Relaxed));
            numbers.kept_states.set(self.kept.len() as u64);
        };
        self.metrics.text(set, self.group.as_deref().map(Group::standing))
    }
}

/// This server, with the place of a call among those that run.
struct Place {
    served: Arc<Served>,
    place: Arc<OwnedSemaphorePermit>,
}

#[tonic::async_trait]
impl Here for Place {
    async fn answer(&self, request: QueryRequest) -> Result<Answer> {
        self.served.answer_here(request, &self.place, std::convert::identity).await
    }

    fn newest(&self) -> PropertyGraph {
        self.served.store.snapshot()
    }

    fn limits(&self) -> &Limits {
        &self.served.limits
    }

    fn shipped(&self) -> &Shipped {
        &self.served.metrics.shipped
    }
}

/// Name of a query in metrics; a part of one is counted apart.
fn name(request: &QueryRequest) -> &'static str {
    match &request.query {
        Some(_) if request.alone => "part",
        Some(query) => answer::name(query),
        None => "unknown",
    }
}

/// Runs something that takes long or waits, in a thread of its own.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        let what = if error.is_panic() { "a call panicked" } else { "the server ends" };
        Error::new(ErrorKind::Internal, format!("internal error: {what}"))
    })
}

thread_local! {
    /// Until when this thread stays awake.
    static AWAKE_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Keeps this thread awake for a moment, so that it finds the next call of the same client at once:
/// waking it up takes longer than a short query does.
fn stay_awake(served: Arc<Served>) {
    // With several calls, it is awake anyway, or a client needs the processor.
    if served.running_calls() > 1 || AWAKE_UNTIL.replace(Some(Instant::now() + AWAKE)).is_some() {
        return;
    }
    tokio::spawn(async move {
        while served.running_calls() <= 1
            && AWAKE_UNTIL.get().is_some_and(|until| Instant::now() < until)
        {
            tokio::task::yield_now().await;
        }
        AWAKE_UNTIL.set(None);
    });
}
