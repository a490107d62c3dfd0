//! The server: listens, accepts connections within limits, and ends in order.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{BucketSet, LoadOptions, PropertyStore};
use nakshi_query::{Database, NoProcedures, Procedures};
use nakshi_store::import::Hooks;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::{Connected, Router, TcpConnectInfo};
use tonic::transport::{Identity, ServerTlsConfig};

use crate::access::{Certificate, HANDSHAKE, Role, Tokens, check_address, denied};
use crate::bolt;
use crate::channel::Peers;
use crate::deposed::Deposed;
use crate::error::{Error, ErrorKind, Result};
use crate::gateway::Gateway;
use crate::http;
use crate::journal::{Journal, JournalOptions};
use crate::limits::{KeptStates, Limits};
use crate::metrics::Metrics;
use crate::moving;
use crate::outcomes::Outcomes;
use crate::paces::Paces;
use crate::replication::v1::replica_server::ReplicaServer;
use crate::replication::{Group, GroupOptions};
use crate::running::Running;
use crate::served::{CHECKS, Served};
use crate::service::Service;
use crate::users::Users;
use crate::v1::graph_server::GraphServer;
use crate::work::Workplace;

/// How long running calls may go on when the server ends.
const GRACE: Duration = Duration::from_secs(10);
/// Time for the last answers to leave, when no call runs any more.
const FLUSH: Duration = Duration::from_millis(200);
/// Time without a word from a client after which the system asks whether its machine is still there.
const SILENCE: Duration = Duration::from_secs(60);
/// Interval at which old states are forgotten, and other processes' commits read.
const SWEEP: Duration = Duration::from_millis(200);
/// Interval at which the server looks whether it should end.
const HEARTBEAT: Duration = Duration::from_millis(20);
/// Descriptors of the messages and methods, for the reflection service.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/graph.bin"));

/// Options of a server.
#[derive(Debug)]
pub struct ServeOptions {
    /// Address to listen at; with port 0 the system chooses one.
    pub listen: SocketAddr,
    /// Address of this machine for metrics in Prometheus' format, at `/metrics`; none without it.
    pub http: Option<SocketAddr>,
    /// Address for drivers of Neo4j, by Bolt; none without it.
    pub bolt: Option<SocketAddr>,
    /// True to refuse all changes. The server then reads the commits of the process that writes.
    pub read_only: bool,
    /// Certificate for TLS; without one, the connections are plain.
    pub certificate: Option<Certificate>,
    /// Tokens of the clients; without any, everybody may read and write.
    pub tokens: Option<Tokens>,
    /// Users with passwords, for Bolt and HTTP. If there are some, strangers get nowhere without a token or a
    /// password.
    pub users: Option<Users>,
    /// Options of the audit log and of the log of slow statements.
    pub journal: JournalOptions,
    /// Limits.
    pub limits: Limits,
    /// The servers of the graph, if there are several.
    pub group: Option<GroupOptions>,
    /// The command that runs an algorithm, which the package of Python has; empty for none.
    pub runner: Vec<String>,
    /// The command of a worker of such a run, for runs on the servers of all shares; empty for none.
    pub worker: Vec<String>,
    /// True if servers with certificates take part in runs on all shares, whose workers do not encrypt what they
    /// send each other.
    pub plain_runs: bool,
    /// Procedures that queries in Cypher can call.
    pub procedures: Arc<dyn Procedures>,
    /// The folder that `LOAD CSV` may read from; none without it.
    pub csv_folder: Option<PathBuf>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 7480)),
            http: None,
            bolt: None,
            read_only: false,
            certificate: None,
            tokens: None,
            users: None,
            journal: JournalOptions::default(),
            limits: Limits::default(),
            group: None,
            runner: Vec::new(),
            worker: Vec::new(),
            plain_runs: false,
            procedures: Arc::new(NoProcedures),
            csv_folder: None,
        }
    }
}

/// A server that listens, but does not answer before [`Server::run`].
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    /// The listener for HTTP.
    pages: Option<std::net::TcpListener>,
    /// The listener for Bolt.
    drivers: Option<std::net::TcpListener>,
    secrets: Option<Arc<ServerConfig>>,
    store: Arc<PropertyStore>,
    options: ServeOptions,
    kept: Arc<KeptStates>,
    journal: Arc<Journal>,
    group: Option<Arc<Group>>,
    gateway: Option<Arc<Gateway>>,
    transport: tonic::transport::Server,
}

/// An error of the certificate, or of serving as a whole.
fn failed(error: tonic::transport::Error) -> Error {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    Error::parameter(format!("the server cannot start: {error}{}", cause.unwrap_or_default()))
}

impl Server {
    /// Listens at an address, and becomes the writer of the store unless it is served read-only.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for an address that others can reach, without a certificate or tokens, or
    /// for a certificate that is none; [`ErrorKind::Unavailable`] for an address that is taken; as
    /// [`PropertyStore::start_writing`].
    pub fn bind(
        store: Arc<PropertyStore>,
        options: ServeOptions,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let certified = options.certificate.is_some();
        let known = options.tokens.is_some() || options.users.is_some();
        check_address(options.listen, certified, known)?;
        if let Some(http) = options.http.filter(|http| !http.ip().is_loopback()) {
            return Err(Error::parameter(format!(
                "{http} can be reached from other machines, and HTTP has neither certificate nor tokens; \
                 use 127.0.0.1, and a proxy for others"
            )));
        }
        if let Some(bolt) = options.bolt {
            check_address(bolt, certified, known)?;
        }
        let journal = Arc::new(Journal::open(options.journal.clone())?);
        let listener = listen(options.listen, "--listen")?;
        let pages = options.http.map(|http| listen(http, "--http")).transpose()?;
        let drivers = options.bolt.map(|bolt| listen(bolt, "--bolt")).transpose()?;
        let address = listener.local_addr().map_err(no_listener)?;
        let mut transport = tonic::transport::Server::builder().timeout(options.limits.time);
        if let Some(Certificate { chain, key }) = &options.certificate {
            let identity = Identity::from_pem(chain, key);
            let tls = ServerTlsConfig::new().identity(identity).timeout(HANDSHAKE);
            transport = transport.tls_config(tls).map_err(failed)?;
        }
        let certificate = options.certificate.as_ref().filter(|_| drivers.is_some());
        let secrets = certificate.map(Certificate::config).transpose()?;
        let kept = Arc::<KeptStates>::default();
        let group = match &options.group {
            Some(_) if options.read_only => {
                return Err(Error::parameter("a server of several is not read-only"));
            }
            Some(group) => {
                let token = options.tokens.as_ref().map(Tokens::of_servers).transpose()?;
                take_share(&store, group, cancel)?;
                let bytes = options.limits.request_bytes;
                Some(Arc::new(Group::start(&store, group, token, bytes, &kept, cancel)?))
            }
            None => None,
        };
        if !options.read_only && group.is_none() {
            store.start_writing(cancel)?;
        }
        let gateway = gateway(&options)?;
        if drivers.is_some() && gateway.as_ref().is_some_and(|gateway| gateway.share().is_some()) {
            let what =
                "this server has a share of the graph; give --bolt to one that has all of it";
            return Err(Error::parameter(what));
        }
        Ok(Server {
            listener,
            address,
            pages,
            drivers,
            secrets,
            store,
            options,
            kept,
            journal,
            group,
            gateway,
            transport,
        })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address at which it listens for HTTP, if it does.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.pages.as_ref().and_then(|pages| pages.local_addr().ok())
    }

    /// The address at which it listens for drivers, if it does.
    pub fn bolt_address(&self) -> Option<SocketAddr> {
        self.drivers.as_ref().and_then(|drivers| drivers.local_addr().ok())
    }

    /// Answers calls until `cancel` is set. Running calls may then go on for ten seconds.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`] if the system starts no threads; errors of the last commits.
    pub fn run(self, cancel: &CancelToken) -> Result<()> {
        let Server {
            listener,
            address,
            pages,
            drivers,
            secrets,
            store,
            options,
            kept,
            journal,
            group,
            gateway,
            transport,
        } = self;
        let limits = options.limits;
        let peers = peers(&options)?;
        let drivers_at = drivers.as_ref().and_then(|drivers| drivers.local_addr().ok());
        let bolt = drivers_at.map(|bolt| place_of(&options, address, bolt));
        let served =
            Arc::new(serve_as((store, options), kept, journal, (group, gateway, bolt), cancel));
        let (path, read_only) = (served.store.path().display(), served.read_only);
        tracing::info!(%address, store = %path, read_only, "serving");
        let here = runtime(1)?;
        let routes = here.block_on(routes(&served))?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let drivers =
            drivers.map(|drivers| serve_drivers(drivers, secrets, &served, peers)).transpose()?;
        let (ending, ended) = watch::channel(());
        let answered = std::thread::scope(|scope| {
            let (mut threads, mut lines) = (Vec::new(), Vec::new());
            for _ in 0..cores {
                let (line, connections) = mpsc::channel(1);
                let router = transport.clone().add_routes(routes.clone());
                let served = Arc::clone(&served);
                let ended = ended.clone();
                let work = move || {
                    let runtime = runtime(limits.calls)?;
                    let answered = runtime.block_on(answer(served, router, connections, ended));
                    runtime.shutdown_timeout(FLUSH);
                    answered
                };
                let thread = std::thread::Builder::new().name("nakshi-server".into());
                threads.push(thread.spawn_scoped(scope, work).map_err(Error::no_thread)?);
                lines.push(line);
            }
            threads.extend(tend(scope, &served, &ended)?);
            let accepted = here.block_on(async {
                let upkeep = tokio::spawn(keep_up(Arc::clone(&served)));
                if let Some(pages) = pages {
                    serve_pages(pages, &served)?;
                }
                let accepted = accept(listener, &served, &lines, cancel).await;
                upkeep.abort();
                accepted
            });
            drop((lines, ending));
            let panicked =
                |_| Error::new(ErrorKind::Internal, "internal error: the server panicked");
            threads.into_iter().fold(accepted, |before, thread| {
                before.and(thread.join().map_err(panicked).and_then(|answered| answered))
            })
        });
        drivers.into_iter().for_each(|drivers| drivers.shutdown_timeout(FLUSH));
        let ended = flush(&served).and(answered);
        ended
            .inspect(|()| tracing::info!("ended"))
            .inspect_err(|error| tracing::error!(message = error.message.as_str(), "ended"))
    }
}

/// The state of a server that begins to answer.
pub(crate) fn serve_as(
    (store, options): (Arc<PropertyStore>, ServeOptions),
    kept: Arc<KeptStates>,
    journal: Arc<Journal>,
    (group, gateway, bolt): (Option<Arc<Group>>, Option<Arc<Gateway>>, Option<String>),
    cancel: &CancelToken,
) -> Served {
    let (limits, workplace) = (options.limits, workplace(&options));
    let running = Running::new(&journal);
    let mut database = Database::new(Arc::clone(&store))
        .with_transactions(options.procedures, Arc::clone(&running) as _);
    if let Some(folder) = &options.csv_folder {
        database = database.with_csv_folder(folder);
    }
    if let Some(group) = &group {
        database = database.with_outcomes(Arc::new(Deposed {
            store: Arc::clone(&store),
            group: Arc::clone(group),
            cancel: cancel.clone(),
        }));
    }
    Served {
        read_only: options.read_only,
        limits,
        tokens: options.tokens,
        users: options.users,
        checks: Semaphore::new(CHECKS),
        database: Arc::new(database),
        running,
        journal,
        kept,
        cancel: cancel.child(),
        calls: Arc::new(Semaphore::new(limits.calls)),
        pipelines: Arc::new(Semaphore::new(limits.calls)),
        runner: options.runner,
        runs: Arc::new(Semaphore::new(1)),
        workplace,
        works: Arc::new(Semaphore::new(1)),
        copies: Arc::new(Semaphore::new(1)),
        moves: Arc::new(Semaphore::new(1)),
        connections: 0.into(),
        metrics: Metrics::new(group.is_some()),
        paces: Paces::default(),
        outcomes: Outcomes::default(),
        bolt,
        group,
        gateway,
        began: Instant::now(),
        store,
    }
}

/// How this server calls the others of its graph, if there are some.
fn peers(options: &ServeOptions) -> Result<Option<Peers>> {
    let Some(group) = &options.group else { return Ok(None) };
    let token = options.tokens.as_ref().map(Tokens::of_servers).transpose()?;
    Ok(Some(Peers { ca: group.ca.clone(), token }))
}

/// The place where workers of runs on all shares begin, if they may.
fn workplace(options: &ServeOptions) -> Option<Workplace> {
    let group = options.group.as_ref()?;
    if options.worker.is_empty() || (group.ca.is_some() && !options.plain_runs) {
        return None;
    }
    let (host, _) = group.servers.get(group.own)?.rsplit_once(':')?;
    let (command, listen) = (options.worker.clone(), options.listen.ip());
    Some(Workplace { command, listen, host: host.to_owned() })
}

/// Host and port at which drivers find a server that listens at `bolt`: by the name that the others have for it,
/// if it listens for them in the same place.
fn place_of(options: &ServeOptions, listen: SocketAddr, bolt: SocketAddr) -> String {
    let listed = options.group.as_ref().and_then(|group| group.servers.get(group.own));
    let host = listed.and_then(|server| server.rsplit_once(':')).map(|(host, _)| host);
    match host.filter(|_| bolt.ip().is_unspecified() || bolt.ip() == listen.ip()) {
        Some(host) => format!("{host}:{}", bolt.port()),
        None => bolt.to_string(),
    }
}

/// The way of a server to those that have the nodes, if not all have the whole graph.
fn gateway(options: &ServeOptions) -> Result<Option<Arc<Gateway>>> {
    let (Some(group), Some(peers)) = (&options.group, peers(options)?) else { return Ok(None) };
    let time = options.limits.time;
    Ok(Gateway::new(group.placement(), &group.servers, group.own, peers, time))
}

/// Leaves in the store of a server with a share what is of that share, at its first start. Later, it may have more:
/// buckets that it was about to take, or to leave out. Of those that were moved, it may lack some, and takes them when
/// it serves.
fn take_share(store: &PropertyStore, group: &GroupOptions, cancel: &CancelToken) -> Result<()> {
    moving::clean(store.path())?;
    let (listed, moved) = (group.placement(), store.snapshot().moved_buckets().clone());
    let placement = listed.with(&moved);
    let wanted = placement.share_of(group.own).map(|share| placement.buckets(share));
    let name = store.path().display();
    let lacking = match (store.buckets(), wanted) {
        (None, Some(buckets)) => {
            tracing::info!(store = %name, "takes its share of the graph");
            let hooks = Hooks { cancel: cancel.clone(), ..Hooks::default() };
            store.take_share(&buckets, &LoadOptions::default(), &hooks)?;
            Some(BucketSet::default())
        }
        (None, None) => Some(BucketSet::default()),
        (Some(has), Some(wanted)) => Some(wanted.without(&has)),
        (Some(_), None) => None,
    };
    let is_moved = |bucket| moved.share_of(bucket, listed.shares()).is_some();
    match lacking {
        Some(lacking) if lacking.iter().all(is_moved) => Ok(()),
        _ => Err(Error::parameter(format!(
            "{name} has another share of the graph than this server has to have; remove it, and start with \
             --fetch"
        ))),
    }
}

/// Makes the commits durable whose clients have gone, or leaves them to the other servers.
fn flush(served: &Served) -> Result<()> {
    match &served.group {
        Some(group) => group.stop(),
        None => Ok(served.store.flush()?),
    }
}

/// Listens at the address of an option.
fn listen(address: SocketAddr, option: &str) -> Result<std::net::TcpListener> {
    let cannot = |error: std::io::Error| {
        let what = format!("cannot listen at {address}: {error}; choose another {option}");
        Error::new(ErrorKind::Unavailable, what)
    };
    let listener = std::net::TcpListener::bind(address).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    Ok(listener)
}

fn no_listener(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot listen: {error}"))
}

/// A runtime of one thread, with others for what takes long.
fn runtime(calls: usize) -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().thread_name("nakshi-call").max_blocking_threads(calls.max(1));
    builder.build().map_err(Error::no_thread)
}

/// Answers HTTP, in tasks of this runtime.
fn serve_pages(pages: std::net::TcpListener, served: &Arc<Served>) -> Result<()> {
    let listener = TcpListener::from_std(pages).map_err(no_listener)?;
    let pages = http::pages(Arc::clone(served));
    let pages = pages.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(axum::serve(listener, pages).into_future());
    Ok(())
}

/// Answers drivers, on threads of their own: a thread of them may wait for a statement.
fn serve_drivers(
    drivers: std::net::TcpListener,
    secrets: Option<Arc<ServerConfig>>,
    served: &Arc<Served>,
    peers: Option<Peers>,
) -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().thread_name("nakshi-bolt");
    builder.max_blocking_threads(served.limits.calls.max(1));
    let runtime = builder.build().map_err(Error::no_thread)?;
    let drivers = {
        let _here = runtime.enter();
        TcpListener::from_std(drivers).map_err(no_listener)?
    };
    let secrets = secrets.map(TlsAcceptor::from);
    runtime.spawn(bolt::serve(drivers, Arc::clone(served), secrets, peers));
    Ok(runtime)
}

/// The services, which all threads share: the graph, health, and reflection.
async fn routes(served: &Arc<Served>) -> Result<Routes> {
    let graph = GraphServer::new(Service(Arc::clone(served)))
        .max_decoding_message_size(served.limits.request_bytes)
        .max_encoding_message_size(usize::MAX);
    let admitting = Arc::clone(served);
    let graph = InterceptedService::new(graph, move |request| admitting.admit(request));
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<GraphServer<Service>>().await;
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .build_v1()
        .map_err(|_| Error::new(ErrorKind::Internal, "internal error: bad descriptors"))?;
    let known = Arc::clone(served);
    let reflection = InterceptedService::new(reflection, move |request| {
        known.identity(&request)?;
        Ok(request)
    });
    let routes = Routes::new(graph).add_service(health_service).add_service(reflection);
    let Some(group) = &served.group else { return Ok(routes) };
    let replica = ReplicaServer::new(group.service())
        .max_decoding_message_size(group.message_bytes)
        .max_encoding_message_size(usize::MAX);
    let known = Arc::clone(served);
    let replica =
        InterceptedService::new(replica, move |request| match known.identity(&request)?.role {
            Role::Server => Ok(request),
            _ => Err(denied("only the other servers may call this").into()),
        });
    Ok(routes.add_service(replica))
}

/// Answers the calls of some connections on this thread, until the sender of `ended` is dropped.
async fn answer(
    served: Arc<Served>,
    router: Router,
    connections: mpsc::Receiver<Accepted>,
    mut ended: watch::Receiver<()>,
) -> Result<()> {
    let connections = ReceiverStream::new(connections).map(Connection::open);
    let mut until = ended.clone();
    let mut server = tokio::spawn(router.serve_with_incoming_shutdown(connections, async move {
        // An error tells that the sender was dropped.
        let _ = until.changed().await;
    }));
    let _ = ended.changed().await;
    let began = Instant::now();
    while served.running_calls() > 0 && !server.is_finished() && began.elapsed() < GRACE {
        tokio::time::sleep(HEARTBEAT).await;
    }
    // A client that does not read now does not close its connection either; calls that go on are cut off.
    match tokio::time::timeout(FLUSH, &mut server).await {
        Ok(Ok(answered)) => answered.map_err(failed),
        Ok(Err(_)) => Err(Error::new(ErrorKind::Internal, "internal error: the server panicked")),
        Err(_) => Ok(()),
    }
}

/// Sees to the buckets of a server that has a share, on a thread of its own, until the sender of `ended` is dropped.
fn tend<'scope>(
    scope: &'scope Scope<'scope, '_>,
    served: &Arc<Served>,
    ended: &watch::Receiver<()>,
) -> Result<Option<ScopedJoinHandle<'scope, Result<()>>>> {
    if served.gateway.as_ref().is_none_or(|gateway| gateway.share().is_none()) {
        return Ok(None);
    }
    let (served, ended) = (Arc::clone(served), ended.clone());
    let work = move || {
        moving::tend(&served, &|| ended.has_changed().is_err());
        Ok(())
    };
    let thread = std::thread::Builder::new().name("nakshi-tend".into());
    thread.spawn_scoped(scope, work).map(Some).map_err(Error::no_thread)
}

/// Forgets old states. A read-only server also reads what another process commits.
async fn keep_up(served: Arc<Served>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let served = Arc::clone(&served);
        let swept = tokio::task::spawn_blocking(move || {
            served.kept.sweep(Instant::now());
            // A failed read is repeated; queries answer from the last state until then.
            if served.read_only {
                let _ = served.store.refresh_until(&served.cancel);
            }
        });
        if swept.await.is_err() {
            return;
        }
    }
}

/// Accepts connections, as many at a time as the limits say, and deals them to the threads in turn.
async fn accept(
    listener: std::net::TcpListener,
    served: &Arc<Served>,
    lines: &[mpsc::Sender<Accepted>],
    cancel: &CancelToken,
) -> Result<()> {
    let listener = TcpListener::from_std(listener).map_err(no_listener)?;
    let places = Arc::new(Semaphore::new(served.limits.connections.max(1)));
    for line in lines.iter().cycle() {
        let accepted = loop {
            if cancel.is_cancelled() {
                return Ok(());
            }
            if let Some(why) = served.group.as_deref().and_then(Group::failure) {
                let what = format!("left the other servers of the graph: {why}");
                return Err(Error::new(ErrorKind::Storage, what));
            }
            let next = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, listener.accept().await)
            };
            if let Ok((Ok(place), accepted)) = tokio::time::timeout(HEARTBEAT, next).await {
                break accepted.and_then(|(stream, _)| Ok((place, stream.into_std()?)));
            }
        };
        let Ok((place, stream)) = accepted else {
            // No more files or memory: wait for others to end.
            tracing::warn!("a connection was not accepted");
            tokio::time::sleep(HEARTBEAT).await;
            continue;
        };
        let keepalive = TcpKeepalive::new().with_time(SILENCE).with_interval(SILENCE / 6);
        let set = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
        if set.and_then(|()| stream.set_nodelay(true)).is_err() {
            continue;
        }
        served.connections.fetch_add(1, Relaxed);
        let held = Held { served: Arc::clone(served), _place: place };
        if line.send(Accepted { stream, held }).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// What a connection holds until it is closed.
struct Held {
    served: Arc<Served>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.served.connections.fetch_sub(1, Relaxed);
    }
}

/// A connection on its way to a thread.
struct Accepted {
    stream: std::net::TcpStream,
    held: Held,
}

/// A connection of a thread.
struct Connection {
    stream: TcpStream,
    _held: Held,
}

impl Connection {
    fn open(accepted: Accepted) -> std::io::Result<Self> {
        let Accepted { stream, held } = accepted;
        Ok(Connection { stream: TcpStream::from_std(stream)?, _held: held })
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
