//! The front-end (2.3): tells servers what to do, watches them, and takes what comes out.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use nakshi_engine::{Context, EngineMode, Graph, Outcome};
use nakshi_store::Store;
use serde::Serialize;

use crate::control::{Job, Lines, Order, Report, VERSION, say};
use crate::exchange::Counters;
use crate::job::Superstep;
use crate::task::Task;
use crate::{Error, Partition, Result};

/// For so long a server may say nothing.
const SILENCE: Duration = Duration::from_secs(10);
/// For so long the front-end waits for a connection.
const CONNECTING: Duration = Duration::from_secs(20);
/// How often it looks whether it shall stop.
const NAP: Duration = Duration::from_millis(50);
/// For so long it waits for the cause when one server has lost another.
const ECHO: Duration = Duration::from_millis(500);

/// What servers have done, besides results.
#[derive(Clone, Debug, Serialize)]
pub struct Servers {
    /// Supersteps of each server.
    pub steps: Vec<Vec<Superstep>>,
    /// Frames of each server.
    pub counters: Vec<Counters>,
    /// Most memory of each server's process, in bytes.
    pub peak_rss: Vec<u64>,
    /// Seconds until the first superstep began: connecting and loading.
    pub load: f64,
    /// Seconds from then on.
    pub run: f64,
}

/// How servers run a task.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Computation workers of each server.
    pub threads: usize,
    /// Bytes that each may use while it loads.
    pub memory: Option<u64>,
}

/// Runs a task on the servers that listen at `addresses`, all of which can read the store under the same
/// path. `watch` is told of every superstep of every server.
///
/// # Errors
/// [`Error::Lost`] for a server that cannot be reached, ends or says nothing for ten seconds; what made
/// a server fail; [`nakshi_engine::Error::Cancelled`] by `cx`.
pub fn run(
    store: &Arc<Store>,
    task: &Task,
    addresses: &[String],
    settings: Settings,
    cx: &Context,
    watch: &mut dyn FnMut(usize, &Superstep),
) -> Result<(Outcome, Servers)> {
    Partition::new(addresses.len())?;
    let graph = Graph::open(store, &task.needs(), &cx.clone().with_mode(EngineMode::Ssd))?;
    let path = std::path::absolute(store.path()).unwrap_or_else(|_| store.path().to_path_buf());
    let front = Front::connect(addresses)?;
    let job = Job {
        id: job_id(&path),
        store: path,
        task: task.clone(),
        threads: settings.threads.max(1),
        memory: settings.memory,
    };
    front.start(&job)?;
    let ended = front.follow(cx, watch);
    if let Err(error) = &ended {
        front.abort(error);
    }
    let (bytes, servers) = ended?;
    Ok((task.outcome(&bytes, &graph, cx)?, servers))
}

/// A number that no other run has.
fn job_id(path: &Path) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one((path, SystemTime::now(), std::process::id()))
}

/// What a server said, or that its connection ended.
type Heard = (usize, io::Result<Option<(Report, Vec<u8>)>>);

struct Front {
    sockets: Vec<TcpStream>,
    /// Where servers listen for each other.
    addresses: Vec<String>,
    heard: Receiver<Heard>,
}

impl Front {
    fn connect(addresses: &[String]) -> Result<Self> {
        let (sender, heard) = channel();
        let (mut sockets, mut listening) = (Vec::new(), Vec::new());
        for (server, address) in addresses.iter().enumerate() {
            let lost = |why: String| Error::Lost { server, why: format!("{address}: {why}") };
            let socket = call(address).map_err(|error| lost(error.to_string()))?;
            let failed = |error: io::Error| lost(error.to_string());
            socket.set_nodelay(true).map_err(failed)?;
            socket.set_read_timeout(Some(CONNECTING)).map_err(failed)?;
            let mut lines = Lines::of(&socket).map_err(failed)?;
            say(&socket, &Order::Join { version: VERSION.into() }).map_err(failed)?;
            match lines.next().map_err(failed)? {
                Some(Report::Ready { version, port }) if version == VERSION => {
                    let host = socket.peer_addr().map_err(failed)?.ip();
                    listening.push(std::net::SocketAddr::new(host, port).to_string());
                }
                Some(Report::Ready { version, .. }) => {
                    let why = format!("it is nakshi {version} and this is {VERSION}");
                    return Err(lost(why));
                }
                _ => return Err(lost("it is no server of a cluster, or a busy one".into())),
            }
            socket.set_read_timeout(None).map_err(failed)?;
            let sender = sender.clone();
            std::thread::spawn(move || listen(server, lines, &sender));
            sockets.push(socket);
        }
        Ok(Front { sockets, addresses: listening, heard })
    }

    fn start(&self, job: &Job) -> Result<()> {
        for (server, socket) in self.sockets.iter().enumerate() {
            let (addresses, job) = (self.addresses.clone(), job.clone());
            let lost = |error: io::Error| Error::Lost { server, why: error.to_string() };
            say(socket, &Order::Run { server, addresses, job }).map_err(lost)?;
        }
        Ok(())
    }

    /// Ends the run on all servers that still listen.
    fn abort(&self, error: &Error) {
        let server = match error {
            Error::Lost { server, .. } => *server,
            _ => 0,
        };
        for socket in &self.sockets {
            // One that is gone hears nothing.
            let _ = say(socket, &Order::Abort { server, why: error.to_string() });
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Listens until all servers are done; the bytes of the first one's results.
    fn follow(
        &self,
        cx: &Context,
        watch: &mut dyn FnMut(usize, &Superstep),
    ) -> Result<(Vec<u8>, Servers)> {
        let mut run = Watched::new(self.sockets.len());
        while run.done.iter().any(|done| !done) {
            cx.check()?;
            match self.heard.recv_timeout(NAP) {
                Ok((server, said)) => run.hear(server, said, watch)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            run.check()?;
        }
        Ok(run.end())
    }
}

/// What is known of a run that goes on.
struct Watched {
    began: Instant,
    /// When the first superstep was over.
    loaded: Option<Instant>,
    /// When each server was heard last.
    heard: Vec<Instant>,
    done: Vec<bool>,
    servers: Servers,
    results: Vec<u8>,
    /// A server has lost another one; what that one has to say may still come.
    echo: Option<(Instant, Error)>,
}

impl Watched {
    fn new(servers: usize) -> Self {
        let began = Instant::now();
        Watched {
            began,
            loaded: None,
            heard: vec![began; servers],
            done: vec![false; servers],
            servers: Servers {
                steps: vec![Vec::new(); servers],
                counters: vec![Counters::default(); servers],
                peak_rss: vec![0; servers],
                load: 0.0,
                run: 0.0,
            },
            results: Vec::new(),
            echo: None,
        }
    }

    fn hear(
        &mut self,
        server: usize,
        said: io::Result<Option<(Report, Vec<u8>)>>,
        watch: &mut dyn FnMut(usize, &Superstep),
    ) -> Result<()> {
        put(&mut self.heard, server, Instant::now());
        let over = self.echo.is_some() || self.done.get(server) == Some(&true);
        match said {
            Ok(Some((Report::Step(step), _))) => {
                self.loaded.get_or_insert_with(Instant::now);
                watch(server, &step);
                if let Some(steps) = self.servers.steps.get_mut(server) {
                    steps.push(step);
                }
            }
            Ok(Some((Report::Done { counters, peak_rss, .. }, bytes))) => {
                put(&mut self.done, server, true);
                put(&mut self.servers.counters, server, counters);
                put(&mut self.servers.peak_rss, server, peak_rss);
                if server == 0 {
                    self.results = bytes;
                }
            }
            Ok(Some((Report::Failed { why, lost: None }, _))) => {
                return Err(Error::Failed { server, why });
            }
            Ok(Some((Report::Failed { why, lost: Some(server) }, _))) => {
                self.echo.get_or_insert((Instant::now(), Error::Lost { server, why }));
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) if over => {}
            Ok(None) => {
                return Err(Error::Lost { server, why: "its process has ended".into() });
            }
            Err(error) => return Err(Error::Lost { server, why: error.to_string() }),
        }
        Ok(())
    }

    /// Whether somebody is lost or says nothing.
    fn check(&mut self) -> Result<()> {
        match self.echo.take() {
            Some((at, error)) if at.elapsed() > ECHO => return Err(error),
            echo => self.echo = echo,
        }
        let mut servers = self.heard.iter().zip(&self.done);
        match servers.position(|(at, done)| !done && at.elapsed() > SILENCE) {
            None => Ok(()),
            Some(server) => {
                let why = format!("it has said nothing for {:.0} s", SILENCE.as_secs_f64());
                Err(Error::Lost { server, why })
            }
        }
    }

    fn end(mut self) -> (Vec<u8>, Servers) {
        let loaded = self.loaded.unwrap_or_else(Instant::now);
        self.servers.load = (loaded - self.began).as_secs_f64();
        self.servers.run = loaded.elapsed().as_secs_f64();
        (self.results, self.servers)
    }
}

fn put<T>(places: &mut [T], at: usize, value: T) {
    if let Some(place) = places.get_mut(at) {
        *place = value;
    }
}

fn call(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for place in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, CONNECTING) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Passes on what a server says until its connection ends.
fn listen(server: usize, mut lines: Lines, heard: &Sender<Heard>) {
    loop {
        let said = lines.next().and_then(|line| match line {
            Some(Report::Done { bytes, counters, peak_rss }) => {
                let results = lines.bytes(bytes)?;
                Ok(Some((Report::Done { bytes, counters, peak_rss }, results)))
            }
            other => Ok(other.map(|report| (report, Vec::new()))),
        });
        let last = !matches!(said, Ok(Some(_)));
        if heard.send((server, said)).is_err() || last {
            return;
        }
    }
}
