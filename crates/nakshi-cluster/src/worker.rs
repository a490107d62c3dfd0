//! A server of a cluster: waits for a front-end and does what it says.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nakshi_engine::{CancelToken, Context, EngineMode, Graph};
use nakshi_store::{OpenOptions, Store};

use crate::control::{Job, Lines, Order, Report, VERSION, say};
use crate::exchange::dataflow::{Alarm, Dataflow};
use crate::exchange::sockets::{Identity, connect};
use crate::exchange::{Counters, Session};
use crate::job::Superstep;
use crate::task::Part;
use crate::{Error, Result};

/// How often a server says that it lives, and looks whether it shall stop.
const HEARTBEAT: Duration = Duration::from_millis(200);
/// For so long a server waits for the others to listen.
const CONNECTING: Duration = Duration::from_secs(20);
/// For so long a round lasts at most without a frame: a front-end notices a server that hangs earlier.
const PATIENCE: Duration = Duration::from_secs(3600);

/// For so long a server that serves once waits for a front-end: what started it may be gone.
const NOBODY: Duration = Duration::from_secs(60);

/// Serves front-ends that call, one after the other: one of them with `once`, and until it is cancelled
/// without.
///
/// # Errors
/// [`nakshi_engine::Error::Cancelled`]; with `once` also what made the run fail, and [`Error::Lost`] if
/// nobody calls for a minute.
pub fn serve(listener: &TcpListener, once: bool, cancel: &CancelToken) -> Result<()> {
    listener.set_nonblocking(true).map_err(broken)?;
    let began = Instant::now();
    loop {
        if cancel.is_cancelled() {
            return Err(nakshi_engine::Error::Cancelled.into());
        }
        match listener.accept() {
            Ok((socket, _)) => {
                let served = front_end(&socket, listener, cancel);
                if once {
                    return served;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if once && began.elapsed() > NOBODY {
                    return Err(broken(io::ErrorKind::TimedOut.into()));
                }
                std::thread::sleep(HEARTBEAT / 10);
            }
            Err(error) => return Err(broken(error)),
        }
    }
}

fn broken(error: io::Error) -> Error {
    Error::Lost { server: 0, why: format!("the front-end: {error}") }
}

/// Does what one front-end says.
fn front_end(socket: &TcpStream, listener: &TcpListener, cancel: &CancelToken) -> Result<()> {
    socket.set_nonblocking(false).and_then(|()| socket.set_nodelay(true)).map_err(broken)?;
    let mut lines = Lines::of(socket).map_err(broken)?;
    let Some(Order::Join { version }) = lines.next().map_err(broken)? else { return Ok(()) };
    // Other servers call where the front-end has called.
    let address = listener.local_addr().map_err(broken)?;
    let others = TcpListener::bind((address.ip(), 0)).map_err(broken)?;
    let port = others.local_addr().map_err(broken)?.port();
    say(socket, &Report::Ready { version: VERSION.into(), port }).map_err(broken)?;
    if version != VERSION {
        let why = format!("the front-end is nakshi {version} and this is {VERSION}");
        return Err(Error::Lost { server: 0, why });
    }
    let Some(Order::Run { server, addresses, job }) = lines.next().map_err(broken)? else {
        return Ok(());
    };
    let running = Running {
        socket,
        server,
        talk: Mutex::new(()),
        alarm: Alarm::default(),
        stop: CancelToken::new(),
        ended: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| running.obey(&mut lines));
        scope.spawn(|| running.beat(cancel));
        let mut counters = Counters::default();
        let run = running.run(&job, &addresses, &others, &mut counters);
        running.ended.store(true, Ordering::Release);
        let said = running.report(&run, counters);
        // Ends the thread that listens.
        let _ = socket.shutdown(std::net::Shutdown::Read);
        said.map_err(broken)?;
        run.map(|_| ())
    })
}

/// A run on this server, as its threads see it.
struct Running<'s> {
    socket: &'s TcpStream,
    server: usize,
    /// Lines of several threads do not mix.
    talk: Mutex<()>,
    alarm: Alarm,
    stop: CancelToken,
    ended: AtomicBool,
}

impl Running<'_> {
    fn tell(&self, report: &Report) -> io::Result<()> {
        let _guard = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        say(self.socket, report)
    }

    fn give_up(&self, server: usize, why: String) {
        self.alarm.ring(server, why);
        self.stop.cancel();
    }

    /// Nobody talks to a server that runs but to end it; the end of the connection is one too.
    fn obey(&self, lines: &mut Lines) {
        let said = lines.next();
        if self.ended.load(Ordering::Acquire) {
            return;
        }
        match said {
            Ok(Some(Order::Abort { server, why })) => self.give_up(server, why),
            _ => self.give_up(self.server, "the front-end has gone".into()),
        }
    }

    /// Says that it lives until the run has ended.
    fn beat(&self, cancel: &CancelToken) {
        while !self.ended.load(Ordering::Acquire) {
            if cancel.is_cancelled() {
                self.give_up(self.server, "it was interrupted".into());
            }
            // A front-end that has gone is noticed by whoever listens to it.
            let _ = self.tell(&Report::Alive);
            std::thread::sleep(HEARTBEAT);
        }
    }

    /// Loads and runs; the bytes of all results on the first server.
    fn run(
        &self,
        job: &Job,
        addresses: &[String],
        listener: &TcpListener,
        counters: &mut Counters,
    ) -> Result<Vec<u8>> {
        let cx = Context::new().with_threads(job.threads).with_cancel(self.stop.clone());
        let cx = cx.with_memory(job.memory).with_mode(EngineMode::Ssd);
        let store = Store::open(&job.store, &OpenOptions::default());
        let store = store.map_err(nakshi_engine::Error::from)?;
        let graph = Graph::open(&store, &job.task.needs(), &cx)?;
        let me = Identity { server: self.server, job: job.id, epoch: 0 };
        let sockets = connect(listener, addresses, me, CONNECTING)?;
        let flow = Dataflow::sockets(self.server, sockets, &self.alarm, PATIENCE)?;
        let mut session = Session::new(Box::new(flow), job.id, 0);
        let mut watch = |step: &Superstep| {
            // As with heartbeats.
            let _ = self.tell(&Report::Step(*step));
        };
        let part = Part { graph: &graph, session: &mut session, cx: &cx, watch: &mut watch };
        let found = job.task.run(part);
        *counters = session.counters();
        found
    }

    /// Tells how the run has ended, with its results.
    fn report(&self, run: &Result<Vec<u8>>, counters: Counters) -> io::Result<()> {
        match run {
            Ok(bytes) => {
                // Results follow their line at once.
                let _guard = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
                let len = bytes.len() as u64;
                say(self.socket, &Report::Done { bytes: len, counters, peak_rss: peak_rss() })?;
                io::Write::write_all(&mut &*self.socket, bytes)
            }
            Err(error) => {
                let lost = match error {
                    Error::Lost { server, .. } => Some(*server),
                    _ => None,
                };
                self.tell(&Report::Failed { why: error.to_string(), lost })
            }
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
