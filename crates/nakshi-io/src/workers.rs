//! The workers of one call: scoped threads, which either all start or do no work.
//!
//! There is no global pool. A process that forks after a call therefore has no threads left over
//! that could hang (tokenizers#187), and a panic stays inside its call. A call of many passes keeps
//! its threads between them ([`with_team`]).
//!
//! The system may refuse a thread (`pids.max` of a cgroup, `ulimit -u`, memory for its stack). Work
//! may be dealt by the number of the worker, so a call that went on with fewer workers would
//! silently leave some of its work undone. Hence a gate: no worker begins before the last one has
//! started. If one cannot start, none of them begins and the call fails with [`Error::Threads`].

use crate::team::Shared;
use crate::{Error, Result};
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

/// Attempts to start a thread that the system refuses: a thread that has just ended may still count
/// until the system has cleaned up after it.
const SPAWN_ATTEMPTS: u32 = 20;
/// Delay between two attempts.
const SPAWN_RETRY_DELAY: Duration = Duration::from_millis(1);

/// An error of workers that run in parallel.
pub trait WorkerError: From<Error> + Send {
    /// Rank of the error as a consequence of another worker's error: 0 for a cause, a higher number
    /// the surer it is a consequence. The error with the lowest rank is reported, the first in time
    /// among equals.
    fn echo(&self) -> u8;
}

impl WorkerError for Error {
    fn echo(&self) -> u8 {
        match self {
            Error::Abandoned => 2,
            Error::Cancelled => 1,
            _ => 0,
        }
    }
}

/// Runs `work(worker)` on `threads` workers, at least one, and returns their results in the order
/// of the workers. Worker 0 is the calling thread, so one worker needs no other thread.
///
/// # Errors
/// [`Error::Threads`] if not all threads can be started; no worker has begun then. Otherwise the
/// first error in time that is not the [echo](WorkerError::echo) of another one;
/// [`Error::Panicked`] for a panic.
pub fn run_workers<W, E>(
    threads: usize,
    work: impl Fn(usize) -> Result<W, E> + Sync,
) -> Result<Vec<W>, E>
where
    W: Send,
    E: WorkerError,
{
    run_all(false, threads, work)
}

/// As [`run_workers`], for workers that draw what they do from a common stock, and none of which waits for
/// another: in a call with a team, the calling thread does the part of one that has not begun when its own is
/// done.
///
/// # Errors
/// Same as [`run_workers`].
pub fn share_work<W, E>(
    threads: usize,
    work: impl Fn(usize) -> Result<W, E> + Sync,
) -> Result<Vec<W>, E>
where
    W: Send,
    E: WorkerError,
{
    run_all(true, threads, work)
}

fn run_all<W, E>(
    share: bool,
    threads: usize,
    work: impl Fn(usize) -> Result<W, E> + Sync,
) -> Result<Vec<W>, E>
where
    W: Send,
    E: WorkerError,
{
    let others = threads.max(1) - 1;
    let (first, mut rest) = run_team(share, others, || work(0), |worker| work(worker + 1))?;
    rest.insert(0, first);
    Ok(rest)
}

/// Runs `lead` on the calling thread beside `work(worker)` on `threads` others. Returns the result
/// of `lead`, and theirs in the order of the workers.
///
/// # Errors
/// Same as [`run_workers`].
pub fn run_beside<L, W, E>(
    threads: usize,
    lead: impl FnOnce() -> Result<L, E>,
    work: impl Fn(usize) -> Result<W, E> + Sync,
) -> Result<(L, Vec<W>), E>
where
    W: Send,
    E: WorkerError,
{
    run_team(false, threads, lead, work)
}

/// [`run_beside`], whose workers share what there is to do or not.
fn run_team<L, W, E>(
    share: bool,
    threads: usize,
    lead: impl FnOnce() -> Result<L, E>,
    work: impl Fn(usize) -> Result<W, E> + Sync,
) -> Result<(L, Vec<W>), E>
where
    W: Send,
    E: WorkerError,
{
    let failures = AtomicUsize::new(0);
    if threads == 0 {
        return settle(judged(&failures, lead), Vec::new());
    }
    if let Some(team) = Shared::of_call(threads) {
        return run_by_team((&team, share), threads, lead, work);
    }
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let (gate, work, failures) = (&gate, &work, &failures);
        let mut handles = Vec::with_capacity(threads);
        for worker in 0..threads {
            // The last thread starts after all others.
            let last = worker + 1 == threads;
            let body = move || {
                if last || gate.wait() { Some(judged(failures, || work(worker))) } else { None }
            };
            match start(scope, worker + 1, &body) {
                Ok(handle) => handles.push(handle),
                Err(source) => {
                    gate.settle(false);
                    // The counts include the calling thread.
                    let (wanted, started) = (threads + 1, worker + 1);
                    return Err(Error::Threads { wanted, started, source }.into());
                }
            }
        }
        gate.settle(true);
        let led = judged(failures, lead);
        let panicked = |panic| Some(judged(failures, || Err(panicked(panic).into())));
        let rest = handles
            .into_iter()
            .filter_map(|handle| handle.join().unwrap_or_else(panicked))
            .collect();
        settle(led, rest)
    })
}

/// [`run_beside`] by threads that are there, which share their work or not.
fn run_by_team<L, W, E>(
    (team, share): (&Shared, bool),
    threads: usize,
    lead: impl FnOnce() -> Result<L, E>,
    work: impl Fn(usize) -> Result<W, E> + Sync,
) -> Result<(L, Vec<W>), E>
where
    W: Send,
    E: WorkerError,
{
    let failures = &AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<WorkerOutcome<W, E>>>> =
        std::iter::repeat_with(Mutex::default).take(threads).collect();
    let body = |number: usize| {
        let done = judged(failures, || work(number - 1));
        if let Some(slot) = slots.get(number - 1) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        }
    };
    let led = team.run(threads, share, || judged(failures, lead), &body);
    let done = slots.into_iter().map(|slot| {
        let done = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.unwrap_or_else(|| judged(failures, || Err(Error::Abandoned.into())))
    });
    settle(led, done.collect())
}

/// Runs `call`, whose passes on up to `threads` workers share the same threads. They end with the call.
///
/// # Errors
/// [`Error::Threads`] if not all threads can be started; the call has not begun then. Those of `call`.
pub fn with_team<T, E>(threads: usize, call: impl FnOnce() -> Result<T, E>) -> Result<T, E>
where
    E: WorkerError,
{
    let others = threads.max(1) - 1;
    if others == 0 || Shared::of_call(others).is_some() {
        return call();
    }
    let team = Shared::new(others);
    let shared = Arc::clone(&team);
    let serve = |worker| {
        shared.serve(worker + 1);
        Ok(())
    };
    run_beside(others, || Ok(team.lead(call)), serve)?.0
}

/// A result, or an error and the number of errors before it.
type WorkerOutcome<T, E> = Result<T, (usize, E)>;

/// Runs `f`, turns a panic in it into an error, and numbers errors in the order of time.
fn judged<T, E: WorkerError>(
    failures: &AtomicUsize,
    f: impl FnOnce() -> Result<T, E>,
) -> WorkerOutcome<T, E> {
    let result =
        catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(panicked(panic).into()));
    result.map_err(|error| (failures.fetch_add(1, Ordering::Relaxed), error))
}

/// Returns all results, or the error that caused the others.
fn settle<L, W, E: WorkerError>(
    led: WorkerOutcome<L, E>,
    rest: Vec<WorkerOutcome<W, E>>,
) -> Result<(L, Vec<W>), E> {
    let mut causes = Vec::new();
    let led = led.map_err(|error| causes.push(error)).ok();
    let mut done = Vec::with_capacity(rest.len());
    for result in rest {
        match result {
            Ok(value) => done.push(value),
            Err(error) => causes.push(error),
        }
    }
    match (causes.into_iter().min_by_key(|(at, error)| (error.echo(), *at)), led) {
        (None, Some(led)) => Ok((led, done)),
        (Some((_, cause)), _) => Err(cause),
        // If a result is missing, there is an error.
        (None, None) => Err(Error::Abandoned.into()),
    }
}

/// Starts a thread; tries again for a moment if the system refuses it.
fn start<'scope, 'env, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    number: usize,
    body: &(impl FnOnce() -> T + Copy + Send + 'scope),
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let mut tries = 1;
    loop {
        match builder(number).spawn_scoped(scope, *body) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries < SPAWN_ATTEMPTS => {
                tries += 1;
                std::thread::sleep(SPAWN_RETRY_DELAY);
            }
            started => return started,
        }
    }
}

fn builder(number: usize) -> Builder {
    let builder = Builder::new().name(format!("nakshi-{number}"));
    #[cfg(test)]
    if tests::REFUSED.get() == Some(number) {
        // A stack larger than any address space: the system refuses the thread itself.
        return builder.stack_size(1 << 50);
    }
    builder
}

/// The gate at which threads wait until all of them have started or one could not.
#[derive(Default)]
struct Gate {
    all_started: Mutex<Option<bool>>,
    changed: Condvar,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Option<bool>> {
        // The lock is held during plain assignments only, which cannot be left half done.
        self.all_started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the waiting threads whether to begin.
    fn settle(&self, all_started: bool) {
        *self.lock() = Some(all_started);
        self.changed.notify_all();
    }

    /// Waits until the gate is settled; returns true if the thread is to begin.
    fn wait(&self) -> bool {
        let mut state = self.lock();
        loop {
            if let Some(all_started) = *state {
                return all_started;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Returns the error for a panic.
pub fn panicked(panic: Box<dyn Any + Send>) -> Error {
    let message = match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => {
            other.downcast::<&'static str>().map_or_else(|_| "no message".into(), |t| (*t).into())
        }
    };
    Error::Panicked { message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::Barrier;

    thread_local! {
        /// Number of the thread that the system shall refuse in a call of this thread.
        pub(super) static REFUSED: Cell<Option<usize>> = const { Cell::new(None) };
    }

    #[test]
    fn results_are_in_the_order_of_the_workers() {
        for threads in 0..9 {
            let found = run_workers::<_, Error>(threads, |worker| Ok(worker * 10)).unwrap();
            assert_eq!(found, (0..threads.max(1)).map(|k| k * 10).collect::<Vec<_>>());
        }
        let caller = std::thread::current().id();
        let ids = run_workers::<_, Error>(3, |_| Ok(std::thread::current().id())).unwrap();
        assert_eq!(ids[0], caller);
        assert!(ids[1] != caller && ids[2] != caller && ids[1] != ids[2]);
    }

    #[test]
    fn all_workers_are_there_at_once() {
        let meeting = Barrier::new(5);
        let met = run_workers::<_, Error>(5, |_| Ok(meeting.wait().is_leader())).unwrap();
        assert_eq!(met.into_iter().filter(|leader| *leader).count(), 1);
    }

    /// Seen red with a gate that lets threads through at once, and with a call that continues with
    /// the threads that have started.
    #[test]
    fn nobody_works_unless_all_have_started() {
        for threads in 2..7 {
            for refused in 1..threads {
                REFUSED.set(Some(refused));
                let begun = AtomicUsize::new(0);
                let result = run_workers::<_, Error>(threads, |_| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                });
                REFUSED.set(None);
                let error = result.unwrap_err();
                let text = error.to_string();
                let Error::Threads { wanted, started, source } = error else { panic!("{error}") };
                assert_eq!((wanted, started), (threads, refused));
                assert_eq!(begun.into_inner(), 0, "{refused} of {threads}");
                assert!(text.contains(&source.to_string()) && text.contains("--threads"), "{text}");
                assert_eq!(text.lines().count(), 1);
            }
        }
    }

    /// Seen red with a call that returns when a thread is refused, without telling the threads that
    /// wait at the gate (it hangs).
    #[test]
    fn a_leader_does_not_begin_without_its_workers() {
        REFUSED.set(Some(3));
        let begun = AtomicUsize::new(0);
        let count = |_| {
            begun.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let result = run_beside::<_, _, Error>(3, || count(0), count);
        REFUSED.set(None);
        assert!(matches!(result, Err(Error::Threads { wanted: 4, started: 3, .. })));
        assert_eq!(begun.into_inner(), 0);
        assert_eq!(run_beside::<_, _, Error>(0, || Ok(7), |_| Ok(())).unwrap(), (7, Vec::new()));
    }

    /// Seen red with the error of the worker with the lowest number.
    #[test]
    fn the_first_error_is_reported_and_no_echo() {
        let failed = Barrier::new(3);
        let result = run_workers::<(), Error>(3, |worker| match worker {
            2 => {
                failed.wait();
                Err(Error::unsupported("the cause"))
            }
            1 => {
                failed.wait();
                Err(Error::Abandoned)
            }
            _ => {
                failed.wait();
                std::thread::sleep(Duration::from_millis(30));
                Err(Error::unsupported("later"))
            }
        });
        assert!(matches!(result, Err(Error::Unsupported { what }) if what == "the cause"));
        let result = run_workers::<(), Error>(2, |_| Err(Error::Cancelled));
        assert!(matches!(result, Err(Error::Cancelled)));
    }

    /// Passes of a call with a team: by the same threads, of any number, also inside one another.
    #[test]
    fn a_team_stays_for_all_passes_of_its_call() {
        for threads in 1..6 {
            let ids = Mutex::new(std::collections::BTreeSet::new());
            with_team::<_, Error>(threads, || {
                for pass in 0..2_000 {
                    let wanted = 1 + pass % threads;
                    let found = run_workers::<_, Error>(wanted, |worker| {
                        ids.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
                        if pass % 500 == 7 {
                            let inner = run_workers::<_, Error>(2, Ok)?;
                            assert_eq!(inner, [0, 1]);
                        }
                        Ok((pass, worker))
                    })?;
                    assert_eq!(found, (0..wanted).map(|worker| (pass, worker)).collect::<Vec<_>>());
                    if pass % 700 == 3 {
                        // Long enough for the threads to sleep.
                        std::thread::sleep(Duration::from_millis(3));
                    }
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(ids.into_inner().unwrap().len(), threads);
        }
    }

    /// Each part is done once, by its thread or by the leader in its place, and workers that wait for each
    /// other still have threads of their own. Seen red with a part that a thread begins although the leader
    /// has begun it.
    #[test]
    fn shared_work_is_done_once() {
        for threads in 2..6 {
            with_team::<_, Error>(threads, || {
                for pass in 0..3_000 {
                    let counts: Vec<_> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
                    let found = share_work::<_, Error>(threads, |worker| {
                        counts[worker].fetch_add(1, Ordering::Relaxed);
                        Ok((pass, worker))
                    })?;
                    assert_eq!(
                        found,
                        (0..threads).map(|worker| (pass, worker)).collect::<Vec<_>>()
                    );
                    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
                    if pass % 50 == 7 {
                        let meeting = Barrier::new(threads);
                        run_workers::<_, Error>(threads, |_| Ok(meeting.wait().is_leader()))?;
                    }
                    if pass % 700 == 3 {
                        // Long enough for the threads to sleep.
                        std::thread::sleep(Duration::from_millis(3));
                    }
                }
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn a_team_keeps_errors_and_panics_in_their_pass() {
        with_team::<_, Error>(3, || {
            for victim in 0..3 {
                let failed = run_workers::<(), Error>(3, |worker| {
                    assert!(worker != victim, "planted {worker}");
                    Ok(())
                });
                assert!(matches!(failed, Err(Error::Panicked { .. })));
                let failed = run_workers::<(), Error>(3, |worker| match worker {
                    w if w == victim => Err(Error::unsupported("the cause")),
                    _ => Ok(()),
                });
                assert!(matches!(failed, Err(Error::Unsupported { .. })));
                assert_eq!(run_workers::<_, Error>(3, Ok)?, [0, 1, 2]);
            }
            Ok(())
        })
        .unwrap();
        let failed = with_team::<(), Error>(3, || panic!("the call"));
        assert!(matches!(failed, Err(Error::Panicked { .. })));
        assert!(Shared::of_call(1).is_none());
    }

    #[test]
    fn a_team_that_cannot_start_does_not_begin_its_call() {
        REFUSED.set(Some(2));
        let result = with_team::<(), Error>(4, || unreachable!());
        REFUSED.set(None);
        assert!(matches!(result, Err(Error::Threads { wanted: 4, started: 2, .. })));
    }

    #[test]
    fn a_panic_is_an_error() {
        for victim in 0..3 {
            let result = run_workers::<_, Error>(3, |worker| {
                assert!(worker != victim, "planted {worker}");
                Ok(())
            });
            assert!(
                matches!(result, Err(Error::Panicked { message }) if message.contains("planted"))
            );
        }
        let result = run_workers::<(), Error>(1, |_| panic!("alone"));
        assert!(matches!(result, Err(Error::Panicked { message }) if message == "alone"));
    }
}
