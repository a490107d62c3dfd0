//! Frames by timely dataflow (D. Murray et al., *Naiad*, SOSP 2013).
//!
//! A round is a time of the dataflow: frames enter it as opaque bytes, one to a container, so that
//! nothing is serialised record by record; the round is over when the frontier has passed its time,
//! which is the barrier. Channels have no backpressure: the session's batches bound what is under way.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Write;
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{Allocator, AllocatorBuilder, Hooks, Push, initialize_from};
use timely::container::{CapacityContainerBuilder, NoopBuilder};
use timely::dataflow::InputHandle;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message};
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::probe;
use timely::dataflow::operators::{Input, Probe};
use timely::progress::Stamp;
use timely::worker::Worker;
use timely::{Accountable, CommunicationConfig, WorkerConfig};

use super::Transport;
use super::sockets::Guarded;
use crate::{Error, Result};

/// For so long a worker sleeps at most before it looks whether it should go on waiting.
const NAP: Duration = Duration::from_millis(20);
/// For so long a worker that waits looks for frames before it falls asleep.
const AWAKE: Duration = Duration::from_micros(50);

/// A frame on its way.
#[derive(Clone, Default)]
enum Parcel {
    #[default]
    Nothing,
    /// To that server.
    Leaving(usize, Vec<u8>),
    Arrived(timely::bytes::arc::Bytes),
}

impl Parcel {
    fn bytes(&self) -> &[u8] {
        match self {
            Parcel::Nothing => &[],
            Parcel::Leaving(_, bytes) => bytes,
            Parcel::Arrived(bytes) => bytes,
        }
    }
}

impl Accountable for Parcel {
    fn record_count(&self) -> i64 {
        i64::from(!matches!(self, Parcel::Nothing))
    }
}

impl ContainerBytes for Parcel {
    fn from_bytes(bytes: timely::bytes::arc::Bytes) -> Self {
        Parcel::Arrived(bytes)
    }

    fn length_in_bytes(&self) -> usize {
        self.bytes().len()
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        // A slab of memory, with room for as many bytes as were asked for.
        let _ = writer.write_all(self.bytes());
    }
}

/// Sends each parcel where it says.
struct ByAddress;

impl Distributor<Parcel> for ByAddress {
    fn partition<T: Clone, P: Push<Message<T, Parcel>>>(
        &mut self,
        parcel: &mut Parcel,
        stamp: &Stamp<T>,
        pushers: &mut [P],
    ) {
        if let Parcel::Leaving(to, _) = parcel
            && let Some(pusher) = pushers.get_mut(*to)
        {
            Message::push_at(parcel, stamp.clone(), pusher);
        }
    }

    fn flush<T: Clone, P: Push<Message<T, Parcel>>>(&mut self, _: &Stamp<T>, _: &mut [P]) {}
}

/// What a watcher says when the run cannot go on.
#[derive(Clone, Debug, Default)]
pub struct Alarm(Arc<Mutex<Option<(usize, String)>>>);

impl Alarm {
    /// Says that a server is lost: whoever waits for a round stops waiting.
    pub fn ring(&self, server: usize, why: impl Into<String>) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.get_or_insert_with(|| (server, why.into()));
    }

    /// # Errors
    /// [`Error::Lost`] once it has rung.
    pub(crate) fn check(&self) -> Result<()> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match said.clone() {
            Some((server, why)) => Err(Error::Lost { server, why }),
            None => Ok(()),
        }
    }
}

/// What the thread of a server is asked to do.
enum Command {
    Send(usize, Vec<u8>),
    /// To say when the round is over.
    Finish,
}

/// What it answers.
enum Event {
    Arrived(Parcel),
    Finished,
    Failed(Error),
}

/// A server's end of a dataflow, whose worker has a thread of its own: frames leave and arrive while the
/// server goes on computing.
pub struct Dataflow {
    server: usize,
    servers: usize,
    /// None when there is nothing more to say.
    commands: Option<Sender<Command>>,
    events: Receiver<Event>,
    alarm: Alarm,
    /// Those of a process.
    sockets: Vec<TcpStream>,
}

/// Its other end.
struct Ends {
    commands: Receiver<Command>,
    events: Sender<Event>,
}

impl Dataflow {
    /// The ends of `servers` servers that are threads of this process. `patience` is for how long a round
    /// may last without a frame.
    ///
    /// # Errors
    /// [`Error::Lost`] if threads cannot be made.
    pub fn threads(servers: usize, alarm: &Alarm, patience: Duration) -> Result<Vec<Self>> {
        let (builders, _) = CommunicationConfig::Process(servers).try_build().map_err(failed(0))?;
        let closing = Arc::new(AtomicBool::new(true));
        start(builders, 0, servers, Box::new(()), alarm, &closing, patience)
    }

    /// The end of a server whose process is connected with all others', by the sockets of
    /// [`super::sockets::connect`].
    ///
    /// # Errors
    /// [`Error::Lost`] if threads cannot be made.
    pub fn sockets(
        server: usize,
        sockets: Vec<Option<TcpStream>>,
        alarm: &Alarm,
        patience: Duration,
    ) -> Result<Self> {
        let servers = sockets.len();
        let closing = Arc::new(AtomicBool::new(false));
        let known = sockets.iter().flatten().map(TcpStream::try_clone);
        let known = known.collect::<std::io::Result<Vec<_>>>();
        let known = known.map_err(|error| failed(server)(error.to_string()))?;
        let guarded = |(server, socket): (usize, Option<TcpStream>)| {
            let (alarm, closing) = (alarm.clone(), Arc::clone(&closing));
            socket.map(|socket| Guarded { socket, server, alarm, closing })
        };
        let sockets: Vec<_> = sockets.into_iter().enumerate().map(guarded).collect();
        let hooks = Hooks::default();
        let inner = ProcessBuilder::new_typed_vector(1, hooks.refill.clone(), None);
        let (builders, comms) =
            initialize_networking_from_sockets(inner, sockets, server, 1, hooks)
                .map_err(|error| failed(server)(error.to_string()))?;
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
        let flows = start(builders, server, servers, Box::new(comms), alarm, &closing, patience)?;
        let flow = flows.into_iter().next();
        let mut flow = flow.ok_or_else(|| failed(server)("it has no threads".into()))?;
        flow.sockets = known;
        Ok(flow)
    }

    fn lost(&self) -> Error {
        let closed = || failed(self.server)("its channels have closed".into());
        self.alarm.check().err().unwrap_or_else(closed)
    }

    fn ask(&self, command: Command) -> Result<()> {
        let commands = self.commands.as_ref().ok_or_else(|| self.lost())?;
        commands.send(command).map_err(|_| self.lost())
    }
}

impl Drop for Dataflow {
    fn drop(&mut self) {
        self.commands = None;
        if self.alarm.check().is_ok() {
            // Until the last word has been heard by all others, or one of them is gone.
            while self.events.recv().is_ok() {}
        }
        if self.alarm.check().is_err() {
            for socket in &self.sockets {
                // Ends its threads; one that is broken has ended already.
                let _ = socket.shutdown(std::net::Shutdown::Both);
            }
        }
    }
}

fn failed(server: usize) -> impl Fn(String) -> Error {
    move |why| Error::Lost { server, why }
}

/// Starts the threads of some servers of a cluster, `first` and those after it.
fn start(
    builders: Vec<AllocatorBuilder>,
    first: usize,
    servers: usize,
    others: Box<dyn std::any::Any + Send>,
    alarm: &Alarm,
    closing: &Arc<AtomicBool>,
    patience: Duration,
) -> Result<Vec<Dataflow>> {
    let (mut flows, mut ends) = (Vec::new(), Vec::new());
    for server in first..first + builders.len() {
        let (commands, asked) = channel();
        let (answers, events) = channel();
        ends.push(Mutex::new(Some(Ends { commands: asked, events: answers })));
        let (commands, alarm) = (Some(commands), alarm.clone());
        let sockets = Vec::new();
        flows.push(Dataflow { server, servers, commands, events, alarm, sockets });
    }
    let (alarm, closing) = (alarm.clone(), Arc::clone(closing));
    let guards = initialize_from(builders, others, move |allocator| {
        let ends = ends.get(allocator.index() - first);
        let ends = ends.and_then(|ends| ends.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(ends) = ends {
            Flow::new(allocator, alarm.clone(), patience).serve(&ends, &closing);
        }
    });
    // The threads end with the servers. To join them would be to panic with those whose connection has
    // broken, of which the alarm tells.
    std::mem::forget(guards.map_err(failed(first))?);
    Ok(flows)
}

impl Transport for Dataflow {
    fn server(&self) -> usize {
        self.server
    }

    fn servers(&self) -> usize {
        self.servers
    }

    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<()> {
        self.ask(Command::Send(to, frame))
    }

    fn finish(&mut self, arrived: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.ask(Command::Finish)?;
        loop {
            match self.events.recv().map_err(|_| self.lost())? {
                Event::Arrived(parcel) => arrived(parcel.bytes())?,
                Event::Finished => return Ok(()),
                Event::Failed(error) => return Err(error),
            }
        }
    }
}

/// A worker of a timely dataflow, in its thread.
struct Flow {
    worker: Worker,
    input: InputHandle<u64, NoopBuilder<Parcel>>,
    probe: probe::Handle<u64>,
    arrived: Rc<RefCell<VecDeque<Parcel>>>,
    round: u64,
    alarm: Alarm,
    patience: Duration,
}

impl Flow {
    fn new(allocator: Allocator, alarm: Alarm, patience: Duration) -> Self {
        let config = WorkerConfig::default().idle_spin(AWAKE);
        let mut worker = Worker::new(config, allocator, Some(Instant::now()));
        let arrived = Rc::new(RefCell::new(VecDeque::new()));
        let sink = Rc::clone(&arrived);
        let (input, probe) = worker.dataflow::<u64, _, _>(|scope| {
            let (input, parcels) = scope.new_input_with_builder::<NoopBuilder<Parcel>>();
            let pact = DistributorPact(|_| ByAddress);
            let delivered = parcels.unary::<CapacityContainerBuilder<Vec<()>>, _, _, _>(
                pact,
                "deliver",
                move |_, _| {
                    move |input, _| {
                        input.for_each(|_, parcel| {
                            sink.borrow_mut().push_back(std::mem::take(parcel));
                        });
                    }
                },
            );
            let (probe, _) = delivered.probe();
            (input, probe)
        });
        Flow { worker, input, probe, arrived, round: 0, alarm, patience }
    }

    /// Does what it is asked until nobody asks any more.
    fn serve(mut self, ends: &Ends, closing: &AtomicBool) {
        loop {
            let done = match ends.commands.recv_timeout(NAP) {
                Ok(Command::Send(to, frame)) => {
                    self.input.send_batch(&mut Parcel::Leaving(to, frame));
                    self.worker.step();
                    self.hand_over(ends).map(|_| ())
                }
                Ok(Command::Finish) => self.finish(ends),
                Err(RecvTimeoutError::Timeout) => {
                    self.worker.step();
                    self.hand_over(ends).map(|_| ())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    closing.store(true, Ordering::Release);
                    return self.end();
                }
            };
            if let Err(error) = done {
                // The server may have gone too.
                let _ = ends.events.send(Event::Failed(error));
                return;
            }
        }
    }

    /// Hands over what has arrived; whether there was something.
    fn hand_over(&self, ends: &Ends) -> Result<bool> {
        let mut some = false;
        for parcel in self.arrived.borrow_mut().drain(..) {
            some = true;
            let gone = |_| Error::Lost { server: self.worker.index(), why: "it has ended".into() };
            ends.events.send(Event::Arrived(parcel)).map_err(gone)?;
        }
        Ok(some)
    }

    fn finish(&mut self, ends: &Ends) -> Result<()> {
        self.round += 1;
        self.input.advance_to(self.round);
        let mut heard = Instant::now();
        while self.probe.less_than(&self.round) {
            self.worker.step_or_park(Some(NAP));
            if self.hand_over(ends)? {
                heard = Instant::now();
            }
            self.alarm.check()?;
            if heard.elapsed() > self.patience {
                let why = format!("nothing was heard for {:.0} s", self.patience.as_secs_f64());
                return Err(Error::Lost { server: self.worker.index(), why });
            }
        }
        self.hand_over(ends)?;
        let gone = |_| Error::Lost { server: self.worker.index(), why: "it has ended".into() };
        ends.events.send(Event::Finished).map_err(gone)
    }

    /// Closes the dataflow together with the other servers.
    fn end(self) {
        let Flow { mut worker, input, alarm, patience, .. } = self;
        drop(input);
        let began = Instant::now();
        while worker.has_dataflows() && alarm.check().is_ok() && began.elapsed() < patience {
            worker.step_or_park(Some(NAP));
        }
    }
}
