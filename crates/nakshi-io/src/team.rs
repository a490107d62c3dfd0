//! The team of a call: threads that wait for its next pass.
//!
//! A call that makes many short passes would start and end its threads for each of them, which takes
//! longer than a short pass. So its threads stay between passes: they look for work for a moment, then
//! sleep. They end with the call, as [`crate::run_workers`] promises. Where a pass may be worked off by fewer
//! threads ([`crate::share_work`]), the thread that leads it does not wait for one that has not begun: on a
//! virtual machine a thread may take longer to wake than a short pass takes in all.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Looks for work, or for the end of a pass, before a thread sleeps: some hundreds of microseconds, since
/// to wake it takes tens of them, and more on a virtual machine. Where there are more threads than cores,
/// others need the core meanwhile.
const LOOKS: u32 = 8_000;
/// Looks for the threads of a team that starts, before its leader lets them have the core.
const LOOKS_AT_START: u32 = 500;
/// Its sleep between two looks.
const NAP: Duration = Duration::from_micros(10);
/// The longest time that a leader waits for them.
const START: Duration = Duration::from_millis(2);

thread_local! {
    /// The team of the call that this thread runs.
    static TEAM: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}

/// The core on which this thread runs.
#[cfg(target_os = "linux")]
fn core() -> Option<usize> {
    // SAFETY: the call has no requirements.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Moves this thread to the core that is `steps` behind `core`, among those that it may use; from there on the
/// system places it as before. Linux starts a thread on the core of the one that makes it if the others look
/// busy, as that of a caller that is about to sleep does, and moves it only after four milliseconds.
#[cfg(target_os = "linux")]
fn move_from(core: usize, steps: usize) {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: a set of cores is an array of bits, for which zeros are a value; the calls read and write it
    // within its size, and refuse a core that it does not have.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size, &raw mut all) != 0 {
            return;
        }
        let cores: Vec<usize> = (0..8 * size).filter(|&core| libc::CPU_ISSET(core, &all)).collect();
        let from = cores.iter().position(|&known| known == core).unwrap_or(0);
        let Some(&to) = cores.get((from + steps) % cores.len().max(1)) else { return };
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(to, &mut one);
        if to != core && libc::sched_setaffinity(0, size, &raw const one) == 0 {
            libc::sched_setaffinity(0, size, &raw const all);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn core() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
fn move_from(_: usize, _: usize) {}

/// The work of one pass, for the numbers of workers from 1 on. Borrowed for the length of the pass.
type Work = *const (dyn Fn(usize) + Sync);

/// A pass, as its workers see it.
#[derive(Clone)]
struct Pass {
    work: Work,
    /// Workers that take part; the others look for the next pass.
    workers: usize,
    lead: Thread,
}

// SAFETY: the work is `Sync`, and `Shared::run` waits for its workers before it returns, so that the
// pointer is valid wherever a worker follows it.
unsafe impl Send for Pass {}

/// The state that the threads of a team share.
pub(crate) struct Shared {
    threads: usize,
    looks: u32,
    /// The core of the call's thread when it made the team.
    core: Option<usize>,
    /// Threads that have arrived.
    arrived: AtomicUsize,
    /// Number of the pass, from 1 on.
    number: AtomicUsize,
    pass: Mutex<Option<Pass>>,
    changed: Condvar,
    /// Threads that sleep, or are about to.
    asleep: AtomicUsize,
    /// The last pass that each worker, or the leader in its place, has begun.
    begun: Vec<AtomicUsize>,
    /// Workers of the pass that have not ended.
    running: AtomicUsize,
    /// True while there is a pass: one that begins inside it starts threads of its own.
    busy: AtomicBool,
    ended: AtomicBool,
}

impl Shared {
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        // Asking takes a dozen system calls in a container.
        static CORES: OnceLock<usize> = OnceLock::new();
        let asked = || thread::available_parallelism().map_or(1, usize::from);
        let cores = *CORES.get_or_init(asked);
        Arc::new(Self {
            threads,
            looks: if threads < cores { LOOKS } else { 0 },
            core: core(),
            arrived: AtomicUsize::new(0),
            number: AtomicUsize::new(0),
            pass: Mutex::new(None),
            changed: Condvar::new(),
            asleep: AtomicUsize::new(0),
            begun: std::iter::repeat_with(AtomicUsize::default).take(threads).collect(),
            running: AtomicUsize::new(0),
            busy: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        })
    }

    /// The team of this thread's call, if it has `threads` that are free.
    pub(crate) fn of_call(threads: usize) -> Option<Arc<Self>> {
        TEAM.with_borrow(|team| {
            let free =
                |team: &&Arc<Self>| team.threads >= threads && !team.busy.load(Ordering::Relaxed);
            team.as_ref().filter(free).cloned()
        })
    }

    /// Runs `call` with this team on this thread; tells the threads to end afterwards.
    pub(crate) fn lead<T>(self: &Arc<Self>, call: impl FnOnce() -> T) -> T {
        struct Leave<'a>(&'a Shared, Option<Arc<Shared>>);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                TEAM.set(self.1.take());
                self.0.ended.store(true, Ordering::Release);
                drop(self.0.lock());
                self.0.changed.notify_all();
            }
        }
        let _leave = Leave(self, TEAM.replace(Some(Arc::clone(self))));
        self.wait_for_arrival();
        call()
    }

    /// Waits a moment for the threads of a team that starts: one that begins its life on the core of this thread
    /// needs it to leave ([`move_from`]). Sleeps instead of being woken: who is woken by a thread may move to
    /// its core.
    fn wait_for_arrival(&self) {
        let away = || self.arrived.load(Ordering::Relaxed) < self.threads;
        for _ in (0..LOOKS_AT_START).take_while(|_| away()) {
            std::hint::spin_loop();
        }
        let began = Instant::now();
        while away() && began.elapsed() < START {
            thread::sleep(NAP);
        }
    }

    /// Runs `work(worker)`, which does not panic, on `workers` threads beside `lead` on this one. If they
    /// `share` what there is to do, this thread then takes the place of those that have not begun.
    pub(crate) fn run<T>(
        &self,
        workers: usize,
        share: bool,
        lead: impl FnOnce() -> T,
        work: &(dyn Fn(usize) + Sync),
    ) -> T {
        /// Waits for the workers, also where `lead` panics.
        struct Wait<'a>(&'a Shared);
        impl Drop for Wait<'_> {
            fn drop(&mut self) {
                self.0.wait();
            }
        }
        self.busy.store(true, Ordering::Relaxed);
        self.running.store(workers, Ordering::Relaxed);
        // SAFETY: only the lifetime changes. `Wait` holds this call until no worker runs, and takes the
        // pointer away.
        let shown = unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), Work>(std::ptr::from_ref(
                work,
            ))
        };
        let number = {
            let mut pass = self.lock();
            *pass = Some(Pass { work: shown, workers, lead: thread::current() });
            self.number.fetch_add(1, Ordering::SeqCst) + 1
        };
        let _wait = Wait(self);
        if self.asleep.load(Ordering::SeqCst) > 0 {
            self.changed.notify_all();
        }
        let led = lead();
        for worker in (1..=workers).filter(|worker| share && self.begins(*worker, number)) {
            work(worker);
            self.running.fetch_sub(1, Ordering::Release);
        }
        led
    }

    /// True for the first that begins this worker's part of a pass, if no later pass has begun.
    fn begins(&self, worker: usize, number: usize) -> bool {
        let earlier = |begun: usize| (begun < number).then_some(number);
        let begun = self.begun.get(worker - 1);
        begun.is_some_and(|begun| {
            begun.fetch_update(Ordering::AcqRel, Ordering::Acquire, earlier).is_ok()
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Pass>> {
        // The lock is held during plain assignments only, which cannot be left half done.
        self.pass.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no worker runs.
    fn wait(&self) {
        let mut looks = 0;
        while self.running.load(Ordering::Acquire) > 0 {
            if looks < self.looks {
                looks += 1;
                std::hint::spin_loop();
            } else {
                thread::park();
            }
        }
        *self.lock() = None;
        self.busy.store(false, Ordering::Relaxed);
    }

    /// The life of the thread with this number, from 1 on.
    pub(crate) fn serve(&self, worker: usize) {
        if let Some(core) = self.core {
            move_from(core, worker);
        }
        self.arrived.fetch_add(1, Ordering::Relaxed);
        let mut seen = 0;
        while let Some((number, pass)) = self.next(seen) {
            seen = number;
            // A pass of fewer workers may be over by now, and the leader may have taken this one's place.
            let mine = |pass: &Pass| worker <= pass.workers && self.begins(worker, number);
            let Some(pass) = pass.filter(mine) else { continue };
            // SAFETY: this worker is one of those for which the pass waits, as it has begun its part.
            let work = unsafe { &*pass.work };
            // Only so that a pass does not wait for ever for a worker whose work did panic.
            _ = catch_unwind(AssertUnwindSafe(|| work(worker)));
            if self.running.fetch_sub(1, Ordering::Release) == 1 {
                pass.lead.unpark();
            }
        }
    }

    /// Waits for a pass after the one with number `seen`; `None` at the end of the call.
    fn next(&self, seen: usize) -> Option<(usize, Option<Pass>)> {
        let news =
            || self.number.load(Ordering::SeqCst) != seen || self.ended.load(Ordering::Acquire);
        let mut looks = 0;
        while looks < self.looks && !news() {
            looks += 1;
            std::hint::spin_loop();
        }
        let mut pass = self.lock();
        if !news() {
            self.asleep.fetch_add(1, Ordering::SeqCst);
            while !news() {
                pass = self.changed.wait(pass).unwrap_or_else(PoisonError::into_inner);
            }
            self.asleep.fetch_sub(1, Ordering::SeqCst);
        }
        if self.ended.load(Ordering::Acquire) {
            return None;
        }
        Some((self.number.load(Ordering::SeqCst), pass.clone()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn allowed() -> Vec<usize> {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: as in `move_from`.
        unsafe {
            let mut all: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size, &raw mut all), 0);
            (0..8 * size).filter(|&core| libc::CPU_ISSET(core, &all)).collect()
        }
    }

    /// Seen red with the cores not given back.
    #[test]
    fn a_thread_that_moves_may_use_all_cores_again() {
        let before = allowed();
        for steps in 0..5 {
            let own = core().unwrap();
            move_from(own, steps);
            assert_eq!(allowed(), before);
        }
        move_from(usize::MAX, 1);
        assert_eq!(allowed(), before);
    }
}
