//! Rounds with all of their frames, each once.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Transport;
use super::frame::{FrameHeader, FrameKind, HEADER, Round};
use crate::{Error, Result};

/// Counts of frames that a session has sent and refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Frames to other servers, those included that end rounds.
    pub frames: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Frames that came twice.
    pub doubles: u64,
    /// Frames of other runs, and of rounds that were over.
    pub late: u64,
}

/// Frames that have arrived from one server in a round.
#[derive(Debug, Default)]
struct Arrived {
    numbers: HashSet<u32>,
    stated: Option<u32>,
}

/// Sends frames in rounds that all servers go through together.
pub struct Session {
    transport: Box<dyn Transport>,
    round: Round,
    counters: Counters,
    /// Frames of the next round that came before this one was over.
    early: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("server", &self.server())
            .field("round", &self.round.number)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Frames that are sent in one round.
#[derive(Debug, Default)]
pub struct Batch {
    /// Receiving server and frame, begun by [`Session::frame`].
    pub frames: Vec<(usize, Vec<u8>)>,
    /// True if there is another batch.
    pub more: bool,
}

/// Receiver of the bodies of frames.
pub type Sink<'s> = &'s mut dyn FnMut(usize, &[u8]) -> Result<()>;

impl Session {
    /// Bytes in front of a body, which [`Session::frame`] leaves room for.
    pub const HEADER: usize = HEADER;

    /// Session of run `job`, which was taken up again `epoch` times.
    pub fn new(transport: Box<dyn Transport>, job: u64, epoch: u32) -> Self {
        Session {
            transport,
            round: Round { job, epoch, number: 0 },
            counters: Counters::default(),
            early: Vec::new(),
        }
    }

    /// Number of this server.
    pub fn server(&self) -> usize {
        self.transport.server()
    }

    /// Number of servers.
    pub fn servers(&self) -> usize {
        self.transport.servers()
    }

    /// Counts of frames sent and refused.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// A frame with room for its header, whose body is still empty.
    pub fn frame(capacity: usize) -> Vec<u8> {
        let mut frame = Vec::with_capacity(HEADER + capacity);
        frame.resize(HEADER, 0);
        frame
    }

    /// Sends the batches that `produce` makes, in as many rounds as the server with the most batches
    /// needs. The next batch is made when that before has arrived everywhere, so that one batch of each
    /// server bounds what is under way. Bodies go to `sink` with the server they are from, those of
    /// this server included, in no particular order.
    ///
    /// # Errors
    /// Errors of the transport, of `produce` and of `sink`; [`Error::Missing`] and [`Error::Damaged`].
    pub fn exchange(
        &mut self,
        produce: &mut dyn FnMut() -> Result<Batch>,
        sink: Sink<'_>,
    ) -> Result<()> {
        let mut mine = true;
        loop {
            let batch = if mine { produce()? } else { Batch::default() };
            mine = batch.more;
            let mut numbers = vec![0; self.servers()];
            for (to, frame) in batch.frames {
                let next = numbers.get_mut(to);
                let next = next.ok_or_else(|| Error::damaged(to, "there is no such server"))?;
                self.send(to, frame, *next, sink)?;
                *next += 1;
            }
            for (to, number) in numbers.into_iter().enumerate() {
                self.end(to, number, mine)?;
            }
            if !self.finish(sink)? && !mine {
                return Ok(());
            }
        }
    }

    /// Sends every server the same bytes, and hands over what they have sent, own ones included.
    ///
    /// # Errors
    /// As [`Session::exchange`].
    pub fn tell_all(&mut self, bytes: &[u8], sink: Sink<'_>) -> Result<()> {
        let frame = |to| {
            let mut frame = Session::frame(bytes.len());
            frame.extend_from_slice(bytes);
            (to, frame)
        };
        let servers = self.servers();
        let mut produce = || Ok(Batch { frames: (0..servers).map(frame).collect(), more: false });
        self.exchange(&mut produce, sink)
    }

    /// Seals a frame and sends it; what goes to this server itself is handed over at once.
    fn send(&mut self, to: usize, mut frame: Vec<u8>, number: u32, sink: Sink<'_>) -> Result<()> {
        if to == self.server() {
            return sink(to, frame.get(HEADER..).unwrap_or_default());
        }
        self.header(to, number, FrameKind::Body).seal(&mut frame);
        self.counters.frames += 1;
        self.counters.bytes += frame.len() as u64;
        self.transport.send(to, frame)
    }

    fn end(&mut self, to: usize, number: u32, more: bool) -> Result<()> {
        if to == self.server() {
            return Ok(());
        }
        let mut frame = Session::frame(0);
        self.header(to, number, FrameKind::End { more }).seal(&mut frame);
        self.counters.frames += 1;
        self.counters.bytes += frame.len() as u64;
        self.transport.send(to, frame)
    }

    fn header(&self, to: usize, number: u32, kind: FrameKind) -> FrameHeader {
        // A partition has at most 2^16 servers.
        let (from, to) = (self.server() as u32, to as u32);
        FrameHeader { round: self.round, ends: (from, to), number, kind }
    }

    /// Takes what arrives until the round is over; whether another server has more.
    fn finish(&mut self, sink: Sink<'_>) -> Result<bool> {
        let mut arrived: Vec<Arrived> = Vec::new();
        arrived.resize_with(self.servers(), Arrived::default);
        let (mut early, mut more) = (Vec::new(), false);
        let waiting = std::mem::take(&mut self.early);
        let (me, round) = (self.server(), self.round);
        let attempt = |round: Round| (round.job, round.epoch);
        let counters = &mut self.counters;
        let mut take = |frame: &[u8]| {
            let Some((header, body)) = FrameHeader::open(frame) else {
                let what = "its checksum does not fit".into();
                return Err(Error::Damaged { server: None, what });
            };
            let late = header.round.number < round.number;
            if late || attempt(header.round) != attempt(round) {
                counters.late += 1;
                return Ok(());
            }
            if header.round.number > round.number {
                early.push(frame.to_vec());
                return Ok(());
            }
            let (from, to) = (header.ends.0 as usize, header.ends.1 as usize);
            let place = arrived.get_mut(from).filter(|_| to == me && from != me);
            let place = place.ok_or_else(|| Error::damaged(from, "it is not for this server"))?;
            match header.kind {
                FrameKind::End { more: its } => {
                    place.stated = Some(header.number);
                    more |= its;
                }
                FrameKind::Body if !place.numbers.insert(header.number) => counters.doubles += 1,
                FrameKind::Body => sink(from, body)?,
            }
            Ok(())
        };
        for frame in waiting {
            take(&frame)?;
        }
        self.transport.finish(&mut take)?;
        self.early = early;
        for (server, arrived) in arrived.iter().enumerate().filter(|(server, _)| *server != me) {
            let found = arrived.numbers.len() as u64;
            match arrived.stated {
                Some(stated) if u64::from(stated) == found => {}
                stated => {
                    let sent = stated.map_or(found + 1, u64::from);
                    return Err(Error::Missing { round: round.number, server, found, sent });
                }
            }
        }
        self.round.number += 1;
        Ok(more)
    }
}
