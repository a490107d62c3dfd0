//! The interface `nakshi.v1.Graph` on a served graph.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_query::{Class, Map, Options};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::access::{Asker, Identity, Role, denied};
use crate::commits::{self, Made};
use crate::copies;
use crate::cypher;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{Told, Watched};
use crate::moving;
use crate::outcomes::{Attempt, Outcome, id_of};
use crate::recruiting::{Wanted, recruit};
use crate::replication::Group;
use crate::running::{Shown, TERMINATED};
use crate::runs::{self, Input};
use crate::served::{AGAIN, Served, aside};
use crate::session::{self, Session, fault};
use crate::streams::{REPLIES, Replies, reply_by, within};
use crate::v1::commit_async_reply::Reply as OfCommit;
use crate::v1::graph_server::Graph;
use crate::v1::pipeline_reply::Reply as OneReply;
use crate::v1::step::Step as Kind;
use crate::v1::step_reply::Reply as LastReply;
use crate::v1::{
    Answer, BackupReply, BackupRequest, Commit, CommitAsyncReply, CommitReply, CommitRequest,
    CypherReply, CypherRequest, Fault, HoldReply, HoldRequest, MoveBucketsReply,
    MoveBucketsRequest, NewEdgeNumbersReply, NewEdgeNumbersRequest, PipelineReply, QueryRequest,
    ResolveReply, ResolveRequest, RunReply, RunRequest, StatusReply, StatusRequest, Step,
    StepReply, WorkReply, WorkRequest,
};
use crate::wire;

/// Most numbers of edges that a request gets.
const NUMBERS: u32 = 100_000;
/// Replies of a pipeline that wait for its client.
const ANSWERS: usize = 256;
/// Replies to commits that wait for their client.
const COMMITS: usize = 4 * commits::IN_FLIGHT;
/// Time for which a run waits for the worker of another one to end.
const ENDING: Duration = Duration::from_secs(2);
/// Pause between two looks at whether the server ends.
const HEARTBEAT: Duration = Duration::from_millis(50);
/// The same of a pipeline without queries, of which there may be many.
const LOOK: Duration = Duration::from_millis(500);

/// Admission of a call: who asks, and its place among the running calls.
#[derive(Clone)]
struct Admitted {
    asker: Arc<Asker>,
    place: Arc<OwnedSemaphorePermit>,
}

impl Served {
    /// Admits a call before its body is read.
    pub(crate) fn admit(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let admitted = self.admission(request);
        admitted.inspect_err(|error| self.metrics.refuse(error.kind)).map_err(Status::from)
    }

    fn admission(&self, mut request: Request<()>) -> Result<Request<()>> {
        let address = request.remote_addr();
        let asker =
            |identity| Asker { identity, address, protocol: "nakshi", connection: String::new() };
        let known = self.identity(&request);
        if known.is_err() {
            let nobody = asker(Identity { role: Role::Reader, ..Identity::anybody() });
            self.journal.tell(&nobody, &Told::of("login", &known));
        }
        let asker = Arc::new(asker(known?));
        let place = self.place()?;
        request.extensions_mut().insert(Admitted { asker, place });
        Ok(request)
    }

    /// A place among the running calls.
    fn place(&self) -> Result<Arc<OwnedSemaphorePermit>> {
        let place = Arc::clone(&self.calls).try_acquire_owned();
        place.map(Arc::new).map_err(|_| self.limits.too_many_calls())
    }

    /// A function that begins the workers of a run on the servers of all shares, if it is to run there.
    fn recruiter(
        self: &Arc<Self>,
        request: &RunRequest,
    ) -> Option<impl Fn(Wanted, Input) -> JoinSet<()> + Send + use<>> {
        let gateway = self.gateway.clone().filter(|_| request.workers == 0)?;
        self.workplace.as_ref()?;
        let (served, here) = (Arc::clone(self), Handle::current());
        Some(move |wanted, input: Input| {
            let (served, gateway) = (Arc::clone(&served), Arc::clone(&gateway));
            // It ends when this is dropped.
            let mut recruiting = JoinSet::new();
            let recruit = async move {
                let graph = served.store.snapshot();
                served.kept.keep(graph.commit(), &graph);
                match recruit(&gateway, &graph, wanted).await {
                    Ok(recruited) => {
                        let _ = input.tell(&recruited.told);
                        std::future::pending::<()>().await;
                        drop(recruited);
                    }
                    Err(error) => input.fail(&error),
                }
            };
            recruiting.spawn_on(recruit, &here);
            recruiting
        })
    }

    /// Writes a commit down that was made, or failed.
    fn tell_commit<T>(
        &self,
        asker: &Asker,
        transaction: Option<&str>,
        made: &Result<T>,
        number: impl Fn(&T) -> Option<u64>,
    ) {
        let commit = made.as_ref().ok().and_then(number);
        self.journal.tell(asker, &Told { transaction, commit, ..Told::of("commit", made) });
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
            self.may_write(admitted.asker.identity.role)?;
            self.journal.ready()?;
            self.make(request)
        };
        let tell = |number, began, reply: Result<OfCommit>| {
            if !matches!(reply, Ok(OfCommit::Made(_))) {
                self.count("commit", began, &reply);
                self.tell_commit(&admitted.asker, None, &reply, |reply| match reply {
                    OfCommit::Durable(reply) => Some(reply.commit),
                    _ => None,
                });
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
        if commit == begun && self.group.as_deref().is_some_and(|group| !group.still_leads(leading))
        {
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
        shown: &Shown,
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
        let (_, begun) = session.beginning();
        let made = match shown.is_terminated() {
            true => Err(Error::new(ErrorKind::Cancelled, TERMINATED)),
            false => {
                self.journal.ready().and_then(|()| self.end_transaction(session, &asked.id, early))
            }
        };
        if !matches!(made, Ok(commit) if commit == begun) {
            self.tell_commit(shown.asker(), Some(&shown.id()), &made, |commit| Some(*commit));
        }
        match made {
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

    /// Runs a query in Cypher, and hands its replies to `takes`.
    fn run_cypher(
        &self,
        shown: &Shown,
        request: &CypherRequest,
        cancel: CancelToken,
        takes: &dyn Fn(CypherReply) -> bool,
    ) -> Result<()> {
        let (text, given) = (Arc::<str>::from(request.text.as_str()), cypher::given(request)?);
        let mut watched = self.watch(shown, &text, &given)?;
        let run = |options: &Options| self.database.run(&text, given, options);
        let commit = || self.database.snapshot().commit();
        let terms = self.terms(shown, cancel);
        let ran = cypher::answer(request, terms, &mut watched, run, commit, takes);
        told_why(shown, &mut watched, ran, takes)
    }

    /// Runs a query in Cypher as a step of a transaction, which it returns.
    fn step_of_cypher(
        &self,
        mut session: Box<Session>,
        shown: &Shown,
        request: &CypherRequest,
        replies: &mpsc::Sender<Result<StepReply, Status>>,
    ) -> Box<Session> {
        let takes =
            |reply| replies.blocking_send(Ok(session::reply(LastReply::Cypher(reply)))).is_ok();
        let mut step = || {
            let (text, given) = (Arc::<str>::from(request.text.as_str()), cypher::given(request)?);
            let mut watched = self.watch(shown, &text, &given)?;
            let terms = self.terms(shown, shown.cancel().child());
            let (_, begun) = session.beginning();
            let run = |options: &Options| session.run(&self.database, &text, given, options);
            let ran = cypher::answer(request, terms, &mut watched, run, || begun, takes);
            told_why(shown, &mut watched, ran, &takes)
        };
        let ended: Result<()> = step();
        shown.hide_statement();
        if let Err(error) = ended {
            // The client has gone if nobody takes it.
            let _ = replies.blocking_send(Ok(fault(&error)));
        }
        session
    }

    /// What a query in Cypher may take and do.
    fn terms(&self, shown: &Shown, cancel: CancelToken) -> cypher::Terms {
        cypher::Terms {
            time: self.limits.time,
            memory: self.limits.statement_bytes,
            refusal: self.may_write(shown.asker().identity.role).err(),
            cancel,
            user: shown.asker().user(),
        }
    }

    /// Number of a commit, if it was made; if it was not, it must not be made later.
    fn resolve(&self, request: &ResolveRequest) -> Result<Option<u64>> {
        let id = wire::needed(id_of(&request.id)?, "id")?;
        // A server that was deposed, and does not know it yet, has not heard of the last commits.
        self.group.as_deref().map_or(Ok(()), Group::confirm)?;
        match self.attempt(id, Some(request.since))? {
            Ok(attempt) => {
                attempt.end(Outcome::Refused);
                Ok(None)
            }
            Err(Outcome::Made { commit, .. }) => Ok(Some(commit)),
            Err(_) => Ok(None),
        }
    }
}

/// The end of a query in Cypher, whose client is told if somebody has ended it.
fn told_why(
    shown: &Shown,
    watched: &mut Watched,
    ran: Result<()>,
    takes: &dyn Fn(CypherReply) -> bool,
) -> Result<()> {
    if ran.is_err() && shown.is_terminated() {
        watched.end(Some((Class::Cancelled.code(), TERMINATED)));
        takes(cypher::terminated());
        return Ok(());
    }
    ran
}

/// An error of a commit that comes after its client was told that it was not made.
fn refused() -> Error {
    Error::new(ErrorKind::Conflict, "the commit was given up before; begin another one")
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
    type WorkStream = Replies<WorkReply>;
    type CypherStream = Replies<CypherReply>;
    type BackupStream = Replies<BackupReply>;
    type MoveBucketsStream = Replies<MoveBucketsReply>;
    type HoldStream = Replies<HoldReply>;

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
        let open = Arc::clone(&served.pipelines).try_acquire_owned();
        let open = open.map_err(|_| served.limits.too_many_calls())?;
        tokio::spawn(async move {
            let (_open, mut place) = (open, Some(admitted.place));
            // The client has gone if nothing more comes, or nobody takes a reply.
            while let Some(request) = next_query(&served, &mut queries, &mut place).await {
                let answered = match place.clone().map_or_else(|| served.place(), Ok) {
                    Ok(free) => served.answer_somewhere(request, place.insert(free)).await,
                    Err(error) => Err(error),
                };
                let found = match answered {
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
        self.0.may_write(admitted.asker.identity.role)?;
        let (request, served) = (request.into_inner(), Arc::clone(&self.0));
        let work = move || {
            let (_place, began) = (admitted.place, Instant::now());
            served.journal.ready()?;
            let reply = served.make(request).and_then(Made::durable);
            served.count("commit", began, &reply);
            served.tell_commit(&admitted.asker, None, &reply, |reply| Some(reply.commit));
            reply
        };
        Ok(Response::new(aside(work).await??))
    }

    async fn commit_async(
        &self,
        mut request: Request<Streaming<CommitRequest>>,
    ) -> Result<Response<Self::CommitAsyncStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        self.0.may_write(admitted.asker.identity.role)?;
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
        self.0.may_write(admitted.asker.identity.role)?;
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
        self.0.may_write(admitted.asker.identity.role)?;
        let (replies, answered) = mpsc::channel(REPLIES);
        let (served, steps) = (Arc::clone(&self.0), request.into_inner());
        let shown = served.running.show(&admitted.asker, Map::new(), &served.cancel);
        tokio::spawn(async move {
            let _place = admitted.place;
            let began = Instant::now();
            let ended = transaction(Arc::clone(&served), shown, steps, &replies).await;
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
        self.0.may_write(admitted.asker.identity.role)?;
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
        let recruits = served.recruiter(&request);
        let work = move |takes: &dyn Fn(RunReply) -> bool| {
            let (_place, _alone, began) = (admitted.place, alone, Instant::now());
            let ran = runs::run(&served.runner, served.store.path(), &request, recruits, takes);
            served.count("run", began, &ran);
            ran
        };
        Ok(Response::new(reply_by(idle, CancelToken::new(), work)))
    }

    async fn work(
        &self,
        mut request: Request<WorkRequest>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let (served, request) = (Arc::clone(&self.0), request.into_inner());
        if admitted.asker.identity.role != Role::Server {
            return Err(denied("workers of a run are for the other servers alone").into());
        }
        served.refuse_other_share(request.share)?;
        // The worker of a run that has just ended takes a moment to go.
        let alone = within(ENDING, Arc::clone(&served.works).acquire_owned()).await;
        let alone = alone.and_then(|alone| alone.ok()).ok_or_else(|| {
            let what = "a server takes part in another algorithm; try again when it has ended";
            Error::new(ErrorKind::Overloaded, what)
        })?;
        served.catch_up(request.commit).await?;
        let graph = served.state_after(request.commit)?;
        let (idle, stops) = (served.limits.idle, served.cancel.child());
        let stopping = stops.clone();
        let work = move |takes: &dyn Fn(WorkReply) -> bool| {
            let (_place, _alone, began) = (admitted.place, alone, Instant::now());
            let workplace = served.workplace.as_ref().ok_or_else(runs::unable);
            let worked = workplace.and_then(|place| place.work(&graph, request, &stops, takes));
            served.count("work", began, &worked);
            worked
        };
        Ok(Response::new(reply_by(idle, stopping, work)))
    }

    async fn cypher(
        &self,
        mut request: Request<CypherRequest>,
    ) -> Result<Response<Self::CypherStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let (served, request) = (Arc::clone(&self.0), request.into_inner());
        served.refuse_without_all()?;
        served.catch_up(request.at_least).await?;
        let shown = served.running.show(&admitted.asker, Map::new(), &served.cancel);
        let (idle, cancel) = (served.limits.idle, shown.cancel().child());
        let stops = cancel.clone();
        let work = move |takes: &dyn Fn(CypherReply) -> bool| {
            let (_place, began) = (admitted.place, Instant::now());
            let ran = served.run_cypher(&shown, &request, cancel, takes);
            served.count("cypher", began, &ran);
            ran
        };
        Ok(Response::new(reply_by(idle, stops, work)))
    }

    async fn backup(
        &self,
        mut request: Request<BackupRequest>,
    ) -> Result<Response<Self::BackupStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let (served, request) = (Arc::clone(&self.0), request.into_inner());
        if !admitted.asker.identity.role.is_admin() {
            let what = "a copy of the store needs an admin's token, or a server's";
            return Err(denied(what).into());
        }
        served.refuse_without_all()?;
        let buckets = wire::of_some_buckets(&request.buckets)?;
        let alone = Arc::clone(&served.copies).try_acquire_owned().map_err(|_| {
            let what = "another client gets a copy of the store; try again when it has it";
            Error::new(ErrorKind::Overloaded, what)
        })?;
        served.catch_up(request.at_least).await?;
        let (idle, cancel) = (served.limits.idle, served.cancel.child());
        let stops = cancel.clone();
        let work = move |takes: &dyn Fn(BackupReply) -> bool| {
            let (_place, _alone, began) = (admitted.place, alone, Instant::now());
            let sent = match buckets {
                Some(buckets) => moving::send(&served, &buckets, &cancel, takes),
                None => copies::send(served.store.path(), &cancel, takes),
            };
            served.count("backup", began, &sent);
            sent
        };
        Ok(Response::new(reply_by(idle, stops, work)))
    }

    async fn move_buckets(
        &self,
        mut request: Request<MoveBucketsRequest>,
    ) -> Result<Response<Self::MoveBucketsStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let (served, request) = (Arc::clone(&self.0), request.into_inner());
        if !admitted.asker.identity.role.is_admin() {
            return Err(denied("buckets are moved by an admin's token, or a server's").into());
        }
        served.may_write(admitted.asker.identity.role)?;
        let alone = moving::place(&served.moves)?;
        let (idle, cancel) = (served.limits.idle, served.cancel.child());
        let stops = cancel.clone();
        let work = move |takes: &dyn Fn(MoveBucketsReply) -> bool| {
            let (_place, _alone, began) = (admitted.place, alone, Instant::now());
            let moved = moving::move_buckets(&served, &request, &cancel, takes);
            served.count("move", began, &moved);
            moved
        };
        Ok(Response::new(reply_by(idle, stops, work)))
    }

    async fn hold(
        &self,
        mut request: Request<HoldRequest>,
    ) -> Result<Response<Self::HoldStream>, Status> {
        let admitted = Self::admitted(&mut request)?;
        let (served, request) = (Arc::clone(&self.0), request.into_inner());
        if admitted.asker.identity.role != Role::Server {
            return Err(denied("the other servers alone say what a server holds").into());
        }
        let alone = moving::place(&served.moves)?;
        served.catch_up(request.at_least).await?;
        let (idle, cancel) = (served.limits.idle, served.cancel.child());
        let stops = cancel.clone();
        let work = move |takes: &dyn Fn(HoldReply) -> bool| {
            let (_place, _alone, began) = (admitted.place, alone, Instant::now());
            let held = moving::hold(&served, &request, &cancel, takes);
            served.count("hold", began, &held);
            held
        };
        Ok(Response::new(reply_by(idle, stops, work)))
    }

    async fn status(&self, _: Request<StatusRequest>) -> Result<Response<StatusReply>, Status> {
        Ok(Response::new(self.0.status()))
    }
}

/// The next query of a pipeline; `None` if its client has gone, or says nothing for long, or if the server ends. A
/// pipeline that waits gives its place up.
async fn next_query(
    served: &Served,
    queries: &mut Streaming<QueryRequest>,
    place: &mut Option<Arc<OwnedSemaphorePermit>>,
) -> Option<QueryRequest> {
    let mut next = std::pin::pin!(queries.message());
    tokio::select! {
        biased;
        message = &mut next => return message.ok().flatten(),
        () = std::future::ready(()) => *place = None,
    }
    let began = Instant::now();
    while !served.cancel.is_cancelled() && began.elapsed() < served.limits.idle {
        if let Ok(message) = tokio::time::timeout(LOOK, &mut next).await {
            return message.ok().flatten();
        }
    }
    None
}

/// The next step of a transaction; `None` if its client has gone.
async fn next_step(
    served: &Served,
    shown: &Shown,
    steps: &mut Streaming<Step>,
) -> Result<Option<Step>> {
    let idle = served.limits.idle;
    let silent = || {
        let seconds = idle.as_secs_f64();
        Error::new(
            ErrorKind::Deadline,
            format!(
                "the transaction was rolled back, because its client did nothing for {seconds} seconds"
            ),
        )
    };
    tokio::select! {
        message = within(idle, steps.message()) => Ok(message.ok_or_else(silent)??),
        () = shown.terminated() => Err(Error::new(ErrorKind::Cancelled, TERMINATED)),
    }
}

/// Runs a transaction until its commit, or until its client has gone. What it leaves is rolled back.
async fn transaction(
    served: Arc<Served>,
    shown: Shown,
    mut steps: Streaming<Step>,
    replies: &mpsc::Sender<Result<StepReply, Status>>,
) -> Result<()> {
    let mut session = None;
    loop {
        let Some(step) = next_step(&served, &shown, &mut steps).await? else { return Ok(()) };
        let answered = match (session.take(), step.step) {
            (None, Some(Kind::Begin(begin))) => {
                let (served, cancel) = (Arc::clone(&served), shown.cancel().clone());
                let begun = aside(move || {
                    let limits = served.limits;
                    let leading = served.group.as_deref().and_then(Group::leading);
                    Session::begin(&served.store, leading, begin.alone, limits, cancel)
                });
                let (begun, reply) = begun.await??;
                session = Some(begun);
                vec![reply]
            }
            (None, _) => return Err(Error::parameter("the first step of a transaction is begin")),
            (Some(running), Some(Kind::Commit(commit))) => {
                let (served, replies) = (Arc::clone(&served), replies.clone());
                return aside(move || served.last_step(running, &shown, &commit, &replies)).await;
            }
            (Some(running), Some(Kind::Cypher(request))) => {
                let (served, shown) = (Arc::clone(&served), shown.clone());
                let replies = replies.clone();
                let step = move || served.step_of_cypher(running, &shown, &request, &replies);
                session = Some(aside(step).await?);
                Vec::new()
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
