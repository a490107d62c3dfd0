//! Frames between threads that are lost, doubled, late and out of order, by a seed.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nakshi_engine::program::pull::mixed;

use super::Transport;
use crate::{Error, Result};

/// Chances of faults, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Seed of all draws.
    pub seed: u64,
    /// Probability that a frame is lost.
    pub lost: f64,
    /// Probability that a frame arrives twice.
    pub doubled: f64,
    /// Probability that a frame arrives a round later (and in time too, so that nothing is missing).
    pub late: f64,
    /// Probability that a bit of a frame changes.
    pub damaged: f64,
    /// The round before which a server ends, and which.
    pub dies: Option<(u64, usize)>,
}

/// Longest wait for the other servers.
const ROUND_TIMEOUT: Duration = Duration::from_secs(20);

/// A net that all servers share.
#[derive(Debug)]
pub struct Net {
    servers: usize,
    faults: Faults,
    state: Mutex<NetState>,
    changed: Condvar,
}

/// Frames, which a number orders by chance.
type Shuffled = Vec<(u64, Vec<u8>)>;

#[derive(Debug, Default)]
struct NetState {
    /// Frames by receiver and round.
    frames: BTreeMap<(usize, u64), Shuffled>,
    /// Rounds that each server has sent.
    sent: Vec<u64>,
    gone: Option<usize>,
    draws: u64,
}

impl NetState {
    fn draw(&mut self, seed: u64) -> u64 {
        self.draws += 1;
        mixed(seed ^ mixed(self.draws))
    }

    fn chance(&mut self, seed: u64, probability: f64) -> bool {
        (self.draw(seed) as f64) < probability * u64::MAX as f64
    }
}

impl Net {
    /// A net for so many servers.
    pub fn new(servers: usize, faults: Faults) -> Arc<Self> {
        let state = NetState { sent: vec![0; servers], ..NetState::default() };
        Arc::new(Net { servers, faults, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// The end of the net that a server holds.
    pub fn end(self: &Arc<Self>, server: usize) -> Simulated {
        Simulated { net: Arc::clone(self), server, round: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, NetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One server's end of a [`Net`].
#[derive(Debug)]
pub struct Simulated {
    net: Arc<Net>,
    server: usize,
    round: u64,
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let mut state = self.net.lock();
        // It sends nothing any more; others must not wait for it.
        state.gone.get_or_insert(self.server);
        self.net.changed.notify_all();
    }
}

impl Transport for Simulated {
    fn server(&self) -> usize {
        self.server
    }

    fn servers(&self) -> usize {
        self.net.servers
    }

    fn send(&mut self, to: usize, mut frame: Vec<u8>) -> Result<()> {
        let faults = self.net.faults;
        let mut state = self.net.lock();
        if state.chance(faults.seed, faults.lost) {
            return Ok(());
        }
        if state.chance(faults.seed, faults.damaged) {
            let bit = state.draw(faults.seed) as usize % (frame.len() * 8);
            if let Some(byte) = frame.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
        }
        let copies = 1 + usize::from(state.chance(faults.seed, faults.doubled));
        let late = usize::from(state.chance(faults.seed, faults.late));
        for copy in 0..copies + late {
            let round = self.round + u64::from(copy >= copies);
            let place = state.draw(faults.seed);
            state.frames.entry((to, round)).or_default().push((place, frame.clone()));
        }
        Ok(())
    }

    fn finish(&mut self, arrived: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.net.faults.dies == Some((self.round, self.server)) {
            return Err(Error::Lost { server: self.server, why: "it ended as planned".into() });
        }
        let mut state = self.net.lock();
        if let Some(sent) = state.sent.get_mut(self.server) {
            *sent += 1;
        }
        self.net.changed.notify_all();
        while state.sent.iter().any(|sent| *sent <= self.round) {
            if let Some(server) = state.gone {
                return Err(Error::Lost { server, why: "it has left".into() });
            }
            let (next, waited) = self
                .net
                .changed
                .wait_timeout(state, ROUND_TIMEOUT)
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
            if waited.timed_out() {
                return Err(Error::Lost { server: self.server, why: "the others are late".into() });
            }
        }
        let mut frames = state.frames.remove(&(self.server, self.round)).unwrap_or_default();
        drop(state);
        frames.sort_unstable();
        self.round += 1;
        frames.iter().try_for_each(|(_, frame)| arrived(frame))
    }
}
