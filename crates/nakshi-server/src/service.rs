//! The interface `nakshi.v1.Graph` on a store.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{BucketSet, PropertyGraph, PropertyStore};
use nakshi_query::Database;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::access::{Role, Tokens, denied};
use crate::answer;
use crate::commits::{self, Made};
use crate::cypher;
use crate::error::{Error, ErrorKind, Result};
use crate::gateway::{Gateway, Here};
use crate::limits::{KeptStates, Limits};
use crate::logs;
use crate::metrics::{Metrics, Numbers, Shipped};
use crate::outcomes::{Attempt, Outcome, Outcomes, id_of};
use crate::parts;
use crate::replication::Group;
use crate::runs;
use crate::session::{self, Session, fault};
use crate::streams::{REPLIES, Replies, reply_by};
use crate::users::Users;
use crate::v1::commit_async_reply::Reply as OfCommit;
use crate::v1::graph_server::Graph;
use crate::v1::pipeline_reply::Reply as OneReply;
use crate::v1::step::Step as Kind;
use crate::v1::step_reply::Reply as LastReply;
use crate::v1::{
    self, Answer, Commit, CommitAsyncReply, CommitReply, CommitRequest, CypherReply, CypherRequest,
    Fault, NewEdgeNumbersReply, NewEdgeNumbersRequest, PipelineReply, QueryRequest, ResolveReply,
    ResolveRequest, RunReply, RunRequest, StatusReply, StatusRequest, Step, StepReply,
};
use crate::wire;

/// Passwords that are checked at the same time; each takes 19 MiB of memory.
pub(crate) const CHECKS: usize = 2;
/// Most numbers of edges that a request gets.
const NUMBERS: u32 = 100_000;
/// Time for which a thread stays awake after a short query.
const AWAKE: Duration = Duration::from_micros(60);
/// Pause between two looks at a commit that another call makes.
const AGAIN: Duration = Duration::from_millis(2);
/// How long a query waits for the commits of another server.
const LAG: Duration = Duration::from_secs(1);
/// Replies of a pipeline that wait for its client.
const ANSWERS: usize = 256;
/// Replies to commits that wait for their client.
const COMMITS: usize = 4 * commits::IN_FLIGHT;
/// Pause between two looks at whether the server ends.
const HEARTBEAT: Duration = Duration::from_millis(50);

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
    pub(crate) kept: Arc<KeptStates>,
    /// Set when the server ends.
    pub(crate) cancel: CancelToken,
    pub(crate) calls: Arc<Semaphore>,
    /// The command that runs an algorithm; empty for none. One runs at a time.
    pub(crate) runner: Vec<String>,
    pub(crate) runs: Arc<Semaphore>,
    pub(crate) connections: AtomicU64,
    pub(crate) metrics: Metrics,
    pub(crate) outcomes: Outcomes,
    /// The other servers of the graph, if there are any.
    pub(crate) group: Option<Group>,
    /// The way to the servers that have the nodes, if not all have the whole graph.
    pub(crate) gateway: Option<Arc<Gateway>>,
    pub(crate) began: Instant,
}

/// Admission of a call: who asks, and its place among the running calls.
#[derive(Clone)]
struct Admitted {
    role: Role,
    place: Arc<OwnedSemaphorePermit>,
}

impl Served {
    /// The role of a caller.
    pub(crate) fn role<T>(&self, request: &Request<T>) -> Result<Role> {
        let Some(tokens) = &self.tokens else {
            let what = "this server knows users, and gRPC needs a token; start it with --tokens";
            return if self.users.is_none() { Ok(Role::Server) } else { Err(denied(what)) };
        };
        let value = request.metadata().get("authorization");
        tokens.role(value.and_then(|value| value.to_str().ok()))
    }

    /// Admits a call before its body is read.
    pub(crate) fn admit(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let admitted = self.admission(request);
        admitted.inspect_err(|error| self.metrics.refuse(error.kind)).map_err(Status::from)
    }

    fn admission(&self, mut request: Request<()>) -> Result<Request<()>> {
        let role = self.role(&request)?;
        let place = Arc::clone(&self.calls).try_acquire_owned().map_err(|_| {
            Error::new(
                ErrorKind::Overloaded,
                format!("the server answers {} calls already; try again later", self.limits.calls),
            )
        })?;
        request.extensions_mut().insert(Admitted { role, place: Arc::new(place) });
        Ok(request)
    }

    /// Counts a call that has ended, and tells of it if it matters to the operator.
    fn count<T>(&self, call: &'static str, began: Instant, ended: &Result<T>) {
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
            Role::Writer | Role::Server => {
                self.group.as_ref().map_or(Ok(()), Group::refuse_unless_leading)
            }
            Role::Reader => Err(denied("the token is a reader's, and changes need a writer's")),
        }
    }

    /// The share of this server, if it has one.
    fn share(&self) -> Option<v1::Share> {
        self.gateway.as_ref().and_then(|gateway| gateway.share())
    }

    /// Refuses what needs the whole graph if this server has a share of it.
    ///
    /// # Errors
    /// [`ErrorKind::Moved`], with the address of a server that has it.
    pub(crate) fn refuse_without_all(&self) -> Result<()> {
        let Some(group) = self.group.as_ref().filter(|_| self.share().is_some()) else {
            return Ok(());
        };
        let leader = group.leader().or_else(|| group.servers().into_iter().next());
        let what = "this server has a share of the graph; ask one that has all of it";
        Err(Error { leader, ..Error::new(ErrorKind::Moved, what) })
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
        let answered = self.state(&request).and_then(|graph| {
            let query = wire::needed(request.query, "query that is known")?;
            let graph = match &request.buckets[..] {
                [] => graph,
                buckets => {
                    graph.within(wire::needed(BucketSet::from_bytes(buckets), "set of buckets")?)
                }
            };
            answer::answer(&graph, query, &self.limits, &self.cancel)
        });
        self.count(call, began, &answered);
        answered
    }

    /// Makes a commit, unless it was made before.
    fn make(&self, request: CommitRequest) -> Result<Made<'_>> {
        let changes = wire::of_changes(request.changes)?;
        let Some(id) = id_of(&request.id)? else {
            return Ok(Made::Now(self.store.submit(&changes)?, None));
        };
        let since = request.again.then_some(request.since);
        let attempt = match self.attempt(id, since)? {
            Ok(attempt) => attempt,
            Err(Outcome::Made { commit, changed }) => {
                return Ok(Made::Before(CommitReply { changed, commit }));
            }
            Err(_) => return Err(refused()),
        };
        Ok(Made::Now(self.store.submit_with(&changes, id)?, Some(attempt)))
    }

    /// Makes the commits of a call one after the other, as long as the client sends some.
    fn make_each(
        &self,
        admitted: &Admitted,
        mut requests: Streaming<CommitRequest>,
        replies: &mpsc::Sender<Result<CommitAsyncReply, Status>>,
        here: &tokio::runtime::Handle,
    ) -> Result<()> {
        let next = || here.block_on(self.next_commit(&mut requests, replies));
        let make = |request| {
            self.may_write(admitted.role)?;
            self.make(request)
        };
        let tell = |number, began, reply: Result<OfCommit>| {
            if !matches!(reply, Ok(OfCommit::Made(_))) {
                self.count("commit", began, &reply);
            }
            let reply = reply.unwrap_or_else(|error| commits::fault(&error));
            let reply = CommitAsyncReply { request: number, reply: Some(reply) };
            // There is room for it, or else the client has gone, and its commits are made all the same.
            let _ = replies.try_send(Ok(reply));
        };
        commits::make_each(next, make, tell)
    }

    /// The next commit of a call; `None` if its client sends no more, or nothing for long, or if the server ends.
    async fn next_commit(
        &self,
        requests: &mut Streaming<CommitRequest>,
        replies: &mpsc::Sender<Result<CommitAsyncReply, Status>>,
    ) -> Result<Option<CommitRequest>> {
        let began = Instant::now();
        while !self.cancel.is_cancelled() && began.elapsed() < self.limits.idle {
            // Two replies for each commit in flight, and two for the next one.
            if replies.capacity() < 2 * commits::IN_FLIGHT + 4 && !replies.is_closed() {
                tokio::time::sleep(AGAIN).await;
                continue;
            }
            if let Ok(message) = tokio::time::timeout(HEARTBEAT, requests.message()).await {
                return Ok(message?);
            }
        }
        Ok(None)
    }

    /// Begins to make a commit, or tells what became of it. If it may have been made before the server was
    /// started, `since` is the number of a commit before it.
    fn attempt(&self, id: u128, since: Option<u64>) -> Result<Result<Attempt<'_>, Outcome>> {
        let attempt = loop {
            match self.outcomes.begin(id) {
                Ok(attempt) => break attempt,
                Err(Outcome::Running) => std::thread::sleep(AGAIN),
                Err(outcome) => return Ok(Err(outcome)),
            }
        };
        let Some(since) = since else { return Ok(Ok(attempt)) };
        let found = self.store.find_commit(id, since, &self.cancel).map_err(|error| {
            let what = format!("the outcome of the commit is no longer known: {error}");
            Error::new(ErrorKind::Gone, what)
        })?;
        let Some(found) = found else { return Ok(Ok(attempt)) };
        // All of a single change, or else it would not be in the log.
        let changed = (found.changes == 1).then_some(1);
        let made = Outcome::Made { commit: found.commit, changed };
        attempt.end(made);
        Ok(Err(made))
    }

    /// Commits a transaction, unless its client was told that it was not made.
    /// Calls `early` with the number of a commit before it is durable.
    fn end_transaction(
        &self,
        session: Box<Session>,
        id: &[u8],
        early: impl FnOnce(u64),
    ) -> Result<u64> {
        let (leading, begun) = session.beginning();
        let id = id_of(id)?;
        let attempt = id.map(|id| self.outcomes.begin(id)).transpose().map_err(|_| refused())?;
        let commit = session.commit(id, early)?;
        // One that has changed nothing has not asked the other servers yet whether it read the newest state.
        if commit == begun && self.group.as_ref().is_some_and(|group| !group.still_leads(leading)) {
            let what =
                "another server may have made commits before the transaction began; run it again";
            return Err(Error::new(ErrorKind::Conflict, what));
        }
        if let Some(attempt) = attempt {
            attempt.end(Outcome::Made { commit, changed: None });
        }
        Ok(commit)
    }

    /// Commits a transaction, and tells its client.
    fn last_step(
        &self,
        session: Box<Session>,
        asked: &Commit,
        replies: &mpsc::Sender<Result<StepReply, Status>>,
    ) {
        // Nobody takes a reply if the client has gone.
        let tell = |reply| drop(replies.blocking_send(Ok(reply)));
        let mut told = false;
        let early = |commit| {
            if asked.early {
                told = true;
                tell(session::reply(LastReply::Committed(commit)));
            }
        };
        match self.end_transaction(session, &asked.id, early) {
            Err(error) => tell(fault(&error)),
            Ok(commit) => {
                if !told {
                    tell(session::reply(LastReply::Committed(commit)));
                }
                if asked.early {
                    tell(session::reply(LastReply::Durable(commit)));
                }
            }
        }
    }

    /// Number of a commit, if it was made; if it was not, it must not be made later.
    fn resolve(&self, request: &ResolveRequest) -> Result<Option<u64>> {
        let id = wire::needed(id_of(&request.id)?, "id")?;
        // A server that was deposed, and does not know it yet, has not heard of the last commits.
        self.group.as_ref().map_or(Ok(()), Group::confirm)?;
        match self.attempt(id, Some(request.since))? {
            Ok(attempt) => {
                attempt.end(Outcome::Refused);
                Ok(None)
            }
            Err(Outcome::Made { commit, .. }) => Ok(Some(commit)),
            Err(_) => Ok(None),
        }
    }

    /// Answers a query here, or by the servers that have its data.
    async fn answer_somewhere(
        self: &Arc<Self>,
        mut request: QueryRequest,
        place: &Arc<OwnedSemaphorePermit>,
    ) -> Result<Vec<Answer>> {
        let newest = match &self.group {
            Some(group) if request.latest => group.newest().await?,
            _ => 0,
        };
        request.at_least = request.at_least.max(newest);
        if request.share.is_some_and(|share| self.share() != Some(share)) {
            let what = "this server has another share of the graph";
            return Err(Error::new(ErrorKind::Unavailable, what));
        }
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

    /// Answers a short query on this thread, and any other one on a thread of its own; `f` gets the answer there.
    pub(crate) async fn answer_here<T: Send + 'static>(
        self: &Arc<Self>,
        request: QueryRequest,
        place: &Arc<OwnedSemaphorePermit>,
        f: fn(Answer) -> T,
    ) -> Result<T> {
        let served = Arc::clone(self);
        if request.query.as_ref().is_some_and(answer::is_short) {
            let answer = served.answer(request)?;
            stay_awake(served);
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
        self.metrics.text(set, self.group.as_ref().map(Group::standing))
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

    fn last_commit(&self) -> u64 {
        self.served.store.last_commit()
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

/// An error of a commit that comes after its client was told that it was not made.
fn refused() -> Error {
    Error::new(ErrorKind::Conflict, "the commit was given up before; begin another one")
}

/// Runs something that takes long or waits, in a thread of its own.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
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

/// The interface, as tonic calls it.
#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<Served>);

impl Service {
    fn admitted<T>(request: &mut Request<T>) -> Result<Admitted> {
        let missing = || Error::new(ErrorKind::Internal, "internal error: a call was not admitted");
        request.extensions_mut().remove().ok_or_else(missing)
    }
}

#[tonic::async_trait]
impl Graph for Service {
    type QueryStream = Replies<Answer>;
    type PipelineStream = Replies<PipelineReply>;
    type CommitAsyncStream = Replies<CommitAsyncReply>;
    type TransactStream = Replies<StepReply>;
    type RunStream = Replies<RunReply>;
    type CypherStream = Replies<CypherReply>;

    async fn query(
        &self,
        mut request: Request<QueryRequest>,
    ) -> Result<Response<Self::QueryStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let served = Arc::clone(&self.0);
        let parts = served.answer_somewhere(request.into_inner(), &admitted.place).await?;
        let parts = parts.into_iter().map(move |part| {
            let _until_sent = &admitted;
            Ok(part)
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(parts))))
    }

    async fn pipeline(
        &self,
        mut request: Request<Streaming<QueryRequest>>,
    ) -> Result<Response<Self::PipelineStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let (replies, answered) = mpsc::channel(ANSWERS);
        let (served, mut queries) = (Arc::clone(&self.0), request.into_inner());
        tokio::spawn(async move {
            let place = admitted.place;
            // The client has gone if nothing more comes, or nobody takes a reply.
            while let Ok(Some(request)) = queries.message().await {
                let found = match served.answer_somewhere(request, &place).await {
                    Ok(parts) => parts.into_iter().map(OneReply::Answer).collect(),
                    Err(error) => vec![OneReply::Fault(Fault::from(&error))],
                };
                for reply in found {
                    let reply = Ok(PipelineReply { reply: Some(reply) });
                    if replies.send(reply).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(answered))))
    }

    async fn commit(
        &self,
        mut request: Request<CommitRequest>,
    ) -> Result<Response<CommitReply>, Status> {
        let admitted = Self::admitted(&mut request)?;
        self.0.may_write(admitted.role)?;
        let (request, served) = (request.into_inner(), Arc::clone(&self.0));
        let work = move || {
            let (_place, began) = (admitted.place, Instant::now());
            let reply = served.make(request).and_then(Made::durable);
            served.count("commit", began, &reply);
            reply
        };
        Ok(Response::new(aside(work).await??))
    }

    async fn commit_async(
        &self,
        mut request: Request<Streaming<CommitRequest>>,
    ) -> Result<Response<Self::CommitAsyncStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        self.0.may_write(admitted.role)?;
        let (replies, told) = mpsc::channel(COMMITS);
        let (served, requests) = (Arc::clone(&self.0), request.into_inner());
        let here = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = served.make_each(&admitted, requests, &replies, &here) {
                // The client has gone if nobody takes it.
                let _ = replies.try_send(Err(error.into()));
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(told))))
    }

    async fn resolve(
        &self,
        mut request: Request<ResolveRequest>,
    ) -> Result<Response<ResolveReply>, Status> {
        let admitted = Self::admitted(&mut request)?;
        self.0.may_write(admitted.role)?;
        let (request, served) = (request.into_inner(), Arc::clone(&self.0));
        let work = move || {
            let _place = admitted.place;
            served.resolve(&request)
        };
        Ok(Response::new(ResolveReply { commit: aside(work).await?? }))
    }

    async fn transact(
        &self,
        mut request: Request<Streaming<Step>>,
    ) -> Result<Response<Self::TransactStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        self.0.may_write(admitted.role)?;
        let (replies, answered) = mpsc::channel(REPLIES);
        let (served, steps) = (Arc::clone(&self.0), request.into_inner());
        tokio::spawn(async move {
            let _place = admitted.place;
            let began = Instant::now();
            let ended = transaction(Arc::clone(&served), steps, &replies).await;
            served.count("transaction", began, &ended);
            if let Err(error) = ended {
                // The client has gone if nobody takes it.
                let _ = replies.send(Ok(fault(&error))).await;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(answered))))
    }

    async fn new_edge_numbers(
        &self,
        mut request: Request<NewEdgeNumbersRequest>,
    ) -> Result<Response<NewEdgeNumbersReply>, Status> {
        let admitted = Self::admitted(&mut request)?;
        self.0.may_write(admitted.role)?;
        let count = request.into_inner().count;
        if count > NUMBERS {
            return Err(Error::parameter(format!("at most {NUMBERS} numbers a call")).into());
        }
        let numbers = (0..count).map(|_| self.0.store.new_edge_number()).collect();
        Ok(Response::new(NewEdgeNumbersReply { numbers }))
    }

    async fn run(
        &self,
        mut request: Request<RunRequest>,
    ) -> Result<Response<Self::RunStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let (served, request) = (Arc::clone(&self.0), request.into_inner());
        served.refuse_without_all()?;
        let alone = Arc::clone(&served.runs).try_acquire_owned().map_err(|_| {
            let what = "the server runs another algorithm; try again when it has ended";
            Error::new(ErrorKind::Overloaded, what)
        })?;
        served.catch_up(request.at_least).await?;
        let idle = served.limits.idle;
        let work = move |takes: &dyn Fn(RunReply) -> bool| {
            let (_place, _alone, began) = (admitted.place, alone, Instant::now());
            let ran = runs::run(&served.runner, served.store.path(), &request, takes);
            served.count("run", began, &ran);
            ran
        };
        Ok(Response::new(reply_by(idle, CancelToken::new(), work)))
    }

    async fn cypher(
        &self,
        mut request: Request<CypherRequest>,
    ) -> Result<Response<Self::CypherStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let (served, request) = (Arc::clone(&self.0), request.into_inner());
        served.refuse_without_all()?;
        served.catch_up(request.at_least).await?;
        let (idle, cancel) = (served.limits.idle, served.cancel.child());
        let stops = cancel.clone();
        let work = move |takes: &dyn Fn(CypherReply) -> bool| {
            let (_place, began) = (admitted.place, Instant::now());
            let terms = cypher::Terms {
                time: served.limits.time,
                memory: served.limits.statement_bytes,
                refusal: served.may_write(admitted.role).err(),
                cancel,
            };
            let ran = cypher::answer(&served.database, request, terms, takes);
            served.count("cypher", began, &ran);
            ran
        };
        Ok(Response::new(reply_by(idle, stops, work)))
    }

    async fn status(&self, _: Request<StatusRequest>) -> Result<Response<StatusReply>, Status> {
        let served = &self.0;
        let graph = served.store.snapshot();
        let group = served.group.as_ref();
        let role = match group {
            None => "server",
            Some(group) if group.leads() => "leader",
            Some(_) if served.share().is_some() => "share",
            Some(_) => "follower",
        };
        Ok(Response::new(StatusReply {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            role: role.to_owned(),
            pid: std::process::id(),
            commit: graph.commit(),
            nodes: graph.num_nodes(),
            edges: graph.num_edges(),
            log_bytes: served.store.log_bytes(),
            read_only: served.read_only,
            uptime_seconds: served.began.elapsed().as_secs_f64(),
            running_calls: served.running_calls() as u64,
            most_calls: served.limits.calls as u64,
            connections: served.connections.load(Relaxed),
            servers: group.map_or_else(Vec::new, Group::servers),
            own: group.map_or_else(String::new, |group| group.address().to_owned()),
            leader: group.and_then(Group::leader).unwrap_or_default(),
        }))
    }
}

/// Runs a transaction until its commit, or until its client has gone. What it leaves is rolled back.
async fn transaction(
    served: Arc<Served>,
    mut steps: Streaming<Step>,
    replies: &mpsc::Sender<Result<StepReply, Status>>,
) -> Result<()> {
    let idle = served.limits.idle;
    let mut session = None;
    loop {
        let waited = tokio::time::timeout(idle, steps.message()).await;
        let Ok(message) = waited else {
            return Err(Error::new(
                ErrorKind::Deadline,
                format!(
                    "the transaction was rolled back, because its client did nothing for {} seconds",
                    idle.as_secs_f64()
                ),
            ));
        };
        let Some(step) = message? else { return Ok(()) };
        let answered = match (session.take(), step.step) {
            (None, Some(Kind::Begin(begin))) => {
                let served = Arc::clone(&served);
                let begun = aside(move || {
                    let (limits, cancel) = (served.limits, served.cancel.clone());
                    let leading = served.group.as_ref().and_then(Group::leading);
                    Session::begin(&served.store, leading, begin.alone, limits, cancel)
                });
                let (begun, reply) = begun.await??;
                session = Some(begun);
                vec![reply]
            }
            (None, _) => return Err(Error::parameter("the first step of a transaction is begin")),
            (Some(running), Some(Kind::Commit(commit))) => {
                let (served, replies) = (Arc::clone(&served), replies.clone());
                return aside(move || served.last_step(running, &commit, &replies)).await;
            }
            (Some(running), kind) => {
                let step = Step { step: kind };
                let (running, answered) = aside(move || running.step(step)).await?;
                session = Some(running);
                answered
            }
        };
        for reply in answered {
            if replies.send(Ok(reply)).await.is_err() {
                return Ok(());
            }
        }
    }
}
