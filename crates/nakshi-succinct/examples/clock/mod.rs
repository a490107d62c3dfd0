//! The clock of the examples that measure computation on one core.

use std::time::{Duration, Instant};

/// A clock of this thread's own running time, where Linux reports it.
pub struct Clock {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Clock {
    /// Starts a clock.
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: running() }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        let cpu = self.cpu.zip(running()).map(|(from, to)| to.saturating_sub(from));
        cpu.unwrap_or_else(|| self.wall.elapsed()).as_secs_f64()
    }
}

fn running() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}
