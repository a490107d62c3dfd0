//! Time of a round by timely's channels, and by plain sockets with the same frames and checks.
//!
//! `cargo run --release -p nakshi-cluster --example exchange [SERVERS] [ROUNDS]`
//!
//! Servers are threads that are connected as processes of one machine are, each pair by a socket of its own;
//! both transports carry the frames of the same [`Session`], turn by turn.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // an example that cannot go on stops

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use nakshi_cluster::exchange::channels::Channels;
use nakshi_cluster::exchange::door::{Door, Keeping};
use nakshi_cluster::exchange::sockets::{ConnectLimits, connect};
use nakshi_cluster::exchange::{AbortFlag, Batch, Identity, PeerSocket, Session, Transport};
use nakshi_cluster::{Result, Token};

const FRAME: usize = 256 << 10;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Frames with their lengths in front, by a thread for each direction of each socket. An empty one ends a
/// round.
struct Plain {
    server: usize,
    writers: Vec<Option<Sender<Vec<u8>>>>,
    heard: Receiver<(usize, Vec<u8>)>,
    round: u64,
    /// Rounds that each server has ended: one may be a round ahead.
    ended: Vec<u64>,
}

impl Plain {
    fn new(server: usize, sockets: Vec<Option<PeerSocket>>) -> Self {
        let (arrived, heard) = channel();
        let writer = |(other, socket): (usize, PeerSocket)| {
            let (frames, leaving) = channel::<Vec<u8>>();
            let (mut to, mut from) = (socket.try_clone().unwrap(), socket);
            std::thread::spawn(move || {
                for frame in leaving {
                    to.write_all(&(frame.len() as u64).to_le_bytes()).unwrap();
                    to.write_all(&frame).unwrap();
                }
                to.shutdown(std::net::Shutdown::Write).unwrap();
            });
            let arrived = arrived.clone();
            std::thread::spawn(move || {
                let mut len = [0; 8];
                while from.read_exact(&mut len).is_ok() {
                    let mut frame = vec![0; u64::from_le_bytes(len) as usize];
                    from.read_exact(&mut frame).unwrap();
                    if arrived.send((other, frame)).is_err() {
                        return;
                    }
                }
            });
            frames
        };
        let ended = sockets.iter().map(|socket| if socket.is_some() { 0 } else { u64::MAX });
        let ended = ended.collect();
        let sockets = sockets.into_iter().enumerate();
        let writers = sockets.map(|(other, socket)| socket.map(|s| writer((other, s)))).collect();
        Plain { server, writers, heard, round: 0, ended }
    }
}

impl Transport for Plain {
    fn server(&self) -> usize {
        self.server
    }

    fn servers(&self) -> usize {
        self.writers.len()
    }

    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<()> {
        self.writers[to].as_ref().unwrap().send(frame).unwrap();
        Ok(())
    }

    fn finish(&mut self, arrived: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for writer in self.writers.iter().flatten() {
            writer.send(Vec::new()).unwrap();
        }
        self.round += 1;
        while self.ended.iter().any(|ended| *ended < self.round) {
            let (other, frame) = self.heard.recv().unwrap();
            if frame.is_empty() {
                self.ended[other] += 1;
            } else {
                arrived(&frame)?;
            }
        }
        Ok(())
    }
}

/// Seconds of a round in which every server sends each other one so many frames.
fn measure(servers: usize, frames: usize, len: usize, rounds: u32, plain: bool) -> f64 {
    let token = Token::random().unwrap();
    let open = |_| Door::open(&TcpListener::bind("127.0.0.1:0").unwrap(), &token).unwrap();
    let doors: Vec<_> = (0..servers).map(open).collect();
    let addresses: Vec<_> = doors.iter().map(|door| door.address().unwrap().to_string()).collect();
    let overs: Vec<_> = doors.iter().map(|_| AtomicBool::new(false)).collect();
    let abort = AbortFlag::default();
    let one = |server: usize| {
        let me = Identity { server, job: 1, epoch: 0 };
        let until = Instant::now() + TIMEOUT;
        let waiting = ConnectLimits { until, peer_timeout: TIMEOUT, abort: abort.clone() };
        let sockets = connect(doors[server].arrivals(), &addresses, me, &token, &waiting).unwrap();
        let transport: Box<dyn Transport> = if plain {
            Box::new(Plain::new(server, sockets))
        } else {
            Box::new(Channels::sockets(server, sockets, &abort, TIMEOUT).unwrap())
        };
        let mut session = Session::new(transport, 1, 0);
        let mut began = Instant::now();
        for round in 0..=rounds {
            if round == 1 {
                // The first one makes buffers.
                began = Instant::now();
            }
            let mut produce = || {
                let mut batch = Batch::default();
                for to in (0..servers).filter(|to| *to != server) {
                    for _ in 0..frames {
                        let mut frame = Session::frame(len);
                        frame.resize(Session::HEADER + len, 7);
                        batch.frames.push((to, frame));
                    }
                }
                Ok(batch)
            };
            let mut bytes = 0;
            let sink = &mut |_: usize, body: &[u8]| {
                bytes += body.len();
                Ok(())
            };
            session.exchange(&mut produce, sink).unwrap();
            assert_eq!(bytes, (servers - 1) * frames * len);
        }
        began.elapsed().as_secs_f64() / f64::from(rounds)
    };
    let one = &one;
    std::thread::scope(|scope| {
        let kept = doors.iter().zip(&overs);
        let _kept: Vec<_> =
            kept.map(|(door, over)| Keeping::begin(door, over, scope).unwrap()).collect();
        let threads: Vec<_> = (0..servers).map(|server| scope.spawn(move || one(server))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(0.0, f64::max)
    })
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>().unwrap());
    let servers = arguments.next().unwrap_or(4) as usize;
    let rounds = arguments.next().unwrap_or(200);
    println!("{servers} servers, medians of 5 x {rounds} rounds");
    for (frames, len) in [(0, 0), (1, 1 << 10), (4, FRAME), (32, FRAME)] {
        let mut seconds = [Vec::new(), Vec::new()];
        let rounds = if frames == 32 { rounds / 10 } else { rounds }.max(1);
        for _ in 0..5 {
            for (kind, seconds) in seconds.iter_mut().enumerate() {
                seconds.push(measure(servers, frames, len, rounds, kind == 1));
            }
        }
        let [timely, plain] = seconds.map(|mut seconds| {
            seconds.sort_by(f64::total_cmp);
            1e3 * seconds[2]
        });
        let kib = frames * len / 1024;
        println!(
            "{kib:>6} KiB to each: timely {timely:.3} ms, plain sockets {plain:.3} ms, {:.2}x",
            timely / plain
        );
    }
}
