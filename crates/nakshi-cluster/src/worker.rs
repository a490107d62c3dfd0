//! The worker: a process that waits for front-ends and takes part in their runs as a server.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nakshi_engine::{CancelToken, Context, EngineMode, Graph, Progress};
use nakshi_io::run_beside;
use nakshi_store::{OpenOptions, Store};

use crate::checkpoint::{CheckpointStore, RecoveryState};
use crate::control::{Command, Lines, Report, RunCommand, say};
use crate::exchange::channels::{Channels, is_quiet};
use crate::exchange::door::{Door, Keeping};
use crate::exchange::sockets::{ConnectLimits, connect};
use crate::exchange::{AbortFlag, Counters, Session};
use crate::exchange::{Identity, watchful};
use crate::job::{Superstep, Terms};
use crate::load::LOADING;
use crate::task::{Programs, RetainedState, ServerTask, TaskResult};
use crate::{Allowed, Error, MemoryBudget, Result, Token};

/// Interval between heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(200);
/// Interval at which the process looks whether it shall stop.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Shortest interval between two reports of supersteps.
const REPORT_INTERVAL: Duration = Duration::from_millis(5);
/// Longest wait for the other servers to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest silence in a round: a front-end notices a server that hangs earlier.
const ROUND_TIMEOUT: Duration = Duration::from_secs(3600);

/// Time after which a silent front-end is lost, until its first command states another one.
const FRONT_END_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time in which an interrupted worker reports that to its front-end.
const FAREWELL_TIMEOUT: Duration = Duration::from_millis(200);
/// Longest wait of a worker that serves once for a front-end: the process that started it may be gone.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The front-ends that a worker obeys, and the files that they may name.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The secret that front-ends and other servers know.
    pub token: Token,
    /// Folders in which front-ends may name files.
    pub allowed: Allowed,
    /// Set if the worker ends after one front-end.
    pub once: bool,
    /// Programs that it knows, besides algorithms.
    pub programs: Programs,
    /// The part of a graph that it has, as [`nakshi_store::EdgePartWriter`] writes it.
    pub part: Option<PathBuf>,
}

/// Serves front-ends that call, one after the other: one of them with `once`, and until it is cancelled
/// without. Others wait meanwhile for their turn.
///
/// # Errors
/// [`nakshi_engine::Error::Cancelled`]; with `once` also what made the run fail, and, without a part of a graph,
/// [`Error::FrontEnd`] if nobody calls for a minute.
pub fn serve(listener: &TcpListener, rules: &Rules, cancel: &CancelToken) -> Result<()> {
    quiet_threads();
    let door = Door::open(listener, &rules.token).map_err(broken)?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _kept = Keeping::begin(&door, &over, scope)?;
        let began = Instant::now();
        // Whoever has written a part for a worker ends it.
        let waits = rules.once && rules.part.is_none();
        loop {
            if cancel.is_cancelled() {
                return Err(nakshi_engine::Error::Cancelled.into());
            }
            if let Some(socket) = door.arrivals().front_end(POLL_INTERVAL) {
                let served = front_end(&socket, (&door, rules), cancel);
                if rules.once {
                    return served;
                }
            } else if waits && began.elapsed() > IDLE_TIMEOUT {
                let why = format!("nobody has called in {:.0} s", IDLE_TIMEOUT.as_secs_f64());
                return Err(Error::FrontEnd(why));
            }
        }
    })
}

/// timely panics when a connection breaks, which the run ends with an error for, or survives: that shall
/// not be printed. Other panics are printed as before.
pub(crate) fn quiet_threads() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !is_quiet() {
                before(panic);
            }
        }));
    });
}

fn broken(error: io::Error) -> Error {
    Error::FrontEnd(error.to_string())
}

/// Serves one front-end until it has gone.
fn front_end(
    socket: &TcpStream,
    (door, rules): (&Door, &Rules),
    cancel: &CancelToken,
) -> Result<()> {
    watchful(socket, FRONT_END_TIMEOUT)
        .and_then(|()| socket.set_read_timeout(None))
        .map_err(broken)?;
    let lines = Lines::of(socket).map_err(broken)?;
    // Other servers call where the front-end has called.
    let port = door.address().map_err(broken)?.port();
    say(socket, &Report::Ready { port }).map_err(broken)?;
    let (orders, asked) = channel();
    let server = WorkerSession {
        socket,
        door,
        rules,
        talk: Mutex::new(()),
        now: Mutex::new(None),
        loading: Arc::default(),
        ended: Mutex::new(false),
        ends: Condvar::new(),
        over: AtomicBool::new(false),
    };
    let listens = Mutex::new(Some((lines, orders)));
    let beside = |worker: usize| {
        let listens = || listens.lock().unwrap_or_else(PoisonError::into_inner).take();
        match worker {
            0 => server.beat(),
            1 => server.watch(cancel),
            _ => {
                if let Some((mut lines, orders)) = listens() {
                    server.obey(&mut lines, orders);
                }
            }
        }
        Ok(())
    };
    let mut begun = false;
    let serves = || {
        begun = true;
        let _ends = EndGuard(&server);
        server.serve(&asked)
    };
    let served = run_beside(3, serves, beside).map(drop);
    if let (false, Err(error)) = (begun, &served) {
        // A front-end that has gone does not ask why.
        let why = error.to_string();
        let _ = server.tell(&Report::Failed { why, lost: None, state: RecoveryState::default() });
    }
    served
}

/// Guard that ends the other threads of a session when the main one ends.
struct EndGuard<'s>(&'s WorkerSession<'s>);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.ends.notify_all();
        // Ends the thread that listens.
        let _ = self.0.socket.shutdown(std::net::Shutdown::Read);
    }
}

/// Bytes loaded so far, and in all.
#[derive(Debug, Default)]
struct LoadProgress(Mutex<(u64, u64)>);

impl Progress for LoadProgress {
    fn update(&self, phase: &str, done: u64, total: u64) {
        if phase == LOADING {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (done, total);
        }
    }
}

/// The current run, with the abort flag and token that end it early.
struct CurrentRun {
    server: usize,
    abort: AbortFlag,
    stop: CancelToken,
}

/// A run that a front-end asks for, with the abort flag and token that end it early.
struct RunRequest {
    run: RunCommand,
    abort: AbortFlag,
    stop: CancelToken,
}

/// The session of a worker with one front-end, shared by the worker's threads.
struct WorkerSession<'s> {
    socket: &'s TcpStream,
    /// The sockets at which other servers call.
    door: &'s Door,
    rules: &'s Rules,
    /// Lines of several threads do not mix.
    talk: Mutex<()>,
    now: Mutex<Option<CurrentRun>>,
    loading: Arc<LoadProgress>,
    ended: Mutex<bool>,
    /// Signalled when `ended` is set.
    ends: Condvar,
    /// The front-end has said that the run is over, whatever came of it. One that is only silent may go
    /// on with another server in this one's place.
    over: AtomicBool,
}

impl WorkerSession<'_> {
    fn tell(&self, report: &Report) -> io::Result<()> {
        let _guard = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        say(self.socket, report)
    }

    /// Ends the current run, if there is one: server `lost` is lost.
    fn stop(&self, lost: Option<usize>, why: &str) {
        if let Some(current) = &*self.now.lock().unwrap_or_else(PoisonError::into_inner) {
            current.abort.raise(lost.unwrap_or(current.server), why);
            current.stop.cancel();
        }
    }

    /// Passes on runs, and ends the current one by command of the front-end, or when the front-end has
    /// gone and cannot
    /// send a command any more.
    fn obey(&self, lines: &mut Lines, orders: Sender<RunRequest>) {
        loop {
            match lines.next() {
                Ok(Some(Command::Run(run))) => {
                    // A front-end that is cut off is gone; one that cannot be watched is noticed later.
                    let _ = watchful(self.socket, run.job.peer_timeout);
                    let (abort, stop) = (AbortFlag::default(), CancelToken::new());
                    let current = CurrentRun { server: run.server, abort, stop };
                    let asked = RunRequest {
                        run: *run,
                        abort: current.abort.clone(),
                        stop: current.stop.clone(),
                    };
                    *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
                    if orders.send(asked).is_err() {
                        return;
                    }
                }
                Ok(Some(Command::Halt)) => self.stop(None, "the run will be taken up again"),
                Ok(Some(Command::Abort { server, why })) => {
                    self.over.store(true, Ordering::Release);
                    return self.stop(server, &why);
                }
                Ok(Some(Command::End)) => return self.over.store(true, Ordering::Release),
                Ok(None) | Err(_) => return self.stop(None, "the front-end has gone"),
            }
        }
    }

    /// Sends heartbeats until the front-end has gone.
    fn beat(&self) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            drop(ended);
            // A front-end that has gone is noticed by whoever listens to it.
            let loaded = self.loading.0.lock().map_or((0, 0), |loaded| *loaded);
            let _ = self.tell(&Report::Alive { loaded });
            ended = self.until_ended(HEARTBEAT_INTERVAL);
        }
    }

    /// Ends the session when the worker is interrupted; never waits for the front-end.
    fn watch(&self, cancel: &CancelToken) {
        while !*self.until_ended(POLL_INTERVAL) {
            if cancel.is_cancelled() {
                self.stop(None, "it was interrupted");
                // No more orders either.
                let _ = self.socket.shutdown(std::net::Shutdown::Read);
                if !*self.until_ended(FAREWELL_TIMEOUT) {
                    // Whoever tells the front-end something that does not listen ends now.
                    let _ = self.socket.shutdown(std::net::Shutdown::Both);
                }
                return;
            }
        }
    }

    /// Waits for the end of the session until the time-out; the flag that says whether it has come.
    fn until_ended(&self, timeout: Duration) -> MutexGuard<'_, bool> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ends.wait_timeout_while(ended, timeout, |ended| !*ended);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Runs every request until the channel closes; returns the result of the last run.
    fn serve(&self, asked: &Receiver<RunRequest>) -> Result<()> {
        let (mut kept, mut last) = (RetainedState::default(), Ok(()));
        let (mut job, mut number) = (None, None);
        while let Ok(mut asked) = asked.recv() {
            let run = &mut asked.run;
            match self.rules.allowed.admit(run.server, &run.job) {
                Ok(admitted) => run.job = admitted,
                Err(refused) => {
                    let refused = Err(refused);
                    let told = self.report(&refused, Counters::default(), RecoveryState::default());
                    last = refused.and_then(|_| told.map_err(broken));
                    continue;
                }
            }
            if job != Some(run.job.id) {
                job = Some(run.job.id);
                let keeper = CheckpointStore::new(run.job.id, run.job.checkpoints.clone());
                kept = RetainedState { keeper, ..RetainedState::default() };
            }
            number = Some(run.server);
            let mut counters = Counters::default();
            let found = self.run(&asked, &mut kept, &mut counters);
            let state = kept.keeper.state(kept.ready);
            // A front-end that has gone does not ask again.
            let told = self.report(&found, counters, state);
            last = found.and_then(|_| told.map_err(broken));
        }
        if let Some(number) = number.filter(|_| self.over.load(Ordering::Acquire)) {
            kept.keeper.remove(number);
        }
        last
    }

    /// Loads and runs.
    fn run(
        &self,
        asked: &RunRequest,
        kept: &mut RetainedState,
        counters: &mut Counters,
    ) -> Result<TaskResult> {
        let RunRequest { run, abort, stop } = asked;
        let RunCommand { server, addresses, job, epoch, start, seconds } = run;
        let limits = job.limits;
        let until = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
        let cx = Context::new().with_threads(limits.threads).with_cancel(stop.clone());
        let cx = cx.with_memory(limits.memory).with_mode(EngineMode::Ssd);
        let cx = cx.with_progress(Arc::clone(&self.loading) as Arc<dyn Progress>);
        let open = |path: &Path| -> Result<Graph> {
            let store = Store::open(path, &OpenOptions::default());
            let store = store.map_err(nakshi_engine::Error::from)?;
            Ok(Graph::open(&store, &job.task.needs(), &cx)?)
        };
        let waiting = ConnectLimits {
            until: Instant::now() + CONNECT_TIMEOUT,
            peer_timeout: job.peer_timeout,
            abort: abort.clone(),
        };
        let me = Identity { server: *server, job: job.id, epoch: *epoch };
        let token = &self.rules.token;
        let sockets = connect(self.door.arrivals(), addresses, me, token, &waiting)?;
        let channels = Channels::sockets(*server, sockets, abort, ROUND_TIMEOUT)?;
        let mut session = Session::new(Box::new(channels), job.id, *epoch);
        let every = job.checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.every);
        let mut steps =
            StepReporter { server: self, every, done: Vec::new(), saved: Vec::new(), told: None };
        let mut watch = |done: &Superstep, state: &RecoveryState| steps.add(*done, state);
        let budget = MemoryBudget {
            memory: limits.memory,
            folder: std::env::temp_dir(),
            value: job.task.value_bytes(),
            threads: limits.threads,
        };
        let found = job.task.run(ServerTask {
            input: &job.input,
            part: self.rules.part.as_deref(),
            programs: &self.rules.programs,
            open: &open,
            start,
            budget: &budget,
            kept,
            session: &mut session,
            terms: Terms { senders: limits.senders, steps: None, until },
            cx: &cx,
            // As with heartbeats.
            loaded: &|| drop(self.tell(&Report::Loaded)),
            watch: &mut watch,
        });
        steps.tell();
        *counters = session.counters();
        // Being stopped is the echo of why.
        let found = found.map_err(|error| abort.check().err().unwrap_or(error));
        if let Err(error) = &found {
            // The others are not waited for.
            abort.raise(*server, error.to_string());
        }
        found
    }

    /// Sends the result of the run, or its error, to the front-end.
    fn report(
        &self,
        found: &Result<TaskResult>,
        counters: Counters,
        state: RecoveryState,
    ) -> io::Result<()> {
        match found {
            Ok(TaskResult { bytes, cut }) => {
                // Results follow their line at once.
                let _guard = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
                let (len, cut, peak_rss) = (bytes.len() as u64, *cut, peak_rss());
                say(self.socket, &Report::Done { bytes: len, cut, counters, peak_rss, state })?;
                io::Write::write_all(&mut &*self.socket, bytes)
            }
            Err(error) => {
                // The front-end says of which server.
                let (why, lost) = match error {
                    Error::Lost { server, why } => (why.clone(), Some(*server)),
                    Error::Failed { why, .. } => (why.clone(), None),
                    error => (error.to_string(), None),
                };
                self.tell(&Report::Failed { why, lost, state })
            }
        }
    }
}

/// Reports supersteps to the front-end: those that are over sooner than it can show them, several at
/// a time.
struct StepReporter<'s> {
    server: &'s WorkerSession<'s>,
    /// Supersteps from one checkpoint to the next; 0 without checkpoints.
    every: u32,
    done: Vec<Superstep>,
    saved: Vec<u32>,
    told: Option<Instant>,
}

impl StepReporter<'_> {
    fn add(&mut self, done: Superstep, state: &RecoveryState) {
        self.done.push(done);
        // What a run can be taken up from is told at once, and before it what it leads up to.
        let new = self.saved != state.saved || (done.step + 1).is_multiple_of(self.every);
        self.saved.clone_from(&state.saved);
        if new || self.told.is_none_or(|told| told.elapsed() > REPORT_INTERVAL) {
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.told = Some(Instant::now());
        let (done, saved) = (std::mem::take(&mut self.done), self.saved.clone());
        if !done.is_empty() {
            // A front-end that has gone is noticed by whoever listens to it.
            let _ = self.server.tell(&Report::Steps { done, saved });
        }
    }
}

/// Most memory that this process has had, in bytes.
fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
